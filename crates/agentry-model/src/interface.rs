//! How an agent relates to others: its base, the functions it offers, and the agents it calls.

use agentry_policy::words;
use agentry_text::Spanned;

use crate::Declared;

/// The base of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// The base: a path, a digest, or `name@version`.
    pub base: Declared<String>,
    /// How it is merged with its base.
    pub merge: MergeModes,
}

/// How the blocks of a definition are merged with those of its base.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeModes {
    /// Skills.
    pub skills: Declared<ListMerge>,
    /// Tools.
    pub tools: Declared<ListMerge>,
    /// Behaviour.
    pub behavior: Declared<TextMerge>,
    /// Trust; the only mode is `restrict`, which applies anyway.
    pub trust: Declared<String>,
}

words! {
    /// How two lists are merged.
    pub enum ListMerge {
        /// The items of the base, then those of the child.
        Append = "append",
        /// The items of the child.
        Override = "override",
        /// The items of the child that the base has too.
        Restrict = "restrict",
    }
}

words! {
    /// How two behaviour blocks are merged.
    pub enum TextMerge {
        /// The block of the child.
        Override = "override",
        /// Field by field, with the traits of both.
        Append = "append",
    }
}

/// A function that an agent offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExposedFunction {
    /// Its name.
    pub name: Declared<String>,
    /// What it does.
    pub description: Declared<String>,
    /// Its arguments with their types.
    pub input: Vec<(String, Spanned<String>)>,
    /// The type of its result.
    pub output: Declared<String>,
}

/// Another agent that this one works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRef {
    /// The name that this agent uses for it.
    pub name: String,
    /// Its path, digest or `name@version`.
    pub reference: Declared<String>,
    /// Its role for this agent.
    pub role: Declared<AgentRole>,
}

words! {
    /// The role of another agent for this one.
    pub enum AgentRole {
        /// It works for this agent.
        Subagent = "subagent",
        /// It directs this agent.
        Orchestrator = "orchestrator",
        /// It checks the work of this agent.
        Validator = "validator",
    }
}

/// One call of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineStage {
    /// The function: `helper.do`.
    pub call: Declared<String>,
    /// The name of the result.
    pub output: Declared<String>,
}
