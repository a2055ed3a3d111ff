//! `agentry runs`: the list and the story of runs, also of those by other processes.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::Arc;

use agentry_runtime::journal::{Journal, RunDescription};
use agentry_runtime::redact::Redactor;
use agentry_runtime::undo::BeforeImages;
use agentry_runtime::{
    CallClass, CallJudgement, ErrorStrategy, Message, MessageBlock, MessageRole, ModelTurn,
    RunEnding, RunEvent, RunLimits, TimedEvent, TokenUsage, ToolCall,
};
use serde_json::json;

use crate::test::Test;

const STARTED: u64 = 1_794_754_833_482;

fn about() -> RunDescription {
    RunDescription {
        agent: "agents/writer.agent".to_owned(),
        name: "writer".to_owned(),
        digest: "sha256:00".to_owned(),
        models: vec!["some/model".to_owned()],
        started: STARTED,
        ..RunDescription::default()
    }
}

/// A run in the home of a test.
fn create(test: &Test, about: &RunDescription) -> Journal {
    let home = test.path("home/.agentry");
    Journal::create(&home, about, Arc::new(Redactor::default())).expect("a journal")
}

fn turned(calls: &[&str]) -> RunEvent {
    let calls = calls.iter().map(|id| {
        let arguments = json!({"path": "a.txt"});
        MessageBlock::Call(ToolCall {
            id: (*id).to_owned(),
            tool: "write".to_owned(),
            arguments,
            opaque: None,
        })
    });
    let text = MessageBlock::Text { text: "I \u{1b}[31mwrite.\nNow".to_owned() };
    let blocks = std::iter::once(text).chain(calls).collect();
    let usage = TokenUsage { input: 900, cached: 0, output: 100, cost: Some(12_300) };
    let message = Message { role: MessageRole::Assistant, blocks };
    RunEvent::Turned(ModelTurn { message, usage, truncated: false, model: 0 })
}

/// A run with one call.
fn events() -> Vec<RunEvent> {
    let id = "call-1".to_owned();
    let (verdict, reason) = (CallJudgement::Allow, "edit `**`".to_owned());
    vec![
        RunEvent::Began {
            limits: RunLimits::default(),
            asks_at_limit: false,
            on_error: ErrorStrategy::Skip,
            on_error_is_written: true,
            models: 1,
            window: None,
        },
        RunEvent::UserSent { text: "write it".to_owned() },
        turned(&["call-1"]),
        RunEvent::Judged { id: id.clone(), verdict, reason, class: CallClass::Write },
        RunEvent::Started { id: id.clone() },
        RunEvent::Ended { id, text: "3 bytes\n".repeat(20), failed: false },
        turned(&[]),
    ]
}

fn append(journal: &mut Journal, events: &[RunEvent]) {
    for (number, event) in events.iter().enumerate() {
        let at = STARTED + 1_000 * u64::try_from(number).expect("few");
        journal.append(&TimedEvent { at, event: event.clone() }, false).expect("a row");
    }
}

