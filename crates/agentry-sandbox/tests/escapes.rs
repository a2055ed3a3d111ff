//! Ways out of the sandbox, tried from inside: each back end must refuse all of them.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "a test that cannot start has failed")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use agentry_sandbox::{BackEnd, Command, Confinement, Limits, Network, Sandbox, support};

const HELPER: &str = env!("CARGO_BIN_EXE_confined-helper");

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        for name in ["work", "work/sub", "outside", "work/.git"] {
            fs::create_dir_all(dir.path().join(name)).expect("a directory");
        }
        for (name, text) in [
            ("outside/secret", "hush"),
            ("work/.env", "KEY=hush"),
            ("work/agentry.toml", "[check]\n"),
        ] {
            fs::write(dir.path().join(name), text).expect("a file");
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("a path").join(name)
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            reads: ["/usr", "/bin", "/lib", "/lib64", "/etc"].map(PathBuf::from).to_vec(),
            writes: vec![self.path("work")],
            read_only: vec![self.path("work/agentry.toml"), self.path("work/agentry.lock")],
            hidden: vec![self.path("work/.env")],
            network: Network::Off,
            limits: Limits { processes: 64, memory: 1 << 30, file_size: 1 << 20 },
        }
    }
}

fn shell(sandbox: &mut Sandbox, directory: &Path, line: &str) -> (Option<i32>, String) {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let errors = writer.try_clone().expect("a copy");
    let running = sandbox
        .run(Command {
            argv: ["/bin/bash", "-c", line].map(str::to_owned).to_vec(),
            directory: directory.to_owned(),
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            input: fs::File::open("/dev/null").expect("null").into(),
            output: writer.into(),
            errors: errors.into(),
        })
        .expect("started");
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    (running.wait().expect("an end").code, text)
}

#[test]
fn look() {
    println!("{:?}", support(Path::new(HELPER)));
    let world = World::new();
    let start = std::time::Instant::now();
    let mut sandbox = Sandbox::start(Path::new(HELPER), BackEnd::Namespaces, world.confinement())
        .expect("a sandbox");
    println!("started in {:?}", start.elapsed());
    for line in [
        "id; pwd; ls -la; ls /; cat .env; echo x > agentry.toml; echo y > agentry.lock; echo z > new; ls -la /dev /proc | head -40; cat /proc/self/status | grep -i cap; mount | head -30",
        "true",
    ] {
        let start = std::time::Instant::now();
        let (code, text) = shell(&mut sandbox, &world.path("work"), line);
        println!("{line}\n{code:?} {:?}\n{text}", start.elapsed());
    }
    panic!("look");
}
