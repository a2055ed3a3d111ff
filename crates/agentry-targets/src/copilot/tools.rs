//! The tools of Copilot, and the model of what an agent with them may do.

use agentry_policy::{Action, RuleList, Section};
use agentry_text::Data;

use super::NAME;
use crate::encoding::{EncodedRule, EncodingView, MatchBounds, MatchOrder, RuleEncoding};
use crate::model::{HarnessModel, always, escape, outside};
use crate::question_habits::is_asked;
use crate::wildcard::NOTHING;
use crate::{HarnessFiles, front_matter};

/// The tools by name, with the sections that they reach.
pub(super) const TOOLS: &[(&str, &[Section])] = &[
    ("execute", &[Section::Bash]),
    ("read", &[Section::Read]),
    ("search", &[Section::Read]),
    ("edit", &[Section::Edit]),
    ("web", &[Section::Webfetch, Section::Websearch]),
    ("agent", &[Section::Delegate]),
    (TODO, &[Section::Tool]),
];

/// The tool for task lists, which is known only by name.
pub(super) const TODO: &str = "todo";

/// The tools that read files; an agent may have only one of them.
pub(super) const READING: &[&str] = &["read", "search"];

/// Other names of the same tools, as they occur in existing files.
pub(super) const ALIASES: &[(&str, &[&str])] = &[
    (
        "execute",
        &[
            "shell",
            "bash",
            "powershell",
            "runcommands",
            "runinterminal",
            "terminal",
            "runtasks",
            "runtests",
            "runnotebooks",
            "run_in_terminal",
            "get_terminal_output",
            "run_task",
            "create_and_run_task",
        ],
    ),
    ("read", &["notebookread", "view", "readfile", "read_file"]),
    (
        "search",
        &[
            "grep",
            "glob",
            "codebase",
            "usages",
            "findtestfiles",
            "grep_search",
            "file_search",
            "semantic_search",
            "list_dir",
            "list_code_usages",
        ],
    ),
    (
        "edit",
        &[
            "multiedit",
            "write",
            "create",
            "notebookedit",
            "editfiles",
            "createfile",
            "new",
            "create_file",
            "replace_string_in_file",
            "insert_edit_into_file",
            "apply_patch",
        ],
    ),
    ("web", &["websearch", "webfetch", "web_search", "web_fetch"]),
    ("agent", &["custom-agent", "task", "runsubagent"]),
    ("todo", &["todowrite", "todos"]),
];

/// Tools of VS Code that cover one section of a larger tool.
const SINGLE: &[(&str, Section)] = &[
    ("fetch", Section::Webfetch),
    ("web/fetch", Section::Webfetch),
    ("fetch_webpage", Section::Webfetch),
];

/// Aliases of `web` that may do all that `web` does, with the section that each surely covers.
const LEAST: &[(&str, Section)] = &[
    ("webfetch", Section::Webfetch),
    ("web_fetch", Section::Webfetch),
    ("websearch", Section::Websearch),
    ("web_search", Section::Websearch),
];

/// The tool set of VS Code itself. Some of its tools run commands and install programs.
const EDITOR: &str = "vscode";

/// Tools of VS Code that show or ask something, and are known only by name.
pub(super) const NAMED: &[&str] = &[
    "askquestions",
    "changes",
    "extensions",
    "get_changed_files",
    "get_errors",
    "getprojectsetupinfo",
    "githubrepo",
    "opensimplebrowser",
    "problems",
    "searchresults",
    "selection",
    "terminallastcommand",
    "terminalselection",
    "testfailure",
    "think",
    "vscodeapi",
];

/// Aliases that do everything their tool does; other aliases do only a part of it.
const WHOLE: &[&str] = &[
    "shell",
    "bash",
    "powershell",
    "runcommands",
    "runinterminal",
    "run_in_terminal",
    "terminal",
    "view",
    "readfile",
    "read_file",
    "grep_search",
    "grep",
    "codebase",
    "textsearch",
    "multiedit",
    "write",
    "editfiles",
    "custom-agent",
    "task",
    "runsubagent",
    "todowrite",
    "todos",
];

/// The sections that some programs always ask about.
const ASKED: &[Section] =
    &[Section::Bash, Section::Edit, Section::Webfetch, Section::Websearch, Section::Delegate];

