//! `cargo xtask dist`: makes the packages of one built program, installs each in an empty place and runs it there.
//!
//! ```text
//! binary ─▶ completions, pages ─▶ tarball, wheel, npm, deb, image ─▶ checksums, SBOM, provenance
//!                                             └─▶ installed and run: the first example of the README
//! ```
//!
//! Every archive is written by this crate, with sorted names and one time for all files, so that the same binary gives
//! the same bytes. Nothing is downloaded when a package is installed.

mod archive;
mod container_image;
mod empty_root;
mod install_trial;
mod package_files;
mod packages;
mod statements;
mod static_build;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::finished;
use crate::process::{cargo, output, program, run as execute, succeeds};
use crate::targets;
use static_build::{STATIC_TARGETS, StaticTarget};

/// The name under which packages are published, on `PyPI` and npm. Their `agentry` belongs to others.
const PUBLISHED_NAME: &str = "agentry-cli";
/// Where packages are written.
const DIRECTORY: &str = "target/packages";

/// What is packaged.
#[derive(Debug, Clone)]
struct Release {
    version: String,
    /// The commit that the program says it is built from, or `unknown` if it names none.
    commit: String,
    /// The time of the commit: that of every file in every archive.
    time: u64,
    /// `x86_64` or `aarch64`.
    arch: &'static str,
    /// Whether the program needs no library of the system.
    is_static: bool,
    /// What runs programs of that machine here; `None` where they run by themselves.
    runner: Option<String>,
    binary: PathBuf,
    directory: PathBuf,
}

/// What the user asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DistRequest {
    /// The packages of this machine, built quickly.
    Quick,
    /// The packages of a program that was built already.
    Given(PathBuf),
    /// The packages of a static program, built quickly.
    Static(&'static StaticTarget),
    /// Everything, optimised.
    All,
    /// Only the tests with this static program in an empty root.
    EmptyRoot(PathBuf),
    /// Only the comparison of two static programs, built quickly.
    Twice,
}

impl DistRequest {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        match words {
            [] => Ok(Self::Quick),
            ["--all"] => Ok(Self::All),
            ["--twice"] => Ok(Self::Twice),
            ["--static", arch] => StaticTarget::find(arch).map(Self::Static),
            ["--binary", path] => Ok(Self::Given(path.into())),
            ["--empty-root", path] => Ok(Self::EmptyRoot(path.into())),
            _ => {
                let options = "--all | --binary PATH | --static ARCH | --twice | --empty-root PATH";
                Err(format!("usage: cargo xtask dist [{options}]"))
            }
        }
    }
}

pub(crate) fn run(request: &DistRequest) -> Result<(), String> {
    match request {
        DistRequest::Quick => repackage(&package(&build("release", None)?, "gnu")?),
        DistRequest::Given(binary) => repackage(&package(binary, "given")?),
        DistRequest::Static(target) => {
            repackage(&package(&build("release", Some(target))?, &label(target))?)
        }
        DistRequest::EmptyRoot(binary) => empty_root::test(binary),
        DistRequest::Twice => reproduce("release"),
        DistRequest::All => all(),
    }
}

fn all() -> Result<(), String> {
    package(&build("dist", None)?, "gnu")?;
    for target in STATIC_TARGETS {
        let binary = build("dist", Some(target))?;
        repackage(&package(&binary, &label(target))?)?;
        if target.arch == std::env::consts::ARCH {
            empty_root::test(&binary)?;
        }
    }
    reproduce("dist")?;
    finished(targets::run(&[])?)
}

/// The directory of the packages of a static program.
fn label(target: &StaticTarget) -> String {
    format!("musl-{}", target.arch)
}

/// Makes the packages of a binary and tries each of them.
fn package(binary: &Path, label: &str) -> Result<Release, String> {
    let release = Release::of(binary, Path::new(DIRECTORY).join(label))?;
    let packages = packages::write_all(&release)?;
    statements::write(&release, &packages)?;
    for (name, digest) in &packages {
        println!("{digest}  {name}");
    }
    install_trial::all(&release)?;
    Ok(release)
}

/// Makes the same packages again, and compares every byte.
fn repackage(release: &Release) -> Result<(), String> {
    let again = Release { directory: release.directory.join("again"), ..release.clone() };
    for (name, digest) in packages::write_all(&again)? {
        if statements::file_digest(&release.directory.join(&name))? != digest {
            return Err(format!("`{name}` has other bytes in the second run"));
        }
    }
    println!("packed twice, the same bytes");
    remove(&again.directory)
}

/// Builds the program with no path of this machine in it.
fn build(profile: &str, target: Option<&StaticTarget>) -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    build_in(&here, profile, target)
}

/// The same for the sources in another directory, which gets a `target` of its own.
fn build_in(
    sources: &Path,
    profile: &str,
    target: Option<&StaticTarget>,
) -> Result<PathBuf, String> {
    let mut command = cargo("build --locked --package agentry --bin agentry");
    command.args(["--profile", profile]).current_dir(sources);
    let mut directory = sources.join("target");
    if let Some(target) = target {
        target.prepare(&mut command)?;
        directory.push(target.triple);
    }
    without_paths(&mut command, sources, target.is_some());
    execute(&mut command)?;
    Ok(directory.join(profile).join("agentry"))
}

