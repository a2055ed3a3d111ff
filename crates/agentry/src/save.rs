//! Writes files whole or not at all.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path};

use crate::output::{Failure, said};

/// Replaces `path` by `bytes` in one step: a reader sees the old file or the new one.
pub(crate) fn replace(path: &str, bytes: &[u8]) -> io::Result<()> {
    // Through a link, the file itself is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| Path::new(path).to_path_buf());
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    if let Ok(metadata) = fs::metadata(&target) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Whether files that are there already are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    /// Never.
    Never,
    /// Not yet, but `--force` would.
    Refuse,
    /// They are.
    Force,
}

/// Writes new files below `dir`; refuses, before anything is written, to replace one that is there.
pub(crate) fn create(
    dir: &str,
    files: &[(String, String)],
    replace_mode: Replace,
) -> Result<(), Failure> {
    for (path, _) in files.iter().filter(|_| !dir.is_empty()) {
        stays_below(dir, path)?;
    }
    let full = |path: &String| if dir.is_empty() { path.clone() } else { format!("{dir}/{path}") };
    let taken = files.iter().map(|(path, _)| full(path)).find(|path| Path::new(path).exists());
    if let Some(path) = taken.filter(|_| replace_mode != Replace::Force) {
        let hint = match replace_mode {
            Replace::Never => "choose another name, or another directory with `--output`",
            Replace::Refuse | Replace::Force => "choose another path, or pass `--force`",
        };
        return Err(Failure::new(format!("`{path}` is there already")).hint(hint));
    }
    for (path, text) in files {
        let path = full(path);
        let write = || -> io::Result<()> {
            if let Some(parent) = Path::new(&path).parent() {
                fs::create_dir_all(parent)?;
            }
            if replace_mode == Replace::Force && Path::new(&path).exists() {
                return replace(&path, text.as_bytes());
            }
            fs::File::create_new(&path)?.write_all(text.as_bytes())
        };
        write().map_err(|error| {
            Failure::new(format!("`{path}` cannot be written: {}", said(&error)))
        })?;
    }
    Ok(())
}

/// Refuses a path that would leave `dir`, by its parts or through a link that stands there.
fn stays_below(dir: &str, path: &str) -> Result<(), Failure> {
    let mut at = Path::new(dir).to_path_buf();
    for part in Path::new(path).components() {
        let Component::Normal(name) = part else {
            return Err(Failure::new(format!("`{path}` would be written outside `{dir}`")));
        };
        at.push(name);
        if fs::symlink_metadata(&at).is_ok_and(|metadata| metadata.is_symlink()) {
            let message = format!("`{}` is a link; nothing is written through it", at.display());
            return Err(Failure::new(message).hint("remove it, or choose another path"));
        }
    }
    Ok(())
}
