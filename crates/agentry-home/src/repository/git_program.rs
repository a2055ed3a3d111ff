//! Starts `git` in a way that runs nothing else: only plumbing commands, no hooks, no filters, no configuration but that of the
//! repository, and of that nothing which names a program. Work trees are read and written by this crate, never by Git.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::RepositoryError;

/// The longest time that one command may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// The most bytes that one command may print.
const MOST_OUTPUT: u64 = 256 * 1024 * 1024;

/// Where programs are if `PATH` is not set.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Settings that win over the repository's own. Plumbing commands need none of them today; they hold for what Git may add.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.untrackedCache=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.sshCommand=false",
    "credential.helper=",
    "protocol.allow=never",
    "diff.external=",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "gpg.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    // Objects of an agent are few; loose ones need no repacking.
    "fastimport.unpackLimit=100000",
];

/// The environment of every command. Everything else is removed, so that no variable of the caller redirects Git.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // A repository may name a remote for objects that it lacks; nothing is fetched from there.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C"),
];

/// The `git` of this machine.
#[derive(Debug, Clone)]
pub(crate) struct GitProgram {
    program: PathBuf,
}

impl GitProgram {
    /// Finds `git` in the absolute directories of `PATH`. A relative one would depend on the current directory.
    pub(crate) fn find() -> Result<Self, RepositoryError> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
        let directories = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
        let mut programs = directories.map(|directory| directory.join("git"));
        let program = programs.find(|program| is_program(program));
        program.map(|program| Self { program }).ok_or(RepositoryError::NoGit)
    }

    /// Runs a plumbing command on the repository `git_dir` and returns what it prints.
    pub(crate) fn run<'a>(
        &self,
        git_dir: &Path,
        args: impl IntoIterator<Item = &'a str>,
        input: Vec<u8>,
    ) -> Result<Vec<u8>, RepositoryError> {
        let args: Vec<&OsStr> = args.into_iter().map(OsStr::new).collect();
        let name = args.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let failed = |why: String| RepositoryError::Git { command: name.clone(), why };
        let mut child =
            self.command(git_dir, &args).spawn().map_err(|error| failed(error.to_string()))?;
        let talk = Talk::start(&mut child, input);
        let finished = talk.wait();
        if finished.is_none() {
            // It may wait for something that never comes, such as a pipe among its files.
            let _ = child.kill();
        }
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        let (out, errors) = finished.ok_or_else(|| failed("it takes too long".to_owned()))?;
        if out.len() as u64 > MOST_OUTPUT {
            return Err(failed(format!("it prints more than {MOST_OUTPUT} bytes")));
        }
        if status.success() { Ok(out) } else { Err(failed(last_line(&errors))) }
    }

    /// A plumbing command, with pipes for all it reads and prints.
    pub(crate) fn command(&self, git_dir: &Path, args: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(ENVIRONMENT.iter().copied());
        command.env("GIT_DIR", git_dir).env("GIT_CEILING_DIRECTORIES", git_dir);
        command.args(["--no-pager", "--no-optional-locks", "--literal-pathspecs"]);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(args).current_dir(if git_dir.is_dir() { git_dir } else { Path::new("/") });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn is_program(path: &Path) -> bool {
    use agentry_posix::unix::fs::PermissionsExt as _;
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The last line of what Git reports, without its prefix.
fn last_line(errors: &[u8]) -> String {
    let text = String::from_utf8_lossy(errors);
    let line = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it failed without a message");
    let line = line.trim_start_matches("fatal: ").trim_start_matches("error: ");
    line.chars().filter(|letter| !letter.is_control()).take(300).collect()
}

/// The conversation with a child: all its input, and both outputs, each in a thread so that none blocks the others.
struct Talk {
    ends: mpsc::Receiver<(bool, Vec<u8>)>,
}

impl Talk {
    fn start(child: &mut Child, input: Vec<u8>) -> Self {
        let (sender, ends) = mpsc::channel();
        if let Some(mut stdin) = child.stdin.take() {
            // A child that ends early closes the pipe; its status says why.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let read = |stream: Option<Box<dyn std::io::Read + Send>>, is_output: bool| {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut bytes = Vec::new();
                if let Some(stream) = stream {
                    let _ = stream.take(MOST_OUTPUT + 1).read_to_end(&mut bytes);
                }
                let _ = sender.send((is_output, bytes));
            });
        };
        read(child.stdout.take().map(|it| Box::new(it) as _), true);
        read(child.stderr.take().map(|it| Box::new(it) as _), false);
        Self { ends }
    }

    /// Both outputs, or `None` if the child takes too long.
    fn wait(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (mut out, mut errors) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            match self.ends.recv_timeout(PATIENCE).ok()? {
                (true, bytes) => out = bytes,
                (false, bytes) => errors = bytes,
            }
        }
        Some((out, errors))
    }
}
