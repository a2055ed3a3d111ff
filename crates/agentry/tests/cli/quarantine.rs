//! Files that commands create under protected names are quarantined and reported; other files never are.
#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::{keyed, with};
use crate::server::{Reply, Server, Turn};
use crate::skills::results;
use crate::test::Test;

const WORKER: &str = "name = \"worker\"\ndescription = \"Works\"\n\n\
    [permissions.bash]\nintent = \"allow\"\n\n[permissions.edit]\nintent = \"allow\"\n";

/// A workspace with an agent whose commands are confined here, if they can be.
fn worker() -> Option<Test> {
    let test = Test::new()
        .file("worker/agent.toml", WORKER)
        .file("worker/system-prompt.md", "You work.\n")
        .file(".git/config", "[core]\n\tbare = false\n")
        .file(".vscode/settings.json", "{}\n");
    let back_end = test.run("doctor --format json").json()["back_end"].clone();
    if back_end == "namespaces" {
        return Some(test);
    }
    eprintln!("SKIPPED: commands are confined by {back_end} here");
    None
}

/// A model that runs these lines, one after the other; a callback acts before each.
fn model(
    lines: &'static [&'static str],
    meanwhile: impl Fn(usize) + Send + Sync + 'static,
) -> Server {
    Server::answering(move |asked| {
        let at = asked.results.len();
        meanwhile(at);
        match lines.get(at) {
            Some(line) => Turn::call("bash", json!({ "command": line, "timeout": 20 })).into(),
            None => Reply::from(Turn::text("finished")),
        }
    })
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, text).expect("written");
}

fn wait_for(holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "it never came true");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_recording_beside_the_agent_is_not_quarantined() {
    let Some(test) = worker() else { return };
    let path = "worker.cassette.jsonl";
    for word in ["first", "second"] {
        let server = model(&["echo hello"], |_| {});
        let ran = with(&test, &server, &["run", "worker", word, "--yes", "--record", path]);
        assert!(!ran.exits(0).stderr.contains("warning"), "{word}");
        let recorded = test.read(path);
        assert!(recorded.contains(word) && recorded.contains("hello"), "{word}: {recorded}");
    }
    test.run("test").exits(0);
}

/// The files that the user makes.
const MINE: &[&str] =
    &[".mcp.json", ".vscode/settings.json", "sub/agentry.toml", "a.cassette.jsonl", ".claude/x"];

#[test]
fn files_made_by_the_user_are_not_quarantined() {
    let Some(test) = worker() else { return };
    let root = test.path("");
    let server = model(&["echo one", "echo two", "echo three"], move |at| {
        // Before the first command, and when there is a sandbox already.
        if at == 1 {
            MINE.iter().for_each(|name| write(&root, name, "\"mine\"\n"));
            // As Git writes its configuration.
            write(&root, ".git/config.lock", "[core]\n\tbare = false\n[user]\n\tname = me\n");
            fs::rename(root.join(".git/config.lock"), root.join(".git/config")).expect("renamed");
        }
        if at == 2 {
            fs::remove_file(root.join("sub/agentry.toml")).expect("removed");
        }
    });
    let ran = with(&test, &server, &["run", "worker", "go", "--yes"]).exits(0);
    assert_eq!(results(&server), ["one\n", "two\n", "three\n"]);
    assert!(!ran.stderr.contains("warning"), "{ran}");
    for name in MINE.iter().filter(|name| **name != "sub/agentry.toml") {
        assert_eq!(test.read(name), "\"mine\"\n", "{name}");
    }
    assert!(!test.has("sub/agentry.toml"));
    assert!(test.read(".git/config").contains("name = me"));
}

/// Repeated, so that one of them falls between the check and the start of the command.
const LINES: &[&str] = &["sh try.sh"; 12];

#[test]
fn externally_replaced_files_are_protected_again() {
    let Some(test) = worker() else { return };
    test.write("try.sh", "echo x >> .git/config; cat .git/config\n");
    let root = test.path("");
    let server = model(LINES, move |_| {
        write(&root, ".git/config.lock", "[core]\n\tbare = false\n");
        fs::rename(root.join(".git/config.lock"), root.join(".git/config")).expect("renamed");
    });
    with(&test, &server, &["run", "worker", "go", "--yes"]).exits(0);
    let results = results(&server);
    assert_eq!(results.len(), LINES.len());
    for result in results {
        assert!(result.contains("Read-only file system"), "{result}");
        assert!(result.ends_with("[core]\n\tbare = false\n"), "{result}");
    }
}

