//! Receipts as a whole: what is written is verified, and every change of it is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::layout::HomeLayout;

const NOW: u64 = 1_794_754_833_482;

/// A home with a chain of receipts.
struct Home {
    _directory: TempDir,
    layout: HomeLayout,
}

fn draft(layout: &HomeLayout, number: u64, agent: &str) -> ReceiptDraft {
    ReceiptDraft {
        run: format!("20261115-150033-482-{number:04}"),
        agent: ReceiptAgent::new(layout, &format!("/w/{agent}"), agent, "sha256:00"),
        user: "someone".to_owned(),
        workspace: "/w".to_owned(),
        input: Some("do it".to_owned()),
        output: Some("done".to_owned()),
        status: ReceiptStatus::Completed,
        auto_completed: true,
        decisions: vec![DecidedCall {
            tool: "write".to_owned(),
            verdict: "ask",
            answer: Some("yes"),
        }],
        started: NOW + number,
        ended: NOW + number * 1_000,
        ..ReceiptDraft::default()
    }
}

impl Home {
    fn with(count: u64) -> Self {
        Self::within(TempDir::new().expect("a directory"), count)
    }

    fn within(directory: TempDir, count: u64) -> Self {
        let layout = HomeLayout::new(directory.path().join("a home ä"));
        let mut book = ReceiptBook::open_with(&layout, DiskSync::Skips).expect("a book");
        for number in 0..count {
            let draft = draft(&layout, number, "writer");
            book.append(&[draft]).expect("a receipt");
        }
        Self { _directory: directory, layout }
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = receipt_files(&self.layout).into_iter().map(|it| it.path).collect();
        files.sort();
        files
    }

    fn problems(&self) -> Vec<String> {
        let check = verify(&self.layout, None).expect("a result");
        check.problems.into_iter().map(|it| it.problem).collect()
    }

    fn sql(&self, sql: &str) {
        let database = Connection::open(self.layout.database()).expect("a database");
        database.execute_batch(sql).expect("a change");
    }

    fn writable(path: &Path) {
        use agentry_posix::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a mode");
    }
}

#[test]
fn an_unchanged_chain_verifies() {
    let home = Home::with(3);
    let check = verify(&home.layout, None).expect("a result");
    assert_eq!((check.checked, check.problems), (3, Vec::new()));
    let files = home.files();
    let mode = |path: &Path| {
        use agentry_posix::unix::fs::PermissionsExt as _;
        fs::metadata(path).expect("a file").permissions().mode() & 0o777
    };
    assert!(files.iter().all(|path| mode(path) == 0o400));
    let receipts = receipt_files(&home.layout);
    let counts: Vec<_> = receipts.iter().map(|it| it.field("count").unwrap().as_u64()).collect();
    assert_eq!(counts, [Some(1), Some(2), Some(3)]);
    assert_eq!(receipts[2].field("head/count").unwrap().as_u64(), Some(2));
    assert_eq!(receipts[0].field("previous"), Some(&serde_json::Value::Null));
    assert_eq!(receipts[2].field("previous"), receipts[2].field("head/hash"));
    // The secret key is not needed.
    fs::remove_file(home.layout.root().join("keys/receipts.key")).expect("a key");
    assert_eq!(home.problems(), Vec::<String>::new());
    assert_eq!(verify(&home.layout, Some("writer")).expect("a result").checked, 3);
    assert_eq!(verify(&home.layout, Some("other")).expect("a result").checked, 0);
}

