//! The texts of an agent that checks search, and spans of parts of a text.

use agentry_model::{Agent, AgentInstructions};
use agentry_text::{Span, Spanned};

/// Returns the span of `len` bytes at `offset` of `text`, or its whole span if the source has escapes.
pub(crate) fn inside(text: &Spanned<String>, offset: usize, len: usize) -> Span {
    within(text.span, text.len(), offset, len)
}

/// Returns the span of `len` bytes at `offset` of a value of `width` bytes.
/// A value as long as its span is verbatim in the source. One that is two bytes shorter is in quotes.
pub(crate) fn within(span: Span, width: usize, offset: usize, len: usize) -> Span {
    let range = span.range();
    let start = match range.len().checked_sub(width) {
        Some(0) => range.start + offset,
        Some(2) => range.start + 1 + offset,
        _ => return span,
    };
    Span::new(span.file, start, start + len)
}

/// Returns the texts that the agent gets as instructions, each with a name for messages.
pub(crate) fn instructions(agent: &Agent) -> Vec<(&'static str, &Spanned<String>)> {
    let AgentInstructions {
        system,
        rules,
        base_rules,
        system_override,
        traits,
        notes,
        context: _,
        rule_files: _,
    } = &agent.instructions;
    let fields = [
        ("the system prompt", system),
        ("the rules", rules),
        ("the system prompt", system_override),
        ("the text", notes),
    ];
    let fields = fields.into_iter().filter_map(|(what, text)| Some((what, text.as_ref()?)));
    let fields = fields.chain(base_rules.iter().map(|text| ("the rules", text)));
    let traits = traits.iter().flatten().map(|text| ("a trait", text));
    let prompts = agent.schedules.iter().filter_map(|schedule| schedule.prompt.as_ref());
    fields.chain(traits).chain(prompts.map(|text| ("the prompt", text))).collect()
}

/// Returns the texts that come with the agent and that it reads: skills and memories.
pub(crate) fn attachments(agent: &Agent) -> Vec<(&'static str, &Spanned<String>)> {
    let skills = agent.skill_packs.iter().filter_map(|pack| pack.text.as_ref());
    let memories = agent.memories.iter().filter_map(|memory| memory.text.as_ref());
    let skills = skills.map(|text| ("the skill", text));
    skills.chain(memories.map(|text| ("the memory", text))).collect()
}

#[cfg(test)]
mod tests {
    use agentry_text::FileId;

    use super::*;

    #[test]
    fn spans_inside_a_text_are_mapped() {
        let cases = [(10, (13, 15)), (12, (14, 16)), (14, (10, 24))];
        for (width, (start, end)) in cases {
            let text = Spanned::new("0123456789".to_owned(), Span::new(FileId(0), 10, 10 + width));
            assert_eq!(inside(&text, 3, 2), Span::new(FileId(0), start, end), "{width}");
        }
    }
}
