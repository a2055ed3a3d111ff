//! Homes in trouble: a full disk, a read-only one, another owner, damaged databases, unusual paths. Nothing panics, nothing is
//! lost, and what cannot be done is reported.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::home::{PERSONA, ROOT, legal, printed};
use crate::run::{keyed, with};
use crate::server::{Reply, Server, Turn};
use crate::test::{Ran, Test};

/// A model that remembers one thing in each run.
fn remembering() -> Server {
    Server::answering(|asked| match asked.results.len() {
        0 => Turn::call("remember", json!({ "text": "It rained" })).into(),
        _ => Reply::from(Turn::text("done")),
    })
}

/// Runs a script in namespaces of its own, where it may mount. `None` where the machine does not allow that.
fn in_namespace(test: &Test, server: &Server, script: &str) -> Option<Ran> {
    let probe = Command::new("unshare")
        .args(["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"])
        .output();
    if !probe.is_ok_and(|out| out.status.success()) {
        eprintln!("SKIPPED: this machine does not let a test mount a file system");
        return None;
    }
    let plain = keyed(test, server, &[]);
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", script]).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("AGENTRY", plain.get_program()).env("AGENTRY_USER", "owner");
    command.current_dir(plain.get_current_dir().expect("a directory"));
    Some(test.ended("script", &command.output().expect("unshare runs")))
}

/// The exit codes that a script printed as `code CODE WHAT`.
fn codes(ran: &Ran) -> Vec<(i32, String)> {
    let line = |line: &str| {
        let (code, what) = line.strip_prefix("code ")?.split_once(' ')?;
        Some((code.parse().ok()?, what.to_owned()))
    };
    ran.stdout.lines().filter_map(line).collect()
}

/// A shell function that runs the program and prints its exit code.
const TRY: &str = "try() { \"$AGENTRY\" \"$@\" >out.txt 2>&1; code=$?; cat out.txt >&2; echo \"code $code $*\"; }\n";

#[test]
fn a_full_disk_loses_nothing() {
    let (test, server) = (legal(), remembering());
    fs::create_dir_all(test.path("home/.agentry")).expect("a home");
    let script = format!(
        "{TRY}mount -t tmpfs -o size=4m tmpfs home/.agentry || exit 9\n\
         try install legal\ntry run legal-advisor go --yes\n\
         dd if=/dev/zero of=home/.agentry/fill bs=1k 2>/dev/null\necho full\n\
         try install legal --id second\ntry teach legal-advisor 'Be brief' --no-model\n\
         try memory add legal-advisor 'It snowed'\ntry run legal-advisor go --yes\n\
         rm home/.agentry/fill\necho free\n\
         try install legal --id third\ntry teach legal-advisor 'Be brief' --no-model\n\
         try run legal-advisor go --yes\ntry receipts verify\ntry history legal-advisor\ntry doctor\n\
         git -C {ROOT} -c safe.directory='*' fsck --strict >&2; echo \"code $? fsck\"\n"
    );
    let Some(ran) = in_namespace(&test, &server, &script) else { return };
    let all = codes(&ran);
    let at = |marker: &str| ran.stdout.lines().take_while(|line| *line != marker).count();
    let (full, free) = (at("full"), at("free") - 1);
    for (number, (code, what)) in all.iter().enumerate() {
        let expected = if (full..free).contains(&number) { 1..=3 } else { 0..=0 };
        // `doctor` also looks at the machine.
        assert!(expected.contains(code) || what == "doctor", "{what}: {code}\n{ran}");
    }
    assert_eq!(all.len(), 13, "{ran}");
    assert!(ran.stderr.contains("the disk may be full"), "{ran}");
    assert!(!ran.stderr.contains("Move it away"), "a full disk is no damage: {ran}");
    assert!(!ran.stderr.contains("panicked"), "{ran}");
}

#[test]
fn a_read_only_home_can_be_read() {
    let (test, server) = (legal(), remembering());
    fs::create_dir_all(test.path("home/.agentry")).expect("a home");
    let script = format!(
        "{TRY}mount -t tmpfs -o size=16m tmpfs home/.agentry || exit 9\n\
         try install legal\ntry run legal-advisor go --yes\ntry memory add legal-advisor 'It snowed'\n\
         mount -o remount,ro home/.agentry || exit 9\necho sealed\n\
         try agents\ntry show legal-advisor\ntry receipts list\ntry receipts verify\n\
         try memory search legal-advisor snowed\ntry runs\necho writes\n\
         try install legal --id second\ntry teach legal-advisor 'Be brief' --no-model\n\
         try memory add legal-advisor 'It hailed'\ntry run legal-advisor go --yes\ntry doctor\n"
    );
    let Some(ran) = in_namespace(&test, &server, &script) else { return };
    let all = codes(&ran);
    assert_eq!(all.len(), 14, "{ran}");
    for (number, (code, what)) in all.iter().enumerate() {
        let expected = if number < 9 { 0..=0 } else { 1..=3 };
        assert!(expected.contains(code), "{what}: {code}\n{ran}");
    }
    assert!(ran.stderr.contains("the home may be read-only"), "{ran}");
    assert!(!ran.stderr.contains("Move it away"), "{ran}");
    assert!(!ran.stderr.contains("panicked"), "{ran}");
}

