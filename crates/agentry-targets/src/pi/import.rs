//! Imports agents of Pi, whose permissions are their tools.

use agentry_policy::{Action, PatternRule, Section};
use agentry_text::Data;
use serde_json::Value;

use super::NAME;
use super::agent_file::{self, PiFields};
use super::fields::{FALLBACKS, FIELDS};
use super::model::{PiTools, bound, is_foreign, permissions, read, tools};
use super::tools::{DEFAULT, groups};
use crate::HarnessFiles;
use crate::draft::{ImportDraft, at};
use crate::encoding::EncodingView;
use crate::front_matter::has_metadata;
use crate::import::{HarnessAgent, HarnessImport, ImportError, PermittedBound};
use crate::original::{self, GrantReading};
use crate::render_result::LossKind;

pub(super) const IMPORT: HarnessImport = HarnessImport {
    places: &[(".pi/agents", ".md"), (".pi/agent/agents", ".md")],
    is_one: |path, text| {
        let place = path.contains(".pi/agents/") || path.contains(".pi/agent/agents/");
        let is_chain = |stem: &str| stem.strip_suffix(".chain").is_some();
        place && has_metadata(text) && path.strip_suffix(".md").is_some_and(|stem| !is_chain(stem))
    },
    several: None,
    read: import,
    overrides: true,
    grants: GrantReading { normalise, ..GrantReading::PLAIN },
};

/// Normalises metadata: an agent without a list of tools has Pi's default tools.
fn normalise(metadata: &Data) -> Data {
    let Data::Map(mut fields) = metadata.clone() else { return metadata.clone() };
    if metadata.get("tools").is_none() {
        fields.push(("tools".to_owned(), Data::strings(DEFAULT)));
    }
    Data::Map(fields)
}

fn import(files: &dyn HarnessFiles, path: &str) -> Result<HarnessAgent, ImportError> {
    let text = files.text(path).ok_or("it cannot be read")?;
    let plain = text.trim_start_matches('\u{feff}');
    let definition = read(plain).ok_or_else(|| ImportError::unused(why_not(plain)))?;
    let fields = &definition.fields;
    if fields.get("runner").is_some() {
        return Err(ImportError::unused("another program runs it (`runner`)"));
    }
    let name = fields.get("name").unwrap_or_default();
    let tools = tools(fields, files, name, EncodingView::Strictest);
    let mut draft = ImportDraft::new(name, &definition.body);
    if plain.len() < text.len() {
        let detail = "Pi sees no metadata after a byte order mark";
        draft.lose("metadata", LossKind::Changed, detail);
    }
    let others = fields.list(FALLBACKS).unwrap_or_default();
    draft.models(fields.get("model").into_iter().chain(others.iter().map(String::as_str)));
    if fields.get("model").is_none() && !others.is_empty() {
        let detail = "Pi tries the model of the session first, and a definition its first one";
        draft.lose("model.preferred", LossKind::Changed, detail);
        original::set(&mut draft.agent, NAME, FALLBACKS, Data::str(others.join(", ")));
    }
    let skills = fields.list("skill").or_else(|| fields.list("skills")).unwrap_or_default();
    draft.skills(skills.clone());
    draft.agent.behaviour.max_turns = turns(fields).map(at);
    for detail in partial(&tools) {
        draft.lose("permissions", LossKind::Narrowed, detail);
    }
    policy(&tools, &asked(fields), &skills, &mut draft);
    let texts = fields.0.iter().map(|(key, text)| (key.clone(), Data::str(text)));
    let metadata = Data::Map(texts.collect());
    keep(fields, &metadata, &tools, &mut draft);
    let bound = PermittedBound::new(bound(&tools, &skills));
    Ok(draft.read(bound, metadata))
}

/// Keeps what only Pi understands, and reports entries of the tools that mean something else.
fn keep(fields: &PiFields, metadata: &Data, tools: &PiTools, draft: &mut ImportDraft) {
    draft.read_fields(NAME, FIELDS, metadata);
    let has = |tool: &str| tools.names.contains(tool);
    // An agent that only fetches pages may still get a shell.
    let groups = groups().into_iter().filter(|group| !group.contains(&"bash") || has("bash"));
    draft.keep_tools(NAME, &groups.collect::<Vec<_>>(), |_| true, has);
    for name in tools.names.iter().filter(|name| is_foreign(name) && !is_tool(name)) {
        let why = if name.contains(ODD) {
            ": Pi knows no brackets, no quotes and no comments in a list"
        } else {
            " that Pi knows"
        };
        draft.lose("tools", LossKind::Dropped, format!("`{name}` is not a tool{why}"));
    }
    for name in tools.names.iter().filter(|name| is_foreign(name) && is_tool(name)) {
        let detail = format!("`{name}` is of an extension, and is known by its name only");
        draft.lose("tools", LossKind::Changed, detail);
    }
    if has("bash") && !has("fetch_content") {
        let detail = "the shell of Pi reaches every address: allowed here";
        draft.lose("permissions.webfetch", LossKind::Changed, detail);
    }
    if fields.get("inheritSkills") == Some("true") {
        draft.lose("inheritSkills", LossKind::Dropped, "it is shown its own skills only");
    }
}

