//! Skills: those an agent asks for by name, and those it brings as files.

use agentry_policy::words;
use agentry_text::{Data, Spanned};

use crate::{Declared, DeclaredList, RiskLevel};

/// A skill asked for by name.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillRef {
    /// Its name.
    pub name: String,
    /// Whether the agent also works without it.
    pub optional: bool,
    /// What else the definition says of it: packages, variables.
    pub options: Vec<(String, Data)>,
}

/// A skill that comes with the agent: a Markdown file with metadata.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SkillPack {
    /// The file, relative to `skills/`: `contract-review/SKILL.md`.
    pub path: String,
    /// Its name.
    pub name: Declared<String>,
    /// What people call it, where that is another word.
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
    /// The whole file as written.
    pub text: Declared<String>,
}

/// One step of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillStep {
    /// What is done.
    pub title: String,
    /// By whom it is decided how.
    pub kind: StepKind,
}

words! {
    /// By whom it is decided how a step is done.
    pub enum StepKind {
        /// Always the same way.
        Deterministic = "deterministic",
        /// As the agent sees fit.
        Adaptive = "adaptive",
        /// Waits for a person.
        HumanGate = "human_gate",
    }
}
