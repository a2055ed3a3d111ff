//! What OpenCode makes of its rules: one list over all layers, the last entry wins whose key and
//! pattern both match.

use agentry_policy::{Action, Places, Section};
use agentry_text::Data;

use crate::Files;
use crate::encoding::{Encoding, Entry, Matches, Order};
use crate::front;
use crate::model::{Model, escape, outside, regex_of_path};
use crate::wildcard::{ANYTHING, NOTHING, Wildcards};

pub(super) const WILDCARDS: Wildcards = Wildcards { question: true };

/// One flattened rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ruled {
    pub(super) key: String,
    pub(super) pattern: String,
    pub(super) action: Action,
}

/// The permissions that OpenCode asks about reading for.
pub(super) const READING: &[&str] = &["read", "glob", "grep", "list", "lsp"];

/// What OpenCode lets the agent `name` do.
pub(super) fn model(files: &Files<'_>, name: &str) -> Option<Model> {
    let text = files(&path(name))?;
    let (metadata, _) = front::read(&text)?;
    let mut rules = defaults();
    rules.extend(flatten(metadata.get("permission").unwrap_or(&Data::Null)));
    Some(of(&rules))
}

/// Where the agent of that name is written.
pub(super) fn path(name: &str) -> String {
    format!(".opencode/agents/{name}.md")
}

/// What holds for an agent that says nothing.
pub(super) fn defaults() -> Vec<Ruled> {
    let rule = |key: &str, pattern: &str, action| Ruled {
        key: key.to_owned(),
        pattern: pattern.to_owned(),
        action,
    };
    vec![
        rule("*", "*", Action::Allow),
        rule("doom_loop", "*", Action::Ask),
        rule("external_directory", "*", Action::Ask),
        rule("question", "*", Action::Deny),
        rule("plan_enter", "*", Action::Deny),
        rule("plan_exit", "*", Action::Deny),
        rule("read", "*.env", Action::Ask),
        rule("read", "*.env.*", Action::Ask),
        rule("read", "*.env.example", Action::Allow),
    ]
}

