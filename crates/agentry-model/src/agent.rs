//! The agent as one definition declares it.

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
        /// One Markdown file with YAML metadata and JavaScript tools.
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

/// An agent as declared: what was written, each value with its place. What was not written is
/// `None`; defaults come in when it is resolved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agent {
    /// Who it is.
    pub identity: AgentIdentity,
    /// What it is built on.
    pub inheritance: Inheritance,
    /// What it is told.
    pub instructions: AgentInstructions,
    /// Which model it wants.
    pub model: ModelChoice,
    /// Where the keys of its providers come from.
    pub auth: ProviderAuth,
    /// How it goes about its work.
    pub behaviour: AgentBehaviour,
    /// What it may spend.
    pub budget: RunBudget,
    /// What must hold before it starts.
    pub requirements: AgentRequirements,
    /// What it may do.
    pub policy: Policy,
    /// Who owns the definition and who may see it; carried, never acted upon by the agent itself.
    pub access_control: Declared<Data>,
    /// The skills it asks for, by name.
    pub skills: DeclaredList<SkillRef>,
    /// The skills that come with it, as files.
    pub skill_packs: Vec<SkillPack>,
    /// The tools it uses and brings.
    pub tools: AgentTools,
    /// How it remembers.
    pub memory: AgentMemory,
    /// What it remembers, as files.
    pub memories: Vec<MemoryFile>,
    /// The functions it offers.
    pub expose: DeclaredList<ExposedFunction>,
    /// Other agents it works with.
    pub agents: DeclaredList<AgentRef>,
    /// The order in which they are called.
    pub pipeline: DeclaredList<PipelineStage>,
    /// When it runs by itself.
    pub schedules: Vec<Schedule>,
    /// Blocks that only one format has: validated by its field table, carried whole, by name.
    pub settings: Vec<(String, Spanned<Data>)>,
    /// Extensions (`x-…`, `extensions`), by name.
    pub extensions: Vec<(String, Spanned<Data>)>,
    /// Fields that the format does not know: kept, never acted upon, by path.
    pub unknown: Vec<(String, Spanned<Data>)>,
}

impl Agent {
    /// The name, or a placeholder for an agent that has none.
    pub fn name(&self) -> &str {
        self.identity.name.as_ref().map_or("unnamed", |name| name.value.as_str())
    }

    /// The setting of that name.
    pub fn setting(&self, name: &str) -> Option<&Data> {
        named(&self.settings, name)
    }

    /// The extension of that name.
    pub fn extension(&self, name: &str) -> Option<&Data> {
        named(&self.extensions, name)
    }
}

fn named<'a>(list: &'a [(String, Spanned<Data>)], name: &str) -> Option<&'a Data> {
    list.iter().find(|(other, _)| other == name).map(|(_, data)| &data.value)
}
