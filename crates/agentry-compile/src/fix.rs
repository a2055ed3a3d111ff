//! Applies the fixes of findings and checks again, until no fix is left.

use crate::memo::SessionMemo;
use std::collections::BTreeMap;

use agentry_text::edit::apply;
use agentry_text::path::split;
use agentry_text::{Applicability, Diagnostic, FileId, Fix, Severity, SourceFiles};

use crate::config::WorkspaceConfig;
use crate::discover::FoundAgent;
use crate::harness::{CheckedHarnessFile, FoundHarnessFile, check_harness};
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

/// The result of fixing a file of a harness.
#[derive(Debug)]
pub struct FixedHarnessFile {
    /// The files that changed, with their new bytes.
    pub files: Vec<(String, Vec<u8>)>,
    /// How many fixes were applied.
    pub count: usize,
    /// The file after the fixes.
    pub checked: CheckedHarnessFile,
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
    let (files, count, compiled) = repair(world, mode, |world| check(world, found, config));
    FixedAgent { files, count, compiled }
}

/// Fixes a file of a harness in memory. The caller writes it.
pub fn fix_harness(
    world: &dyn World,
    found: &FoundHarnessFile,
    config: &WorkspaceConfig,
    mode: FixMode,
) -> FixedHarnessFile {
    let (files, count, checked) =
        repair(world, mode, |world| check_harness(world, found, config));
    FixedHarnessFile { files, count, checked }
}

/// Something that was checked, with its findings and files.
trait CheckedText {
    fn diagnostics(&self) -> &[Diagnostic];
    fn sources(&self) -> &SourceFiles;
}

impl CheckedText for CompiledAgent {
    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn sources(&self) -> &SourceFiles {
        &self.sources
    }
}

impl CheckedText for CheckedHarnessFile {
    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn sources(&self) -> &SourceFiles {
        &self.sources
    }
}

/// Changed files with their bytes.
type RepairedFiles = Vec<(String, Vec<u8>)>;

/// Applies fixes and checks again, until nothing changes.
fn repair<T: CheckedText>(
    world: &dyn World,
    mode: FixMode,
    check: impl Fn(&dyn World) -> T,
) -> (RepairedFiles, usize, T) {
    let mut overlay = OverlayWorld { world, files: BTreeMap::new() };
    let mut checked = check(&overlay);
    let mut count = 0;
    for _ in 0..ROUNDS {
        let (changed, applied) = round(&overlay, &checked, mode);
        if applied == 0 {
            break;
        }
        let before = overlay.files.clone();
        overlay.files.extend(changed);
        let after = check(&overlay);
        // Fixes that cause new errors are rolled back.
        if errors(&after) > errors(&checked) {
            overlay.files = before;
            break;
        }
        count += applied;
        checked = after;
    }
    (overlay.files.into_iter().collect(), count, checked)
}

/// The changed files after one round of fixes, and how many fixes were applied.
fn round(world: &dyn World, checked: &impl CheckedText, mode: FixMode) -> (RepairedFiles, usize) {
    let mut by_file: BTreeMap<FileId, Vec<&Fix>> = BTreeMap::new();
    for Diagnostic { fix, span, .. } in checked.diagnostics() {
        if let Some(fix) = fix.as_ref().filter(|fix| wanted(fix, span.file, mode)) {
            by_file.entry(span.file).or_default().push(fix);
        }
    }
    let mut files = Vec::new();
    let mut count = 0;
    for (file, fixes) in by_file {
        let Some(source) = checked.sources().get(file) else { continue };
        let dir = split(&source.path).0;
        let Ok(bytes) = world.read(dir, &source.path, u64::MAX) else { continue };
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

fn errors(checked: &impl CheckedText) -> usize {
    checked.diagnostics().iter().filter(|found| found.severity == Severity::Error).count()
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
