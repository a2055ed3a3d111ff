//! A refused agent leaves nothing behind, not even in shared files.

use agentry_compile::targets::ProjectRendering;

use crate::{Wish, agent, rendering, report_of};

const CAREFUL: &str = "[permissions.bash]\nintent = \"ask\"\nrules = [\"git log*:allow\"]\n";
/// It may read everything and change nothing.
const READER: &str = "[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:ask\"]\n\
                      [permissions.edit]\nintent = \"deny\"\nrules = []\n\
                      [permissions.read]\nintent = \"allow\"\nrules = []\n\
                      [permissions.external_directory]\nintent = \"allow\"\nrules = []\n";

fn rendered(harness: &str, agents: &[(&str, &str)], wish: Wish<'_>) -> ProjectRendering {
    let files: Vec<_> = agents.iter().flat_map(|(name, lines)| agent(name, lines)).collect();
    rendering(harness, &files, wish)
}

fn refused(rendering: &ProjectRendering) -> Vec<bool> {
    rendering.agents.iter().map(|agent| agent.refused.is_some()).collect()
}

#[test]
fn a_refused_agent_writes_no_shared_lines() {
    for guard in [false, true] {
        let wish = Wish { guard, ..Wish::default() };
        let rendering = rendered("claude-code", &[("plan", CAREFUL)], wish);
        assert_eq!(refused(&rendering), [true], "{}", report_of(&rendering.agents[0]));
        assert_eq!(rendering.shared, []);
    }
    let denies = "[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:deny\"]\n";
    let good = rendered("codex", &[("helper", denies)], Wish::default());
    assert_eq!((refused(&good), good.shared.len()), (vec![false], 1));
    let built_in = rendered("codex", &[("worker", denies)], Wish::default());
    assert_eq!((refused(&built_in), built_in.shared), (vec![true], Vec::new()));
}

#[test]
fn a_refused_agent_does_not_affect_the_others() {
    let wish = Wish::default();
    let both = rendered("claude-code", &[("plan", CAREFUL), ("reader", READER)], wish);
    assert_eq!(refused(&both), [true, false], "{}", report_of(&both.agents[1]));
    let alone = rendered("claude-code", &[("reader", READER)], wish);
    assert_eq!(both.shared, alone.shared);
    assert_eq!(both.agents[1].files, alone.agents[0].files);
    let wish = Wish { guard: true, ..Wish::default() };
    let both = rendered("claude-code", &[("plan", CAREFUL), ("reader", READER)], wish);
    assert_eq!(refused(&both), [true, false]);
    let list = both.shared.iter().find(|file| file.path.ends_with("agentry-guard.json"));
    let list = list.expect("a list of agents").text();
    assert!(list.contains("\"reader\"") && !list.contains("\"plan\""), "{list}");
}

#[test]
fn refusal_hints_suggest_the_guard_only_if_it_helps() {
    // Where no hook runs, the guard denies nothing, and Claude Code alone would allow too much.
    let existing = [(".claude/settings.local.json", "{\"disableAllHooks\": true}")];
    let denies = "[permissions.bash]\nintent = \"deny\"\nrules = [\"git log*:allow\"]\n";
    let wish = Wish { existing: &existing, guard: true, ..Wish::default() };
    let rendering = rendered("claude-code", &[("careful", denies)], wish);
    let refusal = rendering.agents[0].refused.as_ref().expect("a refusal");
    let hint = refusal.hint.as_deref().expect("a hint");
    assert!(!hint.contains("--guard"), "{hint}");
}
