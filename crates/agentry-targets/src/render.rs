//! From agents to the files of a harness, proved: written, read back, compared with the source.

use std::collections::HashMap;

use agentry_policy::{Action, Rules, Section};

use crate::gap::gaps;
use crate::proof::{Proof, within};
use crate::rendering::{LossKind, Rendered, Rendering, Settings};
use crate::subject::Subject;
use crate::{Model, Target, unseen};

/// Renders the agents of one project for a harness. An agent whose files would permit more than its
/// source, or that the harness would not find under its name, has a refusal and no files.
pub fn render(target: &Target, subjects: &[Subject], settings: &Settings<'_>) -> Rendering {
    let mut rendering = (target.render)(subjects, settings);
    for (subject, rendered) in subjects.iter().zip(&mut rendering.agents) {
        name(target, subject, rendered);
    }
    one_file_one_agent(subjects, &mut rendering);
    let models: Vec<Option<Model>> =
        subjects.iter().map(|subject| read_back(target, subject, &rendering, settings)).collect();
    for ((subject, rendered), model) in subjects.iter().zip(&mut rendering.agents).zip(&models) {
        verify(target, subject, model.as_ref(), settings, rendered);
    }
    for rendered in &mut rendering.agents {
        if rendered.refused.is_some() {
            rendered.files.clear();
        }
    }
    rendering
}

/// What the harness makes of the files as they would be.
pub fn read_back(
    target: &Target,
    subject: &Subject,
    rendering: &Rendering,
    settings: &Settings<'_>,
) -> Option<Model> {
    let own = rendering.agents.iter().flat_map(|agent| &agent.files);
    let written: HashMap<&str, &str> =
        own.chain(&rendering.shared).map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let files = |path: &str| match written.get(path) {
        Some(text) => Some((*text).to_owned()),
        None => (settings.existing)(path),
    };
    (target.model)(&files, &subject.name)
}

/// Refuses what the harness would take for more than the source says, and reports its blind spots.
fn verify(
    target: &Target,
    subject: &Subject,
    model: Option<&Model>,
    settings: &Settings<'_>,
    out: &mut Rendered,
) {
    let Some(model) = model else {
        let message = format!("{} would not find the agent under this name", target.title);
        out.refuse("name", message, None);
        return;
    };
    for way in &model.ways {
        let field = format!("permissions.{}", way.section);
        let guarded = settings.guard && out.guarded.contains(&way.section);
        match within(&way.layers, &bounds(subject, way.section, guarded)) {
            Proof::Holds => {}
            Proof::Fails { example, source, target: milder } => {
                let title = target.title;
                let message = format!(
                    "`{example}` is {source} in the source and would be {milder} in {title}"
                );
                out.refuse(
                    &field,
                    message,
                    Some("write a stricter rule, or render with `--guard`"),
                );
            }
            Proof::Unknown(why) => {
                out.refuse(&field, why, Some("write fewer or simpler rules"));
            }
        }
    }
    if settings.guard && target.guard.is_some() {
        unseen::programs(subject, out);
    }
    if !settings.guard {
        for gap in gaps(subject, model, target.blind) {
            out.lose("permissions.bash", LossKind::Gap, gap.detail());
        }
    }
}

/// What a section must stay within; where the guard denies, a person may be asked instead.
fn bounds(subject: &Subject, section: Section, guarded: bool) -> Vec<Rules> {
    let mut bounds = subject.bounds(section);
    for rules in bounds.iter_mut().filter(|_| guarded) {
        for rule in rules.rules.iter_mut().chain([&mut rules.intent]) {
            rule.action = rule.action.min(Action::Ask);
        }
    }
    bounds
}

/// Refuses names that the harness has built in, or that are no names of files.
fn name(target: &Target, subject: &Subject, out: &mut Rendered) {
    let name = subject.name.as_str();
    let hint = format!("set another name in `agentry.toml`: `[render.aliases]` `{name} = \"…\"`");
    if target.built_in.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        let message = format!("`{name}` is built into {}", target.title);
        out.refuse("name", message, Some(&hint));
    }
    if let Some(why) = wrong_name(name) {
        out.refuse("name", format!("`{name}` {why}"), Some(&hint));
    }
}

/// Names of devices on some systems, whatever their case.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// Why a name cannot be that of a file in every harness.
fn wrong_name(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let device = |name: &str| {
        let numbered = name.strip_prefix("com").or_else(|| name.strip_prefix("lpt"));
        DEVICES.contains(&name)
            || numbered
                .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|c| c.is_ascii_digit()))
    };
    if name.is_empty() {
        Some("is empty")
    } else if !name.chars().all(plain) {
        Some("holds more than small letters, digits and `-`")
    } else if name.starts_with(['-', '_']) || name.ends_with(['-', '_']) || name.contains("--") {
        Some("starts or ends with `-`, or has two in a row")
    } else if device(name) {
        Some("is the name of a device on some systems")
    } else {
        None
    }
}

/// Refuses agents that would be written to the same file.
fn one_file_one_agent(subjects: &[Subject], rendering: &mut Rendering) {
    let mut owners: HashMap<String, usize> = HashMap::new();
    let mut clashes = Vec::new();
    for (at, agent) in rendering.agents.iter().enumerate() {
        for file in &agent.files {
            let key = file.path.to_lowercase();
            match owners.get(&key) {
                Some(other) if *other != at => {
                    let same = rendering
                        .agents
                        .get(*other)
                        .is_some_and(|other| other.files.contains(file));
                    if !same {
                        clashes.push((*other, at, file.path.clone()));
                    }
                }
                _ => drop(owners.insert(key, at)),
            }
        }
    }
    for (first, second, path) in clashes {
        for (at, other) in [(first, second), (second, first)] {
            let other = subjects.get(other).map_or("", |subject| subject.path.as_str());
            if let Some(agent) = rendering.agents.get_mut(at) {
                let message = format!("`{path}` would be written for `{other}` too");
                agent.refuse("name", message, Some("give one of them an alias in `agentry.toml`"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_files() {
        let cases = [
            ("chiron", true),
            ("chiron-forge", true),
            ("-x", false),
            ("--", false),
            ("x-", false),
            ("a--b", false),
            ("con", false),
            ("com1", false),
            ("comet", true),
            ("a/b", false),
            ("Upper", false),
            ("", false),
        ];
        for (name, good) in cases {
            assert_eq!(wrong_name(name).is_none(), good, "{name}");
        }
    }
}
