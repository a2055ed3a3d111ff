//! The file tree that commands see: a home of their own, with what may be used in its place.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "a test that cannot start has failed")]

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use agentry_sandbox::{BackEnd, Command, Confinement, Limits, Network, Sandbox, support};

const HELPER: &str = env!("CARGO_BIN_EXE_confined-helper");

#[test]
fn a_home_is_empty_but_for_what_may_be_used() {
    if let Some(missing) = support(Path::new(HELPER)).without_namespaces() {
        eprintln!("SKIPPED: {missing}");
        return;
    }
    for parent in [env!("CARGO_TARGET_TMPDIR").into(), std::env::temp_dir()] {
        let dir = tempfile::tempdir_in(parent).expect("a directory");
        let home = dir.path().canonicalize().expect("a path").join("home");
        for name in ["work", ".tool/bin", ".ssh"] {
            fs::create_dir_all(home.join(name)).expect("a directory");
        }
        fs::write(home.join(".tool/credentials"), "hush").expect("a file");
        let confinement = Confinement {
            reads: ["/usr", "/bin", "/lib", "/lib64"]
                .map(Into::into)
                .into_iter()
                .chain([home.join(".tool")])
                .collect(),
            writes: vec![home.join("work")],
            read_only: vec![home.join("work/agentry.toml")],
            hidden: vec![home.join(".tool/credentials"), home.join(".ssh")],
            private: vec![home.clone()],
            network: Network::Off,
            limits: Limits::default(),
        };
        let ledger = dir.path().join("ledger");
        let sandbox =
            Sandbox::start(Path::new(HELPER), BackEnd::Namespaces, confinement, Some(&ledger));
        let sandbox = sandbox.expect("a sandbox");
        assert_eq!(sandbox.private().home, home);
        let cases = [
            ("ls -A ~", ".tool\nwork\n"),
            ("echo x > ~/.cache && ls -A ~", ".cache\n.tool\nwork\n"),
            ("echo x > ~/.tool/new", "Read-only file system\n"),
            ("cat ~/.tool/credentials", "Permission denied\n"),
            ("ls ~/.ssh", "No such file or directory\n"),
            ("echo x > ~/work/file && cat ~/work/file", "x\n"),
            ("echo x > ~/work/agentry.toml", "Read-only file system\n"),
            ("echo x > $TMPDIR/a && cat /tmp/a", "x\n"),
            ("echo x > /new", "Permission denied\n"),
        ];
        for (line, expected) in cases {
            let said = shell(&sandbox, &home, line);
            assert!(said.ends_with(expected), "{line}: {said}");
        }
        drop(sandbox);
        assert_eq!(fs::read_to_string(home.join("work/file")).expect("text"), "x\n");
        assert!(!home.join(".cache").exists() && !home.join("work/agentry.toml").exists());
    }
}

fn shell(sandbox: &Sandbox, home: &Path, line: &str) -> String {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let errors = writer.try_clone().expect("a copy");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let env = [("PATH", "/usr/bin:/bin".to_owned()), ("HOME", text(home))];
    let own = [("TMPDIR", text(&sandbox.private().temporary)), ("LC_ALL", "C".to_owned())];
    let running = sandbox.run(Command {
        argv: ["/bin/bash", "-c", line].map(str::to_owned).to_vec(),
        directory: home.join("work"),
        env: env.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value)).collect(),
        input: File::open("/dev/null").expect("null").into(),
        output: writer.into(),
        errors: errors.into(),
    });
    let running = running.expect("sent");
    let mut said = String::new();
    reader.read_to_string(&mut said).expect("text");
    running.wait().expect("an end");
    said
}
