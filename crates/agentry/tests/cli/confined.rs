//! Confined commands of real runs: what they cannot touch, and what a killed run leaves.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::run::{keyed, with};
use crate::server::{Asked, Reply, Server, Turn};
use crate::terminal::wait_for;
use crate::test::{Ran, Test};

/// An agent that may run every command that a rule can allow.
pub(crate) const WORKER: &str = "name = \"worker\"\ndescription = \"Works\"\n\n\
    [permissions.bash]\nintent = \"allow\"\n\n[permissions.edit]\nintent = \"allow\"\n";

fn worker() -> Test {
    Test::new()
        .file("worker/agent.toml", WORKER)
        .file("worker/system-prompt.md", "You work.\n")
        .file("notes.md", "one\n")
}

/// A model that runs the line of the prompt, and then repeats the result.
fn model() -> Server {
    fn answer(asked: &Asked) -> Reply {
        match asked.results.last() {
            Some((_, result)) => Turn::text(result.clone()).into(),
            None => {
                let line = asked.user_texts.last().cloned().unwrap_or_default();
                Turn::call("bash", json!({ "command": line })).into()
            }
        }
    }
    Server::answering(answer)
}

fn run(test: &Test, server: &Server, agent: &str, line: &str) -> Ran {
    with(test, server, &["run", agent, line, "--yes"])
}

