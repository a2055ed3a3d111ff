//! Where rendered files go, and what is there.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use agentry_compile::render::{Ledger, Present};
use agentry_compile::targets::Scope;
use agentry_compile::text::path::join;
use agentry_compile::{Config, World as _};

use crate::args::Render;
use crate::disk::Disk;
use crate::output::{Failure, said};

/// The list of what was rendered, below the root of a project.
pub(in crate::command) const LEDGER: &str = ".agentry/rendered.json";
/// A file that is larger was not rendered.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// A directory that files are rendered into.
#[derive(Debug)]
pub(super) struct Place {
    /// It; `.` for the current one.
    pub(super) root: String,
    /// Whose it is.
    pub(super) scope: Scope,
    /// The home directory, if agents of a project can be told from it.
    pub(super) home: Option<String>,
    /// The list of what was rendered, if it does not lie below the root.
    pub(super) elsewhere: Option<String>,
    /// What was rendered.
    pub(super) ledger: Ledger,
}

impl Place {
    /// Where the files of a workspace go.
    pub(super) fn of(
        disk: &Disk,
        args: &Render,
        config: &Config,
        workspace: &str,
    ) -> Result<Self, Failure> {
        let scope = super::scope(args, config);
        let (root, elsewhere) = match (&args.output, scope) {
            (Some(dir), _) => (dir.clone(), None),
            (None, Scope::Project) => (workspace.to_owned(), None),
            (None, Scope::User) => {
                let home = disk.home().ok_or_else(|| {
                    Failure::new("there is no home directory")
                        .hint("set `HOME`, or name a directory with `--output`")
                })?;
                (home, agentry_home().map(|home| join(&home, "rendered.json")))
            }
        };
        let root = here(&root);
        let home = disk
            .home()
            .filter(|home| scope == Scope::Project && disk.absolute(&root) != disk.absolute(home));
        let path = elsewhere.clone().unwrap_or_else(|| join(&root, LEDGER));
        Ok(Self { ledger: ledger(&path)?, root, scope, home, elsewhere })
    }

    /// A path below the root, as the user would name it.
    pub(super) fn shown(&self, path: &str) -> String {
        join(&self.root, path)
    }

    /// What is at a path below the root. Nothing is written through a link.
    pub(super) fn present(&self, path: &str) -> Present {
        let mut at = PathBuf::from(&self.root);
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            let metadata = match fs::symlink_metadata(&at) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Present::Nothing;
                }
                Err(error) => return Present::Blocked(format!("cannot be read: {}", said(&error))),
            };
            if metadata.is_symlink() {
                let what = if parts.peek().is_some() { "lies behind a link" } else { "is a link" };
                return Present::Blocked(what.to_owned());
            }
            match parts.peek() {
                Some(_) if metadata.is_dir() => {}
                Some(_) => return Present::Blocked("lies below a file".to_owned()),
                None if metadata.is_dir() => return Present::Blocked("is a directory".to_owned()),
                None if !metadata.is_file() => {
                    return Present::Blocked("is no ordinary file".to_owned());
                }
                None => {}
            }
        }
        match bytes(&at) {
            Ok(bytes) => Present::File(bytes),
            Err(why) => Present::Blocked(format!("cannot be read: {why}")),
        }
    }

    /// The text of a file as a harness finds it, links followed, without what is in `ledger`; `~/` is
    /// the home directory. The names of its files for a directory, which ends with `/`.
    pub(super) fn existing(&self, ledger: &Ledger, path: &str) -> Option<String> {
        let full = match path.strip_prefix("~/") {
            Some(rest) => Path::new(self.home.as_ref()?).join(rest),
            None => Path::new(&self.root).join(path),
        };
        if path.ends_with('/') {
            return names(&full);
        }
        let metadata = fs::metadata(&full).ok()?;
        let bytes = metadata.is_file().then(|| bytes(&full).ok()).flatten()?;
        agentry_compile::render::existing(ledger, &Present::File(bytes), path)
    }
}

/// A directory, the current one by its name.
pub(super) fn here(path: &str) -> String {
    if path.is_empty() { ".".to_owned() } else { path.to_owned() }
}

/// The names in a directory, a line each; nothing if it is none.
fn names(dir: &Path) -> Option<String> {
    let entries = fs::read_dir(dir).ok()?.flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Some(names.join("\n"))
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let file = fs::File::open(path).map_err(|error| said(&error))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| said(&error))?;
    if bytes.len() as u64 == MOST_BYTES { Err("it is too large".to_owned()) } else { Ok(bytes) }
}

/// `$AGENTRY_HOME`, if that is set.
pub(in crate::command) fn agentry_home() -> Option<String> {
    let given = std::env::var_os("AGENTRY_HOME").filter(|value| !value.is_empty())?;
    std::path::absolute(given).ok()?.into_os_string().into_string().ok()
}

/// The list of what was rendered; empty if there is none.
pub(super) fn ledger(path: &str) -> Result<Ledger, Failure> {
    let refuse = |why: String| {
        Failure::new(format!("`{path}` is no list of rendered files: {why}")).hint(
            "restore it from version control; without it, `--force` is needed to render again",
        )
    };
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Ledger::default()),
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(refuse("it is no ordinary file".to_owned())),
        Err(error) => return Err(refuse(said(&error))),
    }
    let bytes = bytes(Path::new(path)).map_err(refuse)?;
    let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
    Ledger::parse(&text).map_err(refuse)
}
