//! The model of Pi: an agent may do everything that its tools can do.

use std::collections::BTreeSet;

use agentry_policy::{Action, PathAnchors, RuleList, Section};
use serde_json::Value;

use super::agent_file::{self, PiFields};
use super::tools::{DEFAULT, NEVER, TOOLS};
use super::{extension, places};
use crate::HarnessFiles;
use crate::encoding::{EncodedRule, EncodingView, MatchBounds, MatchOrder, RuleEncoding};
use crate::front_matter::with_lf;
use crate::model::{HarnessModel, always, escape, regex_of_path};

/// Reserved names of pi-subagents: an agent whose rules name one of these is not loaded.
const RESERVED: &[&str] =
    &["bash", "contact_supervisor", "intercom", "bg_wait", "structured_output"];

/// An agent as Pi reads it.
#[derive(Debug)]
pub(super) struct PiDefinition {
    pub(super) fields: PiFields,
    pub(super) body: String,
}

/// The tools of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PiTools {
    /// The names as they are written.
    pub(super) names: BTreeSet<String>,
    /// Whether unchecked extensions bring more tools.
    pub(super) others: bool,
}

/// Returns what Pi lets the agent `name` do.
pub(super) fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let place = places(name).into_iter().find(|place| files.text(&place.agent).is_some())?;
    let definition = read(&files.text(&place.agent)?)?;
    if definition.fields.get("name") != Some(name) {
        return None;
    }
    let mut model = of(&tools(&definition.fields, files, name, EncodingView::Mildest));
    // Pi itself writes the output of the agent, and loads the files to read.
    for (key, section) in [("output", Section::Edit), ("defaultReads", Section::Read)] {
        let paths = definition.fields.list(key).unwrap_or_default();
        let paths: Vec<String> = paths.iter().map(|path| in_workspace(path)).collect();
        if !paths.is_empty() {
            model.add(section, key, vec![only(section, key, paths)]);
        }
    }
    let system = files.text(&place.system);
    // The main session is this agent if both have the same prompt.
    let is_main = system.is_some_and(|text| agent_file::trim(&with_lf(&text)) == definition.body);
    let guarded =
        files.text(&place.session).is_some_and(|text| extension::is_guard_of(&text, name));
    // Pi itself puts no limits on a main session.
    if is_main && !guarded {
        whatever(&mut model, "main session");
    }
    Some(model)
}

/// A regular expression for a file of the project.
fn in_workspace(path: &str) -> String {
    regex_of_path(&format!("{}/{path}", PathAnchors::default().workspace))
}

/// Parses an agent file; `None` if Pi would skip it.
pub(super) fn read(text: &str) -> Option<PiDefinition> {
    let (fields, body) = agent_file::read(text)?;
    let has = |key| fields.get(key).is_some_and(|value: &str| !value.is_empty());
    let valid = has("name") && has("description") && permissions(&fields).is_some();
    valid.then_some(PiDefinition { fields, body })
}

/// Returns the verdicts for tools by name; `None` if they make the file invalid.
pub(super) fn permissions(fields: &PiFields) -> Option<Vec<(String, Action)>> {
    let text = match (fields.get("permissions"), fields.get("permission")) {
        (Some(_), Some(_)) => return None,
        (one, other) => one.or(other).unwrap_or_default(),
    };
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let metadata = format!("---\nrules:\n  {}\n---\n", text.replace('\n', "\n  "));
    let (data, _) = crate::front_matter::read(&metadata)?;
    let agentry_text::Data::Map(entries) = data.get("rules")? else { return None };
    let answer = |(tool, data): &(String, agentry_text::Data)| {
        let action = data.as_str()?.parse().ok()?;
        (!RESERVED.contains(&tool.as_str())).then(|| (tool.clone(), action))
    };
    entries.iter().map(answer).collect()
}

