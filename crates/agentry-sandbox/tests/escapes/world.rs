//! A small world with protected files, and a check that they are unchanged.

use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::{env, fs};

use agentry_sandbox::{BackEnd, ConfinedCommand, Confinement, ResourceLimits, Sandbox, support};

/// The limits: processes, bytes of memory, bytes of a file.
pub(crate) const LIMITS: ResourceLimits =
    ResourceLimits { processes: 64, memory: 512 << 20, file_size: 1 << 20 };

/// Files that must not change.
const FILES: &[(&str, &str)] = &[
    ("outside/secret", "hush outside\n"),
    ("outside/deep/file", "untouched\n"),
    ("work/.env", "KEY=hush\n"),
    ("work/vault/key", "hush key\n"),
    ("work/agentry.toml", "[check]\n"),
    ("work/agents/own.md", "own definition\n"),
    ("work/real/conf.toml", "behind a link\n"),
    ("work/repo/.git/config", "[core]\n"),
    ("work/tree/.git", "gitdir: ../repo/.git\n"),
];

/// Paths that must not be created.
const ABSENT: &[&str] =
    &["work/agentry.lock", "work/deep/missing/file.toml", "outside/new", "outside/deep/new", "w2"];

/// The directories of the machine that every command may read.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"];

pub(crate) struct EscapeFixture {
    back_end: BackEnd,
    /// Removed with the world, if it was created for it.
    dir: Option<tempfile::TempDir>,
    root: PathBuf,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    hidden: UnixListener,
    name: String,
    /// Shared memory, which processes open by its number.
    memory: i32,
    /// A confinement without exceptions, if one is wanted.
    plain: Option<Confinement>,
}

