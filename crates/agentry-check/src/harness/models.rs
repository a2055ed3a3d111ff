//! AG7061 and AG7062: the model of an agent.

use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, rules};

use super::agent::AuthoredAgent;

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        MISSPELT_MODEL: "AG7061",
        UNUSABLE_MODEL: "AG7062",
    ]
}

/// How models of the large vendors start.
const VENDORS: &[&str] =
    &["gpt-", "o1", "o3", "o4", "gemini-", "claude-", "sonnet", "opus", "haiku", "codex-"];

/// Families of models, and providers before a `/`.
const FAMILIES: &[&str] = &[
    "claude",
    "sonnet",
    "opus",
    "haiku",
    "gemini",
    "gemma",
    "gpt",
    "codex",
    "grok",
    "deepseek",
    "qwen",
    "mistral",
    "llama",
    "kimi",
    "inherit",
    "anthropic",
    "openai",
    "google",
    "openrouter",
    "mistralai",
    "github",
    "copilot",
    "bedrock",
    "vertex",
    "groq",
    "cerebras",
    "ollama",
    "xai",
    "moonshotai",
];

/// Words that are near to a family, and are something else.
const OTHER_WORDS: &[&str] = &[
    "mixtral", "goggle", "open", "fast", "flash", "azure", "pro", "max", "code", "coder", "llava",
    "git",
];

pub(super) fn check(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    let Some(model) = agent.text("model") else { return };
    let name = model.value.trim();
    let title = agent.target.title;
    if let Some(right) = corrected(name) {
        let message = format!("`{name}` is not a model of {title}");
        let found = findings.add(&MISSPELT_MODEL, model.span, message);
        found.hint(format!("did you mean `{right}`?"));
        found.fix(Fix::word(format!("write `{right}`"), model.span, right));
        return;
    }
    let Some(facts) = agent.facts.models else { return };
    let is_alias = facts.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name));
    if name.is_empty() || is_alias || (facts.fits)(name) {
        return;
    }
    let near = nearest(name, facts.aliases.iter().copied()).filter(|_| name.len() > 3);
    if let Some(near) = near {
        let found = findings.add(
            &MISSPELT_MODEL,
            model.span,
            format!("`{name}` is not a model of {title}"),
        );
        found.hint(format!("did you mean `{near}`?"));
        found.fix(Fix::word(format!("write `{near}`"), model.span, near));
        return;
    }
    // Behind a proxy any other name may exist.
    let lower = name.to_lowercase();
    let is_elsewhere = VENDORS.iter().any(|vendor| lower.starts_with(vendor));
    if is_elsewhere || facts.aliases.is_empty() {
        let message = format!("`{name}` is not a model of {title}");
        findings
            .add(&UNUSABLE_MODEL, model.span, message)
            .hint(format!("name a model as {}", facts.form));
    }
}

/// The name with its misspelt words corrected; `None` if every word may be right.
fn corrected(name: &str) -> Option<String> {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let mut out = String::new();
    let mut rest = name;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end)?;
        let lower = word.to_lowercase();
        let is_known = |words: &[&str]| words.contains(&lower.as_str());
        let near = FAMILIES.iter().find(|family| {
            // A short word has many neighbours; only swapped letters are a misspelling of it.
            (lower.len() > 3 || has_same_letters(&lower, family)) && is_one_edit(&lower, family)
        });
        match near.filter(|_| !is_known(FAMILIES) && !is_known(OTHER_WORDS)) {
            Some(family) => out.push_str(family),
            None => out.push_str(word),
        }
        let next = after.find(is_letter).unwrap_or(after.len());
        out.push_str(after.get(..next)?);
        rest = after.get(next..)?;
    }
    (out != name).then_some(out)
}

fn has_same_letters(one: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters = text.as_bytes().to_vec();
        letters.sort_unstable();
        letters
    };
    sorted(one) == sorted(other)
}

/// Whether one letter was left out, added, changed, or swapped with its neighbour. The first letter of a short
/// word is always right: otherwise `lama` and `gama` would be near to everything.
fn is_one_edit(written: &str, word: &str) -> bool {
    let (written, word) = (written.as_bytes(), word.as_bytes());
    let start = written.iter().zip(word).take_while(|(one, other)| one == other).count();
    let same = |of_written: usize, of_word: usize| {
        written.get(start + of_written..).unwrap_or_default()
            == word.get(start + of_word..).unwrap_or_default()
    };
    let swapped = written.get(start) == word.get(start + 1)
        && written.get(start + 1) == word.get(start)
        && word.len() > start + 1;
    written != word
        && start > 0
        && (same(1, 0) || same(0, 1) || same(1, 1) || swapped && same(2, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_models_are_corrected() {
        let cases = [
            ("sonet", Some("sonnet")),
            ("claude-sonet-4-5", Some("claude-sonnet-4-5")),
            ("cluade-sonnet-4-5", Some("claude-sonnet-4-5")),
            ("antropic/claude-sonnet-4-5", Some("anthropic/claude-sonnet-4-5")),
            ("gemni-2.5-pro", Some("gemini-2.5-pro")),
            ("gtp-5", Some("gpt-5")),
            ("opuss", Some("opus")),
            ("inherti", Some("inherit")),
            ("Sonnet", None),
            ("claude-haiku-4-5-20251001", None),
            ("gemini-2.5-flash-lite", None),
            ("gpt-5.1-codex-mini", None),
            ("openrouter/mistralai/mixtral-8x7b", None),
            ("ollama/llama3.2:3b", None),
            ("ollama/qwen2.5-coder", None),
            ("xai/grok-code-fast-1", None),
            ("ollama/llava", None),
            ("gemma3", None),
            ("my-company/own-model", None),
            ("mistral/ministral-8b", None),
            ("get", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(corrected(name).as_deref(), expected, "{name}");
        }
    }
}
