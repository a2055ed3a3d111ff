//! AG9003: a text that is too long for the context window.

use agentry_text::limits::INSTRUCTION_BYTES;
use agentry_text::{Findings, LintRule, Span, rule};

use crate::text_spans::{attachments, instructions};
use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9003").make_bad(|| {
    let sentence = "You answer questions.\n";
    RULE.good.replace(sentence, &sentence.repeat(13_700))
});

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let all = instructions(subject.agent).into_iter().chain(attachments(subject.agent));
    for (what, text) in all.filter(|(_, text)| text.len() > INSTRUCTION_BYTES) {
        let bytes = text.len();
        let message = format!("{what} has {bytes} bytes; at most {INSTRUCTION_BYTES} are read");
        // The span is empty: underlining the whole text would fill the report.
        let start = Span { end: text.span.start, ..text.span };
        findings.add(&RULE, start, message).hint("move reference material to skills or files");
    }
}

#[cfg(test)]
mod tests {
    use agentry_model::{Agent, MemoryFile, Schedule};

    use super::*;
    use crate::testing::{count, text};

    #[test]
    fn overlong_texts_are_reported() {
        let long = Some(text(&"x".repeat(INSTRUCTION_BYTES + 1)));
        let mut agent = Agent::default();
        agent.instructions.system = Some(text(&"x".repeat(INSTRUCTION_BYTES)));
        assert_eq!(count(&CHECK, &agent), 0);
        agent.instructions.rules.clone_from(&long);
        agent.schedules.push(Schedule { prompt: long.clone(), ..Schedule::default() });
        agent.memories.push(MemoryFile {
            path: "a.md".to_owned(),
            kind: None,
            importance: None,
            created: None,
            source: None,
            pinned: None,
            text: long,
        });
        assert_eq!(count(&CHECK, &agent), 3);
    }
}
