//! The tools of Copilot, and what an agent that has them may do.

use agentry_policy::{Action, Rules, Section};
use agentry_text::Data;

use crate::encoding::{Encoding, Entry, Matches, Order};
use crate::model::{Model, always, escape, outside};
use crate::wildcard::ANYTHING;
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

/// Other names of the same tools, in files that people wrote.
const ALIASES: &[(&str, &[&str])] = &[
    ("execute", &["shell", "bash", "powershell", "runcommands", "runinterminal", "terminal"]),
    ("read", &["notebookread", "view", "readfile"]),
    ("search", &["grep", "glob", "codebase", "usages", "findtestfiles"]),
    ("edit", &["multiedit", "write", "notebookedit", "editfiles", "createfile"]),
    ("web", &["websearch", "webfetch", "fetch"]),
    ("agent", &["custom-agent", "task", "runsubagent"]),
    ("todo", &["todowrite", "todos"]),
];

/// Where an agent is, for a project and for the user.
pub(super) const PLACES: &[&str] = &[".github/agents", ".copilot/agents"];

/// What Copilot lets the agent `name` do.
pub(super) fn model(files: &Files<'_>, name: &str) -> Option<Model> {
    let text = PLACES.iter().find_map(|place| files(&format!("{place}/{name}.agent.md")))?;
    let front = lenient::read(&text).ok()?;
    front.metadata.get("description")?.as_str()?;
    Some(of(&listed(&front.metadata)))
}

/// The names of the tools of an agent; without a list it has all of them.
pub(super) fn listed(metadata: &Data) -> Vec<String> {
    match metadata.get("tools").and_then(lenient::words) {
        Some(words) => words,
        None => vec!["*".to_owned()],
    }
}

/// The tool that a name in a file stands for.
pub(super) fn tool(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let known = TOOLS.iter().map(|(tool, _)| *tool).find(|tool| *tool == name);
    let alias = || ALIASES.iter().find(|(_, others)| others.contains(&name.as_str()));
    known.or_else(|| alias().map(|(tool, _)| *tool))
}

/// What an agent with these tools may do.
pub(super) fn of(names: &[String]) -> Model {
    let mut model = Model::default();
    let all = names.iter().any(|name| name == "*");
    for (tool, sections) in TOOLS {
        if all || names.iter().any(|name| self::tool(name) == Some(*tool)) {
            for section in *sections {
                model.add(*section, *tool, layers(tool, *section));
            }
        }
    }
    for name in names.iter().filter(|name| name.contains('/') && tool(name).is_none()) {
        model.add(Section::Mcp, name, vec![server(name)]);
    }
    if all {
        model.add(Section::Mcp, "*", vec![always(Section::Mcp, Action::Allow, "all tools")]);
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
        Section::Tool => vec![only(section, tool, escape(tool))],
        _ => vec![free],
    }
}

/// What a name of a server's tools stands for: `github/*`, `github/create_issue`.
pub(super) fn server(name: &str) -> Rules {
    let regex = match name.strip_suffix("/*") {
        Some(server) => format!("{}/{ANYTHING}", escape(server)),
        None => escape(name),
    };
    only(Section::Mcp, name, regex)
}

/// Allows what a regular expression matches, and nothing else.
fn only(section: Section, text: &str, regex: String) -> Rules {
    let matches = Matches::exactly(regex);
    let entry = Entry { text: text.to_owned(), action: Action::Allow, matches };
    let encoding =
        Encoding { section, order: Order::First, entries: vec![entry], default: Action::Deny };
    encoding.rules()
}
