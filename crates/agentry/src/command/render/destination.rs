//! The directory that rendered files go to, and the files that are already there.

use std::fs;
use std::path::Path;

use agentry_compile::render::{PresentFile, RenderLedger};
use agentry_compile::targets::{FileRoot, HarnessFiles, HarnessPath, RenderScope, Unreadable};
use agentry_compile::text::path::join;
use agentry_compile::{EntryKind, FileTree as _, WorkspaceConfig, World as _, WorldRecorder};

use crate::args::RenderArguments;
use crate::output::{CliFailure, error_text};

use super::disk_view::{self, DiskView};

/// The path of the ledger below the root of a project.
pub(in crate::command) const LEDGER: &str = ".agentry/rendered.json";

/// A directory that files are rendered into.
#[derive(Debug)]
pub(super) struct RenderRoot {
    /// Its path; `.` for the current directory.
    pub(super) root: String,
    /// Whether it belongs to a project or to the user.
    pub(super) scope: RenderScope,
    /// The home directory; `None` for the scope of the user, and where the root is the home itself.
    pub(super) home: Option<String>,
    /// The number of directories above it in the same repository.
    pub(super) above: usize,
    /// The path of the ledger, if it does not lie below the root.
    pub(super) elsewhere: Option<String>,
    /// The list of rendered files.
    pub(super) ledger: RenderLedger,
    /// The cached results of reading the directory.
    seen: DiskView,
}

impl RenderRoot {
    /// The root that the files of a workspace go to.
    pub(super) fn of(
        disk: &WorldRecorder<'_>,
        args: &RenderArguments,
        config: &WorkspaceConfig,
        workspace: &str,
    ) -> Result<Self, CliFailure> {
        let scope = super::scope(args, config);
        let (root, elsewhere) = match (&args.output, scope) {
            (Some(dir), _) => (dir.clone(), None),
            (None, RenderScope::Project) => (workspace.to_owned(), None),
            (None, RenderScope::User) => {
                let home = disk.machine().home.clone().ok_or_else(|| {
                    CliFailure::new("there is no home directory")
                        .hint("set `HOME`, or name a directory with `--output`")
                })?;
                (home, agentry_home().map(|home| join(&home, "rendered.json")))
            }
        };
        let root = here(&root);
        let home = disk.machine().home.clone();
        let home = home.filter(|home| {
            scope == RenderScope::Project && disk.absolute(&root) != disk.absolute(home)
        });
        let above = if scope == RenderScope::Project { above(disk, &root) } else { 0 };
        let path = elsewhere.clone().unwrap_or_else(|| join(&root, LEDGER));
        let (ledger, seen) = (ledger(disk, &path)?, DiskView::default());
        Ok(Self { root, scope, home, above, elsewhere, ledger, seen })
    }

    /// A path below the root, as the user would write it.
    pub(super) fn shown(&self, path: &str) -> String {
        join(&self.root, path)
    }

    /// The file at a path below the root.
    pub(super) fn present(&self, recorder: &WorldRecorder<'_>, path: &str) -> PresentFile {
        self.seen.present(recorder, &self.root, path)
    }

    /// The full path of a path of a harness; `None` for one that must not be read.
    fn full(&self, path: HarnessPath<'_>) -> Option<String> {
        match path.root {
            FileRoot::Home => Some(join(self.home.as_ref()?, path.path)),
            // A harness searches upwards only to the root of the repository.
            _ if path.path.matches("../").count() > self.above => None,
            _ => Some(join(&self.root, path.path)),
        }
    }
}

/// The files as a harness finds them, links followed, without those in `ledger`.
pub(super) struct FilesAround<'a> {
    pub(super) place: &'a RenderRoot,
    pub(super) recorder: &'a WorldRecorder<'a>,
    pub(super) ledger: &'a RenderLedger,
}

impl HarnessFiles for FilesAround<'_> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        let Self { place, recorder, ledger } = self;
        let full = place.full(path).filter(|full| !place.seen.lies_nowhere(recorder, full));
        let bytes = full.and_then(|full| place.seen.found(recorder, &full));
        let present = bytes.map_or(PresentFile::Nothing, PresentFile::File);
        Ok(agentry_compile::render::existing(ledger, &present, &path.to_string()))
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        let full = self.place.full(dir);
        Ok(full.and_then(|full| disk_view::names(self.recorder, &full)))
    }
}

/// A directory, with `.` for the current one.
pub(super) fn here(path: &str) -> String {
    if path.is_empty() { ".".to_owned() } else { path.to_owned() }
}

/// The number of directories above `root` in its repository.
fn above(disk: &WorldRecorder<'_>, root: &str) -> usize {
    let root = disk.absolute(root);
    let dirs = Path::new(&root).ancestors().filter_map(Path::to_str);
    let is_root = |dir: &str| disk.kind(&join(dir, ".git")) != EntryKind::Missing;
    dirs.into_iter().position(is_root).unwrap_or(0)
}

/// `$AGENTRY_HOME`, if it is set.
fn agentry_home() -> Option<String> {
    let given = std::env::var_os("AGENTRY_HOME").filter(|value| !value.is_empty())?;
    std::path::absolute(given).ok()?.into_os_string().into_string().ok()
}

/// The ledger; empty if there is none.
fn ledger(recorder: &WorldRecorder<'_>, path: &str) -> Result<RenderLedger, CliFailure> {
    let refuse = |why: &str| {
        CliFailure::new(format!("`{path}` is not a list of rendered files: {why}")).hint(
            "restore it from version control; without it, `--force` is needed to render again",
        )
    };
    let found = disk_view::found(recorder, path);
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(RenderLedger::default());
        }
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(refuse("it is not a regular file")),
        Err(error) => return Err(refuse(&error_text(&error))),
    }
    let bytes = found.ok_or_else(|| refuse("it cannot be read"))?;
    let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8"))?;
    RenderLedger::parse(&text).map_err(|why| refuse(&why))
}
