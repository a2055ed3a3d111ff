//! Command rules of Codex, which match the first words of a command.

use agentry_policy::{Action, PatternRule};

use super::rule_calls::{self, RuleCall, RuleCallValue};
use crate::encoding::{EncodedRule, MatchBounds};
use crate::model::starting_with;

/// A rule about all commands that start with some words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PrefixRule {
    pub(super) words: Vec<String>,
    pub(super) action: Action,
}

/// The verdicts and their names in Codex.
const DECISIONS: &[(Action, &str)] =
    &[(Action::Allow, "allow"), (Action::Ask, "prompt"), (Action::Deny, "forbidden")];

impl PrefixRule {
    /// Returns the longest prefix that covers everything a rule matches; `None` if it would cover every
    /// command. A word with a wildcard ends the prefix.
    pub(super) fn around(rule: &PatternRule) -> Option<Self> {
        let plain = |word: &&str| {
            !word.contains('*') && !word.starts_with('~') && !word.chars().any(char::is_control)
        };
        let words = rule.pattern.split(' ').filter(|word| !word.is_empty());
        let words: Vec<String> = words.take_while(plain).map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self { words, action: rule.action })
    }

    /// Encodes rules with the same verdict as one entry.
    pub(super) fn entry<'a>(
        rules: impl Iterator<Item = &'a Self>,
        action: Action,
    ) -> Option<EncodedRule> {
        let (texts, regexes): (Vec<String>, Vec<String>) = rules
            .map(|rule| {
                let words: Vec<&str> = rule.words.iter().map(String::as_str).collect();
                (rule.words.join("\0"), starting_with(&words))
            })
            .unzip();
        let matches = MatchBounds::exactly(format!("(?:{})", regexes.join("|")));
        (!texts.is_empty()).then(|| EncodedRule { text: texts.join("\n"), action, matches })
    }

    /// Returns the rules that an entry was encoded from.
    pub(super) fn of(entry: &EncodedRule) -> impl Iterator<Item = Self> {
        entry.text.split('\n').map(|text| Self {
            words: text.split('\0').map(str::to_owned).collect(),
            action: entry.action,
        })
    }

    fn line(&self) -> String {
        let words: Vec<String> = self
            .words
            .iter()
            .map(|word| serde_json::Value::from(word.as_str()).to_string())
            .collect();
        let decision = DECISIONS.iter().find(|(action, _)| *action == self.action);
        let decision = decision.map_or("forbidden", |(_, word)| word);
        format!("prefix_rule(pattern = [{}], decision = \"{decision}\")\n", words.join(", "))
    }
}

/// Writes a rules file.
pub(super) fn write(head: &str, rules: &[PrefixRule]) -> String {
    let lines = rules.iter().map(PrefixRule::line);
    std::iter::once(format!("{head}\n")).chain(lines).collect()
}

/// Parses a rules file; also returns the first line of each part that cannot be parsed.
pub(super) fn read(text: &str) -> (Vec<PrefixRule>, Vec<String>) {
    let (calls, mut others) = rule_calls::read(text);
    let mut rules = Vec::new();
    for call in calls {
        match rules_of(&call) {
            Some(found) => rules.extend(found),
            None => others.push(format!("{}(", call.name)),
        }
    }
    (rules, others)
}

/// The arguments of a rule, in their positional order.
const ARGUMENTS: &[&str] = &["pattern", "decision", "match", "not_match", "justification"];

/// The most rules that one call may expand to.
const MOST: usize = 1_000;

/// Expands one call to its rules: one per combination of alternatives.
fn rules_of(call: &RuleCall) -> Option<Vec<PrefixRule>> {
    match call.name.as_str() {
        "prefix_rule" => {}
        // This only defines where programs are.
        "host_executable" => return Some(Vec::new()),
        _ => return None,
    }
    let mut given: Vec<(&str, &RuleCallValue)> = Vec::new();
    for (at, (name, value)) in call.arguments.iter().enumerate() {
        let name = name.as_deref().or_else(|| ARGUMENTS.get(at).copied())?;
        let twice = given.iter().any(|(known, _)| *known == name);
        if twice || !ARGUMENTS.contains(&name) {
            return None;
        }
        given.push((name, value));
    }
    let argument = |name: &str| given.iter().find(|(known, _)| *known == name).map(|it| it.1);
    let action = match argument("decision") {
        Some(RuleCallValue::Text(word)) => DECISIONS.iter().find(|(_, known)| known == word)?.0,
        // A rule without a decision allows.
        Some(RuleCallValue::Word(none)) if none == "None" => Action::Allow,
        None => Action::Allow,
        Some(_) => return None,
    };
    let words = combinations(argument("pattern")?)?;
    Some(words.into_iter().map(|words| PrefixRule { words, action }).collect())
}