/// The rules of a `permission` block, in order.
pub(super) fn flatten(block: &Data) -> Vec<Ruled> {
    let action = |data: &Data| data.as_str().and_then(|word| word.parse().ok());
    // What cannot be read is taken for the mildest answer: OpenCode would refuse to start.
    let rule = |key: &str, pattern: &str, data: &Data| Ruled {
        key: key.to_owned(),
        pattern: pattern.to_owned(),
        action: action(data).unwrap_or(Action::Allow),
    };
    match block {
        Data::Str(_) => vec![rule("*", "*", block)],
        Data::Map(entries) => entries
            .iter()
            .flat_map(|(key, value)| match value {
                Data::Map(patterns) => {
                    patterns.iter().map(|(pattern, data)| rule(key, pattern, data)).collect()
                }
                other => vec![rule(key, "*", other)],
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The rules as ways to do something.
pub(super) fn of(rules: &[Ruled]) -> Model {
    let mut model = Model::default();
    let beyond = encoding(rules, "external_directory", Section::ExternalDirectory).rules();
    let list = |key: &str, section| encoding(rules, key, section).rules();
    for section in [Section::Bash, Section::Webfetch, Section::Websearch, Section::Question] {
        model.add(section, section.as_str(), vec![list(section.as_str(), section)]);
    }
    model.add(
        Section::Edit,
        "edit",
        vec![list("edit", Section::Edit), outside(Section::Edit, &beyond)],
    );
    for tool in READING {
        let layers = vec![list(tool, Section::Read), outside(Section::Read, &beyond)];
        model.add(Section::Read, *tool, layers);
    }
    model.add(Section::ExternalDirectory, "external_directory", vec![beyond]);
    model.add(Section::Skill, "skill", vec![list("skill", Section::Skill)]);
    model.add(Section::Delegate, "task", vec![list("task", Section::Delegate)]);
    model.add(Section::Mcp, "MCP tools", vec![by_key(rules, Section::Mcp).rules()]);
    model.add(Section::Tool, "other tools", vec![by_key(rules, Section::Tool).rules()]);
    model
}

/// The rules about one permission.
fn encoding(rules: &[Ruled], permission: &str, section: Section) -> Encoding {
    let about = rules.iter().filter(|rule| takes(&rule.key, permission));
    let entries = about.map(|rule| entry(section, &rule.pattern, rule.action)).collect();
    Encoding { section, order: Order::Last, entries, default: Action::Ask }
}

/// The permissions that have rules of their own: no other tool has one of these names.
const OWN: &[&str] = &[
    "bash",
    "edit",
    "read",
    "glob",
    "grep",
    "list",
    "lsp",
    "task",
    "skill",
    "question",
    "webfetch",
    "websearch",
    "external_directory",
    "doom_loop",
    "plan_enter",
    "plan_exit",
];

/// The rules about tools by name: their keys are the patterns.
fn by_key(rules: &[Ruled], section: Section) -> Encoding {
    let others = rules.iter().filter(|rule| !OWN.contains(&rule.key.as_str()));
    let whole = others.filter(|rule| rule.pattern == "*" || rule.action == Action::Allow);
    let entries = whole.map(|rule| named(section, &rule.key, rule.action)).collect();
    Encoding { section, order: Order::Last, entries, default: Action::Ask }
}

/// Whether a key is about a permission.
fn takes(key: &str, permission: &str) -> bool {
    let parts: Vec<&str> = key.split('*').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return key == permission };
    let Some(rest) = permission.strip_prefix(first) else { return false };
    let Some(mut rest) = rest.strip_suffix(last) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

/// A key about tools by name, for the tools of MCP servers with `_` between server and tool.
pub(super) fn named(section: Section, key: &str, action: Action) -> Entry {
    let regex = WILDCARDS.plain(key);
    let regex = if section == Section::Mcp { regex.replace('_', "[_/]") } else { regex };
    Entry { text: key.to_owned(), action, matches: Matches::exactly(regex) }
}

/// A pattern of a section, as OpenCode reads it.
pub(super) fn entry(section: Section, pattern: &str, action: Action) -> Entry {
    let matches = match section {
        Section::Bash => expanded(pattern),
        Section::Edit | Section::Read => Matches::exactly(path_regex(pattern)),
        Section::ExternalDirectory => directory(pattern),
        _ if pattern == "*" => Matches::exactly(ANYTHING),
        Section::Webfetch => Matches { most: ANYTHING.to_owned(), least: NOTHING.to_owned() },
        _ => Matches::exactly(WILDCARDS.plain(pattern)),
    };
    Entry { text: pattern.to_owned(), action, matches }
}

/// A pattern about commands; `~` at its start stands for the home directory, written out.
fn expanded(pattern: &str) -> Matches {
    let home = Places::default().home.unwrap_or_default();
    match pattern.strip_prefix('~').or_else(|| pattern.strip_prefix("$HOME")) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            WILDCARDS.command(&format!("{home}{rest}"))
        }
        _ => WILDCARDS.command(pattern),
    }
}

/// A pattern about files: the path as seen from the workspace. What starts with a wildcard also takes
/// paths outside, which start with `../`.
fn path_regex(pattern: &str) -> String {
    if pattern == "*" {
        return ANYTHING.to_owned();
    }
    let start = if pattern.starts_with(['*', '?']) {
        String::new()
    } else {
        regex_of_path(&Places::default().workspace)
    };
    // The last segment ends with `/` as well, unless the wildcard took it.
    format!("{start}{}/?", WILDCARDS.plain(pattern))
}

/// A pattern about directories outside: it is compared with the directory of the file and `/*`.
fn directory(pattern: &str) -> Matches {
    if pattern == "*" {
        return Matches::exactly(ANYTHING);
    }
    let home = Places::default().home.unwrap_or_default();
    let whole = match pattern.strip_prefix('~').or_else(|| pattern.strip_prefix("$HOME")) {
        Some(rest) => format!("{home}{rest}"),
        None => pattern.to_owned(),
    };
    match whole.strip_suffix("/*").filter(|dir| dir.starts_with('/') && !dir.contains(['*', '?'])) {
        Some(dir) => Matches::exactly(format!("{}{ANYTHING}", regex_of_path(dir))),
        None => {
            let start: String = whole.chars().take_while(|c| !matches!(c, '*' | '?')).collect();
            let start = escape(start.trim_start_matches('/'));
            Matches { most: format!("{start}{ANYTHING}"), least: NOTHING.to_owned() }
        }
    }
}
