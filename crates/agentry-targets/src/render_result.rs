//! What a target gives back: files, what was lost, and what was refused.

use std::collections::BTreeSet;

use agentry_policy::{Section, words};

use crate::HarnessFiles;

/// How agents are rendered.
pub struct RenderSettings<'a> {
    /// Where the files go.
    pub scope: RenderScope,
    /// Whether each call is put to `agentry guard` as well.
    pub guard: bool,
    /// Whether what the harness does not look at is closed by stricter rules.
    pub close_gaps: bool,
    /// Whether files that somebody else wrote may be replaced.
    pub force: bool,
    /// Options of the target from `agentry.toml`, by name: `primary` names the agent of the main session.
    pub options: &'a [(String, String)],
    /// The text of a file that exists already, by its path below the root of the project; with `~/` at
    /// its start, below the home directory.
    pub existing: &'a dyn HarnessFiles,
}

words! {
    /// Where rendered files go.
    pub enum RenderScope {
        /// Below the root of a project.
        Project = "project",
        /// Below the home directory of the user.
        User = "user",
    }
}

/// What became of the agents of a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProjectRendering {
    /// One entry an agent, in the order in which they were given.
    pub agents: Vec<RenderedAgent>,
    /// Files that all agents share, and that may hold settings of the user.
    pub shared: Vec<RenderedFile>,
}

/// What became of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedAgent {
    /// Files that are wholly its own, by their path below the root.
    pub files: Vec<RenderedFile>,
    /// Files of somebody else with an agent of the same name, which go.
    pub replaced: BTreeSet<String>,
    /// What the harness does not get, or gets stricter, sorted by field.
    pub losses: BTreeSet<RenderLoss>,
    /// Why nothing may be written for it.
    pub refused: Option<RenderRefusal>,
    /// The sections in which the harness may ask where the source denies, because the guard denies.
    pub guarded: BTreeSet<Section>,
    /// The sections in which the harness may do without a question what the source asks about, because the
    /// agent has its original grants back.
    pub unasked: BTreeSet<Section>,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedFile {
    /// Below the root, with `/` between its parts.
    pub path: String,
    /// All that is in it.
    pub bytes: Vec<u8>,
}

impl RenderedFile {
    /// A file with this text, or these bytes.
    pub fn new(path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: contents.into() }
    }

    /// Its text; empty for bytes that are none.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }
}

/// Why an agent was not rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderRefusal {
    /// The field of the model that is to blame.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Something that the harness does not get as the source says it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RenderLoss {
    /// The model's field: `permissions.bash`, `max_turns`.
    pub field: String,
    /// What became of it.
    pub kind: LossKind,
    /// In words.
    pub detail: String,
}

words! {
    /// What became of a value.
    pub enum LossKind {
        /// It is not there.
        Dropped = "dropped",
        /// The agent may do less than its source says.
        Narrowed = "narrowed",
        /// The harness does not look at it.
        Gap = "gap",
        /// It is there, and was read otherwise than it is written.
        Changed = "changed",
    }
}

impl RenderedAgent {
    /// Whether something is lost of what is written.
    pub fn is_lossy(&self) -> bool {
        self.refused.is_none() && !self.losses.is_empty()
    }

    /// Notes a loss.
    pub fn lose(&mut self, field: impl Into<String>, kind: LossKind, detail: impl Into<String>) {
        self.losses.insert(RenderLoss { field: field.into(), kind, detail: detail.into() });
    }

    /// Takes over what was noted elsewhere.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { files, replaced, losses, refused, guarded, unasked } = other;
        self.files.extend(files);
        self.replaced.extend(replaced);
        self.losses.extend(losses);
        self.guarded.extend(guarded);
        self.unasked.extend(unasked);
        self.refused = self.refused.take().or(refused);
    }

    /// Leaves the denials of a section to the guard, and says what that costs.
    pub fn relies_on_guard(&mut self, section: Section, detail: impl Into<String>) {
        self.guarded.insert(section);
        self.lose(format!("permissions.{section}"), LossKind::Gap, detail);
    }

    /// Another file has an agent of this name, of which the harness takes one: it goes if that is wished,
    /// else nothing is written. `whose` is the harness.
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

    /// Says why nothing may be written; the first reason counts.
    pub fn refuse(&mut self, field: &str, message: impl Into<String>, hint: Option<&str>) {
        self.refused.get_or_insert_with(|| RenderRefusal {
            field: field.to_owned(),
            message: message.into(),
            hint: hint.map(str::to_owned),
        });
    }
}
