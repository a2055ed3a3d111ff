use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::budget::RunLimits;
use crate::conversation::{Message, MessageBlock, MessageRole, TokenUsage, ToolCall};
use crate::event::{
    ApprovalAnswer, CallClass, CallJudgement, ModelFailure, ModelFailureKind, ModelTurn, RunEvent,
};
use crate::redact::KnownSecret;
use crate::state::ErrorStrategy;

const NOW: u64 = 1_794_754_833_482;

fn about() -> RunDescription {
    RunDescription {
        agent: "agents/writer.agent".to_owned(),
        name: "writer".to_owned(),
        started: NOW,
        pid: 7,
        settings: super::RunSettings { unconfined: true, ..super::RunSettings::default() },
        ..RunDescription::default()
    }
}

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::new(KnownSecret::new("KEY", "hunter2hunter2")))
}

fn happened(events: impl IntoIterator<Item = RunEvent>) -> Vec<TimedEvent> {
    let timed = events.into_iter().zip(NOW..);
    timed.map(|(event, at)| TimedEvent { at, event }).collect()
}

/// Returns one event of every kind.
fn all() -> Vec<TimedEvent> {
    let call = ToolCall {
        id: "a".to_owned(),
        tool: "write".to_owned(),
        arguments: json!({"n": 1}),
        opaque: None,
    };
    let usage = TokenUsage { input: 10, cached: 2, output: 3, cost: Some(4) };
    let blocks = vec![
        MessageBlock::Thinking { text: "hm".to_owned(), opaque: Some(json!({"signature": "x"})) },
        MessageBlock::Call(call),
    ];
    let message = Message { role: MessageRole::Assistant, blocks };
    let failure = ModelFailure::new(ModelFailureKind::Temporary, "no").after(5);
    let limits = RunLimits { steps: Some(5), ..RunLimits::default() };
    let id = "a".to_owned();
    happened([
        RunEvent::Began {
            limits,
            asks_at_limit: true,
            on_error: ErrorStrategy::Ask,
            on_error_is_written: true,
            models: 2,
            window: None,
        },
        RunEvent::UserSent { text: "hi\u{0}\n\u{1F600}".to_owned() },
        RunEvent::TurnFailed(failure),
        RunEvent::Waited,
        RunEvent::Turned(ModelTurn { message, usage, truncated: false, model: 1 }),
        RunEvent::Judged {
            id: id.clone(),
            verdict: CallJudgement::Ask,
            reason: "rule".to_owned(),
            class: CallClass::Write,
        },
        RunEvent::Answered {
            id: Some(id.clone()),
            answer: ApprovalAnswer::No(Some("why".to_owned())),
        },
        RunEvent::Answered { id: None, answer: ApprovalAnswer::Park },
        RunEvent::Started { id: id.clone() },
        RunEvent::Ended { id, text: "done".to_owned(), failed: true },
        RunEvent::Compacted { messages: 2, summary: "short".to_owned(), usage },
        RunEvent::Cancelled { run: true },
        RunEvent::Resumed,
    ])
}

fn write(home: &Path, events: &[TimedEvent]) -> String {
    let mut journal = Journal::create(home, &about(), redactor()).expect("a journal");
    for (number, event) in events.iter().enumerate() {
        journal.append(event, number % 2 == 0).expect("a row");
    }
    journal.id().to_owned()
}

#[test]
fn journaled_events_are_read_back() {
    let home = TempDir::new().expect("a directory");
    let id = write(home.path(), &all());
    let (mut journal, found, events) =
        Journal::open(home.path(), &id, redactor()).expect("a journal");
    assert_eq!((found, events), (about(), all()));
    journal.append(&happened([RunEvent::Resumed])[0], true).expect("a row");
    drop(journal);
    let (_, _, events) = Journal::open(home.path(), &id, redactor()).expect("a journal");
    assert_eq!(events.len(), all().len() + 1);
}

#[test]
fn secrets_are_redacted_in_the_journal() {
    let home = TempDir::new().expect("a directory");
    let description = RunDescription { prompt: Some("use hunter2hunter2".to_owned()), ..about() };
    let mut journal = Journal::create(home.path(), &description, redactor()).expect("a journal");
    let text = "my key is hunter2hunter2, and ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8".to_owned();
    journal.append(&happened([RunEvent::UserSent { text }])[0], false).expect("a row");
    let ending = RunEnding::Failed { why: "hunter2hunter2 was refused".to_owned() };
    journal.finished(&ending).expect("a note");
    let id = journal.id().to_owned();
    let bytes = |journal: &Journal| {
        let files = fs::read_dir(journal.directory()).expect("files");
        files.flat_map(|file| fs::read(file.expect("a file").path()).expect("bytes")).collect()
    };
    let bytes: Vec<u8> = bytes(&journal);
    for secret in ["hunter2hunter2", "ghp_a1B2"] {
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{secret}");
    }
    drop(journal);
    let (_, about, events) = Journal::open(home.path(), &id, redactor()).expect("a journal");
    assert_eq!(about.prompt.as_deref(), Some("use [redacted: KEY]"));
    let text = "my key is [redacted: KEY], and [redacted: a GitHub token]".to_owned();
    assert_eq!(events, happened([RunEvent::UserSent { text }]));
}

