//! The directories that a program belongs to: a tree of `node_modules`, a virtual environment, an
//! installation with `bin` and `lib`. A directory that has more in it than a program, such as the home of
//! the user, is never one.

use std::fs;
use std::path::{Path, PathBuf};

use agentry_posix::lexical;

use super::{MOST_HOPS, ProgramFiles, ProgramPlaces, interpreter};

/// Gathers the files of a program.
pub(super) struct FileTrees<'a> {
    places: &'a ProgramPlaces,
    files: ProgramFiles,
}

impl<'a> FileTrees<'a> {
    pub(super) fn new(places: &'a ProgramPlaces) -> Self {
        Self { places, files: ProgramFiles::default() }
    }

    /// Adds a program, its interpreter, and the interpreter of that.
    pub(super) fn add_program(&mut self, program: &Path) {
        let mut next = Some(program.to_owned());
        for _ in 0..MOST_HOPS {
            let Some(program) = next else { return };
            let hops = hops(&program);
            hops.iter().for_each(|hop| self.add_installed(hop));
            next = hops.last().and_then(|real| interpreter(real, self.places));
        }
    }

    /// Adds a script that an interpreter is started with.
    pub(super) fn add_script(&mut self, script: &Path) {
        for hop in hops(script) {
            if package(&hop).is_some_and(|package| self.add_package(package)) {
                continue;
            }
            match project(&hop).filter(|project| !self.is_too_wide(project)) {
                Some(project) => self.files.projects.push(project),
                None => self.files.projects.push(hop.clone()),
            }
            self.add_modules_above(&hop);
        }
    }

    /// Adds a program, and what was installed with it.
    fn add_installed(&mut self, program: &Path) {
        let package = package(program).or_else(|| version_manager(program));
        if package.is_some_and(|package| self.add_package(package)) {
            return;
        }
        let prefix = program.parent().filter(|bin| bin.ends_with("bin")).and_then(Path::parent);
        let prefix = prefix.filter(|prefix| !self.is_too_wide(prefix));
        for beside in prefix.into_iter().flat_map(|prefix| BESIDE.iter().map(|it| prefix.join(it)))
        {
            if beside.is_dir() {
                self.files.packages.push(beside);
            }
        }
        self.files.packages.push(program.to_owned());
    }

    fn add_package(&mut self, package: PathBuf) -> bool {
        let fits = !self.is_too_wide(&package);
        if fits {
            self.files.packages.push(package);
        }
        fits
    }

    /// Adds the packages of the directories above a script, where Node looks for them.
    fn add_modules_above(&mut self, script: &Path) {
        let modules = script.ancestors().skip(1).map(|above| above.join("node_modules"));
        let modules: Vec<PathBuf> = modules.filter(|modules| modules.is_dir()).collect();
        for modules in modules {
            self.add_package(modules);
        }
    }

    /// Whether a directory has more in it than a program.
    fn is_too_wide(&self, directory: &Path) -> bool {
        let real = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let ProgramPlaces { home, workspace, closed, .. } = self.places;
        let apart = home.iter().chain([workspace]).chain(closed);
        let above = apart.flat_map(|it| [Some(it.clone()), fs::canonicalize(it).ok()]).flatten();
        // The root has one component, a directory in it two.
        real.components().count() < 3 || above.into_iter().any(|it| it.starts_with(&real))
    }

    /// The files outside the workspace and outside what no program is installed in.
    pub(super) fn into_files(self) -> ProgramFiles {
        let Self { places, files } = self;
        let ProgramFiles { packages, projects } = files;
        let is_apart = |path: &PathBuf| {
            let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            let closed = places.closed.iter().chain([&places.workspace]);
            !closed.into_iter().any(|it| path.starts_with(it) || real.starts_with(it))
        };
        let kept = |mut paths: Vec<PathBuf>| {
            paths.retain(is_apart);
            paths.sort();
            paths.dedup();
            let all = paths.clone();
            paths.retain(|path| !all.iter().any(|it| it != path && path.starts_with(it)));
            paths
        };
        ProgramFiles { packages: kept(packages), projects: kept(projects) }
    }
}

/// The directories beside `bin` that programs need.
const BESIDE: &[&str] = &["lib", "lib64", "libexec"];

/// A path, the links that it leads through, and the file at the end.
fn hops(path: &Path) -> Vec<PathBuf> {
    let mut out = vec![path.to_owned()];
    for _ in 0..MOST_HOPS {
        let Some(last) = out.last() else { break };
        let Ok(target) = fs::read_link(last) else { break };
        let next = last.parent().unwrap_or(Path::new("/")).join(target);
        out.push(lexical(&next));
    }
    out.extend(fs::canonicalize(path).ok());
    out.dedup();
    out
}

/// The package that a file was installed with: the outermost `node_modules`, or a virtual environment.
fn package(file: &Path) -> Option<PathBuf> {
    let above: Vec<&Path> = file.ancestors().skip(1).collect();
    let modules = above.iter().rev().find(|it| it.ends_with("node_modules"));
    let environment = above.iter().find(|it| it.join("pyvenv.cfg").is_file());
    modules.or(environment).map(|it| (*it).to_owned())
}

/// The directory of a version manager, such as pyenv, if the file is one of its shims: a script that looks there
/// for the version to start.
fn version_manager(file: &Path) -> Option<PathBuf> {
    let root = file.parent().filter(|it| it.ends_with("shims"))?.parent()?;
    let has_versions = ["versions", "installs"].iter().any(|it| root.join(it).is_dir());
    has_versions.then(|| root.to_owned())
}

/// The source tree that a script belongs to.
fn project(script: &Path) -> Option<PathBuf> {
    const MARKS: &[&str] = &["package.json", "pyproject.toml", "setup.py", "deno.json"];
    let is_project = |directory: &&Path| MARKS.iter().any(|mark| directory.join(mark).is_file());
    script.ancestors().skip(1).find(is_project).map(Path::to_owned)
}
