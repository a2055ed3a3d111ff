//! Reads an agent of Pi: its tools are its permissions.

use std::collections::BTreeSet;

use agentry_model::{Agent, SkillRef};
use agentry_policy::{Action, PatternRule, Permissions, Section, SectionRules};
use agentry_text::{FileId, Span, Spanned};
use serde_json::Value;

use super::front::{self, Fields};
use super::model::{Tools, of, permissions, read, tools};
use super::tools::{NEVER, TOOLS};
use crate::Files;
use crate::import::{Import, Read};
use crate::rendering::{Loss, LossKind};

pub(super) const IMPORT: Import = Import {
    places: &[(".pi/agents", ".md"), (".pi/agent/agents", ".md")],
    is_one: |path, _| {
        let place = path.contains(".pi/agents/") || path.contains(".pi/agent/agents/");
        let is_chain = |stem: &str| stem.strip_suffix(".chain").is_some();
        place && path.strip_suffix(".md").is_some_and(|stem| !is_chain(stem))
    },
    read: import,
};

/// Fields that need no word: they say what the model says anyway, or how Pi shows the agent.
const SILENT: &[&str] = &[
    "name",
    "description",
    "tools",
    "excludeTools",
    "permission",
    "permissions",
    "model",
    "fallbackModels",
    "skill",
    "skills",
    "systemPromptMode",
    "inheritProjectContext",
    "inheritSkills",
    "toolBudget",
    "turnBudget",
    "advertise",
];

fn import(files: &Files<'_>, path: &str) -> Result<Read, String> {
    let text = files(path).ok_or("it cannot be read")?;
    let mut losses = BTreeSet::new();
    let mut lose = |field: &str, kind, detail: String| {
        losses.insert(Loss { field: field.to_owned(), kind, detail });
    };
    let plain = text.trim_start_matches('\u{feff}');
    if plain.len() < text.len() {
        lose("name", LossKind::Narrowed, "Pi sees no metadata after a byte order mark".to_owned());
    }
    let definition = read(plain).ok_or_else(|| why_not(plain))?;
    let fields = &definition.fields;
    if fields.get("runner").is_some() {
        return Err("another program runs it (`runner`)".to_owned());
    }
    let name = fields.get("name").unwrap_or_default();
    let tools = tools(fields, files, name);
    let mut agent = Agent::default();
    agent.identity.name = Some(spanned(name));
    agent.identity.description = fields.get("description").map(spanned);
    agent.instructions.system = Some(spanned(&definition.body));
    models(fields, &mut agent);
    skills(fields, &mut agent);
    agent.behaviour.max_turns = turns(fields).map(|turns| Spanned::new(turns, nowhere()));
    let asked = asked(fields);
    let partial = partial(&tools);
    agent.policy.permissions = Some(policy(&tools, &asked));
    for detail in partial {
        lose("permissions", LossKind::Narrowed, detail);
    }
    for (key, _) in fields.0.iter().filter(|(key, _)| !SILENT.contains(&key.as_str())) {
        lose(key, LossKind::Dropped, "there is no place for it".to_owned());
    }
    if fields.get("systemPromptMode") == Some("append") {
        lose("systemPromptMode", LossKind::Dropped, "Pi's own prompt is not there".to_owned());
    }
    Ok(Read { agent, model: of(&tools), losses })
}

fn why_not(text: &str) -> String {
    let Some((fields, _)) = front::read(text) else {
        return "it has no metadata that Pi would see".to_owned();
    };
    for key in ["name", "description"] {
        if fields.get(key).is_none_or(str::is_empty) {
            return format!("Pi passes over an agent without `{key}`");
        }
    }
    "Pi refuses its `permission`".to_owned()
}

fn nowhere() -> Span {
    Span::start_of(FileId::BUILT_IN)
}

fn spanned(text: &str) -> Spanned<String> {
    Spanned::new(text.to_owned(), nowhere())
}

fn models(fields: &Fields, agent: &mut Agent) {
    let first = fields.get("model").map(str::to_owned);
    let rest = fields.list("fallbackModels").unwrap_or_default();
    let names: Vec<_> =
        first.into_iter().chain(rest).map(|name| Spanned::new(name, nowhere())).collect();
    agent.model.preferred = (!names.is_empty()).then_some(names);
}