/// Keeps the paths of this machine out of what a command builds.
fn without_paths(command: &mut Command, sources: &Path, is_stripped: bool) {
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .unwrap_or_default();
    let sources = sources.display();
    let mut flags = vec![
        format!("--remap-path-prefix={sources}=."),
        format!("--remap-path-prefix={home}=cargo"),
    ];
    if is_stripped {
        // The `strip` of this machine may not know the other one.
        flags.push("-Cstrip=symbols".to_owned());
    }
    // Not `RUSTFLAGS`, which a space in a path would split.
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    // The C libraries have paths in their assertions.
    let flags = format!("'-ffile-prefix-map={sources}=.' '-ffile-prefix-map={home}=cargo'");
    command.env("CFLAGS", flags).env("CC_SHELL_ESCAPED_FLAGS", "1");
}

/// Builds the static program of this machine from the committed sources, in two directories, and compares the bytes.
fn reproduce(profile: &str) -> Result<(), String> {
    let target = StaticTarget::find(std::env::consts::ARCH)?;
    let place = std::path::absolute("target/twice").map_err(|error| error.to_string())?;
    remove(&place)?;
    let mut digests = Vec::new();
    for name in ["first", "second"] {
        let sources = place.join(name);
        let mut clone = Command::new("git");
        execute(clone.args(["clone", "--quiet", "--no-hardlinks", "."]).arg(&sources))?;
        digests.push(statements::file_digest(&build_in(&sources, profile, Some(target))?)?);
    }
    match digests.as_slice() {
        [first, second] if first == second => {
            println!("built twice, the same bytes: {first}");
            remove(&place)
        }
        _ => Err(format!(
            "built twice, other bytes: {}; the programs are in `{}`",
            digests.join(" and "),
            place.display()
        )),
    }
}

impl Release {
    fn of(binary: &Path, directory: PathBuf) -> Result<Self, String> {
        let bytes = fs::read(binary).map_err(|error| error.to_string())?;
        let arch = arch(&bytes)?;
        let runner = runner(arch)?;
        let version_output = output(program_of(runner.as_deref(), binary).arg("--version"))?;
        let version = version_output.split_whitespace().nth(1).unwrap_or_default().to_owned();
        if version.is_empty() {
            return Err(format!("`{}` has no version", binary.display()));
        }
        let time = output(&mut program("git log -1 --format=%ct")).unwrap_or_default();
        remove(&directory)?;
        fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        Ok(Self {
            version,
            commit: commit(&version_output).to_owned(),
            time: time.trim().parse().unwrap_or(0),
            arch,
            runner,
            // A dynamic program names its loader.
            is_static: !bytes
                .windows(10)
                .any(|part| part == b"/ld-linux-" || part == b"/ld-musl-x"),
            binary: binary.to_owned(),
            directory,
        })
    }

    /// A command that starts a program of the machine that the release is for.
    fn starting(&self, path: &Path) -> Command {
        program_of(self.runner.as_deref(), path)
    }

    /// The program without debugging information. `strip` writes the same bytes each time.
    fn stripped(&self) -> Result<Vec<u8>, String> {
        if self.runner.is_some() {
            // `strip` knows this machine only; the linker has done it.
            return fs::read(&self.binary).map_err(|error| error.to_string());
        }
        let copy = self.directory.join("stripped");
        let mut strip = Command::new("strip");
        strip.args(["--strip-all", "-o"]).arg(&copy).arg(&self.binary);
        execute(&mut strip)?;
        let bytes = fs::read(&copy).map_err(|error| error.to_string())?;
        fs::remove_file(&copy).map_err(|error| error.to_string())?;
        Ok(bytes)
    }
}

/// What runs the programs of a machine here: nothing, or QEMU.
fn runner(arch: &str) -> Result<Option<String>, String> {
    if arch == std::env::consts::ARCH {
        return Ok(None);
    }
    let qemu = format!("qemu-{arch}-static");
    if !succeeds(Command::new(&qemu).arg("--version")) {
        let what = "no program for another machine can be tried";
        return Err(format!("`{qemu}` is missing (Debian: `qemu-user-static`): {what}"));
    }
    Ok(Some(qemu))
}

fn program_of(runner: Option<&str>, path: &Path) -> Command {
    let Some(runner) = runner else { return Command::new(path) };
    let mut command = Command::new(runner);
    command.arg(path);
    command
}

/// The machine that an ELF file is for.
fn arch(bytes: &[u8]) -> Result<&'static str, String> {
    match (bytes.get(..4), bytes.get(18)) {
        (Some(b"\x7fELF"), Some(62)) => Ok("x86_64"),
        (Some(b"\x7fELF"), Some(183)) => Ok("aarch64"),
        _ => Err("the program is no ELF file for x86-64 or arm64".to_owned()),
    }
}

/// The commit in the output of `--version`: `agentry 0.1.0 (0123456789ab)`.
fn commit(version_output: &str) -> &str {
    let inner =
        version_output.trim_end().split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or("unknown")
}

fn remove(directory: &Path) -> Result<(), String> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.to_string()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_is_read_from_the_version_output() {
        let cases = [
            ("agentry 0.1.0 (0123456789ab)\n", "0123456789ab"),
            ("agentry 0.1.0 (0123456789ab-modified)\n", "0123456789ab-modified"),
            ("agentry 0.1.0\n", "unknown"),
        ];
        for (version_output, expected) in cases {
            assert_eq!(commit(version_output), expected, "{version_output}");
        }
    }
}
