//! The reference page of the tools, generated from their specifications. A stale page is rewritten and the
//! test fails: review it, commit it, run again.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::toolbox::{ToolExtras, native};
use super::websearch::{SearchClient, SearchService};
use crate::event::CallClass;

const INTRODUCTION: &str = "\
# Tools

The tools that `agentry run` offers to an agent: those that its definition names, or all of them if it names
none. Tools that the policy denies as a whole are left out.

Each call is judged by one section of the policy before it runs, and so is whatever it finds on its way:
every file that `glob`, `grep` and `list` would show, every address that a server redirects to. A path is
judged where it really leads, and what was judged is opened without following a link. A directory is
judged as `directory/*`.

A call that only reads may run beside others, and again after a crash. One that writes keeps what was
there, for `agentry runs undo`. Output that a model reads is limited; the
rest is in a file of the run, which the agent may read.

`websearch` is available if the user's environment names a service: `SEARXNG_URL`, `BRAVE_API_KEY` or
`TAVILY_API_KEY`. `question` is available if a user can answer.

## What no tool changes

Whatever the policy says, and whether or not it exists yet: the agent's own definition, Agentry's home, the
program itself, and in every directory what has one of these names:

{names}| `*.cassette.*` | tests of agents rely on it | it is restored afterwards |

The last column says what happens to commands that write there; [how](../guides/confine-commands.md). Directories count with all that lies below, names without regard to case. A repository under another name
(a directory with `HEAD` and either `objects` and `refs` or `commondir`) is one, too. No rule opens these: an agent that is to change
one can say how, and you do it. Secrets such as `.env` are read and written after a question only.

Agentry's home is not shown to any tool, wherever it lies; of the runs in it, an agent sees the long outputs
of its own.

A hard link is a file like any other: what has a second, harmless name in the workspace is judged by the name
that is used. Agents cannot make such a name for what they may not read; refusing all files with several
names would refuse what package managers install.
";

#[test]
fn the_tools_page_is_current() {
    let search = SearchClient {
        service: SearchService::Searxng,
        base: String::new(),
        key: None,
        http: super::websearch::client(),
    };
    let extras = ToolExtras { person: true, search: Some(search), skills: Vec::new() };
    let mut page = INTRODUCTION.replace("{names}", &protected());
    for (section, tool) in native(extras) {
        let spec = tool.spec();
        let class = match tool.class(&json!({})) {
            CallClass::Read => "only reads",
            CallClass::Delegate => "lets another agent work",
            CallClass::Write => "writes",
            CallClass::External => "reaches beyond the files, or may",
        };
        let section = section.map_or("nothing".to_owned(), |section| format!("`{section}`"));
        let _ = write!(page, "\n## {}\n\n{}\n\n", spec.name, described(&spec.description));
        let _ = writeln!(page, "Judged by {section}; {class}.\n");
        page.push_str(&table(&spec.schema));
    }
    current("docs/reference/tools.md", &page);
}

/// Returns the section about protected names.
fn protected() -> String {
    let mut text = "| name | because | commands |\n| --- | --- | --- |\n".to_owned();
    // A name below another one need not be listed.
    let names = crate::protected_paths::names();
    let below = |path: &Path| {
        names.iter().any(|it| it.path != path.to_str().unwrap() && path.starts_with(it.path))
    };
    for name in names.iter().filter(|name| !below(Path::new(name.path))) {
        let end = if name.is_directory { "/" } else { "" };
        let (why, effect) = (name.kind.why(), name.barrier.effect_text());
        let _ = writeln!(text, "| `{}{end}` | {why} | {effect} |", name.path);
    }
    text
}

/// Formats a description; one with several lines is shown as code.
fn described(text: &str) -> String {
    match text.split_once('\n') {
        None => text.to_owned(),
        Some((first, rest)) => format!("{first}\n\n```text\n{rest}\n```"),
    }
}

fn table(schema: &Value) -> String {
    let mut text = "| argument | what |\n| --- | --- |\n".to_owned();
    let required = |name: &str| {
        let names = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        if names.iter().any(|it| it == name) { "" } else { ", optional" }
    };
    for (name, about) in schema["properties"].as_object().unwrap() {
        let kind = about["type"].as_str().unwrap();
        let range = match (&about["minimum"], &about["maximum"]) {
            (Value::Number(least), Value::Number(most)) => format!(" {least} to {most}"),
            (Value::Number(least), _) => format!(" from {least}"),
            _ => String::new(),
        };
        let description = about["description"]
            .as_str()
            .map_or(String::new(), |description| format!(": {description}"));
        let _ = writeln!(text, "| `{name}` | {kind}{range}{}{description} |", required(name));
    }
    text
}

fn current(page: &str, text: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(page);
    if std::fs::read_to_string(&path).ok().as_deref() != Some(text) {
        std::fs::write(&path, text).unwrap();
        panic!("{page} was stale; it has been rewritten");
    }
}