fn skills(fields: &Fields, agent: &mut Agent) {
    let names = fields.list("skill").or_else(|| fields.list("skills")).unwrap_or_default();
    let skill = |name| SkillRef { name, optional: false, options: Vec::new() };
    let skills: Vec<_> =
        names.into_iter().map(|name| Spanned::new(skill(name), nowhere())).collect();
    agent.skills = (!skills.is_empty()).then_some(skills);
}

/// The limit of rounds, or of calls, of which there is at least one in a round.
fn turns(fields: &Fields) -> Option<i64> {
    let number = |key: &str, inner: &str| {
        let value: Value = serde_json::from_str(fields.get(key)?).ok()?;
        value.get(inner)?.as_i64().filter(|number| *number > 0)
    };
    number("turnBudget", "maxTurns").or_else(|| number("toolBudget", "hard"))
}

/// The tools that a model decides about: the nearest word for it is ask.
fn asked(fields: &Fields) -> Vec<String> {
    let rules = permissions(fields).unwrap_or_default();
    rules.into_iter().filter(|(_, action)| *action == Action::Ask).map(|(tool, _)| tool).collect()
}

/// Tools that give a part of a section, which is not granted for that.
fn partial(tools: &Tools) -> Vec<String> {
    let has = |name: &str| tools.names.contains(name);
    let mut out = Vec::new();
    if has("edit") != has("write") {
        out.push("`edit` and `write` are one permission: neither is granted".to_owned());
    }
    if !has("read") && ["grep", "find", "ls"].into_iter().any(has) {
        out.push("`grep`, `find` and `ls` without `read` are not granted".to_owned());
    }
    if tools.others {
        out.push("tools of extensions are not granted".to_owned());
    }
    out
}

/// The rules that say what the tools say: allow for what can be done with them, deny for the rest.
fn policy(tools: &Tools, asked: &[String]) -> Permissions {
    let action = |name: &str| match tools.names.contains(name) {
        true if asked.iter().any(|tool| tool == name) => Action::Ask,
        true => Action::Allow,
        false => Action::Deny,
    };
    let both = |one: &str, other: &str| action(one).strictest(action(other));
    let files = action("read").min(both("edit", "write"));
    let intent = |section: Section| match section {
        Section::Bash | Section::Env => action("bash"),
        Section::Edit => both("edit", "write"),
        Section::Read => action("read"),
        Section::ExternalDirectory => files,
        Section::Webfetch => action("fetch_content"),
        Section::Websearch => action("web_search"),
        Section::Delegate => action("subagent"),
        Section::Question | Section::Mcp | Section::Tool | Section::Skill => Action::Deny,
    };
    let section = |section: &Section| SectionRules {
        section: Spanned::new(*section, nowhere()),
        intent: Some(Spanned::new(intent(*section), nowhere())),
        rules: rules(*section, tools, &action),
    };
    Permissions { sections: Section::ALL.iter().map(section).collect() }
}

/// Tools of others, by name.
fn rules(
    section: Section,
    tools: &Tools,
    action: &dyn Fn(&str) -> Action,
) -> Vec<Spanned<PatternRule>> {
    let known = |name: &str| TOOLS.iter().chain(NEVER).any(|tool| tool.name == name);
    let patterns = tools.names.iter().filter_map(|name| match name.strip_prefix("mcp:") {
        Some(server) if section == Section::Mcp && !server.contains('/') => {
            Some((format!("{server}/*"), action(name)))
        }
        Some(server) if section == Section::Mcp => Some((server.to_owned(), action(name))),
        None if section == Section::Tool && !known(name) && !name.contains(['/', '*', '.']) => {
            Some((name.clone(), action(name)))
        }
        _ => None,
    });
    let literal = patterns.filter(|(pattern, _)| !pattern.trim_end_matches("/*").contains('*'));
    literal
        .map(|(pattern, action)| Spanned::new(PatternRule { pattern, action }, nowhere()))
        .collect()
}
