//! Finds installed packages of npm: of the workspace, of the machine, and those that `npx` fetched before.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{ProgramPlaces, find, is_executable};

/// The most packages that `npx` keeps which are looked at.
const MOST_KEPT: usize = 1_000;
/// The most bytes of a `package.json`.
const MOST_MANIFEST: u64 = 1 << 20;

/// A package as a user writes it: `@scope/name@version`.
struct PackageRequest<'a> {
    written: &'a str,
    name: &'a str,
    /// The version or the tag; empty for none.
    version: &'a str,
}

/// The command line of the program of an installed package.
pub(super) fn installed(
    package: &str,
    program: Option<&str>,
    places: &ProgramPlaces,
) -> Option<Vec<String>> {
    let wanted = PackageRequest::read(package)?;
    let usual = modules(places).into_iter().filter(|modules| wanted.fits(modules));
    let kept = kept(places).into_iter().filter(|modules| wanted.was_kept_in(modules));
    let found = usual.chain(kept);
    let file =
        found.into_iter().find_map(|modules| program_file(&modules, wanted.name, program))?;
    let text = file.to_str()?.to_owned();
    if is_executable(&file) {
        return Some(vec![text]);
    }
    // A file that npm did not install may not be executable.
    let node = find("node", places)?;
    Some(vec![node.to_str()?.to_owned(), text])
}

impl<'a> PackageRequest<'a> {
    /// Reads a name of the registry; returns `None` for an address or a path.
    fn read(written: &'a str) -> Option<Self> {
        let at = written.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
        let (name, version) = match at {
            Some(at) => (written.get(..at)?, written.get(at + 1..)?),
            None => (written, ""),
        };
        let is_plain = |part: &str| {
            let letters = part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~".contains(c));
            !part.is_empty() && letters && !part.starts_with('.')
        };
        let is_name = match name.strip_prefix('@') {
            Some(scoped) => scoped.split_once('/').is_some_and(|(a, b)| is_plain(a) && is_plain(b)),
            None => is_plain(name),
        };
        is_name.then_some(Self { written, name, version })
    }

    /// Whether the package in `modules` is the wanted version. Which version a tag means is only known by
    /// the registry, except that any version may be the latest.
    fn fits(&self, modules: &Path) -> bool {
        let manifest = manifest(&modules.join(self.name));
        let installed = manifest.as_ref().and_then(|it| it.get("version")?.as_str());
        match self.version {
            "" | "latest" => installed.is_some(),
            version => installed == Some(version),
        }
    }

    /// Whether `npx` fetched this package into `modules` when it was written like now.
    fn was_kept_in(&self, modules: &Path) -> bool {
        let Some(directory) = modules.parent() else { return false };
        let written = manifest(directory).and_then(|it| {
            let packages = it.get("_npx")?.get("packages")?.as_array()?.clone();
            Some(packages.iter().any(|package| package == self.written))
        });
        written.unwrap_or_default() || self.fits(modules)
    }
}

/// The directories with packages of the workspace and of the machine.
fn modules(places: &ProgramPlaces) -> Vec<PathBuf> {
    let above = places.workspace.ancestors().map(|directory| directory.join("node_modules"));
    // The packages of the machine are beside the programs: `PREFIX/bin`, `PREFIX/lib/node_modules`.
    let prefixes = places.path.iter().filter_map(|directory| directory.parent());
    let machine = prefixes.map(|prefix| prefix.join("lib/node_modules"));
    above.chain(machine).filter(|path| path.is_dir()).collect()
}

/// The directories in which `npx` keeps packages.
fn kept(places: &ProgramPlaces) -> Vec<PathBuf> {
    let kept = places.home.iter().map(|home| home.join(".npm/_npx"));
    let entries = kept.flat_map(|kept| fs::read_dir(kept).into_iter().flatten().take(MOST_KEPT));
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path().join("node_modules")).collect();
    found.sort();
    found
}

/// The file of a program of a package: the one of this name, or the only one, or the one that is called like
/// the package.
fn program_file(modules: &Path, package: &str, program: Option<&str>) -> Option<PathBuf> {
    let directory = modules.join(package);
    let manifest = manifest(&directory)?;
    let plain = package.rsplit('/').next().unwrap_or(package);
    let file = match manifest.get("bin")? {
        Value::String(file) if program.is_none_or(|name| name == plain) => file.as_str(),
        Value::Object(files) => {
            let only = files.values().next().filter(|_| files.len() == 1 && program.is_none());
            only.or_else(|| files.get(program.unwrap_or(plain)))?.as_str()?
        }
        _ => return None,
    };
    let directory = fs::canonicalize(directory).ok()?;
    let file = fs::canonicalize(directory.join(file)).ok()?;
    // A manifest cannot name a program outside its package.
    (file.is_file() && file.starts_with(&directory)).then_some(file)
}

fn manifest(directory: &Path) -> Option<Value> {
    let path = directory.join("package.json");
    let is_small = fs::metadata(&path).is_ok_and(|it| it.len() <= MOST_MANIFEST);
    is_small.then(|| fs::read(&path).ok()).flatten().and_then(|it| serde_json::from_slice(&it).ok())
}
