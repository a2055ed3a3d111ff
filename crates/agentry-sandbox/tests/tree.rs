//! The file tree that commands see: a private home, with usable stand-ins for missing files.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "a test that cannot start has failed")]

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use agentry_sandbox::{BackEnd, ConfinedCommand, Confinement, Sandbox, SandboxError, support};

const HELPER: &str = env!("CARGO_BIN_EXE_confined-helper");

#[test]
fn the_private_home_shows_only_usable_files() {
    if let Some(missing) = support(Path::new(HELPER)).without_namespaces() {
        eprintln!("SKIPPED: {missing}");
        return;
    }
    for parent in [env!("CARGO_TARGET_TMPDIR").into(), std::env::temp_dir()] {
        let dir = tempfile::tempdir_in(parent).expect("a directory");
        let home = dir.path().canonicalize().expect("a path").join("home");
        for name in ["project", ".tool/bin", ".ssh"] {
            fs::create_dir_all(home.join(name)).expect("a directory");
        }
        fs::write(home.join(".tool/credentials"), "hush").expect("a file");
        let confinement = Confinement {
            reads: ["/usr", "/bin", "/lib", "/lib64"]
                .map(Into::into)
                .into_iter()
                .chain([home.join(".tool")])
                .collect(),
            writes: vec![home.join("project")],
            read_only: vec![home.join("project/agentry.toml")],
            hidden: vec![home.join(".tool/credentials"), home.join(".ssh")],
            private: vec![home.clone()],
            ..Confinement::default()
        };
        let ledger = dir.path().join("ledger");
        let sandbox =
            Sandbox::start(Path::new(HELPER), BackEnd::Namespaces, confinement, Some(&ledger));
        let sandbox = sandbox.expect("a sandbox");
        assert_eq!(sandbox.private().home, home);
        let cases = [
            ("ls -A ~", ".tool\nproject\n"),
            ("echo x > ~/.cache && ls -A ~", ".cache\n.tool\nproject\n"),
            ("echo x > ~/.tool/new", "Read-only file system\n"),
            ("cat ~/.tool/credentials", "Permission denied\n"),
            ("ls ~/.ssh", "No such file or directory\n"),
            ("echo x > ~/project/file && cat ~/project/file", "x\n"),
            ("echo x > ~/project/agentry.toml", "Read-only file system\n"),
            ("echo x > $TMPDIR/a && cat /tmp/a", "x\n"),
            ("echo x > /new", "Permission denied\n"),
        ];
        for (line, expected) in cases {
            let output = shell(&sandbox, &home, line);
            assert!(output.ends_with(expected), "{line}: {output}");
        }
        drop(sandbox);
        assert_eq!(fs::read_to_string(home.join("project/file")).expect("text"), "x\n");
        assert!(!home.join(".cache").exists() && !home.join("project/agentry.toml").exists());
    }
}