/// Each attack on a chain of three, and a part of what is found.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn every_attack_on_a_chain_is_reported() {
    type Attack = fn(&Home, &[PathBuf]);
    let table: &[(&str, Attack, &str)] = &[
        ("the last one is removed", |_, files| fs::remove_file(&files[2]).unwrap(), "missing"),
        ("the first one is removed", |_, files| fs::remove_file(&files[0]).unwrap(), "missing"),
        ("one in between is removed", |_, files| fs::remove_file(&files[1]).unwrap(), "missing"),
        (
            "two are exchanged",
            |_, files| {
                let (one, other) = (fs::read(&files[0]).unwrap(), fs::read(&files[1]).unwrap());
                Home::writable(&files[0]);
                Home::writable(&files[1]);
                fs::write(&files[0], other).unwrap();
                fs::write(&files[1], one).unwrap();
            },
            "name of another receipt",
        ),
        (
            "one is copied to another run",
            |home, files| {
                let other = home.layout.receipts("20261115-150033-482-9999");
                fs::create_dir_all(&other).unwrap();
                fs::copy(&files[1], other.join(files[1].file_name().unwrap())).unwrap();
            },
            "too",
        ),
        (
            "the head is lowered, the last one stays",
            |home, _| home.sql("UPDATE receipt_heads SET count = 2"),
            "knows only 2 receipts",
        ),
        (
            "the head is lowered and the last one removed",
            |home, files| {
                let before = receipt_files(&home.layout);
                let hash = before[2].text_field("previous").to_owned();
                fs::remove_file(&files[2]).unwrap();
                home.sql(&format!("UPDATE receipt_heads SET count = 2, hash = '{hash}'"));
            },
            "the head of this chain was changed",
        ),
        ("the head is removed", |home, _| home.sql("DELETE FROM receipt_heads"), "is missing in"),
        (
            "the head is raised",
            |home, _| home.sql("UPDATE receipt_heads SET count = 9223372036854775807"),
            "missing",
        ),
        (
            "the database is removed",
            |home, _| fs::remove_file(home.layout.database()).unwrap(),
            "is missing in",
        ),
        (
            "a comment is added",
            |_, files| {
                Home::writable(&files[1]);
                let text = fs::read_to_string(&files[1]).unwrap();
                fs::write(&files[1], format!("{text}# note\n")).unwrap();
            },
            "does not end with a digest",
        ),
        (
            "a link",
            |_, files| {
                let elsewhere = files[1].with_extension("moved");
                fs::rename(&files[1], &elsewhere).unwrap();
                agentry_posix::unix::fs::symlink(&elsewhere, &files[1]).unwrap();
            },
            "not a regular file",
        ),
        (
            "the public key is exchanged",
            |home, _| {
                let other = TempDir::new().unwrap();
                let ring = agentry_registry::KeyRing::new(other.path());
                let key = ring.generate("receipts").unwrap();
                let path = home.layout.root().join("keys/receipts.pub");
                fs::write(path, format!("{key}\n")).unwrap();
            },
            "not the key that the home has recorded",
        ),
    ];
    for (case, attack, expected) in table {
        let home = Home::with(3);
        attack(&home, &home.files());
        let problems = home.problems();
        assert!(problems.iter().any(|it| it.contains(expected)), "{case}: {problems:?}");
    }
}

/// A chain that was signed again by another key, in whole or in part.
#[test]
fn receipts_signed_with_another_key_are_reported() {
    let (home, other) = (Home::with(3), Home::with(3));
    // Everything of the other home but its key: two homes merged by hand.
    for (own, foreign) in home.files().iter().zip(other.files()) {
        let directory = own.parent().expect("a directory");
        fs::remove_file(own).expect("a file");
        fs::copy(&foreign, directory.join(foreign.file_name().expect("a name"))).expect("a file");
    }
    let problems = home.problems();
    assert_eq!(
        problems.iter().filter(|it| it.starts_with("another key signed it")).count(),
        3,
        "{problems:?}"
    );
    // With the database of the other home, too.
    fs::copy(other.layout.database(), home.layout.database()).expect("a database");
    for rest in ["agents.db-wal", "agents.db-shm"] {
        let _ = fs::remove_file(home.layout.root().join(rest));
    }
    assert!(!home.problems().is_empty());
    // The home does not sign with a key that its receipts do not have.
    let refused = ReceiptBook::open(&home.layout).expect_err("the key differs");
    assert!(refused.to_string().contains("not the one that signed"), "{refused}");
}

