//! Installs the suite and the servers below the build directory, each registry in its own directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::install::digest_of;
use crate::process;

const PACKAGES: &str = include_str!("../../mcp/package.json");
const REQUIREMENTS: &str = include_str!("../../mcp/requirements.txt");
const LIMIT: Duration = Duration::from_mins(4);

/// The directory of the packages of npm: `node_modules`.
pub(super) fn node(target: &Path) -> Result<PathBuf, String> {
    node_modules(target, "mcp-npm", PACKAGES)
}

/// Installs the packages of a `package.json`; returns their directory.
pub(crate) fn node_modules(target: &Path, name: &str, packages: &str) -> Result<PathBuf, String> {
    let directory = cache(target, name, packages);
    let modules = directory.join("node_modules");
    if modules.is_dir() {
        return Ok(modules);
    }
    let partial = emptied(&directory)?;
    let with_path = |error| format!("`{}`: {error}", partial.display());
    fs::write(partial.join("package.json"), packages).map_err(with_path)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]);
    done(npm.current_dir(&partial))?;
    fs::rename(&partial, &directory).map_err(with_path)?;
    Ok(modules)
}

/// The virtual environment with the packages of `PyPI`.
pub(super) fn python(target: &Path) -> Result<PathBuf, String> {
    let directory = cache(target, "mcp-pypi", REQUIREMENTS);
    let mark = directory.join("complete");
    if mark.is_file() {
        return Ok(directory);
    }
    // An environment has its own path in its programs, so it cannot be moved.
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let list = directory.join("requirements.txt");
    fs::write(&list, REQUIREMENTS).map_err(|error| error.to_string())?;
    done(Command::new("python3").args(["-m", "venv"]).arg(&directory))?;
    let mut pip = Command::new(directory.join("bin/pip"));
    done(pip.args(["install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&list))?;
    fs::write(mark, "").map_err(|error| error.to_string())?;
    Ok(directory)
}

fn cache(target: &Path, name: &str, versions: &str) -> PathBuf {
    target.join("conformance").join(format!("{name}-{}", digest_of(versions)))
}

fn emptied(directory: &Path) -> Result<PathBuf, String> {
    let partial = directory.with_extension("partial");
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(&partial).map_err(|error| format!("`{}`: {error}", partial.display()))?;
    Ok(partial)
}

fn done(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let done = process::run(command, LIMIT)?;
    if done.timed_out {
        return Err(format!("{shown} took more than {} s", LIMIT.as_secs()));
    }
    if done.code != Some(0) {
        let complaint = done.stderr.lines().rfind(|line| !line.trim().is_empty());
        return Err(format!("{shown} failed: {}", complaint.unwrap_or("without a word")));
    }
    Ok(())
}
