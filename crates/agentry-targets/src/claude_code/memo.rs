//! The memo for the rules and settings of Claude Code.

use agentry_policy::Section;
use agentry_policy::memo::MemoTable;

use super::encode::SectionPlan;
use super::ruleset::UnmatchedAnswer;
use super::settings::ClaudeSettings;
use super::tools::ClaudeTools;
use crate::model::HarnessModel;

/// A part of [`RenderMemo`](crate::memo::RenderMemo).
#[derive(Debug)]
pub(crate) struct ClaudeMemo {
    pub(super) plans: MemoTable<(u64, Section, [bool; 4]), SectionPlan>,
    /// Plans for MCP servers, by the names of the declared ones.
    pub(super) servers: MemoTable<(u64, Vec<String>, [bool; 2]), SectionPlan>,
    /// Whether a policy denies a whole section.
    pub(super) denied: MemoTable<(u64, Section), bool>,
    /// Models by tools and settings: agents of one project mostly have the same tools.
    pub(super) models: MemoTable<(ClaudeTools, ClaudeSettings, UnmatchedAnswer), HarnessModel>,
    /// Merged settings by the texts of their files: all agents of a project share them.
    pub(super) settings: MemoTable<Vec<String>, ClaudeSettings>,
}

impl Default for ClaudeMemo {
    fn default() -> Self {
        Self {
            plans: MemoTable::default(),
            servers: MemoTable::default(),
            denied: MemoTable::default(),
            models: MemoTable::at_most(1_000),
            settings: MemoTable::default(),
        }
    }
}