impl Drop for EscapeFixture {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        // SAFETY: the memory was created below and is not used any more.
        unsafe { libc::shmctl(self.memory, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

impl EscapeFixture {
    pub(crate) fn new(back_end: BackEnd) -> Self {
        let worlds = env::var("WORLDS").unwrap_or_else(|_| env!("CARGO_TARGET_TMPDIR").to_owned());
        let dir = tempfile::tempdir_in(worlds).expect("a directory");
        let root = dir.path().canonicalize().expect("a path");
        make(&root);
        let mut world = Self::at(&root, back_end);
        world.dir = Some(dir);
        world
    }

    /// The world that already exists.
    pub(crate) fn at(root: &Path, back_end: BackEnd) -> Self {
        let root = root.canonicalize().expect("a path");
        let victim = std::process::Command::new("sleep")
            .arg("90")
            .env("SECRET", "hush environment")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a listener");
        tcp.set_nonblocking(true).expect("set");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        udp.set_nonblocking(true).expect("set");
        let socket = root.join("work/free/socket");
        let _ = fs::remove_file(&socket);
        let unix = UnixListener::bind(&socket).expect("a listener");
        unix.set_nonblocking(true).expect("set");
        let name = format!("agentry-test-{}{}", std::process::id(), root.display());
        let address = SocketAddr::from_abstract_name(&name).expect("an address");
        let hidden = UnixListener::bind_addr(&address).expect("a listener");
        hidden.set_nonblocking(true).expect("set");
        // SAFETY: takes no pointers.
        let memory = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o666) };
        Self {
            back_end,
            dir: None,
            root,
            victim,
            tcp,
            udp,
            unix,
            hidden,
            name,
            memory,
            plain: None,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn root(&self) -> &str {
        self.root.to_str().expect("text")
    }

    /// Lets Landlock confine what namespaces would. Returns whether it can do so here.
    pub(crate) fn make_plain(&mut self) -> bool {
        let plain = self.confinement().plain().expect("few paths");
        self.back_end = BackEnd::Landlock;
        self.plain = Some(plain);
        support(&helper()).without_landlock(&self.confinement()).is_none()
    }

    /// Namespaces protect paths inside writable directories; Landlock can only leave them out.
    pub(crate) fn confinement(&self) -> Confinement {
        if let Some(plain) = &self.plain {
            return plain.clone();
        }
        let paths = |names: &[&str]| names.iter().map(|name| self.path(name)).collect::<Vec<_>>();
        let mut reads: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        reads.push(env::current_exe().expect("a path"));
        let (writes, read_only, hidden) = match self.back_end {
            BackEnd::Namespaces => (
                paths(&["work"]),
                paths(&[
                    "work/agentry.toml",
                    "work/agentry.lock",
                    "work/agents/own.md",
                    "work/deep/missing/file.toml",
                    "work/link.toml",
                    "work/repo/.git/config",
                    "work/tree/.git",
                ]),
                paths(&["work/.env", "work/vault"]),
            ),
            BackEnd::Landlock => {
                reads.push(self.path("work/open"));
                (paths(&["work/free", "work/sub"]), Vec::new(), Vec::new())
            }
        };
        Confinement { reads, writes, read_only, hidden, limits: LIMITS, ..Confinement::default() }
    }

    pub(crate) fn sandbox(&self) -> Sandbox {
        let ledger = self.path("ledger");
        Sandbox::start(&helper(), self.back_end, self.confinement(), Some(&ledger))
            .expect("a sandbox")
    }

    /// Checks that ordinary work is possible.
    pub(crate) fn works(&self, sandbox: &Sandbox) {
        let line = "echo fine > free/file && cat free/file && rm free/file && (echo sub | cat)";
        let output = self.shell(sandbox, &self.path("work"), line);
        assert_eq!(output, "fine\nsub\n");
    }

    /// Runs a line in a shell and returns its output.
    pub(crate) fn shell(&self, sandbox: &Sandbox, directory: &Path, line: &str) -> String {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let errors = writer.try_clone().expect("a copy");
        let attempt = "try() { ATTEMPT=\"$*\" \"$TRY\" --exact attempt --nocapture; }";
        let command = ConfinedCommand {
            directory: directory.to_owned(),
            output: writer.into(),
            errors: errors.into(),
            ..self.command("/bin/bash", &format!("{attempt}\n{line}"))
        };
        let running = match sandbox.run(command) {
            Ok(running) => running,
            Err(error) => return error.to_string(),
        };
        let mut output = String::new();
        reader.read_to_string(&mut output).expect("text");
        match running.wait() {
            Ok(_) => output,
            Err(error) => error.to_string(),
        }
    }

    /// A shell that runs a line without output.
    pub(crate) fn command(&self, shell: &str, line: &str) -> ConfinedCommand {
        let null = || fs::File::options().read(true).write(true).open("/dev/null").expect("null");
        ConfinedCommand {
            argv: [shell, "-c", line].map(str::to_owned).to_vec(),
            directory: self.path("work"),
            env: self.env(),
            input: null().into(),
            output: null().into(),
            errors: null().into(),
        }
    }

    fn env(&self) -> Vec<(String, String)> {
        let port = |address: std::io::Result<std::net::SocketAddr>| address.expect("one").port();
        let exe = env::current_exe().expect("a path");
        // Without control groups, root is limited by process ids, of which there are some more.
        let support = support(&helper());
        let more = if support.administrator && !support.control_groups { 300 } else { 0 };
        let processes = LIMITS.processes + more;
        [
            ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
            ("TRY", exe.display().to_string()),
            ("OUT", self.path("outside").display().to_string()),
            ("WORK", self.path("work").display().to_string()),
            ("VICTIM", self.victim.id().to_string()),
            ("TCP", port(self.tcp.local_addr()).to_string()),
            ("UDP", port(self.udp.local_addr()).to_string()),
            ("SHARED", self.memory.to_string()),
            ("ABSTRACT", self.name.clone()),
            ("PROCESSES", processes.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// What has changed; `None` if nothing has.
    pub(crate) fn damage(&self) -> Option<String> {
        for (name, text) in FILES {
            let found = fs::read_to_string(self.path(name));
            if found.as_ref().ok().map(String::as_str) != Some(*text) {
                return Some(format!("`{name}` is {found:?}"));
            }
        }
        let made = |name: &&&str| fs::metadata(self.path(name)).is_ok_and(|it| it.len() < 60);
        if let Some(name) = ABSENT.iter().find(made) {
            return Some(format!("`{name}` exists"));
        }
        let link = fs::read_link(self.path("work/link.toml"));
        if link.ok().as_deref() != Some(Path::new("real/conf.toml")) {
            return Some("the link is another".to_owned());
        }
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.victim.id()));
        let alive = stat.is_ok_and(|stat| stat.contains(") S "));
        if !alive {
            return Some("the victim was reached".to_owned());
        }
        self.reached().map(|what| format!("{what} was reached"))
    }

    fn reached(&self) -> Option<&'static str> {
        if self.tcp.accept().is_ok() {
            return Some("the TCP listener");
        }
        if self.udp.recv(&mut [0; 8]).is_ok() {
            return Some("the UDP socket");
        }
        if self.unix.accept().is_ok() {
            return Some("the unix socket");
        }
        self.hidden.accept().is_ok().then_some("the abstract socket")
    }

    /// What is left after the sandbox has ended: placeholders, record files.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        let absent = ABSENT.iter().chain(&["work/deep"]).map(|name| self.path(name));
        let absent = absent.filter(|path| fs::symlink_metadata(path).is_ok());
        let ledger = fs::read_dir(self.path("ledger")).expect("a list");
        let ledger = ledger.filter_map(|entry| Some(entry.ok()?.path()));
        absent.chain(ledger.filter(|path| !path.ends_with("lock"))).collect()
    }
}

/// Creates the files of a world.
fn make(root: &Path) {
    for name in ["work/sub", "work/free", "work/open", "outside/deep", "ledger"] {
        fs::create_dir_all(root.join(name)).expect("a directory");
    }
    for (name, text) in FILES {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    symlink("real/conf.toml", root.join("work/link.toml")).expect("a link");
}

/// The helper. An ordinary user gets a copy of it.
pub(crate) fn helper() -> PathBuf {
    env::var_os("HELPER")
        .map_or_else(|| env!("CARGO_BIN_EXE_confined-helper").into(), PathBuf::from)
}
