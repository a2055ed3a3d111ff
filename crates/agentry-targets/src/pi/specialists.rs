//! The list of subagents for a main session, in the marked part of `AGENTS.md`.

use super::TARGET;
use super::main_session::PiRole;
use crate::marks::{MarkError, merged, part};
use crate::render_result::{LossKind, RenderSettings, RenderedAgent, RenderedFile};
use crate::subject::RenderSubject;

const NAME: &str = "pi";

/// Builds the file with the list; `None` if there is no list and was none. The file is for every session of the
/// project, so a list is written only on request.
pub(super) fn file(
    subjects: &[RenderSubject],
    parts: &[PiRole],
    settings: &RenderSettings<'_>,
    out: &mut [RenderedAgent],
) -> Option<RenderedFile> {
    let path = super::place(settings.scope, "").context;
    let existing = settings.existing.text(&path).unwrap_or_default();
    if !settings.shared {
        subjects.iter().zip(out).for_each(|(subject, out)| unlisted(subject, &path, out));
        let has_list = !matches!(part(&existing, NAME), Ok(None));
        return has_list.then(|| RenderedFile::new(path, existing));
    }
    let listed: String = subjects
        .iter()
        .zip(parts)
        .zip(out.iter())
        .filter(|((subject, part), out)| {
            let is_known = TARGET.built_in.contains(&subject.name.as_str());
            **part == PiRole::Sub && out.refused.is_none() && !is_known
        })
        .map(|((subject, _), _)| line(subject))
        .collect();
    if listed.is_empty() && part(&existing, NAME) == Ok(None) {
        return None;
    }
    let text = format!("## Specialists\n\nAgents for the tool `subagent`:\n\n{listed}");
    match merged(&existing, NAME, (!listed.is_empty()).then_some(text.as_str())) {
        Ok(text) => Some(RenderedFile::new(path, text)),
        Err(broken) => {
            out.iter_mut().for_each(|out| note(&path, broken, out));
            None
        }
    }
}

/// Reports that only the list would show the display name.
fn unlisted(subject: &RenderSubject, path: &str, out: &mut RenderedAgent) {
    if subject.agent.identity.display_name.is_some() {
        let detail = format!("only a list in `{path}` would show it; `--shared` writes the list");
        out.lose("display_name", LossKind::Dropped, detail);
    }
}

fn line(subject: &RenderSubject) -> String {
    let identity = &subject.agent.identity;
    let shown = identity
        .display_name
        .as_ref()
        .map_or_else(String::new, |name| format!(" ({})", super::write::one_line(&name.value)));
    let description = identity.description.as_ref();
    let purpose = description
        .map_or_else(String::new, |text| format!(": {}", super::write::one_line(&text.value)));
    // A mark inside the list would end it early.
    format!("- `{}`{shown}{purpose}\n", subject.name).replace("<!--", "&lt;!--")
}

fn note(path: &str, broken: MarkError, out: &mut RenderedAgent) {
    let detail = format!("`{path}` does not list the agent: {broken}");
    out.lose("display_name", LossKind::Dropped, detail);
}
