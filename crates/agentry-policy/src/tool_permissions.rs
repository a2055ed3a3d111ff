//! Tools by name, as AgentFS lists them.

use crate::{DeclaredList, Section};

/// The tools that may and may not be used. One that is in neither list is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPermissions {
    /// Used without asking.
    pub allowed: DeclaredList<String>,
    /// Never used; beats allowed.
    pub denied: DeclaredList<String>,
}

/// The tool names that stand for a whole section, the first of each section written when converting.
const SECTION_TOOLS: &[(&str, Section)] = &[
    ("Bash", Section::Bash),
    ("Edit", Section::Edit),
    ("Write", Section::Edit),
    ("Read", Section::Read),
    ("WebFetch", Section::Webfetch),
    ("WebSearch", Section::Websearch),
    ("AskUserQuestion", Section::Question),
];

impl Section {
    /// The section that a word names: its own name, or a tool that stands for it.
    pub fn of_tool(word: &str) -> Option<Self> {
        word.to_ascii_lowercase().parse().ok().or_else(|| section_of(word))
    }
}

/// The section that a tool stands for, without regard to case.
pub(crate) fn section_of(tool: &str) -> Option<Section> {
    let named = |(name, _): &&(&str, Section)| name.eq_ignore_ascii_case(tool);
    SECTION_TOOLS.iter().find(named).map(|(_, section)| *section)
}

/// The tools that stand for a section.
pub(crate) fn tools_of(section: Section) -> impl Iterator<Item = &'static str> {
    SECTION_TOOLS.iter().filter(move |(_, of)| *of == section).map(|(name, _)| *name)
}
