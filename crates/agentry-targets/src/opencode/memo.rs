//! The memo for the rules of OpenCode.

use agentry_policy::memo::MemoTable;
use agentry_text::Data;

use super::encode::BlockQuestion;
use super::ruleset::OpencodeRule;
use crate::model::HarnessModel;
use crate::render_result::RenderedAgent;

/// A part of [`RenderMemo`](crate::memo::RenderMemo).
#[derive(Debug)]
pub(crate) struct OpencodeMemo {
    /// `permission` blocks, with the losses that were recorded for them.
    pub(super) blocks: MemoTable<BlockQuestion, (Data, RenderedAgent)>,
    pub(super) models: MemoTable<(Vec<OpencodeRule>, Vec<String>), HarnessModel>,
}

impl Default for OpencodeMemo {
    fn default() -> Self {
        Self { blocks: MemoTable::default(), models: MemoTable::at_most(1_000) }
    }
}
