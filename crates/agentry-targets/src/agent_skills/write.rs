//! Writes agents as skills.

use agentry_text::Data;
use agentry_text::data::MapBuilder;

use super::{PLACE, path, tools, wrong_name};
use crate::front;
use crate::limits::{in_words, unenforced};
use crate::render::each;
use crate::rendering::{File, LossKind, Rendered, Rendering, Settings};
use crate::skills;
use crate::subject::{PartKind, Skill, Subject};

pub(super) fn render(subjects: &[Subject], settings: &Settings<'_>) -> Rendering {
    let agents = each(subjects, |subject| agent(subject, settings));
    Rendering { agents, shared: Vec::new() }
}

fn agent(subject: &Subject, settings: &Settings<'_>) -> Rendered {
    let mut out = Rendered::default();
    if let Some(why) = wrong_name(&subject.name) {
        let hint = "set another name in `agentry.toml`: `[render.agent-skills.aliases]`";
        out.refuse("name", format!("`{}` {why}", subject.name), Some(hint));
    }
    let mut metadata = MapBuilder::new();
    metadata.set("name", Data::str(&subject.name));
    metadata.set("description", Data::str(description(subject, &mut out)));
    metadata.str_opt("license", subject.agent.identity.license.as_ref().map(|text| &text.value));
    metadata.set_full("metadata", about(subject));
    let allowed = tools::allowed(subject, settings);
    metadata.set_opt("allowed-tools", (!allowed.is_empty()).then(|| Data::str(allowed)));
    unenforced(subject, "whoever loads the skill", &mut out);
    dropped(subject, &mut out);
    let text = front::write(&subject.origin(), &metadata.build(), &body(subject));
    out.files.push(File::new(path(&subject.name), text));
    for skill in &subject.skills {
        copy(subject, skill, &mut out);
    }
    out
}

/// One that the standard takes: it has at most 1024 characters.
fn description(subject: &Subject, out: &mut Rendered) -> String {
    let text = subject.description();
    let length = text.chars().count();
    if length > 1024 {
        let message = format!("the description has {length} characters; a skill has at most 1024");
        out.refuse("description", message, Some("write a shorter one"));
    }
    text.to_owned()
}

/// What the standard has no field for: texts by name.
fn about(subject: &Subject) -> Data {
    let identity = &subject.agent.identity;
    let mut about = MapBuilder::new();
    about.str_opt("display-name", identity.display_name.as_ref().map(|text| &text.value));
    about.str_opt("version", identity.version.as_ref().map(|text| &text.value));
    about.str_opt("author", identity.author.as_ref().map(|text| &text.value));
    let tags: Vec<&str> = identity.tags.iter().flatten().map(|tag| tag.value.as_str()).collect();
    about.set_opt("tags", (!tags.is_empty()).then(|| Data::str(tags.join(", "))));
    about.build()
}

fn body(subject: &Subject) -> String {
    let prompt = subject.prompt(&[PartKind::Prompt, PartKind::Context, PartKind::Rules]);
    let prompt = prompt.replace("\r\n", "\n");
    let parts = [Some(prompt), in_words(subject)];
    let parts = parts.iter().flatten().map(|part| part.trim_start_matches('\u{feff}').trim());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn dropped(subject: &Subject, out: &mut Rendered) {
    let agent = &subject.agent;
    let lists = [
        ("mode", agent.identity.mode.is_some()),
        ("max_turns", agent.behaviour.max_turns.is_some()),
        ("temperature", agent.behaviour.temperature.is_some()),
        ("model", agent.model.preferred.is_some()),
        ("tools.mcp", agent.tools.mcp.as_ref().is_some_and(|servers| !servers.is_empty())),
    ];
    for (field, _) in lists.iter().filter(|(_, written)| *written) {
        out.lose(*field, LossKind::Dropped, "a skill has no place for it");
    }
}

/// Copies a skill of the agent to where skills are, unless it is there already.
fn copy(subject: &Subject, skill: &Skill, out: &mut Rendered) {
    if skill.name == subject.name {
        let message = format!("the agent and its skill `{}` would be one skill", skill.name);
        out.refuse("skills", message, Some("give the agent an alias in `agentry.toml`"));
    } else if let Some(why) = wrong_name(&skill.name) {
        out.lose("skills", LossKind::Dropped, format!("`{}` {why}", skill.name));
    } else {
        skills::copy_one(skill, &[PLACE], PLACE, out);
    }
}