/// Characters that no tool name contains, unless the list was written as YAML.
const ODD: [char; 6] = ['[', ']', '"', '\'', '#', ' '];

/// Whether a name can be a tool of an extension, or of an MCP server.
fn is_tool(name: &str) -> bool {
    match name.strip_prefix("mcp:") {
        Some(server) => is_plain(server) && !name.contains(ODD),
        None => !name.contains(['/', '*', '.', ':']) && !name.contains(ODD),
    }
}

fn why_not(text: &str) -> String {
    let Some((fields, _)) = agent_file::read(text) else {
        return "it has no metadata that Pi would see".to_owned();
    };
    for key in ["name", "description"] {
        if fields.get(key).is_none_or(str::is_empty) {
            return format!("Pi passes over an agent without `{key}`");
        }
    }
    "Pi refuses its `permission`".to_owned()
}

/// Reads the limit of turns, or of calls, of which each turn has at least one.
fn turns(fields: &PiFields) -> Option<i64> {
    let number = |key: &str, inner: &str| {
        let value: Value = serde_json::from_str(fields.get(key)?).ok()?;
        value.get(inner)?.as_i64().filter(|number| *number > 0)
    };
    number("turnBudget", "maxTurns").or_else(|| number("toolBudget", "hard"))
}

/// Returns the tools that a model decides about; the nearest verdict is ask.
fn asked(fields: &PiFields) -> Vec<String> {
    let rules = permissions(fields).unwrap_or_default();
    rules.into_iter().filter(|(_, action)| *action == Action::Ask).map(|(tool, _)| tool).collect()
}

/// Reports tools that cover only a part of a section, which is not granted.
fn partial(tools: &PiTools) -> Vec<String> {
    let has = |name: &str| tools.names.contains(name);
    let mut out = Vec::new();
    if has("edit") && !has("write") {
        out.push("`edit` is a part of what `write` does, and is not granted alone".to_owned());
    }
    if !has("read") && ["grep", "find", "ls"].into_iter().any(has) {
        out.push("`grep`, `find` and `ls` without `read` are not granted".to_owned());
    }
    if tools.others {
        out.push("tools of extensions are not granted".to_owned());
    }
    out
}

/// Imports the rules: an allow for each section that the tools cover, a deny for the rest.
fn policy(tools: &PiTools, asked: &[String], skills: &[String], draft: &mut ImportDraft) {
    let action = |name: &str| match tools.names.contains(name) {
        true if asked.iter().any(|tool| tool == name) => Action::Ask,
        true => Action::Allow,
        false => Action::Deny,
    };
    let has = |name: &str| tools.names.contains(name);
    let edit =
        if has("edit") { action("edit").strictest(action("write")) } else { action("write") };
    let fetch = if has("fetch_content") { "fetch_content" } else { "bash" };
    // The section bounds both reads and edits, so the milder verdict counts.
    let files = action("read").min(edit);
    for (section, answer) in [
        (Section::Bash, action("bash")),
        (Section::Edit, edit),
        (Section::Read, action("read")),
        (Section::ExternalDirectory, files),
        (Section::Webfetch, action(fetch)),
        (Section::Websearch, action("web_search")),
        (Section::Delegate, action("subagent")),
    ] {
        draft.section(section, answer);
    }
    by_name(tools, action, draft);
    let skills = skills.iter().filter(|name| is_plain(name));
    let allow = |name: &String| PatternRule { pattern: name.clone(), action: Action::Allow };
    draft.rules(Section::Skill, skills.map(allow).collect(), Action::Deny);
}

fn is_plain(pattern: &str) -> bool {
    !pattern.trim_end_matches("/*").contains('*')
}

/// Imports rules for foreign tools: MCP tools, and others by name.
fn by_name(tools: &PiTools, action: impl Fn(&str) -> Action, draft: &mut ImportDraft) {
    let rule = |pattern: String, action| PatternRule { pattern, action };
    let (mut servers, mut others) = (Vec::new(), Vec::new());
    for name in tools.names.iter().filter(|name| is_foreign(name) && is_tool(name)) {
        match name.strip_prefix("mcp:") {
            Some(server) if server.contains('/') => {
                servers.push(rule(server.to_owned(), action(name)));
            }
            Some(server) => servers.push(rule(format!("{server}/*"), action(name))),
            None => others.push(rule(name.clone(), action(name))),
        }
    }
    draft.rules(Section::Mcp, servers, Action::Deny);
    draft.rules(Section::Tool, others, Action::Deny);
}
