//! What can be typed about memories.

use agentry_compile::model::{MemoryImportance, MemoryType};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Subcommand};

use super::ResultFormat;

#[derive(Debug, ClapArgs)]
pub(crate) struct MemoryArguments {
    #[command(subcommand)]
    pub(crate) command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Teach an agent something: for all its users, or in private with `--user`
    Add(MemoryAddArguments),
    /// List what an agent remembers, the newest first
    List {
        #[command(flatten)]
        agent: MemoryAgent,
        /// How to report
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: ResultFormat,
    },
    /// Find memories by words, the best first
    Search {
        #[command(flatten)]
        agent: MemoryAgent,
        /// The words
        #[arg(required = true, value_name = "WORDS")]
        query: Vec<String>,
        /// The most memories
        #[arg(short = 'n', value_name = "COUNT", default_value = "20")]
        count: usize,
        /// How to report
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: ResultFormat,
    },
    /// Change a memory, in `$EDITOR` or with `--text`
    Edit {
        #[command(flatten)]
        agent: MemoryAgent,
        /// The memory: its id or its file
        memory: String,
        /// The new text; the metadata stays
        #[arg(long, value_name = "TEXT")]
        text: Option<String>,
    },
    /// Remove memories
    Forget {
        #[command(flatten)]
        agent: MemoryAgent,
        /// The memories: their ids or their files
        #[arg(required = true, value_name = "MEMORY")]
        memories: Vec<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MemoryAddArguments {
    #[command(flatten)]
    pub(crate) agent: MemoryAgent,
    /// What to remember
    pub(crate) text: String,
    /// What kind of thing it is
    #[arg(long = "type", value_name = "TYPE", default_value = "fact", value_parser = kinds())]
    pub(crate) kind: MemoryType,
    /// How much it matters; `high` comes first in every prompt
    #[arg(long, value_name = "IMPORTANCE", default_value = "medium", value_parser = importances())]
    pub(crate) importance: MemoryImportance,
    /// Put it into every prompt
    #[arg(long)]
    pub(crate) pin: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MemoryAgent {
    /// The agent: its id in the home, its file or its directory
    pub(crate) agent: String,
    /// The user whose memories are meant [default: `$AGENTRY_USER`, else the login name]
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
}

fn kinds() -> impl TypedValueParser {
    PossibleValuesParser::new(MemoryType::WORDS)
        .map(|word| word.parse().unwrap_or(MemoryType::Fact))
}

fn importances() -> impl TypedValueParser {
    PossibleValuesParser::new(MemoryImportance::WORDS)
        .map(|word| word.parse().unwrap_or(MemoryImportance::Medium))
}
