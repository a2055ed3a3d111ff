//! How an agent remembers, and what.

use agentry_policy::words;

use crate::Field;

/// How an agent remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// During a run.
    pub working: Field<Working>,
    /// Between runs.
    pub long_term: Field<LongTerm>,
    /// Whether other agents see it.
    pub shared: Field<bool>,
}

words! {
    /// Memory during a run.
    pub enum Working {
        /// As long as the session.
        Session = "session",
        /// None.
        None = "none",
    }
}

words! {
    /// Memory between runs.
    pub enum LongTerm {
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
    pub kind: Field<String>,
    /// How much it matters.
    pub importance: Field<Importance>,
    /// When it was learnt.
    pub created: Field<String>,
    /// From whom.
    pub source: Field<String>,
    /// The text after the metadata.
    pub text: Field<String>,
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
    pub enum Importance {
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
