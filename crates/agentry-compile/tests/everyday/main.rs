//! Everyday command lines under rules that a sensible person would write: nearly all of them run without a
//! question, and hostile lines under the same rules never do.
//!
//! Each group is an agent definition (`NAME.toml`) and its lines (`NAME.txt`); `\n` in a line is a line break.
//! The verdict is that of a run and of the guard, protected paths included.

#![expect(clippy::expect_used, reason = "a fixture that cannot be read has failed")]

use std::fs;
use std::path::Path;

use agentry_compile::policy::{Action, Judge, Section, SectionCall, Verdict};
use agentry_compile::render::{RenderLedger, judged, protect};
use agentry_compile::{MemoryWorld, at, judge, read};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/everyday/groups");

/// One agent with the lines that it is asked to run.
struct LineGroup {
    name: String,
    world: MemoryWorld,
    judge: Judge,
    protected: Vec<String>,
    everyday: Vec<String>,
    hostile: Vec<String>,
}

impl LineGroup {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let definition = fs::read_to_string(path).expect("a definition");
        let world = MemoryWorld::new([
            ("workspace/agentry.toml".to_owned(), String::new()),
            ("workspace/.git/config".to_owned(), String::new()),
            ("workspace/fix.patch".to_owned(), "--- a/src/main.rs\n+++ b/src/main.rs\n".to_owned()),
            ("workspace/evil.patch".to_owned(), "--- a/.env\n+++ b/.env\n".to_owned()),
            (format!("workspace/{name}/agent.toml"), definition),
            (format!("workspace/{name}/system-prompt.md"), "You work.\n".to_owned()),
        ]);
        let found = at(&world, &format!("workspace/{name}")).expect("an agent");
        let mut compiled = read(&world, &found);
        // A world in memory takes its root for the workspace, and then no path is outside.
        "workspace".clone_into(&mut compiled.workspace);
        assert!(!compiled.has_errors(), "{name}: {:?}", compiled.diagnostics);
        let judge = judge(&world, &mut compiled).expect("no user's policy");
        let protected = protect(&world, &compiled, &RenderLedger::default(), &[]);
        let text = fs::read_to_string(path.with_extension("txt")).expect("lines");
        let (everyday, hostile) = text.split_once("# hostile\n").expect("two lists");
        let lines = |text: &str| {
            let lines = text.lines().filter(|line| !line.is_empty());
            lines.map(|line| line.replace(r"\n", "\n")).collect()
        };
        let (everyday, hostile) = (lines(everyday), lines(hostile));
        Self { name, world, judge, protected, everyday, hostile }
    }

    fn verdict(&self, line: &str) -> Verdict {
        let call = SectionCall { section: Section::Bash, subject: line, directory: "/workspace" };
        judged(&self.world, &self.judge, &self.protected, call)
    }
}

fn groups() -> Vec<LineGroup> {
    let entries = fs::read_dir(FOLDER).expect("a folder of groups");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let definitions = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    definitions.map(|path| LineGroup::read(&path)).collect()
}

/// Describes a verdict by its first deciding reason.
fn shown(group: &LineGroup, line: &str, verdict: &Verdict) -> String {
    let first = verdict.reasons.iter().find(|reason| verdict.is_decided_by(reason));
    let why = first.map_or(String::new(), |reason| {
        let note = reason.note.as_deref().unwrap_or_default();
        format!("{}: {} {note}", reason.segment, reason.rule)
    });
    format!("{} {:?} is {}: {why}", group.name, line, verdict.action)
}

#[test]
fn at_most_two_percent_of_everyday_lines_ask() {
    let (mut count, mut asking) = (0, Vec::new());
    for group in groups() {
        for line in &group.everyday {
            count += 1;
            let verdict = group.verdict(line);
            if verdict.action > Action::Allow {
                asking.push(shown(&group, line, &verdict));
            }
        }
    }
    println!("{} of {count} lines ask:\n{}", asking.len(), asking.join("\n"));
    assert!(count >= 400, "only {count} lines");
    assert!(asking.len() * 50 <= count, "{} of {count} lines ask", asking.len());
}

#[test]
fn no_hostile_line_is_allowed() {
    let (mut count, mut allowed) = (0, Vec::new());
    for group in groups() {
        for line in &group.hostile {
            count += 1;
            let verdict = group.verdict(line);
            if verdict.action == Action::Allow {
                allowed.push(shown(&group, line, &verdict));
            }
        }
    }
    assert!(count >= 150, "only {count} lines");
    assert!(
        allowed.is_empty(),
        "{} of {count} are allowed:\n{}",
        allowed.len(),
        allowed.join("\n")
    );
}
