//! AG7031 to AG7036: texts by which an agent is chosen, and limits on its instructions.

use std::collections::HashMap;

use agentry_text::{Diagnostic, Findings, TreeValue, rules};

use super::agent::AuthoredAgent;
use super::names::AgentSummary;

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        EMPTY_DESCRIPTION: "AG7031",
        DESCRIPTION_IS_NAME: "AG7032",
        PLACEHOLDER_DESCRIPTION: "AG7033",
        SAME_DESCRIPTION: "AG7034",
        NEVER_STARTED: "AG7035",
        PROMPT_TOO_LONG: "AG7036".make_bad(long_prompt),
        ONE_WORD_DESCRIPTION: "AG7037",
    ]
}

fn long_prompt() -> Vec<(String, Vec<u8>)> {
    PROMPT_TOO_LONG.good.replace("You answer questions.", &"x".repeat(30_001))
}

/// Texts of templates that were never filled in.
const PLACEHOLDERS: &[&str] = &[
    "todo",
    "tbd",
    "fixme",
    "xxx",
    "description",
    "description here",
    "agent description",
    "add description",
    "add a description",
    "your description here",
    "lorem ipsum",
    "placeholder",
    "...",
    "…",
];

pub(super) fn check(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    if let Some(entry) = agent.entry("description") {
        let text = match &entry.value.value {
            TreeValue::Str(text) => Some(text.as_str()),
            TreeValue::Null => Some(""),
            _ => None,
        };
        match text {
            Some(text) if text.trim().is_empty() => {
                findings
                    .add(&EMPTY_DESCRIPTION, entry.key.span, "the description is empty")
                    .hint("say in one sentence when to use the agent");
            }
            Some(text) => purpose(agent, text.trim(), entry.value.span, findings),
            None => {}
        }
    }
    if agent.target.name == "copilot"
        && agent.is_on("disable-model-invocation")
        && let Some(node) = agent.node("user-invocable")
        && node.value == TreeValue::Bool(false)
    {
        findings
            .add(&NEVER_STARTED, node.span, "neither the model nor a person can start the agent")
            .hint("remove one of `disable-model-invocation` and `user-invocable`");
    }
    length(agent, findings);
}

fn purpose(
    agent: &AuthoredAgent<'_>,
    text: &str,
    span: agentry_text::Span,
    findings: &mut Findings,
) {
    let lower = text.to_lowercase();
    let bare = lower.trim_matches(|c: char| matches!(c, '<' | '>' | '[' | ']' | '{' | '}' | '.'));
    if is_placeholder(bare.trim(), &lower) {
        findings
            .add(&PLACEHOLDER_DESCRIPTION, span, "the description is a placeholder")
            .hint("say in one sentence when to use the agent");
    } else if words(text) == words(&agent.name().value) {
        findings
            .add(&DESCRIPTION_IS_NAME, span, "the description only repeats the name")
            .hint("say when to use the agent");
    } else if is_one_word(text) && agent.text("mode").is_none_or(|mode| mode.value != "primary") {
        findings
            .add(&ONE_WORD_DESCRIPTION, span, "the description does not say when to use the agent")
            .hint(format!("write a sentence: {} chooses an agent by it", agent.target.title));
    }
}

/// Whether a text is one short word. Some scripts write sentences without spaces.
fn is_one_word(text: &str) -> bool {
    text.is_ascii() && text.len() < 20 && text.split_whitespace().count() < 2
}

/// Whether a description is the text of a template.
pub(super) fn is_placeholder(bare: &str, whole: &str) -> bool {
    PLACEHOLDERS.contains(&bare) || PLACEHOLDERS.contains(&whole)
}

/// The words of a text in lower case, without words that name the kind of thing.
fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let lower = parts.map(str::to_lowercase);
    lower
        .filter(|word| !matches!(word.as_str(), "agent" | "subagent" | "a" | "an" | "the"))
        .collect()
}

fn length(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    let (Some(most), Some(prompt)) = (agent.facts.longest_prompt, &agent.prompt) else { return };
    let count = prompt.chars().count();
    if count > most {
        let title = agent.target.title;
        let message =
            format!("the instructions have {count} characters; {title} takes at most {most}");
        let start = agentry_text::Span::new(
            prompt.span.file,
            prompt.span.range().start,
            prompt.span.range().start,
        );
        findings.add(&PROMPT_TOO_LONG, start, message).hint("move parts of them into skills");
    }
}

/// Finds agents of one scope with the same description.
pub(super) fn repeated(agents: &[(&str, &AgentSummary)]) -> Vec<(usize, Diagnostic)> {
    let mut seen: HashMap<(&str, &str, &str), usize> = HashMap::new();
    let mut out = Vec::new();
    for (at, (_, agent)) in agents.iter().enumerate() {
        let Some(description) = agent.description.as_ref().filter(|it| it.trim().len() > 8) else {
            continue;
        };
        let key = (agent.harness, agent.scope.as_str(), description.value.trim());
        let Some(first) = seen.get(&key).copied() else {
            seen.insert(key, at);
            continue;
        };
        let Some((path, other)) = agents.get(first) else { continue };
        // Two agents of one name are reported as such.
        if other.name.value != agent.name.value {
            let message = format!("`{path}` has the same description");
            let mut found = Diagnostic::new(&SAME_DESCRIPTION, description.span, message);
            found.hint("say what distinguishes the two agents");
            out.push((at, found));
        }
    }
    out
}
