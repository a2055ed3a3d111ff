//! AG9013: an allow rule such as `ls*`, which also matches longer program names.

use agentry_policy::path::NoLinks;
use agentry_policy::{Action, Section, SectionCall};
use agentry_text::{Findings, Fix, LintRule, rule};

use crate::commands::{judge, rules};
use crate::text_spans::within;
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// Commands, each with a well-known longer one that the open pattern would also allow.
const LONGER: &[(&str, &str)] = &[
    ("ls", "lsof"),
    ("cat", "catchsegv"),
    ("git", "git-shell"),
    ("make", "makepkg"),
    ("go", "google-chrome"),
    ("node", "nodemon"),
    ("npm", "npm-check"),
    ("cd", "cdrecord"),
    ("git diff", "git difftool"),
    ("git diff", "git diff-tree"),
    ("git show", "git show-index"),
    ("git fetch", "git fetch-pack"),
    ("git merge", "git mergetool"),
    ("git merge", "git merge-tree"),
    ("git commit", "git commit-tree"),
    ("git check", "git checkout"),
    ("git remote", "git remote-https"),
    ("git send", "git send-email"),
    ("cargo b", "cargo bench"),
];

static RULE: LintRule = rule!("AG9013");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(judge) = judge(subject.agent) else { return };
    let directory = judge.places().workspace.clone();
    let allows = |line: &str| {
        let call = SectionCall { section: Section::Bash, subject: line, directory: &directory };
        judge.judge(call, &NoLinks).action == Action::Allow
    };
    for rule in rules(subject.agent).iter().filter(|rule| rule.action == Action::Allow) {
        let Some(name) = rule.pattern.strip_suffix('*') else { continue };
        let last = name.rsplit(' ').next().unwrap_or_default();
        // Punctuation before the `*`, as in `test:*` or `--format=*`, shows that it is intended.
        let plain = !last.is_empty() && last.chars().all(|c| c.is_ascii_alphanumeric());
        if !plain || name.contains('*') {
            continue;
        }
        let known = LONGER.iter().filter(|(short, _)| *short == name);
        // A command that is not in the table gets a made-up example: `foo` becomes `foox`.
        let made_up = ["x", "-x"].map(|end| format!("{name}{end}"));
        let mut longer = known.map(|(_, long)| (*long).to_owned()).chain(made_up);
        // Some commands need a rule of their own, and another rule may decide about the example.
        let Some(other) = longer.find(|line| allows(line)) else { continue };
        let message = format!("rule `{}` also allows `{other}`", rule.value);
        let found = findings.add(&RULE, rule.span, message);
        found.hint(format!("write `{name} *`"));
        let width = rule.to_string().len();
        let star = within(rule.span, width, name.len(), 0);
        // Without the exact place of the `*` there is no safe edit, only the hint.
        if star != rule.span {
            found.fix(Fix::unsafe_(format!("write `{name} *`"), star, " "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{found, permissions};

    #[test]
    fn open_ended_command_rules_are_reported() {
        let cases = [
            ("ls*:allow", Some("0..9 rule `ls*:allow` also allows `lsof`")),
            ("cargo*:allow", Some("0..12 rule `cargo*:allow` also allows `cargox`")),
            ("ls *:allow", None),
            ("ls*:deny", None),
            ("git diff*:allow", Some("0..15 rule `git diff*:allow` also allows `git diff-tree`")),
            (
                "npm run build*:allow",
                Some("0..20 rule `npm run build*:allow` also allows `npm run buildx`"),
            ),
            ("npm run*:allow", None),
            ("npm run test:*:allow", None),
            ("git log --format=*:allow", None),
            ("git log --oneline*:allow", None),
            ("git * log*:allow", None),
            ("docker-*:allow", None),
            ("./run*:allow", None),
            ("*:allow", None),
            ("**:allow", None),
        ];
        for (rule, expected) in cases {
            let agent = permissions(Section::Bash, &["ask", rule]);
            let lines = found(&CHECK, &agent, agentry_model::Format::AgentToml);
            assert_eq!(lines.first().map(String::as_str), expected, "{rule}");
        }
    }

    /// Every example is a command that the rules of the agent allow, so that `policy why` agrees.
    #[test]
    fn the_example_is_allowed_by_all_rules() {
        let cases = [
            (["ask", "lsof*:deny", "ls*:allow"], Some("0..9 rule `ls*:allow` also allows `lsx`")),
            (["ask", "ls?*:ask", "ls*:allow"], Some("0..9 rule `ls*:allow` also allows `lsof`")),
            (["ask", "**:deny", "ls*:allow"], None),
        ];
        for (rules, expected) in cases {
            let agent = permissions(Section::Bash, &rules);
            let lines = found(&CHECK, &agent, agentry_model::Format::AgentToml);
            assert_eq!(lines.first().map(String::as_str), expected, "{rules:?}");
        }
    }
}
