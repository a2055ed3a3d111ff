//! `[evolution]`: what becomes of the changes that an agent proposes to itself. The workspace's and the user's configuration
//! may both set it; the workspace's can only be stricter.

use agentry_policy::words;
use agentry_text::{Field, FieldKind, FieldTable, TableRecord};

words! {
    /// How a proposed change is handled.
    pub enum EvolutionMode {
        /// It is applied at once.
        Auto = "auto",
        /// It waits for the user.
        Ask = "ask",
        /// It is refused.
        Never = "never",
    }
}

const MODES: FieldKind = FieldKind::Choice(EvolutionMode::WORDS);

/// `[evolution]`.
pub(crate) static EVOLUTION: FieldTable = FieldTable::new(
    "`[evolution]`",
    &[
        Field::default("memory", MODES, "\"auto\"", "Changes of its own memory."),
        Field::default("persona", MODES, "\"ask\"", "Changes of its persona."),
        Field::default("principles", MODES, "\"ask\"", "Changes of its principles."),
        Field::default("skills", MODES, "\"ask\"", "Changes of its skills."),
    ],
);

/// How the changes that an agent proposes are handled, by their kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvolutionRules {
    /// Its own memory.
    pub memory: EvolutionMode,
    /// Its persona.
    pub persona: EvolutionMode,
    /// Its principles.
    pub principles: EvolutionMode,
    /// Its skills.
    pub skills: EvolutionMode,
}

impl Default for EvolutionRules {
    fn default() -> Self {
        let ask = EvolutionMode::Ask;
        Self { memory: EvolutionMode::Auto, persona: ask, principles: ask, skills: ask }
    }
}

impl EvolutionRules {
    /// The mildest rules, which a file makes stricter.
    pub(crate) const MILDEST: Self = {
        let auto = EvolutionMode::Auto;
        Self { memory: auto, persona: auto, principles: auto, skills: auto }
    };

    /// Reads the rules of one file; what it does not set is as in `unset`.
    pub(crate) fn read(record: &TableRecord<'_>, unset: Self) -> Self {
        let mode = |name: &str, unset: EvolutionMode| {
            record.str(name).and_then(|text| text.value.parse().ok()).unwrap_or(unset)
        };
        Self {
            memory: mode("memory", unset.memory),
            persona: mode("persona", unset.persona),
            principles: mode("principles", unset.principles),
            skills: mode("skills", unset.skills),
        }
    }

    /// The stricter rule of each pair.
    #[must_use]
    pub fn narrowed(self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        Self {
            memory: self.memory.max(other.memory),
            persona: self.persona.max(other.persona),
            principles: self.principles.max(other.principles),
            skills: self.skills.max(other.skills),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryWorld, ResolveSettings, WorkspaceConfig};

    #[test]
    fn a_workspace_only_tightens_evolution_rules() {
        let world = MemoryWorld::new([
            (
                "agentry.toml".to_owned(),
                "[evolution]\nmemory = \"ask\"\nprinciples = \"auto\"\nskills = \"never\"\n",
            ),
            (
                "home/user/.config/agentry/config.toml".to_owned(),
                "[evolution]\npersona = \"auto\"\n",
            ),
        ]);
        let own = ResolveSettings::read(&world).unwrap().evolution;
        let rules = own.narrowed(WorkspaceConfig::read(&world, "").evolution);
        let expected = EvolutionRules {
            memory: EvolutionMode::Ask,
            persona: EvolutionMode::Auto,
            principles: EvolutionMode::Ask,
            skills: EvolutionMode::Never,
        };
        assert_eq!(rules, expected);
        let none = MemoryWorld::new([("agentry.toml".to_owned(), "")]);
        let own = ResolveSettings::read(&none).unwrap().evolution;
        assert_eq!(
            own.narrowed(WorkspaceConfig::read(&none, "").evolution),
            EvolutionRules::default()
        );
    }
}
