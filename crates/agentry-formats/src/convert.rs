//! From one format to another: write, read the result again, and name the difference.

use agentry_model::{Agent, Format, Loss, LossKind, losses, tree};
use agentry_policy::{Permissions, Policy, to_permissions, widened};
use agentry_text::{FileId, Findings, Span, Spanned};

use crate::{MemoryFiles, Package, Shape, Target, Written, info, own, read};

/// A converted agent.
#[derive(Debug)]
pub struct Converted {
    /// Paths with their texts, as in [`Written`].
    pub files: Vec<(String, String)>,
    /// What the result does not say, sorted by field.
    pub losses: Vec<Loss>,
    /// The agent that the result declares.
    pub agent: Agent,
    /// Where the result would allow more than the source ever does, in words. Such a result must
    /// not be used.
    pub widened: Option<String>,
    /// What is wrong with the result; a writer that causes an error here is a defect.
    pub findings: Findings,
}

/// Writes `agent` in `format` and finds out, by reading the result, what was lost. Rules that the
/// format has no words for go into the block that only Agentry reads, so that nothing is widened.
pub fn convert(agent: &Agent, format: Format, target: &Target) -> Converted {
    let mut source = agent.clone();
    if says_more_than_its_own(&agent.policy, format)
        && let Some(rules) = source.policy.permissions.take()
    {
        carry(&mut source, &rules);
    }
    let first = attempt(agent, &source, format, target);
    let Some(before) = to_permissions(&agent.policy, &target.place) else { return first };
    let missing = widened(&before, &permissions(&first.agent, target));
    if missing.sections.is_empty() {
        return first;
    }
    carry(&mut source, &missing);
    let mut second = attempt(agent, &source, format, target);
    second.losses.extend(missing.sections.iter().map(|rules| Loss {
        field: format!("permissions.{}", rules.section.value),
        kind: LossKind::Changed,
        detail: "kept in `x-agentry`, which only Agentry reads".to_owned(),
    }));
    second.losses.sort();
    let left = widened(&before, &permissions(&second.agent, target));
    second.widened = left
        .sections
        .first()
        .map(|rules| format!("`{}` is {} in the source", rules.section.value, rules.mildest()));
    second
}

/// Whether an agent has rules beside the policy that `format` itself has words for.
fn says_more_than_its_own(policy: &Policy, format: Format) -> bool {
    policy.permissions.is_some()
        && match format {
            Format::AgentMd => policy.abilities.is_some(),
            Format::Manifest => policy.trust.is_some(),
            Format::AgentFs => policy.tool_permissions.is_some(),
            Format::AgentToml | Format::AgentDir => false,
        }
}

fn carry(agent: &mut Agent, rules: &Permissions) {
    let mut rules = rules.clone();
    rules.sections.sort_by_key(|rules| rules.section.value);
    let block = Spanned::new(own::to_data(&rules), Span::start_of(FileId::BUILT_IN));
    agent.extensions.retain(|(key, _)| key != own::KEY);
    agent.extensions.push((own::KEY.to_owned(), block));
}

fn permissions(agent: &Agent, target: &Target) -> Permissions {
    to_permissions(&agent.policy, &target.place).unwrap_or_default()
}

/// Writes `source`, reads the result, and compares it with `agent`.
fn attempt(agent: &Agent, source: &Agent, format: Format, target: &Target) -> Converted {
    let Written { files, notes } = (info(format).write)(source, target);
    let mut memory = MemoryFiles::new(files.clone()).partial();
    let mut findings = Findings::default();
    let mut package = Package {
        main: files.first().map_or(String::new(), |(path, _)| path.clone()),
        dir_name: if target.shape == Shape::Directory {
            target.name.clone()
        } else {
            String::new()
        },
        dir: String::new(),
        files: &mut memory,
    };
    let result = read(format, &mut package, &mut findings);
    let mut lost = losses(&tree::tree(agent).to_data(), &tree::tree(&result).to_data());
    let noted = |loss: &Loss| {
        let within = |note: &Loss| {
            loss.field == note.field || loss.field.starts_with(&format!("{}.", note.field))
        };
        notes.iter().any(within)
    };
    lost.retain(|loss| !noted(loss));
    lost.extend(notes);
    lost.sort();
    Converted { files, losses: lost, agent: result, widened: None, findings }
}
