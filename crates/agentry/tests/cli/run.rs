//! `run`, `resume`, `consent` and `test`, against a model on loopback.

use std::fs::File;
use std::process::Command;

use serde_json::{Value, json};

use crate::server::{Protocol, Reply, Server, Turn};
use crate::test::{Ran, Test};

/// An agent that may write `out.txt`, asks about other files and may run nothing.
pub(crate) const WRITER: &str = "name = \"writer\"\ndescription = \"Writes files\"\n\n\
    [permissions.edit]\nintent = \"ask\"\nrules = [\"out.txt:allow\", \"secret/**:deny\"]\n\n\
    [permissions.bash]\nintent = \"deny\"\n";

pub(crate) fn writer() -> Test {
    Test::new()
        .file("writer/agent.toml", WRITER)
        .file("writer/system-prompt.md", "You write files.\n")
}

pub(crate) fn write(path: &str) -> Turn {
    Turn::call("write", json!({ "path": path, "content": "hello\n" }))
}

/// The program with a key and the server as its provider.
pub(crate) fn keyed(test: &Test, server: &Server, args: &[&str]) -> Command {
    let mut command = test.command(args);
    command.env("ANTHROPIC_API_KEY", "key-of-the-test").env("PATH", "/usr/bin:/bin");
    command.env("ANTHROPIC_BASE_URL", server.base(Protocol::Anthropic));
    command
}

/// Runs that program.
pub(crate) fn with(test: &Test, server: &Server, args: &[&str]) -> Ran {
    let output = keyed(test, server, args).output().expect("the program runs");
    test.ended(&args.join(" "), &output)
}

/// The events of a run with `--format json`.
pub(crate) fn events(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_run_writes_its_file_and_prints_the_answer() {
    let server = Server::playing([write("out.txt").into(), Turn::text("All done.").into()]);
    let test = writer();
    let ran = with(&test, &server, &["run", "writer", "write it", "--yes"]).exits(0);
    assert_eq!(ran.stdout, "All done.\n");
    assert_eq!(test.read("out.txt"), "hello\n");
    assert!(ran.stderr.contains("write path=out.txt content=hello⏎  allow"), "{ran}");
    let asked = server.asked();
    assert_eq!(asked[0].user_texts, ["write it"]);
    let shown = test.run("show writer --prompt --format json").json();
    let parts: Vec<&str> =
        shown.as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap()).collect();
    let sent = test.filtered(&asked[0].system);
    assert_eq!(sent, parts.join("\n\n"), "what is shown is what is sent");
    let runs = test.run("runs --format json").json();
    assert!(runs[0]["agent"].as_str().unwrap().ends_with("/writer"), "{runs}");
}

#[test]
fn a_run_without_consent_is_refused() {
    let server = Server::playing([Turn::text("Hello.").into()]);
    let test = writer();
    let ran = with(&test, &server, &["run", "writer", "hi"]).exits(3);
    for line in ["allow `out.txt`", "deny `secret/**`", "there is no consent"] {
        assert!(ran.stderr.contains(line), "{line}: {ran}");
    }
    assert_eq!(server.count(), 0);
    with(&test, &server, &["run", "writer", "hi", "--yes"]).exits(0);
    with(&test, &server, &["run", "writer", "hi"]).exits(0);
    let listed = test.run("consent list --format json").json();
    assert_eq!(listed[0]["name"], "writer");
    // Changed instructions make it another agent.
    test.write("writer/system-prompt.md", "You write many files.\n");
    with(&test, &server, &["run", "writer", "hi"]).exits(3);
    test.write("writer/system-prompt.md", "You write files.\n");
    let near = test.run("consent revoke writr").exits(1);
    assert!(near.stderr.ends_with("  = help: did you mean `writer`?\n"), "{near}");
    test.run("consent revoke writer").exits(0);
    with(&test, &server, &["run", "writer", "hi"]).exits(3);
    test.run("consent revoke writer").exits(1);
}

