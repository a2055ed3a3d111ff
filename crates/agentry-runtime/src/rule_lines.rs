//! The rules of an agent, one per line. `resume` compares them with those of the first start, to detect
//! a policy that allows more than before.

use agentry_compile::policy::{Judge, Section};
use agentry_compile::text::digest;

/// One rule of a policy.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RuleLine {
    /// The section it belongs to.
    pub section: String,
    /// The layer it comes from.
    pub layer: String,
    /// Its verdict.
    pub action: String,
    /// Its pattern; empty for the intent of the section.
    pub pattern: String,
}

/// Returns all rules of a policy, in order.
pub fn written(judge: &Judge) -> Vec<RuleLine> {
    let mut all = Vec::new();
    for section in Section::ALL {
        for (layer, rules) in judge.rules(*section) {
            let line = |action: String, pattern: &str| RuleLine {
                section: section.to_string(),
                layer: layer.to_string(),
                action,
                pattern: pattern.to_owned(),
            };
            let rules_of =
                rules.rules.iter().map(|rule| line(rule.action.to_string(), &rule.pattern.text));
            all.extend(rules_of);
            all.push(line(rules.intent.action.to_string(), ""));
        }
    }
    all
}

/// Returns a digest of rules.
pub fn digest(rules: &[RuleLine]) -> String {
    let text = serde_json::to_string(rules).unwrap_or_default();
    digest::of(text)
}

/// Returns what changed, if the new rules may allow more than the old ones; else nothing.
pub fn widened(before: &[RuleLine], now: &[RuleLine]) -> Vec<String> {
    // Fewer allow rules, more deny rules and whole new layers only narrow: in a layer the first matching
    // rule decides, and of all layers the strictest verdict counts.
    let is_new_layer = |rule: &RuleLine| {
        !before.iter().any(|old| (&old.section, &old.layer) == (&rule.section, &rule.layer))
    };
    let kept =
        |rule: &&RuleLine| rule.pattern.is_empty() || rule.action != "allow" || now.contains(rule);
    let known = |rule: &&RuleLine| {
        let denies = rule.action == "deny" && !rule.pattern.is_empty();
        before.contains(rule) || !(denies || is_new_layer(rule))
    };
    // Without the changes that only narrow, both lists must be equal, in the same order.
    if before.iter().filter(kept).eq(now.iter().filter(known)) {
        return Vec::new();
    }
    let gone = before.iter().filter(|rule| !now.contains(rule)).map(|rule| format!("- {rule}"));
    let new = now.iter().filter(|rule| !before.contains(rule)).map(|rule| format!("+ {rule}"));
    let mut lines: Vec<String> = gone.chain(new).collect();
    if lines.is_empty() {
        lines.push("the rules stand in another order".to_owned());
    }
    lines
}

impl std::fmt::Display for RuleLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { section, layer, action, pattern } = self;
        let what = if pattern.is_empty() { "everything else" } else { pattern };
        write!(f, "{section}: {action} {what} ({layer})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(lines: &[(&str, &str, &str)]) -> Vec<RuleLine> {
        let rule = |(layer, action, pattern): &(&str, &str, &str)| RuleLine {
            section: "bash".to_owned(),
            layer: (*layer).to_owned(),
            action: (*action).to_owned(),
            pattern: (*pattern).to_owned(),
        };
        lines.iter().map(rule).collect()
    }

    #[test]
    fn only_rules_that_allow_more_are_a_widening() {
        let before = [("own", "allow", "ls"), ("own", "ask", "git *"), ("own", "deny", "")];
        let [ls, git, rest] = before;
        let cases: [(&[_], usize); 9] = [
            (&before, 0),
            (&[git, rest], 0),
            (&[("own", "deny", "ls -R"), ls, git, rest], 0),
            (&[ls, git, rest, ("user", "allow", "")], 0),
            (&[ls, rest], 1),
            (&[ls, git, ("own", "ask", "")], 2),
            (&[("own", "allow", "rm"), ls, git, rest], 1),
            (&[git, ls, rest], 1),
            (&[("own", "ask", "ls"), git, rest], 2),
        ];
        for (now, expected) in cases {
            let found = widened(&rules(&before), &rules(now));
            assert_eq!(found.len(), expected, "{now:?}: {found:?}");
        }
    }
}