#[test]
fn an_empty_run_list_is_reported() {
    insta::assert_snapshot!(Test::new().run("runs"), @r#"
    $ agentry runs
    --- stderr
    there are no runs
    --- exit 0
    "#);
    assert_eq!(Test::new().run("runs --format json").exits(0).json(), json!([]));
    let ran = Test::new().run("resume nowhere").exits(2);
    assert!(ran.stderr.contains("there are no runs yet"), "{ran}");
    insta::assert_snapshot!(Test::new().run("runs show last"), @r#"
    $ agentry runs show last
    --- stderr
    error: there is no run `last`
      = help: there are no runs yet: `agentry run AGENT` makes one
    --- exit 2
    "#);
}

#[test]
fn runs_are_listed_with_their_state() {
    let test = Test::new();
    let prompt = Some("write it\u{202e}\nand more".to_owned());
    let mut done = create(&test, &RunDescription { prompt, ..about() });
    append(&mut done, &events());
    done.finished(&RunEnding::Done).expect("a note");
    let mut killed = create(&test, &about());
    append(&mut killed, &events()[..5]);
    let mut parked = create(&test, &about());
    append(&mut parked, &events()[..2]);
    parked
        .finished(&RunEnding::Parked { question: "whether `write` may run".into() })
        .expect("a note");
    let running = create(&test, &RunDescription { name: "\u{202e}x".to_owned(), ..about() });
    let ids = [&done, &killed, &parked, &running].map(|journal| journal.id().to_owned());
    drop((done, killed, parked));
    let damaged = "20990101-000000-000-zzzz";
    test.write(format!("home/.agentry/runs/{damaged}/journal.db"), "x".repeat(200));
    let shown = ids.iter().enumerate().fold(test.run("runs").to_string(), |text, (number, id)| {
        text.replace(id, &format!("RUN-{number}"))
    });
    let receipts = test.run("receipts list --format json").exits(0).json();
    let receipts = receipts.as_array().expect("receipts").iter();
    let shown =
        receipts.fold(shown, |text, it| text.replace(it["id"].as_str().expect("an id"), "RECEIPT"));
    insta::assert_snapshot!(shown, @r#"
    $ agentry runs
    --- stdout
    run                       started               agent      outcome                          cost     receipt                      prompt
    RUN-2  2026-11-15T15:00:33Z  writer     parked: whether `write` may run           RECEIPT  write it
    RUN-0  2026-11-15T15:00:33Z  writer     done                             $0.0246  RECEIPT  write it\u{202e}
    RUN-1  2026-11-15T15:00:33Z  writer     interrupted                      $0.0123  RECEIPT  write it
    RUN-3  2026-11-15T15:00:33Z  \u{202e}x  running
    20990101-000000-000-zzzz                        ?          damaged: file is not a database
    --- exit 0
    "#);
    let list = test.run("runs --format json").exits(0).json();
    let receipt = list[1]["receipt"].as_str().expect("a receipt");
    let first = json!({
        "id": ids[0],
        "agent": "agents/writer.agent",
        "state": "done",
        "started": "2026-11-15T15:00:33Z",
        "prompt": "write it\u{202e}",
        "cost": 0.0246,
        "receipt": receipt,
    });
    assert_eq!(list[1], first);
    assert_eq!(list[0]["detail"], "whether `write` may run");
    let states: Vec<_> = list.as_array().expect("a list").iter().map(|run| &run["state"]).collect();
    assert_eq!(states, ["parked", "done", "interrupted", "running", "damaged"]);
}

#[test]
fn runs_show_prints_one_run() {
    let test = Test::new();
    let mut journal = create(&test, &about());
    append(&mut journal, &events());
    let id = journal.id().to_owned();
    drop(journal);
    let shown = |args: &str| test.run(args).to_string().replace(&id, "ID");
    insta::assert_snapshot!(shown("runs show last"), @r#"
    $ agentry runs show last
    --- stdout
    run      ID
    agent    writer (agents/writer.agent)
    digest   sha256:00
    state    done
    started  2026-11-15T15:00:33Z
    models   some/model
    spent    2 turns, 1 call, 2000 tokens, $0.0246, 5.0 s

    > write it
    I \u{1b}[31mwrite.
    Now
    * write {"path":"a.txt"} (call-1)
      call-1: allow (edit `**`)
      call-1: done
        3 bytes
        3 bytes
        3 bytes
        3 bytes
        3 bytes
        3 bytes
        3 bytes
        3 bytes
        3 bytes
        3 bytes
        3 bytes
        3 bytes
        … 8 more lines
    I \u{1b}[31mwrite.
    Now
    --- exit 0
    "#);
    let part = id.rsplit('-').next().expect("a part");
    let whole = test.run(&format!("runs show {part} --format json")).exits(0).json();
    assert_eq!((&whole["id"], &whole["state"]), (&json!(id), &json!("done")));
    assert_eq!(whole["spent"]["turns"], 2);
    assert_eq!(whole["events"].as_array().map(Vec::len), Some(7));
    insta::assert_snapshot!(shown("runs show nowhere"), @r#"
    $ agentry runs show nowhere
    --- stderr
    error: there is no run `nowhere`
      = help: `agentry runs` lists them
    --- exit 2
    "#);
    let database = test.path(format!("home/.agentry/runs/{id}/journal.db"));
    fs::write(database, "x".repeat(200)).expect("a file");
    insta::assert_snapshot!(shown("runs show last"), @r#"
    $ agentry runs show last
    --- stderr
    error: the journal of the run `ID` is damaged: file is not a database
      = help: `agentry runs prune` removes it with the other old ones
    --- exit 1
    "#);
}

#[test]
fn runs_tail_follows_until_the_process_ends() {
    let test = Test::new();
    let mut journal = create(&test, &about());
    append(&mut journal, &events()[..2]);
    let id = journal.id().to_owned();
    let mut command = test.command(["runs", "tail", "last", "--format", "json"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut next = |expected: &str| {
        let line = lines.next().expect("a line").expect("text");
        let event: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(event["event"]["type"], expected, "{line}");
    };
    next("began");
    next("said");
    append(&mut journal, &events()[2..3]);
    next("turned");
    drop(journal);
    let output = child.wait_with_output().expect("an end");
    let errors = String::from_utf8(output.stderr).expect("text");
    let expected = format!("no process runs it any more; `agentry resume {id}` continues it\n");
    assert_eq!((errors, output.status.code()), (expected, Some(0)));
}

#[test]
fn prune_removes_only_old_finished_runs() {
    let test = Test::new();
    let old =
        create(&test, &RunDescription { started: 1_600_000_000_000, ..about() }).id().to_owned();
    let held = create(&test, &RunDescription { started: 1_600_000_000_000, ..about() });
    let new =
        create(&test, &RunDescription { started: 4_000_000_000_000, ..about() }).id().to_owned();
    let shown = |args: &str| test.run(args).to_string().replace(&old, "OLD");
    insta::assert_snapshot!(shown("runs prune --older-than 30d --dry-run"), @r#"
    $ agentry runs prune --older-than 30d --dry-run
    --- stdout
    would remove OLD (writer, done)
    --- exit 0
    "#);
    insta::assert_snapshot!(shown("runs prune --older-than 30d"), @r#"
    $ agentry runs prune --older-than 30d
    --- stdout
    removed OLD (writer, done)
    --- exit 0
    "#);
    insta::assert_snapshot!(shown("runs prune --older-than 30d"), @r#"
    $ agentry runs prune --older-than 30d
    --- stderr
    there is nothing to remove
    --- exit 0
    "#);
    insta::assert_snapshot!(shown("runs prune --older-than 30"), @r#"
    $ agentry runs prune --older-than 30
    --- stderr
    error: invalid value '30' for '--older-than <AGE>': write a number and a unit: `30d`, `12h`, `45m`, `2w`

    For more information, try '--help'.
    --- exit 2
    "#);
    let left = test.run("runs --format json").exits(0).json();
    let left: Vec<_> = left.as_array().expect("a list").iter().map(|run| &run["id"]).collect();
    assert_eq!(left, [held.id(), &new]);
}

#[test]
fn undo_restores_changed_files() {
    let test = Test::new().file("a.txt", "before").file("b.txt", "before");
    let journal = create(&test, &about());
    let id = journal.id().to_owned();
    let images = BeforeImages::new(journal.images()).expect("images");
    for name in ["a.txt", "b.txt", "new/c.txt"] {
        images.keep(&test.path(name)).expect("an image");
        test.write(name, "after");
    }
    images.settle().expect("a note");
    test.write("b.txt", "theirs");
    let shown = |args: &str| test.run(args).to_string().replace(&id, "ID");
    let busy = shown("runs undo last").replace(&std::process::id().to_string(), "PID");
    insta::assert_snapshot!(busy, @r#"
    $ agentry runs undo last
    --- stderr
    error: the run `ID` is under way in process PID
      = help: wait for it, or end that process first
    --- exit 3
    "#);
    drop(journal);
    insta::assert_snapshot!(shown("runs undo last --dry-run"), @"
    $ agentry runs undo last --dry-run
    --- stdout
    would be restored: [DIR]/a.txt
    would be restored: [DIR]/new/c.txt
    --- stderr
    kept: [DIR]/b.txt: it was changed since
    `--force` restores those as well; later changes to them are lost
    --- exit 1
    ");
    assert_eq!(test.read("a.txt"), "after");
    insta::assert_snapshot!(shown("runs undo last"), @r#"
    $ agentry runs undo last
    --- stdout
    restored: [DIR]/a.txt
    restored: [DIR]/new/c.txt
    --- stderr
    kept: [DIR]/b.txt: it was changed since
    `--force` restores those as well; later changes to them are lost
    --- exit 1
    "#);
    assert_eq!((test.read("a.txt"), test.read("b.txt")), ("before".into(), "theirs".into()));
    assert!(!test.has("new"));
    insta::assert_snapshot!(shown("runs undo last --force"), @r#"
    $ agentry runs undo last --force
    --- stdout
    as it was: [DIR]/a.txt
    restored: [DIR]/b.txt
    as it was: [DIR]/new/c.txt
    --- exit 0
    "#);
    assert_eq!(test.read("b.txt"), "before");
    let none = create(&test, &about());
    drop(none);
    insta::assert_snapshot!(shown("runs undo last"), @r#"
    $ agentry runs undo last
    --- stderr
    no tool of the run changed a file
    --- exit 0
    "#);
}

#[test]
fn undo_reports_that_command_changes_stay() {
    let test = Test::new();
    let mut journal = create(&test, &about());
    let mut events = events();
    if let RunEvent::Turned(turn) = &mut events[2] {
        for block in &mut turn.message.blocks {
            if let MessageBlock::Call(call) = block {
                "bash".clone_into(&mut call.tool);
            }
        }
    }
    append(&mut journal, &events);
    drop(journal);
    insta::assert_snapshot!(test.run("runs undo last"), @r#"
    $ agentry runs undo last
    --- stderr
    no tool of the run changed a file
    the run ran commands: their changes to files are not recorded, and stay
    --- exit 0
    "#);
}

#[cfg(unix)]
#[test]
fn undo_refuses_a_directory_that_became_a_symlink() {
    let test = Test::new().file("d/key", "before").file("outside/x", "x");
    let journal = create(&test, &about());
    let images = BeforeImages::new(journal.images()).expect("images");
    images.keep(&test.path("d/key")).expect("an image");
    fs::remove_file(test.path("d/key")).expect("a file");
    images.settle().expect("a note");
    drop(journal);
    fs::remove_dir(test.path("d")).expect("a directory");
    std::os::unix::fs::symlink("outside", test.path("d")).expect("a link");
    for args in ["runs undo last --dry-run", "runs undo last", "runs undo last --force"] {
        insta::allow_duplicates! {
            let shown = test.run(args).to_string().replace(args, "runs undo");
            insta::assert_snapshot!(shown, @r#"
            $ agentry runs undo
            --- stderr
            refused: [DIR]/d/key: `[DIR]/d` has become a link
            --- exit 1
            "#);
        }
    }
    assert!(!test.has("outside/key"));
}

#[test]
fn a_misspelt_run_id_is_suggested() {
    let test = Test::new();
    let none = test.run("runs show nothing").exits(2);
    assert!(none.stderr.contains("= help: there are no runs yet"), "{none}");
    let id = create(&test, &about()).id().to_owned();
    let near = format!("{}x", id.strip_suffix(|_: char| true).expect("a name"));
    if near != id {
        for command in ["runs show", "runs tail", "runs undo", "resume"] {
            let ran = test.run(&format!("{command} {near}")).exits(2);
            let expected = format!("there is no run `{near}`\n  = help: did you mean `{id}`?");
            assert!(ran.stderr.contains(&expected), "{command}: {ran}");
        }
    }
    let far = test.run("runs show yesterday").exits(2);
    assert!(far.stderr.contains("= help: `agentry runs` lists them"), "{far}");
}

#[test]
fn every_event_of_a_journal_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/events.md");
    let page = fs::read_to_string(page).expect("a page");
    let (_, page) = page.split_once("## What a journal holds").expect("a section");
    let error = serde_json::from_value::<RunEvent>(json!({"type": "none"})).expect_err("no event");
    let error = error.to_string();
    let (_, known) = error.split_once("expected one of ").expect("a list");
    let names: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    assert!(names.len() > 10, "{error}");
    for name in names {
        assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
    }
}