/// Returns the tools of an agent, with the overrides of the project's settings.
pub(super) fn tools(
    fields: &PiFields,
    files: &dyn HarnessFiles,
    name: &str,
    view: EncodingView,
) -> PiTools {
    let listed = listed(fields, files, name, view);
    let extensions = fields.list("extensions");
    let own = fields.list("subagentOnlyExtensions").unwrap_or_default();
    let paths = extensions.iter().flatten().chain(&own);
    let foreign = paths.filter(|path| !is_guard(path, files, name)).count() > 0;
    let is_code = |tool: &str| matches!(tool.rsplit_once('.'), Some((_, "ts" | "js")));
    let is_path = |tool: &str| tool.contains('/') || is_code(tool);
    let (mut names, others) = match listed {
        Some(tools) => {
            let code = tools.iter().any(|tool| !tool.starts_with("mcp:") && is_path(tool));
            (tools.into_iter().collect::<BTreeSet<_>>(), code)
        }
        // A child in the background also has the extensions of the user.
        None => (named(DEFAULT), foreign || extensions.is_none()),
    };
    let skills = fields.list("skills").or_else(|| fields.list("skill")).unwrap_or_default();
    // Pi adds `read`, with which an agent loads its skills.
    if !skills.is_empty() && !names.is_empty() {
        names.insert("read".to_owned());
    }
    if fields.get("allowNestedSubagents") == Some("true") {
        names.insert("subagent".to_owned());
    }
    let removed = fields.list("excludeTools").unwrap_or_default();
    let denied = permissions(fields).unwrap_or_default();
    let is_gone = |tool: &String| {
        removed.contains(tool)
            || denied.iter().any(|(other, action)| other == tool && *action == Action::Deny)
    };
    names.retain(|tool| !is_gone(tool));
    PiTools { names, others }
}

/// Returns the listed tools of an agent; `None` means Pi's default.
fn listed(
    fields: &PiFields,
    files: &dyn HarnessFiles,
    name: &str,
    view: EncodingView,
) -> Option<Vec<String>> {
    let overridden = overridden(files, name);
    match (overridden.is_empty(), view) {
        (true, _) => fields.list("tools"),
        // Any of these lists may apply, so the most generous result counts.
        (false, EncodingView::Mildest) => {
            let all: Option<Vec<Vec<String>>> = overridden.into_iter().collect();
            all.map(|lists| lists.concat())
        }
        (false, EncodingView::Strictest) => {
            let all = overridden.into_iter().chain([fields.list("tools")]);
            let all = all.map(|list| list.unwrap_or_else(|| named(DEFAULT).into_iter().collect()));
            all.reduce(|kept, other| kept.into_iter().filter(|it| other.contains(it)).collect())
        }
    }
}

fn named(tools: &[&str]) -> BTreeSet<String> {
    tools.iter().map(|tool| (*tool).to_owned()).collect()
}

/// Whether an extension is the unchanged guard of the agent.
fn is_guard(path: &str, files: &dyn HarnessFiles, name: &str) -> bool {
    let text = places(name).into_iter().find_map(|place| files.text(&place.guard));
    path == format!("../guard/{name}.ts")
        && text.is_some_and(|text| extension::is_guard_of(&text, name))
}

/// Returns the lists of tools with which settings may override an agent's own; `None` means Pi's default.
fn overridden(files: &dyn HarnessFiles, name: &str) -> Vec<Option<Vec<String>>> {
    let texts = [".pi/settings.json", ".pi/agent/settings.json"].map(|path| files.text(path));
    let settings = texts.into_iter().flatten().filter_map(|text| serde_json::from_str(&text).ok());
    let mut found = Vec::new();
    for settings in settings.collect::<Vec<Value>>() {
        let subagents = settings.get("subagents");
        let all = subagents.and_then(|it| it.get("agentOverrides"));
        let by_provider = subagents.and_then(|it| it.get("agentOverridesByProvider"));
        let providers =
            by_provider.and_then(Value::as_object).into_iter().flat_map(|it| it.values());
        for agents in all.into_iter().chain(providers) {
            let tools = agents.get(name).and_then(|agent| agent.get("tools"));
            found.extend(tools.map(|tools| {
                let names = tools.as_array()?.iter().filter_map(Value::as_str);
                Some(names.map(str::to_owned).collect())
            }));
        }
    }
    found
}

