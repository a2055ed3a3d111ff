//! Reads agents of Copilot, as they are met: lists as lists or with commas, more keys than documented.

use agentry_model::Mode;
use agentry_policy::{Action, PatternRule, Section};
use agentry_text::Data;

use super::KEYS;
use super::tools::{listed, of, tool};
use crate::import::Read;
use crate::imported::{Draft, at, stem};
use crate::rendering::LossKind;
use crate::{Files, Model, lenient};

/// Whether a file is one: by its place, or by keys that no definition format has.
pub(super) fn is_one(path: &str, text: &str) -> bool {
    let placed = super::tools::PLACES.iter().any(|place| path.contains(&format!("{place}/")));
    let keys = ["tools", "model", "target", "handoffs", "mcp-servers", "argument-hint"];
    let own = ["title", "icon", "status", "required", "recommended", "abilities"];
    let named = path.ends_with(".agent.md") || placed;
    named
        && lenient::read(text).is_ok_and(|front| {
            let has = |keys: &[&str]| keys.iter().any(|key| front.metadata.get(key).is_some());
            placed || (has(&keys) && !has(&own))
        })
}

pub(super) fn read(files: &Files<'_>, path: &str) -> Result<Read, String> {
    let text = files(path).ok_or("it is not there")?;
    let front = lenient::read(&text)?;
    let metadata = &front.metadata;
    let name = agentry_model::slug(stem(path, &[".agent.md", ".md"]));
    let mut draft = Draft::new(&name, &front.body);
    draft.lenient(front.notes);
    draft.unknown(metadata, KEYS);
    identity(metadata, &name, &mut draft);
    let names = listed(metadata);
    let model = of(&names);
    permissions(&names, &model, &mut draft);
    draft.servers(metadata.get("mcp-servers"));
    Ok(Read { agent: draft.agent, model, losses: draft.losses })
}

fn identity(metadata: &Data, name: &str, draft: &mut Draft) {
    let text = |key: &str| metadata.get(key).and_then(Data::as_str);
    let identity = &mut draft.agent.identity;
    identity.description = text("description").map(|text| at(text.to_owned()));
    identity.display_name =
        text("name").filter(|shown| *shown != name).map(|shown| at(shown.to_owned()));
    let is = |key: &str, value: bool| metadata.get(key) == Some(&Data::Bool(value));
    identity.mode = if is("disable-model-invocation", true) || is("infer", false) {
        Some(at(Mode::Primary))
    } else {
        is("user-invocable", false).then(|| at(Mode::Subagent))
    };
    let models = metadata.get("model").and_then(lenient::words).filter(|list| !list.is_empty());
    draft.agent.model.preferred = models.map(|models| models.into_iter().map(at).collect());
    let placeless =
        ["target", "handoffs", "argument-hint", "agents", "metadata", "hidden", "agent"];
    for key in placeless.iter().filter(|key| metadata.get(key).is_some()) {
        draft.lose(key, LossKind::Dropped, "the model has no place for it");
    }
}

/// One answer a section: what its tool may do, or nothing without one.
fn permissions(names: &[String], model: &Model, draft: &mut Draft) {
    let has = |section| model.ways.iter().any(|way| way.section == section);
    let answer = |section| if has(section) { Action::Allow } else { Action::Deny };
    for section in [Section::Bash, Section::Webfetch, Section::Websearch, Section::Delegate] {
        draft.section(section, answer(section));
    }
    for section in [Section::Edit, Section::Read] {
        let outside = if has(section) { Action::Ask } else { Action::Deny };
        draft.files(section, answer(section), outside);
    }
    let touches_files = has(Section::Edit) || has(Section::Read);
    let outside = if touches_files { Action::Ask } else { Action::Deny };
    draft.section(Section::ExternalDirectory, outside);
    draft.section(Section::Question, Action::Deny);
    let allowed =
        |pattern: &str| PatternRule { pattern: pattern.to_owned(), action: Action::Allow };
    let todo = if has(Section::Tool) { vec![allowed("todo")] } else { Vec::new() };
    draft.rules(Section::Tool, todo, Action::Deny);
    let all = names.iter().any(|name| name == "*");
    let served = names.iter().filter(|name| name.contains('/') && tool(name).is_none());
    let served: Vec<PatternRule> = served.map(|name| allowed(name)).collect();
    let intent = if all { Action::Allow } else { Action::Deny };
    draft.rules(Section::Mcp, if all { Vec::new() } else { served }, intent);
}
