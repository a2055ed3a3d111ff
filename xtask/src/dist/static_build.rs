//! Builds programs without a library of the system, for x86-64 and arm64: Rust's own linker with its own musl, and for the C
//! libraries inside a compiler that has the headers of musl for both machines: zig, from `PyPI`, in one version.
//!
//! Nothing of this machine's C library takes part, so the same source gives the same bytes elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{program, run, succeeds};
use crate::targets::{self, MUSL, MUSL_ARM};

/// The version of zig: another one gives other bytes.
const ZIG: &str = "ziglang==0.17.0";
/// Where zig is installed, with its cache.
const TOOLS: &str = "target/zig";

/// A machine that static programs are made for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StaticTarget {
    /// Its name on the command line, and in the names of packages.
    pub(super) arch: &'static str,
    pub(super) triple: &'static str,
    /// What zig calls it.
    zig: &'static str,
}

pub(super) const STATIC_TARGETS: &[StaticTarget] = &[
    StaticTarget { arch: "x86_64", triple: MUSL, zig: "x86_64-linux-musl" },
    StaticTarget { arch: "aarch64", triple: MUSL_ARM, zig: "aarch64-linux-musl" },
];

impl StaticTarget {
    pub(super) fn find(arch: &str) -> Result<&'static Self, String> {
        let names: Vec<_> = STATIC_TARGETS.iter().map(|it| it.arch).collect();
        let found = STATIC_TARGETS.iter().find(|it| it.arch == arch);
        found.ok_or_else(|| format!("`{arch}` is none of {}", names.join(", ")))
    }

    /// Makes a build command one for this machine. `Err` with the reason if a tool for it is missing.
    pub(super) fn prepare(&self, command: &mut Command) -> Result<(), String> {
        if !targets::is_installed(self.triple) {
            return Err(format!(
                "`rustup target add {}` installs no standard library",
                self.triple
            ));
        }
        let zig = zig()?;
        let suffix = self.triple.replace('-', "_");
        let words = format!("cc -target {} -fno-sanitize=undefined", self.zig);
        command.env(format!("CC_{suffix}"), self.script("cc", &zig, &words)?);
        command.env(format!("AR_{suffix}"), self.script("ar", &zig, "ar")?);
        let linker = format!("CARGO_TARGET_{}_LINKER", suffix.to_uppercase());
        command.env(linker, "rust-lld").args(["--target", self.triple]);
        command.env("ZIG_GLOBAL_CACHE_DIR", absolute(&Path::new(TOOLS).join("cache"))?);
        Ok(())
    }

    /// A script that stands for a tool of C, as an absolute path.
    fn script(&self, tool: &str, zig: &Path, words: &str) -> Result<PathBuf, String> {
        let path = absolute(&Path::new(TOOLS).join(format!("{tool}-{}", self.arch)))?;
        let text = script(&zig.display().to_string(), words);
        targets::write_script(&path, &text).map_err(|error| error.to_string())?;
        Ok(path)
    }
}

/// Passes the arguments on, but for Rust's name of the target, which zig does not know.
fn script(zig: &str, words: &str) -> String {
    format!(
        "#!/bin/sh\nfor word do\n    shift\n    case $word in --target=*) ;; *) set -- \"$@\" \"$word\" ;; esac\ndone\n\
         exec '{zig}' -m ziglang {words} \"$@\"\n"
    )
}

/// The Python that has zig, if need be installed just now.
fn zig() -> Result<PathBuf, String> {
    let python = absolute(&Path::new(TOOLS).join("bin/python"))?;
    let probe = |python: &Path| succeeds(Command::new(python).args(["-m", "ziglang", "version"]));
    if !probe(&python) {
        fs::create_dir_all(TOOLS).map_err(|error| error.to_string())?;
        run(program("python3 -m venv").arg(TOOLS))?;
        let mut pip = Command::new(&python);
        run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ZIG]))?;
    }
    if probe(&python) { Ok(python) } else { Err(format!("`{ZIG}` of PyPI does not start")) }
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_targets_are_found_by_the_name_of_their_machine() {
        assert_eq!(StaticTarget::find("aarch64").map(|it| it.triple), Ok(MUSL_ARM));
        let error = StaticTarget::find("vax").expect_err("a machine that is none");
        assert_eq!(error, "`vax` is none of x86_64, aarch64");
    }

    /// `echo` stands for the Python with zig.
    #[test]
    #[cfg(unix)]
    fn the_compiler_script_leaves_out_the_target_of_rust() {
        let mut shell = Command::new("sh");
        shell.args(["-c", &script("echo", "cc -target x"), "sh", "-c", "--target=y", "a b.c"]);
        let printed = crate::process::output(&mut shell);
        assert_eq!(printed.as_deref(), Ok("-m ziglang cc -target x -c a b.c\n"));
    }
}
