//! What can be typed.

mod evolution;
mod help_groups;
mod home;
mod machine;
mod memory;
mod offer;
mod policy;
mod receipts;
mod render;
mod run;
mod runs;
mod sandbox;
mod schedule;
mod serve;
mod setup;
mod store;
mod tools;

pub(crate) use evolution::{ProposalsArguments, ProposalsCommand, REJECTED, TeachArguments};
pub(crate) use help_groups::parse;
pub(crate) use home::{
    AgentsArguments, DiffArguments, ExportArguments, HistoryArguments, InstallArguments,
    RollbackArguments, UninstallArguments,
};
pub(crate) use machine::{ConfigArguments, DoctorArguments, ModelsArguments};
pub(crate) use memory::{MemoryAddArguments, MemoryAgent, MemoryArguments, MemoryCommand};
pub(crate) use offer::{AcpArguments, McpArguments, ShowOutputArguments};
pub(crate) use policy::{
    DiffFormat, PolicyArguments, PolicyCommand, PolicyDiffArguments, PolicyShowArguments,
    PolicyTestArguments, PolicyWhyArguments,
};
pub(crate) use receipts::{ReceiptsAgentArguments, ReceiptsArguments, ReceiptsCommand};
pub(crate) use render::RenderArguments;
pub(crate) use run::{
    AskFallback, ConsentArguments, ConsentCommand, ResumeArguments, RunArguments, RunFormat,
    SpendingArguments, TestArguments, milliseconds,
};
pub(crate) use runs::{
    RunsArguments, RunsCommand, RunsPruneArguments, RunsResultArguments, RunsShowArguments,
    RunsTailArguments, RunsUndoArguments,
};
pub(crate) use sandbox::{
    SandboxArguments, SandboxCommand, SandboxExecArguments, SandboxExplainArguments,
};
pub(crate) use schedule::{
    FireArguments, ScheduleArguments, ScheduleCommand, ScheduleNextArguments,
};
pub(crate) use serve::{PairArguments, PairCommand, RunsAtStop, ServeArguments, ServeCommand};
pub(crate) use setup::{AuditArguments, InitArguments};
pub(crate) use store::{
    GcArguments, KeygenArguments, ListArguments, PullArguments, PushArguments, SearchArguments,
    SignArguments, VerifyArguments,
};
pub(crate) use tools::{ToolsArguments, ToolsCallArguments, ToolsCommand, ToolsLoginArguments};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use agentry_compile::SearchAs;
use agentry_compile::model::Format;
use agentry_compile::policy::Section;
use agentry_compile::targets::{RenderScope, TARGETS, Target};

/// The version, with the commit where the program is built from a checkout; `build.rs` asks Git.
const VERSION: &str = env!("AGENTRY_VERSION");

/// Printed below the list of commands, which is too long to begin with.
const FIRST_STEPS: &str = "\
To begin: `agentry new agent-toml NAME` writes an agent, `agentry check` finds its mistakes, `agentry run NAME` \
runs it. `agentry help COMMAND` explains a command.

Exit codes: 0 done; 1 findings, or a failed run; 2 bad usage or unreadable input; 3 refused; 130 interrupted.";

