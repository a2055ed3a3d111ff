//! Lists of tools by name, as in AgentFS.

use crate::{DeclaredList, Section};

/// The tools that may and may not be used; any other tool needs an approval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPermissions {
    /// Tools that are used without an approval.
    pub allowed: DeclaredList<String>,
    /// Tools that are never used; this list wins over `allowed`.
    pub denied: DeclaredList<String>,
}

/// The tool names that stand for a whole section; conversion writes the first one of each section.
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
    /// Returns the section of a word: the name of the section, or a tool that stands for it.
    pub fn of_tool(word: &str) -> Option<Self> {
        word.to_ascii_lowercase().parse().ok().or_else(|| section_of(word))
    }
}

/// Returns the section that a tool stands for; case is ignored.
pub(crate) fn section_of(tool: &str) -> Option<Section> {
    let named = |(name, _): &&(&str, Section)| name.eq_ignore_ascii_case(tool);
    SECTION_TOOLS.iter().find(named).map(|(_, section)| *section)
}

/// Lists the tools that stand for a section.
pub(crate) fn tools_of(section: Section) -> impl Iterator<Item = &'static str> {
    SECTION_TOOLS.iter().filter(move |(_, of)| *of == section).map(|(name, _)| *name)
}
