//! The files of skills: covered by consent, run as commands, never written, and not run twice after a kill.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::run::{keyed, with};
use crate::server::{Server, Turn};
use crate::skills::{AGENT, RELEASE, SCRIPT, load, playing, report, results, worker, write};
use crate::terminal::{Terminal, signal, wait_for};
use crate::test::Test;

#[test]
fn a_changed_skill_needs_a_new_consent() {
    let test = worker();
    let server = playing([]);
    with(&test, &server, &["run", "worker", "go", "--yes"]).exits(0);
    with(&test, &server, &["run", "worker", "go"]).exits(0);
    let path = "worker/skills/release/SKILL.md";
    test.write(path, format!("{RELEASE}\nDo more.\n"));
    with(&test, &server, &["run", "worker", "go"]).exits(3);
    test.write(path, RELEASE);
    with(&test, &server, &["run", "worker", "go"]).exits(0);
    // Every file of the pack counts: a script is code that the agent runs.
    let added = "worker/skills/release/scripts/more.sh";
    let changes: [(&str, &dyn Fn()); 3] = [
        ("skill `release/scripts/hello.sh` changed", &|| test.write(SCRIPT, "echo other\n")),
        ("skill `release/scripts/more.sh` is new", &|| test.write(added, "echo more\n")),
        ("skill `release/scripts/more.sh` is gone", &|| {
            fs::remove_file(test.path(added)).expect("a file");
        }),
    ];
    for (expected, change) in changes {
        change();
        let ran = with(&test, &server, &["run", "worker", "go"]).exits(3);
        assert!(ran.stderr.contains(expected), "{ran}");
        with(&test, &server, &["run", "worker", "go", "--yes"]).exits(0);
        with(&test, &server, &["run", "worker", "go"]).exits(0);
    }
}

/// Running a script of a pack reads it; writing it stays denied, whatever the rules allow.
#[test]
fn skill_scripts_run_as_commands_and_are_never_written() {
    let rules =
        "[permissions.bash]\nintent = \"allow\"\n\n[permissions.edit]\nintent = \"allow\"\n";
    let test = worker()
        .file("worker/agent.toml", format!("name = \"worker\"\ndescription = \"Works\"\n\n{rules}"))
        .file("worker/skills/release/SKILL.md", RELEASE.replace("allowed-tools: Read Bash\n", ""))
        .file("worker/skills/release/scripts/hello.py", "print('hello from python')\n");
    let python = "worker/skills/release/scripts/hello.py";
    let is_there = |program: &str| std::path::Path::new("/usr/bin").join(program).exists();
    let mut runs = vec![
        (format!("sh {SCRIPT}"), "hello from the script"),
        (format!("bash -eu {SCRIPT} argument"), "hello from the script"),
        ("(cd worker/skills/release && sh scripts/hello.sh)".to_owned(), "hello from the script"),
    ];
    if is_there("python3") {
        runs.push((format!("python3 {python}"), "hello from python"));
    }
    let writes = [
        format!("echo x > {SCRIPT}"),
        format!("cp a.txt {SCRIPT}"),
        format!("sh {SCRIPT} {python}"),
        format!("sh {SCRIPT} > {python}"),
        format!("chmod +x {SCRIPT}"),
        format!("rm {SCRIPT}"),
    ];
    let bash = |command: &str| Turn::call("bash", json!({ "command": command }));
    let mut turns: Vec<Turn> = runs.iter().map(|(command, _)| bash(command)).collect();
    turns.extend(writes.iter().map(|command| bash(command)));
    turns.push(write(SCRIPT));
    let server = playing(turns);
    with(&test, &server, &["run", "worker", "go", "--yes", "--unconfined"]).exits(0);
    let results = results(&server);
    for ((command, expected), result) in runs.iter().zip(&results) {
        assert!(result.contains(expected), "{command}: {result}");
    }
    let refused = &results[runs.len()..];
    assert_eq!(refused.len(), writes.len() + 1);
    for (result, command) in refused.iter().zip(writes.iter().map(String::as_str).chain(["write"]))
    {
        assert!(result.contains("refused: "), "{command}: {result}");
    }
    assert_eq!(test.read(SCRIPT), "#!/bin/sh\necho hello from the script\n");
}

