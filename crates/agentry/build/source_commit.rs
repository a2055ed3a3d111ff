//! The commit that the sources of this program are from, for `agentry --version`.

use std::path::Path;
use std::process::Command;

/// Marks a commit whose files were changed after it.
const MODIFIED: &str = "-modified";

/// The commit of the checkout that contains a package, such as `0123456789ab`, or
/// `0123456789ab-modified`.
///
/// `None` outside of a checkout, and where the package is no part of the repository around it: the sources were then
/// unpacked into a repository of something else, whose commit is unrelated to them.
pub(crate) fn source_commit(package: &Path) -> Option<String> {
    git(package, &["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let commit = git(package, &["rev-parse", "--short=12", "HEAD"])?;
    // What goes into the program: its crates, and the versions of the others.
    let inputs = [
        "status",
        "--porcelain",
        "--",
        ":/crates/*/src/*",
        ":/crates/*/Cargo.toml",
        ":/Cargo.lock",
    ];
    let is_clean = git(package, &inputs)?.is_empty();
    Some(if is_clean { commit } else { commit + MODIFIED })
}

/// The output of a command of Git, if it succeeds.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    // A hook of Git that builds the program names its own repository by these.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command.args(arguments).current_dir(directory).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
