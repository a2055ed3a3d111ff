//! The harnesses: each a folder that writes an agent as the harness wants it, reads the harness' own
//! files, and says as a policy what the harness makes of its rules.
//!
//! ```text
//! Subject ─▶ encode ─▶ Encoding ─▶ narrowed until proved ─▶ files ─▶ read back as a Model ─▶ proved again
//!  agent     folder    rules in     encoding.rs              folder    folder                 proof.rs
//!  + judge             its words
//! ```
//!
//! Nothing is written for an agent whose files would permit more than its source. What a harness does
//! not look at at all is a gap ([`gap`]); it is reported, or closed.
#![warn(clippy::disallowed_methods, clippy::indexing_slicing)]

pub mod agent_skills;
pub mod agents_md;
mod blind_spots;
pub mod built_in_protection;
pub mod claude_code;
pub mod codex;
pub mod copilot;
pub mod cursor;
mod draft;
pub mod encoding;
pub mod example;
pub mod fields;
pub mod front_matter;
pub mod gap;
pub mod gemini;
pub mod guard;
mod harmless_commands;
pub mod harness_files;
mod harness_place;
pub mod import;
pub mod import_files;
pub mod jsonc;
pub mod loss;
pub mod marks;
pub mod memo;
pub mod model;
pub mod opencode;
pub mod original;
pub mod pi;
pub mod proof;
pub mod prose_rules;
mod render;
pub mod render_result;
mod rivals;
mod servers;
mod skills;
pub mod subject;
pub mod user_settings;
pub mod wildcard;

pub use encoding::{EncodedRule, MatchOrder, RuleEncoding};
pub use fields::{MODEL_FIELDS, TargetField};
pub use gap::{BlindSpot, PolicyGap};
pub use guard::{GuardAnswer, GuardProtocol, GuardQuestion};
pub use harness_files::{FileRoot, HarnessFiles, HarnessPath, ListedFiles, Unreadable};
pub use harness_place::{HarnessPlace, PlaceRole};
pub use import::{HarnessImport, ImportedAgent};
pub use model::{HarnessModel, HarnessTool};
pub use render::{GUARD_FIELD, read_back, render};
pub use render_result::{
    LossKind, ProjectRendering, RenderLoss, RenderRefusal, RenderScope, RenderSettings,
    RenderedAgent, RenderedFile,
};
pub use subject::{BundledSkill, PromptText, PromptTextKind, RenderSubject};
pub use user_settings::UserSettings;

/// All that the rest of the house knows of a harness.
#[derive(Debug)]
pub struct Target {
    /// What the user calls it: `claude-code`.
    pub name: &'static str,
    /// What it is called in a sentence.
    pub title: &'static str,
    /// Names of agents that it has built in: a rendered agent must have another one.
    pub built_in: &'static [&'static str],
    /// Where its files are, below a project or a home. The list of protected names is made of them.
    pub places: &'static [HarnessPlace],
    /// Its fields, in the order in which a file is written.
    pub fields: &'static [TargetField],
    /// Whether it has one main session, so that a project may have to say whose it is:
    /// `[render.NAME]` `primary`.
    pub one_primary: bool,
    /// Writes the agents of one project, all at once: some settings are shared between them.
    pub render: fn(&[RenderSubject], &RenderSettings<'_>) -> ProjectRendering,
    /// What the harness lets an agent of that name do, by all the files it would find. Nothing if it
    /// would not find the agent at all.
    pub model: fn(&dyn HarnessFiles, &str) -> Option<HarnessModel>,
    /// What the user's own files add to that, if `model` leaves them out.
    pub personal: Option<UserSettings>,
    /// What it does not look at in a command line.
    pub blind: &'static [BlindSpot],
    /// How it puts a call to the guard, if it does.
    pub guard: Option<GuardProtocol>,
    /// How its own agents are read, if they are.
    pub import: Option<HarnessImport>,
}

impl Target {
    /// What the harness makes of a field of the model.
    pub fn support(&self, place: &str) -> Option<FieldSupport> {
        self.fields.iter().find(|field| field.place == place)?.support
    }
}

/// What a harness makes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldSupport {
    /// It has a place for it.
    Yes(&'static str),
    /// A part of it, or in other words.
    Partly(&'static str),
    /// It goes into the prompt.
    Prompt,
    /// It is left out, and that is reported.
    No(&'static str),
}

/// Every target, in the order of the documents.
pub const TARGETS: &[&Target] = &[
    &opencode::TARGET,
    &claude_code::TARGET,
    &pi::TARGET,
    &codex::TARGET,
    &gemini::TARGET,
    &copilot::TARGET,
    &agents_md::TARGET,
    &agent_skills::TARGET,
];

/// Harnesses whose agents can be read, though nothing is written for them.
pub const IMPORT_ONLY: &[&Target] = &[&cursor::TARGET];

/// Whether a path is one that a target of that name writes to.
pub fn is_written_by(name: &str, path: &str) -> bool {
    let is_written = |place: &HarnessPlace| place.role != PlaceRole::Settings && place.covers(path);
    target(name).is_some_and(|target| target.places.iter().any(is_written))
}

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().chain(IMPORT_ONLY).copied().find(|target| target.name == name)
}
