//! The tools of Gemini, and the model of what an agent may do with them under its rules.

use agentry_policy::{Action, RuleList, Section};
use agentry_text::Data;

use super::NAME;
use super::fields::FIELDS;
use super::harmless_commands;
use super::policy::{self, GeminiCondition, GeminiRule};
use super::trust::TrustedServers;
use crate::encoding::{EncodedRule, EncodingView, MatchBounds, MatchOrder, RuleEncoding};
use crate::fields::is_known as is_known_field;
use crate::model::{HarnessModel, always, escape, outside};
use crate::question_habits::is_asked;
use crate::wildcard::{ANYTHING, NOTHING, WildcardDialect};
use crate::{HarnessFiles, front_matter};

pub(super) const WILDCARDS: WildcardDialect = WildcardDialect { question: false, sole: false };

/// A tool of Gemini.
#[derive(Debug)]
pub(super) struct GeminiTool {
    pub(super) name: &'static str,
    /// The section of its calls.
    pub(super) section: Section,
    /// The verdict for a call without a rule.
    pub(super) default: Action,
}

const fn tool(name: &'static str, section: Section, default: Action) -> GeminiTool {
    GeminiTool { name, section, default }
}

/// The tools that agents are rendered with; the first of a section represents the others.
pub(super) const TOOLS: &[GeminiTool] = &[
    tool("read_file", Section::Read, Action::Allow),
    tool("list_directory", Section::Read, Action::Allow),
    tool("glob", Section::Read, Action::Allow),
    tool("grep_search", Section::Read, Action::Allow),
    tool("replace", Section::Edit, Action::Ask),
    tool("write_file", Section::Edit, Action::Ask),
    tool("run_shell_command", Section::Bash, Action::Ask),
    tool("web_fetch", Section::Webfetch, Action::Ask),
    tool("google_web_search", Section::Websearch, Action::Allow),
    tool("ask_user", Section::Question, Action::Allow),
    tool("activate_skill", Section::Skill, Action::Ask),
    tool("write_todos", Section::Tool, Action::Allow),
];

/// Tools that occur only in imported agents.
pub(super) const OTHERS: &[GeminiTool] = &[
    tool("read_many_files", Section::Read, Action::Allow),
    tool("search_file_content", Section::Read, Action::Allow),
    tool("invoke_agent", Section::Delegate, Action::Allow),
];

/// Returns the tools of each section in which an agent may have only some.
pub(super) fn groups() -> Vec<Vec<&'static str>> {
    let of = |section| {
        let all = TOOLS.iter().chain(OTHERS).filter(|tool| tool.section == section);
        all.map(|tool| tool.name).collect()
    };
    [Section::Read, Section::Edit].into_iter().map(of).collect()
}

/// Whether an agent has a tool by default.
pub(super) fn is_given(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.name == name)
}

/// Whether a name in a list of tools is one of Gemini's, or an MCP tool.
pub(super) fn is_known(name: &str) -> bool {
    let own = TOOLS.iter().chain(OTHERS).any(|tool| tool.name == name);
    own || name == "*" || name.starts_with("mcp_")
}

/// Tools that only show the names of files.
pub(super) const NAMES_ONLY: &[&str] = &["list_directory", "glob"];

/// The path of an agent file.
pub(super) fn path(name: &str) -> String {
    format!(".gemini/agents/{name}.md")
}

/// The start of the line that names the rules which an agent needs.
pub(super) const NEEDS: &str = "# runs only under the rules of ";

/// Returns what Gemini lets the agent `name` do. Rules count only if the agent file names them.
pub(super) fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let rules = match needs(&files.text(&path(name))?) {
        Some(path) => policy::read(&files.text(path)?, name)?,
        None => Vec::new(),
    };
    found(files, name, &rules, &TrustedServers::of_project(files))
}

