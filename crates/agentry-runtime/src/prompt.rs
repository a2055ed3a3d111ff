//! The system prompt as it is sent: the parts that `show --prompt` lists, and nothing else.

use agentry_compile::PromptPart;

/// Joins the parts in order, with a blank line between them.
pub fn system(parts: &[PromptPart]) -> String {
    let texts = parts.iter().map(|part| part.text.trim()).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}
