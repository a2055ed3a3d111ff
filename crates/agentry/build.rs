//! Passes the commit of the sources to the program.

#[path = "build/source_commit.rs"]
mod source_commit;

use std::fs;
use std::path::{Path, PathBuf};

use source_commit::{git, source_commit};

fn main() {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    for path in inputs(&package) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let version = env!("CARGO_PKG_VERSION");
    let version = match source_commit(&package) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=AGENTRY_VERSION={version}");
}

/// What the answer depends on. Cargo builds the program again for most of it in any case.
///
/// A path that does not exist would make Cargo build the program each time, so none is named.
fn inputs(package: &Path) -> Vec<PathBuf> {
    let mut paths = vec![package.join("build.rs"), package.join("build")];
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(package, &["rev-parse", "--git-path", name]);
        paths.extend(path.map(|path| package.join(path)));
    }
    let crates = package.parent().and_then(|crates| fs::read_dir(crates).ok());
    for entry in crates.into_iter().flatten().flatten() {
        paths.extend(["src", "Cargo.toml"].map(|name| entry.path().join(name)));
    }
    paths.retain(|path| path.exists());
    paths.sort();
    paths
}