/// Builds the model of the tools.
pub(super) fn of(tools: &PiTools) -> HarnessModel {
    let mut model = HarnessModel::default();
    for name in &tools.names {
        match TOOLS.iter().chain(NEVER).find(|tool| tool.name == name.as_str()) {
            Some(tool) => {
                for section in tool.reaches {
                    model.add(
                        *section,
                        tool.name,
                        vec![always(*section, Action::Allow, tool.name)],
                    );
                }
            }
            // The other reserved tools only connect an agent to its caller.
            None if RESERVED.contains(&name.as_str()) => {}
            None => other(&mut model, name),
        }
    }
    if tools.others {
        whatever(&mut model, "tools of extensions");
    }
    model
}

/// Returns what the tools surely permit: their purpose, not everything that they can do. Pi has no tool of
/// its own for pages, so its shell counts for them too.
pub(super) fn bound(tools: &PiTools, skills: &[String]) -> HarnessModel {
    let mut model = HarnessModel::default();
    let has = |name: &str| tools.names.contains(name);
    // A tool that covers only a part of a section does not count.
    let whole = |name: &str| match name {
        // A tool that writes files can also change them.
        "edit" => has("write"),
        "grep" | "find" | "ls" => has("read"),
        _ => true,
    };
    let known = TOOLS.iter().chain(NEVER).filter(|tool| has(tool.name) && whole(tool.name));
    for tool in known {
        let section = match tool.name {
            "subagent" => Some(Section::Delegate),
            _ => tool.reaches.first().copied(),
        };
        if let Some(section) = section {
            model.add(section, tool.name, vec![always(section, Action::Allow, tool.name)]);
        }
    }
    if has("bash") && !has("fetch_content") {
        let all = always(Section::Webfetch, Action::Allow, "bash");
        model.add(Section::Webfetch, "bash", vec![all]);
    }
    let names = tools.names.iter().filter(|name| is_foreign(name)).map(|name| named_tool(name));
    let (servers, others): (Vec<_>, Vec<_>) = names.partition(|it| it.0 == Section::Mcp);
    let regexes = |list: Vec<(Section, String)>| list.into_iter().map(|it| it.1).collect();
    let skills = skills.iter().map(|name| escape(name)).collect();
    for (section, regexes) in [
        (Section::Mcp, regexes(servers)),
        (Section::Tool, regexes(others)),
        (Section::Skill, skills),
    ] {
        model.add(section, section.as_str(), vec![only(section, "listed", regexes)]);
    }
    model
}

/// Whether an extension or an MCP server provides a tool.
pub(super) fn is_foreign(name: &str) -> bool {
    let known = |tool: &super::tools::PiTool| tool.name == name;
    !TOOLS.iter().chain(NEVER).any(known) && !RESERVED.contains(&name)
}

/// Returns the section of a foreign tool, and an expression for it. The name of a tool contains no `/`.
fn named_tool(name: &str) -> (Section, String) {
    match name.strip_prefix("mcp:") {
        Some(server) if server.contains('/') => (Section::Mcp, escape(server)),
        Some(server) => (Section::Mcp, format!("{}/[^/]*", escape(server))),
        None => (Section::Tool, escape(name)),
    }
}

/// Adds a foreign tool.
fn other(model: &mut HarnessModel, name: &str) {
    let (section, regex) = named_tool(name);
    model.add(section, name, vec![only(section, name, vec![regex])]);
}

/// Allows what one of these regular expressions matches, and nothing else.
fn only(section: Section, text: &str, regexes: Vec<String>) -> RuleList {
    let entry = |regex| EncodedRule {
        text: text.to_owned(),
        action: Action::Allow,
        matches: MatchBounds::exactly(regex),
    };
    let entries = regexes.into_iter().map(entry).collect();
    RuleEncoding { section, order: MatchOrder::First, entries, default: Action::Deny }.rules()
}

/// Allows everything that a program can do by itself, which excludes asking the user.
fn whatever(model: &mut HarnessModel, tool: &str) {
    for section in Section::ALL.iter().filter(|section| **section != Section::Question) {
        model.add(*section, tool, vec![always(*section, Action::Allow, tool)]);
    }
}
