//! What must not survive a run: processes, placeholders, control groups.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{fs, thread};

use agentry_sandbox::{BackEnd, Sandbox, support, sweep};

use crate::world::{EscapeFixture, helper};

/// Whether a process has this word among its arguments.
fn is_running(mark: &str) -> bool {
    let all = fs::read_dir("/proc").expect("a list").filter_map(Result::ok);
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(mark))
}

fn usable(world: &EscapeFixture, back_end: BackEnd) -> bool {
    let support = support(&helper());
    let missing = match back_end {
        BackEnd::Namespaces => support.without_namespaces(),
        BackEnd::Landlock => support.without_landlock(&world.confinement()),
    };
    if let Some(missing) = &missing {
        eprintln!("SKIPPED: {} cannot be tried here: {missing}", back_end.as_str());
    }
    missing.is_none()
}

/// Ways to survive: each leaves a process with a recognisable argument behind.
const SURVIVORS: &[&str] = &[
    "sleep WORD &",
    "nohup sleep WORD >/dev/null 2>&1 </dev/null & disown",
    "setsid sleep WORD >/dev/null 2>&1 </dev/null &",
    "(setsid setsid sleep WORD >/dev/null 2>&1 </dev/null &) &",
    "setsid bash -c 'trap \"\" TERM HUP INT; exec 0<&- 1>&- 2>&-; (sleep WORD &)' &",
    "setsid bash -c 'exec >/dev/null 2>&1 </dev/null; while :; do sleep WORD; done' >/dev/null 2>&1 </dev/null &",
];

#[test]
fn no_process_survives_the_run() {
    for (number, back_end) in [BackEnd::Namespaces, BackEnd::Landlock].into_iter().enumerate() {
        let world = EscapeFixture::new(back_end);
        if !usable(&world, back_end) {
            continue;
        }
        let sandbox = world.sandbox();
        let mark = format!("98{number}{}.25", std::process::id());
        for line in SURVIVORS {
            let line = format!("exec >/dev/null 2>&1; {}", line.replace("WORD", &mark));
            world.shell(&sandbox, &world.path("work"), &format!("{line}\nsleep 0.05"));
            assert!(!is_running(&mark), "{}: after {line}", back_end.as_str());
        }
        let all = SURVIVORS.join("\n").replace("WORD", &mark);
        let line = format!("exec >/dev/null 2>&1; {all}\nsleep 600");
        let running = sandbox.run(world.command("/bin/bash", &line)).expect("sent");
        wait_for(|| is_running(&mark));
        drop(sandbox);
        assert!(!is_running(&mark), "{}", back_end.as_str());
        assert!(running.wait().is_err());
    }
}

#[test]
fn killing_the_helper_ends_the_run() {
    let world = EscapeFixture::new(BackEnd::Landlock);
    if !usable(&world, BackEnd::Landlock) {
        return;
    }
    let mark = format!("97{}.25", std::process::id());
    for line in ["kill -9 $PPID", "kill -9 -- -1", "kill -STOP $PPID"] {
        let sandbox = world.sandbox();
        let line = format!("exec >/dev/null 2>&1; setsid sleep {mark} & {line}; sleep {mark}");
        let command = world.command("/bin/bash", &line);
        // It may have ended before it could report that the command was started.
        let running = sandbox.run(command);
        if line.contains("STOP") {
            wait_for(|| is_running(&mark));
        } else {
            assert!(running.and_then(agentry_sandbox::CommandHandle::wait).is_err(), "{line}");
            sandbox.end();
            assert!(!is_running(&mark), "{line}");
        }
        drop(sandbox);
        assert!(!is_running(&mark), "{line}");
        assert_eq!(world.damage(), None, "{line}");
    }
}

#[test]
fn killing_a_command_kills_its_children() {
    for back_end in [BackEnd::Namespaces, BackEnd::Landlock] {
        let world = EscapeFixture::new(back_end);
        if !usable(&world, back_end) {
            continue;
        }
        let sandbox = world.sandbox();
        let mark = format!("96{}{}.25", std::process::id(), back_end.as_str().len());
        let line = format!("setsid sleep {mark} & sleep {mark} & wait");
        let running = sandbox.run(world.command("/bin/bash", &line)).expect("sent");
        wait_for(|| is_running(&mark));
        sandbox.kill(running.id).expect("sent");
        let ended = running.wait().expect("an end");
        assert_eq!(ended.signal, Some(9));
        wait_for(|| !is_running(&mark));
    }
}

