//! How an agent stands to other agents: what it is built on, what it offers, whom it calls.

use agentry_policy::words;
use agentry_text::Spanned;

use crate::Declared;

/// What an agent is built on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inheritance {
    /// Where its base is: a path, a digest, `name@version`.
    pub base: Declared<String>,
    /// How it is combined with its base.
    pub merge: MergeModes,
}

/// How the blocks of a definition are combined with those of its base.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeModes {
    /// Skills.
    pub skills: Declared<ListMerge>,
    /// Tools.
    pub tools: Declared<ListMerge>,
    /// Behaviour.
    pub behavior: Declared<TextMerge>,
    /// Trust; only `restrict` exists, and writing it changes nothing.
    pub trust: Declared<String>,
}

words! {
    /// How two lists are combined.
    pub enum ListMerge {
        /// The base's, then the child's.
        Append = "append",
        /// The child's.
        Override = "override",
        /// The child's, as far as the base has them.
        Restrict = "restrict",
    }
}

words! {
    /// How two behaviour blocks are combined.
    pub enum TextMerge {
        /// The child's.
        Override = "override",
        /// Field by field, traits of both.
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
    /// What this agent calls it.
    pub name: String,
    /// Where it is.
    pub reference: Declared<String>,
    /// What it does here.
    pub role: Declared<AgentRole>,
}

words! {
    /// What another agent does for this one.
    pub enum AgentRole {
        /// It works for it.
        Subagent = "subagent",
        /// It directs it.
        Orchestrator = "orchestrator",
        /// It checks its work.
        Validator = "validator",
    }
}

/// One call of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineStage {
    /// What is called: `helper.do`.
    pub call: Declared<String>,
    /// What the result is called.
    pub output: Declared<String>,
}
