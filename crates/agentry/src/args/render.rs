//! What can be typed about rendering.

use clap::Args as ClapArgs;

use agentry_compile::model::Format;
use agentry_compile::render::AcceptedLoss;
use agentry_compile::targets::{RenderScope, Target};

use super::{ResultFormat, format, scope, target};

#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct RenderArguments {
    /// The agents, or directories with agents; by default all of the workspace
    pub(crate) agents: Vec<String>,
    /// The harnesses, separated by commas; by default those of `agentry.toml`
    #[arg(long = "target", value_name = "TARGETS", value_delimiter = ',', value_parser = target())]
    pub(crate) targets: Vec<&'static Target>,
    /// The root of the project to write to; by default that of the workspace
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<String>,
    /// Where the files go: `project`, or `user` for below the home directory
    #[arg(long, value_name = "SCOPE", value_parser = scope())]
    pub(crate) scope: Option<RenderScope>,
    /// Show what differs from what would be rendered, and write nothing
    #[arg(long, conflicts_with_all = ["dry_run", "watch", "force"])]
    pub(crate) check: bool,
    /// Show what would happen, and write nothing
    #[arg(long, conflicts_with = "watch")]
    pub(crate) dry_run: bool,
    /// Render again whenever a definition changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// Write nothing if anything would be lost
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show the rules of both sides, section by section
    #[arg(long)]
    pub(crate) explain: bool,
    /// List every file and every loss
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print the counts and what is refused, and nothing else
    #[arg(short, long, conflicts_with_all = ["verbose", "explain"])]
    pub(crate) quiet: bool,
    /// Let the harness ask `agentry guard` before each call, if it has hooks
    #[arg(long)]
    pub(crate) guard: bool,
    /// Remove the guard; otherwise a target that has it keeps it
    #[arg(long, conflicts_with = "guard")]
    pub(crate) no_guard: bool,
    /// Make rules stricter where the harness does not check
    #[arg(long)]
    pub(crate) close_gaps: bool,
    /// Remove these rules; otherwise a target that has them keeps them
    #[arg(long, conflicts_with = "close_gaps")]
    pub(crate) no_close_gaps: bool,
    /// Deny what the source asks about, for runs without a person
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Ask again what the source asks about; otherwise a target that denies it keeps doing so
    #[arg(long, conflicts_with = "unattended")]
    pub(crate) no_unattended: bool,
    /// Also write files that hold for other agents and for your own sessions
    #[arg(long)]
    pub(crate) shared: bool,
    /// Accept the losses of a field in a target, or `required` for start-up gates
    #[arg(long, value_name = "TARGET:FIELD", value_delimiter = ',')]
    pub(crate) accept: Vec<AcceptedLoss>,
    /// Replace files that were edited or not written by Agentry
    #[arg(long)]
    pub(crate) force: bool,
    /// Read the agents as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}
