//! The model: the one data structure into which every format is read, and from which it is written.
//!
//! An [`Agent`] has the values that one definition declares, each with its span. [`tree::tree`]
//! converts it to a tree with fixed field names, the canonical form. `show` prints that tree, the
//! digest is made from it, and the losses of a conversion are the difference of two such trees.
#![warn(clippy::disallowed_methods)]

mod agent;
mod behaviour;
pub mod digest;
mod identity;
mod instructions;
mod interface;
mod loss;
mod memory;
mod policy_context;
mod schedule;
mod skill;
mod tools;
pub mod tree;

pub use agent::{Agent, Format};
pub use behaviour::{
    AgentBehaviour, AgentRequirements, AuthStrategy, ErrorReaction, LimitReaction, ModelChoice,
    ModelTier, ProviderAuth, RunBudget,
};
pub use identity::{AgentIdentity, AgentMode, AgentStatus, RiskLevel, slug, wrong_name};
pub use instructions::AgentInstructions;
pub use interface::{
    AgentRef, AgentRole, ExposedFunction, Inheritance, ListMerge, MergeModes, PipelineStage,
    TextMerge,
};
pub use loss::{ConversionLoss, ConversionLossKind, additions, losses};
pub use memory::{
    AgentMemory, LongTermMemory, MemoryFile, MemoryImportance, MemorySource, MemoryType,
    WorkingMemory,
};
pub use policy_context::ASK_BEFORE_WRITING;
pub use schedule::{MisfirePolicy, OverlapPolicy, Schedule};
pub use skill::{SkillPack, SkillRef, SkillStep, StepKind};
pub use tools::{
    AgentTools, JavaScriptFunction, McpServer, McpTransport, ScriptLimits, ScriptModule, ScriptTool,
};

pub use agentry_policy::{Declared, DeclaredList};