/// A process that dies between the transaction and the file leaves the text; the next one writes the file.
#[test]
fn a_receipt_survives_a_kill_at_any_point() {
    let home = Home::with(1);
    let mut book = ReceiptBook::open_with(&home.layout, DiskSync::Skips).expect("a book");
    let staged = book.stage(&[draft(&home.layout, 1, "writer")]).expect("a place");
    let text = staged[0].as_ref().expect("due").text.clone();
    drop(book);
    assert_eq!(home.files().len(), 1, "killed before the file");
    // `verify` finishes it, and so does whoever opens the book.
    assert_eq!(home.problems(), Vec::<String>::new());
    assert_eq!(fs::read_to_string(&home.files()[1]).expect("a file"), text);
    // Killed after the file, before the text was removed: nothing changes.
    home.sql(&format!(
        "INSERT INTO receipt_files VALUES ('{}', '{}', '{text}')",
        staged[0].as_ref().expect("due").id,
        staged[0].as_ref().expect("due").run
    ));
    let mut book = ReceiptBook::open_with(&home.layout, DiskSync::Skips).expect("a book");
    assert_eq!((home.files().len(), home.problems()), (2, Vec::new()));
    // The same run gets no second receipt, unless it was continued.
    assert_eq!(book.append(&[draft(&home.layout, 1, "writer")]).expect("a result"), [None]);
    book.reopen("20261115-150033-482-0001").expect("a note");
    assert!(book.append(&[draft(&home.layout, 1, "writer")]).expect("a result")[0].is_some());
    assert_eq!((home.files().len(), home.problems()), (3, Vec::new()));
}

/// A file of someone else is never overwritten.
#[test]
fn a_foreign_receipt_file_is_not_overwritten() {
    let home = Home::with(0);
    let mut book = ReceiptBook::open_with(&home.layout, DiskSync::Skips).expect("a book");
    let staged = book.stage(&[draft(&home.layout, 1, "writer")]).expect("a place");
    let staged = staged[0].clone().expect("due");
    let path = home.layout.receipts(&staged.run).join(format!("{}.yaml", staged.id));
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(&path, "mine").expect("a file");
    let error = ReceiptBook::open(&home.layout).expect_err("it is occupied");
    assert!(error.to_string().contains("is not the receipt that was written there"), "{error}");
    assert_eq!(fs::read_to_string(&path).expect("a file"), "mine");
}

/// Many processes write at once: one order, nothing lost.
#[test]
fn several_writers_make_one_chain() {
    let home = Home::with(0);
    std::thread::scope(|scope| {
        for writer in 0..8_u64 {
            let layout = &home.layout;
            scope.spawn(move || {
                let mut book = ReceiptBook::open_with(layout, DiskSync::Skips).expect("a book");
                for number in 0..10 {
                    let agent = if number % 2 == 0 { "one" } else { "two" };
                    let draft = draft(layout, writer * 100 + number, agent);
                    assert!(book.append(&[draft]).expect("a receipt")[0].is_some());
                }
            });
        }
    });
    let check = verify(&home.layout, None).expect("a result");
    assert_eq!((check.checked, check.problems), (80, Vec::new()));
}

/// A damaged database is reported, with what to do, and stays as it is.
#[test]
fn a_damaged_database_is_reported() {
    let home = Home::with(1);
    for rest in ["agents.db-wal", "agents.db-shm"] {
        let _ = fs::remove_file(home.layout.root().join(rest));
    }
    fs::write(home.layout.database(), "no database, but as long as a header is long")
        .expect("a file");
    for error in [
        ReceiptBook::open(&home.layout).expect_err("damaged"),
        verify(&home.layout, None).expect_err("damaged"),
    ] {
        assert!(error.to_string().contains("file is not a database"), "{error}");
        assert!(error.hint().expect("a hint").contains("backup"));
    }
    assert!(fs::read_to_string(home.layout.database()).expect("a file").starts_with("no database"));
}

/// The chain that the property changes, and restores after each case.
static CHAIN: LazyLock<Mutex<Home>> = LazyLock::new(|| Mutex::new(Home::with(6)));