#[test]
fn a_journal_is_locked_by_one_process() {
    let home = TempDir::new().expect("a directory");
    let journal = Journal::create(home.path(), &about(), redactor()).expect("a journal");
    let error = Journal::open(home.path(), journal.id(), redactor()).expect_err("it is held");
    let expected =
        format!("the run `{}` is under way in process {}", journal.id(), std::process::id());
    assert_eq!(error.to_string(), expected);
    assert_eq!(summary(home.path(), journal.id()).expect("a run").state, RunState::Running);
    let id = journal.id().to_owned();
    drop(journal);
    Journal::open(home.path(), &id, redactor()).expect("it is free");
}

#[test]
fn run_ids_stay_sorted_when_the_clock_goes_back() {
    let home = TempDir::new().expect("a directory");
    let times = [NOW, NOW, NOW - 86_400_000, NOW - 5, NOW + 1, 0];
    let made = times.map(|started| {
        let about = RunDescription { started, ..about() };
        Journal::create(home.path(), &about, redactor()).expect("a journal").id().to_owned()
    });
    assert!(made.is_sorted_by(|a, b| a < b), "{made:?}");
    let listed: Vec<String> =
        list(home.path()).expect("a list").into_iter().map(|summary| summary.id).collect();
    assert_eq!(listed, made);
}

#[test]
fn runs_are_found_by_parts_of_their_names() {
    let home = TempDir::new().expect("a directory");
    for id in ["20261115-150033-482-k7f3", "20261115-160033-482-aaaa", "20261116-150033-482-k7f3"] {
        fs::create_dir_all(runs(home.path()).join(id)).expect("a directory");
    }
    let cases = [
        ("20261115-150033-482-k7f3", "20261115-150033-482-k7f3"),
        ("aaaa", "20261115-160033-482-aaaa"),
        ("20261116", "20261116-150033-482-k7f3"),
        ("last", "20261116-150033-482-k7f3"),
        ("k7f3", "`k7f3` may be 20261115-150033-482-k7f3, 20261116-150033-482-k7f3"),
        ("zzzz", "there is no run `zzzz`"),
        ("../runs", "there is no run `../runs`"),
        ("", "there is no run ``"),
    ];
    for (given, expected) in cases {
        let found = find(home.path(), given).unwrap_or_else(|error| error.to_string());
        assert_eq!(found, expected, "{given}");
    }
}

#[test]
fn a_damaged_journal_is_an_error_with_a_reason() {
    let home = TempDir::new().expect("a directory");
    let id = write(home.path(), &all());
    let path = runs(home.path()).join(&id).join("journal.db");
    let whole = fs::read(&path).expect("a journal");
    let sql = |sql: &str| {
        let database = Connection::open(&path).expect("a database");
        database.execute_batch(sql).expect("a change");
    };
    let error = || {
        let error = Journal::open(home.path(), &id, redactor()).expect_err("it is damaged");
        error.to_string().replace(&id, "ID")
    };
    let cases: [(&str, &dyn Fn(), &str); 8] = [
        (
            "written by a later program",
            &|| sql("PRAGMA user_version = 9"),
            "the journal of the run `ID` has format 9; this program knows format 1 and older ones",
        ),
        (
            "another database",
            &|| sql("PRAGMA application_id = 1"),
            "the journal of the run `ID` is damaged: `journal.db` is not a journal",
        ),
        (
            "a row is missing",
            &|| sql("DELETE FROM events WHERE seq = 3"),
            "the journal of the run `ID` is damaged: row 3 is missing",
        ),
        (
            "an event that nobody knows",
            &|| sql("UPDATE events SET kind = 'x', data = '{\"type\":\"x\"}' WHERE seq = 2"),
            "the journal of the run `ID` is damaged: row 2 (`x`): unknown variant `x`",
        ),
        (
            "no database",
            &|| fs::write(&path, "something else, as long as a header is long").expect("a file"),
            "the journal of the run `ID` is damaged: file is not a database",
        ),
        ("empty", &|| fs::write(&path, "").expect("a file"), "the run `ID` never began"),
        (
            "killed while it was made",
            &|| {
                fs::remove_file(&path).expect("a file");
                sql("PRAGMA journal_mode = WAL");
            },
            "the run `ID` never began",
        ),
        ("gone", &|| fs::remove_file(&path).expect("a file"), "the run `ID` never began"),
    ];
    for (case, change, expected) in cases {
        fs::write(&path, &whole).expect("a file");
        change();
        let found = error();
        assert!(found.starts_with(expected), "{case}: {found}");
    }
}

