//! How an agent remembers, and what.

use agentry_policy::words;

use crate::Declared;

/// How an agent remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentMemory {
    /// During a run.
    pub working: Declared<WorkingMemory>,
    /// Between runs.
    pub long_term: Declared<LongTermMemory>,
    /// Whether other agents see it.
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
        /// Elsewhere.
        External = "external",
    }
}

/// One remembered thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFile {
    /// The file, relative to `memory/`.
    pub path: String,
    /// What kind of thing it is; as written, since newer vocabularies exist.
    pub kind: Declared<String>,
    /// How much it matters.
    pub importance: Declared<MemoryImportance>,
    /// When it was learnt.
    pub created: Declared<String>,
    /// From whom.
    pub source: Declared<String>,
    /// The text after the metadata.
    pub text: Declared<String>,
}

words! {
    /// The kinds of memory that the document names.
    pub enum MemoryType {
        /// Something that is so.
        Fact = "fact",
        /// Something that is wanted.
        Preference = "preference",
        /// Something that happened.
        Experience = "experience",
        /// Something to follow.
        Rule = "rule",
    }
}

words! {
    /// How much a memory matters.
    pub enum MemoryImportance {
        /// Much.
        High = "high",
        /// Some.
        Medium = "medium",
        /// Little.
        Low = "low",
    }
}

words! {
    /// Where a memory comes from.
    pub enum MemorySource {
        /// The user said so.
        UserTeaching = "user_teaching",
        /// Inferred from talk.
        Interaction = "interaction",
        /// Inferred by the agent itself.
        Reflection = "reflection",
    }
}