/// Changes one byte of a file, and returns whether that is found.
fn is_found(home: &Home, path: &Path, at: prop::sample::Index, flip: u8) -> bool {
    let whole = fs::read(path).expect("a receipt");
    let mut bytes = whole.clone();
    let at = at.index(bytes.len());
    bytes[at] ^= flip;
    Home::writable(path);
    fs::write(path, bytes).expect("changed");
    let problems = home.problems();
    fs::write(path, whole).expect("restored");
    !problems.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// One byte changed anywhere in any file of a chain is always found.
    #[test]
    fn a_changed_byte_is_reported(which in 0_usize..6, at in any::<prop::sample::Index>(), flip in 1_u8..=255) {
        let home = CHAIN.lock().unwrap_or_else(PoisonError::into_inner);
        prop_assert!(is_found(&home, &home.files()[which], at, flip), "receipt {}", which);
    }
}

/// The same in a chain of 10,000: one byte in each of many receipts, and every one of them is named.
#[test]
fn a_changed_byte_in_a_long_chain_is_reported() {
    // In memory where that is possible: 10,000 directories are slow on a busy disk.
    let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
    let home = Home::within(directory.expect("a directory"), 0);
    let mut book = ReceiptBook::open_with(&home.layout, DiskSync::Skips).expect("a book");
    let drafts: Vec<_> = (0..10_000).map(|number| draft(&home.layout, number, "writer")).collect();
    let written = book.append(&drafts).expect("receipts");
    let files: Vec<_> = written.into_iter().flatten().collect();
    assert_eq!(files.len(), 10_000);
    let mut runner = proptest::test_runner::TestRunner::default();
    let place = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1_u8..=255);
    let mut changed = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let (which, at, flip) = place.new_tree(&mut runner).expect("a value").current();
        let WrittenReceipt { id, path } = which.get(&files);
        // A second change could undo the first.
        if changed.insert(id.clone()) {
            let mut bytes = fs::read(path).expect("a receipt");
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            Home::writable(path);
            fs::write(path, bytes).expect("changed");
        }
    }
    let check = verify(&home.layout, None).expect("a result");
    let found: std::collections::BTreeSet<_> =
        check.problems.into_iter().map(|it| it.receipt).collect();
    let missed: Vec<_> = changed.difference(&found).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

/// A home that is set back as a whole agrees with itself; the copy of its heads knows more.
#[test]
fn a_restored_home_is_reported_by_the_head_copy() {
    let home = Home::with(0);
    let state = TempDir::new().expect("a directory");
    let copy = HeadCopy::new(state.path(), home.layout.root());
    let append = |from: u64, to: u64| {
        let book = ReceiptBook::open_with(&home.layout, DiskSync::Skips).expect("a book");
        let mut book = book.with_copy(Some(copy.clone()));
        let drafts: Vec<_> =
            (from..to).map(|number| draft(&home.layout, number, "writer")).collect();
        book.append(&drafts).expect("receipts");
    };
    let problems = || {
        let references = HeadReferences { copy: Some(&copy), noted: None };
        let check = verify_against(&home.layout, None, references).expect("a result");
        check.problems.into_iter().map(|it| it.problem).collect::<Vec<_>>()
    };
    append(0, 3);
    let backup = state.path().join("backup");
    copy_tree(home.layout.root(), &backup);
    append(3, 5);
    assert_eq!(problems(), Vec::<String>::new());
    let removed = fs::remove_dir_all(home.layout.root());
    removed.expect("removed");
    copy_tree(&backup, home.layout.root());
    assert_eq!(home.problems(), Vec::<String>::new(), "the home agrees with itself");
    assert_eq!(problems(), ["the home was set back: it had 5 receipts of this chain and has 3"]);
    // It grows beyond what it had: the copy is not replaced.
    append(10, 14);
    let expected =
        "the home was set back and continued: receipt 5 of this chain was another one before";
    assert_eq!(problems(), [expected]);
    assert_eq!(problems(), [expected], "verifying changes nothing about it");
    fs::write(copy.path(), "damaged").expect("written");
    assert!(problems()[0].starts_with("the copy of the heads cannot be read"), "{:?}", problems());
    // The person accepts the state: without a copy a new one begins.
    fs::remove_file(copy.path()).expect("removed");
    assert_eq!(problems(), Vec::<String>::new());
    assert_eq!(copy.heads().expect("heads").values().next().map(|head| head.count), Some(7));
}

