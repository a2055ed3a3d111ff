//! `allowed-tools`: the tools that a client may use without asking while the skill is active.

use agentry_policy::{Action, Section};
use agentry_text::Data;

use super::{path, wrong_name};
use crate::built_in_protection::protects;
use crate::model::{HarnessModel, always};
use crate::render_result::RenderSettings;
use crate::subject::RenderSubject;
use crate::{HarnessFiles, front_matter};

/// A shell can also read and write files and fetch addresses.
const SHELL: &[Section] = &[Section::Bash, Section::Edit, Section::Read, Section::Webfetch];

/// The tools that clients know, with every section that they reach.
const TOOLS: &[(&str, &[Section])] = &[
    ("Read", &[Section::Read]),
    ("Grep", &[Section::Read]),
    ("Glob", &[Section::Read]),
    ("Edit", &[Section::Edit]),
    ("Write", &[Section::Edit]),
    ("Bash", SHELL),
    ("WebFetch", &[Section::Webfetch]),
    ("WebSearch", &[Section::Websearch]),
];

/// Returns the tools that are allowed without any limit, as the list that the standard wants.
pub(super) fn allowed(subject: &RenderSubject, settings: &RenderSettings<'_>) -> String {
    let is_open = |section: &Section| {
        let everything = [always(*section, Action::Allow, "allowed-tools")];
        let safe = || !settings.close_gaps || protects(subject, *section, &everything);
        subject.permits(*section, &everything) && safe()
    };
    let tools = TOOLS.iter().filter(|(_, reaches)| reaches.iter().all(is_open));
    tools.map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

/// Returns what a client that follows the standard lets the skill do without asking; `None` if the file is
/// not a valid skill.
pub(super) fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let (metadata, _) = front_matter::read(&files.text(&path(name))?)?;
    let description = metadata.get("description").and_then(Data::as_str)?;
    let is_one = metadata.get("name").and_then(Data::as_str) == Some(name)
        && wrong_name(name).is_none()
        && (1..=1024).contains(&description.chars().count());
    let mut model = HarnessModel::default();
    let listed = metadata.get("allowed-tools").and_then(Data::as_str).unwrap_or_default();
    for tool in listed.split(' ').filter(|tool| !tool.is_empty()) {
        // An unknown tool, or one with a specifier, may do anything.
        let known = TOOLS.iter().find(|(known, _)| *known == tool);
        for section in known.map_or(Section::ALL, |(_, reaches)| *reaches) {
            model.add(*section, tool, vec![always(*section, Action::Allow, tool)]);
        }
    }
    is_one.then_some(model)
}
