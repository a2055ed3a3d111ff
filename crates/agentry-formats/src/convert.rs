//! Conversion from one format to another: write, read the result again, prove that it allows no more, and
//! list the differences.

use agentry_model::{
    Agent, AgentRequirements, AgentStatus, ConversionLoss, ConversionLossKind, Format, additions,
    losses, tree,
};
use agentry_policy::compare::{SectionDiff, milder_sections, section_diffs};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{
    Judge, LayerSource, PathAnchors, Permissions, Policy, layers, to_permissions,
};
use agentry_text::{Data, FileId, Findings, Span, Spanned};

use crate::agentry_block::AgentryBlock;
use crate::{
    AgentPackage, MemoryFiles, OutputShape, ServerPlace, WriteTarget, WrittenFiles, agentry_block,
    info, read, spoken_identity,
};

/// A converted agent.
#[derive(Debug)]
pub struct ConvertedAgent {
    /// Paths with their texts, as in [`WrittenFiles`].
    pub files: Vec<(String, String)>,
    /// The fields that the result lacks, changes or adds, sorted by field.
    pub losses: Vec<ConversionLoss>,
    /// The agent that the result declares.
    pub agent: Agent,
    /// Where the result would allow more than the source, as a sentence. Such a result must not be used.
    pub widened: Option<String>,
    /// Problems of the result. An error here is a defect of the writer.
    pub findings: Findings,
}

/// Writes `agent` in `format`, and reads the result to find what was lost. Rules and start conditions
/// that the format cannot express go into the `x-agentry` block, which only Agentry reads. So nothing
/// is widened.
pub fn convert(agent: &Agent, format: Format, target: &WriteTarget) -> ConvertedAgent {
    if !agent.policy.needs_sandbox() || info(format).notation == LayerSource::Trust {
        return convert_whole(agent, format, target);
    }
    // Only trust says that a command may run in the sandbox and nowhere else.
    let mut outside = agent.clone();
    outside.policy.leave_sandbox();
    let mut result = convert_whole(&outside, format, target);
    result.losses.push(ConversionLoss {
        field: "trust.exec".to_owned(),
        kind: ConversionLossKind::Narrowed,
        detail: format!("{format} cannot say `sandboxed`: no command is allowed"),
    });
    result.losses.sort();
    result
}

/// Converts an agent without a grant that presupposes the sandbox, or into a format that can
/// express it.
fn convert_whole(agent: &Agent, format: Format, target: &WriteTarget) -> ConvertedAgent {
    let place = agent.policy_context(&target.place.dir);
    let target = &WriteTarget { place, ..target.clone() };
    let notation = info(format).notation;
    let mut source = agent.clone();
    let mut kept = gates(agent, format);
    let mut carried = carried_fields(&kept);
    // The format writes its own kind of policy; the rules go into the block as a second layer.
    if notation != LayerSource::Permissions && has_notation(&agent.policy, notation) {
        kept.permissions = source.policy.permissions.take();
    }
    carry(&mut source, &kept);
    let before = judge(agent, target);
    let compared = |source: &Agent| {
        let result = attempt(agent, source, format, target);
        let after = result_judge(&result.agent, format, target);
        (milder_sections(&before, &after), after, result)
    };
    let (mut milder, mut after, mut result) = compared(&source);
    // The first attempt shows which rules the format failed to express. The second one adds all rules:
    // a block with some of them would answer `ask` for all other sections.
    if notation != LayerSource::Permissions && !milder.is_empty() {
        carried.extend(milder.iter().map(|section| format!("permissions.{section}")));
        kept.permissions = Some(all_rules(agent, target));
        carry(&mut source, &kept);
        (milder, after, result) = compared(&source);
    }
    result.losses.extend(carried.into_iter().map(|field| ConversionLoss {
        field,
        kind: ConversionLossKind::Changed,
        detail: "kept in `x-agentry`, which only Agentry reads".to_owned(),
    }));
    result.losses.sort();
    let wider = if milder.is_empty() { None } else { gain(&before, &after) };
    result.widened = wider.or_else(|| ungated(agent, &result.agent));
    result
}