/// Someone who can write to the home and to its copy of the heads can make both agree: not with what was noted elsewhere.
#[test]
fn noted_heads_report_a_forged_home() {
    type Attack = fn(&TempDir) -> Home;
    let table: &[(&str, Attack, &str)] = &[
        ("set back", |_| Home::with(2), "it had 3 receipts of this chain and has 2"),
        ("removed", |_| Home::with(0), "it had 3 receipts of this chain and has 0"),
        ("written anew and continued", |_| Home::with(5), "receipt 3 of this chain was another"),
        ("written anew by another key", |_| Home::with(3), "had another key for its receipts"),
    ];
    let noted = verify(&Home::with(3).layout, None).expect("a result").heads;
    let text = serde_json::to_string(&noted).expect("JSON");
    let noted: NotedHeads = serde_json::from_str(&text).expect("the same");
    for (case, attack, expected) in table {
        let home = attack(&TempDir::new().expect("a directory"));
        assert_eq!(home.problems(), Vec::<String>::new(), "{case}: it agrees with itself");
        let references = HeadReferences { copy: None, noted: Some(&noted) };
        let check = verify_against(&home.layout, None, references).expect("a result");
        let is_found = check.problems.iter().any(|it| it.problem.contains(expected));
        assert!(is_found, "{case}: {:?}", check.problems);
    }
    // A home that only grew is as it was noted.
    let home = Home::with(2);
    let noted = verify(&home.layout, None).expect("a result").heads;
    let mut book = ReceiptBook::open_with(&home.layout, DiskSync::Skips).expect("a book");
    book.append(&[draft(&home.layout, 7, "writer"), draft(&home.layout, 8, "other")])
        .expect("receipts");
    let references = HeadReferences { copy: None, noted: Some(&noted) };
    let check = verify_against(&home.layout, None, references).expect("a result");
    assert_eq!((check.checked, check.problems), (4, Vec::new()));
}

/// Steps of several processes arrive in any order, and a step of a chain that was set back never follows.
#[test]
fn the_head_copy_accepts_steps_in_any_order() {
    use super::head_copy::HeadStep;
    let state = TempDir::new().expect("a directory");
    let copy = HeadCopy::new(state.path(), state.path());
    let head = |count: u64| KeptHead { count, hash: format!("h{count}") };
    let step = |count: u64| HeadStep {
        chain: "a".to_owned(),
        before: (count > 1).then(|| head(count - 1)),
        after: head(count),
    };
    for count in [1, 4, 3, 2, 2] {
        copy.advance(vec![step(count)]).expect("written");
    }
    assert_eq!(copy.heads().expect("heads").get("a"), Some(&head(4)));
    let other = HeadStep { before: Some(KeptHead { count: 4, hash: "x".to_owned() }), ..step(5) };
    copy.advance(vec![other]).expect("written");
    assert_eq!(copy.heads().expect("heads").get("a"), Some(&head(4)));
}

/// Receipts of another home that were copied into this one are reported, each with the reason.
#[test]
fn receipts_copied_from_another_home_are_reported() {
    let (home, other) = (Home::with(2), Home::with(3));
    for entry in fs::read_dir(other.layout.runs()).expect("runs").flatten() {
        let to = home.layout.runs().join(format!("2{}", entry.file_name().to_string_lossy()));
        copy_tree(&entry.path(), &to);
    }
    let problems = home.problems();
    let foreign = |problem: &&String| problem.contains("it belongs to another home");
    assert_eq!(problems.iter().filter(foreign).count(), 3, "{problems:?}");
    assert_eq!(verify(&home.layout, None).expect("a result").checked, 5);
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a kind").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}
