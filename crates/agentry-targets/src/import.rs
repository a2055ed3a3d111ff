//! Import from the files of a harness to the model, never wider: the imported rules must stay within what
//! the harness surely permits.

use crate::memo::RenderMemo;
use std::collections::BTreeSet;
use std::sync::Arc;

use agentry_model::Agent;
use agentry_policy::{Action, RuleList, Section};
use agentry_text::{Data, Spanned, TextPosition};

use crate::example::plain;
use crate::import_files::CheckedFiles;
use crate::import_loss::{ImportLoss, locate};
use crate::import_rules::narrowed;
use crate::model::always;
use crate::original::{self, GrantReading};
use crate::proof::{self, PolicyProof, prove_with_example};
use crate::render_result::LossKind;
use crate::subject::RenderSubject;
use crate::{HarnessFiles, HarnessModel, Target, visible_texts};

/// How the agents of a harness are imported.
#[derive(Debug)]
pub struct HarnessImport {
    /// Where agent files are: directories below a project, and the suffixes of their file names.
    pub places: &'static [(&'static str, &'static str)],
    /// Whether a file is an agent, by its path and its text.
    pub is_one: fn(&str, &str) -> bool,
    /// Settings files that hold several agents by name.
    pub several: Option<SettingsAgents>,
    /// Reads the agent at a path, or at a path from [`SettingsAgents::path`], as leniently as the harness
    /// does. The result has the nearest equivalent of its policy, which is narrowed afterwards.
    pub read: fn(&dyn HarnessFiles, &str) -> Result<HarnessAgent, ImportError>,
    /// Whether an agent replaces a built-in agent of the same name.
    pub overrides: bool,
    /// How fields with grants are compared and completed.
    pub grants: GrantReading,
}

/// Why an agent cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The reason, for the user.
    pub message: String,
    /// The position in its file; the start if the whole file is wrong.
    pub at: TextPosition,
    /// Whether the harness itself does not use the agent, so that a project loses nothing without it.
    pub is_unused: bool,
}

impl ImportError {
    /// An error at a position.
    pub fn at(message: String, at: TextPosition) -> Self {
        Self { message, at, is_unused: false }
    }

    /// Says that the harness itself does not use the agent.
    pub(crate) fn unused(message: impl Into<String>) -> Self {
        Self { is_unused: true, ..message.into().into() }
    }
}

impl From<&str> for ImportError {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<String> for ImportError {
    fn from(message: String) -> Self {
        Self::at(message, TextPosition { line: 1, column: 1 })
    }
}

/// Settings files in which a harness defines agents by name.
#[derive(Debug, Clone, Copy)]
pub struct SettingsAgents {
    /// Their paths below a project or a home directory.
    pub files: &'static [&'static str],
    /// Returns the names in one of them, without agents that have their own file.
    pub names: fn(&dyn HarnessFiles, &str) -> Vec<String>,
}

impl SettingsAgents {
    /// Returns the names in a file, or an error if a relevant file exists and cannot be parsed.
    pub fn names_in(
        &self,
        files: &dyn HarnessFiles,
        file: &str,
    ) -> Result<Vec<String>, ImportError> {
        let checked = CheckedFiles::new(files, None);
        let names = (self.names)(&checked, file);
        Ok(checked.sound(names)?)
    }

    /// Builds the path under which one agent of a settings file is imported.
    pub fn path(file: &str, name: &str) -> String {
        format!("{file}#{name}")
    }

    /// Splits a path from [`SettingsAgents::path`] into its file and its name.
    pub fn split<'a>(&self, path: &'a str) -> (&'a str, Option<&'a str>) {
        let ends = |file: &str| self.files.iter().any(|known| file.ends_with(known));
        match path.split_once('#').filter(|(file, _)| ends(file)) {
            Some((file, name)) => (file, Some(name)),
            None => (path, None),
        }
    }
}

/// An agent as its harness defines it.
#[derive(Debug, Clone)]
pub struct HarnessAgent {
    /// The agent, with its policy as `permissions`.
    pub agent: Agent,
    /// What the harness surely permits.
    pub bound: PermittedBound,
    /// What the model cannot express, and where the parser was lenient.
    pub losses: BTreeSet<ImportLoss>,
    /// Everything in its file except the prompt.
    pub metadata: Data,
    /// The name in the harness, if it is not a valid agent name.
    pub called: Option<String>,
}

/// What a harness surely permits. A [`HarnessModel`] is the most that a harness' files may mean; a rendered
/// agent must stay within its source even then. This is the least; an imported agent must stay within it.
#[derive(Debug, Clone)]
pub struct PermittedBound {
    pub(crate) model: HarnessModel,
    /// Rules that deny names which no tool has: denying these loses nothing.
    unreal: Vec<RuleList>,
}

impl PermittedBound {
    /// From a model that was built with
    /// [`EncodingView::Strictest`](crate::encoding::EncodingView::Strictest).
    pub fn new(model: HarnessModel) -> Self {
        Self { model, unreal: Vec::new() }
    }