/// The run that is killed: the test below starts it in its own process.
#[test]
fn a_run_that_is_killed() {
    let Some(root) = std::env::var_os("KILLED") else { return };
    let root = PathBuf::from(root);
    let back_end = match std::env::var("BACK_END").as_deref() {
        Ok("landlock") => BackEnd::Landlock,
        _ => BackEnd::Namespaces,
    };
    let world = EscapeFixture::at(&root, back_end);
    let sandbox = world.sandbox();
    let line = format!("setsid sleep {} & touch free/ready; sleep 600", mark_of(&root));
    let running = sandbox.run(world.command("/bin/bash", &line)).expect("sent");
    let _ = running.wait();
}

fn mark_of(root: &std::path::Path) -> String {
    let name = root
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .replace(|c: char| !c.is_ascii_digit(), "1");
    format!("95{name}.25")
}

#[test]
fn a_killed_run_leaves_nothing_behind() {
    for back_end in [BackEnd::Namespaces, BackEnd::Landlock] {
        let world = EscapeFixture::new(back_end);
        if !usable(&world, back_end) {
            continue;
        }
        let exe = std::env::current_exe().expect("a path");
        let root = world.path("");
        let mut child = std::process::Command::new(exe)
            .args(["--exact", "leftovers::a_run_that_is_killed"])
            .env("KILLED", &root)
            .env("BACK_END", back_end.as_str())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("started");
        wait_for(|| world.path("work/free/ready").exists());
        if back_end == BackEnd::Namespaces {
            assert!(world.path("work/agentry.lock").exists(), "the placeholder is there");
        }
        child.kill().expect("killed");
        child.wait().expect("an end");
        let mark = mark_of(&root.canonicalize().expect("a path"));
        wait_for(|| !is_running(&mark));
        sweep(&world.path("ledger")).expect("swept");
        assert_eq!(world.leftovers(), Vec::<PathBuf>::new(), "{}", back_end.as_str());
    }
}

#[test]
fn replacing_a_protected_file_ends_the_sandbox() {
    let world = EscapeFixture::new(BackEnd::Namespaces);
    if !usable(&world, BackEnd::Namespaces) {
        return;
    }
    let path = world.path("work/agentry.toml");
    // Whether or not the helper has noticed it before the command arrives.
    for _ in 0..10 {
        let sandbox: Sandbox = world.sandbox();
        world.works(&sandbox);
        fs::write(path.with_extension("new"), "[check]\n").expect("written");
        fs::rename(path.with_extension("new"), &path).expect("replaced");
        let command = world.command("/bin/bash", "echo x > agentry.toml");
        let not_started = sandbox.run(command).map(agentry_sandbox::CommandHandle::wait);
        assert!(
            matches!(not_started, Err(agentry_sandbox::SandboxError::Replaced(_))),
            "another sandbox can start it: {not_started:?}"
        );
        assert_eq!(world.damage(), None);
    }
}

/// A process that left its group waits until a protected file is saved.
#[test]
fn replacing_a_protected_file_kills_processes() {
    let world = EscapeFixture::new(BackEnd::Namespaces);
    if !usable(&world, BackEnd::Namespaces) {
        return;
    }
    for name in ["work/agentry.toml", "work/agents/own.md"] {
        let path = world.path(name);
        let before = fs::read_to_string(&path).expect("text");
        let sandbox = world.sandbox();
        let mark = format!("94{}{}.25", std::process::id(), name.len());
        let evil = format!("while sleep .02; do echo EVIL > {}; done", path.display());
        let line = format!("exec >/dev/null 2>&1; setsid bash -c '{evil}' & exec sleep {mark}");
        let running = sandbox.run(world.command("/bin/bash", &line));
        wait_for(|| is_running(&mark));
        let new = path.with_extension("new");
        fs::write(&new, &before).expect("written");
        fs::rename(&new, &path).expect("replaced");
        let ended = running.expect("sent").wait();
        assert!(
            matches!(&ended, Err(agentry_sandbox::SandboxError::Replaced(it)) if *it == path),
            "{ended:?}"
        );
        wait_for(|| sandbox.is_over());
        wait_for(|| !is_running(&mark) && !is_running(&evil));
        let more = sandbox.run(world.command("/bin/bash", "true"));
        assert!(matches!(more, Err(agentry_sandbox::SandboxError::Replaced(_))), "{more:?}");
        drop(sandbox);
        assert_eq!(fs::read_to_string(&path).expect("text"), before, "{name}");
        // Another sandbox protects what exists now.
        let sandbox = world.sandbox();
        world.works(&sandbox);
        world.shell(&sandbox, &world.path("work"), &format!("echo x > {}", path.display()));
        assert_eq!(world.damage(), None, "{name}");
    }
}

/// Waits until a condition holds, for at most ten seconds.
fn wait_for(holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < until, "it never came true");
        thread::yield_now();
    }
}
