//! Applies the fixes of findings and checks again, until no fix is left.

use std::collections::BTreeMap;

use agentry_text::edit::apply;
use agentry_text::path::split;
use agentry_text::{
    Applicability, Diagnostic, FileId, Fix, Severity, SourceFile, SourceFiles, Span, TextEdit,
};

use crate::config::WorkspaceConfig;
use crate::discover::FoundAgent;
use crate::harness::{CheckedHarnessFile, FoundHarnessFile, check_harness};
use crate::overlay_world::OverlayWorld;
use crate::pipeline::{CompiledAgent, check};
use crate::world::{FileTree as _, World};

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

/// The limit of rounds. One fix may make another possible: a syntax error hides everything behind it.
const ROUNDS: usize = 100;

/// Fixes an agent in memory. The caller writes the files.
pub fn fix(
    world: &dyn World,
    found: &FoundAgent,
    config: &WorkspaceConfig,
    mode: FixMode,
) -> FixedAgent {
    let (files, count, compiled) = repair(world, mode, &|world| check(world, found, config));
    FixedAgent { files, count, compiled }
}

/// Fixes a file of a harness in memory. The caller writes it.
pub fn fix_harness(
    world: &dyn World,
    found: &FoundHarnessFile,
    config: &WorkspaceConfig,
    mode: FixMode,
) -> FixedHarnessFile {
    let (files, count, checked) = repair(world, mode, &|world| check_harness(world, found, config));
    FixedHarnessFile { files, count, checked }
}

/// Something that was checked, with its findings and files.
trait CheckedText {
    fn parts(&self) -> (&[Diagnostic], &SourceFiles);
    fn diagnostics_mut(&mut self) -> &mut [Diagnostic];

    /// The directory that a file of it must be in.
    fn root_of<'a>(&'a self, path: &'a str) -> &'a str;
}

impl CheckedText for CompiledAgent {
    fn parts(&self) -> (&[Diagnostic], &SourceFiles) {
        (&self.diagnostics, &self.sources)
    }

    fn diagnostics_mut(&mut self) -> &mut [Diagnostic] {
        &mut self.diagnostics
    }

    fn root_of<'a>(&'a self, _: &'a str) -> &'a str {
        &self.workspace
    }
}

impl CheckedText for CheckedHarnessFile {
    fn parts(&self) -> (&[Diagnostic], &SourceFiles) {
        (&self.diagnostics, &self.sources)
    }

    fn diagnostics_mut(&mut self) -> &mut [Diagnostic] {
        &mut self.diagnostics
    }

    fn root_of<'a>(&'a self, path: &'a str) -> &'a str {
        split(path).0
    }
}

/// Changed files with their bytes.
type RepairedFiles = Vec<(String, Vec<u8>)>;

/// Applies fixes and checks again, until no fix is left.
fn repair<T: CheckedText>(
    world: &dyn World,
    mode: FixMode,
    check: &dyn Fn(&dyn World) -> T,
) -> (RepairedFiles, usize, T) {
    let overlay = OverlayWorld { world, files: BTreeMap::new() };
    let compiled = check(&overlay);
    let mut session = FixSession { overlay, check, mode, compiled, count: 0, failed: Vec::new() };
    for _ in 0..ROUNDS {
        let wanted = session.wanted();
        // A fix that does not work must not keep the others from being applied.
        if wanted.is_empty() || !(session.apply(&wanted) || session.apply_one_of(&wanted)) {
            break;
        }
    }
    let FixSession { overlay, mut compiled, count, failed, .. } = session;
    // A fix that does not work is not offered again.
    let has_failed = |found: &Diagnostic| {
        failed.iter().any(|other| is_same(other, found) && other.span == found.span)
    };
    for found in compiled.diagnostics_mut().iter_mut().filter(|found| has_failed(found)) {
        found.fix = None;
    }
    (overlay.files.into_iter().collect(), count, compiled)
}

/// The state between two rounds of fixes.
struct FixSession<'w, T> {
    overlay: OverlayWorld<'w>,
    check: &'w dyn Fn(&dyn World) -> T,
    mode: FixMode,
    /// The result of the check after the fixes so far.
    compiled: T,
    /// How many fixes were applied.
    count: usize,
    /// The findings whose fixes did not work.
    failed: Vec<Diagnostic>,
}

