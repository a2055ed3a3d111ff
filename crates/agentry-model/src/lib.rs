//! The canonical agent: what every format is read into and written from.
//!
//! Plain data. An [`Agent`] says what one definition declares, every value with its place; formats
//! meet nowhere else. [`tree::tree`] gives the same agent as one tree with fixed field names, from
//! which everything general is made: what `show` prints, the digest, and the losses of a conversion.
#![warn(clippy::disallowed_methods)]

mod agent;
mod behaviour;
pub mod digest;
mod identity;
mod instructions;
mod interface;
mod loss;
mod memory;
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
pub use schedule::{MisfirePolicy, OverlapPolicy, Schedule};
pub use skill::{SkillPack, SkillRef, SkillStep, StepKind};
pub use tools::{
    AgentTools, JavaScriptFunction, McpServer, McpTransport, ScriptLimits, ScriptTool,
};

pub use agentry_policy::{Declared, DeclaredList};
