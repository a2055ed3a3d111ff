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
    Auth, AuthStrategy, Behaviour, Budget, Capability, ModelChoice, OnError, OnExceed, Requirements,
};
pub use identity::{Identity, Mode, RiskLevel, Status, slug, wrong_name};
pub use instructions::Instructions;
pub use interface::{
    AgentRef, AgentRole, Exposed, Inheritance, Merge, MergeLists, MergeText, Stage,
};
pub use loss::{Loss, LossKind, additions, losses};
pub use memory::{Importance, LongTerm, Memory, MemoryFile, MemorySource, MemoryType, Working};
pub use schedule::{Misfire, Overlap, Schedule};
pub use skill::{SkillPack, SkillRef, Step, StepKind};
pub use tools::{Function, McpServer, ScriptLimits, ScriptTool, Tools, Transport};

pub use agentry_policy::{Field, ListField};
