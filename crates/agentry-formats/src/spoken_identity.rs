//! The texts of an agent's identity in its prompt: role, traits and a raw override. A format
//! without a field for one of them gets it in its system text, so that a conversion loses no words
//! of the prompt.

use agentry_model::{Agent, ConversionLoss, ConversionLossKind, Format};
use agentry_text::{FileId, Span, Spanned};

use crate::info;

/// Returns the sentence for a role. A slug such as `security-auditor` is spoken as words; other text is kept.
pub fn role_sentence(role: &str) -> String {
    let is_slug =
        |role: &str| role.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let role = role.trim();
    if is_slug(role) {
        format!("Your role: {}.", role.replace('-', " "))
    } else if role.ends_with(['.', '!', '?', '…', ':']) {
        format!("Your role: {role}")
    } else {
        format!("Your role: {role}.")
    }
}

/// Returns the instructions for traits, one on each line.
pub fn trait_lines(traits: &[Spanned<String>]) -> String {
    let lines: Vec<&str> = traits.iter().map(|name| habit(name).unwrap_or(name)).collect();
    lines.join("\n")
}

/// Returns the instruction for a built-in trait. Any other trait is its own instruction.
fn habit(name: &str) -> Option<&'static str> {
    Some(match name {
        "cite-everything" => "Give a source for every claim of fact.",
        "flag-uncertainty" => "Mark what you are not sure of, and say why.",
        "never-guess" => "When you do not know, say so; never fill a gap with a guess.",
        "ask-before-writing" => "Ask before you change or create a file.",
        "think-step-by-step" => "Work through a problem in small steps before you answer.",
        "be-concise" => "Use as few words as the matter allows.",
        "self-review" => "Go over your own result once more before you hand it in.",
        "test-first" => "Write the test before the code that it tests.",
        "noether-first" => "Look for an existing Noether stage before you write your own.",
        "noether-verify" => "Have Noether verify a composition before you use it.",
        _ => return None,
    })
}

/// Puts the texts for which `format` has no field into the system text, in the order of the prompt. Returns
/// what moved.
pub(crate) fn fold(agent: &mut Agent, format: Format) -> Vec<ConversionLoss> {
    let lacks = |field: &str| !info(format).can_express(field);
    let mut notes = Vec::new();
    let is_raw =
        agent.instructions.system.is_none() && agent.instructions.system_override.is_some();
    if is_raw && lacks("system_override") {
        leave_unused(agent, &mut notes);
    }
    let instructions = &agent.instructions;
    let role = agent.identity.role.as_ref().filter(|_| lacks("role"));
    let traits = instructions.traits.as_ref().filter(|_| lacks("traits"));
    let raw = instructions.system_override.as_ref().filter(|_| lacks("system_override"));
    let moved = [
        ("role", role.filter(|role| !role.trim().is_empty()).map(|role| role_sentence(role))),
        ("traits", traits.map(|traits| trait_lines(traits))),
        ("system_override", raw.map(|raw| raw.trim().to_owned())),
    ];
    let moved: Vec<(&str, String)> = moved
        .into_iter()
        .filter_map(|(field, text)| Some((field, text.filter(|text| !text.trim().is_empty())?)))
        .collect();
    let Some((first, _)) = moved.first() else { return notes };
    // Traits alone follow the description, as in the prompt.
    let described = agent.identity.description.as_ref().filter(|_| *first == "traits");
    let opening = instructions.system.as_ref().or(described);
    let span = opening.map_or(Span::start_of(FileId::BUILT_IN), |text| text.span);
    let texts = opening.iter().map(|text| text.trim()).chain(moved.iter().map(|(_, text)| &**text));
    let system = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    let note = |field: &str, detail: &str| ConversionLoss {
        field: field.to_owned(),
        kind: ConversionLossKind::Changed,
        detail: detail.to_owned(),
    };
    notes.extend(moved.iter().map(|(field, _)| note(field, "moved into the system text")));
    notes.push(note("system", "what has no field of its own was added at its end"));
    agent.instructions.system = Some(Spanned::new(system, span));
    notes
}

/// Removes role and traits, which a raw override without a system text replaces: in another format they would
/// be sent.
fn leave_unused(agent: &mut Agent, notes: &mut Vec<ConversionLoss>) {
    let role = agent.identity.role.take().map(|_| "role");
    let traits = agent.instructions.traits.take().map(|_| "traits");
    notes.extend(role.into_iter().chain(traits).map(|field| ConversionLoss {
        field: field.to_owned(),
        kind: ConversionLossKind::Dropped,
        detail: "not used beside `system_override`, so it is left out".to_owned(),
    }));
}
