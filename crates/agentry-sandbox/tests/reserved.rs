//! A helper that is started before its sandbox: it is confined like any other, serves one sandbox, and ends if none
//! takes it.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, reason = "a test that cannot start has failed")]

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use agentry_sandbox::{BackEnd, ConfinedCommand, Confinement, Sandbox, reserve, support};

const HELPER: &str = env!("CARGO_BIN_EXE_confined-helper");
/// Set in a process of its own, in which nothing takes the reserve.
const UNUSED: &str = "RESERVE_UNUSED";

/// The processes that this one started and that still run.
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let is_own = |stat: &String| {
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut fields = rest.split(' ');
        fields.next() != Some("Z") && fields.next() == Some(&own)
    };
    let mut found: Vec<String> =
        stats.filter(is_own).filter_map(|stat| Some(stat.split_once(' ')?.0.to_owned())).collect();
    found.sort();
    found
}

fn started() -> Sandbox {
    let confinement = Confinement {
        reads: ["/usr", "/bin", "/lib", "/lib64"].map(Into::into).to_vec(),
        ..Confinement::default()
    };
    Sandbox::start(Path::new(HELPER), BackEnd::Namespaces, confinement, None).expect("a sandbox")
}

/// What a command line prints.
fn output(sandbox: &Sandbox, line: &str) -> String {
    let (mut read, write) = std::io::pipe().expect("a pipe");
    let command = ConfinedCommand {
        argv: ["/bin/sh", "-c", line].map(str::to_owned).to_vec(),
        directory: "/".into(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        input: File::open("/dev/null").expect("nothing").into(),
        output: write.try_clone().expect("a stream").into(),
        errors: write.into(),
    };
    let running = sandbox.run(command).expect("a command");
    let mut text = String::new();
    read.read_to_string(&mut text).expect("text");
    running.wait().expect("an end");
    text
}

/// In a process of its own: nothing takes the helper, and it ends.
fn check_unused() {
    let mut alone = Command::new(std::env::current_exe().expect("a path"));
    alone.args(["--exact", "a_reserved_helper_serves_the_first_sandbox"]).env(UNUSED, "1");
    let ran = alone.output().expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

// One test: it counts the processes that this program starts.
#[test]
fn a_reserved_helper_serves_the_first_sandbox() {
    if std::env::var_os(UNUSED).is_some() {
        let unused = reserve(Path::new(HELPER));
        assert_eq!(children().len(), 1, "it waits");
        drop(unused);
        assert_eq!(children(), Vec::<String>::new(), "it ends");
        return;
    }
    if let Some(missing) = support(Path::new(HELPER)).without_namespaces() {
        eprintln!("SKIPPED: {missing}");
        return;
    }
    check_unused();
    let first_reserve = reserve(Path::new(HELPER));
    let waiting = children();
    assert_eq!(waiting.len(), 1);
    let first = started();
    assert_eq!(children(), waiting, "the sandbox took it");
    assert_eq!(output(&first, "echo yes"), "yes\n");
    let refused = output(&first, "echo x > /new; ls /root; cat /etc/passwd");
    assert!(!refused.contains("root:") && refused.matches('\n').count() == 3, "{refused}");
    let second = started();
    assert_eq!(children().len(), 2, "the second one has its own");
    assert_eq!(output(&second, "echo yes"), "yes\n");
    let late = reserve(Path::new(HELPER));
    assert_eq!(children().len(), 2, "nothing waits for a sandbox that is not the first");
    drop((first, second, late, first_reserve));
    assert_eq!(children(), Vec::<String>::new());
}
