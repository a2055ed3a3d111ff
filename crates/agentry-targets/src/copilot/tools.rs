//! The tools of Copilot, and what an agent that has them may do.

use agentry_policy::{Action, Rules, Section};
use agentry_text::Data;

use crate::encoding::{Encoding, Entry, Matches, Order, View};
use crate::model::{Model, always, escape, outside};
use crate::wildcard::NOTHING;
use crate::{Files, lenient};

/// The tools by their names, with what their calls belong to.
pub(super) const TOOLS: &[(&str, &[Section])] = &[
    ("execute", &[Section::Bash]),
    ("read", &[Section::Read]),
    ("search", &[Section::Read]),
    ("edit", &[Section::Edit]),
    ("web", &[Section::Webfetch, Section::Websearch]),
    ("agent", &[Section::Delegate]),
    ("todo", &[Section::Tool]),
];

/// The tools that read, of which an agent may have one.
pub(super) const READING: &[&str] = &["read", "search"];

/// Other names of the same tools, in files that people wrote.
const ALIASES: &[(&str, &[&str])] = &[
    ("execute", &["shell", "bash", "powershell", "runcommands", "runinterminal", "terminal"]),
    ("read", &["notebookread", "view", "readfile"]),
    ("search", &["grep", "glob", "codebase", "usages", "findtestfiles"]),
    ("edit", &["multiedit", "write", "notebookedit", "editfiles", "createfile"]),
    ("web", &["websearch", "webfetch"]),
    ("agent", &["custom-agent", "task", "runsubagent"]),
    ("todo", &["todowrite", "todos"]),
];

/// Tools of VS Code that are one of the sections of another tool, by all their names.
const SINGLE: &[(&str, Section)] =
    &[("fetch", Section::Webfetch), ("web/fetch", Section::Webfetch)];

/// Sets of tools in VS Code, besides those that are called like tools.
const SETS: &[&str] = &["vscode"];