/// The run is killed while a script of a skill runs, and while a gate waits: the skill stays loaded, its steps stay
/// reported, the script is not run again without the person, and the gate is still closed.
#[test]
fn a_killed_skill_continues_where_it_was() {
    let rules = AGENT.replace("intent = \"deny\"\nrules", "intent = \"allow\"\nrules");
    let command = format!("sh {SCRIPT}");
    let server = Server::answering(move |asked| {
        let turns = [
            load("release"),
            Turn::call("bash", json!({ "command": command })),
            report(1, "done"),
            report(3, "done"),
            report(2, "done"),
            report(3, "done"),
        ];
        let turn = turns.get(asked.results.len()).cloned();
        turn.unwrap_or_else(|| Turn::text("Done.")).into()
    });
    let script = "echo once >> log\nwhile [ ! -e go ]; do sleep 0.05; done\n";
    let test = worker().file("worker/agent.toml", rules).file(SCRIPT, script);
    let args = ["run", "worker", "go", "--yes", "--unconfined"];
    let mut command = keyed(&test, &server, &args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    wait_for("the script", || test.has("log") && test.read("log") == "once\n");
    child.kill().expect("it is killed");
    child.wait().expect("an end");
    test.write("go", "");
    let ran = with(&test, &server, &["resume", "last", "--on-ask", "park"]).exits(3);
    assert_eq!(test.read("log"), "once\n", "{ran}");
    let mut terminal = Terminal::new(&test, &server, "resume last");
    let shown = terminal.sees("answer › ");
    assert!(shown.contains("`bash` was under way when the run was killed"), "{shown}");
    terminal.types("n");
    // The gate waits: kill the run there.
    terminal.sees("is a human gate,");
    terminal.sees("answer › ");
    signal(terminal.pid(), "-KILL");
    drop(terminal);
    assert_eq!(test.read("log"), "once\n");
    let mut terminal = Terminal::new(&test, &server, "resume last");
    terminal.sees("is a human gate,");
    terminal.sees("answer › ");
    terminal.types("y");
    terminal.sees("Done.");
    terminal.ends(0);
    let results = results(&server);
    assert!(results[3].contains("the person has not passed it"), "{results:#?}");
    assert!(results[4].contains("the person has passed step 2"), "{results:#?}");
    let texts = results.join("\n");
    assert_eq!(texts.matches("The body of the skill.").count(), 1, "it is loaded once: {texts}");
    assert_eq!(test.read("log"), "once\n");
}

#[test]
fn tools_lists_skills_with_their_file() {
    let test = worker();
    let listed = test.run("tools worker --format json").exits(0).json();
    let tools = listed["tools"].as_array().expect("a list");
    let own = tools.iter().find(|tool| tool["name"] == "skill").expect("the tool");
    assert_eq!(own["kind"], "skill");
    assert_eq!((&own["path"], &own["line"]), (&json!("worker/skills/release/SKILL.md"), &json!(2)));
}

/// A single file `skills/NAME.md` is a skill in every format with a directory. What it needs is checked.
#[test]
fn a_single_file_is_a_skill_in_every_format() {
    let json = "{\"name\": \"Helper\", \"version\": \"1.0.0\", \"role\": \"Helps\"}";
    let toml = "name = \"helper\"\ndescription = \"Helps\"\n";
    let manifest = "name: helper\nversion: 1.0.0\ndescription: Helps\n";
    let formats = [
        [("helper/agent.toml", toml), ("helper/system-prompt.md", "You help.\n")],
        [("helper/agent.json", json), ("helper/persona.md", "You help.\n")],
        [("helper/agent.yaml", manifest), ("helper/SOUL.md", "You help.\n")],
        [("helper/instructions.md", "You help.\n"), ("helper/agent.acl", "")],
    ];
    let flat = "---\ndescription: Flat work\nNEEDS---\nThe body of the flat skill.\n";
    for files in formats {
        let test = files.iter().fold(Test::new(), |test, (path, text)| test.file(*path, *text));
        let test = test.file("helper/skills/flat.md", flat.replace("NEEDS", ""));
        let server = playing([load("flat")]);
        with(&test, &server, &["run", "helper", "go", "--yes"]).exits(0);
        let asked = server.asked();
        assert!(asked[0].system.contains("Flat work"), "{files:?}: {}", asked[0].system);
        let result = results(&server).remove(0);
        assert!(result.contains("The body of the flat skill."), "{files:?}: {result}");
        for (needs, why) in [
            ("requiredTools: [NotebookEdit]\n", "it needs the tool `NotebookEdit`"),
            ("dependencies: [absent]\n", "it depends on the skill `absent`"),
        ] {
            test.write("helper/skills/flat.md", flat.replace("NEEDS", needs));
            let server = playing([]);
            let ran = with(&test, &server, &["run", "helper", "go", "--yes", "--accept-changes"]);
            assert!(ran.exits(3).stderr.contains(why), "{files:?}");
            assert_eq!(server.count(), 0);
        }
    }
}
