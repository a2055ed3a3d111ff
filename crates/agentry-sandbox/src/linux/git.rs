//! The list of paths that git should ignore: placeholders, which it would add to a repository, and hidden
//! paths, which it could not read. It is a pattern file for the setting `core.excludesFile`.

use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::leftovers::RunLeftover;
use crate::Confinement;

/// The name of the list in the temporary directory of a run.
pub(crate) const FILE: &str = ".unseen-by-git";

/// The patterns, one a line.
pub(crate) fn unseen(confinement: &Confinement, placed: &[RunLeftover]) -> String {
    let Confinement { writes, hidden, .. } = confinement;
    let root_of = |path: &Path| writes.iter().find(|root| path.starts_with(root)).cloned();
    let paths = placed.iter().map(RunLeftover::path).chain(hidden.iter().map(PathBuf::as_path));
    let mut out = String::new();
    for path in paths {
        let repository = path.ancestors().skip(1).find(|it| it.join(".git").exists());
        // Without a repository, the writable root is used: a command may create a repository there.
        let root = repository.map(Path::to_owned).or_else(|| root_of(path));
        let inside = root.and_then(|root| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned()));
        if let Some(name) = inside.filter(|name| !name.is_empty() && !name.contains('\n')) {
            let _ = writeln!(out, "/{}", escaped(&name));
        }
    }
    out
}

/// Escapes a name as a pattern that matches only that name.
fn escaped(name: &str) -> String {
    let special = |letter: char| matches!(letter, '\\' | '*' | '?' | '[' | ' ');
    let each = name.chars().flat_map(|it| special(it).then_some('\\').into_iter().chain([it]));
    each.collect()
}

/// Writes the list to `path`, read-only.
pub(crate) fn write(path: &Path, patterns: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(patterns.as_bytes())?;
    fs::set_permissions(path, Permissions::from_mode(0o444))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_paths_are_relative_to_the_repository() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path();
        fs::create_dir_all(root.join("repository/.git")).expect("a directory");
        fs::create_dir_all(root.join("repository/w/sub")).expect("a directory");
        let confinement = |writes: &Path, hidden: &[&str]| Confinement {
            writes: vec![writes.to_owned()],
            hidden: hidden.iter().map(|name| writes.join(name)).collect(),
            ..Confinement::default()
        };
        let lock = |root: &Path| [RunLeftover::File(root.join("agentry.lock"))];
        let inside = root.join("repository/w");
        let cases = [
            (
                inside.as_path(),
                &[".env", "sub/a *[b]"][..],
                "/w/agentry.lock\n/w/.env\n/w/sub/a\\ \\*\\[b]\n",
            ),
            (root, &["new\nline"], "/agentry.lock\n"),
        ];
        for (writes, hidden, expected) in cases {
            assert_eq!(unseen(&confinement(writes, hidden), &lock(writes)), expected);
        }
    }
}
