//! Command lines and their verdicts: every file in `commands/` is a table of lines with the expected verdict
//! under its rules. The workspace is `/workspace`, the home is `/home/user`.

#![expect(clippy::expect_used, reason = "a table that cannot be read has failed")]

mod table;

use std::fs;
use std::path::Path;

use agentry_policy::commands::HiddenExceptions;
use agentry_policy::path::{LinkResolver, NoLinks};
use agentry_policy::{Action, Judge, Section, SectionCall};
use table::{judge, list};
use toml::Value;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands");

/// One line of a table.
struct Case<'a> {
    line: String,
    verdict: Action,
    why: &'a str,
}

/// The files of a group, by their paths in the workspace. There are no links.
struct GroupFiles<'a>(Option<&'a Value>);

impl LinkResolver for GroupFiles<'_> {
    fn resolve(&self, path: &str) -> Option<String> {
        NoLinks.resolve(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        let text = self.0?.get(path.strip_prefix("/workspace/")?)?;
        text.as_str().map(str::to_owned)
    }

    fn admitted(&self, _directory: &str, exceptions: HiddenExceptions) -> Option<Vec<String>> {
        let files = self.0.and_then(Value::as_table).into_iter().flatten();
        let is_ignore = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            exceptions.ignore_files.has(name)
        };
        let texts = files.filter(|(path, _)| is_ignore(path)).filter_map(|(_, text)| text.as_str());
        let lines = texts.flat_map(str::lines).filter_map(|line| line.strip_prefix('!'));
        Some(lines.map(str::to_owned).collect())
    }
}

#[test]
fn every_line_gets_its_verdict() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(FOLDER).expect("a folder of tables") {
        let path = entry.expect("a readable folder").path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let table: Value = toml::from_str(&fs::read_to_string(&path).expect("text")).expect("TOML");
        for group in list(&table, "group") {
            let judge = judge(group.get("rules").expect("rules"));
            let files = GroupFiles(group.get("files"));
            for case in list(group, "case").chain(list(group, "cases")).map(case) {
                count += 1;
                wrong.extend(check(&judge, &case, &files, &path));
            }
        }
    }
    assert!(count > 1500, "only {count} lines were found");
    assert!(wrong.is_empty(), "{} of {count} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// `hazards.toml` has a line for each program that has an option which an allow rule must name.
#[test]
fn every_program_with_a_hazard_has_a_line() {
    let text = fs::read_to_string(format!("{FOLDER}/hazards.toml")).expect("text");
    let table: Value = toml::from_str(&text).expect("TOML");
    let cases = list(&table, "group").flat_map(|group| list(group, "cases"));
    let lines: Vec<String> = cases.map(|value| case(value).line).collect();
    let has_line = |name: &&str| {
        lines.iter().any(|line| {
            let mut words = line.split_whitespace().take(4);
            words.any(|word| word.rsplit('/').next() == Some(*name))
        })
    };
    let missing: Vec<&str> =
        agentry_policy::commands::hazard::commands().filter(|name| !has_line(name)).collect();
    assert_eq!(missing, [""; 0]);
}

/// Describes what is wrong with one line, if anything.
fn check(judge: &Judge, case: &Case<'_>, files: &GroupFiles<'_>, path: &Path) -> Option<String> {
    let call = SectionCall { section: Section::Bash, subject: &case.line, directory: "/workspace" };
    let verdict = judge.judge(call, files);
    (verdict.action != case.verdict).then(|| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let line: String = case.line.chars().take(200).collect();
        let reasons: Vec<_> = verdict
            .reasons
            .iter()
            .take(5)
            .map(|reason| format!("{} {} {}", reason.segment, reason.action, reason.rule))
            .collect();
        let expected = case.verdict;
        let got = verdict.action;
        format!(
            "{file}: {line:?} is {got}, not {expected}: {}\n    {}",
            case.why,
            reasons.join("\n    ")
        )
    })
}

fn case(value: &Value) -> Case<'_> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let line = text("line").expect("a line").to_owned();
    let repeat = value.get("repeat").and_then(Value::as_integer);
    let repeat = usize::try_from(repeat.unwrap_or(1)).expect("a number of times");
    Case {
        line: line.repeat(repeat) + text("then").unwrap_or_default(),
        verdict: text("verdict").expect("a verdict").parse().expect("an action"),
        why: text("why").unwrap_or_default(),
    }
}
