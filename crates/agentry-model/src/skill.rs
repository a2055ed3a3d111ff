//! Skills: those that an agent requests by name, and those that come with it as files.

use agentry_policy::words;
use agentry_text::{Data, Spanned};

use crate::{Declared, DeclaredList, RiskLevel};

/// A skill that is requested by name.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillRef {
    /// Its name.
    pub name: String,
    /// Whether the agent also works without it.
    pub optional: bool,
    /// Further settings of the definition for it: packages, variables.
    pub options: Vec<(String, Data)>,
}

/// A skill that comes with the agent: a Markdown file with front matter.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillPack {
    /// The file, relative to `skills/`: `contract-review/SKILL.md`.
    pub path: String,
    /// Its name.
    pub name: Declared<String>,
    /// The name for people, if it differs.
    pub display_name: Declared<String>,
    /// What it is for.
    pub description: Declared<String>,
    /// Its version.
    pub version: Declared<String>,
    /// How much harm it could do.
    pub risk_level: Declared<RiskLevel>,
    /// The tools that may be used while it runs; `None` is not the same as an empty list.
    pub allowed_tools: DeclaredList<String>,
    /// Its steps, in order.
    pub steps: Vec<Spanned<SkillStep>>,
    /// The whole file, unchanged.
    pub text: Declared<String>,
}

/// One step of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillStep {
    /// The task.
    pub title: String,
    /// How it is carried out.
    pub kind: StepKind,
}

words! {
    /// How a step is carried out.
    pub enum StepKind {
        /// Always in the same way.
        Deterministic = "deterministic",
        /// The agent decides.
        Adaptive = "adaptive",
        /// It waits for a person.
        HumanGate = "human_gate",
    }
}
