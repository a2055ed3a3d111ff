//! Applies the fixes of findings and checks again, until no fix is left.

use crate::memo::SessionMemo;
use std::collections::BTreeMap;

use agentry_text::edit::apply;
use agentry_text::{Applicability, Diagnostic, FileId, Fix, Severity};

use crate::config::WorkspaceConfig;
use crate::discover::FoundAgent;
use crate::inherit::BaseMemo;
use crate::pipeline::{CompiledAgent, check};
use crate::world::{FileLayer, FileTree, MachineFacts, ReadError, World, WorldServices};

/// Which fixes are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixMode {
    /// Only safe fixes, which keep the meaning.
    Safe,
    /// All fixes.
    Unsafe,
}

/// The result of fixing an agent.
#[derive(Debug)]
pub struct FixedAgent {
    /// The files that changed, with their new bytes.
    pub files: Vec<(String, Vec<u8>)>,
    /// How many fixes were applied.
    pub count: usize,
    /// The agent after the fixes.
    pub compiled: CompiledAgent,
}

/// The limit of rounds. One fix may make another possible; no file needs ten rounds.
const ROUNDS: usize = 10;

/// Fixes an agent in memory. The caller writes the files.
pub fn fix(
    world: &dyn World,
    found: &FoundAgent,
    config: &WorkspaceConfig,
    mode: FixMode,
) -> FixedAgent {
    let mut overlay = OverlayWorld { world, files: BTreeMap::new() };
    let mut compiled = check(&overlay, found, config);
    let mut count = 0;
    for _ in 0..ROUNDS {
        let (changed, applied) = round(&overlay, &compiled, mode);
        if applied == 0 {
            break;
        }
        let before = overlay.files.clone();
        overlay.files.extend(changed);
        let after = check(&overlay, found, config);
        // Fixes that cause new errors are rolled back.
        if errors(&after) > errors(&compiled) {
            overlay.files = before;
            break;
        }
        count += applied;
        compiled = after;
    }
    FixedAgent { files: overlay.files.into_iter().collect(), count, compiled }
}

/// The changed files after one round of fixes, and how many fixes were applied.
fn round(
    world: &dyn World,
    compiled: &CompiledAgent,
    mode: FixMode,
) -> (Vec<(String, Vec<u8>)>, usize) {
    let mut by_file: BTreeMap<FileId, Vec<&Fix>> = BTreeMap::new();
    for Diagnostic { fix, span, .. } in &compiled.diagnostics {
        if let Some(fix) = fix.as_ref().filter(|fix| wanted(fix, span.file, mode)) {
            by_file.entry(span.file).or_default().push(fix);
        }
    }
    let mut files = Vec::new();
    let mut count = 0;
    for (file, fixes) in by_file {
        let Some(source) = compiled.sources.get(file) else { continue };
        let Ok(bytes) = world.read(&compiled.found.dir, &source.path, u64::MAX) else { continue };
        let mark = if bytes.starts_with(b"\xef\xbb\xbf") { "\u{feff}" } else { "" };
        // The text of a file that is not UTF-8 has replacement characters and must not be written back.
        if bytes.strip_prefix(mark.as_bytes()) != Some(source.text.as_bytes()) {
            continue;
        }
        let (text, applied) = apply(&source.text, fixes);
        if applied > 0 && *text != *source.text {
            files.push((source.path.to_string(), format!("{mark}{text}").into_bytes()));
            count += applied;
        }
    }
    (files, count)
}

/// Whether a fix is applied: its safety fits the mode, and all its edits are in one file.
fn wanted(fix: &Fix, file: FileId, mode: FixMode) -> bool {
    (mode == FixMode::Unsafe || fix.applicability == Applicability::Safe)
        && fix.edits.iter().all(|edit| edit.span.file == file)
}

fn errors(compiled: &CompiledAgent) -> usize {
    compiled.diagnostics.iter().filter(|found| found.severity == Severity::Error).count()
}

/// A world with some files replaced.
struct OverlayWorld<'w> {
    world: &'w dyn World,
    files: BTreeMap<String, Vec<u8>>,
}

impl FileLayer for OverlayWorld<'_> {
    fn below(&self) -> &dyn FileTree {
        self.world
    }

    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.files
            .get(path)
            .map_or_else(|| self.world.read(root, path, limit), |bytes| Ok(bytes.clone()))
    }
}

impl World for OverlayWorld<'_> {
    fn machine(&self) -> &MachineFacts {
        self.world.machine()
    }

    fn services(&self) -> &dyn WorldServices {
        self.world.services()
    }

    fn memo(&self) -> &SessionMemo {
        self.world.memo()
    }

    /// Returns `None`: a fix may have changed a memoised base.
    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}