/// A damaged page is reported, and never makes the program panic.
#[test]
fn damaged_journal_pages_never_panic() {
    let home = TempDir::new().expect("a directory");
    let id = write(home.path(), &all());
    let path = runs(home.path()).join(&id).join("journal.db");
    let whole = fs::read(&path).expect("a journal");
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        for byte in bytes.iter_mut().skip(at).take(40) {
            *byte ^= 0x5a;
        }
        fs::write(&path, &bytes).expect("a file");
        if let Ok((_, _, events)) = Journal::open(home.path(), &id, redactor()) {
            assert!(events.len() == all().len(), "at {at}: {} events", events.len());
        }
        let _ = summary(home.path(), &id);
    }
}

#[test]
fn the_state_of_a_run_is_read_from_its_events() {
    let began = || all().remove(0);
    let message_event =
        || TimedEvent { at: NOW, event: RunEvent::UserSent { text: "hi".to_owned() } };
    let turned = || {
        let message = Message { role: MessageRole::Assistant, blocks: Vec::new() };
        let turn = ModelTurn { message, usage: TokenUsage::default(), truncated: false, model: 0 };
        TimedEvent { at: NOW, event: RunEvent::Turned(turn) }
    };
    let cancelled = || TimedEvent { at: NOW, event: RunEvent::Cancelled { run: true } };
    let cases = [
        (vec![began(), message_event(), turned()], RunState::Done),
        (vec![began(), message_event()], RunState::Interrupted),
        (vec![began(), message_event(), cancelled()], RunState::Cancelled),
        (vec![], RunState::Done),
    ];
    for (events, expected) in cases {
        let home = TempDir::new().expect("a directory");
        let id = write(home.path(), &events);
        let found = summary(home.path(), &id).expect("a run");
        assert_eq!((found.state, found.about), (expected, about()), "{events:?}");
    }
}

#[test]
fn a_finished_note_counts_until_the_next_event() {
    let home = TempDir::new().expect("a directory");
    let mut journal = Journal::create(home.path(), &about(), redactor()).expect("a journal");
    let id = journal.id().to_owned();
    for event in all().iter().take(2) {
        journal.append(event, false).expect("a row");
    }
    journal.finished(&RunEnding::Parked { question: "may it?".to_owned() }).expect("a note");
    drop(journal);
    let found = summary(home.path(), &id).expect("a run");
    assert_eq!((found.state, found.detail.as_deref()), (RunState::Parked, Some("may it?")));
    let (mut journal, ..) = Journal::open(home.path(), &id, redactor()).expect("a journal");
    journal.append(&happened([RunEvent::Resumed])[0], false).expect("a row");
    drop(journal);
    assert_eq!(summary(home.path(), &id).expect("a run").state, RunState::Interrupted);
}

#[test]
fn another_process_can_follow_a_journal() {
    let home = TempDir::new().expect("a directory");
    let mut journal = Journal::create(home.path(), &about(), redactor()).expect("a journal");
    let (mut follow, found) = JournalFollower::open(home.path(), journal.id()).expect("a journal");
    assert_eq!((found, follow.more().expect("rows")), (about(), Vec::new()));
    for event in all() {
        journal.append(&event, false).expect("a row");
        assert_eq!(follow.more().expect("rows"), [event]);
    }
    assert!(follow.goes_on());
    drop(journal);
    assert!(!follow.goes_on());
    assert_eq!(follow.more().expect("rows"), []);
}

#[test]
fn prune_removes_only_old_unlocked_runs() {
    let home = TempDir::new().expect("a directory");
    let create = |started| {
        let about = RunDescription { started, ..about() };
        Journal::create(home.path(), &about, redactor()).expect("a journal")
    };
    let old = create(NOW - 10_000).id().to_owned();
    let held = create(NOW - 9_000);
    let new = create(NOW).id().to_owned();
    let never = runs(home.path()).join("20200101-000000-000-0000");
    fs::create_dir(&never).expect("a directory");
    let half = runs(home.path()).join(".20200101-000000-000-0001.removed");
    fs::create_dir(&half).expect("a directory");
    let removed = |dry| -> Vec<String> {
        let pruned = prune(home.path(), NOW - 5_000, dry, &|_| Ok(true)).expect("a list");
        assert!(pruned.iter().all(|pruned| pruned.failed.is_none()), "{pruned:?}");
        pruned.into_iter().map(|pruned| pruned.summary.id).collect()
    };
    let expected = ["20200101-000000-000-0000".to_owned(), old];
    assert_eq!(removed(true), expected);
    assert_eq!(removed(false), expected);
    assert_eq!(removed(false), Vec::<String>::new());
    assert_eq!(list::names(&runs(home.path())).expect("names"), [held.id().to_owned(), new]);
    assert!(!half.exists());
}

#[cfg(unix)]
#[test]
fn journal_files_are_readable_only_by_the_user() {
    use agentry_posix::unix::fs::PermissionsExt as _;
    let home = TempDir::new().expect("a directory");
    let mut journal = Journal::create(home.path(), &about(), redactor()).expect("a journal");
    journal.append(&all()[0], true).expect("a row");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o077;
    assert_eq!(mode(journal.directory()), 0);
    for name in ["journal.db", "journal.db-wal"] {
        assert_eq!(mode(&journal.directory().join(name)), 0, "{name}");
    }
}
