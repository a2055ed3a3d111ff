//! A policy as people write it, and typical command lines.

use agentry_policy::{
    Action, Judge, Permissions, PathAnchors, RuleList, Section, SectionRules, LayerSource, layer,
};
use agentry_text::{FileId, Span, Spanned};

/// Command lines that agents run often.
pub(crate) const LINES: &[&str] = &[
    "ls",
    "git status",
    "git log --oneline -5",
    "git status && git diff --stat | head -20",
    "cargo test 2>&1 | tail -5",
    "grep -rn 'a|b;c' src/",
    "cd crates && ls -la",
    "cat README.md | wc -l",
    "rg -n \"fn main\" --type rust",
    "find . -name '*.rs' -not -path './target/*'",
    "for f in a.rs b.rs; do wc -l \"$f\"; done",
    "if [ -f Cargo.toml ]; then cat Cargo.toml; fi",
    "RUST_BACKTRACE=1 cargo test -p agentry-text 2>/dev/null",
    "ls *.md src/*.rs",
    "echo \"done: $(date)\"",
    "mkdir -p target/{a,b} && touch target/a/x",
    "git diff HEAD~1 -- src/main.rs > out/change.patch",
    "timeout 60 cargo build --release",
    "bash -c 'git fetch && git rebase origin/main'",
    "sed -n '1,20p' src/lib.rs",
];

/// Programs with their subcommands, to make rules of.
const PROGRAMS: &[(&str, &[&str])] = &[
    (
        "git",
        &["log", "status", "diff", "show", "branch", "fetch", "push", "commit", "rebase", "stash"],
    ),
    (
        "cargo",
        &["test", "build", "check", "clippy", "fmt", "doc", "run", "bench", "tree", "update"],
    ),
    ("npm", &["install", "test", "run build", "run lint", "audit", "publish", "ci", "outdated"]),
    ("docker", &["ps", "images", "build", "logs", "inspect", "compose up", "run", "rm"]),
    ("kubectl", &["get", "describe", "logs", "apply", "delete", "exec", "rollout status"]),
    ("gh", &["pr view", "pr list", "issue view", "run watch", "api", "release create"]),
    ("go", &["test", "build", "vet", "fmt", "mod tidy"]),
];
const TOOLS: &[&str] = &[
    "ls", "cat", "head", "tail", "wc", "grep", "rg", "find", "sed", "awk", "sort", "uniq", "cut",
    "tr", "echo", "printf", "mkdir", "touch", "date", "pwd", "which", "diff", "jq", "make", "just",
    "tree", "stat", "du", "df", "ps", "env", "basename", "dirname", "file", "xxd", "tee", "cp",
    "mv", "rm", "curl", "wget", "ssh", "sudo", "python", "node", "pytest", "ruff", "mypy", "black",
    "eslint",
];

/// Rules that have not been compiled yet.
pub(crate) struct Written(Permissions);

impl Written {
    /// The rules about commands, with nothing memoised.
    pub(crate) fn compile(&self) -> RuleList {
        let layer = layer(LayerSource::Permissions, &self.0, &PathAnchors::default());
        let found = layer.sections.into_iter().find(|rules| rules.section == Section::Bash);
        found.unwrap_or_else(|| agentry_policy::default_rules(Section::Bash, &PathAnchors::default()))
    }
}

/// A policy with `count` rules about commands; another version differs in a few actions.
pub(crate) fn rules(count: usize, version: usize) -> Written {
    let tools = TOOLS.iter().map(|tool| format!("{tool} *"));
    let commands = PROGRAMS.iter().flat_map(|(program, subcommands)| {
        subcommands.iter().map(move |subcommand| format!("{program} {subcommand}*"))
    });
    let patterns: Vec<String> = commands.chain(tools).collect();
    let rules = patterns.iter().cycle().take(count).enumerate().map(|(at, pattern)| {
        let is_odd = ["push", "publish", "delete", "rm ", "curl", "sudo", "ssh"]
            .iter()
            .any(|word| pattern.contains(word));
        let action = match (is_odd, at % 10 == version) {
            (true, _) => "deny",
            (false, true) if version > 0 => "ask",
            (false, _) => "allow",
        };
        format!("{pattern}:{action}")
    });
    let sections = vec![
        section(Section::Bash, Action::Ask, rules.collect()),
        section(
            Section::Edit,
            Action::Ask,
            vec!["out/**:allow".to_owned(), "src/**:allow".to_owned()],
        ),
    ];
    Written(Permissions { sections })
}

/// A judge with such a policy.
pub(crate) fn judge(count: usize) -> Judge {
    let places = PathAnchors::default();
    let layer = layer(LayerSource::Permissions, &rules(count, 0).0, &places);
    Judge::new(vec![layer], places)
}

fn section(section: Section, intent: Action, rules: Vec<String>) -> SectionRules {
    let nowhere = Span::start_of(FileId(0));
    let rules = rules.iter().filter_map(|rule| Some(Spanned::new(rule.parse().ok()?, nowhere)));
    SectionRules {
        section: Spanned::new(section, nowhere),
        intent: Some(Spanned::new(intent, nowhere)),
        rules: rules.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_policies_have_the_requested_rule_count() {
        for count in [1, 10, 100] {
            assert_eq!(rules(count, 1).compile().rules.len(), count, "{count}");
        }
    }
}
