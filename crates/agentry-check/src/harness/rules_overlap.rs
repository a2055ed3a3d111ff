//! AG7078 to AG7080: rules that never decide, or allow more than they seem to. The policy engine reads each
//! rule as its harness does.

use agentry_policy::overlap::covers;
use agentry_policy::{Action, Pattern, Section};
use agentry_targets::{EncodedRule, MatchOrder, RuleReading};
use agentry_text::{Findings, Span, TreeEntry, TreeNode, rules};

use super::HarnessSubject;

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        RULE_NEVER_DECIDES: "AG7078",
        ALLOWS_EVERY_COMMAND: "AG7079",
        OPEN_ENDED: "AG7080",
    ]
}

/// The most rules that are compared, since each is compared with the others.
const MOST_RULES: usize = 200;

/// A rule as written, with its meaning.
#[derive(Debug)]
pub(super) struct WrittenRule {
    pub(super) section: Section,
    pub(super) encoded: EncodedRule,
    pub(super) span: Span,
}

/// Reports rules that another rule overrides completely.
pub(super) fn check(
    subject: &HarnessSubject<'_>,
    order: MatchOrder,
    rules: &[WrittenRule],
    findings: &mut Findings,
) {
    for (at, rule) in rules.iter().enumerate().take(MOST_RULES) {
        let wins = |(other_at, other): &(usize, &WrittenRule)| {
            let is_later = match order {
                MatchOrder::Last => *other_at > at,
                MatchOrder::First => *other_at < at,
                MatchOrder::Strictest => other.encoded.action > rule.encoded.action,
            };
            // A rule with the same answer changes nothing, but is no mistake.
            is_later
                && other.section == rule.section
                && other.encoded.action != rule.encoded.action
                && may_cover(rule.section, &other.encoded.text, &rule.encoded.text)
        };
        let inner = pattern(rule.section, &rule.encoded, &rule.encoded.matches.most);
        let winner = rules.iter().enumerate().take(MOST_RULES).filter(wins).find(|(_, other)| {
            let outer = pattern(other.section, &other.encoded, &other.encoded.matches.least);
            covers(subject.memo, rule.section, &outer, &inner)
        });
        if let Some((_, winner)) = winner {
            let (text, other) = (&rule.encoded.text, &winner.encoded.text);
            let action = winner.encoded.action;
            let message = format!("`{text}` never decides: `{other}` ({action}) covers it");
            findings
                .add(&RULE_NEVER_DECIDES, rule.span, message)
                .related(winner.span, "this rule wins")
                .hint("remove one of the two");
        }
    }
}

/// Whether a rule may cover another one, by the literal start of a command. This saves most comparisons.
fn may_cover(section: Section, outer: &str, inner: &str) -> bool {
    let start = |text: &str| {
        let only = text.split_once('(').map_or(text, |(_, only)| only).trim_end_matches(')');
        only.split(['*', '?', ':']).next().unwrap_or_default().trim_end().to_owned()
    };
    section != Section::Bash || !outer.contains('(') || start(inner).starts_with(&start(outer))
}

/// Reads a rule by one of its bounds; both sides as allow, so that no deny counts for more spellings.
fn pattern(section: Section, rule: &EncodedRule, regex: &str) -> Pattern {
    Pattern::foreign(section.kind(), regex, &rule.text, Action::Allow)
}

/// The rules of an OpenCode `permission` block, key by key.
pub(super) fn opencode(
    subject: &HarnessSubject<'_>,
    reading: RuleReading,
    node: &TreeNode,
    findings: &mut Findings,
) {
    let Some(block) = node.as_map() else { return };
    for TreeEntry { key, value } in &block.entries {
        let section = match key.text.as_str() {
            "bash" => Section::Bash,
            "edit" => Section::Edit,
            "read" => Section::Read,
            "external_directory" => Section::ExternalDirectory,
            _ => continue,
        };
        let Some(patterns) = value.as_map() else { continue };
        let rule = |entry: &TreeEntry| {
            let action = entry.value.as_str()?.parse().ok()?;
            let encoded = (reading.entry)(section, &entry.key.text, action)?;
            Some(WrittenRule { section, encoded, span: entry.key.span })
        };
        let mut rules: Vec<WrittenRule> = patterns.entries.iter().filter_map(rule).collect();
        // A late `*` has a finding of its own, for all the rules before it.
        if let Some(at) =
            rules.iter().rposition(|rule| rule.encoded.text == "*").filter(|at| *at > 0)
        {
            rules.drain(..=at);
        }
        check(subject, reading.order, &rules, findings);
    }
}

/// Reports rules that allow more than they seem to.
pub(super) fn too_wide(rules: &[WrittenRule], findings: &mut Findings) {
    let allowed = rules.iter().filter(|rule| rule.encoded.action == Action::Allow);
    for rule in allowed.filter(|rule| rule.section == Section::Bash) {
        let text = rule.encoded.text.as_str();
        let only = text.strip_prefix("Bash").unwrap_or(text).trim_matches(['(', ')']);
        if matches!(only, "" | "*" | ":*" | "**") {
            findings
                .add(&ALLOWS_EVERY_COMMAND, rule.span, "every command runs without a question")
                .hint("allow single commands, such as `Bash(npm test *)`");
            continue;
        }
        let Some(name) = only.strip_suffix('*') else { continue };
        let last = name.rsplit(' ').next().unwrap_or_default();
        let is_plain = !last.is_empty() && last.chars().all(|c| c.is_ascii_alphanumeric());
        if is_plain && !name.contains('*') {
            let message = format!("`{text}` also matches commands that only start with `{last}`");
            findings.add(&OPEN_ENDED, rule.span, message).hint(format!("write `Bash({name} *)`"));
        }
    }
}
