//! Reads agents of Gemini, with the rules that were rendered beside them.

use agentry_policy::{Action, PatternRule, Section};
use agentry_text::Data;

use super::KEYS;
use super::policy::{self, Ruled, When};
use super::tools::{listed, needs, of};
use crate::import::Read;
use crate::imported::{Draft, at, stem};
use crate::rendering::LossKind;
use crate::{Files, Model, lenient};

pub(super) fn read(files: &Files<'_>, path: &str) -> Result<Read, String> {
    let text = files(path).ok_or("it is not there")?;
    let front = lenient::read(&text)?;
    let metadata = &front.metadata;
    let name = metadata.get("name").and_then(Data::as_str);
    let name = name.unwrap_or_else(|| stem(path, &[".md"])).to_owned();
    if metadata.get("kind").and_then(Data::as_str) == Some("remote") {
        return Err("it is somewhere else: `kind: remote`".to_owned());
    }
    let mut draft = Draft::new(&name, &front.body);
    draft.lenient(front.notes);
    draft.unknown(metadata, KEYS);
    identity(metadata, &mut draft);
    let rules = rules(files, &name, &text)?;
    let names = listed(metadata);
    let model = of(&names, &rules);
    permissions(&model, &rules, &mut draft);
    draft.servers(metadata.get("mcp_servers"));
    Ok(Read { agent: draft.agent, model, losses: draft.losses })
}

/// The rules that an agent says it runs under. A file that cannot be read is no file without rules.
fn rules(files: &Files<'_>, name: &str, text: &str) -> Result<Vec<Ruled>, String> {
    let Some(path) = needs(text) else { return Ok(Vec::new()) };
    let text = files(path).ok_or_else(|| format!("`{path}` is not there"))?;
    policy::read(&text, name).ok_or_else(|| format!("`{path}` cannot be read"))
}

fn identity(metadata: &Data, draft: &mut Draft) {
    let text = |key: &str| metadata.get(key).and_then(Data::as_str).map(|text| at(text.to_owned()));
    let identity = &mut draft.agent.identity;
    identity.description = text("description");
    identity.display_name = text("display_name");
    draft.agent.model.preferred = text("model").map(|model| vec![model]);
    draft.agent.behaviour.temperature = match metadata.get("temperature") {
        Some(Data::Float(value)) => Some(at(*value)),
        Some(Data::Int(value)) => i32::try_from(*value).ok().map(|value| at(f64::from(value))),
        _ => None,
    };
    draft.agent.behaviour.max_turns = match metadata.get("max_turns") {
        Some(Data::Int(value)) => Some(at(*value)),
        _ => None,
    };
    if metadata.get("timeout_mins").is_some() {
        draft.lose("timeout_mins", LossKind::Dropped, "the model has no place for it");
    }
}

/// What each tool may do, as rules of the model.
fn permissions(model: &Model, rules: &[Ruled], draft: &mut Draft) {
    let way = |section| model.ways.iter().find(|way| way.section == section);
    for section in Section::ALL.iter().copied() {
        let Some(way) = way(section) else {
            if section != Section::Env {
                draft.section(section, Action::Deny);
            }
            continue;
        };
        let about: Vec<&Ruled> = match section {
            Section::Mcp => rules.iter().filter(|rule| rule.server.is_some()).collect(),
            _ => {
                rules.iter().filter(|rule| rule.server.is_none() && rule.tool == way.tool).collect()
            }
        };
        let written = about.iter().filter_map(|rule| pattern(section, rule)).collect();
        let last = about.iter().find(|rule| is_for_all(rule));
        let mildest = way.layers.iter().map(|rules| rules.intent.action).min();
        let intent = last.map_or(mildest.unwrap_or(Action::Ask), |rule| rule.action);
        match section {
            Section::Read | Section::Edit => draft.files(section, intent, Action::Deny),
            Section::Tool => {
                let todos = PatternRule { pattern: way.tool.clone(), action: intent };
                draft.rules(section, vec![todos], Action::Deny);
            }
            _ => draft.rules(section, written, intent),
        }
    }
}

fn is_for_all(rule: &Ruled) -> bool {
    let all = match &rule.when {
        When::Always => true,
        When::Command(text) | When::Name(text) => text == "*",
        When::Unknown => false,
    };
    all && rule.server.as_deref().is_none_or(|server| server == "*" && rule.tool == "*")
}

/// The pattern of a rule in our words; nothing for what is understood as the answer to all others.
fn pattern(section: Section, rule: &Ruled) -> Option<PatternRule> {
    if is_for_all(rule) {
        return None;
    }
    let text = match (&rule.when, &rule.server) {
        (When::Command(text), _) if section == Section::Bash => text.clone(),
        (When::Name(text), _) => text.clone(),
        (When::Always, Some(server)) => format!("{server}/{}", rule.tool),
        _ => "**".to_owned(),
    };
    Some(PatternRule { pattern: text, action: rule.action })
}