/// Returns the whole policy as rules, in the order in which a block is read again.
fn all_rules(agent: &Agent, target: &WriteTarget) -> Permissions {
    let rules = to_permissions(&PolicyMemo::default(), &agent.policy, &target.place);
    let mut rules = rules.unwrap_or_default();
    rules.sections.sort_by_key(|rules| rules.section.value);
    rules
}

/// Returns where `after` allows more than `before`, as a sentence.
pub fn gain(before: &Judge, after: &Judge) -> Option<String> {
    // The cheap comparison comes first.
    if milder_sections(before, after).is_empty() {
        return None;
    }
    let found = section_diffs(before, after).iter().find_map(SectionDiff::gain);
    Some(found.unwrap_or_else(|| "it cannot be proved that the result allows no more".to_owned()))
}

/// The judge of the layers of `agent`, in a placeholder directory.
fn judge(agent: &Agent, target: &WriteTarget) -> Judge {
    let (places, context) = (PathAnchors::default(), agent.policy_context(&target.place.dir));
    Judge::new(layers(&agent.policy, &context, &places), places)
}

/// The judge of an agent that was read in `format`, whose defaults may have rules.
fn result_judge(agent: &Agent, format: Format, target: &WriteTarget) -> Judge {
    let mut agent = agent.clone();
    (info(format).defaults)(&mut agent);
    judge(&agent, target)
}

/// Returns the start conditions and servers of `agent` that `format` cannot express.
fn gates(agent: &Agent, format: Format) -> AgentryBlock {
    let carries = |field: &str| info(format).carries.contains(&field);
    let in_use = |status: &Spanned<AgentStatus>| status.value == AgentStatus::Active;
    // A missing status means active, so `active` needs no copy.
    let status = agent.identity.status.filter(|status| !carries("status") && !in_use(status));
    let requirements =
        if carries("required") { AgentRequirements::default() } else { agent.requirements.clone() };
    let servers =
        agent.tools.mcp.clone().filter(|_| info(format).servers == ServerPlace::AgentryBlock);
    AgentryBlock { status, requirements, servers, ..AgentryBlock::default() }
}

/// The fields of the model that a block carries, except the rules.
fn carried_fields(block: &AgentryBlock) -> Vec<String> {
    let AgentryBlock { permissions: _, base: _, merge: _, status, requirements, tests: _, servers } =
        block;
    let AgentRequirements { env, startup } = requirements;
    let fields = [
        ("status", status.is_some()),
        ("required.env", env.is_some()),
        ("required.startup", startup.is_some()),
        ("tools.mcp", servers.is_some()),
    ];
    fields.into_iter().filter(|(_, is)| *is).map(|(field, _)| field.to_owned()).collect()
}

/// Returns why the result could start where the source does not, as a sentence.
fn ungated(before: &Agent, after: &Agent) -> Option<String> {
    let disabled = |agent: &Agent| {
        agent.identity.status.is_some_and(|status| status.value == AgentStatus::Disabled)
    };
    if disabled(before) && !disabled(after) {
        return Some("it is `disabled` in the source".to_owned());
    }
    let (AgentRequirements { env, startup }, result) = (&before.requirements, &after.requirements);
    let names = |env: &Option<Vec<Spanned<String>>>, name: &String| {
        env.iter().flatten().any(|other| other.value == *name)
    };
    let lost = env.iter().flatten().find(|name| !names(&result.env, &name.value));
    if let Some(name) = lost {
        return Some(format!("the source requires the variable `{}`", name.value));
    }
    let tool = startup.as_ref().map(|tool| &tool.value)?;
    let kept = result.startup.as_ref().is_some_and(|other| other.value == *tool);
    (!kept).then(|| format!("`{tool}` must succeed first in the source"))
}

/// Whether a policy uses this notation.
fn has_notation(policy: &Policy, notation: LayerSource) -> bool {
    match notation {
        LayerSource::Permissions => policy.permissions.is_some(),
        LayerSource::Trust => policy.trust.is_some(),
        LayerSource::Abilities => policy.abilities.is_some(),
        LayerSource::ToolPermissions => policy.tool_permissions.is_some(),
        LayerSource::Base
        | LayerSource::User
        | LayerSource::Parent
        | LayerSource::AllowedTools
        | LayerSource::Default
        | LayerSource::BuiltIn => false,
    }
}

