//! Other files in which Pi finds an agent of the same name. In one directory, at any depth, the file whose
//! path comes last counts; `~/.agents` counts more than `~/.pi/agent/agents`, and `.agents` of a project
//! less than its `.pi/agents`.

use super::agent_file::{self, PiFields};
use super::place;
use crate::render_result::{LossKind, RenderScope, RenderSettings, RenderedAgent};
use crate::rivals::{self, AgentLanguage, FilesByName};

/// The files of agents that are there.
pub(super) struct PiRivals {
    /// Those that may win.
    strong: FilesByName,
    /// Those that never do.
    weak: FilesByName,
}

impl PiRivals {
    pub(super) fn of(settings: &RenderSettings<'_>) -> Self {
        let (strong, weak): (&[&str], &[&str]) = match settings.scope {
            RenderScope::Project => (&[".pi/agents/"], &[".agents/", "~/.agents/"]),
            RenderScope::User => (&[".pi/agent/agents/", ".agents/"], &[]),
        };
        let named = |dirs| {
            let mut found =
                rivals::by_name(settings.existing, AgentLanguage::Markdown, dirs, |text| {
                    name(&fields(text)?)
                });
            found.values_mut().for_each(|paths| paths.retain(|path| !path.ends_with(".chain.md")));
            found
        };
        Self { strong: named(strong), weak: named(weak) }
    }

    /// Refuses an agent whose name is taken, or reports who else has it.
    pub(super) fn report(
        &self,
        name: &str,
        settings: &RenderSettings<'_>,
        out: &mut RenderedAgent,
    ) {
        let own = place(settings.scope, name).agent;
        let strong = self.strong.get(name).into_iter().flatten();
        for path in strong.filter(|path| **path != own) {
            out.rival(path.clone(), "Pi", settings);
        }
        for path in self.weak.get(name).into_iter().flatten() {
            let text = settings.existing.text(path).unwrap_or_default();
            let packed = fields(&text).is_some_and(|fields| says(&fields, "package").is_some());
            let detail = if packed {
                format!(
                    "`{path}` has the same name in a package: Pi finds `{name}` ambiguous, and \
                     starts neither"
                )
            } else {
                format!(
                    "`{path}` has the same name: Pi starts that one where `{own}` is missing, or \
                     where only agents of the user are asked for"
                )
            };
            out.lose("name", LossKind::Gap, detail);
        }
    }
}

fn fields(text: &str) -> Option<PiFields> {
    agent_file::read(text).map(|(fields, _)| fields)
}

/// A field that says something.
fn says<'a>(fields: &'a PiFields, key: &str) -> Option<&'a str> {
    fields.get(key).filter(|text| !text.is_empty())
}

/// The name of an agent; Pi passes over a file that says neither this nor what it is for.
fn name(fields: &PiFields) -> Option<String> {
    says(fields, "description")?;
    says(fields, "name").map(str::to_owned)
}
