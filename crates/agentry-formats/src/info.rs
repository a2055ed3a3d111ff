//! The facts about a format. Other crates read these facts and never compare formats, so a new format
//! needs only its folder, its variant of [`Format`] and its row in [`FORMATS`](crate::FORMATS).

use agentry_model::{Agent, Format, TextMerge};
use agentry_policy::LayerSource;
use agentry_text::{FieldTable, Findings, LintRule, SourceFile};

use crate::{AgentPackage, DetectedFile, OutputShape, WriteTarget, WrittenFiles};

/// The facts about one format that other crates use.
#[derive(Debug)]
pub struct FormatInfo {
    /// Which format this is.
    pub format: Format,
    /// Its name within a sentence.
    pub title: &'static str,
    /// Its documents: a file name, and the table of the fields in that file.
    pub documents: &'static [(&'static str, &'static FieldTable)],
    /// The table of the fields that the model keeps together, as settings.
    pub settings: Option<&'static FieldTable>,
    /// Its lint rules, in code order.
    pub rules: &'static [&'static LintRule],
    /// The fields of the model (paths of [`agentry_model::tree`]) that it can express.
    pub carries: &'static [&'static str],
    /// Where it has its MCP servers.
    pub servers: ServerPlace,
    /// The notation in which its files express a policy.
    pub notation: LayerSource,
    /// Reads an agent. Never fails: a part that cannot be read is reported and left out.
    pub read: fn(&mut AgentPackage<'_>, &mut Findings) -> Agent,
    /// Writes an agent, as far as the format can express it.
    pub write: fn(&Agent, &WriteTarget) -> WrittenFiles,
    /// Fills in the defaults of fields that the definition leaves out.
    pub defaults: fn(&mut Agent),
    /// Its files.
    pub files: FormatFiles,
    /// Problems that its reader reports itself, so that the general checks skip them.
    pub reports: &'static [ReaderReport],
    /// How its texts become a system prompt.
    pub prompt: FormatPrompt,
    /// How the behaviour of an agent is merged with that of its base, unless the agent declares it.
    pub behaviour_merge: TextMerge,
    /// Whether it has a step limit besides `max_turns`, so that a child may raise `max_turns`.
    pub has_step_limit: bool,
    /// Why an agent without a policy is denied everything; `None` where the user is asked instead.
    pub denies_without_policy: Option<&'static str>,
    /// Whether two agents with the same name in a workspace are an error instead of a warning.
    pub needs_unique_names: bool,
    /// Whether a skill without a file may be provided by the harness.
    pub takes_harness_skills: bool,
    /// Returns the language models that its settings list, for a format with such a list.
    pub models: Option<fn(&Agent) -> Vec<String>>,
    /// The short digest `ag1:…`, if the format defines one and accepts the agent.
    pub short_digest: Option<fn(&mut AgentPackage<'_>) -> Option<String>>,
    /// Checks the receipt of a run, for a format whose agents keep receipts.
    pub check_receipt: Option<fn(&SourceFile, &mut Findings)>,
    /// The name of the schedule that is skipped while its prompt has nothing to do.
    pub heartbeat: Option<&'static str>,
}

/// Where a format has its MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPlace {
    /// In a field or a file of its own.
    OwnField,
    /// In the `x-agentry` block.
    AgentryBlock,
}

/// The files of an agent: how they are recognised, which belong to it, and what a new agent has.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about a format")]
pub struct FormatFiles {
    /// The main files that make a directory an agent. Empty for a format of single files.
    pub mains: &'static [&'static str],
    /// The ending of a file name that is an agent by itself.
    pub ending: Option<&'static str>,
    /// Whether other programs use the same ending. Then the content decides, even if the user names the file.
    pub shares_ending: bool,
    /// Other files that its reader reads in the directory of an agent. A directory ends with `/`.
    pub parts: &'static [&'static str],
    /// Files that are usually beside the main file of an agent, and rarely beside another file of that
    /// name. A directory ends with `/`.
    pub signs: &'static [&'static str],
    /// Whether a main file counts only with a sign beside it, unless the user names its directory.
    pub needs_sign: bool,
    /// Whether everything in the directory of an agent belongs to it, also what no reader asks for.
    pub owns_directory: bool,
    /// Whether an agent takes its name from its directory.
    pub names_agent: bool,
    /// Whether a file with a fitting name is an agent.
    pub is_agent: fn(&DetectedFile<'_>) -> bool,
    /// The files of a new agent, with `{name}` and `{title}` in their paths and texts.
    pub template: &'static [(&'static str, &'static str)],
    /// Names that an agent must not have.
    pub reserved_names: &'static [&'static str],
}

/// How the texts of an agent become its system prompt.
#[derive(Debug)]
pub struct FormatPrompt {
    /// The heading above the rules, if there is one.
    pub rules_heading: Option<&'static str>,
    /// Whether the system text is a persona: a file about who the agent is.
    pub system_is_persona: bool,
    /// Parts that Agentry adds after the instructions and that no file of the agent replaces: names and
    /// texts.
    pub fixed_parts: &'static [(&'static str, &'static str)],
}

/// A problem that a general check looks for as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderReport {
    /// There is no description.
    NoDescription,
    /// There are no instructions. Their first line serves as the description.
    NoInstructions,
    /// The description is too long.
    LongDescription,
    /// The name has characters that harnesses reject, or is that of a file or directory.
    NameCharacters,
    /// The name is too long.
    LongName,
    /// The name starts or ends with a hyphen.
    NameHyphens,
    /// A skill is listed twice.
    RepeatedSkill,
    /// The environment or a header of an MCP server holds a secret.
    ServerSecret,
    /// The start-up tool does not exist.
    StartupTool,
}

impl FormatInfo {
    /// Whether the format can express a field of the model.
    pub fn can_express(&self, field: &str) -> bool {
        self.carries.contains(&field)
    }

    /// Whether its reader reports this problem.
    pub fn reports(&self, what: ReaderReport) -> bool {
        self.reports.contains(&what)
    }
}

impl FormatFiles {
    /// Whether a file of this name is an agent by itself.
    pub fn has_ending(&self, name: &str) -> bool {
        self.ending.is_some_and(|ending| name.len() > ending.len() && name.ends_with(ending))
    }

    /// Returns whether an agent of this name is written as a file or as a directory.
    pub fn shape(&self, name: &str) -> OutputShape {
        if self.mains.is_empty() || self.has_ending(name) {
            OutputShape::File
        } else {
            OutputShape::Directory
        }
    }

    /// Whether one of its signs is among the entries of a directory.
    pub fn has_sign(&self, entries: &[String]) -> bool {
        let is_there = |sign: &&str| entries.iter().any(|name| name == sign.trim_end_matches('/'));
        self.signs.iter().any(is_there)
    }
}
