//! A project, a home and a `PATH` of stand-ins in which a client can do no harm.
//!
//! A stand-in records that it was called and does nothing else. Only the shells of a client find the
//! stand-ins, through `BASH_ENV`; the client itself finds the real programs, which it needs for its own
//! work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process;

/// Every program that a command of the suite may start.
pub(crate) const STAND_INS: &[&str] = &[
    "cargo", "curl", "docker", "git", "make", "mv", "node", "npm", "rm", "ssh", "sudo", "tee",
    "touch", "wget",
];

/// The content of the readable files, before their own names.
pub(crate) const SECRET: &str = "forty-two-and-a-half";

/// The files that are there to be read and found.
pub(crate) const FILES: &[&str] = &[
    "README.md",
    ".env",
    "docs/guide.md",
    "docs/deep/more.md",
    "drafts/idea.md",
    "private/plan.md",
];

/// The content of one of them.
pub(crate) fn content(file: &str) -> String {
    format!("{SECRET} of {}\n", file.replace('/', " in "))
}

/// The output of a stand-in, before its name.
pub(crate) const CALLED: &str = "this stands in for";

/// The directories for one run of a client.
#[derive(Debug)]
pub(crate) struct Scratch {
    root: PathBuf,
}

impl Scratch {
    /// Creates everything anew below `root`.
    pub(crate) fn new(root: &Path) -> Result<Self, String> {
        let scratch = Self { root: root.to_owned() };
        scratch.build().map_err(|error| format!("`{}`: {error}", root.display()))?;
        let mut git = Command::new("git");
        // A hook or another tool may have set `GIT_DIR` to our own repository.
        git.args(["init", "--quiet"]).current_dir(scratch.project()).env_remove("GIT_DIR");
        process::run(&mut git, Duration::from_secs(20))?;
        Ok(scratch)
    }

    fn build(&self) -> std::io::Result<()> {
        let _ = fs::remove_dir_all(&self.root);
        let inside = [self.project(), self.home(), self.temporary()];
        for directory in inside.into_iter().chain([self.stand_ins(), self.programs()]) {
            fs::create_dir_all(directory)?;
        }
        fs::write(self.log(), "")?;
        for name in STAND_INS {
            let path = self.stand_ins().join(name);
            let log = self.log();
            let line = format!("printf '%s\\n' \"{name} $*\" >>'{}'", log.display());
            fs::write(&path, format!("#!/bin/sh\n{line}\nprintf '{CALLED} %s\\n' {name}\n"))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        let path = format!("export PATH='{}':\"$PATH\"\n", self.stand_ins().display());
        fs::write(self.shell_start(), &path)?;
        // Interactive and login shells ignore `BASH_ENV`.
        for name in [".bashrc", ".bash_profile"] {
            fs::write(self.home().join(name), &path)?;
        }
        Ok(())
    }

    /// The project, a Git repository.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// The home of the user.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The directory for temporary files, beside the projects. Nothing is left elsewhere; Codex demands a
    /// home that is not below it; Pi caches compiled code there, which takes longest of all.
    fn temporary(&self) -> PathBuf {
        self.root.with_file_name("temporary")
    }

    /// The log of the stand-ins.
    pub(crate) fn log(&self) -> PathBuf {
        self.root.join("calls.log")
    }

    /// Keeps the transcript beside the project, to explain a defect.
    pub(crate) fn keep(&self, transcript: &str) {
        let _ = fs::write(self.root.join("transcript.txt"), transcript);
    }

    /// The directory in which the client and its hooks find `agentry`.
    fn programs(&self) -> PathBuf {
        self.root.join("programs")
    }

    /// Writes a script called `agentry` to the directory that the hooks search.
    pub(crate) fn install_agentry(&self, script: &str) -> Result<(), String> {
        let path = self.programs().join("agentry");
        write(&path, &format!("#!/bin/sh\n{script}\n"))?;
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode).map_err(|error| format!("`{}`: {error}", path.display()))
    }

    /// Removes a file or a directory of the project; returns whether it existed.
    pub(crate) fn remove(&self, path: &str) -> bool {
        let path = self.project().join(path);
        fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)).is_ok()
    }

    fn stand_ins(&self) -> PathBuf {
        self.root.join("stand-ins")
    }

    /// The file that a shell reads first to find the stand-ins.
    pub(crate) fn shell_start(&self) -> PathBuf {
        self.root.join("shell-start.sh")
    }

    /// Writes a file below the home.
    pub(crate) fn write_home(&self, path: &str, text: &str) -> Result<(), String> {
        write(&self.home().join(path), text)
    }

    /// Writes a file below the project.
    pub(crate) fn write_project(&self, path: &str, text: &str) -> Result<(), String> {
        write(&self.project().join(path), text)
    }

    /// A program in the project, with a minimal environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.project());
        let path = format!("{}:{}", self.programs().display(), search_path());
        command.env("HOME", self.home()).env("PATH", path);
        command.env("BASH_ENV", self.shell_start()).env("SHELL", "/bin/bash");
        command
            .env("TMPDIR", self.temporary())
            .env("TERM", "xterm")
            .env("LANG", "C.UTF-8")
            .env("NO_COLOR", "1");
        command
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let with_path = |error| format!("`{}`: {error}", path.display());
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(with_path)?;
    }
    fs::write(path, text).map_err(with_path)
}

/// The usual directories, after the one that Node is in.
fn search_path() -> String {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let node = std::env::split_paths(&own).find(|directory| directory.join("node").is_file());
    let usual = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
    node.map_or_else(|| usual.to_owned(), |node| format!("{}:{usual}", node.display()))
}
