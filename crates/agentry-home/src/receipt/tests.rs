//! Receipts as a whole: what is written is verified, and every change of it is found.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use proptest::prelude::*;
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
        let directory = TempDir::new().expect("a directory");
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
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a mode");
    }
}

#[test]
fn a_chain_is_whole() {
    let home = Home::with(3);
    let check = verify(&home.layout, None).expect("a result");
    assert_eq!((check.checked, check.problems), (3, Vec::new()));
    let files = home.files();
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
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
fn every_attack_is_found() {
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
                std::os::unix::fs::symlink(&elsewhere, &files[1]).unwrap();
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
fn another_key_is_found() {
    let (home, other) = (Home::with(3), Home::with(3));
    // Everything of the other home but its key: two homes merged by hand.
    for (own, foreign) in home.files().iter().zip(other.files()) {
        let directory = own.parent().expect("a directory");
        fs::remove_file(own).expect("a file");
        fs::copy(&foreign, directory.join(foreign.file_name().expect("a name"))).expect("a file");
    }
    let problems = home.problems();
    assert_eq!(
        problems.iter().filter(|it| *it == "another key signed it").count(),
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
fn nothing_is_overwritten() {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// One byte changed anywhere in any file of a chain is always found.
    #[test]
    fn one_byte_is_found(which in 0_usize..6, at in any::<prop::sample::Index>(), flip in 1_u8..=255) {
        let home = CHAIN.lock().unwrap_or_else(PoisonError::into_inner);
        let path = &home.files()[which];
        let whole = fs::read(path).unwrap();
        let mut bytes = whole.clone();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        Home::writable(path);
        fs::write(path, bytes).unwrap();
        let problems = home.problems();
        fs::write(path, whole).unwrap();
        prop_assert!(!problems.is_empty(), "byte {} of receipt {}", at, which);
    }
}
