//! Which environment variables the commands of an agent get: those that it requires, and those that allow rules
//! of its policy name.
//!
//! A rule for everything grants no variable whose name looks like that of a credential: such a variable has
//! to be named, at least by the start of its name.

use agentry_compile::policy::path::NoLinks;
use agentry_compile::policy::{Action, Judge, PatternSubject, Section, SectionCall};

use crate::redact::sounds_secret;

/// Returns the granted names: the required ones, and those of the environment that the policy allows.
pub fn granted(
    judge: &Judge,
    required: &[String],
    environment: impl IntoIterator<Item = String>,
) -> Vec<String> {
    let mut granted: Vec<String> =
        environment.into_iter().filter(|name| is_granted(judge, name)).collect();
    granted.sort();
    granted.retain(|name| !required.contains(name));
    granted.splice(..0, required.iter().cloned());
    granted
}

/// Returns what is granted, for consent: names as they are, and patterns as they are written.
pub fn listed(judge: &Judge, required: &[String]) -> Vec<String> {
    let mut out = required.to_vec();
    let mut add = |line: String| {
        if !out.contains(&line) {
            out.push(line);
        }
    };
    let lists: Vec<_> = judge.rules(Section::Env).map(|(_, rules)| rules).collect();
    let grants = |action| action == Action::Allow;
    // The strictest layer counts, so a layer that allows nothing hides the rules of all others.
    if !lists.iter().all(|rules| rules.all().any(|rule| grants(rule.action))) {
        return out;
    }
    for rule in lists.iter().flat_map(|rules| rules.all()) {
        let text = rule.pattern.text.trim();
        match rule.action {
            Action::Allow if rule.pattern.is_everything() => {
                add("every variable but credentials".to_owned());
            }
            Action::Allow if text.contains('*') || is_granted(judge, text) => add(text.to_owned()),
            Action::Deny if !rule.pattern.is_everything() => add(format!("not {text}")),
            Action::Allow | Action::Ask | Action::Deny => {}
        }
    }
    out
}

/// Returns whether the policy grants this variable.
fn is_granted(judge: &Judge, name: &str) -> bool {
    let directory = &judge.places().workspace;
    let call = SectionCall { section: Section::Env, subject: name, directory };
    let is_allowed = judge.judge(call, &NoLinks).action == Action::Allow;
    is_allowed && (!sounds_secret(name) || is_named(judge, name))
}

/// Returns whether an allow rule that is not for everything decides about this variable.
fn is_named(judge: &Judge, name: &str) -> bool {
    judge.rules(Section::Env).any(|(_, rules)| {
        let rule = rules.first(PatternSubject::Text(name));
        rule.action == Action::Allow && !rule.pattern.is_everything()
    })
}

#[cfg(test)]
mod tests {
    use agentry_compile::policy::Action::{Allow, Ask, Deny};

    use super::super::tests::judge_of;
    use super::*;

    type VariableCase<'a> = (Action, &'a [(&'a str, Action)], &'a str, &'a str);

    #[test]
    fn allow_rules_grant_environment_variables() {
        let environment = ["CI", "GITHUB_ACTOR", "GITHUB_TOKEN", "HOME", "MODEL_API_KEY"];
        let required = ["NEEDED".to_owned()];
        // The intent, the rules, the granted names, the listing for consent.
        let cases: [VariableCase<'_>; 9] = [
            (Deny, &[("CI", Allow)], "NEEDED CI", "NEEDED, CI"),
            (Ask, &[("CI", Allow), ("OTHER", Allow)], "NEEDED CI", "NEEDED, CI, OTHER"),
            (Deny, &[("GITHUB_*", Allow)], "NEEDED GITHUB_ACTOR GITHUB_TOKEN", "NEEDED, GITHUB_*"),
            (
                Deny,
                &[("*_TOKEN", Deny), ("GITHUB_*", Allow)],
                "NEEDED GITHUB_ACTOR",
                "NEEDED, not *_TOKEN, GITHUB_*",
            ),
            (Deny, &[("MODEL_API_KEY", Allow)], "NEEDED MODEL_API_KEY", "NEEDED, MODEL_API_KEY"),
            (Allow, &[], "NEEDED CI GITHUB_ACTOR HOME", "NEEDED, every variable but credentials"),
            (
                Ask,
                &[("*", Allow)],
                "NEEDED CI GITHUB_ACTOR HOME",
                "NEEDED, every variable but credentials",
            ),
            (
                Allow,
                &[("CI", Deny), ("HOME", Ask)],
                "NEEDED GITHUB_ACTOR",
                "NEEDED, not CI, every variable but credentials",
            ),
            (Ask, &[("CI", Ask)], "NEEDED", "NEEDED"),
        ];
        for (intent, rules, names, consent) in cases {
            let judge = judge_of(&[(Section::Env, intent, rules)]);
            let found = granted(&judge, &required, environment.map(str::to_owned));
            assert_eq!(found.join(" "), names, "{intent:?} {rules:?}");
            assert_eq!(listed(&judge, &required).join(", "), consent, "{intent:?} {rules:?}");
        }
        let silent = judge_of(&[]);
        assert_eq!(granted(&silent, &required, environment.map(str::to_owned)), required);
        assert_eq!(listed(&silent, &required), required);
    }
}
