//! AG9029: a pattern that no call of its section can match.

use agentry_policy::{Action, PathAnchors, Pattern, Section};
use agentry_text::{Findings, LintRule, rule};

use crate::commands::{MOST_RULES, words};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9029");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(permissions) = &subject.agent.policy.permissions else { return };
    for section in &permissions.sections {
        for rule in section.rules.iter().take(MOST_RULES) {
            if let Some((why, hint)) = never(section.section.value, &rule.pattern, rule.action) {
                let message = format!("rule `{}` matches nothing: {why}", rule.value);
                findings.add(&RULE, rule.span, message).hint(hint);
            }
        }
    }
}

/// Explains why no subject of the section can match the pattern, and suggests another pattern.
fn never(section: Section, pattern: &str, action: Action) -> Option<(String, String)> {
    let plain = pattern.trim();
    let compiled = Pattern::new(section.kind(), pattern, action, &PathAnchors::default());
    if let Some(problem) = compiled.problem() {
        return Some((problem.to_owned(), "write it as the reference of patterns says".to_owned()));
    }
    match section {
        Section::Mcp if !plain.contains(['/', '*']) => {
            Some(("a tool of a server is `server/tool`".to_owned(), format!("write `{plain}/*`")))
        }
        Section::Env if plain.contains(['=', '$', ' ']) => {
            let name = plain.trim_start_matches('$').split('=').next().unwrap_or_default();
            Some(("only the name of a variable counts".to_owned(), format!("write `{name}`")))
        }
        Section::Bash => {
            let all = words(plain);
            let first = all.first()?;
            // `NAME=value command`: the assignment is split off before the command is matched.
            let assigns = first.split_once('=').is_some_and(|(name, _)| is_name(name));
            let rest = all.get(1..).unwrap_or_default().join(" ");
            assigns.then(|| {
                let why = "a variable in front of a command is judged by `env`".to_owned();
                (why, format!("write `{rest}`, and a rule of `env` for the variable"))
            })
        }
        _ => None,
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{count, permissions};

    #[test]
    fn patterns_that_never_match_are_reported() {
        let cases = [
            (Section::Mcp, "github:allow", 1),
            (Section::Mcp, "github/*:allow", 0),
            (Section::Mcp, "*:allow", 0),
            (Section::Env, "API_KEY=*:allow", 1),
            (Section::Env, "$API_KEY:allow", 1),
            (Section::Env, "API_*:allow", 0),
            (Section::Bash, "CI=1 npm test:allow", 1),
            (Section::Bash, "npm test:allow", 0),
            (Section::Bash, "dd if=x:deny", 0),
            (Section::Webfetch, "https://example.org/*:allow", 0),
            (Section::Webfetch, "https://:allow", 1),
        ];
        for (section, rule, expected) in cases {
            let agent = permissions(section, &["ask", rule]);
            assert_eq!(count(&CHECK, &agent), expected, "{section} {rule}");
        }
    }
}