/// A cost limit is a hard stop: a model without a known price is not asked.
#[test]
fn a_cost_limit_needs_a_known_price() {
    let server = Server::playing([Turn::text("Hello.").into(), Turn::text("Hello.").into()]);
    let test = writer();
    let args = ["run", "writer", "hi", "--yes", "--model", "anthropic/made-up"];
    let ran = with(&test, &server, &[&args[..], &["--max-cost", "1"]].concat()).exits(3);
    let expected = "`--max-cost` cannot be kept: no price is known for `anthropic/made-up`";
    assert!(ran.stderr.contains(expected), "{ran}");
    assert_eq!(server.count(), 0);
    with(&test, &server, &args).exits(0);
}

#[test]
fn an_unmet_start_condition_sends_no_request() {
    let agent = |metadata: &str| {
        format!("---\ntitle: Helper\ndescription: Helps\n{metadata}---\n\n## System\n\nYou help.\n")
    };
    let cases = [
        ("status: disabled\n", "its status is `disabled`"),
        ("required:\n  env: [SOME_TOKEN]\n", "it needs `SOME_TOKEN`, which is not set"),
    ];
    for (metadata, expected) in cases {
        let server = Server::playing([]);
        let test = Test::new().file("agents/team_helper.agent.md", agent(metadata));
        let args = ["run", "agents/team_helper.agent.md", "hi", "--yes"];
        let ran = with(&test, &server, &args).exits(3);
        assert!(ran.stderr.contains(expected), "{ran}");
        assert_eq!(server.count(), 0, "{metadata}");
        let ran = test.run("run agents/team_helper.agent.md hi --yes").exits(3);
        assert!(ran.stderr.contains(expected), "without a model: {ran}");
    }
}

#[test]
fn an_oversized_prompt_is_refused() {
    let (server, test) = (Server::playing([]), writer());
    let mut command = keyed(&test, &server, &["run", "writer", "--yes"]);
    test.write("long", "a".repeat(1024 * 1024 + 1));
    let output = command.stdin(File::open(test.path("long")).expect("a file")).output();
    let ran = test.ended("run writer --yes < long", &output.expect("the program runs")).exits(2);
    assert!(ran.stderr.contains("is longer than 1 MiB"), "{ran}");
}

#[test]
fn a_denied_required_variable_refuses_the_run() {
    let agent = "---\ntitle: Helper\ndescription: Helps\nrequired:\n  env: [SOME_TOKEN]\n---\n\n\
        ## System\n\nYou help.\n";
    let server = Server::playing([]);
    let test =
        Test::new().env("SOME_TOKEN", "1234567890").file("agents/team_helper.agent.md", agent);
    let args = ["run", "agents/team_helper.agent.md", "hi", "--yes"];
    with(&test, &server, &args).exits(0);
    let asked = server.count();
    test.write("home/.config/agentry/config.toml", "[policy.env]\nrules = [\"SOME_*:deny\"]\n");
    let ran = with(&test, &server, &args).exits(3);
    assert!(ran.stderr.contains("it needs `SOME_TOKEN`, which its policy denies"), "{ran}");
    assert_eq!(server.count(), asked);
}

