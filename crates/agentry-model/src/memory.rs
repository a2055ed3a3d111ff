//! The memory of an agent: its kinds, and memories that come with it as files.

use agentry_policy::words;

use crate::Declared;

/// The kinds of memory that an agent has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentMemory {
    /// During a run.
    pub working: Declared<WorkingMemory>,
    /// Between runs.
    pub long_term: Declared<LongTermMemory>,
    /// Whether other agents have access to it.
    pub shared: Declared<bool>,
}

words! {
    /// Memory during a run.
    pub enum WorkingMemory {
        /// As long as the session.
        Session = "session",
        /// None.
        None = "none",
    }
}

words! {
    /// Memory between runs.
    pub enum LongTermMemory {
        /// None.
        None = "none",
        /// On this machine.
        Local = "local",
        /// In another system.
        External = "external",
    }
}

/// One memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFile {
    /// The file, relative to `memory/`.
    pub path: String,
    /// Its type, unchanged: newer vocabularies have more than [`MemoryType`].
    pub kind: Declared<String>,
    /// How important it is.
    pub importance: Declared<MemoryImportance>,
    /// When it was recorded.
    pub created: Declared<String>,
    /// Its source.
    pub source: Declared<String>,
    /// Whether it is always in the prompt.
    pub pinned: Declared<bool>,
    /// The text after the front matter.
    pub text: Declared<String>,
}

words! {
    /// The types of memory in the specification.
    pub enum MemoryType {
        /// A fact.
        Fact = "fact",
        /// A preference of the user.
        Preference = "preference",
        /// An event.
        Experience = "experience",
        /// A rule to follow.
        Rule = "rule",
    }
}

words! {
    /// How important a memory is.
    pub enum MemoryImportance {
        /// Very.
        High = "high",
        /// Somewhat.
        Medium = "medium",
        /// Little.
        Low = "low",
    }
}

words! {
    /// Where a memory comes from.
    pub enum MemorySource {
        /// The user stated it.
        UserTeaching = "user_teaching",
        /// Inferred from a conversation.
        Interaction = "interaction",
        /// Inferred by the agent itself.
        Reflection = "reflection",
    }
}
