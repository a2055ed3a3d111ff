//! Other agents of the same name that Codex may find. In a project, the settings come first, then the files
//! below `.codex/agents` in the order of their paths; Codex uses the first. The user's agents count where the
//! project has none of that name, or is not trusted.

use std::collections::BTreeMap;

use agentry_text::Data;

use super::agent_entries::{CodexAgentEntry, OWN_SETTINGS, SETTINGS, listed};
use super::role::{checked, parse, path};
use crate::HarnessFiles;
use crate::render_result::{LossKind, RenderScope, RenderSettings, RenderedAgent};
use crate::rivals::{self, AgentLanguage, FilesByName};

/// The directory of agents in a project.
const AGENTS: &str = ".codex/agents/";
/// The user's directory of agents.
const OWN_AGENTS: &str = "~/.codex/agents/";

/// Agent files and settings entries by name.
#[derive(Default)]
struct CodexNames {
    files: FilesByName,
    entries: BTreeMap<String, Vec<CodexAgentEntry>>,
}

impl CodexNames {
    fn of(files: &dyn HarnessFiles, agents: &str, settings: &str) -> Self {
        let mut found = Self {
            files: rivals::by_name(files, AgentLanguage::Toml, &[agents], name),
            entries: BTreeMap::new(),
        };
        for entry in listed(files, settings) {
            // The name in the file overrides the one in the settings.
            let declared_name = entry.file.as_ref().and_then(|file| name(&files.text(file)?));
            let name = declared_name.unwrap_or_else(|| entry.name.clone());
            found.entries.entry(name).or_default().push(entry);
        }
        found
    }
}

/// Returns the name in an agent file.
fn name(text: &str) -> Option<String> {
    let data = parse(text.trim_start_matches('\u{feff}'))?;
    let name = data.get("name").and_then(Data::as_str)?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// All agents that Codex would find.
pub(super) struct CodexRivals {
    /// Agents of the project, one of which may win.
    project: CodexNames,
    /// Agents of the user, which never win in a project.
    home: CodexNames,
    /// The position of an error in the settings, such as `.codex/config.toml:3:5`.
    broken: Option<String>,
}

impl CodexRivals {
    pub(super) fn of(settings: &RenderSettings<'_>) -> Self {
        let files = settings.existing;
        let home = match settings.scope {
            RenderScope::Project => CodexNames::of(files, OWN_AGENTS, OWN_SETTINGS),
            RenderScope::User => CodexNames::default(),
        };
        let text = files.text(SETTINGS).unwrap_or_default();
        let wrong = checked(text.trim_start_matches('\u{feff}')).err();
        let broken = wrong.map(|it| format!("{SETTINGS}:{}:{}", it.at.line, it.at.column));
        Self { project: CodexNames::of(files, AGENTS, SETTINGS), home, broken }
    }

    /// Refuses an agent whose name is taken, or reports other agents of that name.
    pub(super) fn report(
        &self,
        name: &str,
        settings: &RenderSettings<'_>,
        out: &mut RenderedAgent,
    ) {
        if let Some(broken) = &self.broken {
            let message = format!("`{broken}` cannot be read, so its effect in Codex is not known");
            out.refuse("permissions", message, Some("fix the file first"));
        }
        let own = path(name);
        let entries = self.project.entries.get(name).into_iter().flatten();
        for entry in entries.filter(|entry| entry.file.as_ref() != Some(&own)) {
            // The settings contain more than this agent, so they are never replaced.
            let message = format!(
                "`[agents.{}]` in `{SETTINGS}` has the same name, and Codex takes only one of the two",
                entry.name
            );
            let hint = "remove it there, or give the agent an alias in `agentry.toml`";
            out.refuse("name", message, Some(hint));
        }
        let files = self.project.files.get(name).into_iter().flatten();
        for path in files.filter(|path| **path != own) {
            out.rival(path.clone(), "Codex", settings);
        }
        self.at_home(name, &own, out);
    }

    /// Reports agents of the user with the same name.
    fn at_home(&self, name: &str, own: &str, out: &mut RenderedAgent) {
        let files = self.home.files.get(name).into_iter().flatten();
        let files = files.map(|path| format!("`{path}`"));
        let entries = self.home.entries.get(name).into_iter().flatten();
        let entries = entries.map(|it| format!("`[agents.{}]` in `{OWN_SETTINGS}`", it.name));
        for place in files.chain(entries) {
            let detail = format!(
                "{place} has the same name: Codex starts that one where `{own}` is missing, or where \
                 the project is not trusted"
            );
            out.lose("name", LossKind::Gap, detail);
        }
    }
}