/// Returns what Gemini lets the agent `name` do under these rules; `None` if Gemini rejects the agent.
pub(super) fn found(
    files: &dyn HarnessFiles,
    name: &str,
    rules: &[GeminiRule],
    trust: &TrustedServers,
) -> Option<HarnessModel> {
    let text = files.text(&path(name))?;
    let (metadata, _) = front_matter::read(&text)?;
    let Data::Map(entries) = &metadata else { return None };
    // Gemini rejects an agent with an unknown field.
    if entries.iter().any(|(key, _)| !is_known_field(FIELDS, key)) {
        return None;
    }
    let has_text =
        |key: &str| metadata.get(key).and_then(Data::as_str).is_some_and(|it| !it.is_empty());
    if metadata.get("name").and_then(Data::as_str) != Some(name) || !has_text("description") {
        return None;
    }
    let mut names = listed(&metadata);
    // Gemini rejects an agent with an unknown tool.
    if !names.iter().all(|name| is_known(name)) {
        return None;
    }
    // An agent gets all tools of the servers that it defines.
    if metadata.get("mcp_servers").is_some_and(|servers| !servers.is_empty()) {
        names.push("mcp_*".to_owned());
    }
    Some(mildest(&names, rules, trust))
}

/// Returns the rules file that an agent names in its metadata.
pub(super) fn needs(text: &str) -> Option<&str> {
    let metadata = text.lines().skip(1).take_while(|line| *line != "---");
    metadata.map(str::trim).find_map(|line| line.strip_prefix(NEEDS))
}

/// Returns the names of an agent's tools; without a list it has all of them.
pub(super) fn listed(metadata: &Data) -> Vec<String> {
    let words = metadata.get("tools").and_then(crate::front_matter::list_items);
    words.unwrap_or_else(|| vec!["*".to_owned()])
}

/// Returns the most that an agent with these tools may do under these rules.
pub(super) fn mildest(
    names: &[String],
    rules: &[GeminiRule],
    trust: &TrustedServers,
) -> HarnessModel {
    let is_single = |name: &&String| name.starts_with("mcp_") && *name != "mcp_*";
    let single: Vec<&String> = names.iter().filter(is_single).collect();
    if single.is_empty() || names.iter().any(|name| name == "*" || name == "mcp_*") {
        return of(names, rules, EncodingView::Mildest);
    }
    let others: Vec<String> = names.iter().filter(|name| !is_single(name)).cloned().collect();
    let mut model = of(&others, rules, EncodingView::Mildest);
    let mut encoding = servers_encoding(rules, EncodingView::Mildest);
    let (trusted, default) = trust.entries();
    encoding.entries.extend(trusted);
    encoding.default = default;
    let meant = single.iter().flat_map(|name| trust.possible_tools(name));
    let entry = |(text, matches)| EncodedRule { text, action: Action::Allow, matches };
    let only = listed_only(meant.map(entry).collect());
    model.add_readings("mcp_*", &encoding, &[only.rules()], None);
    model
}

/// Returns what an agent with these tools may do under these rules.
pub(super) fn of(names: &[String], rules: &[GeminiRule], view: EncodingView) -> HarnessModel {
    let mut model = HarnessModel::default();
    // All tools include unknown ones, which may ask.
    let all = names.iter().any(|name| name == "*");
    let unknown = if all { Action::Ask } else { Action::Deny };
    let has = |name: &str| names.iter().any(|listed| listed == "*" || listed == name);
    for tool in TOOLS.iter().chain(OTHERS).filter(|tool| has(tool.name)) {
        // Showing names of files does not mean that contents may be read.
        if view == EncodingView::Mildest || !NAMES_ONLY.contains(&tool.name) {
            let rules_of_tool = encoding(tool, rules, view);
            let asked = asked(tool, rules);
            model.add_readings(
                tool.name,
                &rules_of_tool,
                &beside(tool, unknown),
                asked.as_ref().filter(|_| view == EncodingView::Mildest),
            );
        }
    }
    if view == EncodingView::Mildest && all {
        model.add(Section::Tool, "*", vec![always(Section::Tool, Action::Allow, "all tools")]);
    }
    let servers = names.iter().filter(|name| *name == "*" || name.starts_with("mcp_"));
    if servers.count() > 0 {
        let only = (view == EncodingView::Strictest).then(|| listed_servers(names).rules());
        model.add_readings("mcp_*", &servers_encoding(rules, view), only.as_slice(), None);
    }
    model
}