/// Returns every combination of the alternatives in a pattern.
fn combinations(pattern: &RuleCallValue) -> Option<Vec<Vec<String>>> {
    let RuleCallValue::List(words) = pattern else { return None };
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for word in words {
        let choices = match word {
            RuleCallValue::List(words) => words.iter().map(plain).collect::<Option<Vec<_>>>()?,
            word => vec![plain(word)?],
        };
        if all.len().saturating_mul(choices.len()) > MOST {
            return None;
        }
        let with =
            |before: &Vec<String>, word: &&str| [before.as_slice(), &[(*word).to_owned()]].concat();
        all = all.iter().flat_map(|before| choices.iter().map(|it| with(before, it))).collect();
    }
    (!words.is_empty() && !all.is_empty()).then_some(all)
}

/// Returns a word of a command.
fn plain(word: &RuleCallValue) -> Option<&str> {
    match word {
        RuleCallValue::Text(word) if !word.chars().any(char::is_control) => Some(word),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_covering_prefixes() {
        let cases = [
            ("git push *", Some("git push")),
            ("git push", Some("git push")),
            ("git push*", Some("git")),
            ("git ** --force", Some("git")),
            ("rm*", None),
            ("~/bin/x", None),
            ("cat ~/x", Some("cat")),
            ("*", None),
        ];
        for (pattern, expected) in cases {
            let rule = PatternRule { pattern: pattern.to_owned(), action: Action::Deny };
            let found = PrefixRule::around(&rule).map(|prefix| prefix.words.join(" "));
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn prefix_rules_round_trip() {
        let prefix = |words: &[&str], action| PrefixRule {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            action,
        };
        let rules =
            [prefix(&["git", "push"], Action::Deny), prefix(&["é", "a\"b\\c", "x]"], Action::Ask)];
        assert_eq!(read(&write("# x", &rules)), (rules.to_vec(), Vec::new()));
        let text = "prefix_rule(\n  pattern=[\"a\", [\"b\", \"c\"]],\n)\nprefix_rule(\n";
        let (found, others) = read(text);
        let both = [prefix(&["a", "b"], Action::Allow), prefix(&["a", "c"], Action::Allow)];
        assert_eq!((found, others), (both.to_vec(), vec!["prefix_rule(".to_owned()]));
    }

    #[test]
    fn prefix_rules_are_parsed_leniently() {
        let rules = |text: &str| {
            let (found, others) = read(text);
            let line = |rule: &PrefixRule| format!("{}:{}", rule.words.join(" "), rule.action);
            (found.iter().map(line).collect::<Vec<_>>().join(", "), others.len())
        };
        let cases = [
            (
                "prefix_rule(\n  pattern = [\"rm\", \"-rf\"],\n  decision = \"forbidden\",\n)\n",
                "rm -rf:deny",
                0,
            ),
            (
                "prefix_rule(decision='prompt', # why\n pattern=['a', ['b', 'c',],], justification=\"(x]\", match=[['a', 'b'], \"a c\"], not_match=[])",
                "a b:ask, a c:ask",
                0,
            ),
            ("prefix_rule([\"a\"], \"forbidden\")", "a:deny", 0),
            ("prefix_rule(pattern=[\"a\"], decision=None) # x", "a:allow", 0),
            ("host_executable(name=\"git\", paths=[\"/usr/bin/git\"])", "", 0),
            ("prefix_rule(pattern=[\"a\"], decision=\"never\")", "", 1),
            ("prefix_rule(pattern=[\"a\"], other=1)", "", 1),
            ("prefix_rule(pattern=[\"a\", []], decision=\"forbidden\")", "", 1),
            ("prefix_rule(pattern=[], decision=\"forbidden\")", "", 1),
            ("prefix_rule(pattern=[\"a\" \"b\"], decision=\"forbidden\")", "", 1),
            ("prefix_rule(pattern=[\"a\" + x])\nprefix_rule(pattern=[\"b\"])", "b:allow", 1),
            ("prefix_rule(pattern=[[[\"a\"]]])", "", 1),
            ("prefix_rule(pattern=[\"a\"])()", "", 1),
            ("X = \"forbidden\"\nprefix_rule(pattern=[\"a\"], decision=X)", "", 2),
            ("prefix_rule(", "", 1),
            ("[[[[[[[[[[", "", 1),
            ("\u{feff}# only a comment", "", 0),
        ];
        for (text, found, others) in cases {
            assert_eq!(rules(text), (found.to_owned(), others), "{text}");
        }
        let ten = format!("[{}]", "\"a\", ".repeat(10));
        let many = format!("prefix_rule(pattern=[{}])", format!("{ten}, ").repeat(4));
        assert_eq!(rules(&many), (String::new(), 1));
    }
}
