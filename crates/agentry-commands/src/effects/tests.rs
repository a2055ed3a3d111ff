//! The data files are well-formed, and their examples are correct.

use super::*;
use crate::data::{blocks_of_programs, names};

/// Splits a line at spaces; quotes contain spaces, `¶` is a line break.
fn words(line: &str) -> Vec<ShellArg> {
    let mut found: Vec<String> = Vec::new();
    let mut quote = None;
    let mut is_inside = false;
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) if !is_inside => {
                (quote, is_inside) = (Some(c), true);
                found.push(String::new());
            }
            (' ' | '\n', None) => is_inside = false,
            (c, _) => {
                if !is_inside {
                    found.push(String::new());
                    is_inside = true;
                }
                found.last_mut().unwrap().push(if c == '¶' { '\n' } else { c });
            }
        }
    }
    found.into_iter().map(ShellArg::text).collect()
}

#[test]
fn every_data_row_is_well_formed() {
    let mut wrong = Vec::new();
    for name in names() {
        let facts = program(name).unwrap();
        wrong.extend(facts.malformed.iter().map(|row| format!("{name}: {row}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(names().count() > 600, "{}", names().count());
}

#[test]
fn every_block_has_an_example() {
    let wanting = blocks_of_programs().filter(|block| !block.contains("\n  example: "));
    assert_eq!(wanting.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn data_examples_have_their_effects() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for name in names() {
        for (line, expected) in &program(name).unwrap().examples {
            count += 1;
            let argv = words(line);
            let found = effects(&argv).to_string();
            // A continued row contains line breaks.
            let expected = expected.split_whitespace().collect::<Vec<_>>().join(" ");
            if found != expected {
                wrong.push(format!("  example: {line} => {found}\n     not: {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 400, "only {count} examples");
}

#[test]
fn programs_have_no_duplicate_rows() {
    for name in names() {
        let facts = program(name).unwrap();
        let plain = facts.operands.iter().filter(|row| row.subcommands.is_empty()).count();
        assert!(plain <= 1, "{name}: operands");
        let subcommands: Vec<&str> =
            facts.operands.iter().flat_map(|row| row.subcommands.iter()).collect();
        for (at, word) in subcommands.iter().enumerate() {
            assert!(!subcommands.iter().skip(at + 1).any(|it| it == word), "{name} {word} twice");
        }
        let files: Vec<&str> = facts.files.iter().flat_map(|(list, _)| list.iter()).collect();
        for (at, word) in files.iter().enumerate() {
            assert!(!files.iter().skip(at + 1).any(|it| it == word), "{name} {word} twice");
        }
        assert!(facts.files.iter().filter(|(list, _)| list.is_empty()).count() <= 1, "{name}");
    }
}

/// An approval never covers a command that changes files.
#[test]
fn approvable_commands_only_read_build_or_test() {
    for name in names() {
        let facts = program(name).unwrap();
        if facts.has(ProgramTrait::ApprovedWhole) {
            assert_eq!(facts.file_row(None), Some(FileRow::Reads), "{name}");
        }
        let mut rows = facts.approval.iter().filter_map(|word| facts.file_row(Some(word)));
        assert!(rows.all(|row| row == FileRow::Reads), "{name}");
    }
}

/// Global options of every kind before the subcommand do not change its effects.
#[test]
fn global_options_do_not_change_effects() {
    let fronts = [
        "",
        "-C x",
        "-c a=b",
        "--no-pager",
        "-C x -c a=b --no-pager",
        "--git-dir=x",
        "--git-dir x",
        "--work-tree x --namespace y",
        "--config-env a.b=HOME",
        "--config-env=a.b=HOME",
        "--super-prefix x",
        "--attr-source x",
        "--shallow-file x",
        "--exec-path=x",
        "--literal-pathspecs -p",
        "--not-known",
        "--not-known value",
    ];
    for front in fronts {
        for (rest, configures) in [
            ("config core.hooksPath evil", true),
            ("config --unset a.b", true),
            ("config edit", true),
            ("init --template=x", true),
            ("log", false),
        ] {
            let line = format!("git {front} {rest}");
            assert_eq!(effects(&words(&line)).configures(), configures, "{line}");
        }
    }
}
