//! What can be typed about policies.

use agentry_compile::model::Format;
use agentry_compile::policy::Section;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::{ResultFormat, format, section};

#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyArguments {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show everything that an agent may do: every rule in order, with its position
    Show(PolicyShowArguments),
    /// Show the verdict on a call, and the rule behind each of its parts
    ///
    /// `agentry run` and the guard of a harness use the same verdict. Whatever the rules say, no call
    /// writes to what decides about agents: their definitions, rendered files, settings of harnesses and of
    /// Agentry.
    Why(PolicyWhyArguments),
    /// List what a new version of an agent may do more and less than the old one
    ///
    /// With `--since`, all agents of the workspace are compared with a commit. Ends with 1 if anything was
    /// gained, and with 2 if an agent cannot be compared.
    #[command(override_usage = "agentry policy diff [OPTIONS] <OLD> <NEW>\n       \
                                agentry policy diff [OPTIONS] --since <REF> [PATHS]...")]
    Diff(PolicyDiffArguments),
    /// Run the examples that authors write beside their rules
    Test(PolicyTestArguments),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyShowArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyWhyArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// The tool: `bash`, `edit`, `read`, `webfetch`, `websearch`, `question`, `external_directory`,
    /// `mcp`, `tool`, `skill`, `delegate` or `env`
    #[arg(value_parser = section)]
    pub(crate) tool: Section,
    /// The command line, the path, the address or the name
    #[arg(allow_hyphen_values = true)]
    pub(crate) subject: String,
    /// Ask about a search through a directory: what of it may be read, of all files or those of a glob
    #[arg(
        long,
        value_name = "GLOB",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub(crate) search: Option<String>,
    /// The script or the skill of the agent that makes the call
    #[arg(long, value_name = "NAME")]
    pub(crate) inside: Option<String>,
    /// The directory that the call starts in, instead of the root of the workspace
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<String>,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyDiffArguments {
    /// The agent as it was and as it is; with `--since`, files and directories to compare, the whole
    /// workspace if none is named
    #[arg(value_name = "PATHS", required_unless_present = "since")]
    pub(crate) paths: Vec<String>,
    /// Compare with the commit at which the branch left this commit, tag or branch
    #[arg(long, value_name = "REF")]
    pub(crate) since: Option<String>,
    /// Read both as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: DiffFormat,
}

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// For people
    Human,
    /// One JSON document
    Json,
    /// For a comment on a pull request; only with `--since`
    Markdown,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PolicyTestArguments {
    /// The agents: files or directories
    #[arg(required = true)]
    pub(crate) agents: Vec<String>,
    /// Read them as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}
