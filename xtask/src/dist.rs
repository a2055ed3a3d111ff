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

use std::fs;
use std::path::{Path, PathBuf};

use crate::finished;
use crate::process::{cargo, output, program, run as execute};
use crate::targets::{self, MUSL};

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
    binary: PathBuf,
    directory: PathBuf,
}

/// What the user asked for.
#[derive(Debug, Default)]
pub(crate) struct DistRequest {
    /// A program that was built already.
    binary: Option<PathBuf>,
    /// Whether everything is made: the optimised build and the static one, each twice.
    is_all: bool,
    /// Whether the given program, a static one, is only tested in an empty root.
    is_trial: bool,
}

impl DistRequest {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        match words {
            [] => Ok(Self::default()),
            ["--all"] => Ok(Self { is_all: true, ..Self::default() }),
            ["--binary", path] => Ok(Self { binary: Some(path.into()), ..Self::default() }),
            ["--empty-root", path] => {
                Ok(Self { binary: Some(path.into()), is_trial: true, ..Self::default() })
            }
            _ => {
                Err("usage: cargo xtask dist [--all | --binary PATH | --empty-root PATH]"
                    .to_owned())
            }
        }
    }
}

pub(crate) fn run(request: &DistRequest) -> Result<(), String> {
    if request.is_all {
        package(&build("dist", None)?, "gnu")?;
        let binary = build("dist", Some(MUSL))?;
        repackage(&package(&binary, "musl")?)?;
        empty_root::test(&binary)?;
        reproduce()?;
        return finished(targets::run(&[])?);
    }
    let packaged = match &request.binary {
        Some(binary) if request.is_trial => return empty_root::test(binary),
        Some(binary) => package(binary, "given"),
        None => package(&build("release", None)?, "gnu"),
    };
    repackage(&packaged?)
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
fn build(profile: &str, target: Option<&str>) -> Result<PathBuf, String> {
    let mut command = cargo("build --locked --package agentry --bin agentry");
    command.args(["--profile", profile]);
    let mut directory = PathBuf::from("target");
    if let Some(target) = target {
        command.args(["--target", target]);
        directory.push(target);
        // The C libraries inside need the compiler of the same C library.
        let variable = format!("CC_{}", target.replace('-', "_"));
        command.env(variable, "musl-gcc");
    }
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .unwrap_or_default();
    let flags =
        format!("--remap-path-prefix={}=. --remap-path-prefix={home}=cargo", here.display());
    command.env("RUSTFLAGS", flags);
    execute(&mut command)?;
    Ok(directory.join(profile).join("agentry"))
}

/// Builds the static program again in another directory and compares the bytes.
fn reproduce() -> Result<(), String> {
    let first = Path::new("target").join(MUSL).join("dist/agentry");
    let digest = statements::file_digest(&first)?;
    let kept = Path::new(DIRECTORY).join("first-build");
    fs::copy(&first, &kept).map_err(|error| error.to_string())?;
    execute(cargo("clean --package agentry --profile dist").args(["--target", MUSL]))?;
    let second = statements::file_digest(&build("dist", Some(MUSL))?)?;
    if digest == second {
        println!("built twice, the same bytes: {digest}");
        return Ok(());
    }
    Err(format!("built twice, other bytes: {digest} and {second}; the first is {}", kept.display()))
}

impl Release {
    fn of(binary: &Path, directory: PathBuf) -> Result<Self, String> {
        let version_output = output(std::process::Command::new(binary).arg("--version"))?;
        let version = version_output.split_whitespace().nth(1).unwrap_or_default().to_owned();
        if version.is_empty() {
            return Err(format!("`{}` has no version", binary.display()));
        }
        let time = output(&mut program("git log -1 --format=%ct")).unwrap_or_default();
        remove(&directory)?;
        fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        let bytes = fs::read(binary).map_err(|error| error.to_string())?;
        Ok(Self {
            version,
            commit: commit(&version_output).to_owned(),
            time: time.trim().parse().unwrap_or(0),
            arch: arch(&bytes)?,
            // A dynamic program names its loader.
            is_static: !bytes
                .windows(10)
                .any(|part| part == b"/ld-linux-" || part == b"/ld-musl-x"),
            binary: binary.to_owned(),
            directory,
        })
    }

    /// The program without debugging information. `strip` writes the same bytes each time.
    fn stripped(&self) -> Result<Vec<u8>, String> {
        let copy = self.directory.join("stripped");
        let mut strip = std::process::Command::new("strip");
        strip.args(["--strip-all", "-o"]).arg(&copy).arg(&self.binary);
        execute(&mut strip)?;
        let bytes = fs::read(&copy).map_err(|error| error.to_string())?;
        fs::remove_file(&copy).map_err(|error| error.to_string())?;
        Ok(bytes)
    }
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