/// Other programs create and remove files all the time: a file that vanishes is left out, and every protected
/// file that is there stays protected.
#[test]
fn files_removed_during_the_start_are_left_out() {
    if let Some(missing) = support(Path::new(HELPER)).without_namespaces() {
        eprintln!("SKIPPED: {missing}");
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let root = dir.path().canonicalize().expect("a path");
    fs::create_dir_all(root.join("project")).expect("a directory");
    fs::write(root.join("project/rules"), "old").expect("a file");
    let names: Vec<_> = (0..40).map(|at| root.join(format!("d{at}"))).collect();
    let churn = |is_over: &AtomicBool| {
        // Bounded, so that a failure in the other thread cannot leave it running.
        for _ in 0..20_000 {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            for name in &names {
                let _ = fs::create_dir(name);
                let _ = fs::write(name.join(".env"), "hush");
            }
            for name in &names {
                let _ = fs::remove_dir_all(name);
            }
        }
    };
    let start = || {
        let confinement = Confinement {
            reads: ["/usr", "/bin", "/lib", "/lib64"].map(Into::into).to_vec(),
            writes: names.iter().cloned().chain([root.join("project")]).collect(),
            read_only: vec![root.join("project/rules")],
            hidden: names.iter().map(|name| name.join(".env")).collect(),
            ..Confinement::default()
        };
        let ledger = root.join("ledger");
        Sandbox::start(Path::new(HELPER), BackEnd::Namespaces, confinement, Some(&ledger))
    };
    for at in 0..6 {
        let is_over = AtomicBool::new(false);
        let sandbox = std::thread::scope(|scope| {
            scope.spawn(|| churn(&is_over));
            let sandbox = start();
            is_over.store(true, Ordering::Relaxed);
            sandbox
        });
        let sandbox = sandbox.unwrap_or_else(|error| panic!("start {at}: {error}"));
        match try_shell(&sandbox, &root, "echo x > rules; rm -f rules; cat rules") {
            Ok(output) => assert!(output.ends_with("old"), "start {at}: {output}"),
            // What is replaced after the set-up is no longer hidden, so the command is refused.
            Err(SandboxError::Replaced(path)) => {
                assert!(path.ends_with(".env"), "start {at}: {path:?}");
            }
            Err(error) => panic!("start {at}: {error}"),
        }
    }
}

/// Lines that must print nothing and succeed, whatever the placeholders are.
const HARMLESS: &[&str] = &[
    "ls -laR . >$TMPDIR/out",
    "find . -type f -exec cat {} + >/dev/null",
    "grep -r no-such-word . || [ $? = 1 ]",
    "tar cf $TMPDIR/all.tar .",
    "cp -r . $TMPDIR/copy",
    "[ -z \"$(cat .env)\" ]",
    "! [ -s .env ]",
];

/// Lines with their output.
const GIT: &[(&str, &str)] = &[
    ("git status --porcelain", " M file\n?? new\n"),
    ("git add -A && git status --porcelain", "M  file\nA  new\n"),
    ("git commit -qm more && git status --porcelain", ""),
    ("git show --name-only --format= HEAD", "file\nnew\n"),
];

#[test]
fn placeholders_do_not_break_programs() {
    if let Some(missing) = support(Path::new(HELPER)).without_namespaces() {
        eprintln!("SKIPPED: {missing}");
        return;
    }
    // With and without an existing hidden path, which git must ignore too.
    for secret in [false, true] {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let home = dir.path().canonicalize().expect("a path").join("home");
        let work = home.join("project");
        fs::create_dir_all(&work).expect("a directory");
        let outside = "git init -q && git config user.name n && git config user.email e@example.org \
            && echo 1 > file && git add file && git commit -qm first && echo 2 > file && echo 3 > new";
        let mut made = std::process::Command::new("bash");
        let made = made.args(["-c", outside]).current_dir(&work).env("HOME", &home).status();
        assert!(made.is_ok_and(|it| it.success()), "git is there");
        let mut hidden = vec![work.join(".env"), work.join("vault")];
        if secret {
            fs::write(work.join("server.key"), "hush").expect("a file");
            hidden.push(work.join("server.key"));
        }
        let names = ["agentry.toml", "agentry.lock", ".agentry", "agents/tools", ".git/config"];
        let confinement = Confinement {
            reads: ["/usr", "/bin", "/lib", "/lib64"].map(Into::into).to_vec(),
            writes: vec![work.clone()],
            read_only: names.map(|name| work.join(name)).to_vec(),
            hidden,
            directories: vec![work.join(".agentry"), work.join("vault")],
            private: vec![home.clone()],
            ..Confinement::default()
        };
        let ledger = dir.path().join("ledger");
        let sandbox =
            Sandbox::start(Path::new(HELPER), BackEnd::Namespaces, confinement, Some(&ledger));
        let sandbox = sandbox.expect("a sandbox");
        assert!(work.join(".agentry").is_dir() && work.join("vault").is_dir());
        for line in HARMLESS.iter().filter(|_| !secret) {
            assert_eq!(shell(&sandbox, &home, &format!("{line} || echo failed")), "", "{line}");
        }
        for (line, expected) in GIT {
            assert_eq!(shell(&sandbox, &home, line), *expected, "{line}");
        }
        // Text written into a placeholder from outside stays hidden.
        fs::write(work.join(".env"), "TOKEN=hush").expect("written");
        assert_eq!(shell(&sandbox, &home, "cat .env"), "");
        drop(sandbox);
        let left: Vec<_> =
            fs::read_dir(&work).expect("a list").map(|it| it.expect("one")).collect();
        let mut left: Vec<_> = left.iter().map(fs::DirEntry::file_name).collect();
        left.retain(|name| name != "server.key");
        left.sort();
        assert_eq!(left, [".env", ".git", "file", "new"]);
    }
}

fn shell(sandbox: &Sandbox, home: &Path, line: &str) -> String {
    try_shell(sandbox, home, line).expect("sent")
}

fn try_shell(sandbox: &Sandbox, home: &Path, line: &str) -> Result<String, SandboxError> {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let errors = writer.try_clone().expect("a copy");
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    let env = [("PATH", "/usr/bin:/bin".to_owned()), ("HOME", text(home))];
    let own = [("TMPDIR", text(&sandbox.private().temporary)), ("LC_ALL", "C".to_owned())];
    let unseen = sandbox.private().unseen_by_git.iter().flat_map(|list| {
        let setting = ["core.excludesFile".to_owned(), text(list), "1".to_owned()];
        ["GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_CONFIG_COUNT"].into_iter().zip(setting)
    });
    let own = own.into_iter().chain(unseen);
    let running = sandbox.run(ConfinedCommand {
        argv: ["/bin/bash", "-c", line].map(str::to_owned).to_vec(),
        directory: home.join("project"),
        env: env.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value)).collect(),
        input: File::open("/dev/null").expect("null").into(),
        output: writer.into(),
        errors: errors.into(),
    });
    let running = running?;
    let mut output = String::new();
    reader.read_to_string(&mut output).expect("text");
    running.wait().expect("an end");
    Ok(output)
}
