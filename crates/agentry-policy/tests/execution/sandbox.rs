//! Runs lines in bubblewrap, without network, in a temporary directory, with a `PATH` of stub programs that
//! log how they were called.
//!
//! The stubs of programs that run other programs call the real program, which finds stubs again. One sandbox
//! runs many lines, one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// The time limit of a line; a line that takes longer has no result.
const PATIENCE: Duration = Duration::from_secs(2);
/// Programs that are really run.
const REAL: &[&str] = &["bash", "sh", "cat", "env", "xargs", "find", "timeout", "nohup", "nice"];
/// Libraries that the real programs need.
const LIBRARIES: &[&str] = &["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"];
/// The directories of the stubs; the first one is the `PATH`, under a name that no line contains.
const FOLDERS: &[&str] = &["stand/in", "bin", "usr/bin"];
/// Directories of the root that belong to the sandbox, and not to the line.
const OURS: &[&str] = &["stand", "bin", "usr", "real", "lib", "lib64", "etc", "proc", "dev", "log"];

/// The stub: logs its call, then runs the real program, or prints hostile text.
const STAND_IN: &str = r#"#!/real/sh
name=${0##*/}
case $0 in /stand/in/*) word=$name ;; *) word=$0 ;; esac
[ "$name" != missing ] || { word=$1; shift; }
printf '%s\0' CALL "$#" "$PWD" "$PATH" "${LD_PRELOAD-}${GIT_PAGER#cat}${PAGER#cat}${GIT_SSH_COMMAND-}" \
    "${FOO+FOO}${BAR+BAR}" "$word" "$@" >> /log/calls
case $name in
bash | sh | cat | env | xargs | find | timeout | nohup | nice) exec "/real/$name" "$@" ;;
dash | ash) exec /real/sh "$@" ;;
time | stdbuf | setsid) case $1 in -*) ;; *) exec "$@" ;; esac ;;
true | : | echo) printf '%s\n' "$*" ;;
false) exit 1 ;;
*) printf '%s\n' 'rm x' '--output=evil' ' -delete' '; rm y' '$(rm z)' '`rm z`' "-exec rm {} ;" '> evil' rm '*' ;;
esac
"#;

/// The start-up file of every bash: disables builtins whose calls should be logged, and logs commands that do
/// not exist.
const START_UP: &str = r#"
enable -n echo kill pwd
command_not_found_handle() { /stand/in/missing "$@"; return 127; }
"#;

/// Runs a line for each line feed on the input, and waits for all processes of the line.
const LOOP: &str = r#"
set -- /proc/[0-9]*
own=$#
ulimit -f 2048
printf 'ready\n'
while IFS= read -r _; do
    IFS= read -r -d '' line < /log/line
    cd /workspace
    /real/bash -c "$line" < /dev/null > /dev/null 2>&1
    until set -- /proc/[0-9]*; [ $# -le $own ]; do :; done
    printf 'done\n'
done
"#;

/// A running sandbox.
pub(crate) struct Sandbox {
    // The first field, because it must be dropped before the directory is removed.
    session: Session,
    root: TempDir,
    names: Vec<String>,
    before: Tree,
}

/// The bash inside the sandbox, and its answers.
struct Session {
    child: Child,
    answers: Receiver<String>,
}

/// Paths with their contents.
type Tree = BTreeMap<String, Vec<u8>>;

/// One logged call of a command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Called {
    /// The words; the first one is the name, or the path if it was called by path.
    pub(crate) argv: Vec<String>,
    /// The current directory of the call.
    pub(crate) directory: String,
    /// Whether `PATH` was unchanged, and no variable was set that changes what runs.
    pub(crate) is_untouched: bool,
    /// The variables of generated lines that it received: `FOO`, `BAR`.
    pub(crate) variables: String,
}

impl Called {
    /// Returns the words of the call.
    pub(crate) fn words(&self) -> Vec<&str> {
        self.argv.iter().map(String::as_str).collect()
    }

    /// Replaces `/bin/ls` by `ls`.
    pub(crate) fn forget_folder(&mut self) {
        let Some(name) = self.argv.first_mut() else { return };
        let bare = ["/bin/", "/usr/bin/"].iter().find_map(|folder| name.strip_prefix(folder));
        *name = bare.unwrap_or(name).to_owned();
    }
}

/// The effects of a line.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The commands, in the order in which they started.
    pub(crate) calls: Vec<Called>,
    /// Files that were created, changed or removed.
    pub(crate) changes: Vec<String>,
}

impl Sandbox {
    /// Starts a sandbox with stubs for these names besides the usual ones; the error is the reason why this
    /// machine has no sandbox.
    pub(crate) fn new(names: Vec<String>) -> Result<Self, String> {
        let root = tempfile::Builder::new()
            .prefix("agentry-execution-")
            .tempdir()
            .map_err(|error| format!("no temporary folder: {error}"))?;
        let at = root.path();
        furnish(at, &names).map_err(|error| format!("the folder cannot be filled: {error}"))?;
        let session = Session::new(bubblewrap(at)?)?;
        let before = tree(at);
        Ok(Self { session, root, names, before })
    }

    /// Runs a line; returns `None` if it does not end in time.
    pub(crate) fn run(&mut self, line: &str) -> Option<Effects> {
        if line.contains('\0') {
            return None;
        }
        fs::write(self.at("log/line"), line).expect("a folder of our own");
        fs::write(self.at("log/calls"), "").expect("a folder of our own");
        if !self.session.go() {
            // Its processes may still run for a moment, so the directory is not used again.
            *self = Self::new(std::mem::take(&mut self.names)).expect("it ran before");
            return None;
        }
        let calls = fs::read(self.at("log/calls")).unwrap_or_default();
        let changes = changes(&self.before, &tree(self.root.path()));
        if !changes.is_empty() {
            restore(self.root.path());
        }
        Some(Effects { calls: called(&calls), changes })
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Session {
    fn new(mut command: Command) -> Result<Self, String> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            piped.spawn().map_err(|error| format!("`bwrap` does not start: {error}"))?;
        let output = child.stdout.take().ok_or("no output")?;
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut session = Self { child, answers };
        if session.answer(Duration::from_secs(10)).as_deref() == Some("ready") {
            return Ok(session);
        }
        let _ = session.child.kill();
        let complaint = session.child.stderr.take().map(io::read_to_string);
        let _ = session.child.wait();
        let complaint = complaint.and_then(Result::ok).unwrap_or_default();
        Err(format!("`bwrap` cannot confine anything here: {}", complaint.trim()))
    }

    /// Lets the line run, and returns whether it ended.
    fn go(&mut self) -> bool {
        let is_asked =
            self.child.stdin.as_mut().is_some_and(|input| input.write_all(b"\n").is_ok());
        is_asked && self.answer(PATIENCE).as_deref() == Some("done")
    }

    fn answer(&mut self, patience: Duration) -> Option<String> {
        self.answers.recv_timeout(patience).ok()
    }
}

/// Fills the directory `root` with the parts that are the same for all lines, and the files for them.
fn furnish(root: &Path, names: &[String]) -> io::Result<()> {
    for folder in ["stand/in", "bin", "usr/bin", "real", "log", "proc", "dev", "etc"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let script = root.join("stand/script");
    fs::write(&script, STAND_IN)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    fs::write(root.join("stand/start-up"), START_UP)?;
    let names = NAMES.iter().copied().chain(names.iter().map(String::as_str));
    for name in names {
        for folder in FOLDERS {
            // The name may exist already.
            let _ = symlink("/stand/script", root.join(folder).join(name));
        }
    }
    for name in REAL {
        fs::write(root.join("real").join(name), "")?;
    }
    fill(root)
}

/// Writes the files that lines can read and change.
fn fill(root: &Path) -> io::Result<()> {
    for folder in ["workspace/src", "workspace/out", "workspace/a b", "home/user", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    for name in FILES {
        fs::write(root.join("workspace").join(name), "rm x\n--output=evil\n-delete\n")?;
    }
    for name in ["git", "ls", "rm"] {
        let path = root.join("workspace").join(name);
        let _ = fs::remove_file(&path);
        symlink("/stand/script", path)?;
    }
    fs::write(root.join("home/user/.bashrc"), "rm x\n")
}

/// Restores the initial files.
fn restore(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| OURS.contains(&name));
        if is_ours {
            continue;
        }
        let path = entry.path();
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    fill(root).expect("a folder of our own");
}

/// Returns the bubblewrap command with the directory `root` as its root.
fn bubblewrap(root: &Path) -> Result<Command, String> {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
    command.arg("--bind").arg(root).arg("/");
    for library in LIBRARIES {
        command.args(["--ro-bind-try", library, library]);
    }
    for folder in ["/stand", "/bin", "/usr/bin"] {
        command.arg("--ro-bind").arg(root.join(folder.trim_start_matches('/'))).arg(folder);
    }
    for name in REAL {
        let path = which(name).ok_or_else(|| format!("there is no `{name}`"))?;
        command.arg("--ro-bind").arg(path).arg(format!("/real/{name}"));
    }
    command.args(["--proc", "/proc", "--dev", "/dev"]);
    for (name, value) in [
        ("PATH", "/stand/in"),
        ("HOME", "/home/user"),
        ("BASH_ENV", "/stand/start-up"),
        ("LC_ALL", "C.UTF-8"),
    ] {
        command.args(["--setenv", name, value]);
    }
    command.args(["--", "/real/bash", "--norc", "-c", LOOP]);
    Ok(command)
}

/// Reads all current files, apart from the directories of the sandbox.
fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let Ok(entries) = fs::read_dir(root) else { return tree };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.to_str().is_some_and(|name| OURS.contains(&name)) {
            look(&entry.path(), root, &mut tree);
        }
    }
    tree
}

/// Adds `path`, and everything below it.
fn look(path: &Path, root: &Path, tree: &mut Tree) {
    let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
    let Ok(about) = fs::symlink_metadata(path) else { return };
    let content = if about.is_dir() {
        b"a directory".to_vec()
    } else if about.is_symlink() {
        fs::read_link(path).unwrap_or_default().into_os_string().into_encoded_bytes()
    } else {
        fs::read(path).unwrap_or_default()
    };
    tree.insert(format!("/{shown}"), content);
    if about.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            look(&entry.path(), root, tree);
        }
    }
}

fn changes(before: &Tree, after: &Tree) -> Vec<String> {
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let new = after.iter().filter(|(path, content)| before.get(*path) != Some(content));
    gone.chain(new.map(|(path, _)| path)).cloned().collect()
}

/// Parses the log of the stubs.
fn called(log: &[u8]) -> Vec<Called> {
    let mut fields =
        log.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into());
    let mut calls = Vec::new();
    while fields.next() == Some("CALL".to_owned()) {
        let Some(count) = fields.next().and_then(|count: String| count.parse::<usize>().ok())
        else {
            break;
        };
        let [directory, path, odd, variables] = [(); 4].map(|()| fields.next().unwrap_or_default());
        let argv = fields.by_ref().take(count + 1).collect();
        // Without a `PATH`, the shell searches programs in default directories.
        let is_usual = path.is_empty() || path.starts_with("/usr/local/");
        let is_untouched = (path == "/stand/in" || is_usual) && odd.is_empty();
        let mut call = Called { argv, directory, is_untouched, variables };
        if is_usual {
            call.forget_folder();
        }
        calls.push(call);
    }
    calls
}

/// Returns the path of a program on this machine.
fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| p.is_file())?;
    fs::canonicalize(found).ok()
}

/// Stubs that always exist.
const NAMES: &[&str] = &[
    "bash", "sh", "cat", "env", "xargs", "find", "timeout", "nohup", "nice", "echo", "true",
    "false", "missing", "time", "dash", "ash", "stdbuf", "setsid", "git", "ls", "grep", "head",
    "tail", "wc", "sort", "sed", "rm", "curl", "mv", "cp", "touch", "tee", "sudo", "python",
    "make", "printf", "test", "[", "kill", "pwd", "x", "f", "a",
];

/// Files, most of them with names that look like options or syntax.
const FILES: &[&str] = &[
    "README.md",
    "notes.txt",
    "src/main.rs",
    "src/lib.rs",
    ".env",
    "--output=x",
    "-delete",
    ";rm",
    " rm x",
    "$(rm x)",
    "`rm x`",
    "-exec",
    "-rf",
    "--",
    "*",
    "{}",
    "a b/c",
    "out/old",
    "rm y\nrm z",
    "--force",
    "~",
    "x;y",
    "a",
    "x",
];
