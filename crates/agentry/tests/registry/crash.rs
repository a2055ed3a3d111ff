//! Pushes and pulls that are killed, run at once, or find a full disk.

use std::process::Stdio;

use crate::pushed;
use crate::scripted::ScriptedRegistry;
use crate::test::{HELPER, Test};

/// An agent of several files.
fn keeper(test: &Test) {
    test.write("keeper/agent.yaml", "name: keeper\nversion: 1.0.0\ndescription: Keeps things\n");
    test.write("keeper/SOUL.md", "You keep things.\n");
    test.write(
        "keeper/skills/review.md",
        "---\nname: review\ndescription: Reviews\n---\n\nLook at it.\n",
    );
}

/// Runs a command that dies at a step; whether it came to its end.
fn dies(test: &Test, args: &[&str], step: usize) -> bool {
    let mut command = test.command(args);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env("AGENTRY_DIE_AT_STEP", step.to_string());
    command.status().expect("the program runs").success()
}

#[test]
fn a_push_that_dies_at_any_step_leaves_no_half_tag() {
    let mut last = 0;
    for step in 1..200 {
        let registry = ScriptedRegistry::start();
        let test = Test::new();
        keeper(&test);
        let place = format!("oci://{}/keeper:1", registry.host());
        let is_done = dies(&test, &["push", "keeper", &place], step);
        if registry.content().manifests.contains_key("keeper:1") {
            Test::new().run(&format!("pull {place} -o keeper")).exits(0);
        } else {
            assert!(!is_done, "step {step}");
            Test::new().run(&format!("pull {place} -o keeper")).exits(2);
        }
        test.run(&format!("push keeper {place}")).exits(0);
        Test::new().run(&format!("pull {place} -o keeper")).exits(0);
        if is_done {
            break;
        }
        last = step;
    }
    assert!((5..199).contains(&last), "a push has {last} steps");
}

#[test]
fn a_pull_that_dies_at_any_step_leaves_no_half_copy() {
    let registry = ScriptedRegistry::start();
    let pusher = Test::new();
    keeper(&pusher);
    let place = format!("oci://{}/keeper:1", registry.host());
    pusher.run(&format!("push keeper {place}")).exits(0);
    let full = pusher.run("hash --full keeper").stdout;
    let mut last = 0;
    for step in 1..200 {
        let test = Test::new();
        let is_done = dies(&test, &["hash", "--full", &place], step);
        assert_eq!(test.run(&format!("hash --full {place}")).exits(0).stdout, full, "step {step}");
        test.run("gc").exits(0);
        assert!(!test.has("home/.agentry/remote/temporary"), "step {step}");
        if is_done {
            break;
        }
        last = step;
    }
    assert!((3..199).contains(&last), "a pull has {last} steps");
}

/// A file size limit stands for a full disk: a write fails half way.
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let registry = ScriptedRegistry::start();
    let pusher = Test::new();
    keeper(&pusher);
    pusher.write("keeper/SOUL.md", "You keep things. ".repeat(4000));
    let place = format!("oci://{}/keeper:1", registry.host());
    pusher.run(&format!("push keeper {place}")).exits(0);
    let test = Test::new();
    let program = env!("CARGO_BIN_EXE_agentry");
    let script = format!("trap '' XFSZ; ulimit -f 8; exec '{program}' pull {place} -o out");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).current_dir(test.path("")).env("HOME", test.path("home"));
    let output = shell.env_remove("AGENTRY_HOME").output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot be written: file too large"), "{said}");
    assert!(!test.has("out") && !test.has("home/.agentry/remote/artifacts"));
    test.run(&format!("pull {place} -o out")).exits(0);
}

#[test]
fn several_push_and_pull_at_once() {
    let (test, registry) = pushed();
    let host = registry.host();
    for at in 0..3 {
        test.write(format!("{at}.agent"), HELPER.replace("questions", &format!("{at} questions")));
    }
    std::thread::scope(|scope| {
        for at in 0..3 {
            let (test, host) = (&test, &host);
            scope.spawn(move || {
                // The same content under one tag, and other content under another one.
                test.run(&format!("push helper.agent oci://{host}/team/same:1")).exits(0);
                let ran = test.run(&format!("push {at}.agent oci://{host}/team/other:1"));
                assert!(matches!(ran.code, Some(0 | 1)), "{ran}");
                test.run(&format!("hash --full oci://{host}/team/helper:0.1.0")).exits(0);
            });
        }
    });
    for name in ["same", "other"] {
        Test::new().run(&format!("pull oci://{host}/team/{name}:1 -o out")).exits(0);
    }
}