#[test]
fn denials_are_returned_to_the_model() {
    let turn = write("secret/a").and_call("write", json!({ "path": "b", "content": "x" }));
    let server = Server::playing([turn.into(), Turn::text("I could not.").into()]);
    let test = writer();
    let args = ["run", "writer", "go", "--yes", "--format", "json"];
    let ran = with(&test, &server, &args).exits(0);
    let events = events(&ran);
    assert_eq!(events.first().unwrap()["type"], "run");
    assert_eq!(events.last().unwrap()["type"], "ended");
    assert_eq!(events.last().unwrap()["state"], "done");
    let verdicts: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "call")
        .map(|event| event["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["deny", "ask"]);
    let results = &server.asked()[1].results;
    assert!(results[0].1.contains("refused: edit"), "{results:?}");
    assert!(results[1].1.contains("no user is present to answer"), "{results:?}");
    assert!(!test.has("b") && !test.has("secret"));
}

#[test]
fn a_parked_run_is_resumed() {
    let turn = write("out.txt").and_call("write", json!({ "path": "b", "content": "x" }));
    let server = Server::playing([turn.into(), Turn::text("Done.").into()]);
    let test = writer();
    let args = ["run", "writer", "go", "--yes", "--on-ask", "park"];
    let ran = with(&test, &server, &args).exits(3);
    assert!(ran.stderr.contains("the run waits for an answer"), "{ran}");
    assert_eq!(server.count(), 1);
    assert!(ran.stderr.contains("agentry resume"), "{ran}");
    let id = test.run("runs --format json").json()[0]["id"].as_str().unwrap().to_owned();
    // A script that resumes the run has not answered either.
    let ran = with(&test, &server, &["resume", &id]).exits(3);
    assert!(ran.stderr.contains("the run waits for an answer"), "{ran}");
    let ran = with(&test, &server, &["resume", &id, "--on-ask", "deny"]).exits(0);
    assert_eq!(ran.stdout, "Done.\n", "{ran}");
    assert_eq!(server.count(), 2, "the first answer was not asked for again");
    assert_eq!(test.read("out.txt"), "hello\n");
    let results = &server.asked()[1].results;
    assert!(results[1].1.contains("no user is present to answer"), "{results:?}");
    // A changed agent does not continue the run.
    test.write("writer/system-prompt.md", "You obey.\n");
    with(&test, &server, &["resume", &id, "more"]).exits(3);
}

#[test]
fn limits_end_a_run() {
    let server = Server::answering(|_| write("out.txt").into());
    let test = writer();
    let args = ["run", "writer", "go", "--yes", "--max-steps", "3"];
    let ran = with(&test, &server, &args).exits(3);
    assert!(ran.stderr.contains("limit of 3 steps"), "{ran}");
    assert!(ran.stderr.contains("--max-steps N` continues it with a higher limit"), "{ran}");
}

#[test]
fn the_time_limit_ends_a_silent_run() {
    let server = Server::answering(|_| Reply::Silent);
    let test = Test::new().file("late.agent", LATE);
    let ran = with(&test, &server, &["run", "late.agent", "go", "--yes", "--max-time", "1s"]);
    let ran = ran.exits(3);
    assert!(ran.stderr.contains("limit of 1 s"), "{ran}");
}

const LATE: &str = "name: late\nrole: Waits\nobservability:\n  on_exceed: ask\n";

#[test]
fn a_model_that_fails_fails_the_run() {
    let server = Server::answering(|_| Reply::status(401));
    let test = writer();
    let ran = with(&test, &server, &["run", "writer", "go", "--yes"]).exits(1);
    assert!(ran.stderr.contains("the run failed"), "{ran}");
    let id = test.run("runs --format json").json()[0]["id"].as_str().unwrap().to_owned();
    let shown = test.run(&format!("runs show {id}")).exits(0);
    assert!(shown.stdout.contains("! anthropic/"), "{shown}");
    assert!(!ran.to_string().contains("key-of-the-test"), "{ran}");
}

#[test]
fn a_recorded_run_is_replayed_and_tested() {
    let turn = write("out.txt").and_call("read", json!({ "path": "notes.txt" }));
    let server = Server::playing([turn.into(), Turn::text("All done.").into()]);
    let test = writer().file("notes.txt", "key-of-the-test\n");
    let cassette = "writer.cassette.jsonl";
    let args = ["run", "writer", "write it", "--yes", "--record", cassette];
    with(&test, &server, &args).exits(0);
    let asked = server.count();
    assert!(!test.read(cassette).contains("key-of-the-test"), "{}", test.read(cassette));
    std::fs::remove_file(test.path("out.txt")).unwrap();
    // Without a key, the cassette beside the agent is played.
    let ran = test.run("run writer").exits(0);
    assert_eq!(ran.stdout, "All done.\n");
    assert!(ran.stderr.contains("playing the recorded run `writer.cassette.jsonl`"), "{ran}");
    assert!(!test.has("out.txt"), "nothing is executed");
    assert_eq!(server.count(), asked);
    let ran = test.run_args(&["run", "writer", "something else"]).exits(1);
    assert!(ran.stderr.contains("without a prompt, the recorded run is played"), "{ran}");
    // A user who names a model does not want a recording.
    let ran = test.run("run writer --model anthropic/claude-sonnet-4-5").exits(1);
    assert!(ran.stderr.starts_with("error: no model can be used for `writer`\n  "), "{ran}");
    assert!(!ran.stderr.contains("cassette"), "{ran}");
    let summary = test.run("test --format json").exits(0).json();
    assert_eq!(summary["summary"], json!({ "tests": 1, "failed": 0 }));
    let changes = [
        ("writer/system-prompt.md", "You obey.\n".to_owned(), "the system prompt is another one"),
        ("writer/agent.toml", WRITER.replace("out.txt:allow", "out.txt:deny"), "the verdict"),
        (
            "writer/agent.toml",
            format!("{WRITER}\n[permissions.webfetch]\nintent = \"deny\"\n"),
            "the model is given other tools",
        ),
    ];
    for (path, text, expected) in changes {
        let before = test.read(path);
        test.write(path, &text);
        let ran = test.run("test").exits(1);
        assert!(ran.stdout.contains(expected), "{expected}: {ran}");
        assert!(ran.stdout.contains("1 of 1 tests failed"), "{ran}");
        test.run(&format!("run writer --replay {cassette}")).exits(1);
        test.write(path, before);
    }
}

#[test]
fn an_unused_cassette_is_reported() {
    let test = writer().file("writer/go.cassette.jsonl", "").file("notes/x.cassette.jsonl", "");
    let ran = test.run("test").exits(1);
    let line = "`writer/go.cassette.jsonl` is not played: a cassette is looked for as \
                `writer.cassette.go.jsonl`";
    assert!(ran.stderr.contains(line), "{ran}");
    assert!(!ran.stderr.contains("notes/"), "{ran}");
    std::fs::remove_file(test.path("writer/go.cassette.jsonl")).unwrap();
    test.write("go.cassette.jsonl", "");
    let ran = test.run("test writer").exits(1);
    assert!(ran.stderr.contains("as `writer.cassette.go.jsonl`"), "{ran}");
    // It may belong to another agent.
    test.write("go.agent.md", "");
    let ran = test.run("test writer").exits(0);
    assert_eq!(ran.stderr, "", "{ran}");
}

#[test]
fn failed_runs_are_replayed_too() {
    let test = writer();
    let cassette = "writer.cassette.jsonl";
    let cases: [(&[&str], i32, Reply); 3] = [
        (&["--max-steps", "3"], 3, write("out.txt").into()),
        (&[], 1, Reply::status(401)),
        (&["--max-time", "1s"], 3, Reply::Silent),
    ];
    for (more, code, reply) in cases {
        let server = Server::answering(move |_| reply.clone());
        let args = [&["run", "writer", "go", "--yes", "--record", cassette], more].concat();
        with(&test, &server, &args).exits(code);
        test.run(&format!("run writer --replay {cassette}")).exits(code);
        let ran = test.run("test").exits(0);
        assert!(ran.stdout.contains("1 test passed"), "{ran}");
    }
}

#[test]
fn a_compacted_run_is_replayed() {
    let server = Server::playing([
        write("out.txt").into(),
        write("out.txt").into(),
        write("out.txt").used(190_000, 0, 10).into(),
        Turn::text("Three times the same.").into(),
        Turn::text("All done.").into(),
    ]);
    let test = writer();
    let cassette = "writer.cassette.jsonl";
    let args = ["run", "writer", "go", "--yes", "--record", cassette];
    let ran = with(&test, &server, &args).exits(0);
    assert!(ran.stderr.contains("messages were compacted"), "{ran}");
    let ran = test.run(&format!("run writer --replay {cassette}")).exits(0);
    assert_eq!(ran.stdout, "All done.\n", "{ran}");
    assert!(test.run("test").exits(0).stdout.contains("1 test passed"));
}

#[test]
fn without_a_model_the_missing_keys_are_listed() {
    let ran = writer().run("run writer hi").exits(1);
    for words in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "writer.cassette.*"] {
        assert!(ran.stderr.contains(words), "{words}: {ran}");
    }
}

