//! What can be typed about schedules.

use agentry_home::schedule::read_instant;
use clap::{Args as ClapArgs, Subcommand};

use super::{AskFallback, ResultFormat};

#[derive(Debug, ClapArgs)]
pub(crate) struct ScheduleArguments {
    #[command(subcommand)]
    pub(crate) command: ScheduleCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleCommand {
    /// List the schedules of agents, with their state
    List {
        /// Agents, or directories that are searched [default: the current directory]
        agents: Vec<String>,
        /// How to report
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: ResultFormat,
    },
    /// Print when schedules fire next
    Next(ScheduleNextArguments),
    /// Run one schedule now, whatever its times are
    Run {
        /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
        agent: String,
        /// The name of the schedule
        name: String,
        /// What happens if a call needs an approval and no user can answer
        #[arg(long, value_enum, value_name = "WHAT", default_value = "deny")]
        on_ask: AskFallback,
    },
    /// Pause all schedules of an agent, or one; times that pass are not caught up with
    Pause {
        /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
        agent: String,
        /// The name of the schedule [default: all of them]
        name: Option<String>,
    },
    /// Resume paused schedules
    Resume {
        /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
        agent: String,
        /// The name of the schedule [default: all of them]
        name: Option<String>,
    },
    /// The process of one firing, which `serve` starts
    #[command(hide = true)]
    Fire(FireArguments),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ScheduleNextArguments {
    /// Agents, or directories that are searched [default: the current directory]
    pub(crate) agents: Vec<String>,
    /// The first instant: a date, or `2027-01-31T09:00:00+01:00` [default: now]
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub(crate) from: Option<i64>,
    /// The instant before which all are printed
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub(crate) to: Option<i64>,
    /// The most times [default: 10, or all with `--to`]
    #[arg(short = 'n', value_name = "COUNT")]
    pub(crate) count: Option<usize>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FireArguments {
    /// The agent of the firing
    pub(crate) agent: String,
    /// The name of the schedule
    pub(crate) schedule: String,
    /// The planned time, in seconds since 1970
    pub(crate) planned: i64,
    /// The number of the claim
    pub(crate) epoch: i64,
    #[arg(long, value_enum, value_name = "WHAT", default_value = "deny")]
    pub(crate) on_ask: AskFallback,
}

fn instant(text: &str) -> Result<i64, String> {
    read_instant(text).ok_or_else(|| {
        "not a time: write a date like `2027-01-31`, or `2027-01-31T09:00:00+01:00`".to_owned()
    })
}
