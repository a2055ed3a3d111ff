//! From one format to another: write, read the result again, and name the difference.

use agentry_model::{Agent, Format, Loss, losses, tree};
use agentry_policy::{Place, to_permissions, widened};
use agentry_text::Findings;

use crate::{MemoryFiles, Package, Shape, Target, Written, info};

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

/// Writes `agent` in `format` and finds out, by reading the result, what was lost.
pub fn convert(agent: &Agent, format: Format, target: &Target) -> Converted {
    let Written { files, notes } = (info(format).write)(agent, target);
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
    let result = (info(format).read)(&mut package, &mut findings);
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
    let widened = widening(agent, &result, &target.place);
    Converted { files, losses: lost, agent: result, widened, findings }
}

/// In which section the result is milder than the source ever is.
fn widening(source: &Agent, result: &Agent, place: &Place) -> Option<String> {
    let before = to_permissions(&source.policy, place)?;
    let after = to_permissions(&result.policy, place).unwrap_or_default();
    let (section, before, after) = widened(&before, &after)?;
    Some(format!("`{section}` is {before} in the source and would be {after}"))
}
