//! The builder of these tests: files in a temporary directory, the real program run there, and its whole
//! output as one text.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A manifest without findings.
pub(crate) const HELPER: &str =
    "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n";

/// A manifest with one error (`readwrite`) and one warning (`team`).
pub(crate) const BROKEN: &str = "name: broken\ndescription: Answers questions\n\
    soul: You answer questions.\nteam: support\ntrust: {filesystem: readwrite}\n";

/// A manifest with one warning (`team`).
pub(crate) const WARNED: &str =
    "name: warned\ndescription: Answers questions\nsoul: You answer questions.\nteam: support\n";

/// The program under test: the built one, or another one that stands for it, such as a static program in an empty root.
fn program() -> PathBuf {
    std::env::var_os("AGENTRY_TEST_PROGRAM")
        .map_or_else(|| env!("CARGO_BIN_EXE_agentry").into(), PathBuf::from)
}

/// A workspace on disk, removed when the test is over.
pub(crate) struct Test {
    dir: TempDir,
    env: Vec<(&'static str, &'static str)>,
}

impl Test {
    /// A workspace that is the root of a repository, so that no directory above it matters.
    pub(crate) fn new() -> Self {
        let test = Self::outside_git();
        fs::create_dir(test.path(".git")).expect("a writable folder");
        test
    }

    /// A directory outside of any repository.
    pub(crate) fn outside_git() -> Self {
        let dir = tempfile::Builder::new().prefix("agentry-cli-").tempdir();
        Self { dir: dir.expect("a writable folder"), env: Vec::new() }
    }

    /// Adds a file, and the directories above it.
    pub(crate) fn file(self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Self {
        self.write(path, text);
        self
    }

    /// Adds a link.
    #[cfg(unix)]
    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        std::os::unix::fs::symlink(target, path).expect("a writable folder");
        self
    }

    /// Sets a variable of the environment, which is empty otherwise.
    pub(crate) fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    /// Writes a file, and the directories above it.
    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        fs::write(path, text).expect("a writable folder");
    }

    /// The text of a file.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether there is something at `path`.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The absolute path of a path in the workspace.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Runs the program with `args`, split at white space; text in single quotes stays whole.
    pub(crate) fn run(&self, args: &str) -> Ran {
        let output = self.command(split(args)).output().expect("the program runs");
        self.ran(&format!("agentry {args}"), &output)
    }

    /// Runs the program with `args` in a directory of the workspace.
    pub(crate) fn run_in(&self, dir: &str, args: &str) -> Ran {
        let output = self.command(split(args)).current_dir(self.path(dir)).output();
        self.ran(&format!("agentry {args}"), &output.expect("the program runs"))
    }

    /// Runs the program with `args` as they are.
    pub(crate) fn run_args<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        let output = self.command(args).output().expect("the program runs");
        let shown: Vec<_> = args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect();
        self.ran(&format!("agentry {}", shown.join(" ")), &output)
    }

    /// The program, ready to run in the workspace.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(program());
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command.env_clear().env("NO_COLOR", "1").env("HOME", self.path("home"));
        command.envs(self.env.iter().copied());
        // Without it, no program starts on Windows.
        if let Some(root) = std::env::var_os("SystemRoot") {
            command.env("SystemRoot", root);
        }
        command
    }

    /// The result of a command from [`Test::command`].
    pub(crate) fn ended(&self, args: &str, output: &Output) -> Ran {
        self.ran(&format!("agentry {args}"), output)
    }

    fn ran(&self, command: &str, output: &Output) -> Ran {
        Ran {
            command: self.filtered(command.trim_end()),
            stdout: self.filtered(&String::from_utf8_lossy(&output.stdout)),
            stderr: self.filtered(&String::from_utf8_lossy(&output.stderr)),
            code: output.status.code(),
        }
    }

    /// Removes what differs from run to run: the path of the workspace, and times.
    pub(crate) fn filtered(&self, text: &str) -> String {
        let real = fs::canonicalize(self.dir.path()).unwrap_or_default();
        let text = text.replace(&*real.to_string_lossy(), "[DIR]");
        text.replace(&*self.dir.path().to_string_lossy(), "[DIR]")
    }
}

/// The words of a line; every second part between single quotes is one word.
fn split(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    let words = parts.map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect::<Vec<Vec<&str>>>().concat()
}

/// The output of the program, and its exit code.
pub(crate) struct Ran {
    command: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
}

impl Ran {
    /// Checks that the run ended with `code`.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// The standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }
}

/// The whole output, each stream under its own heading.
impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ {}", self.command)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                let unended = if text.ends_with('\n') { "" } else { "(no line end)\n" };
                write!(f, "--- {name}\n{text}{unended}")?;
            }
        }
        match self.code {
            Some(code) => write!(f, "--- exit {code}"),
            None => write!(f, "--- ended by a signal"),
        }
    }
}
