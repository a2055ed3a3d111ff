//! Judges fuzzer input as a command line: a line with the verdict `allow` is run, confined, and must run
//! only what the rules allow. The sandbox, the rules and the grammar are those of the policy's own test.

#[path = "../../crates/agentry-policy/tests/execution/generate/mod.rs"]
#[expect(unused_imports, reason = "the test takes lines from tables as well")]
mod generate;
#[path = "../../crates/agentry-policy/tests/execution/oracle.rs"]
mod oracle;
#[path = "../../crates/agentry-policy/tests/execution/rule_sets.rs"]
mod rule_sets;
#[path = "../../crates/agentry-policy/tests/execution/sandbox.rs"]
mod sandbox;

use std::cell::RefCell;

use oracle::{Oracle, Result};
use rule_sets::RuleSet;

struct Place {
    oracle: Oracle,
    sets: Vec<RuleSet>,
}

thread_local! {
    static PLACE: RefCell<Place> = RefCell::new(Place {
        oracle: Oracle::new(Vec::new()).expect("a sandbox: is `bwrap` installed?"),
        sets: rule_sets::rule_sets(),
    });
}

/// Takes the bytes as a command line or, after a zero byte, as choices of the grammar.
pub fn run(bytes: &[u8]) {
    let line = match bytes {
        [0, choices @ ..] => generate::line_of(choices.to_vec()),
        bytes => match std::str::from_utf8(bytes) {
            Ok(line) => line.to_owned(),
            Err(_) => return,
        },
    };
    PLACE.with_borrow_mut(|Place { oracle, sets }| {
        for set in sets.iter().filter(|set| set.allows(&line)) {
            if let Result::Hole(what) = oracle.run(&line, set) {
                let least = oracle.shrink(&line, set);
                panic!("under {}: {what}\n{least:?}", set.name);
            }
        }
    });
}
