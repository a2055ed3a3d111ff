//! The rules about abilities: unknown ones, wrong forms and contradictions.

use agentry_text::LintRule;
use agentry_text::Severity::{Error, Warning};

use super::with_metadata;

/// An ability whose first word is unknown.
pub(crate) static UNKNOWN_ABILITY: LintRule = LintRule {
    code: "AG1010",
    name: "unknown-ability",
    severity: Error,
    why: "An ability that is not known allows nothing and, worse, denies nothing.",
    bad: with_metadata!("abilities:\n  - netwrok\n"),
    good: with_metadata!("abilities:\n  - network\n"),
};

/// A scope on an ability that takes none.
pub(crate) static ABILITY_SCOPE: LintRule = LintRule {
    code: "AG1011",
    name: "ability-scope",
    severity: Error,
    why: "Only `sh` can be narrowed to one command. `fs:src` looks like a limit and would be none.",
    bad: with_metadata!("abilities:\n  - fs:src\n"),
    good: with_metadata!("abilities:\n  - fs\n"),
};

/// `sh:` without exactly one command name.
pub(crate) static ABILITY_COMMAND: LintRule = LintRule {
    code: "AG1012",
    name: "ability-command",
    severity: Error,
    why: "`sh:<command>` takes one command name: letters, digits, `.`, `_` and `-`. Arguments \
          cannot be part of it.",
    bad: with_metadata!("abilities:\n  - sh:git push\n"),
    good: with_metadata!("abilities:\n  - sh:git\n"),
};

/// A wildcard as an ability.
pub(crate) static ABILITY_WILDCARD: LintRule = LintRule {
    code: "AG1013",
    name: "ability-wildcard",
    severity: Error,
    why: "The format has no word for everything: what an agent may do is listed, so that a reader \
          sees it and a new ability is never granted by an old file.",
    bad: with_metadata!("allow: \"*\"\n"),
    good: with_metadata!("allow: [fs, network]\n"),
};

/// An ability that is both allowed and denied.
pub(crate) static ABILITY_OVERLAP: LintRule = LintRule {
    code: "AG1014",
    name: "ability-overlap",
    severity: Error,
    why: "Deny beats allow, so an ability that is wholly denied can never be used: one of the two \
          is a mistake. Denying a part (`allow: [sh]`, `deny: [sh:rm]`) is fine.",
    bad: with_metadata!("abilities:\n  allow: [sh:git]\n  deny: [sh]\n"),
    good: with_metadata!("abilities:\n  allow: [sh]\n  deny: [sh:rm]\n"),
};

/// Two different lists in `abilities` and at the top level.
pub(crate) static ABILITIES_CONTRADICT: LintRule = LintRule {
    code: "AG1015",
    name: "abilities-contradict",
    severity: Error,
    why: "`abilities` and the top-level `allow` and `deny` mean the same. When both are written \
          and differ, it is not clear what the agent may do.",
    bad: with_metadata!("abilities: [fs]\nallow: [fs, network]\n"),
    good: with_metadata!("abilities: [fs, network]\n"),
};

/// An ability that is listed twice.
pub(crate) static ABILITY_TWICE: LintRule = LintRule {
    code: "AG1016",
    name: "ability-twice",
    severity: Warning,
    why: "Abilities are compared without regard to case; listing one twice changes nothing and is \
          often a misspelt other one.",
    bad: with_metadata!("abilities: [fs, FS]\n"),
    good: with_metadata!("abilities: [fs]\n"),
};
