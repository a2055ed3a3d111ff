//! Chooses the agent for Pi's main session: there is one `SYSTEM.md`, and it has no limits.

use agentry_model::AgentMode;
use agentry_policy::Section;

use super::tools::{free, stricter};
use crate::render_result::{LossKind, RenderSettings, RenderedAgent};
use crate::subject::RenderSubject;

/// The role of an agent in Pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PiRole {
    /// The main session.
    Main,
    /// A subagent.
    Sub,
}

/// Returns the role of each agent; an impossible role is refused or reported.
pub(super) fn parts(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
    out: &mut [RenderedAgent],
) -> Vec<PiRole> {
    let chosen = settings.options.iter().find(|(key, _)| key == "primary").map(|(_, name)| name);
    let is =
        |subject: &RenderSubject, name: &str| subject.name == name || subject.agent.name() == name;
    let primaries = subjects.iter().filter(|subject| mode(subject) == AgentMode::Primary).count();
    let part = |(subject, out): (&RenderSubject, &mut RenderedAgent)| match chosen {
        Some(name) if is(subject, name) && mode(subject) == AgentMode::Subagent => {
            let message = format!("`{name}` is not an agent that people start");
            out.refuse("mode", message, Some("name another one in `[render.pi]` `primary`"));
            PiRole::Sub
        }
        Some(name) if is(subject, name) => main(subject, settings, out),
        _ if mode(subject) != AgentMode::Primary => PiRole::Sub,
        Some(_) => {
            let detail = "Pi has one main session, and it is another agent";
            out.lose("mode", LossKind::Narrowed, detail);
            PiRole::Sub
        }
        None if primaries > 1 => {
            let message = format!("Pi has one main session and {primaries} agents are primary");
            let hint = "name one in `agentry.toml`: `[render.pi]` `primary = \"…\"`";
            out.refuse("mode", message, Some(hint));
            PiRole::Sub
        }
        None => main(subject, settings, out),
    };
    subjects.iter().zip(out).map(part).collect()
}

pub(super) fn mode(subject: &RenderSubject) -> AgentMode {
    subject.agent.identity.mode.map_or(AgentMode::All, |mode| mode.value)
}

/// Decides whether an agent can be the main session, which may do everything unless the guard limits it.
fn main(subject: &RenderSubject, settings: &RenderSettings<'_>, out: &mut RenderedAgent) -> PiRole {
    if settings.guard {
        let detail = "the main session has no limits where `.pi/extensions/agentry-guard.ts` is \
                      missing or broken; Pi loads it where it loads `SYSTEM.md`, in trusted projects";
        out.lose("permissions", LossKind::Gap, detail);
        return PiRole::Main;
    }
    // Asking the user is nothing that a session does by itself.
    let sections = Section::ALL.iter().filter(|section| **section != Section::Question);
    let stricter = sections.copied().find_map(|section| {
        if settings.close_gaps { stricter(subject, section) } else { free(subject, section).err() }
    });
    let Some(why) = stricter else { return PiRole::Main };
    let detail = format!(
        "a main session of Pi may do everything, and {why} in the source: the agent is a subagent; \
         the guard would make it the main one"
    );
    out.lose("mode", LossKind::Narrowed, detail);
    PiRole::Sub
}
