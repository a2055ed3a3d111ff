//! The agent as one definition declares it. Every format is read into this type.

use agentry_policy::{Policy, words};
use agentry_text::{Data, Spanned};

use crate::{
    AgentBehaviour, AgentIdentity, AgentInstructions, AgentMemory, AgentRef, AgentRequirements,
    AgentTools, ExposedFunction, Inheritance, MemoryFile, ModelChoice, PipelineStage, ProviderAuth,
    RunBudget, Schedule, SkillPack, SkillRef,
};
use crate::{Declared, DeclaredList};

words! {
    /// A definition format.
    pub enum Format {
        /// One Markdown file with YAML front matter and JavaScript tools.
        AgentMd = "agent-md",
        /// `agent.toml` with `system-prompt.md`.
        AgentToml = "agent-toml",
        /// A `.agent` manifest, or a directory with `agent.yaml`.
        Manifest = "manifest",
        /// `agent.json` with persona and principles.
        AgentFs = "agentfs",
        /// A directory with `instructions.md`.
        AgentDir = "agent-dir",
    }
}

/// An agent as declared: the values of its definition with their spans.
/// An absent value is `None`; defaults are added when the agent is resolved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agent {
    /// Names, description and status.
    pub identity: AgentIdentity,
    /// Its base, and how it is merged.
    pub inheritance: Inheritance,
    /// The texts of its system prompt.
    pub instructions: AgentInstructions,
    /// The language model it requests.
    pub model: ModelChoice,
    /// Where the keys of its providers come from.
    pub auth: ProviderAuth,
    /// How it works: temperature, turns, reaction to errors.
    pub behaviour: AgentBehaviour,
    /// What a run may spend.
    pub budget: RunBudget,
    /// The conditions for a start.
    pub requirements: AgentRequirements,
    /// What it may do.
    pub policy: Policy,
    /// Owner and visibility of the definition; carried over, but without effect on a run.
    pub access_control: Declared<Data>,
    /// The skills it requests, by name.
    pub skills: DeclaredList<SkillRef>,
    /// The skills that come with it, as files.
    pub skill_packs: Vec<SkillPack>,
    /// The tools it uses, and those that come with it.
    pub tools: AgentTools,
    /// Its kinds of memory.
    pub memory: AgentMemory,
    /// The memories that come with it, as files.
    pub memories: Vec<MemoryFile>,
    /// The functions it offers to other agents.
    pub expose: DeclaredList<ExposedFunction>,
    /// The agents it works with.
    pub agents: DeclaredList<AgentRef>,
    /// The order in which they are called.
    pub pipeline: DeclaredList<PipelineStage>,
    /// The times at which it runs on its own.
    pub schedules: Vec<Schedule>,
    /// Blocks that only one format has, by name: validated by its field table, and kept as they are.
    pub settings: Vec<(String, Spanned<Data>)>,
    /// Extensions (`x-…`, `extensions`), by name.
    pub extensions: Vec<(String, Spanned<Data>)>,
    /// Fields that are not in the format, by path: kept, but without effect.
    pub unknown: Vec<(String, Spanned<Data>)>,
}

impl Agent {
    /// The name, or a placeholder for an agent that has none.
    pub fn name(&self) -> &str {
        self.identity.name.as_ref().map_or("unnamed", |name| name.value.as_str())
    }

    /// Returns the setting with this name.
    pub fn setting(&self, name: &str) -> Option<&Data> {
        named(&self.settings, name)
    }

    /// Returns the extension with this name.
    pub fn extension(&self, name: &str) -> Option<&Data> {
        named(&self.extensions, name)
    }
}

fn named<'a>(list: &'a [(String, Spanned<Data>)], name: &str) -> Option<&'a Data> {
    list.iter().find(|(other, _)| other == name).map(|(_, data)| &data.value)
}
