//! `agentry render` and agents that are refused, or that the user's own settings reach.

use crate::render::agent;
use crate::test::Test;

const ASKS: &str = "[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:ask\"]\n";
const READS: &str = "[permissions.bash]\nintent = \"allow\"\nrules = [\"make *:ask\"]\n\
                     [permissions.edit]\nintent = \"deny\"\nrules = []\n\
                     [permissions.read]\nintent = \"allow\"\nrules = []\n\
                     [permissions.external_directory]\nintent = \"allow\"\nrules = []\n";
const WIDE: &str =
    "{\"permissions\": {\"allow\": [\"Edit\"], \"additionalDirectories\": [\"/srv\"]}}";
const SETTINGS: &str = ".claude/settings.json";
const LOCAL: &str = ".claude/settings.local.json";

/// What was rendered before stays as it was, with its rules.
#[test]
fn alone_it_keeps_what_was_proved() {
    let test = agent(Test::new(), "asks", ASKS);
    test.run("render --target claude-code").exits(0);
    let before = test.read(SETTINGS);
    assert!(before.contains("Bash(rm *)"), "{before}");
    test.write(LOCAL, WIDE);
    test.run("render --target claude-code").exits(1);
    assert!(test.has(".claude/agents/asks.md"));
    assert_eq!(test.read(SETTINGS), before);
}

/// Rules that are written for others are not its own: what was rendered before goes.
#[test]
fn beside_others_it_goes() {
    let test = agent(agent(Test::new(), "asks", ASKS), "reads", READS);
    test.run("render --target claude-code").exits(0);
    assert!(test.read(SETTINGS).contains("Bash(rm *)"));
    test.write(LOCAL, WIDE);
    test.run("render --target claude-code").exits(1);
    assert!(!test.has(".claude/agents/asks.md") && test.has(".claude/agents/reads.md"));
    let settings = test.read(SETTINGS);
    assert!(!settings.contains("rm *") && settings.contains("make *"), "{settings}");
}

#[test]
fn settings_of_the_user_are_told_and_change_nothing() {
    let test = agent(Test::new(), "asks", ASKS);
    test.run("render --target claude-code").exits(0);
    let before = (test.read(".claude/agents/asks.md"), test.read(SETTINGS));
    test.write("home/.claude/settings.json", WIDE);
    let ran = test.run("render --target claude-code").exits(0);
    assert!(ran.stdout.contains("your own settings in `~/.claude/settings.json`"), "{ran}");
    assert_eq!((test.read(".claude/agents/asks.md"), test.read(SETTINGS)), before);
    test.write("home/.codex/rules/default.rules", "prefix_rule(pattern = [\"rm\"])\n");
    let ran = test.run("render --target codex").exits(0);
    assert!(!ran.stdout.contains("not understood"), "{ran}");
}
