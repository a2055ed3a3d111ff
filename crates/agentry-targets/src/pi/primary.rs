//! Which agent is Pi's main session: there is one `SYSTEM.md`, and it knows no limits.

use agentry_model::Mode;
use agentry_policy::Section;

use super::tools::{free, stricter};
use crate::rendering::{LossKind, Rendered, Settings};
use crate::subject::Subject;

/// What becomes of an agent that people start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It is the main session.
    Main,
    /// It is a subagent.
    Sub,
}

/// The part of each agent; those that cannot have theirs are refused, or it is noted.
pub(super) fn parts(
    subjects: &[Subject],
    settings: &Settings<'_>,
    out: &mut [Rendered],
) -> Vec<Part> {
    let chosen = settings.options.iter().find(|(key, _)| key == "primary").map(|(_, name)| name);
    let is = |subject: &Subject, name: &str| subject.name == name || subject.agent.name() == name;
    let primaries = subjects.iter().filter(|subject| mode(subject) == Mode::Primary).count();
    let part = |(subject, out): (&Subject, &mut Rendered)| match chosen {
        Some(name) if is(subject, name) && mode(subject) == Mode::Subagent => {
            let message = format!("`{name}` is no agent that people start");
            out.refuse("mode", message, Some("name another one in `[render.pi]` `primary`"));
            Part::Sub
        }
        Some(name) if is(subject, name) => main(subject, settings, out),
        _ if mode(subject) != Mode::Primary => Part::Sub,
        Some(_) => {
            let detail = "Pi has one main session, and it is another agent";
            out.lose("mode", LossKind::Narrowed, detail);
            Part::Sub
        }
        None if primaries > 1 => {
            let message = format!("Pi has one main session and {primaries} agents are primary");
            let hint = "name one in `agentry.toml`: `[render.pi]` `primary = \"…\"`";
            out.refuse("mode", message, Some(hint));
            Part::Sub
        }
        None => main(subject, settings, out),
    };
    subjects.iter().zip(out).map(part).collect()
}

pub(super) fn mode(subject: &Subject) -> Mode {
    subject.agent.identity.mode.map_or(Mode::All, |mode| mode.value)
}

/// A main session may do everything; without the guard so must the agent.
fn main(subject: &Subject, settings: &Settings<'_>, out: &mut Rendered) -> Part {
    if settings.guard {
        let detail = "the main session has no limits where `.pi/extensions/agentry-guard.ts` is \
                      missing or broken; Pi loads it where it loads `SYSTEM.md`, in trusted projects";
        out.lose("permissions", LossKind::Gap, detail);
        return Part::Main;
    }
    let sections = Section::ALL.iter().filter(|section| **section != Section::Question);
    let stricter = sections.copied().find_map(|section| {
        if settings.close_gaps { stricter(subject, section) } else { free(subject, section).err() }
    });
    let Some(why) = stricter else { return Part::Main };
    let detail = format!(
        "a main session of Pi may do everything, and {why} in the source: the agent is a subagent; \
         the guard would make it the main one"
    );
    out.lose("mode", LossKind::Narrowed, detail);
    Part::Sub
}