    /// Adds rules that deny names which no tool has.
    #[must_use]
    pub fn without(self, unreal: Vec<RuleList>) -> Self {
        Self { unreal, ..self }
    }

    /// A text of everything that its verdicts depend on, for the memo.
    pub(crate) fn key(&self) -> String {
        let mut key = String::new();
        for way in self.model.ways.iter() {
            key.push_str(way.section.as_str());
            proof::part(&mut key, &way.key());
        }
        proof::part(&mut key, &proof::key(&self.unreal));
        key
    }

    /// The rules of a section, restricted to names that tools have.
    pub(crate) fn real(&self, section: Section) -> Vec<RuleList> {
        let unreal = self.unreal.iter().filter(|rules| rules.section == section);
        self.of(section).into_iter().chain(unreal.cloned()).collect()
    }

    /// The rules of a section: the layers of all its tools, of which the strictest counts. A section without
    /// a tool permits nothing.
    pub(crate) fn of(&self, section: Section) -> Vec<RuleList> {
        let ways = self.model.ways.iter().filter(|way| way.section == section);
        let layers: Vec<RuleList> = ways.flat_map(|way| way.layers.iter().cloned()).collect();
        if layers.is_empty() { vec![always(section, Action::Deny, "no such tool")] } else { layers }
    }
}

/// An imported agent with its losses.
#[derive(Debug)]
pub struct ImportedAgent {
    /// The agent.
    pub agent: Agent,
    /// What the model cannot express, or expresses more strictly.
    pub losses: BTreeSet<ImportLoss>,
    /// What the harness surely permits.
    pub(crate) bound: PermittedBound,
    /// The text of that in the memo.
    pub(crate) bound_key: Arc<str>,
}

impl ImportedAgent {
    /// Proves that a definition written from this agent permits no more than the harness surely does, as a
    /// rendering is proved against its source. Returns a sentence about the first excess.
    pub fn excess(&self, definition: &RenderSubject) -> Option<String> {
        let question = (definition.verdict_kind(), self.bound_key.clone());
        definition.memo.excesses.get(question, || self.first_excess(definition))
    }

    fn first_excess(&self, definition: &RenderSubject) -> Option<String> {
        bounded().find_map(|section| {
            let written = definition.bounds(section);
            let bound = self.bound.of(section);
            match prove_with_example(&definition.memo, section, &written, &bound) {
                PolicyProof::Holds => None,
                PolicyProof::Unknown(why) => Some(format!("`permissions.{section}`: {why}")),
                PolicyProof::Fails { example, source, target } => {
                    let detail = format!("{section} `{example}` is {source} in the harness");
                    Some(plain(&format!("{detail} and {target} in the definition")))
                }
            }
        })
    }
}

/// Imports an agent with a new memo.
pub fn import(
    target: &Target,
    files: &dyn HarnessFiles,
    path: &str,
) -> Result<ImportedAgent, ImportError> {
    import_from(target, files, path, &Arc::default())
}

/// Imports an agent, or fails if a relevant file exists and cannot be parsed.
pub fn import_from(
    target: &Target,
    files: &dyn HarnessFiles,
    path: &str,
    memo: &Arc<RenderMemo>,
) -> Result<ImportedAgent, ImportError> {
    let import = target.import.as_ref().ok_or("its agents cannot be imported")?;
    let checked = CheckedFiles::new(files, Some(memo));
    let read = (import.read)(&checked, path);
    // A broken file takes precedence over an error of the agent itself.
    let mut read = checked.sound(read)??;
    let file = import.several.as_ref().map_or(path, |several| several.split(path).0);
    let text = files.text(file).unwrap_or_default();
    visible_texts::keep(&mut read, &text)?;
    describe(&mut read);
    let metadata = read.metadata.clone();
    let mut imported = narrowed(target, read, memo);
    original::keep(target, (&mut imported, memo), &metadata, files);
    imported.losses = locate(imported.losses, &text);
    Ok(imported)
}

/// Reports that an agent has no description. Definition formats that require one make it from the prompt.
fn describe(read: &mut HarnessAgent) {
    let is_blank = |text: &Spanned<String>| text.value.trim().is_empty();
    if read.agent.identity.description.as_ref().is_none_or(is_blank) {
        read.agent.identity.description = None;
        let detail = "there is none: the start of the prompt stands for it where one is needed";
        read.lose("description", LossKind::Changed, detail, None);
    }
}

impl HarnessAgent {
    /// Records a loss.
    pub(crate) fn lose(
        &mut self,
        field: &str,
        kind: LossKind,
        detail: impl Into<String>,
        at: Option<TextPosition>,
    ) {
        let (field, detail) = (field.to_owned(), detail.into());
        self.losses.insert(ImportLoss { field, kind, detail, at });
    }
}

/// The sections in which a harness must permit what the rules permit. Rules about paths outside the
/// workspace are bounded through reads and edits, unless the harness has its own rules about them. No
/// harness has rules about environment variables.
pub(crate) fn bounded() -> impl Iterator<Item = Section> {
    let free = [Section::ExternalDirectory, Section::Env];
    Section::ALL.iter().copied().filter(move |section| !free.contains(section))
}