#[test]
fn an_unwritable_recording_path_is_refused_before_the_run() {
    let server = Server::playing([Turn::text("Hello.").into()]);
    let test = writer().file("agentry.toml", "# ours\n");
    for (place, why) in [
        ("missing/x.jsonl", "nothing can be recorded to `missing/x.jsonl`"),
        ("agentry.toml", "it is not a cassette, and is not replaced by one"),
    ] {
        let ran =
            with(&test, &server, &["run", "writer", "hi", "--yes", "--record", place]).exits(2);
        assert!(ran.stderr.contains(why), "{ran}");
    }
    assert_eq!((server.count(), test.read("agentry.toml").as_str()), (0, "# ours\n"));
}

#[test]
fn tools_never_write_files_that_programs_run() {
    let patch = "*** Begin Patch\n*** Update File: run.sh\n*** Move to: .git/hooks/pre-commit\n\
                 -a\n+b\n*** End Patch";
    let config = json!({ "path": ".git/config", "content": "[core]\nfsmonitor = x\n" });
    let server = Server::playing([
        Turn::call("write", config).into(),
        Turn::call("apply_patch", json!({ "patch": patch })).into(),
        Turn::call("glob", json!({ "pattern": "**" })).into(),
        Turn::text("Done.").into(),
    ]);
    let agent = "name = \"writer\"\ndescription = \"Writes files\"\n\n[permissions.edit]\n\
                 intent = \"allow\"\n\n[permissions.read]\nintent = \"allow\"\n";
    let test = writer().file("writer/agent.toml", agent).file("run.sh", "a\n");
    let test = test.file(".git/config", "[core]\n").file(".git/hooks/x", "");
    let args = ["run", "writer", "hi", "--yes", "--format", "json"];
    let ran = with(&test, &server, &args).exits(0);
    let of = |kind: &str| -> Vec<Value> {
        events(&ran).into_iter().filter(|event| event["type"] == kind).collect()
    };
    let verdicts: Vec<Value> = of("call").iter().map(|call| call["verdict"].clone()).collect();
    assert_eq!(verdicts, ["deny", "deny", "allow"], "{ran}");
    // The home of these tests lies in the workspace.
    assert!(test.has("home/.agentry/runs"));
    assert_eq!(of("result")[0]["text"], "run.sh\nwriter/agent.toml\nwriter/system-prompt.md\n");
    assert_eq!(
        (test.read(".git/config").as_str(), test.read("run.sh").as_str()),
        ("[core]\n", "a\n")
    );
    assert!(!test.has(".git/hooks/pre-commit"));
}

