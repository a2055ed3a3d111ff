//! Which files of an agent a proposal may change. Everything that is not listed here is never proposed: permissions, trust,
//! tools, schedules, and whatever a format adds later.

use agentry_compile::formats::info;
use agentry_compile::policy::words;
use agentry_compile::{EvolutionMode, EvolutionRules};

use crate::record::InstalledAgent;

words! {
    /// What a proposal changes.
    pub enum EvolutionArea {
        /// The agent's own memory.
        Memory = "memory",
        /// How it speaks and behaves.
        Persona = "persona",
        /// What it must and must not do.
        Principles = "principles",
        /// What it knows how to do.
        Skills = "skills",
    }
}

words! {
    /// How much a change may do.
    pub enum ChangeRisk {
        /// It changes a memory.
        Low = "low",
        /// It changes a persona or a skill.
        Medium = "medium",
        /// It changes principles.
        High = "high",
    }
}

impl EvolutionArea {
    /// The risk of a change.
    #[must_use]
    pub const fn risk(self) -> ChangeRisk {
        match self {
            Self::Memory => ChangeRisk::Low,
            Self::Persona | Self::Skills => ChangeRisk::Medium,
            Self::Principles => ChangeRisk::High,
        }
    }

    /// What becomes of a change. The runs of all users read these files, and a model cannot tell what a user taught it in
    /// private from what it may pass on. So a change from a run that could read such a thing waits at least for the person.
    #[must_use]
    pub fn mode(self, rules: EvolutionRules, is_private: bool) -> EvolutionMode {
        let mode = match self {
            Self::Memory => rules.memory,
            Self::Persona => rules.persona,
            Self::Principles => rules.principles,
            Self::Skills => rules.skills,
        };
        if is_private { mode.max(EvolutionMode::Ask) } else { mode }
    }

    /// The area of a file, relative to the directory of the definition, or why it is never proposed.
    pub(super) fn of(file: &str, agent: &InstalledAgent) -> Result<Self, String> {
        let files = &info(agent.format).files;
        let is_own = |name: &str| files.parts.contains(&name) || files.mains.contains(&name);
        if let Some(why) = unfit_path(file) {
            return Err(format!("`{file}` {why}"));
        }
        match file.split_once('/') {
            Some(("memory", rest)) if is_text(rest) && agent.memory => Ok(Self::Memory),
            Some(("memory", _)) if !agent.memory => Err(
                "the agent has no memory; the user can give it one with `agentry install --memory`"
                    .to_owned(),
            ),
            Some(("skills", rest)) if is_text(rest) && rest.contains('/') && is_own("skills/") => {
                Ok(Self::Skills)
            }
            None if file == "principles.md" && is_own(file) => Ok(Self::Principles),
            None if ["persona.md", "system-prompt.md", "instructions.md"].contains(&file)
                && is_own(file) =>
            {
                Ok(Self::Persona)
            }
            _ => Err(format!(
                "`{file}` is never proposed: only Markdown of the memory, the skills, the persona and the principles is"
            )),
        }
    }
}

fn is_text(path: &str) -> bool {
    path.strip_suffix(".md").is_some()
}

/// Why a path cannot be one of a file of the agent. Only plain names: no file system takes two of them for the same.
fn unfit_path(path: &str) -> Option<&'static str> {
    let is_plain = |part: &str| {
        let starts = part.starts_with(|first: char| first.is_alphanumeric() || first == '_');
        let inner = part.chars().all(|it| it.is_alphanumeric() || "-_. ".contains(it));
        let ends = part.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        starts && inner && ends && part.len() <= 120
    };
    let first = path.split('/').next().unwrap_or_default();
    if path.len() > 400 || path.split('/').count() > 8 {
        return Some("is too long");
    }
    if !path.split('/').all(is_plain) {
        return Some("is not a plain path below the agent");
    }
    // `Principles.md` is `principles.md` where case is ignored.
    first
        .chars()
        .any(|it| !it.is_ascii() || it.is_ascii_uppercase())
        .then_some("is not a file of the agent")
}
