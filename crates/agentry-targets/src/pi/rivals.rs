//! Other files in which Pi finds an agent of the same name. In one directory, at any depth, the file with the
//! last path counts. `~/.agents` takes precedence over `~/.pi/agent/agents`, and `.pi/agents` of a project
//! over its `.agents`.

use super::agent_file::{self, PiFields};
use super::place;
use crate::render_result::{LossKind, RenderScope, RenderSettings, RenderedAgent};
use crate::rivals::{self, AgentLanguage, FilesByName};

/// Existing agent files.
pub(super) struct PiRivals {
    /// Files that may take precedence.
    strong: FilesByName,
    /// Files that never take precedence.
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
            // Chains are not agents.
            found.values_mut().for_each(|paths| paths.retain(|path| !path.ends_with(".chain.md")));
            found
        };
        Self { strong: named(strong), weak: named(weak) }
    }

    /// Refuses an agent whose name is taken, or reports other agents of that name.
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
            let packed =
                fields(&text).is_some_and(|fields| non_empty_field(&fields, "package").is_some());
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

/// Returns a field that is not empty.
fn non_empty_field<'a>(fields: &'a PiFields, key: &str) -> Option<&'a str> {
    fields.get(key).filter(|text| !text.is_empty())
}

/// Returns the name of an agent; Pi skips a file without a name or a description.
fn name(fields: &PiFields) -> Option<String> {
    non_empty_field(fields, "description")?;
    non_empty_field(fields, "name").map(str::to_owned)
}