/// A compiler and a runtime for AI-agent definitions.
#[derive(Debug, Parser)]
#[command(
    name = "agentry",
    version = VERSION,
    about,
    propagate_version = false,
    after_help = FIRST_STEPS
)]
pub(crate) struct CliArguments {
    /// When to use colours; `auto`: on a terminal, unless `NO_COLOR` is set
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        display_order = 900
    )]
    pub(crate) color: ColorChoice,
    /// Run as if the program was started in this directory
    #[arg(short = 'C', global = true, value_name = "DIR", display_order = 901)]
    pub(crate) start_directory: Option<String>,
    /// Print no progress and no notes; results, warnings and errors stay
    #[arg(short, long, global = true, display_order = 902)]
    pub(crate) quiet: bool,
    /// Refuse agents and bases of the store, a registry or the web without a signature of a key that you trust
    #[arg(long, global = true, display_order = 903)]
    pub(crate) require_signature: bool,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// When the output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Find agents and report their problems
    Check(CheckArguments),
    /// Show an agent: every value and where it comes from
    Show(ShowArguments),
    /// Print the digest of an agent
    Hash(HashArguments),
    /// Write an agent in another format and list what is lost
    Convert(ConvertArguments),
    /// Write agents for the harnesses that run them
    ///
    /// The written files never permit more than the definition, apart from the listed gaps.
    Render(RenderArguments),
    /// Read the agents of a harness into a definition format
    Import(ImportArguments),
    /// Answer the hook of a harness: may the agent make this call?
    Guard(GuardArguments),
    /// Show what an agent may do, why, and what a change allows
    Policy(PolicyArguments),
    /// Add an agent to the store or to a registry, and print its digest
    Push(PushArguments),
    /// Write an agent of the store or a registry to files
    Pull(PullArguments),
    /// Search the store for agents by words
    Search(SearchArguments),
    /// List the agents of the store, or the tags in a registry
    List(ListArguments),
    /// Remove agents from the store that nothing refers to
    Gc(GcArguments),
    /// Create a signing key
    Keygen(KeygenArguments),
    /// Sign an agent of the store
    Sign(SignArguments),
    /// Verify an agent of the store or a registry, and its signatures
    Verify(VerifyArguments),
    /// Install an agent in your home, or update the installed one
    Install(InstallArguments),
    /// List the installed agents
    Agents(AgentsArguments),
    /// Remove an installed agent and its history
    Uninstall(UninstallArguments),
    /// Write out an installed agent, without what belongs to users
    Export(ExportArguments),
    /// List the changes of an installed agent, with their reasons
    History(HistoryArguments),
    /// Compare two commits of an installed agent, and what they may do
    Diff(DiffArguments),
    /// Restore an earlier state of an installed agent, as a new commit
    Rollback(RollbackArguments),
    /// Accept or reject changes that agents propose to themselves
    Proposals(ProposalsArguments),
    /// Teach an installed agent a fact or a rule, in a sentence
    Teach(TeachArguments),
    /// Pin the agents of a workspace, or list what changed since
    Lock(LockArguments),
    /// List all that takes part in a workspace, and what is suspicious
    Audit(AuditArguments),
    /// Show which model, tools and skills an agent gets here, and why
    Resolve(ResolveArguments),
    /// Run an agent
    Run(Box<RunArguments>),
    /// Continue a run
    Resume(ResumeArguments),
    /// List or revoke your consent to runs
    Consent(ConsentArguments),
    /// List the tools of an agent, or call one
    Tools(ToolsArguments),
    /// Replay recorded runs, and check the examples of policies
    Test(TestArguments),
    /// List runs; show one, follow it, undo its changes
    Runs(RunsArguments),
    /// Show and change what agents remember between runs
    Memory(MemoryArguments),
    /// List, show and verify the receipts of runs; statistics over them
    Receipts(ReceiptsArguments),
    /// List schedules and their next times; run, pause or resume one
    Schedule(ScheduleArguments),
    /// Serve a page and an API for runs and approvals; fire schedules
    Serve(ServeArguments),
    /// Offer an agent to an editor that speaks the protocol ACP
    Acp(AcpArguments),
    /// The program in a terminal that `acp` opens in an editor
    #[command(hide = true)]
    ShowOutput(ShowOutputArguments),
    /// Offer agents as tools to other programs, as an MCP server
    Mcp(McpArguments),
    /// Show what confines an agent's commands, or run one like that
    Sandbox(SandboxArguments),
    /// Show what this machine supports, and how to get the rest
    Doctor(DoctorArguments),
    /// List the models that can be used here, and why others cannot
    Models(ModelsArguments),
    /// Show the settings in force, and the file that each comes from
    Config(ConfigArguments),
    /// Set up a repository: configuration, baseline, hook, workflow
    Init(InitArguments),
    /// Start a new agent
    New(NewArguments),
    /// Print the JSON Schema of a format, for editors
    Schema(SchemaArguments),
    /// List every rule, or explain one
    Rules(RulesArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print a manual page, or write all of them
    Man(ManArguments),
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Human,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands, for annotations on a pull request
    Github,
}

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    /// For people
    Human,
    /// One JSON document
    Json,
}

