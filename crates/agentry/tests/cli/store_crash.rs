//! The store under failures: killed and parallel writers, a full disk, changed bytes, layouts of other
//! versions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

use agentry_registry::{AgentReference, AgentStore, StoreError};

use crate::test::{HELPER, Test};

const STORE: &str = "home/.agentry/store";
const SKILL: &str = "---\nname: review\ndescription: Reviews a change\n---\n\nLook at it.\n";

/// A directory agent of several files, of this version.
fn write_agent(test: &Test, dir: &str, version: usize) {
    let manifest = format!("name: keeper\nversion: 1.0.{version}\ndescription: Keeps things\n");
    test.write(format!("{dir}/agent.yaml"), manifest);
    test.write(format!("{dir}/SOUL.md"), format!("You keep {version} things.\n"));
    test.write(format!("{dir}/skills/review.md"), SKILL);
}

fn open(test: &Test) -> Option<AgentStore> {
    match AgentStore::open(&test.path("home/.agentry")) {
        Ok(store) => Some(store),
        Err(StoreError::NoStore(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Checks that every object verifies, and that every name leads to one. Returns the number of objects.
fn intact(test: &Test) -> usize {
    let Some(store) = open(test) else { return 0 };
    let digests = store.digests().expect("a readable store");
    for digest in &digests {
        store.read(digest).unwrap_or_else(|error| panic!("{error}"));
    }
    for listed in store.list().expect("a readable index") {
        assert!(digests.contains(&listed.digest), "{listed:?}");
        let named: AgentReference =
            format!("{}@{}", listed.name, listed.version).parse().expect("a name");
        assert_eq!(store.resolve(&named).ok(), Some(listed.digest));
    }
    assert_eq!(store.list().expect("a readable index").len(), digests.len());
    digests.len()
}

fn spawn(test: &Test, args: &[&str], step: Option<usize>) -> Child {
    let mut command = test.command(args);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(step) = step {
        command.env("AGENTRY_DIE_AT_STEP", step.to_string());
    }
    command.spawn().expect("the program runs")
}

/// The push is killed at every step that changes the disk, the first push of a store included.
#[test]
fn a_killed_push_stores_all_or_nothing() {
    let mut last = 0;
    for step in 1.. {
        let test = Test::new();
        write_agent(&test, "keeper", 0);
        let done = spawn(&test, &["push", "keeper"], Some(step)).wait().expect("an end").success();
        let count = intact(&test);
        test.run("push keeper").exits(0);
        assert_eq!(intact(&test), 1, "step {step}, {count} before");
        if step % 8 == 0 {
            test.run("gc").exits(0);
            let left = fs::read_dir(test.path(STORE).join("temporary")).expect("a folder").count();
            assert_eq!(left, 0, "step {step}");
        }
        if done {
            break;
        }
        last = step;
    }
    assert!(last > 20, "a push has {last} steps");
}

#[test]
fn killed_pushes_leave_a_store_that_verifies() {
    let test = Test::new();
    let started = Instant::now();
    write_agent(&test, "keeper", 0);
    test.run("push keeper").exits(0);
    let whole = started.elapsed();
    let mut chance = 0x2545_F491_u32;
    for round in 1..=200_u32 {
        write_agent(&test, "keeper", round as usize);
        chance ^= chance << 13;
        chance ^= chance >> 17;
        chance ^= chance << 5;
        if round % 2 == 0 {
            let step = chance as usize % 40 + 1;
            spawn(&test, &["push", "keeper"], Some(step)).wait().expect("an end");
        } else {
            let mut child = spawn(&test, &["push", "keeper"], None);
            let wait = whole * (chance % 1000) / 1000;
            let until = Instant::now() + wait.min(Duration::from_millis(100));
            while Instant::now() < until {
                std::thread::yield_now();
            }
            let _ = child.kill();
            child.wait().expect("an end");
        }
        if round % 40 == 0 {
            intact(&test);
        }
    }
    let count = intact(&test);
    assert!((1..=200).contains(&count), "{count} of 200 were whole");
    test.run("push keeper").exits(0);
    test.run("gc").exits(0);
    assert!(intact(&test) >= count);
}

#[test]
fn parallel_pushes_keep_the_store_intact() {
    let test = Test::new();
    for agent in 0..4 {
        write_agent(&test, &format!("a{agent}"), agent);
        write_agent(&test, &format!("b{agent}"), 100);
        test.write(format!("b{agent}/SOUL.md"), format!("You are one of {agent}.\n"));
    }
    let mut children = Vec::new();
    // Several processes create the first store at once, too.
    for agent in ["a0", "a0", "a1", "a1", "a2", "a3", "b0", "b1", "b2", "b3"] {
        children.push((agent, spawn(&test, &["push", agent], None)));
    }
    let mut winners = 0;
    for (agent, mut child) in children {
        let code = child.wait().expect("an end").code();
        if agent.starts_with('a') {
            assert_eq!(code, Some(0), "{agent}");
        } else {
            assert!(matches!(code, Some(0 | 1)), "{agent}: {code:?}");
            winners += usize::from(code == Some(0));
        }
    }
    assert_eq!(winners, 1, "one content gets the name");
    assert_eq!(intact(&test), 5);
}

/// A file size limit stands for a full disk: a write fails half way.
#[cfg(unix)]
#[test]
fn a_push_on_a_full_disk_leaves_no_files() {
    let test = Test::new();
    write_agent(&test, "keeper", 0);
    test.run("push keeper").exits(0);
    write_agent(&test, "keeper", 1);
    test.write("keeper/SOUL.md", "You keep things. ".repeat(4000));
    let before = files(&test.path(STORE));
    let program = env!("CARGO_BIN_EXE_agentry");
    let push = |trap: &str| {
        let script = format!("{trap} ulimit -f 8; exec '{program}' push keeper");
        let status = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(test.path(""))
            .env("HOME", test.path("home"))
            .env_remove("AGENTRY_HOME")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.expect("a shell").code()
    };
    assert_eq!(push("trap '' XFSZ;"), Some(2));
    assert_eq!(files(&test.path(STORE)), before);
    // Without the trap the system kills it: the next collection removes what is left.
    assert_ne!(push(""), Some(0));
    assert_eq!(intact(&test), 1);
    test.run("gc").exits(0);
    assert_eq!(files(&test.path(STORE)), before);
    test.run("push keeper").exits(0);
    assert_eq!(intact(&test), 2);
}

/// Every file below a directory, with its bytes.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = fs::read(&path).expect("a readable file");
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn every_changed_byte_is_reported_with_its_object() {
    let test = Test::new();
    write_agent(&test, "keeper", 0);
    let digest = test.run("push keeper").exits(0).stdout.trim().to_owned();
    let store = open(&test).expect("a store");
    let objects = files(&test.path(STORE).join("objects"));
    assert_eq!(objects.len(), 4, "three files and a manifest");
    for (path, bytes) in &objects {
        let wrong = |bytes: &[u8], what: &str| {
            fs::write(path, bytes).expect("a writable store");
            let error = store.read(&digest).map(drop).expect_err(what);
            let message = error.to_string();
            assert!(matches!(error, StoreError::Damaged { .. }), "{what}: {message}");
            assert!(message.contains(&digest), "{what}: {message}");
        };
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x20;
            wrong(&changed, &format!("byte {at} of {}", path.display()));
        }
        wrong(&bytes[..bytes.len() / 2], "half");
        wrong(b"", "nothing");
        wrong(&[bytes.as_slice(), b"\n"].concat(), "more");
        fs::remove_file(path).expect("a file");
        assert!(store.read(&digest).is_err(), "{}", path.display());
        fs::write(path, bytes).expect("a writable store");
        assert!(store.read(&digest).is_ok(), "{}", path.display());
    }
}

/// A damaged object is refused, reported, and repaired by pushing again.
#[test]
fn a_damaged_object_is_reported_and_repaired() {
    let test = Test::new()
        .file("helper.agent", HELPER)
        .file("other.agent", HELPER.replace("helper", "other"));
    test.run("push helper.agent").exits(0);
    test.run("push other.agent").exits(0);
    let digest = test.run("hash --full helper.agent").stdout;
    let digits = digest.trim().trim_start_matches("sha256:");
    let file = format!("{STORE}/objects/{}/{digits}/files/helper.agent", &digits[..2]);
    test.write(&file, HELPER.replace("questions.", "questionz."));
    insta::assert_snapshot!(test.run("pull helper -o out"), @r#"
    $ agentry pull helper -o out
    --- stderr
    error: `sha256:d77fc6dbfea04b1e27672f5c89d526baa214f5cf90979ac9438b373d25bcedd1` in the store is damaged: its file `helper.agent` was changed
      = help: push the agent again from its files, or remove it with `agentry gc --drop`
    --- exit 1
    "#);
    assert!(!test.has("out"));
    test.run("verify helper").exits(1);
    test.run("pull other -o out").exits(0);
    insta::assert_snapshot!(test.run("push helper.agent"), @r#"
    $ agentry push helper.agent
    --- stdout
    sha256:d77fc6dbfea04b1e27672f5c89d526baa214f5cf90979ac9438b373d25bcedd1
    --- stderr
    helper@0.1.0 was damaged in the store, and is whole again; sign it anew
    --- exit 0
    "#);
    test.run("pull helper -o whole").exits(0);
    let manifest = format!("{STORE}/objects/{}/{digits}/manifest.json", &digits[..2]);
    test.write(&manifest, "{");
    test.run("search answers").exits(1);
    test.run("gc").exits(1);
    test.run(&format!("gc --drop {}", digest.trim())).exits(0);
    assert_eq!(intact(&test), 1);
}

/// A manifest with paths to write to may come from an attacker; it is never trusted.
#[cfg(unix)]
#[test]
fn a_symlink_in_the_store_is_refused() {
    let test = Test::new().file("helper.agent", HELPER);
    test.run("push helper.agent").exits(0);
    let digest = test.run("hash --full helper.agent").stdout;
    let digits = digest.trim().trim_start_matches("sha256:");
    let file = test.path(format!("{STORE}/objects/{}/{digits}/files/helper.agent", &digits[..2]));
    fs::remove_file(&file).expect("a file");
    std::os::unix::fs::symlink(test.path("helper.agent"), &file).expect("a link");
    let ran = test.run("pull helper -o out").exits(1);
    assert!(ran.stderr.contains("it is not a regular file"), "{ran}");
}

#[test]
fn unknown_store_layouts_are_refused() {
    let test = Test::new().file("helper.agent", HELPER);
    test.run("push helper.agent").exits(0);
    let listed = test.run("list --format json").stdout;
    test.write(format!("{STORE}/format"), "2\n");
    let before = files(&test.path(STORE));
    insta::assert_snapshot!(test.run("list"), @r#"
    $ agentry list
    --- stderr
    error: the store `[DIR]/home/.agentry/store` has format 2; this agentry knows formats up to 1
      = help: use the newer agentry that wrote it
    --- exit 2
    "#);
    for command in ["push helper.agent", "pull helper -o out", "gc", "search x", "verify helper"] {
        test.run(command).exits(2);
    }
    assert_eq!(files(&test.path(STORE)), before, "nothing was touched");
    // The layout before version numbers: all objects in one directory, no index.
    let store = test.path(STORE);
    fs::remove_file(store.join("format")).expect("a file");
    fs::remove_dir_all(store.join("index")).expect("a folder");
    let objects = store.join("objects");
    for shard in fs::read_dir(&objects).expect("a folder").flatten() {
        for object in fs::read_dir(shard.path()).expect("a folder").flatten() {
            fs::rename(object.path(), objects.join(object.file_name())).expect("a move");
        }
        fs::remove_dir(shard.path()).expect("an empty folder");
    }
    assert_eq!(test.run("list --format json").exits(0).stdout, listed);
    assert_eq!(intact(&test), 1);
    assert_eq!(test.read(format!("{STORE}/format")), "1\n");
}

#[test]
fn store_order_does_not_depend_on_file_times() {
    let test = Test::new();
    for version in [2, 1, 3] {
        write_agent(&test, "keeper", version);
        test.run("push keeper").exits(0);
    }
    // As if the clock had been set back decades before the last push.
    for (path, _) in files(&test.path(STORE)) {
        let file = fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("a file system with times");
    }
    let pulled = test.run("pull keeper -o out --format json").exits(0).json();
    assert_eq!(pulled["version"], "1.0.3");
    test.run("gc").exits(0);
    assert_eq!(intact(&test), 3);
}
