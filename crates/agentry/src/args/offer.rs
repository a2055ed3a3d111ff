//! What can be typed to offer agents to editors and other programs.

use std::path::PathBuf;

use agentry_compile::model::Format;
use clap::Args as ClapArgs;

use super::{SpendingArguments, format};

/// What holds for every run that an editor or a program begins.
#[derive(Debug, ClapArgs)]
pub(crate) struct OfferArguments {
    /// The model to run on, instead of those that the agent names
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) spending: SpendingArguments,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AcpArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    #[command(flatten)]
    pub(crate) offer: OfferArguments,
}

/// What a terminal of an editor shows.
#[derive(Debug, ClapArgs)]
pub(crate) struct ShowOutputArguments {
    /// The socket that the output comes from
    pub(crate) socket: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct McpArguments {
    /// The agents: files or directories; all that are found there
    #[arg(required = true)]
    pub(crate) agents: Vec<String>,
    #[command(flatten)]
    pub(crate) offer: OfferArguments,
}

impl OfferArguments {
    /// The same options for `agentry run`.
    pub(crate) fn to_words(&self) -> Vec<String> {
        let SpendingArguments { max_cost, max_tokens, max_steps, max_turns, max_time } =
            self.spending;
        let options = [
            ("--model", self.model.clone()),
            ("--max-cost", max_cost.map(|it| it.to_string())),
            ("--max-tokens", max_tokens.map(|it| it.to_string())),
            ("--max-steps", max_steps.map(|it| it.to_string())),
            ("--max-turns", max_turns.map(|it| it.to_string())),
            // Every unit that can be typed is a whole number of seconds.
            ("--max-time", max_time.map(|it| format!("{}s", it / 1_000))),
            ("--as", self.format_override.map(|it| it.to_string())),
        ];
        let given = options.into_iter().filter_map(|(name, value)| Some((name, value?)));
        given.flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }
}