fn carry(agent: &mut Agent, block: &AgentryBlock) {
    // An existing block of the source stays as it is.
    if *block == AgentryBlock::default() {
        return;
    }
    let kept = agent.extension(agentry_block::KEY).cloned().unwrap_or(Data::Map(Vec::new()));
    let data = Spanned::new(agentry_block::merged(&kept, block), Span::start_of(FileId::BUILT_IN));
    agent.extensions.retain(|(key, _)| key != agentry_block::KEY);
    agent.extensions.push((agentry_block::KEY.to_owned(), data));
}

/// Writes `source`, reads the result, and compares that with `agent`.
fn attempt(agent: &Agent, source: &Agent, format: Format, target: &WriteTarget) -> ConvertedAgent {
    let (WrittenFiles { files, notes }, result, findings) = read_back(source, format, target);
    let losses = differences(agent, &result, notes);
    ConvertedAgent { files, losses, agent: result, widened: None, findings }
}

/// Returns what an agent declares after it was written in `format`. Nothing is proved.
pub fn declared(agent: &Agent, format: Format, target: &WriteTarget) -> Agent {
    read_back(agent, format, target).1
}

/// Writes `source`, and reads the result.
fn read_back(
    source: &Agent,
    format: Format,
    target: &WriteTarget,
) -> (WrittenFiles, Agent, Findings) {
    let mut source = source.clone();
    let folded = spoken_identity::fold(&mut source, format);
    let WrittenFiles { files, mut notes } = (info(format).write)(&source, target);
    let is_new = |note: &ConversionLoss| notes.iter().all(|known| known.field != note.field);
    let folded: Vec<ConversionLoss> = folded.into_iter().filter(is_new).collect();
    notes.extend(folded);
    // Partial: files that the agent refers to are not part of the result.
    let mut memory = MemoryFiles::new(files.clone()).partial();
    let mut findings = Findings::default();
    let mut package = AgentPackage {
        main: files.first().map_or(String::new(), |(path, _)| path.clone()),
        dir_name: if target.shape == OutputShape::Directory {
            target.name.clone()
        } else {
            String::new()
        },
        dir: String::new(),
        files: &mut memory,
    };
    let result = read(format, &mut package, &mut findings);
    (WrittenFiles { files, notes }, result, findings)
}

/// The notations for a policy. A new one in the result is a translation, not an addition.
const POLICIES: &[&str] = &["permissions", "trust", "abilities", "tool_permissions"];

/// Lists losses and additions, except those that the writer describes better in a note.
fn differences(agent: &Agent, result: &Agent, notes: Vec<ConversionLoss>) -> Vec<ConversionLoss> {
    let (before, after) = (tree::tree(agent).to_data(), tree::tree(result).to_data());
    let mut out = losses(&before, &after);
    out.retain(|loss| !is_only_a_full_stop(&loss.field, &before, &after));
    let translated = |loss: &ConversionLoss| {
        let top = loss.field.split('.').next().unwrap_or("");
        !agent.policy.is_empty() && POLICIES.contains(&top)
    };
    out.extend(additions(&before, &after).into_iter().filter(|loss| !translated(loss)));
    let has_words = |loss: &ConversionLoss| {
        let within = |note: &ConversionLoss| {
            loss.field == note.field || loss.field.starts_with(&format!("{}.", note.field))
        };
        notes.iter().any(within)
    };
    out.retain(|loss| !has_words(loss));
    out.extend(notes);
    out.sort();
    out
}

/// Whether a description lost only the full stop at its end, which is a matter of style.
fn is_only_a_full_stop(field: &str, before: &Data, after: &Data) -> bool {
    let text = |data: &Data| data.get("description").and_then(Data::as_str).map(str::to_owned);
    let (Some(before), Some(after)) = (text(before), text(after)) else { return false };
    field == "description" && before.trim_end().strip_suffix('.') == Some(after.as_str())
}
