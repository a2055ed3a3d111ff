//! Rules about commands: the words that they start with.

use agentry_policy::{Action, PatternRule};

use crate::encoding::{Entry, Matches};
use crate::harmless::starting_with;

/// A rule about all commands that start with some words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) words: Vec<String>,
    pub(super) action: Action,
}

/// The answers, in the words of Codex.
const DECISIONS: &[(Action, &str)] =
    &[(Action::Allow, "allow"), (Action::Ask, "prompt"), (Action::Deny, "forbidden")];

impl Prefix {
    /// The longest prefix that takes everything that a rule is about; nothing if it would take
    /// every command. What ends inside a word is cut before it.
    pub(super) fn around(rule: &PatternRule) -> Option<Self> {
        let plain = |word: &&str| {
            !word.contains('*') && !word.starts_with('~') && !word.chars().any(char::is_control)
        };
        let words = rule.pattern.split(' ').filter(|word| !word.is_empty());
        let words: Vec<String> = words.take_while(plain).map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self { words, action: rule.action })
    }

    /// What is taken for harmless, as a rule.
    pub(super) fn harmless(name: &str) -> Self {
        Self { words: vec![name.to_owned()], action: Action::Allow }
    }

    /// Rules with the same answer as one entry of an encoding.
    pub(super) fn entry<'a>(
        rules: impl Iterator<Item = &'a Self>,
        action: Action,
    ) -> Option<Entry> {
        let (texts, regexes): (Vec<String>, Vec<String>) = rules
            .map(|rule| {
                let words: Vec<&str> = rule.words.iter().map(String::as_str).collect();
                (rule.words.join("\0"), starting_with(&words))
            })
            .unzip();
        let matches = Matches::exactly(format!("(?:{})", regexes.join("|")));
        (!texts.is_empty()).then(|| Entry { text: texts.join("\n"), action, matches })
    }

    /// The rules of an entry that was made from some.
    pub(super) fn of(entry: &Entry) -> impl Iterator<Item = Self> {
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

/// The text of a file of rules.
pub(super) fn write(head: &str, rules: &[Prefix]) -> String {
    let lines = rules.iter().map(Prefix::line);
    std::iter::once(format!("{head}\n")).chain(lines).collect()
}

/// The rules of a file, and what is not understood.
pub(super) fn read(text: &str) -> (Vec<Prefix>, Vec<String>) {
    let mut rules = Vec::new();
    let mut others = Vec::new();
    for statement in statements(text) {
        match parse(&statement) {
            Some(found) => rules.extend(found),
            None => others.push(statement),
        }
    }
    (rules, others)
}

/// The rules of a file as one line each, without comments.
fn statements(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut is_open = false;
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match all.last_mut().filter(|_| is_open) {
            Some(statement) => statement.push_str(line),
            None => all.push(line.to_owned()),
        }
        let last = all.last().map(String::as_str).unwrap_or_default();
        is_open = last.starts_with("prefix_rule(") && !last.ends_with(')');
    }
    all
}

/// The rules of one line: one for each combination of alternatives.
fn parse(line: &str) -> Option<Vec<Prefix>> {
    let inner = line.strip_prefix("prefix_rule(")?.strip_suffix(')')?;
    let from = inner.find('[')?;
    let pattern = inner.get(from..)?;
    let mut stream = serde_json::Deserializer::from_str(pattern).into_iter();
    let words: Vec<serde_json::Value> = stream.next()?.ok()?;
    let rest = pattern.get(stream.byte_offset()..)?;
    let action = match rest.split_once("decision").and_then(|(_, rest)| rest.split('"').nth(1)) {
        Some(word) => DECISIONS.iter().find(|(_, known)| *known == word)?.0,
        None => Action::Allow,
    };
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for word in &words {
        let choices: Vec<&str> = match word {
            serde_json::Value::String(word) => vec![word],
            serde_json::Value::Array(words) => {
                words.iter().map(serde_json::Value::as_str).collect::<Option<_>>()?
            }
            _ => return None,
        };
        let with = |before: &Vec<String>, choice: &&str| {
            before.iter().cloned().chain([(*choice).to_owned()]).collect()
        };
        let longer = all.iter().flat_map(|before| choices.iter().map(|it| with(before, it)));
        all = longer.take(1_000).collect();
    }
    Some(all.into_iter().map(|words| Prefix { words, action }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_a_pattern() {
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
            let found = Prefix::around(&rule).map(|prefix| prefix.words.join(" "));
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn there_and_back() {
        let prefix = |words: &[&str], action| Prefix {
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
}