/// The directories of agents, for a project and for the user.
pub(super) const PLACES: &[&str] = &[".github/agents", ".copilot/agents"];

/// Returns what Copilot lets the agent `name` do.
pub(super) fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let text = PLACES.iter().find_map(|place| files.text(&format!("{place}/{name}.agent.md")))?;
    let front = front_matter::read_leniently(&text).ok()?;
    front.metadata.get("description")?.as_str()?;
    Some(of(&listed(&front.metadata), EncodingView::Mildest))
}

/// Returns the names of an agent's tools; without a list it has all of them.
pub(super) fn listed(metadata: &Data) -> Vec<String> {
    match metadata.get("tools").and_then(front_matter::list_items) {
        Some(words) => words,
        None => vec!["*".to_owned()],
    }
}

/// Returns the tool that a name stands for: `edit`, `Write`, and in VS Code `edit/editFiles`.
pub(super) fn tool(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    // These would otherwise match their tool set, which does more.
    if single(&name).is_some() {
        return None;
    }
    let known = |name: &str| TOOLS.iter().map(|(tool, _)| *tool).find(|tool| *tool == name);
    let alias = || ALIASES.iter().find(|(_, others)| others.contains(&name.as_str()));
    let of_set = || name.split_once('/').and_then(|(set, _)| known(set));
    known(&name).or_else(|| alias().map(|(tool, _)| *tool)).or_else(of_set)
}

/// Returns the section of a tool that covers one section of a larger tool.
pub(super) fn single(name: &str) -> Option<Section> {
    let known = SINGLE.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    known.map(|(_, section)| *section)
}

/// Returns the section that an alias of a larger tool surely covers.
pub(super) fn least(name: &str) -> Option<Section> {
    let known = LEAST.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    known.map(|(_, section)| *section)
}

/// Returns the tool that a name stands for, if the name covers the whole tool.
pub(super) fn whole(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or_default();
    let is_whole = tool(last) == Some(last) || last == "*" || WHOLE.contains(&last);
    tool(name).filter(|_| is_whole)
}

/// Whether a name stands for MCP tools: `github/*`, `github/create_issue`.
pub(super) fn is_served(name: &str) -> bool {
    let set = name.split_once('/').map(|(set, _)| set.to_ascii_lowercase());
    set.is_some_and(|set| tool(&set).is_none() && set != EDITOR)
}

/// Whether a tool is known only by name.
pub(super) fn is_other(name: &str) -> bool {
    NAMED.contains(&name.to_ascii_lowercase().as_str()) || of_editor(name).is_some()
}

/// Returns the name of a tool of VS Code itself; empty for all of them.
fn of_editor(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let rest = name.strip_prefix(EDITOR)?;
    if rest.is_empty() { Some(String::new()) } else { rest.strip_prefix('/').map(str::to_owned) }
}

/// Whether a name is known.
pub(super) fn is_known(name: &str) -> bool {
    let own = || tool(name).is_some() || single(name).is_some() || is_other(name);
    name == "*" || own() || is_served(name)
}

/// Returns what an agent with these tools may do. Some programs that read these files ask before a command or
/// a change, others do not.
pub(super) fn of(names: &[String], view: EncodingView) -> HarnessModel {
    let mut model = HarnessModel::default();
    let has = |tool: &str| {
        // An import grants a tool only for a name that covers all of it.
        let meant = |name: &String| {
            if view == EncodingView::Mildest { self::tool(name) } else { whole(name) }
        };
        is_all(names) || names.iter().any(|name| meant(name) == Some(tool))
    };
    let own = TOOLS.iter().filter(|(tool, _)| has(tool));
    let own = own.flat_map(|(tool, sections)| sections.iter().map(|section| (*tool, *section)));
    let covered = |name: &str| {
        let sure = || least(name).filter(|_| view == EncodingView::Strictest);
        single(name).or_else(sure)
    };
    let singles = names.iter().filter_map(|name| Some((name.as_str(), covered(name)?)));
    for (tool, section) in own.chain(singles).filter(|(_, section)| *section != Section::Tool) {
        let asks = view == EncodingView::Strictest && ASKED.contains(&section);
        let ask = asks.then(|| always(section, Action::Ask, "it may ask"));
        let layers = layers(tool, section).into_iter().chain(ask).collect();
        model.add_asked(section, tool, layers, asked(section));
    }
    // An unlisted tool of VS Code itself may run commands or change files.
    let whatever = |name: &String| of_editor(name).is_some_and(|it| !NAMED.contains(&it.as_str()));
    if view == EncodingView::Mildest && names.iter().any(whatever) {
        for section in [Section::Bash, Section::Edit] {
            model.add_asked(section, EDITOR, layers(EDITOR, section), asked(section));
        }
    }
    by_name(names, view, has(TODO), &mut model);
    servers(names, view, &mut model);
    model
}