fn start(test: &Test, server: &Server, line: &str) -> Child {
    let mut command = keyed(test, server, &["run", "worker", line, "--yes"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program runs")
}

/// The names in the workspace.
fn names(test: &Test) -> Vec<String> {
    let all = fs::read_dir(test.path("")).expect("a list").map(|entry| entry.expect("an entry"));
    let mut names: Vec<String> =
        all.map(|entry| entry.file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

/// Whether the test must be skipped here; prints that.
pub(crate) fn cannot_be_confined(test: &Test) -> bool {
    let back_end = &test.run("doctor --format json").json()["back_end"];
    if back_end != "namespaces" {
        eprintln!("SKIPPED: commands are confined by {back_end} here");
    }
    back_end != "namespaces"
}

#[test]
fn placeholders_of_a_killed_run_are_removed() {
    let test = worker();
    if cannot_be_confined(&test) {
        return;
    }
    let before = names(&test);
    let server = model();
    let mut killed = start(&test, &server, "touch ready; sleep 600");
    wait_for("ready", || test.has("ready"));
    assert!(test.has("agentry.lock") && test.path(".agentry").is_dir(), "they are held");
    // Other commands work meanwhile, another run too.
    test.run("check").exits(0);
    test.run("render --target claude-code --dry-run").exits(0);
    test.run("lock --check").exits(1);
    assert_eq!(run(&test, &server, "worker", "cat notes.md").exits(0).stdout, "one\n");
    killed.kill().expect("killed");
    killed.wait().expect("an end");
    assert!(test.has("agentry.lock"), "the killed run left it");
    assert_eq!(run(&test, &server, "worker", "rm ready").exits(0).code, Some(0));
    let mut after = names(&test);
    after.retain(|name| name != "home");
    assert_eq!(after, before);
    test.run("lock").exits(0);
    test.run("render --target claude-code").exits(0);
    let ran = run(&test, &server, "worker", "cat agentry.lock | head -c 14").exits(0);
    assert_eq!(ran.stdout, "# agentry.lock\n");
}

#[test]
fn placeholders_are_not_added_by_git() {
    let test = worker().file(".gitignore", "/home/.config\n").file("server.key", "hush\n");
    if cannot_be_confined(&test) {
        return;
    }
    let git = |line: &str| {
        let mut git = Command::new("git");
        git.args(line.split(' ')).current_dir(test.path("")).env("HOME", test.path("home"));
        assert!(git.status().expect("git is there").success(), "{line}");
    };
    git("init -q");
    git("config user.name n");
    git("config user.email n@example.org");
    let server = model();
    let line = "git add -A && git commit -qm all && git status --porcelain && git ls-files";
    let ran = run(&test, &server, "worker", line).exits(0);
    let files = ".gitignore\nnotes.md\nworker/agent.toml\nworker/system-prompt.md\n";
    assert_eq!(ran.stdout, files);
}

#[test]
fn two_runs_at_once_share_a_workspace() {
    let test = worker();
    if cannot_be_confined(&test) {
        return;
    }
    let before = names(&test);
    let server = model();
    // Each waits for the other.
    let lines = [("a", "b"), ("b", "a")].map(|(own, other)| {
        format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; sleep 0.1; rm -f {own}")
    });
    let mut both = lines.map(|line| start(&test, &server, &line));
    for child in &mut both {
        assert!(child.wait().expect("an end").success());
    }
    let mut after = names(&test);
    after.retain(|name| name != "home");
    assert_eq!(after, before);
}

#[test]
fn a_lock_written_during_a_run_does_not_end_it() {
    let test = worker();
    if cannot_be_confined(&test) {
        return;
    }
    // The model is slower than the process that locks.
    let agentry = env!("CARGO_BIN_EXE_agentry");
    let (root, home) = (test.path(""), test.path("home"));
    let server = Server::answering(move |asked| match asked.results.len() {
        1 => {
            let mut lock = Command::new(agentry);
            lock.arg("lock").current_dir(&root).env_clear().env("HOME", &home);
            assert!(lock.output().expect("the program runs").status.success());
            Turn::call("bash", json!({ "command": "echo first" })).into()
        }
        3 => Turn::text(asked.results[2].1.clone()).into(),
        _ => Turn::call("bash", json!({ "command": "echo again" })).into(),
    });
    let ran = run(&test, &server, "worker", "go").exits(0);
    assert_eq!(ran.stdout, "again\n", "{ran}");
    // The old sandbox ended when the file was replaced; this one protects the new file.
    let second = &server.asked()[2].results[1].1;
    assert!(second.starts_with("first"), "{second}");
    assert!(test.read("agentry.lock").contains("worker/agent.toml"));
}

#[test]
fn an_agent_does_not_add_to_its_definition() {
    const ROOT: &str = "You work.\n";
    let test = worker()
        .file("instructions.md", ROOT)
        .file("agent.acl", "x_agentry {\n  permissions {\n    bash { intent = \"allow\" }\n    edit { intent = \"allow\" }\n  }\n}\n");
    if cannot_be_confined(&test) {
        return;
    }
    let server = model();
    for (agent, path) in [
        ("worker", "worker/skills/new/SKILL.md"),
        ("worker", "worker/notes.md"),
        ("worker", ".agentry/new"),
        (".", "tools/new.md"),
        (".", "skills/new.md"),
        (".", "schedules/new.md"),
    ] {
        // A rule cannot look into a script.
        test.write("try.sh", format!("mkdir -p $(dirname {path})\necho x > {path}\n"));
        let ran = run(&test, &server, agent, "sh try.sh").exits(0);
        assert!(ran.stdout.contains("Read-only file system"), "{agent} {path}: {ran}");
        assert!(!test.has(path), "{agent} made {path}");
        // The tool that writes refuses it as well.
        let writes = Server::answering(|asked| match asked.results.last() {
            Some((_, result)) => Turn::text(result.clone()).into(),
            None => {
                let path = asked.user_texts.last().cloned().unwrap_or_default();
                Turn::call("write", json!({ "path": path, "content": "x" })).into()
            }
        });
        let ran = run(&test, &writes, agent, path).exits(0);
        assert!(ran.stdout.contains("is protected from every tool"), "{agent} {path}: {ran}");
        assert!(!test.has(path), "{agent} wrote {path}");
    }
    let ran = run(&test, &server, ".", "echo fine > tool.md; cat tool.md").exits(0);
    assert_eq!(ran.stdout, "fine\n");
}

/// Runs the program as an ordinary user who may make no namespaces.
fn without_namespaces(command: &Command) -> Command {
    as_user("echo 0 > /proc/sys/user/max_user_namespaces", command)
}

/// Runs the program as an ordinary user, after this line.
fn as_user(before: &str, command: &Command) -> Command {
    let line = format!(
        "{before} && exec setpriv --ambient-caps=-all --inh-caps=-all --bounding-set=-all \"$@\""
    );
    let mut out = Command::new("unshare");
    out.args(["-U", "--map-user=1000", "--map-group=1000", "--keep-caps", "sh", "-c", &line, "sh"]);
    out.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    out.env_clear().current_dir(command.get_current_dir().expect("a directory"));
    out.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    out
}

#[test]
fn without_namespaces_commands_run_under_landlock() {
    let test = worker().file("sub/file", "x\n").file(
        "try.sh",
        "for path in agentry.lock worker/x home/x; do echo y > $path && echo made $path; done\n",
    );
    let mut doctor = test.command(["doctor", "--format", "json"]);
    doctor.env("PATH", "/usr/bin:/bin");
    let doctor = without_namespaces(&doctor).output();
    let output_text = doctor.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    if !output_text
        .as_ref()
        .is_ok_and(|output_text| output_text.contains("\"back_end\": \"landlock\""))
    {
        eprintln!("SKIPPED: Landlock alone cannot be tried here: {output_text:?}");
        return;
    }
    let server = model();
    let cases = [
        ("cat notes.md", "one\n"),
        ("echo y > sub/new; cat sub/new", "y\n"),
        ("sh try.sh; echo tried", "Permission denied"),
        ("echo y > $HOME/x; cat $HOME/x; ls $HOME", "y\nx\n"),
    ];
    for (line, expected) in cases {
        let args = ["run", "worker", line, "--yes"];
        let command = keyed(&test, &server, &args);
        let output = without_namespaces(&command).output().expect("the program runs");
        let ran = test.ended(&args.join(" "), &output).exits(0);
        assert!(ran.stdout.contains(expected) && !ran.stdout.contains("made"), "{line}: {ran}");
    }
    assert!(!test.has("agentry.lock") && !test.has("worker/x"));
}

/// Checks the sandbox in the first event, in the consent list and in the journal.
#[track_caller]
fn names_its_sandbox(test: &Test, command: &mut Command, [name, words]: [&str; 2]) {
    let ran = test.ended("run", &command.output().expect("the program runs")).exits(0);
    let first = crate::run::events(&ran).remove(0);
    assert_eq!((&first["type"], &first["sandbox"]), (&json!("run"), &json!(name)), "{ran}");
    // The consent to a changed agent lists only what changed.
    let listed = [format!("  sandbox    {words}\n"), format!("  + sandbox: {words}\n")];
    assert!(listed.iter().any(|line| ran.stderr.contains(line)), "{ran}");
    assert_eq!(test.run("runs show last --format json").json()["sandbox"], name);
    assert!(test.run("runs show last").stdout.contains(&format!("\nsandbox  {name}\n")));
}

#[test]
fn the_run_reports_its_sandbox() {
    let server = Server::answering(|_| Turn::text("Done.").into());
    let test = worker();
    let doctor = test.run("doctor --format json").json();
    let args = ["run", "worker", "go", "--yes", "--format", "json"];
    if let Some(back_end) = doctor["back_end"].as_str() {
        names_its_sandbox(&test, &mut keyed(&test, &server, &args), [back_end, back_end]);
    }
    let free = [&args[..], &["--unconfined"]].concat();
    let mut free = keyed(&test, &server, &free);
    names_its_sandbox(&test, &mut free, ["none", "nothing (--unconfined)"]);
    test.write(
        "worker/agent.toml",
        WORKER.replace("bash]\nintent = \"allow", "bash]\nintent = \"deny"),
    );
    let mut still = keyed(&test, &server, &args);
    names_its_sandbox(&test, &mut still, ["no commands", "it runs no commands"]);
    // Without namespaces.
    test.write("worker/agent.toml", WORKER.replace("Works", "Works on"));
    let mut doctor = test.command(["doctor", "--format", "json"]);
    doctor.env("PATH", "/usr/bin:/bin");
    let output_text = without_namespaces(&doctor).output().expect("the program runs").stdout;
    if String::from_utf8_lossy(&output_text).contains("\"back_end\": \"landlock\"") {
        let mut command = without_namespaces(&keyed(&test, &server, &args));
        names_its_sandbox(&test, &mut command, ["landlock", "landlock"]);
    }
}

#[test]
fn without_placeholders_the_workspace_is_read_only() {
    let script = "chmod u+w . || echo x > agentry.lock || cat notes.md\n";
    let test = worker().file("home/x", "").file("try.sh", script);
    let mut doctor = test.command(["doctor", "--format", "json"]);
    doctor.env("PATH", "/usr/bin:/bin");
    let output_text = as_user("true", &doctor).output();
    let output_text = output_text.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    if !output_text
        .as_ref()
        .is_ok_and(|output_text| output_text.contains("\"back_end\": \"namespaces\""))
    {
        eprintln!("SKIPPED: an ordinary user cannot be tried here: {output_text:?}");
        return;
    }
    let set = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(test.path(""), mode).expect("a mode");
    };
    set(0o555);
    let server = model();
    let args = ["run", "worker", "sh try.sh", "--yes"];
    let output = as_user("true", &keyed(&test, &server, &args)).output();
    set(0o755);
    let ran = test.ended(&args.join(" "), &output.expect("the program runs")).exits(0);
    assert!(ran.stdout.ends_with("Read-only file system\none\n"), "{ran}");
}
