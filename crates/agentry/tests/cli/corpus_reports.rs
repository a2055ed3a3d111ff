//! The reports of `import` and `render` over real agents: each fits a screen.

#[path = "../../../agentry-compile/tests/corpus/mod.rs"]
mod corpus;

use std::collections::BTreeSet;

use crate::test::{Ran, Test};

/// The agents that a team brings along.
const TEAM: usize = 202;

/// The lines of a screen.
const SCREEN: usize = 40;

const TARGETS: &str = "opencode,claude-code,pi,codex,gemini,copilot";

/// A project with agents of Claude Code that have different names.
fn project() -> Test {
    let mut names = BTreeSet::new();
    let name = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("name:")).unwrap_or_default();
        line.trim().to_ascii_lowercase()
    };
    let agents = corpus::agents().into_iter().filter(|it| it.harness == "claude-code");
    let new = agents.filter(|it| names.insert(name(&it.text)) && !name(&it.text).is_empty());
    let agents: Vec<_> = new.take(TEAM).collect();
    assert_eq!(agents.len(), TEAM);
    agents.iter().enumerate().fold(Test::new().file("agentry.toml", ""), |test, (at, agent)| {
        test.file(format!(".claude/agents/{at}/x.md"), &agent.text)
    })
}

fn assert_fits(ran: &Ran) {
    let lines = ran.stdout.lines().count();
    assert!(lines <= SCREEN, "{lines} lines\n{ran}");
}

#[test]
fn reports_of_a_team_fit_a_screen() {
    let test = project();
    let ran = test.run("import . --to agent-toml -o agents").exits(0);
    assert_fits(&ran);
    let first = ran.stdout.lines().next().unwrap_or_default().to_owned();
    assert!(first.starts_with(&format!("imported {TEAM} agents (claude-code); ")), "{first}");
    let ran = test.run(&format!("render agents --target {TARGETS} -o out"));
    assert_fits(&ran);
    let first = ran.stdout.lines().next().unwrap_or_default();
    assert!(first.starts_with("rendered ") && first.contains(" agents for opencode"), "{ran}");
    // Everything is still there for programs, and for a person who asks for it.
    let json = test.run(&format!("render agents --target {TARGETS} -o out2 --format json"));
    assert!(json.stdout.matches("\"detail\"").count() > TEAM, "{}", json.stdout.len());
    let quiet = test.run(&format!("render agents --target {TARGETS} -o out3 -q"));
    assert!(quiet.stdout.lines().count() < SCREEN, "{quiet}");
}
