//! Pushes and pulls that are killed, run at once, or find a full disk.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

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

/// Runs a command that dies at the point with this number; returns whether it came to its end.
type Death = fn(&ScriptedRegistry, &Test, &[&str], usize) -> bool;

/// Dies by itself, at a step that changes the disk or the registry.
fn dies_at_step(_: &ScriptedRegistry, test: &Test, args: &[&str], step: usize) -> bool {
    let mut command = quiet(test, args);
    command.env("AGENTRY_DIE_AT_STEP", step.to_string());
    command.status().expect("the program runs").success()
}

/// Is killed by SIGKILL while it waits for the answer to a request.
fn killed_at_request(
    registry: &ScriptedRegistry,
    test: &Test,
    args: &[&str],
    request: usize,
) -> bool {
    let ((tell, reached), (release, released)) = (mpsc::channel(), mpsc::channel::<()>());
    let (asked, released) = (AtomicUsize::new(0), Mutex::new(released));
    registry.lie(move |_, _| {
        if asked.fetch_add(1, Ordering::SeqCst) + 1 == request {
            tell.send(()).expect("the test listens");
            // What was sent is answered as if the program were still there.
            let _ = released.lock().expect("a lock").recv();
        }
        None
    });
    let mut child = quiet(test, args).spawn().expect("the program runs");
    let status = loop {
        if reached.try_recv().is_ok() {
            child.kill().expect("it runs");
        }
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::yield_now();
    };
    drop(release);
    registry.lie(|_, _| None);
    status.success()
}

fn quiet(test: &Test, args: &[&str]) -> Command {
    let mut command = test.command(args);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_push_that_dies_leaves_no_half_tag() {
    for (dies, least) in [(dies_at_step as Death, 5), (killed_at_request, 8)] {
        let mut last = 0;
        for point in 1..200 {
            let registry = ScriptedRegistry::start();
            let test = Test::new();
            keeper(&test);
            let place = format!("oci://{}/keeper:1", registry.host());
            let is_done = dies(&registry, &test, &["push", "keeper", &place], point);
            if registry.content().manifests.contains_key("keeper:1") {
                Test::new().run(&format!("pull {place} -o keeper")).exits(0);
            } else {
                assert!(!is_done, "point {point}");
                Test::new().run(&format!("pull {place} -o keeper")).exits(2);
            }
            test.run(&format!("push keeper {place}")).exits(0);
            Test::new().run(&format!("pull {place} -o keeper")).exits(0);
            if is_done {
                break;
            }
            last = point;
        }
        assert!((least..199).contains(&last), "a push has {last} points");
    }
}

#[test]
fn a_pull_that_dies_leaves_no_half_copy() {
    let registry = ScriptedRegistry::start();
    let pusher = Test::new();
    keeper(&pusher);
    let place = format!("oci://{}/keeper:1", registry.host());
    pusher.run(&format!("push keeper {place}")).exits(0);
    let full = pusher.run("hash --full keeper").stdout;
    for (dies, least) in [(dies_at_step as Death, 3), (killed_at_request, 4)] {
        let mut last = 0;
        for point in 1..200 {
            let test = Test::new();
            let is_done = dies(&registry, &test, &["pull", &place, "-o", "out"], point);
            // The directory is there whole, or not at all.
            if test.has("out") {
                assert_eq!(test.run("hash --full out").exits(0).stdout, full, "point {point}");
            } else {
                assert!(!is_done, "point {point}");
            }
            let again = test.run(&format!("hash --full {place}")).exits(0);
            assert_eq!(again.stdout, full, "point {point}");
            test.run("gc").exits(0);
            assert!(!test.has("home/.agentry/remote/temporary"), "point {point}");
            if is_done {
                break;
            }
            last = point;
        }
        assert!((least..199).contains(&last), "a pull has {last} points");
    }
}

/// A file size limit stands for a full disk: a write fails half way.
#[test]
fn a_pull_on_a_full_disk_leaves_no_files() {
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
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("cannot be written: file too large"), "{errors}");
    assert!(!test.has("out") && !test.has("home/.agentry/remote/artifacts"));
    test.run(&format!("pull {place} -o out")).exits(0);
}

/// A file system that is full: first that of the home, then that of the directory. With room, the same pull succeeds.
#[cfg(target_os = "linux")]
#[test]
fn a_pull_on_a_full_file_system_leaves_nothing_half() {
    let registry = ScriptedRegistry::start();
    let pusher = Test::new();
    keeper(&pusher);
    pusher.write("keeper/SOUL.md", "You keep things. ".repeat(10_000));
    let place = format!("oci://{}/keeper:1", registry.host());
    pusher.run(&format!("push keeper {place}")).exits(0);
    let probe = "mount -t tmpfs -o size=64k tmpfs /mnt";
    let namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-Urm", "sh", "-c", script]);
        command
    };
    if !namespace(probe).status().is_ok_and(|status| status.success()) {
        let skipped = "SKIPPED: this machine does not let a test mount a file system";
        writeln!(std::io::stderr(), "{skipped}").expect("a stream");
        return;
    }
    for full in ["home/.agentry", "disk"] {
        let test = Test::new();
        std::fs::create_dir_all(test.path(full)).expect("a directory");
        let script = format!(
            "mount -t tmpfs -o size=96k tmpfs {full} || exit 9\n\
             \"$AGENTRY\" pull {place} -o disk/out; echo \"full $?\"\n\
             find disk home/.agentry/remote/artifacts -name SOUL.md -o -name artifact.json | sed 's/^/left /'\n\
             mount -o remount,size=8m {full} || exit 9\n\
             \"$AGENTRY\" pull {place} -o disk/out; echo \"room $?\"\n\
             \"$AGENTRY\" hash --full disk/out\n"
        );
        let plain = test.command([""; 0]);
        let mut command = namespace(&script);
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", "/usr/bin:/bin").env("AGENTRY", plain.get_program());
        let output = command.current_dir(test.path("")).output().expect("unshare runs");
        let ran = test.ended("script", &output);
        let lines: Vec<_> = ran.stdout.lines().filter(|line| !line.starts_with("wrote ")).collect();
        // With a full disk for the files, the verified copy in the cache stays.
        let left: Vec<_> = lines.iter().filter(|line| line.starts_with("left disk")).collect();
        assert!(left.is_empty() && lines.contains(&"full 2"), "{full}: {ran}");
        assert!(full == "disk" || !ran.stdout.contains("left "), "{full}: {ran}");
        assert!(
            ran.stderr.contains("no space left") || ran.stderr.contains("No space left"),
            "{ran}"
        );
        let digest = pusher.run("hash --full keeper").stdout;
        assert!(lines.contains(&"room 0") && lines.contains(&digest.trim()), "{full}: {ran}");
    }
}

#[test]
fn parallel_pushes_and_pulls_succeed() {
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
