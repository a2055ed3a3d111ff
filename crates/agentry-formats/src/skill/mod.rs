//! Skills: Markdown files with front matter, as AgentFS, agent directories and the Agent Skills standard
//! define them. One reader serves all three, because real folders mix them.
//!
//! | field of the file | field of `SkillPack` |
//! | --- | --- |
//! | `name` at the top level, or `metadata.id` | `name` |
//! | `metadata.name` | `display_name` |
//! | `description`, `version`, `risk_level` | the same |
//! | `allowed-tools`, a list or one string | `allowed_tools` |
//! | `### 1. Title (Hardened Step)`, `1. Title (adaptive step): …` | `steps` |
//! | the whole file | `text` |

pub mod fields;
mod list;
mod name;
mod needs;
mod read;
mod rules;
mod steps;
mod write;

pub use list::{is_readme, read_all};
pub use needs::{SkillNeeds, needs};
pub use read::{check_names, read};
pub use rules::{
    DESCRIPTION_TOO_LONG, EMPTY_SKILL, EMPTY_SKILL_FIELD, MISPLACED_SKILL, ODD_SKILL_NAME, RULES,
    SAME_SKILL_NAME, SKILL_NAME_AND_FOLDER, SKILL_WITHOUT_DESCRIPTION, SKILL_WITHOUT_METADATA,
    UNKNOWN_STEP,
};
pub use write::{folder_path, write};

/// The convention that a skill follows: the fields it needs, and the places where it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillDialect {
    /// AgentFS: `x/SKILL.md`, fields at the top level or under `metadata`. A single file at the top of the
    /// folder of skills is read as in an agent directory.
    AgentFs,
    /// An agent directory: `x/SKILL.md` or `x.md`, every field may be left out.
    AgentDir,
    /// The Agent Skills standard: `x/SKILL.md`, `name` and `description` at the top level. Single files as
    /// above.
    Standard,
}

#[cfg(test)]
mod tests;
