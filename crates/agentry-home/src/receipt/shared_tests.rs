//! Chains that several homes share: each home has all of them, and finds what was altered elsewhere.

use std::cell::RefCell;

use agentry_runtime::engine::SharedReceipt;
use tempfile::TempDir;

use super::*;
use crate::layout::HomeLayout;

/// An engine with one chain.
#[derive(Default)]
struct OneChain {
    receipts: RefCell<Vec<SharedReceipt>>,
    /// Another home that adds a receipt while the next one is sealed.
    rival: RefCell<Option<HomeLayout>>,
}

impl SharedChains for OneChain {
    fn add(&self, receipt: &SharedReceipt) -> Result<bool, String> {
        let rival = self.rival.borrow_mut().take();
        if let Some(rival) = rival {
            let mut book = ReceiptBook::open(&rival).expect("a book");
            book.append_shared(&draft(&rival, 50), self).expect("the receipt of the rival");
        }
        let mut receipts = self.receipts.borrow_mut();
        let is_next = receipt.number == receipts.len() as u64 + 1;
        if is_next {
            receipts.push(receipt.clone());
        }
        Ok(is_next)
    }

    fn lengths(&self) -> Result<Vec<(String, u64)>, String> {
        let receipts = self.receipts.borrow();
        let length = receipts.len() as u64;
        Ok(receipts.first().map(|it| (it.chain.clone(), length)).into_iter().collect())
    }

    fn receipts(&self, chain: &str, first: u64) -> Result<Vec<SharedReceipt>, String> {
        let receipts = self.receipts.borrow();
        let found = receipts.iter().filter(|it| it.chain == chain && it.number >= first);
        // Few at a time, as an engine does.
        Ok(found.take(2).cloned().collect())
    }
}

fn draft(layout: &HomeLayout, number: u64) -> ReceiptDraft {
    ReceiptDraft {
        run: format!("20261115-150033-482-{number:04}"),
        agent: ReceiptAgent::new(layout, "/w/writer", "writer", "sha256:00"),
        workspace: "/w".to_owned(),
        status: ReceiptStatus::Completed,
        started: 1_794_754_833_482 + number,
        ended: 1_794_754_833_482 + number,
        ..ReceiptDraft::default()
    }
}

struct Homes {
    _directory: TempDir,
    chains: OneChain,
    layouts: [HomeLayout; 2],
}

impl Homes {
    /// Two homes that write in turn.
    fn with(count: u64) -> Self {
        let directory = TempDir::new().expect("a directory");
        let layouts = ["first", "second"].map(|name| HomeLayout::new(directory.path().join(name)));
        let this = Self { _directory: directory, chains: OneChain::default(), layouts };
        for number in 0..count {
            this.append(usize::from(number % 2 == 1), number).expect("a receipt");
        }
        this
    }

    fn append(&self, home: usize, number: u64) -> Result<(), ReceiptError> {
        let layout = &self.layouts[home];
        ReceiptBook::open(layout)?.append_shared(&draft(layout, number), &self.chains)
    }

    fn take_in(&self, home: usize) -> Vec<String> {
        let mut book = ReceiptBook::open(&self.layouts[home]).expect("a book");
        book.take_in(&self.chains).iter().map(ToString::to_string).collect()
    }

    fn problems(&self, home: usize) -> Vec<String> {
        let check = verify(&self.layouts[home], None).expect("a result");
        check.problems.into_iter().map(|it| it.problem).collect()
    }
}

#[test]
fn every_home_has_the_whole_chain() {
    let homes = Homes::with(5);
    // A receipt of one home alone stays in its own chain.
    let layout = &homes.layouts[1];
    let mut book = ReceiptBook::open(layout).expect("a book");
    book.append(&[draft(layout, 90)]).expect("a receipt");
    for (home, own) in [(0, 0), (1, 1)] {
        assert_eq!(homes.take_in(home), Vec::<String>::new());
        assert_eq!(homes.take_in(home), Vec::<String>::new());
        assert_eq!(homes.problems(home), Vec::<String>::new());
        let files = receipt_files(&homes.layouts[home]);
        let shared =
            files.iter().filter(|it| it.text_field("session/agent_id").ends_with("~shared"));
        let counts: Vec<_> = shared.filter_map(|it| it.field("count")?.as_u64()).collect();
        assert_eq!(counts, [1, 2, 3, 4, 5], "home {home}");
        assert_eq!(files.len(), 5 + own);
        let rows = ReceiptBook::open(&homes.layouts[home]).expect("a book").run_rows();
        assert_eq!(rows.expect("rows").len(), 5 + own);
    }
}

