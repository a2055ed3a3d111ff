//! Renders agents as sections of `AGENTS.md`.

use super::fields::FIELDS;
use super::{NAME, PATH, heading};
use crate::fields::report_losses;
use crate::marks::{begin, end, merged};
use crate::prose_rules::{in_words, unenforced};
use crate::render_result::{
    ProjectRendering, RenderScope, RenderSettings, RenderedAgent, RenderedFile,
};
use crate::subject::RenderSubject;

/// The sentence before the sections of several agents.
const SEVERAL: &str = "Each section below is for one agent: follow the one of the agent that you are \
                       asked to be, and no other.";

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let mut agents: Vec<RenderedAgent> =
        subjects.iter().map(|_| RenderedAgent::default()).collect();
    let mut sections: Vec<(&str, String)> = Vec::new();
    for (subject, out) in subjects.iter().zip(&mut agents) {
        let section = section(subject, out);
        if settings.scope == RenderScope::User {
            let hint = Some("render it with the scope `project`");
            out.refuse("name", "AGENTS.md is a file of a project", hint);
        }
        // A mark inside the prompt would end our part of the file too early.
        if section.contains(&begin(NAME)) || section.contains(&end(NAME)) {
            let message = "the prompt holds a mark that ends our part of AGENTS.md";
            out.refuse("instructions", message, Some("leave the mark out"));
        }
        if out.refused.is_none() {
            sections.push((&subject.name, section));
        }
    }
    // A fixed order keeps the file the same from run to run.
    sections.sort();
    let shared = file(&sections, settings, &mut agents);
    let shared = shared.into_iter().collect();
    ProjectRendering { agents, shared, lines: Vec::new() }
}

/// Builds the whole file; `None` if there is nothing to write and no old part to remove.
fn file(
    sections: &[(&str, String)],
    settings: &RenderSettings<'_>,
    agents: &mut [RenderedAgent],
) -> Option<RenderedFile> {
    let existing = settings.existing.text(PATH);
    if settings.scope == RenderScope::User || (sections.is_empty() && existing.is_none()) {
        return None;
    }
    let existing = existing.unwrap_or_default();
    let texts: Vec<&str> = sections.iter().map(|(_, text)| text.as_str()).collect();
    let part = match texts.as_slice() {
        [only] => (*only).to_owned(),
        texts => format!("{SEVERAL}\n\n{}", texts.join("\n\n")),
    };
    match merged(&existing, NAME, (!texts.is_empty()).then_some(part.as_str())) {
        Ok(text) if text == existing && texts.is_empty() => None,
        Ok(text) => Some(RenderedFile::new(PATH, text)),
        Err(broken) => {
            for out in agents {
                let message = format!("`{PATH}` is left alone: {broken}");
                out.refuse("name", message, Some("fix or remove the marks"));
            }
            None
        }
    }
}

fn section(subject: &RenderSubject, out: &mut RenderedAgent) -> String {
    let identity = &subject.agent.identity;
    let shown = identity.display_name.as_ref().map(|name| name.value.trim());
    let purpose = identity.description.as_ref().map(|text| text.value.trim());
    let lead = match (shown, purpose) {
        (Some(shown), Some(purpose)) => Some(format!("{shown}: {purpose}")),
        (one, other) => one.or(other).map(str::to_owned),
    };
    let prompt = subject.prompt();
    let prompt = prompt.replace("\r\n", "\n");
    unenforced(subject, "programs that read AGENTS.md", out);
    report_losses(FIELDS, subject, out);
    let parts = [Some(heading(&subject.name)), lead, Some(prompt), in_words(subject)];
    let parts = parts.iter().flatten().map(|part| part.trim_start_matches('\u{feff}').trim());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}