#[test]
fn a_home_of_another_user_is_refused() {
    let test = legal();
    test.run("install legal").exits(0);
    let home = test.path("home/.agentry");
    if fs::metadata(&home).expect("a home").uid() != 0 {
        eprintln!("SKIPPED: only the superuser can give a directory to another user");
        return;
    }
    chown(&home, Some(65_534), None).expect("another owner");
    for args in [&["agents"][..], &["install", "legal"], &["teach", "legal-advisor", "x"]] {
        let ran = test.run_args(args).exits(2);
        assert!(ran.stderr.contains("belongs to another user (id 65534)"), "{ran}");
        assert!(ran.stderr.contains("AGENTRY_HOME"), "{ran}");
    }
    assert!(test.run("doctor").stdout.contains("another user"), "doctor");
}

fn databases(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if entry.file_type().expect("a kind").is_dir() {
            databases(&path, found);
        } else if path.extension().is_some_and(|it| it == "db") {
            found.push(path);
        }
    }
}

/// Each database of a home is damaged: it is built again if it can be, otherwise it is reported and stays as it is.
#[test]
fn a_damaged_database_is_rebuilt_or_reported() {
    let (test, server) = (legal(), remembering());
    test.run("install legal").exits(0);
    with(&test, &server, &["run", "legal-advisor", "go", "--yes"]).exits(0);
    test.run("memory search legal-advisor rained").exits(0);
    test.run("schedule list").exits(0);
    let mut found = Vec::new();
    databases(&test.path("home/.agentry"), &mut found);
    assert!(found.len() >= 4, "{found:?}");
    for path in found {
        let good = fs::read(&path).expect("a database");
        let rest = ["db-wal", "db-shm"].map(|it| path.with_extension(it));
        rest.iter().for_each(|it| drop(fs::remove_file(it)));
        let damage = b"no database, but as long as the header of one is long".to_vec();
        fs::write(&path, &damage).expect("damaged");
        let mut printed_text = String::new();
        for args in [
            "agents",
            "history legal-advisor",
            "memory search legal-advisor rained",
            "receipts verify",
            "runs",
            "schedule list",
            "doctor",
            "show legal-advisor",
        ] {
            let ran = test.run(args);
            assert!(ran.code.is_some_and(|code| code <= 3), "{}: {ran}", path.display());
            printed_text.push_str(&ran.stdout);
            printed_text.push_str(&ran.stderr);
        }
        let is_cache = path.components().any(|part| part.as_os_str() == "cache");
        let now = fs::read(&path).unwrap_or_default();
        assert_eq!(now == damage, !is_cache, "{}: {printed_text}", path.display());
        assert!(
            is_cache || printed_text.contains("not a database"),
            "{}: {printed_text}",
            path.display()
        );
        rest.iter().for_each(|it| drop(fs::remove_file(it)));
        fs::write(&path, good).expect("restored");
    }
    test.run("receipts verify").exits(0);
}

#[test]
fn a_home_path_may_have_spaces_and_unicode() {
    let (test, server) = (legal().env("AGENTRY_HOME", "my höme 家/a'b"), remembering());
    test.run("install legal").exits(0);
    with(&test, &server, &["run", "legal-advisor", "go", "--yes"]).exits(0);
    test.run_args(&["teach", "legal-advisor", "Be brief", "--no-model"]).exits(0);
    let root = "my höme 家/a'b/agents/legal-advisor";
    test.write(format!("{root}/persona.md"), format!("{PERSONA}\nedited\n"));
    let history = printed(&test, "history legal-advisor");
    assert_eq!(history.as_array().map(Vec::len), Some(3));
    let first = history[2]["commit"].as_str().expect("a commit").to_owned();
    test.run(&format!("rollback legal-advisor {first}")).exits(0);
    assert_eq!(test.read(format!("{root}/persona.md")), PERSONA);
    test.run("memory search legal-advisor rained").exits(0);
    test.run("receipts verify").exits(0);
    test.run("export legal-advisor -o out").exits(0);
    assert!(!test.has("home/.agentry"), "nothing is elsewhere");
}

/// Receipts that were copied from another home are reported by the command too, and the copy of the heads shows a restored home.
#[test]
fn copied_receipts_and_a_restored_home_are_reported() {
    let (test, server) = (legal(), remembering());
    test.run("install legal").exits(0);
    let run = || with(&test, &server, &["run", "legal-advisor", "go", "--yes"]).exits(0);
    run();
    let copied = |from: &str, to: &str| {
        let done =
            Command::new("cp").args(["-a", from, to]).current_dir(test.path("home")).status();
        assert!(done.expect("cp runs").success());
    };
    copied(".agentry", "backup");
    run();
    test.run("receipts verify").exits(0);
    let noted = test.run("receipts verify --format json").exits(0).stdout;
    test.write("noted.json", noted);
    test.run("receipts verify --heads noted.json").exits(0);
    fs::remove_dir_all(test.path("home/.agentry")).expect("removed");
    copied("backup", ".agentry");
    let ran = test.run("receipts verify").exits(1);
    assert!(ran.stdout.contains("the home was set back: it had 2 receipts"), "{ran}");
    assert!(ran.stderr.contains("receipt-heads/"), "{ran}");
    fs::remove_dir_all(test.path("home/.local/state/agentry/receipt-heads")).expect("removed");
    test.run("receipts verify").exits(0);
    // Without the copy only what was noted elsewhere shows it.
    let ran = test.run("receipts verify --heads noted.json").exits(1);
    assert!(ran.stdout.contains("by the heads that you noted: the home was set back"), "{ran}");
    test.write("other.json", "[]");
    let ran = test.run("receipts verify --heads other.json").exits(2);
    assert!(ran.stderr.contains("has no heads of receipts"), "{ran}");
}
