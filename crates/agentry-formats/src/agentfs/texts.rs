//! Reads `persona.md` and `principles.md`: the instructions of the agent, and what it must never do.

use agentry_model::Agent;
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, SourceFile, Span, markdown};

use super::rules::{EMPTY_NEVER_DO, LONG_PERSONA, NO_PERSONA, NO_PRINCIPLES, NOTHING_PROTECTED};
use super::sections::{PrinciplesPart, principles};
use crate::AgentPackage;
use crate::front_matter::trimmed;

/// The length from which a persona counts as long, in characters.
const LONG: usize = 10_000;

/// Reads both texts; a missing file is reported at `place`.
pub(super) fn read(
    package: &mut AgentPackage<'_>,
    place: Span,
    agent: &mut Agent,
    findings: &mut Findings,
) {
    let persona = package.read("persona.md", findings);
    agent.instructions.system = persona.as_ref().and_then(whole);
    if let Some(text) = &agent.instructions.system {
        let length = text.chars().count();
        if length > LONG {
            let message = format!("the persona has {length} characters");
            findings.add(&LONG_PERSONA, start(text.span), message).hint(
                "keep it short, hard and testable; move knowledge to `memory/` and know-how to `skills/`",
            );
        }
    } else {
        let (span, state) = absent(persona.as_ref(), place);
        findings
            .add(&NO_PERSONA, span, format!("`persona.md` {state}"))
            .hint("write into it how the agent speaks and behaves");
    }
    let rules = package.read("principles.md", findings);
    agent.instructions.rules = rules.as_ref().and_then(whole);
    match &rules {
        Some(source) if agent.instructions.rules.is_some() => never_do(source, findings),
        _ => {
            let (span, state) = absent(rules.as_ref(), place);
            findings
                .add(&NO_PRINCIPLES, span, format!("`principles.md` {state}"))
                .hint("write into it, under `## Never Do`, what the agent must never do");
        }
    }
}

fn whole(source: &SourceFile) -> agentry_model::Declared<String> {
    trimmed(source, source.whole())
}

fn start(span: Span) -> Span {
    Span { end: span.start, ..span }
}

fn absent(source: Option<&SourceFile>, place: Span) -> (Span, &'static str) {
    match source {
        Some(source) => (Span::start_of(source.id), "is empty"),
        None => (place, "is missing"),
    }
}

/// Reports principles that forbid nothing, so that nothing is protected.
fn never_do(source: &SourceFile, findings: &mut Findings) {
    let found = principles(source);
    let mut never = found.iter().filter(|(part, _)| *part == PrinciplesPart::NeverDo).peekable();
    if never.peek().is_none() {
        let known: Vec<_> = found.iter().map(|(_, section)| section.heading).collect();
        nothing_protected(source, &known, findings);
    }
    for (_, section) in never {
        if source.slice(section.content).trim().is_empty() {
            findings
                .add(&EMPTY_NEVER_DO, section.heading, "nothing stands under this heading")
                .hint("list what the agent must never do, or remove the heading");
        }
    }
}

fn nothing_protected(source: &SourceFile, known: &[Span], findings: &mut Findings) {
    let sections = markdown::sections(source, 0..source.text.len());
    let names = ["never do", "must not", "never"];
    // A defined heading, such as `Must Do`, is not a misspelt `Never Do`.
    let mut others = sections.iter().filter(|section| !known.contains(&section.heading));
    let near = others.find(|section| nearest(&section.title, names).is_some());
    let message = "`principles.md` has no section `Never Do`, so nothing in it is protected";
    match near {
        Some(section) => findings
            .add(&NOTHING_PROTECTED, section.title.span, message)
            .hint("did you mean `Never Do`?"),
        None => findings
            .add(&NOTHING_PROTECTED, Span::start_of(source.id), message)
            .hint("add `## Never Do` with what must hold whatever the agent learns"),
    };
}
