//! Imports agents of Copilot leniently: lists with commas, and more keys than documented, occur in practice.

use std::collections::BTreeSet;

use agentry_model::AgentMode;
use agentry_policy::{Action, PatternRule, RuleList, Section};
use agentry_text::Data;

use super::fields::FIELDS;
use super::tools::{
    READING, TODO, is_known, is_other, is_served, least, listed, of, only, single, tool, whole,
};
use super::{NAME, OLDER_SUFFIX};
use crate::draft::{ImportDraft, at, stem};
use crate::encoding::EncodingView;
use crate::import::{HarnessAgent, ImportError, PermittedBound};
use crate::model::escape;
use crate::render_result::LossKind;
use crate::{HarnessFiles, HarnessModel, HarnessTool, front_matter, original};

/// Whether a file is an agent: by its path, or by keys that no definition format has.
pub(super) fn is_one(path: &str, text: &str) -> bool {
    let placed = super::tools::PLACES.iter().any(|place| path.contains(&format!("{place}/")));
    let keys = ["tools", "model", "target", "handoffs", "mcp-servers", "argument-hint"];
    // Fields of definition formats, whose files may have the same suffix.
    let own = ["title", "icon", "status", "required", "recommended", "abilities"];
    let older = path.ends_with(OLDER_SUFFIX);
    let named = path.ends_with(".agent.md") || placed;
    let of_format = |front: front_matter::FrontMatter| {
        let has = |keys: &[&str]| keys.iter().any(|key| front.metadata.get(key).is_some());
        has(&keys) && !has(&own)
    };
    // An unreadable file in Copilot's directory is a broken agent, and is reported as one.
    ((placed || older) && front_matter::has_metadata(text))
        || (named && front_matter::read_leniently(text).is_ok_and(of_format))
}

pub(super) fn read(files: &dyn HarnessFiles, path: &str) -> Result<HarnessAgent, ImportError> {
    let text = files.text(path).ok_or("it is not there")?;
    let front = front_matter::read_leniently(&text)?;
    let metadata = &front.metadata;
    let mut draft = ImportDraft::new(stem(path, &[".agent.md", OLDER_SUFFIX, ".md"]), &front.body);
    draft.lenient(front.notes);
    draft.read_fields(NAME, FIELDS, metadata);
    mode(metadata, &mut draft);
    let names = names(metadata, &mut draft);
    let all = names.iter().any(|name| name == "*");
    let has = |tool: &str| all || names.iter().any(|name| whole(name) == Some(tool));
    draft.keep_tools(NAME, &[READING.to_vec()], |_| true, has);
    let mut model = of(&names, EncodingView::Strictest);
    permissions(&names, &model, &mut draft);
    helpers(metadata, &mut model, &mut draft);
    if metadata.get("hooks").is_some_and(|hooks| hooks.get("PreToolUse").is_some()) {
        draft.decided(Section::ALL, "a hook of Copilot", &mut model);
    }
    Ok(draft.read(PermittedBound::new(model), front.metadata))
}

/// Reads who may start the agent, which several fields define together.
fn mode(metadata: &Data, draft: &mut ImportDraft) {
    let identity = &mut draft.agent.identity;
    let is = |key: &str, value: bool| metadata.get(key) == Some(&Data::Bool(value));
    identity.mode = if is("disable-model-invocation", true) || is("infer", false) {
        Some(at(AgentMode::Primary))
    } else {
        (is("user-invocable", false) || is("user-invokable", false))
            .then(|| at(AgentMode::Subagent))
    };
    let for_models = is("user-invocable", false) || is("user-invokable", false);
    if for_models && draft.agent.identity.mode.is_some_and(|it| it.value == AgentMode::Primary) {
        let detail = "neither a person nor a model may start it in Copilot: a person may here";
        draft.lose("user-invocable", LossKind::Dropped, detail);
    }
}

/// Returns the tools of an agent. Unknown tools, and names for a part of a tool, are reported.
fn names(metadata: &Data, draft: &mut ImportDraft) -> Vec<String> {
    let names = match metadata.get("tools") {
        Some(list) if front_matter::list_items(list).is_none() => {
            draft.lose("tools", LossKind::Narrowed, "it is not a list: it has no tools here");
            return Vec::new();
        }
        _ => listed(metadata),
    };
    let given: Vec<&str> = names.iter().filter_map(|name| whole(name)).collect();
    let covers_section = |name: &str| single(name).is_some() || least(name).is_some();
    let is_ours = |name: &&String| *name != "*" && !is_served(name) && !covers_section(name);
    for name in names.iter().filter(is_ours) {
        match (tool(name), whole(name)) {
            _ if is_other(name) => {}
            (None, _) => {
                let detail = format!("`{name}` is not a tool that is known: it is left out");
                draft.lose("tools", LossKind::Dropped, detail);
            }
            (Some(tool), None) if !given.contains(&tool) => {
                let detail = format!("`{name}` is a part of `{tool}`, which is not granted for it");
                draft.lose("tools", LossKind::Narrowed, detail);
            }
            _ => {}
        }
    }
    names
}