#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct CheckArguments {
    /// Files and directories to check
    #[arg(default_value = ".")]
    pub(crate) paths: Vec<String>,
    /// Fix what can be fixed without changing the meaning
    #[arg(long)]
    pub(crate) fix: bool,
    /// Also make fixes that may change the meaning
    #[arg(long)]
    pub(crate) fix_unsafe: bool,
    /// Read every path as this format, or as agents of this harness
    #[arg(long = "as", value_name = "FORMAT", value_parser = format_or_harness())]
    pub(crate) reads: Option<SearchAs>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ReportFormat,
    /// Fail on warnings too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Check only agents of which a file changed since the branch left this commit, tag or branch
    ///
    /// The files of an agent are all that its check reads: prompt, skills, bases, `agentry.toml`. What is
    /// not committed yet counts too.
    #[arg(long, value_name = "REF", conflicts_with = "write_baseline")]
    pub(crate) changed_since: Option<String>,
    /// Do not report the findings in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<String>,
    /// Write the current findings to the baseline file
    #[arg(long)]
    pub(crate) write_baseline: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// Show the system prompt, part by part
    #[arg(long)]
    pub(crate) prompt: bool,
    /// Leave out what it inherits and what the format fills in
    #[arg(long)]
    pub(crate) declared: bool,
    /// Read it as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to show it; `json` is the canonical form
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct HashArguments {
    /// The agents: files or directories
    #[arg(required = true)]
    pub(crate) agents: Vec<String>,
    /// The SHA-256 of the canonical form, also for a manifest
    #[arg(long)]
    pub(crate) full: bool,
    /// Read them as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct ConvertArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    pub(crate) to: Format,
    /// The file or directory to write; a manifest is one file if its name ends with `.agent`
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: String,
    /// Write what the agent inherits into it, also where the format could name the base
    #[arg(long)]
    pub(crate) resolved: bool,
    /// Write nothing if anything would be lost
    #[arg(long)]
    pub(crate) strict: bool,
    /// Replace files that are there already
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Read the agent as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct ImportArguments {
    /// Agents of a harness: their files, or projects that hold them; or `oci://…` of one of Docker Agent
    #[arg(required = true)]
    pub(crate) paths: Vec<String>,
    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    pub(crate) to: Format,
    /// What to write: as in `convert` for one file, else a directory that holds all of them
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: String,
    /// The harness that they are from
    #[arg(long = "as", value_name = "HARNESS", value_parser = harness())]
    pub(crate) harness: Option<&'static Target>,
    /// Write nothing if anything would be lost
    #[arg(long)]
    pub(crate) strict: bool,
    /// Replace files that are there already
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// List every file and every loss
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print the number of agents and nothing else
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GuardArguments {
    /// The harness that asks
    #[arg(value_parser = asking())]
    pub(crate) harness: String,
    /// The agent that the call is for: its file or its directory
    #[arg(required_unless_present = "agents")]
    pub(crate) agent: Option<String>,
    /// The digest that the definition had when it was rendered
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<String>,
    /// The project that the agent was rendered into, which its relative paths and patterns are about; the
    /// workspace of its definition if none is named
    #[arg(long, value_name = "DIR", conflicts_with = "agents")]
    pub(crate) project: Option<String>,
    /// A rendered file that says which definition decides about which agent: the question names the
    /// agent; calls of other agents are not judged
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agent", "digest"])]
    pub(crate) agents: Option<String>,
    /// Let calls through again after one changed protected files: look at them first
    #[arg(long, conflicts_with_all = ["agents", "digest"])]
    pub(crate) accept: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ResolveArguments {
    /// The agent: its file or directory, the id of an installed one, or `name@version` of the store
    pub(crate) agent: String,
    /// Ask hosted providers which models they have, too, not only servers on this machine
    #[arg(long)]
    pub(crate) live: bool,
    /// Read it as this format
    #[arg(long = "as", value_name = "FORMAT", value_parser = format())]
    pub(crate) format_override: Option<Format>,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LockArguments {
    /// Files and directories whose agents are locked; all of the workspace if none is named
    pub(crate) agents: Vec<String>,
    /// Write nothing; list what differs from the lock, and end with 1 if anything does
    #[arg(long, conflicts_with = "update")]
    pub(crate) check: bool,
    /// Lock again only what is named, which must be locked already
    #[arg(long, requires = "agents")]
    pub(crate) update: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct NewArguments {
    /// The format
    #[arg(value_parser = format())]
    pub(crate) format: Format,
    /// The name: lower-case letters, digits and hyphens
    pub(crate) name: String,
    /// The directory to make it in
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SchemaArguments {
    /// The format
    #[arg(value_parser = format())]
    pub(crate) format: Format,
    /// Which of its documents; by default the main one
    pub(crate) document: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RulesArguments {
    /// The name or code of a rule to explain
    pub(crate) rule: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManArguments {
    /// The command whose page is printed, like `policy why` [default: the program itself]
    #[arg(conflicts_with = "output")]
    pub(crate) command: Vec<String>,
    /// Write all pages to this directory instead
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<String>,
}

/// A section by its name, or by the name of a tool that belongs to it.
fn section(text: &str) -> Result<Section, String> {
    if let Some(section) = Section::of_tool(text) {
        return Ok(section);
    }
    let near =
        agentry_compile::text::suggestion::did_you_mean(text, Section::WORDS.iter().copied());
    Err(near.unwrap_or_else(|| format!("use one of {}", Section::WORDS.join(", "))))
}

/// A harness that agents are rendered for, by its name.
fn target() -> impl TypedValueParser<Value = &'static Target> {
    named(TARGETS.iter().map(|target| PossibleValue::new(target.name)).collect())
}

/// A harness whose agents can be imported, by its name.
fn harness() -> impl TypedValueParser<Value = &'static Target> {
    let all = TARGETS.iter().filter(|target| target.import.is_some());
    named(all.map(|target| PossibleValue::new(target.name)).collect())
}

/// A harness that puts calls to the guard, by its name.
fn asking() -> PossibleValuesParser {
    let all = TARGETS.iter().filter(|target| target.guard.is_some());
    PossibleValuesParser::new(all.map(|target| target.name))
}

fn named(names: Vec<PossibleValue>) -> impl TypedValueParser<Value = &'static Target> {
    PossibleValuesParser::new(names)
        .try_map(|name| agentry_compile::targets::target(&name).ok_or("there is no such harness"))
}

/// Where rendered files go.
fn scope() -> impl TypedValueParser<Value = RenderScope> {
    PossibleValuesParser::new(RenderScope::WORDS)
        .try_map(|word| word.parse().map_err(|()| "there is no such scope"))
}

/// A format, or a harness whose agents can be checked, by its name.
fn format_or_harness() -> impl TypedValueParser<Value = SearchAs> {
    let all = TARGETS.iter().filter(|target| target.authoring.is_some());
    let names = Format::WORDS.iter().copied().chain(all.map(|target| target.name));
    PossibleValuesParser::new(names).try_map(|word| {
        let format = word.parse().ok().map(SearchAs::Format);
        let harness = || agentry_compile::targets::target(&word).map(SearchAs::Harness);
        format.or_else(harness).ok_or("there is no such format")
    })
}

/// A format by its name.
fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::WORDS)
        .try_map(|word| word.parse().map_err(|()| "there is no such format"))
}