/// Returns the MCP tools in a list as patterns. The name of a server ends at the first `_`.
pub(super) fn of_servers(names: &[String]) -> Vec<String> {
    let pattern = |name: &String| match name.as_str() {
        "*" | "mcp_*" => Some("**".to_owned()),
        name => {
            let (server, tool) = name.strip_prefix("mcp_")?.split_once('_')?;
            let plain = !server.contains('*') && (tool == "*" || !tool.contains('*'));
            plain.then(|| format!("{server}/{tool}"))
        }
    };
    names.iter().filter_map(pattern).collect()
}

/// Allows only the MCP tools in a list.
fn listed_servers(names: &[String]) -> RuleEncoding {
    let entry = |text: String| {
        let matches = match text.split_once('/') {
            None => MatchBounds::exactly(ANYTHING),
            Some((name, tool)) => server(name, tool),
        };
        EncodedRule { text, action: Action::Allow, matches }
    };
    listed_only(of_servers(names).into_iter().map(entry).collect())
}

/// Denies all other MCP tools.
fn listed_only(entries: Vec<EncodedRule>) -> RuleEncoding {
    RuleEncoding { section: Section::Mcp, order: MatchOrder::First, entries, default: Action::Deny }
}

/// Returns the layers of one tool under rules that match all its calls.
pub(super) fn layers(tool: &GeminiTool, rules: &[GeminiRule]) -> Vec<RuleList> {
    std::iter::once(encoding(tool, rules, EncodingView::Mildest).rules())
        .chain(beside(tool, Action::Deny))
        .collect()
}

/// What the ordinary mode asks about, apart from commands that Gemini considers harmless: what no rule
/// allows.
pub(super) fn asked(tool: &GeminiTool, rules: &[GeminiRule]) -> Option<RuleList> {
    if tool.section != Section::Bash || !is_asked(NAME, Section::Bash) {
        return None;
    }
    let about = rules.iter().filter(|rule| rule.server.is_none() && rule.action == Action::Allow);
    let about = about.filter(|rule| rule.tool == tool.name || rule.tool == "*");
    let entries = about.map(|rule| entry(tool.section, rule)).collect();
    let (section, order, default) = (tool.section, MatchOrder::First, Action::Ask);
    Some(RuleEncoding { section, order, entries, default }.rules())
}

/// Returns the layers beside the rules; `unknown` is the verdict for unknown tools.
fn beside(tool: &GeminiTool, unknown: Action) -> Vec<RuleList> {
    match tool.section {
        Section::Read | Section::Edit => {
            let beyond = always(Section::ExternalDirectory, Action::Deny, "outside the workspace");
            vec![outside(tool.section, &beyond)]
        }
        Section::Tool => {
            let only = EncodedRule {
                text: tool.name.to_owned(),
                action: Action::Allow,
                matches: MatchBounds::exactly(escape(tool.name)),
            };
            let named = RuleEncoding {
                section: Section::Tool,
                order: MatchOrder::First,
                entries: vec![only],
                default: unknown,
            };
            vec![named.rules()]
        }
        _ => Vec::new(),
    }
}

