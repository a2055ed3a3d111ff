//! The tools of Claude Code, and which section of a policy decides about each.

use agentry_policy::Section;
use agentry_text::Data;

/// The tools of one section.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolGroup {
    pub(super) section: Section,
    /// All tools; rules are written for the first one.
    pub(super) tools: &'static [&'static str],
}

pub(super) const GROUPS: &[ToolGroup] = &[
    ToolGroup { section: Section::Read, tools: &["Read", "Glob", "Grep"] },
    ToolGroup { section: Section::Edit, tools: &["Edit", "Write", "NotebookEdit"] },
    ToolGroup { section: Section::Bash, tools: &["Bash"] },
    ToolGroup { section: Section::Webfetch, tools: &["WebFetch"] },
    ToolGroup { section: Section::Websearch, tools: &["WebSearch"] },
    ToolGroup { section: Section::Skill, tools: &["Skill"] },
    ToolGroup { section: Section::Delegate, tools: &["Agent"] },
    ToolGroup { section: Section::Question, tools: &["AskUserQuestion"] },
];

/// Returns the tools of each section.
pub(super) fn groups() -> Vec<Vec<&'static str>> {
    GROUPS.iter().map(|group| group.tools.to_vec()).collect()
}

/// Tools that search many files at once, so that they never ask about one file.
pub(super) const SEARCHING: &[&str] = &["Glob", "Grep"];

/// Tools that do only a part of their section: they show names, or change notebooks.
pub(super) const PARTS: &[&str] = &["Glob", "NotebookEdit"];

/// Tools that Claude Code never asks about: they only touch lists and running tasks.
pub(super) const UNASKED: &[&str] = &[
    "TodoWrite",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
    "BashOutput",
    "KillBash",
    "KillShell",
];

/// Tools of a section that its rules do not cover: they are kept or removed with the section.
pub(super) const BESIDE: &[(&str, Section)] = &[
    ("PowerShell", Section::Bash),
    ("Monitor", Section::Bash),
    ("MultiEdit", Section::Edit),
    ("LS", Section::Read),
    ("NotebookRead", Section::Read),
];

/// The old name of the tool `Agent`.
pub(super) const OLDER: &str = "Task";

/// Returns the uncovered tools of a section.
pub(super) fn beside(section: Section) -> impl Iterator<Item = &'static str> {
    BESIDE.iter().filter(move |(_, other)| *other == section).map(|(tool, _)| *tool)
}

/// Whether a tool is kept or removed with its section, and never listed alone.
pub(super) fn is_beside(tool: &str) -> bool {
    BESIDE.iter().any(|(name, _)| *name == tool)
}

/// Returns the section of a tool; `None` for a tool that is known only by name.
pub(super) fn section_of(tool: &str) -> Option<Section> {
    let group = GROUPS.iter().find(|group| group.tools.contains(&plain(tool)));
    let beside = || BESIDE.iter().find(|(name, _)| *name == tool).map(|(_, section)| *section);
    let mcp = || tool.starts_with("mcp__").then_some(Section::Mcp);
    group.map(|group| group.section).or_else(beside).or_else(mcp)
}

/// The tools of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct ClaudeTools {
    /// The only tools that it has; all tools of the session if `None`.
    pub(super) listed: Option<Vec<String>>,
    /// Tools that it does not have.
    pub(super) removed: Vec<String>,
}

impl ClaudeTools {
    /// Whether the agent has a tool. An MCP tool is listed alone or with its whole server.
    pub(super) fn has(&self, tool: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|known| takes(known, tool));
        self.listed.as_deref().is_none_or(named) && !named(&self.removed)
    }

    /// Returns the listed names that belong to no section.
    pub(super) fn others(&self) -> impl Iterator<Item = &str> {
        let listed = self.listed.iter().flatten().map(String::as_str);
        listed.filter(|tool| section_of(tool).is_none() && self.has(tool))
    }
}

/// Whether an entry of a list of tools covers a tool.
fn takes(entry: &str, tool: &str) -> bool {
    let (plain, called) = (plain(entry), plain(tool));
    // `mcp__server` and `mcp__server__*` cover every tool of the server.
    let server = entry.strip_suffix("__*").unwrap_or(entry);
    let of_server = server.starts_with("mcp__")
        && tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"));
    plain == called || of_server || (entry == "mcp__*" && tool.starts_with("mcp__"))
}

/// Returns the current name of a tool.
pub(super) fn plain(name: &str) -> &str {
    if name == OLDER { "Agent" } else { name }
}

/// Returns the names in a list of tools: separated by commas, or one per item. Specifiers in brackets are
/// removed, because Claude Code ignores them.
pub(super) fn names(list: &Data) -> Option<Vec<String>> {
    let names = entries(list)?.into_iter().map(name_of);
    Some(names.filter(|name| !name.is_empty()).collect())
}

/// Returns the entries of a list of tools that have a specifier.
pub(super) fn restricted(list: &Data) -> Vec<String> {
    let entries = entries(list).unwrap_or_default();
    entries.into_iter().map(|it| it.trim().to_owned()).filter(|it| it.contains('(')).collect()
}

/// Returns the name of a tool without its specifier.
pub(super) fn name_of(entry: &str) -> String {
    entry.split('(').next().unwrap_or_default().trim().to_owned()
}

/// Returns the entries of a list of tools, with their specifiers.
pub(super) fn entries(list: &Data) -> Option<Vec<&str>> {
    match list {
        Data::Str(text) => Some(split(text)),
        Data::List(items) => Some(items.iter().filter_map(Data::as_str).flat_map(split).collect()),
        Data::Null => Some(Vec::new()),
        _ => None,
    }
}

/// Splits at commas and white space outside brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_end = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (c == ',' || c.is_whitespace()) && depth == 0
    };
    text.split(is_end).filter(|entry| !entry.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_lists_are_read_in_all_forms() {
        let cases: &[(Data, &[&str])] = &[
            (Data::str("Read, Bash(git log:*, x), Grep"), &["Read", "Bash", "Grep"]),
            (Data::strings(["Read", "Bash(git *)"]), &["Read", "Bash"]),
            (Data::strings(["Read, Grep"]), &["Read", "Grep"]),
            (Data::str("Read Grep  Bash(git log *) Glob"), &["Read", "Grep", "Bash", "Glob"]),
            (Data::Null, &[]),
        ];
        for (list, expected) in cases {
            assert_eq!(
                names(list).as_deref(),
                Some(&expected.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..]),
                "{list:?}"
            );
        }
    }

    #[test]
    fn listed_and_removed_tools_decide_what_an_agent_has() {
        let tools = |listed: &[&str], removed: &[&str]| ClaudeTools {
            listed: Some(listed.iter().map(|it| (*it).to_owned()).collect()),
            removed: removed.iter().map(|it| (*it).to_owned()).collect(),
        };
        let some = tools(&["Read", "Task", "mcp__a", "mcp__b__*", "mcp__c__x"], &["Read"]);
        let cases = [
            ("Read", false),
            ("Agent", true),
            ("mcp__a__x", true),
            ("mcp__b__x", true),
            ("mcp__c__x", true),
            ("mcp__c__y", false),
            ("mcp__ab__x", false),
        ];
        for (tool, expected) in cases {
            assert_eq!(some.has(tool), expected, "{tool}");
        }
        assert!(ClaudeTools::default().has("Anything"));
    }
}
