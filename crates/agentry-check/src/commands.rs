//! The command rules of an agent, and which of them a given command meets first.

use agentry_model::Agent;
use agentry_policy::{Action, PatternRule, Section, SectionRules};
use agentry_text::Spanned;

/// The most rules that are weighed against each other.
pub(crate) const MOST_RULES: usize = 500;

/// The `bash` section, if one was written.
pub(crate) fn bash(agent: &Agent) -> Option<&SectionRules> {
    agent.policy.permissions.as_ref()?.get(Section::Bash)
}

/// The rules of the `bash` section.
pub(crate) fn rules(agent: &Agent) -> &[Spanned<PatternRule>] {
    bash(agent).map_or(&[], |section| &section.rules)
}

/// The words of a command pattern.
pub(crate) fn words(pattern: &str) -> Vec<&str> {
    pattern.split(' ').filter(|word| !word.is_empty()).collect()
}

/// The answer that `section` gives to a plain command.
pub(crate) fn answer(section: &SectionRules, command: &[&str]) -> Action {
    let rules = section.rules.iter().take(MOST_RULES);
    let rule = rules.into_iter().find(|rule| matches(&rule.pattern, command));
    let intent = section.intent.map_or(Action::Ask, |intent| intent.value);
    rule.map_or(intent, |rule| rule.action)
}

/// Whether a pattern matches a command word by word. A `*` at its end takes all further words.
fn matches(pattern: &str, command: &[&str]) -> bool {
    let mut pattern = words(pattern);
    match pattern.last().copied() {
        Some("*") => drop(pattern.pop()),
        Some(last) if last.ends_with('*') => {}
        _ => return wildcard(&pattern, command, "**", match_word),
    }
    pattern.push("**");
    wildcard(&pattern, command, "**", match_word)
}

/// Whether a word with wildcards matches another.
fn match_word(pattern: &str, word: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let word: Vec<char> = word.chars().collect();
    wildcard(&pattern, &word, '*', |wanted, c| wanted == c)
}

/// Whether `pattern` matches `subject`, where `star` stands for any number of items. Goes back only
/// to the last star, so that no pattern takes long.
fn wildcard<T: Copy + PartialEq>(
    pattern: &[T],
    subject: &[T],
    star: T,
    same: impl Fn(T, T) -> bool,
) -> bool {
    let (mut at, mut read, mut back) = (0, 0, None);
    while let Some(item) = subject.get(read) {
        match pattern.get(at) {
            Some(wanted) if *wanted == star => {
                back = Some((at + 1, read));
                at += 1;
            }
            Some(wanted) if same(*wanted, *item) => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((after, from)) = back else { return false };
                back = Some((after, from + 1));
                (at, read) = (after, from + 1);
            }
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|wanted| *wanted == star)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            ("git push --force*", "git push --force-with-lease x", true),
            ("git push --force*", "git push origin --force", false),
            ("git push ** --force*", "git push origin --force", true),
            ("git push ** --force*", "git push --force", true),
            ("ls *", "ls", true),
            ("ls *", "lsof", false),
            ("ls*", "lsof -i", true),
            ("npm run a*c", "npm run abc", true),
            ("npm run a*c", "npm run abcd", false),
            ("**", "rm -rf /", true),
            ("rm", "rm x", false),
        ];
        for (pattern, command, expected) in cases {
            assert_eq!(matches(pattern, &words(command)), expected, "{pattern} on {command}");
        }
    }
}