/// Encodes the rules of one tool.
fn encoding(tool: &GeminiTool, rules: &[GeminiRule], view: EncodingView) -> RuleEncoding {
    let section = tool.section;
    let about = rules.iter().filter(|rule| rule.server.is_none());
    let about = about.filter(|rule| rule.tool == tool.name || rule.tool == "*");
    let mut entries: Vec<EncodedRule> = Vec::new();
    // Options can make Gemini ask about a harmless command, so an import does not rely on the list.
    let harmless = || harmless_commands::entries().filter(|_| view == EncodingView::Mildest);
    for rule in about {
        // Without an expression, Gemini checks its own list of harmless commands first.
        if section == Section::Bash
            && rule.when == GeminiCondition::Always
            && rule.action == Action::Ask
        {
            entries.extend(harmless());
        }
        entries.push(entry(section, rule));
    }
    if section == Section::Bash && tool.default == Action::Ask {
        entries.extend(harmless());
    }
    RuleEncoding { section, order: MatchOrder::First, entries, default: tool.default }.seen(view)
}

fn entry(section: Section, rule: &GeminiRule) -> EncodedRule {
    let unknown = MatchBounds { most: ANYTHING.to_owned(), least: NOTHING.to_owned() };
    let (text, matches) = match &rule.when {
        GeminiCondition::Always => ("*".to_owned(), MatchBounds::exactly(ANYTHING)),
        GeminiCondition::Command(text) if text == "*" => {
            (text.clone(), MatchBounds::exactly(ANYTHING))
        }
        GeminiCondition::Command(text) if section == Section::Bash => {
            (text.clone(), WILDCARDS.command(text))
        }
        GeminiCondition::Name(text) => (text.clone(), name(text)),
        GeminiCondition::Command(_) | GeminiCondition::Unknown => ("?".to_owned(), unknown),
    };
    EncodedRule { text, action: rule.action, matches }
}

/// Returns what a pattern about names matches: `*` stays inside one part.
pub(super) fn name(pattern: &str) -> MatchBounds {
    let pieces = pattern.split("**").map(|piece| {
        let parts: Vec<String> = piece.split('*').map(escape).collect();
        parts.join("[^/]*")
    });
    MatchBounds::exactly(pieces.collect::<Vec<_>>().join(ANYTHING))
}

/// Returns what a rule about MCP tools matches. The name of a tool contains no `/`, so the bounds may differ
/// for such names.
pub(super) fn server(server: &str, tool: &str) -> MatchBounds {
    let name = escape(server);
    match (server, tool) {
        ("*", "*") => MatchBounds::exactly(ANYTHING),
        ("*", tool) => MatchBounds::exactly(format!("[^/]*/{}", escape(tool))),
        (_, "*") => {
            MatchBounds { most: format!("{name}/[^/]*"), least: format!("{name}/{ANYTHING}") }
        }
        _ => MatchBounds::exactly(format!("{name}/{}", escape(tool))),
    }
}

/// Returns the servers and tools that a name may mean, since either part may contain `_`.
pub(super) fn servers_in(name: &str) -> Vec<(&str, &str)> {
    let both =
        name.match_indices('_').filter_map(|(at, _)| Some((name.get(..at)?, name.get(at + 1..)?)));
    both.filter(|(server, tool)| !server.is_empty() && !tool.is_empty()).collect()
}

/// Encodes the rules about MCP tools. Without a rule Gemini asks, unless the user trusts the server.
pub(super) fn servers_encoding(rules: &[GeminiRule], view: EncodingView) -> RuleEncoding {
    let about =
        rules.iter().filter_map(|rule| match (rule.server.as_deref(), rule.tool.as_str()) {
            (None, "*" | "mcp_*") => Some((rule, "*", "*")),
            (Some(server), tool) => Some((rule, server, tool)),
            (None, _) => None,
        });
    let entry = |(rule, of, tool): (&GeminiRule, &str, &str)| {
        let mut matches = server(of, tool);
        if rule.when != GeminiCondition::Always {
            NOTHING.clone_into(&mut matches.least);
        }
        EncodedRule { text: format!("{of}/{tool}"), action: rule.action, matches }
    };
    let entries = about.map(entry).collect();
    let default = if view == EncodingView::Mildest { Action::Allow } else { Action::Ask };
    RuleEncoding { section: Section::Mcp, order: MatchOrder::First, entries, default }.seen(view)
}
