//! What a format says about itself. Other crates ask these facts and never compare formats, so a new
//! format needs its folder, its variant of [`Format`] and its row in [`FORMATS`](crate::FORMATS).

use agentry_model::{Agent, Format, TextMerge};
use agentry_text::{FieldTable, Findings, LintRule, SourceFile};

use crate::{AgentPackage, DetectedFile, OutputShape, WriteTarget, WrittenFiles};

/// Everything that other crates know about a format.
#[derive(Debug)]
pub struct FormatInfo {
    /// Which format this is.
    pub format: Format,
    /// Its name in a sentence.
    pub title: &'static str,
    /// Its documents: the name of the file, and the table of its fields.
    pub documents: &'static [(&'static str, &'static FieldTable)],
    /// The table of the fields that the model carries whole, as settings.
    pub settings: Option<&'static FieldTable>,
    /// What can be wrong with it, in code order.
    pub rules: &'static [&'static LintRule],
    /// The fields of the model (paths of [`agentry_model::tree`]) that it can express.
    pub carries: &'static [&'static str],
    /// Reads an agent. Never fails: what cannot be read is reported and left out.
    pub read: fn(&mut AgentPackage<'_>, &mut Findings) -> Agent,
    /// Writes an agent, as far as the format can express it.
    pub write: fn(&Agent, &WriteTarget) -> WrittenFiles,
    /// Fills in the defaults of fields that were not written.
    pub defaults: fn(&mut Agent),
    /// Its files.
    pub files: FormatFiles,
    /// What its reader reports, so that the general checks leave it out.
    pub reports: &'static [ReaderReport],
    /// How its texts become a system prompt.
    pub prompt: FormatPrompt,
    /// How the behaviour block of an agent is merged with that of its base, unless the agent says it.
    pub behaviour_merge: TextMerge,
    /// Whether it has a limit of steps beside `max_turns`, so that a child may raise `max_turns`.
    pub has_step_limit: bool,
    /// Why an agent without a policy may do nothing, if that is so. In other formats a person is asked.
    pub denies_without_policy: Option<&'static str>,
    /// Whether two agents with one name in a workspace are an error, and not only a warning.
    pub needs_unique_names: bool,
    /// Whether a skill without a file may come from the harness that the agent is rendered for.
    pub takes_harness_skills: bool,
    /// The models that its settings list, if they do.
    pub models: Option<fn(&Agent) -> Vec<String>>,
    /// The short digest `ag1:…`, if the format defines one and accepts the agent.
    pub short_digest: Option<fn(&mut AgentPackage<'_>) -> Option<String>>,
    /// Reports what is wrong with the receipt of a run, if homes of its agents keep receipts.
    pub check_receipt: Option<fn(&SourceFile, &mut Findings)>,
}

/// The files of an agent: how they are recognised, which belong to it, and what a new agent has.
#[derive(Debug)]
pub struct FormatFiles {
    /// The main files that make a directory an agent. None for a format of single files.
    pub mains: &'static [&'static str],
    /// How the name of a file ends that is an agent by itself.
    pub ending: Option<&'static str>,
    /// Whether other programs use the same ending, so that a file is looked into even if it is named.
    pub shares_ending: bool,
    /// What else its reader reads in the directory of an agent. A directory ends with `/`.
    pub parts: &'static [&'static str],
    /// What lies beside the main file of an agent, and seldom beside another file of that name. A
    /// directory ends with `/`.
    pub signs: &'static [&'static str],
    /// Whether a main file counts only with a sign beside it, unless the user names its directory.
    pub needs_sign: bool,
    /// Whether an agent is called like its directory.
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
    /// The heading over rules, if there is one.
    pub rules_heading: Option<&'static str>,
    /// Whether the description, else the title, stands in for a missing system text.
    pub uses_description: bool,
    /// Parts that Agentry adds after the instructions, and that no file of the agent replaces: their names
    /// and texts.
    pub fixed_parts: &'static [(&'static str, &'static str)],
}

/// Something that a general check looks for, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderReport {
    /// There is no description.
    NoDescription,
    /// There are no instructions. The description is their first line.
    NoInstructions,
    /// The description is too long.
    LongDescription,
    /// The name has characters that harnesses do not take, or is that of a file or directory.
    NameCharacters,
    /// The name is too long.
    LongName,
    /// The name starts or ends with a hyphen.
    NameHyphens,
    /// A skill is listed twice.
    RepeatedSkill,
    /// The environment or a header of an MCP server holds a secret.
    ServerSecret,
}

impl FormatInfo {
    /// Whether it can express a field of the model.
    pub fn can_express(&self, field: &str) -> bool {
        self.carries.contains(&field)
    }

    /// Whether its reader reports this.
    pub fn reports(&self, what: ReaderReport) -> bool {
        self.reports.contains(&what)
    }
}

impl FormatFiles {
    /// Whether a file of this name is an agent by itself.
    pub fn has_ending(&self, name: &str) -> bool {
        self.ending.is_some_and(|ending| name.len() > ending.len() && name.ends_with(ending))
    }

    /// Whether an agent of this name is written as a file or as a directory.
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