/// Tools that do all that the tool does whose name they stand for; others do a part of it.
const WHOLE: &[&str] = &[
    "shell",
    "bash",
    "powershell",
    "runcommands",
    "runinterminal",
    "terminal",
    "view",
    "readfile",
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

/// What some programs ask about whenever it is done.
const ASKED: &[Section] =
    &[Section::Bash, Section::Edit, Section::Webfetch, Section::Websearch, Section::Delegate];

/// Where an agent is, for a project and for the user.
pub(super) const PLACES: &[&str] = &[".github/agents", ".copilot/agents"];

/// What Copilot lets the agent `name` do.
pub(super) fn model(files: &Files<'_>, name: &str) -> Option<Model> {
    let text = PLACES.iter().find_map(|place| files(&format!("{place}/{name}.agent.md")))?;
    let front = lenient::read(&text).ok()?;
    front.metadata.get("description")?.as_str()?;
    Some(of(&listed(&front.metadata), View::Mildest))
}

/// The names of the tools of an agent; without a list it has all of them.
pub(super) fn listed(metadata: &Data) -> Vec<String> {
    match metadata.get("tools").and_then(lenient::words) {
        Some(words) => words,
        None => vec!["*".to_owned()],
    }
}

/// The tool that a name in a file stands for: `edit`, `Write`, and in VS Code `edit/editFiles`.
pub(super) fn tool(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if single(&name).is_some() {
        return None;
    }
    let known = |name: &str| TOOLS.iter().map(|(tool, _)| *tool).find(|tool| *tool == name);
    let alias = || ALIASES.iter().find(|(_, others)| others.contains(&name.as_str()));
    let of_set = || name.split_once('/').and_then(|(set, _)| known(set));
    known(&name).or_else(|| alias().map(|(tool, _)| *tool)).or_else(of_set)
}

/// The section that a tool is for, which is one of several of another.
fn single(name: &str) -> Option<Section> {
    let known = SINGLE.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    known.map(|(_, section)| *section)
}

/// The same, if the name stands for all that the tool does.
pub(super) fn whole(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or_default();
    let is_whole = tool(last) == Some(last) || last == "*" || WHOLE.contains(&last);
    tool(name).filter(|_| is_whole)
}

/// Whether a name in a file is about tools of a server: `github/*`, `github/create_issue`.
pub(super) fn is_served(name: &str) -> bool {
    let set = name.split_once('/').map(|(set, _)| set.to_ascii_lowercase());
    set.is_some_and(|set| tool(&set).is_none() && !SETS.contains(&set.as_str()))
}

/// Whether a name is that of a tool which is known by its name only.
pub(super) fn is_other(name: &str) -> bool {
    name != "*" && tool(name).is_none() && single(name).is_none() && !is_served(name)
}

/// What an agent with these tools may do. Some of the programs that read these files ask before a
/// command or a change, others do not.
pub(super) fn of(names: &[String], view: View) -> Model {
    let mut model = Model::default();
    let all = names.iter().any(|name| name == "*");
    let asks = |section| view == View::Strictest && ASKED.contains(&section);
    let meant = |name: &String| if view == View::Mildest { tool(name) } else { whole(name) };
    for (tool, sections) in TOOLS {
        if all || names.iter().any(|name| meant(name) == Some(*tool)) {
            for section in *sections {
                let mut layers = layers(tool, *section);
                let ask = asks(*section).then(|| always(*section, Action::Ask, "it may ask"));
                layers.extend(ask);
                model.add(*section, *tool, layers);
            }
        }
    }
    for (name, section) in names.iter().filter_map(|name| Some((name, single(name)?))) {
        let ask = asks(section).then(|| always(section, Action::Ask, "it may ask"));
        model.add(section, name, layers(name, section).into_iter().chain(ask).collect());
    }
    for name in names.iter().filter(|name| is_other(name)) {
        let ask = || always(Section::Tool, Action::Ask, "it may ask");
        let asked = (view == View::Strictest).then(ask);
        let itself = only(Section::Tool, name, &[escape(name)]);
        model.add(Section::Tool, name, std::iter::once(itself).chain(asked).collect());
    }
    let served: Vec<&String> = names.iter().filter(|name| is_served(name)).collect();
    match view {
        View::Mildest if all => {
            model.add(Section::Mcp, "*", vec![always(Section::Mcp, Action::Allow, "all tools")]);
        }
        View::Mildest => {
            for name in served {
                model.add(Section::Mcp, name, vec![server(name)]);
            }
        }
        View::Strictest => {
            let ask = always(Section::Mcp, Action::Ask, "it may ask");
            let only = (!all).then(|| servers(&served));
            model.add(Section::Mcp, "servers", std::iter::once(ask).chain(only).collect());
        }
    }
    model
}

/// What one tool may do in a section.
pub(super) fn layers(tool: &str, section: Section) -> Vec<Rules> {
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

/// What a name of a server's tools stands for: `github/*`, `github/create_issue`.
pub(super) fn server(name: &str) -> Rules {
    only(Section::Mcp, name, &[of_server(name)])
}

/// What several of them stand for together.
fn servers(names: &[&String]) -> Rules {
    let regexes: Vec<String> = names.iter().map(|name| of_server(name)).collect();
    only(Section::Mcp, "servers", &regexes)
}

/// No name of a tool has a `/` in it.
fn of_server(name: &str) -> String {
    match name.strip_suffix("/*") {
        Some(server) => format!("{}/[^/]*", escape(server)),
        None => escape(name),
    }
}

/// Allows what one of these regular expressions matches, and nothing else.
pub(super) fn only(section: Section, text: &str, regexes: &[String]) -> Rules {
    let none = NOTHING.to_owned();
    let regex = if regexes.is_empty() { none } else { format!("(?:{})", regexes.join("|")) };
    let matches = Matches::exactly(regex);
    let entry = Entry { text: text.to_owned(), action: Action::Allow, matches };
    let encoding =
        Encoding { section, order: Order::First, entries: vec![entry], default: Action::Deny };
    encoding.rules()
}
