//! A real Postgres that a test starts in a directory of its own, as an unprivileged user.

use std::cell::Cell;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// A database of its own, which ends with the test.
pub(crate) struct TestPostgres {
    directory: PathBuf,
    /// Removes the directory, unless it belongs to the test.
    own: Option<TempDir>,
    port: u16,
    /// Its first process.
    process: Cell<u32>,
}

impl TestPostgres {
    /// Starts one; `None` if the machine has no Postgres, which is printed.
    pub(crate) fn start() -> Option<Self> {
        let own = tempfile::tempdir().expect("a writable directory");
        let path = own.path().to_owned();
        let mut this = Self::start_in(&path)?;
        this.own = Some(own);
        Some(this)
    }

    /// Starts one with its files in this directory.
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    pub(crate) fn start_in(directory: &Path) -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("SKIPPED: there is no Postgres; `cargo xtask install` brings it");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let port = port.expect("a free port").port();
        let this = Self { directory: directory.to_owned(), own: None, port, process: Cell::new(0) };
        let data = this.data();
        let data = data.display();
        if is_root() {
            // Postgres refuses to run as root.
            run(Command::new("chown").arg("nobody").arg(&this.directory));
        }
        let make = format!("{}/initdb -D {data} -U agentry -A trust -N", programs.display());
        run(unprivileged(&make).stdout(Stdio::null()));
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\n"
        );
        let file = this.data().join("postgresql.conf");
        let old = fs::read_to_string(&file).expect("the settings");
        fs::write(&file, old + &settings).expect("writable settings");
        this.up();
        Some(this)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Starts the server, and waits until it answers.
    pub(crate) fn up(&self) {
        let (data, programs) = (self.data(), programs().expect("the programs"));
        let (data, programs) = (data.display(), programs.display());
        // A killed server leaves its mark, and may be listed until its parent notices.
        let _ = fs::remove_file(self.data().join("postmaster.pid"));
        let start = format!("{programs}/pg_ctl -D {data} -l {data}/log -w -t 60 start");
        // A child of a killed server may still hold its memory for a moment.
        let started = (0..100).any(|_| {
            let started = unprivileged(&start).stdout(Stdio::null()).stderr(Stdio::null()).status();
            started.expect("a shell").success() || {
                std::thread::sleep(Duration::from_millis(50));
                false
            }
        });
        assert!(started, "the server does not start");
        let text = fs::read_to_string(self.data().join("postmaster.pid"));
        let text = text.expect("the id of the server");
        let id = text.lines().next().and_then(|line| line.parse().ok());
        self.process.set(id.expect("a number"));
    }

    fn stop(&self, how: &str) {
        let (data, programs) = (self.data(), programs().expect("the programs"));
        let stop = format!("{}/pg_ctl -D {} -m {how} stop", programs.display(), data.display());
        let _ = unprivileged(&stop).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }

    /// Kills the first process of the server, and waits for its children to notice.
    pub(crate) fn kill(&self) {
        let pid = self.process.get();
        run(Command::new("kill").args(["-9", &pid.to_string()]));
        // A process that has ended has no command line.
        while fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|it| !it.is_empty()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The port on loopback at which it listens.
    #[allow(dead_code, reason = "only the tests of the program have a wire to it")]
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Does what a person does in the database. Returns what is printed.
    #[allow(dead_code, reason = "only the tests of the program change what workers left")]
    pub(crate) fn psql(&self, sql: &str) -> String {
        let psql = programs().expect("the programs").join("psql");
        let done =
            Command::new(psql).args(["-X", "-q", "-t", "-A", "-c", sql, &self.url()]).output();
        let done = done.expect("a command that starts");
        assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("postgres://agentry@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        self.stop("immediate");
        // A server whose disk is gone does not stop.
        let command = fs::read_to_string(format!("/proc/{}/cmdline", self.process.get()));
        if command.is_ok_and(|it| it.contains(&*self.data().to_string_lossy())) {
            self.kill();
        }
    }
}

/// Where the programs of the newest Postgres are.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let mut found: Vec<_> = versions.map(|it| it.path().join("bin")).collect();
    found.retain(|it| it.join("initdb").is_file());
    found.sort();
    found.pop()
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// A command line of an unprivileged user.
fn unprivileged(line: &str) -> Command {
    let mut command = Command::new("setpriv");
    let mut words = vec!["sh", "-c", line];
    if is_root() {
        words.splice(0..0, ["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
        command.args(words);
    } else {
        command = Command::new("sh");
        command.args(["-c", line]);
    }
    // Apart from this test, so that an interrupt of the test does not reach it first.
    command.current_dir("/").process_group(0);
    command
}

fn run(command: &mut Command) {
    let status = command.status().expect("a command that starts");
    assert!(status.success(), "{command:?}: {status}");
}