#[test]
fn protected_files_made_by_a_command_are_quarantined() {
    let Some(test) = worker() else { return };
    test.write("try.sh", "mkdir -p zz/deep; echo evil > zz/deep/agentry.toml\necho '{\"a\": 1}' > .vscode/settings.json\n");
    let names = [
        ("zz/deep/agentry.toml", "made", "evil\n"),
        (".vscode/settings.json", "changed", "{\"a\": 1}\n"),
    ];
    for format in ["human", "json"] {
        let server = model(&["sh try.sh"], |_| {});
        let args = ["run", "worker", "go", "--yes", "--format", format];
        let output = keyed(&test, &server, &args).output().expect("the program runs");
        let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        let result = results(&server).remove(0);
        assert!(!test.has("zz/deep/agentry.toml"));
        assert_eq!(test.read(".vscode/settings.json"), "{}\n");
        let lines = output_text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let events: Vec<Value> = lines.filter(|it| it["type"] == "quarantined").collect();
        assert_eq!(events.len(), if format == "json" { 2 } else { 0 }, "{output_text}");
        for (name, did, text) in names {
            assert!(result.contains(&format!("`{name}` was ")), "{result}");
            assert!(stderr.contains(&format!("warning: `{name}` was ")), "{stderr}");
            let line = result.lines().find(|line| line.contains(name)).expect("a line");
            let kept = PathBuf::from(line.split('`').nth_back(1).expect("a path"));
            assert!(kept.to_string_lossy().contains("/quarantine/taken/"), "{line}");
            assert_eq!(fs::read_to_string(&kept).expect("kept"), text, "{name}");
            if let Some(event) = events.iter().find(|it| it["path"] == name) {
                assert_eq!(event["did"], did);
                assert_eq!(event["kept"], kept.to_str().expect("text"));
                assert!(event["why"].as_str().is_some_and(|why| why.starts_with("it decides")));
            }
        }
    }
    // The receipts list both, of each run.
    for receipt in test.run("receipts list --format json").json().as_array().expect("receipts") {
        let id = receipt["id"].as_str().expect("an id");
        let attempts =
            test.run(&format!("receipts show {id} --format json")).json()["attempts"].clone();
        let first = attempts["first"].as_array().expect("attempts");
        let listed = first.iter().map(|it| (it["file"].as_str(), it["outcome"].as_str()));
        let mut listed: Vec<_> = listed.collect();
        listed.sort();
        let restored = |(name, ..): (&'static str, &str, &str)| (Some(name), Some("restored"));
        let mut expected = names.map(restored);
        expected.sort_unstable();
        assert_eq!(listed, expected, "{attempts}");
    }
}

#[test]
fn quarantine_follows_killed_and_background_commands() {
    let Some(test) = worker() else { return };
    test.write("try.sh", "mkdir -p sub; echo x > sub/agentry.toml; sleep 60\n");
    test.write("later.sh", "sleep 0.3; mkdir -p late; echo x > late/agentry.toml\n");
    let server = Server::answering(|asked| match asked.results.len() {
        0 => Turn::call("bash", json!({ "command": "sh try.sh", "timeout": 1 })).into(),
        // A background process would create it between two commands.
        1 => {
            let line = "setsid sh later.sh >/dev/null 2>&1 </dev/null & echo left";
            Turn::call("bash", json!({ "command": line })).into()
        }
        2 => Turn::call("bash", json!({ "command": "sleep 0.6; ls -d late" })).into(),
        _ => Turn::text("finished").into(),
    });
    with(&test, &server, &["run", "worker", "go", "--yes"]).exits(0);
    let results = results(&server);
    assert!(results[0].contains("`sub/agentry.toml` was moved away"), "{results:?}");
    assert!(!test.has("sub/agentry.toml"));
    assert_eq!(results[1], "left\n");
    assert!(results[2].contains("No such file"), "{results:?}");
    assert!(!test.has("late"));
}

/// Runs the program as an ordinary user.
fn as_user(command: &Command) -> Command {
    let mut out = Command::new("unshare");
    out.args(["-U", "--map-user=1000", "--map-group=1000", "--keep-caps", "setpriv"]);
    out.args(["--ambient-caps=-all", "--inh-caps=-all", "--bounding-set=-all"]);
    out.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    out.env_clear().current_dir(command.get_current_dir().expect("a directory"));
    out.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    out
}

/// A workspace with an agent whose commands an ordinary user can have confined here.
fn worker_of_user() -> Option<Test> {
    let test = worker()?;
    let mut doctor = test.command(["doctor", "--format", "json"]);
    let output_text = as_user(doctor.env("PATH", "/usr/bin:/bin")).output();
    let output_text = output_text.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    if output_text
        .as_ref()
        .is_ok_and(|output_text| output_text.contains("\"back_end\": \"namespaces\""))
    {
        return Some(test);
    }
    eprintln!("SKIPPED: an ordinary user cannot be tried here: {output_text:?}");
    None
}

/// A way to prevent a quarantine: a script, the messages, the name, and its content afterwards.
type Shut = (&'static str, &'static [&'static str], &'static str, Option<&'static str>);

const SHUT: &[Shut] = &[
    (
        "git init -q n; echo x > n/.git/hooks/pre-commit; chmod 755 n/.git/hooks/pre-commit\n\
         chmod 311 n/.git/hooks",
        &["`n/.git/hooks` was opened", "`n/.git/hooks/pre-commit` was moved away"],
        "n/.git/hooks/pre-commit",
        None,
    ),
    (
        "git init -q o; cp /bin/true o/.git/hooks/pre-commit; chmod 111 o/.git/hooks/pre-commit",
        &["`o/.git/hooks/pre-commit` was moved away"],
        "o/.git/hooks/pre-commit",
        None,
    ),
    (
        "git init -q p; echo '[core] fsmonitor = x' > p/.git/config; chmod 311 p/.git",
        &["`p/.git` was opened", "`p/.git/config` was moved away"],
        "p/.git/config",
        None,
    ),
    (
        "git init -q q; echo x > q/.git/hooks/post-merge; chmod 400 q/.git/hooks q/.git",
        &["`q/.git` was opened", "`q/.git/hooks/post-merge` was moved away"],
        "q/.git/hooks/post-merge",
        None,
    ),
    (
        "echo evil > sub/agentry.toml; chmod 0 sub/agentry.toml",
        &["`sub/agentry.toml` was put back"],
        "sub/agentry.toml",
        Some("# mine\n"),
    ),
    (
        "echo evil > sub/agentry.toml; chmod 555 sub",
        &["`sub/agentry.toml` was put back"],
        "sub/agentry.toml",
        Some("# mine\n"),
    ),
    (
        "chmod 755 sub; rm sub/agentry.toml; chmod 555 sub",
        &["`sub/agentry.toml` was put back"],
        "sub/agentry.toml",
        Some("# mine\n"),
    ),
    (
        "mkdir -p t/.claude; echo x > t/.claude/settings.json; chmod 555 t/.claude",
        &["`t/.claude` was moved away"],
        "t/.claude",
        None,
    ),
    (
        "mkdir -p t/u; echo x > t/u/agentry.toml; chmod 555 t/u",
        &["`t/u/agentry.toml` was moved away"],
        "t/u/agentry.toml",
        None,
    ),
    (
        "mkdir -p t/v; echo x > t/v/agentry.toml; chmod 444 t/v",
        &["`t/v` was opened", "`t/v/agentry.toml` was moved away"],
        "t/v/agentry.toml",
        None,
    ),
    (
        "echo x > drop/agentry.toml",
        &["`drop` was opened", "`drop/agentry.toml` was moved away"],
        "drop/agentry.toml",
        None,
    ),
    (
        "mkdir -p y; echo x > y/agentry.toml; chmod 311 .",
        &["`.` was opened", "`y/agentry.toml` was moved away"],
        "y/agentry.toml",
        None,
    ),
];

#[test]
fn unreadable_files_are_quarantined_too() {
    let Some(test) = worker_of_user() else { return };
    test.write("sub/agentry.toml", "# mine\n");
    fs::create_dir_all(test.path("drop")).expect("a directory");
    let shut = std::os::unix::fs::PermissionsExt::from_mode(0o311);
    fs::set_permissions(test.path("drop"), shut).expect("shut");
    for (at, (script, ..)) in SHUT.iter().enumerate() {
        test.write(format!("{at}.sh"), script);
    }
    let root = test.path("");
    let server = Server::answering(move |asked| {
        let at = asked.results.len();
        if let Some((script, _, name, expected)) = at.checked_sub(1).and_then(|at| SHUT.get(at)) {
            assert_eq!(fs::read_to_string(root.join(name)).ok().as_deref(), *expected, "{script}");
        }
        if at == SHUT.len() {
            return Reply::from(Turn::text("finished"));
        }
        Turn::call("bash", json!({ "command": format!("sh {at}.sh") })).into()
    });
    let command = keyed(&test, &server, &["run", "worker", "go", "--yes"]);
    let output = as_user(&command).output().expect("the program runs");
    test.ended("run", &output).exits(0);
    let results = results(&server);
    assert_eq!(results.len(), SHUT.len(), "{results:?}");
    for ((script, lines, ..), result) in SHUT.iter().zip(results) {
        lines.iter().for_each(|line| assert!(result.contains(line), "{script}: {result}"));
    }
}

#[test]
fn an_unreadable_directory_is_opened_for_quarantine() {
    let Some(test) = worker_of_user() else { return };
    let script = "mkdir -p a/b; echo x > a/b/agentry.toml; chmod 311 a/b a\n";
    test.write("try.sh", script);
    fs::create_dir_all(test.path("mine")).expect("a directory");
    let shut = std::os::unix::fs::PermissionsExt::from_mode(0o311);
    fs::set_permissions(test.path("mine"), shut).expect("shut");
    let server = model(&["sh try.sh"], |_| {});
    let command = keyed(&test, &server, &["run", "worker", "go", "--yes"]);
    let output = as_user(&command).output().expect("the program runs");
    test.ended("run", &output).exits(0);
    let result = results(&server).remove(0);
    for line in ["`a` was opened", "`a/b` was opened", "`a/b/agentry.toml` was moved away"] {
        assert!(result.contains(line), "{result}");
    }
    assert!(!result.contains("mine"), "{result}");
    assert!(!test.has("a/b/agentry.toml"));
}

#[test]
fn a_killed_run_is_reported_once_in_its_workspace() {
    let Some(test) = worker() else { return };
    let (server, slow) = (model(&["true"], |_| {}), model(&["touch ready; sleep 600"], |_| {}));
    let args = ["run", "worker", "go", "--yes", "--format", "json"];
    let mut command = keyed(&test, &slow, &args);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("started");
    wait_for(|| test.has("ready"));
    child.kill().expect("killed");
    let output_text = child.wait_with_output().expect("an end").stdout;
    let output_text = String::from_utf8_lossy(&output_text).into_owned();
    let first: Value =
        serde_json::from_str(output_text.lines().next().expect("a line")).expect("JSON");
    let id = first["id"].as_str().expect("text").to_owned();
    // The user's changes since then.
    let mine = [".mcp.json", ".vscode/settings.json", "worker.cassette.jsonl", "sub/agentry.toml"];
    mine.iter().for_each(|name| test.write(name, "\"mine\"\n"));
    let stays = || mine.iter().for_each(|name| assert_eq!(test.read(name), "\"mine\"\n", "{name}"));
    // A command that only reads reports nothing and changes nothing.
    for line in ["test worker", "runs", "show worker", "sandbox explain worker", "check"] {
        assert!(!test.run(line).stderr.contains(&id), "{line}");
        stays();
    }
    let replayed = with(&test, &server, &["run", "worker", "--replay", "worker.cassette.jsonl"]);
    assert!(!replayed.stderr.contains(&id), "{replayed}");
    // Another workspace of the same user.
    let other = worker().expect("it worked before");
    let mut elsewhere = keyed(&other, &server, &["run", "worker", "go", "--yes"]);
    let elsewhere = elsewhere.env("HOME", test.path("home")).output().expect("the program runs");
    assert!(!String::from_utf8_lossy(&elsewhere.stderr).contains("warning"), "{elsewhere:?}");
    stays();
    let ran = with(&test, &server, &["run", "worker", "go", "--yes"]).exits(0);
    for (name, what) in mine.iter().zip(["appeared", "was changed", "appeared", "appeared"]) {
        let line = format!("warning: `{name}` {what} since a command of the run `{id}` was killed");
        assert!(ran.stderr.contains(&line), "{line}: {ran}");
    }
    stays();
    // The receipt of the killed run lists them as well.
    let receipts = test.run("receipts list --format json").json();
    let killed = receipts.as_array().expect("receipts").iter().find(|it| it["run"] == *id);
    let killed = killed.expect("a receipt")["id"].as_str().expect("an id").to_owned();
    let receipt = test.run(&format!("receipts show {killed} --format json")).json();
    let first = &receipt["attempts"]["first"];
    assert_eq!(receipt["attempts"]["count"], 4, "{receipt}");
    assert_eq!((&first[0]["file"], &first[0]["outcome"]), (&json!(".mcp.json"), &json!("left")));
    for args in [["run", "worker", "go", "--yes"].as_slice(), &["resume", &id]] {
        let ran = with(&test, &server, args);
        assert!(!ran.stderr.contains("was killed"), "{ran}");
        stays();
    }
}
