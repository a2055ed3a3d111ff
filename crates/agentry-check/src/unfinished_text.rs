//! AG9025: a marker, a placeholder or filler text that was left in the description or instructions.

use std::ops::Range;

use agentry_text::{Findings, LintRule, Spanned, rule};

use crate::text_spans::{inside, instructions};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// Words with which authors mark missing text.
const MARKS: &[&str] = &["TODO", concat!("FIX", "ME"), "TBD", concat!("XX", "X")];
/// The usual placeholder text of designers.
const FILLER: &str = "lorem ipsum";

static RULE: LintRule = rule!("AG9025");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let description = subject.agent.identity.description.iter();
    // Instructions may contain a placeholder on purpose, a description never does.
    for text in description.clone() {
        report(text, placeholder(text), findings);
    }
    let instructions = instructions(subject.agent).into_iter().map(|(_, text)| text);
    for text in description.chain(instructions) {
        marks(text).into_iter().for_each(|range| report(text, Some(range), findings));
        report(text, filler(text), findings);
    }
}

fn report(text: &Spanned<String>, range: Option<Range<usize>>, findings: &mut Findings) {
    let Some(range) = range else { return };
    let found = text.get(range.clone()).unwrap_or("");
    let message = format!("`{found}` was left in the text");
    let place = inside(text, range.start, range.len());
    findings.add(&RULE, place, message).hint("finish the text, or remove it");
}

/// Finds lines that start with a marker, outside of code. A marker inside a sentence may be its subject.
fn marks(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut in_code = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let words = line.trim_start_matches([' ', '\t', '#', '-', '*', '>', '[', '<', '!']);
        let at = start + line.len() - words.len();
        start += line.len();
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            in_code = !in_code;
        }
        let mark = MARKS.iter().find(|mark| is_mark(words, mark)).filter(|_| !in_code);
        found.extend(mark.map(|mark| at..at + mark.len()));
    }
    found
}

fn is_mark(words: &str, mark: &str) -> bool {
    let rest = words.strip_prefix(mark);
    rest.is_some_and(|rest| rest.trim_end().is_empty() || rest.starts_with([':', '(', ']', '>']))
}

fn filler(text: &str) -> Option<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    // `contains` is much faster than `find`, and the text is almost always absent.
    let at = lower.contains(FILLER).then(|| lower.find(FILLER)).flatten()?;
    Some(at..at + FILLER.len())
}

/// Finds `<your …>` or `[your …]`.
fn placeholder(text: &str) -> Option<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let openings = [("<your ", '>'), ("[your ", ']'), ("<insert ", '>'), ("[insert ", ']')];
    openings.iter().find_map(|(opening, closing)| {
        let at = lower.find(opening)?;
        let len = lower.get(at..)?.find(*closing)?;
        Some(at..at + len + 1)
    })
}

#[cfg(test)]
mod tests {
    use agentry_model::{Agent, Format};

    use super::*;
    use crate::testing::{found, text};

    #[test]
    fn unfinished_marks_in_instructions_are_reported() {
        let fix = MARKS[1];
        let cases = [
            ("TODO: write".to_owned(), Some("0..4")),
            ("a\n- TODO(me) write".to_owned(), Some("4..8")),
            (format!("a\n## {fix}: x"), Some("5..10")),
            ("a\nTBD\n".to_owned(), Some("2..5")),
            ("Lorem ipsum dolor".to_owned(), Some("0..11")),
            ("Find TODO: comments".to_owned(), None),
            ("TODO comments are collected".to_owned(), None),
            ("```\nTODO: code\n```".to_owned(), None),
            ("Answer with <your answer>".to_owned(), None),
        ];
        for (words, expected) in cases {
            let mut agent = Agent::default();
            agent.instructions.system = Some(text(&words));
            let lines = found(&CHECK, &agent, Format::AgentToml);
            let place = lines.first().and_then(|line| line.split(' ').next());
            assert_eq!(place, expected, "{words}");
        }
    }

    #[test]
    fn placeholders_in_descriptions_are_reported() {
        let cases = [
            ("Helps with <your topic>", Some("11..23 `<your topic>` was left in the text")),
            ("[Insert purpose here]", Some("0..21 `[Insert purpose here]` was left in the text")),
            ("Turns <b> into bold", None),
        ];
        for (words, expected) in cases {
            let mut agent = Agent::default();
            agent.identity.description = Some(text(words));
            let lines = found(&CHECK, &agent, Format::AgentToml);
            assert_eq!(lines.first().map(String::as_str), expected, "{words}");
        }
    }
}