#[test]
fn two_homes_that_write_at_once_get_two_places() {
    let homes = Homes::with(2);
    *homes.chains.rival.borrow_mut() = Some(homes.layouts[1].clone());
    homes.append(0, 2).expect("a receipt");
    assert_eq!(homes.take_in(1), Vec::<String>::new());
    for home in [0, 1] {
        assert_eq!(receipt_files(&homes.layouts[home]).len(), 4);
        assert_eq!(homes.problems(home), Vec::<String>::new());
    }
}

#[test]
fn a_receipt_that_only_the_engine_has_is_taken_in() {
    let homes = Homes::with(3);
    // The process died after the engine had it.
    let alone = HomeLayout::new(homes.layouts[0].root().with_file_name("third"));
    let mut book = ReceiptBook::open(&alone).expect("a book");
    assert!(book.take_in(&homes.chains).is_empty());
    assert_eq!(receipt_files(&alone).len(), 3);
}

/// Each attack on the engine, and a part of what the other home says.
#[test]
fn what_was_altered_in_the_engine_is_not_taken_in() {
    type Attack = fn(&mut Vec<SharedReceipt>);
    let table: &[(&str, Attack, &str)] = &[
        ("a text", |it| it[3].text = it[3].text.replace("completed", "failed"), "altered"),
        ("a run", |it| it[3].run = "20261115-150033-482-9999".to_owned(), "another one"),
        ("a path", |it| it[3].run = "../../x".to_owned(), "another one"),
        ("an id", |it| it[3].id = "rcpt_../x".to_owned(), "another one"),
        ("an order", |it| it.swap(2, 3), "does not follow"),
        (
            "a receipt of another place",
            |it| {
                it[3] = it[1].clone();
                it[3].number = 4;
            },
            "another one",
        ),
        ("the end", |it| it.truncate(1), "set back"),
        ("all", Vec::clear, ""),
    ];
    for (what, attack, expected) in table {
        // The second home has seen two of four.
        let homes = Homes::with(2);
        assert_eq!(homes.take_in(1), Vec::<String>::new());
        homes.append(0, 2).expect("a receipt");
        homes.append(0, 3).expect("a receipt");
        attack(&mut homes.chains.receipts.borrow_mut());
        let problems = homes.take_in(1);
        let is_found = problems.iter().any(|it| it.contains(expected));
        assert!(is_found || expected.is_empty(), "{what}: {problems:?}");
        assert_eq!(homes.problems(1), Vec::<String>::new(), "{what}");
        assert!(receipt_files(&homes.layouts[1]).len() <= 3, "{what}");
        if expected.is_empty() || *expected == "set back" {
            let refused = homes.append(1, 9).expect_err("a chain that is shorter than before");
            assert!(refused.to_string().contains("set back"), "{what}: {refused}");
        }
    }
}

#[test]
fn a_foreign_key_counts_in_shared_chains_only() {
    let homes = Homes::with(2);
    assert_eq!(homes.take_in(0), Vec::<String>::new());
    // A receipt of the other home, put into a directory of this one as if it were of its own chain.
    let layout = &homes.layouts[1];
    let mut book = ReceiptBook::open(layout).expect("a book");
    let written = book.append(&[draft(layout, 7)]).expect("a receipt").remove(0).expect("written");
    let place = homes.layouts[0].receipts("20261115-150033-482-0007");
    std::fs::create_dir_all(&place).expect("a directory");
    let name = written.path.file_name().expect("a name");
    std::fs::copy(&written.path, place.join(name)).expect("a copy");
    let problems = homes.problems(0);
    assert!(problems.iter().any(|it| it.contains("another key signed it")), "{problems:?}");
}