impl<T: CheckedText> FixSession<'_, T> {
    /// The findings whose fixes can be applied now.
    fn wanted(&self) -> Vec<Diagnostic> {
        let is_wanted = |found: &&Diagnostic| {
            let fits = |fix: &Fix| {
                self.mode == FixMode::Unsafe || fix.applicability == Applicability::Safe
            };
            found.fix.as_ref().is_some_and(fits)
                && !self
                    .failed
                    .iter()
                    .any(|other| is_same(other, found) && other.span == found.span)
        };
        self.compiled.parts().0.iter().filter(is_wanted).cloned().collect()
    }

    /// Applies the fixes of `wanted` one by one until one works; the others have failed.
    fn apply_one_of(&mut self, wanted: &[Diagnostic]) -> bool {
        for found in wanted {
            if self.apply(std::slice::from_ref(found)) {
                return true;
            }
            self.failed.push(found.clone());
        }
        false
    }

    /// Applies the fixes of `wanted` that do not overlap. Changes nothing and returns false if they do
    /// not work.
    fn apply(&mut self, wanted: &[Diagnostic]) -> bool {
        let (changed, applied) = self.edited(wanted);
        if applied.is_empty() {
            return false;
        }
        let before = self.overlay.files.clone();
        self.overlay.files.extend(changed);
        let after = (self.check)(&self.overlay);
        let works = is_better(&self.compiled, &after, &applied);
        if works {
            self.compiled = after;
            self.count += applied.len();
        } else {
            self.overlay.files = before;
        }
        works
    }

    /// The changed files, and the findings whose fixes were applied.
    fn edited<'d>(
        &self,
        wanted: &'d [Diagnostic],
    ) -> (Vec<(String, Vec<u8>)>, Vec<&'d Diagnostic>) {
        let mut by_file: BTreeMap<FileId, Vec<(&Diagnostic, &Fix)>> = BTreeMap::new();
        for found in wanted {
            let edited = found.fix.iter().filter_map(|fix| Some((fix, file_of(fix)?)));
            for (fix, file) in edited {
                by_file.entry(file).or_default().push((found, fix));
            }
        }
        let (mut files, mut applied) = (Vec::new(), Vec::new());
        for (file, fixes) in by_file {
            let Some((source, mark)) = self.whole_text(file) else { continue };
            let (text, taken) = apply(&source.text, fixes.iter().map(|(_, fix)| *fix));
            if *text != *source.text {
                files.push((source.path.to_string(), format!("{mark}{text}").into_bytes()));
                applied.extend(taken.into_iter().filter_map(|at| Some(fixes.get(at)?.0)));
            }
        }
        (files, applied)
    }

    /// A file whose text is exactly what lies on disk, and its byte order mark. The text of a file that is
    /// not UTF-8 has replacement characters and must not be written back.
    fn whole_text(&self, file: FileId) -> Option<(&SourceFile, &'static str)> {
        let source = self.compiled.parts().1.get(file)?;
        let root = self.compiled.root_of(&source.path);
        let bytes = self.overlay.read(root, &source.path, u64::MAX).ok()?;
        let mark = if bytes.starts_with(b"\xef\xbb\xbf") { "\u{feff}" } else { "" };
        let is_whole = bytes.strip_prefix(mark.as_bytes()) == Some(source.text.as_bytes());
        is_whole.then_some((source, mark))
    }
}

/// The file that a fix edits; `None` if it edits several.
fn file_of(fix: &Fix) -> Option<FileId> {
    let file = fix.edits.first()?.span.file;
    fix.edits.iter().all(|edit| edit.span.file == file).then_some(file)
}

/// Whether the fixed findings are gone and nothing broke. An error may hide other errors, so only the fix of
/// a warning must not cause more of them.
fn is_better<T: CheckedText>(before: &T, after: &T, fixed: &[&Diagnostic]) -> bool {
    let (now, sources) = after.parts();
    let edits = || fixed.iter().filter_map(|found| found.fix.as_ref()).flat_map(|fix| &fix.edits);
    let is_left = |found: &&&Diagnostic| {
        let path = before.parts().1.path(found.span);
        let start = moved(found.span, edits());
        now.iter().any(|other| {
            is_same(other, found)
                && sources.path(other.span) == path
                && i64::from(other.span.start) == start
        })
    };
    let had_error = fixed.iter().any(|found| found.severity == Severity::Error);
    !fixed.iter().any(|found| is_left(&found)) && (had_error || errors(after) <= errors(before))
}

/// Where the text at the start of `span` is after `edits`.
fn moved<'e>(span: Span, edits: impl Iterator<Item = &'e TextEdit>) -> i64 {
    let before = |edit: &&TextEdit| edit.span.file == span.file && edit.span.end <= span.start;
    // Files are far smaller than the limit of either type.
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(0);
    let growth = |edit: &TextEdit| {
        length(&edit.text) - i64::from(edit.span.end) + i64::from(edit.span.start)
    };
    i64::from(span.start) + edits.filter(before).map(growth).sum::<i64>()
}

/// Whether two findings say the same.
fn is_same(one: &Diagnostic, other: &Diagnostic) -> bool {
    one.rule == other.rule && one.message == other.message
}

fn errors(checked: &impl CheckedText) -> usize {
    checked.parts().0.iter().filter(|found| found.severity == Severity::Error).count()
}
