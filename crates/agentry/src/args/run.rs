//! What can be typed to run agents.

use agentry_compile::model::Format;
use agentry_runtime::driver::interfaces::AbsentApprover;
use agentry_runtime::journal::RunFiring;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::{ResultFormat, format};

/// How a run is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// For people
    Human,
    /// One JSON object per line, as it happens
    Json,
}

/// What happens if a call needs an approval and no user can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AskFallback {
    /// The call is refused, and the model gets the reason
    Deny,
    /// The run is parked until `agentry resume`
    Park,
}

impl From<AskFallback> for AbsentApprover {
    fn from(fallback: AskFallback) -> Self {
        match fallback {
            AskFallback::Deny => Self::Denies,
            AskFallback::Park => Self::Parks,
        }
    }
}

/// What a run may spend at most, beside what the agent says itself: the smaller one counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, ClapArgs)]
#[expect(clippy::struct_field_names, reason = "they are named as their flags are")]
pub(crate) struct SpendingArguments {
    /// Limit the cost, in US dollars
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,
    /// Limit the tokens, input and output together
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_tokens: Option<u64>,
    /// Limit the tool calls
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_steps: Option<u64>,
    /// Limit the turns
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_turns: Option<u64>,
    /// Limit the time, like `90s`, `10m` or `2h`; waiting for you does not count
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) max_time: Option<u64>,
}

#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RunArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// What it is asked to do; without it, a conversation begins
    pub(crate) prompt: Option<String>,
    /// The model to run on, instead of those that the agent names
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Consent to everything that the agent may do, without a question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Record the run to a cassette
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<String>,
    /// Play a cassette: nothing is executed, and the first difference is named
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<String>,
    /// What happens if a call needs an approval and no user can answer
    #[arg(long, value_enum, value_name = "WHAT", default_value = "deny")]
    pub(crate) on_ask: AskFallback,
    /// Call a function that the agent exposes; its output is printed as JSON
    #[arg(long, value_name = "NAME", requires = "input", conflicts_with = "prompt")]
    pub(crate) call: Option<String>,
    /// The input of the function, as a JSON object
    #[arg(long, value_name = "JSON", requires = "call")]
    pub(crate) input: Option<String>,
    /// Leave out a tool, server, skill or delegate of the definition, such as one that is not ready
    #[arg(long, value_name = "NAME")]
    pub(crate) without: Vec<String>,
    /// Use servers and tools that changed since you agreed to them
    #[arg(long)]
    pub(crate) accept_changes: bool,
    /// Run commands without the sandbox
    #[arg(long)]
    pub(crate) unconfined: bool,
    #[command(flatten)]
    pub(crate) spending: SpendingArguments,
    /// How long you would need for the task yourself, like `30m`; receipts count the time saved
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) estimate: Option<u64>,
    /// Let another program steer the run: commands on standard input, events on standard output
    #[arg(long, conflicts_with_all = ["record", "replay"])]
    pub(crate) control: bool,
    /// The planned time that starts it.
    #[arg(skip)]
    pub(crate) firing: Option<RunFiring>,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ResumeArguments {
    /// The run: its id, the start or the end of the id, or `last`
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// A further prompt; it also reopens a run that has ended
    pub(crate) prompt: Option<String>,
    /// Continue although the agent, or its permissions, changed since the run began
    #[arg(long)]
    pub(crate) accept_changes: bool,
    /// What the whole run may spend from now on, with what it has spent already. It may be more than
    /// before, and never more than the agent, the team and your configuration say
    #[command(flatten)]
    pub(crate) spending: SpendingArguments,
    /// What happens if a call needs an approval and no user can answer [default: as the run began]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) on_ask: Option<AskFallback>,
    /// Let another program steer the run: commands on standard input, events on standard output
    #[arg(long)]
    pub(crate) control: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConsentArguments {
    #[command(subcommand)]
    pub(crate) command: ConsentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConsentCommand {
    /// List the agents that may run without a question
    List {
        /// How to report
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: ResultFormat,
    },
    /// Revoke consent
    Revoke {
        /// The agent: its digest or the beginning of it, its name, or its path
        #[arg(required = true)]
        agents: Vec<String>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TestArguments {
    /// Files and directories whose agents are tested; all of the workspace if none is named
    pub(crate) agents: Vec<String>,
    /// Read them as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

fn dollars(text: &str) -> Result<f64, String> {
    let plain = text.trim().trim_start_matches('$');
    let amount = plain.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "an amount like `0.50` is expected".to_owned())
}

/// A time like `90s`, `10m` or `2h`.
pub(crate) fn milliseconds(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let factor = match unit {
        "s" | "" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let number = number.trim().parse::<u64>().ok();
    let time = number.zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    time.ok_or_else(|| "a time like `90s`, `10m` or `2h` is expected".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_amounts_parse() {
        let times = [("90s", Some(90_000)), ("10m", Some(600_000)), ("2h", Some(7_200_000))];
        for (text, expected) in
            times.into_iter().chain([("5", Some(5_000)), ("x", None), ("5d", None)])
        {
            assert_eq!(milliseconds(text).ok(), expected, "{text}");
        }
        for (text, expected) in [("0.5", Some(0.5)), ("$2", Some(2.0)), ("-1", None), ("NaN", None)]
        {
            assert_eq!(dollars(text).ok(), expected, "{text}");
        }
    }
}
