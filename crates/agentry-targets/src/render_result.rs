//! The result of a rendering: files, losses and refusals.

use std::collections::BTreeSet;

use agentry_policy::{Section, words};

use crate::HarnessFiles;

/// How agents are rendered.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct RenderSettings<'a> {
    /// The root that files are written below.
    pub scope: RenderScope,
    /// Whether the harness also asks `agentry guard` about each call.
    pub guard: bool,
    /// Whether gaps are closed by stricter rules.
    pub close_gaps: bool,
    /// Whether no person answers questions, so that an ask of the source becomes a deny.
    pub unattended: bool,
    /// Whether files that also hold for other agents and sessions are written.
    pub shared: bool,
    /// Whether files that Agentry did not write may be replaced.
    pub force: bool,
    /// The fields of losses that a person has accepted for this target, such as `permissions.bash`.
    pub accepted: &'a [String],
    /// Options of the target from `agentry.toml`; `primary` names the agent of the main session.
    pub options: &'a [(String, String)],
    /// The existing files of the project, of the user and of the machine.
    pub existing: &'a dyn HarnessFiles,
}

impl<'a> RenderSettings<'a> {
    /// The defaults of a project with these files.
    pub fn new(existing: &'a dyn HarnessFiles) -> Self {
        Self {
            scope: RenderScope::Project,
            guard: false,
            close_gaps: false,
            unattended: false,
            shared: false,
            force: false,
            accepted: &[],
            options: &[],
            existing,
        }
    }

    /// Whether a person answers the questions of the harness in its ordinary mode.
    pub fn is_attended(&self) -> bool {
        !self.unattended && !self.close_gaps
    }

    /// Whether a person has accepted the losses of a field.
    pub fn has_accepted(&self, field: &str) -> bool {
        self.accepted.iter().any(|accepted| accepted == field)
    }
}

words! {
    /// The root that rendered files are written below.
    pub enum RenderScope {
        /// Below the root of a project.
        Project = "project",
        /// Below the home directory of the user.
        User = "user",
    }
}

/// The rendering of all agents of a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProjectRendering {
    /// One entry per agent, in the given order.
    pub agents: Vec<RenderedAgent>,
    /// Files that all agents share, and that may contain settings of the user.
    pub shared: Vec<RenderedFile>,
    /// The lines of shared files that agents need, whether they are written or not.
    pub lines: Vec<SharedLine>,
}

/// A line of a shared file, and the agent that needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedLine {
    /// The path of the shared file.
    pub path: String,
    /// Where in the file it stands, such as `permissions.deny`; empty for a line of its own.
    pub place: String,
    /// The text of the line.
    pub text: String,
    /// The position of the agent in the list of agents.
    pub agent: usize,
}

/// The rendering of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedAgent {
    /// Files that belong to this agent alone, by their path below the root.
    pub files: Vec<RenderedFile>,
    /// Existing files with an agent of the same name, which are deleted.
    pub replaced: BTreeSet<String>,
    /// What the harness does not get, or gets more strictly, sorted by field.
    pub losses: BTreeSet<RenderLoss>,
    /// The losses that a person has accepted.
    pub accepted: BTreeSet<RenderLoss>,
    /// The sections for which the source gives a tool and the harness leaves none.
    pub lost_tools: BTreeSet<Section>,
    /// Whether it is only text in a harness that has agents: a session follows it with its own tools.
    pub is_only_text: bool,
    /// Why nothing is written for the agent.
    pub refused: Option<RenderRefusal>,
    /// The sections in which the harness may ask where the source denies, because the guard denies.
    pub guarded: BTreeSet<Section>,
    /// The sections in which the harness may run what the source asks about, because of restored grants.
    pub unasked: BTreeSet<Section>,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedFile {
    /// The path below the root, with `/` as separator.
    pub path: String,
    /// The whole contents.
    pub bytes: Vec<u8>,
}

impl RenderedFile {
    /// A file with this text or these bytes.
    pub fn new(path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: contents.into() }
    }

    /// Returns the contents as text; empty if they are not UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }
}

/// Why an agent was not rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderRefusal {
    /// The field of the model that causes it.
    pub field: String,
    /// The problem.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A value that the harness does not get as the source has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RenderLoss {
    /// The field of the model, such as `permissions.bash` or `max_turns`.
    pub field: String,
    /// What happened to the value.
    pub kind: LossKind,
    /// The explanation for the user.
    pub detail: String,
}

words! {
    /// What happened to a value.
    pub enum LossKind {
        /// The value is missing from the result.
        Dropped = "dropped",
        /// The agent may do less than its source allows.
        Narrowed = "narrowed",
        /// The harness does not check it.
        Gap = "gap",
        /// The value is present in another form than it was written.
        Changed = "changed",
    }
}

impl RenderedAgent {
    /// Whether the written agent has losses.
    pub fn is_lossy(&self) -> bool {
        self.refused.is_none() && !self.losses.is_empty()
    }

    /// Records a loss.
    pub fn lose(&mut self, field: impl Into<String>, kind: LossKind, detail: impl Into<String>) {
        self.losses.insert(RenderLoss { field: field.into(), kind, detail: detail.into() });
    }

    /// Moves the losses that a person has accepted out of the others.
    pub(crate) fn accept(&mut self, settings: &RenderSettings<'_>) {
        if settings.accepted.is_empty() {
            return;
        }
        let losses = std::mem::take(&mut self.losses);
        let (accepted, losses): (BTreeSet<_>, BTreeSet<_>) =
            losses.into_iter().partition(|loss| settings.has_accepted(&loss.field));
        self.accepted.extend(accepted);
        self.losses = losses;
    }

    /// Merges another result into this one.
    pub(crate) fn add(&mut self, other: Self) {
        let Self {
            files,
            replaced,
            losses,
            accepted,
            lost_tools,
            is_only_text,
            refused,
            guarded,
            unasked,
        } = other;
        self.files.extend(files);
        self.replaced.extend(replaced);
        self.losses.extend(losses);
        self.accepted.extend(accepted);
        self.lost_tools.extend(lost_tools);
        self.is_only_text |= is_only_text;
        self.guarded.extend(guarded);
        self.unasked.extend(unasked);
        self.refused = self.refused.take().or(refused);
    }

    /// Leaves the denials of a section to the guard, and reports the cost.
    pub fn relies_on_guard(&mut self, section: Section, detail: impl Into<String>) {
        self.guarded.insert(section);
        self.lose(format!("permissions.{section}"), LossKind::Gap, detail);
    }

    /// Handles another file with an agent of this name, of which the harness uses only one: with `--force` it
    /// is deleted, otherwise the agent is refused. `whose` is the harness.
    pub(crate) fn rival(&mut self, path: String, whose: &str, settings: &RenderSettings<'_>) {
        if settings.force {
            self.replaced.insert(path);
            return;
        }
        let message = format!("`{path}` has the same name, and {whose} takes only one of the two");
        let hint = "pass `--force` once to replace it, if the definition was imported from it; else remove \
                    it, or give the agent an alias in `agentry.toml`";
        self.refuse("name", message, Some(hint));
    }

    /// Refuses the agent; the first reason counts.
    pub fn refuse(&mut self, field: &str, message: impl Into<String>, hint: Option<&str>) {
        self.refused.get_or_insert_with(|| RenderRefusal {
            field: field.to_owned(),
            message: message.into(),
            hint: hint.map(str::to_owned),
        });
    }
}