/// Whether a name is plain text without wildcards.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.'))
}

/// Whether all tools of a list are known.
pub(super) fn is_tool_list(value: &Data) -> bool {
    let names = original::names(value);
    names.is_some_and(|names| names.iter().all(|name| is_name(name) && is_known(name)))
}

/// Whether a list contains names of agents.
pub(super) fn is_agent_list(value: &Data) -> bool {
    original::names(value).is_some_and(|names| names.iter().all(|name| is_name(name)))
}

/// Whether a name is plain, apart from a `*` at its end.
fn is_name(name: &str) -> bool {
    is_plain(name.strip_suffix('*').unwrap_or(name))
}

/// Imports one verdict per section: that of its tool, or a deny without a tool.
fn permissions(names: &[String], model: &HarnessModel, draft: &mut ImportDraft) {
    let way = |section| model.ways.iter().find(|way| way.section == section);
    let answer = |section| {
        let strictest = |way: &HarnessTool| {
            let inside = way.layers.iter().filter(|layer| layer.rules.is_empty());
            inside.map(|layer| layer.intent.action).max()
        };
        way(section).and_then(strictest).unwrap_or(Action::Deny)
    };
    for section in [Section::Bash, Section::Webfetch, Section::Websearch, Section::Delegate] {
        draft.section(section, answer(section));
    }
    for section in [Section::Edit, Section::Read] {
        let outside = if way(section).is_some() { Action::Ask } else { Action::Deny };
        draft.files(section, answer(section), outside);
    }
    let touches_files = way(Section::Edit).is_some() || way(Section::Read).is_some();
    let outside = if touches_files { Action::Ask } else { Action::Deny };
    draft.section(Section::ExternalDirectory, outside);
    let rule = |pattern: &str, action| PatternRule { pattern: pattern.to_owned(), action };
    let all = names.iter().any(|name| name == "*");
    let todo = all || names.iter().any(|name| whole(name) == Some(TODO));
    let todo = todo.then(|| rule(TODO, Action::Allow));
    let others = names.iter().filter(|name| is_other(name) && is_plain(name));
    let others = others.map(|name| rule(name, Action::Ask));
    let unknown = if all { Action::Ask } else { Action::Deny };
    draft.rules(Section::Tool, todo.into_iter().chain(others).collect(), unknown);
    if names.iter().any(|name| name == "*") {
        draft.section(Section::Mcp, Action::Ask);
    } else {
        let served = names.iter().filter(|name| is_served(name));
        let served = served.map(|name| rule(name, Action::Ask)).collect();
        draft.rules(Section::Mcp, served, Action::Deny);
    }
    unsure(model, draft);
}

/// Restricts delegation to the named agents.
fn helpers(metadata: &Data, model: &mut HarnessModel, draft: &mut ImportDraft) {
    let Some(list) = metadata.get("agents") else { return };
    let names = front_matter::list_items(list).unwrap_or_default();
    let has_tool = model.ways.iter().any(|way| way.section == Section::Delegate);
    if !has_tool || names.iter().any(|name| name == "*") {
        return;
    }
    let rule = |name: &String| PatternRule { pattern: name.clone(), action: Action::Ask };
    let plain = names.iter().filter(|name| !name.contains(['*', '/']));
    draft.replace(Section::Delegate, plain.map(rule).collect(), Action::Deny);
    let regexes: Vec<String> = names.iter().map(|name| escape(name)).collect();
    model.add(Section::Delegate, "agents", vec![only(Section::Delegate, "agents", &regexes)]);
}

/// Reports why a call is asked about that some programs run without a question.
fn unsure(model: &HarnessModel, draft: &mut ImportDraft) {
    let ask = |rules: &RuleList| rules.rules.is_empty() && rules.intent.action == Action::Ask;
    let asked: BTreeSet<&str> = model
        .ways
        .iter()
        .filter(|way| way.section != Section::Mcp && way.layers.iter().any(ask))
        .map(|way| way.tool.as_str())
        .collect();
    if !asked.is_empty() {
        let tools =
            asked.into_iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
        let detail = format!("some programs ask before {tools}, others do not: asked about here");
        draft.lose("permissions", LossKind::Narrowed, detail);
    }
}