#[cfg(not(feature = "otel"))]
#[test]
fn tracing_without_the_otel_feature_warns() {
    let server = Server::playing([Turn::text("Done.").into(), Turn::text("Done.").into()]);
    let test = writer();
    let quiet = with(&test, &server, &["run", "writer", "go", "--yes"]).exits(0);
    assert!(!quiet.stderr.contains("telemetry"), "{quiet}");
    let args = ["run", "writer", "go", "--yes"];
    let mut command = keyed(&test, &server, &args);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    let ran = test.ended("run", &command.output().expect("the program runs")).exits(0);
    let note = "note: `OTEL_EXPORTER_OTLP_ENDPOINT` is set, and this program was built without telemetry\n  \
        = help: install it with `--features otel`\n";
    assert_eq!(ran.stderr.matches(note).count(), 1, "{ran}");
}

/// A secret in the prompt is masked, and the user is told so.
#[test]
fn a_masked_secret_in_the_prompt_is_reported() {
    let server = Server::playing([Turn::text("Hello.").into(), Turn::text("Hello.").into()]);
    let test = writer();
    let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    test.write("writer/system-prompt.md", format!("Use {token}.\n"));
    let ran = with(&test, &server, &["run", "writer", "hi", "--yes"]).exits(0);
    let note = "note: a secret in `writer/system-prompt.md:1` is sent to the model as `***`";
    assert!(ran.stderr.contains(note), "{ran}");
    assert!(server.asked()[0].system.starts_with("Use ***."), "{:?}", server.asked()[0].system);
    test.write("writer/system-prompt.md", "Use nothing.\n");
    let ran = with(&test, &server, &["run", "writer", "hi", "--yes"]).exits(0);
    assert!(!ran.stderr.contains("a secret in"), "{ran}");
}