fn is_all(names: &[String]) -> bool {
    names.iter().any(|name| name == "*")
}

/// Adds the tools that are known only by name: the one for lists, and those that may ask.
fn by_name(names: &[String], view: EncodingView, lists: bool, model: &mut HarnessModel) {
    let entry = |name: &str, action| EncodedRule {
        text: name.to_owned(),
        action,
        matches: MatchBounds::exactly(escape(name)),
    };
    let action = if view == EncodingView::Strictest { Action::Ask } else { Action::Allow };
    let others = names.iter().filter(|name| is_other(name));
    let mut entries: Vec<EncodedRule> = others.map(|name| entry(name, action)).collect();
    entries.extend(lists.then(|| entry(TODO, Action::Allow)));
    if !entries.is_empty() {
        // All tools include unknown ones.
        let default = if is_all(names) { action } else { Action::Deny };
        let (section, order) = (Section::Tool, MatchOrder::First);
        let encoding = RuleEncoding { section, order, entries, default };
        model.add(section, TODO, vec![encoding.rules()]);
    }
}

/// Adds the MCP tools.
fn servers(names: &[String], view: EncodingView, model: &mut HarnessModel) {
    let served: Vec<&String> = names.iter().filter(|name| is_served(name)).collect();
    match view {
        EncodingView::Mildest if is_all(names) => {
            let all = vec![always(Section::Mcp, Action::Allow, "all tools")];
            model.add_asked(Section::Mcp, "*", all, asked(Section::Mcp));
        }
        EncodingView::Mildest => {
            for name in served {
                model.add_asked(Section::Mcp, name, vec![server(name)], asked(Section::Mcp));
            }
        }
        EncodingView::Strictest => {
            let ask = always(Section::Mcp, Action::Ask, "it may ask");
            let regexes: Vec<String> = served.iter().map(|name| of_server(name)).collect();
            let only = (!is_all(names)).then(|| only(Section::Mcp, "servers", &regexes));
            model.add(Section::Mcp, "servers", std::iter::once(ask).chain(only).collect());
        }
    }
}

/// What the ordinary mode of VS Code and of Copilot CLI asks about.
pub(super) fn asked(section: Section) -> Option<RuleList> {
    is_asked(NAME, section).then(|| always(section, Action::Ask, "asked about"))
}

/// Returns the rules of one tool in a section.
pub(super) fn layers(tool: &str, section: Section) -> Vec<RuleList> {
    let free = always(section, Action::Allow, tool);
    match section {
        Section::Read | Section::Edit => {
            let beyond = always(Section::ExternalDirectory, Action::Ask, "outside the workspace");
            vec![free, outside(section, &beyond)]
        }
        Section::Tool => vec![only(section, tool, &[escape(tool)])],
        _ => vec![free],
    }
}

/// Returns the rules for a name of MCP tools: `github/*`, `github/create_issue`.
pub(super) fn server(name: &str) -> RuleList {
    only(Section::Mcp, name, &[of_server(name)])
}

/// A regular expression for MCP tools; the name of a tool contains no `/`.
fn of_server(name: &str) -> String {
    match name.strip_suffix("/*") {
        Some(server) => format!("{}/[^/]*", escape(server)),
        None => escape(name),
    }
}

/// Allows what one of these regular expressions matches, and nothing else.
pub(super) fn only(section: Section, text: &str, regexes: &[String]) -> RuleList {
    let none = NOTHING.to_owned();
    let regex = if regexes.is_empty() { none } else { format!("(?:{})", regexes.join("|")) };
    let matches = MatchBounds::exactly(regex);
    let entry = EncodedRule { text: text.to_owned(), action: Action::Allow, matches };
    let encoding = RuleEncoding {
        section,
        order: MatchOrder::First,
        entries: vec![entry],
        default: Action::Deny,
    };
    encoding.rules()
}
