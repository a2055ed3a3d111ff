//! The harnesses. Each folder renders agents for one harness, imports the harness' files, and models as a
//! policy how the harness reads its own rules.
//!
//! ```text
//! RenderSubject ─▶ encode ─▶ RuleEncoding ─▶ narrowed ─▶ files ─▶ read back as HarnessModel ─▶ proved again
//!  agent           folder    rules in the    until       folder   folder                       proof.rs
//!  + judge                   harness' syntax proved
//! ```
//!
//! Nothing is written for an agent whose files would permit more than its source. A part of a call that a
//! harness does not check is a gap ([`gap`]); it is reported, or closed.
#![warn(clippy::disallowed_methods, clippy::indexing_slicing)]

mod adapt;
pub mod agent_skills;
pub mod agents_md;
pub mod authoring;
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
pub mod harness_files;
mod harness_place;
pub mod import;
pub mod import_files;
pub mod import_loss;
mod import_rules;
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
pub mod question_habits;
mod questions;
mod render;
pub mod render_result;
mod rivals;
mod servers;
mod skills;
pub mod subject;
pub mod user_settings;
mod visible_texts;
pub mod wildcard;

pub use authoring::{
    AuthoringFacts, FieldValue, MetadataSyntax, ModelFacts, NameRule, RuleReading, ToolFacts,
    UnknownFieldEffect, ValueKind,
};
pub use encoding::{EncodedRule, MatchOrder, RuleEncoding};
pub use fields::{MODEL_FIELDS, TargetField};
pub use gap::{BlindSpot, PolicyGap};
pub use guard::{CommandWrapper, GuardAnswer, GuardProtocol, GuardQuestion};
pub use harness_files::{FileRoot, HarnessFiles, HarnessPath, ListedFiles, Unreadable};
pub use harness_place::{HarnessPlace, PlaceRole};
pub use import::{HarnessImport, ImportedAgent};
pub use import_loss::ImportLoss;
pub use model::{HarnessModel, HarnessTool};
pub use render::{GUARD_FIELD, REQUIRED, read_back, render};
pub use render_result::{
    LossKind, ProjectRendering, RenderLoss, RenderRefusal, RenderScope, RenderSettings,
    RenderedAgent, RenderedFile, SharedLine,
};
pub use subject::{BundledSkill, PromptText, PromptTextKind, RenderSubject};
pub use user_settings::UserSettings;

/// Everything that other crates know of a harness.
#[derive(Debug)]
pub struct Target {
    /// The name on the command line, such as `claude-code`.
    pub name: &'static str,
    /// The name in a sentence.
    pub title: &'static str,
    /// Names of its built-in agents: a rendered agent must have another name.
    pub built_in: &'static [&'static str],
    /// Where its files are, below a project or a home directory. The protected names are made from them.
    pub places: &'static [HarnessPlace],
    /// Its fields, in the order in which a file is written.
    pub fields: &'static [TargetField],
    /// The files that also hold for other agents or for the user's own sessions. They are written only on
    /// request, and stay as they are otherwise.
    pub shared: &'static [&'static str],
    /// What it does with agent files that people write, if it has any.
    pub authoring: Option<&'static AuthoringFacts>,
    /// Whether it has one main session, so that a project may have to choose its agent with
    /// `[render.NAME]` `primary`.
    pub one_primary: bool,
    /// Renders all agents of a project at once, because they share some settings files.
    pub render: fn(&[RenderSubject], &RenderSettings<'_>) -> ProjectRendering,
    /// Returns what the harness lets an agent of that name do, by all files that it would find. `None` if
    /// it would not find the agent.
    pub model: fn(&dyn HarnessFiles, &str) -> Option<HarnessModel>,
    /// What the user's settings add, if `model` leaves them out.
    pub personal: Option<UserSettings>,
    /// What it does not check in a command line.
    pub blind: &'static [BlindSpot],
    /// How it asks the guard, if it can.
    pub guard: Option<GuardProtocol>,
    /// How its agents are imported, if they can be.
    pub import: Option<HarnessImport>,
}

impl Target {
    /// How the harness supports a field of the model.
    pub fn support(&self, place: &str) -> Option<FieldSupport> {
        self.fields.iter().find(|field| field.place == place)?.support
    }
}

/// How a harness supports a field of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldSupport {
    /// It has an equivalent field.
    Yes(&'static str),
    /// It supports a part of the field, or something similar.
    Partly(&'static str),
    /// The field becomes part of the prompt.
    Prompt,
    /// The field is left out, and that is reported.
    No(&'static str),
}

/// Every target that agents are rendered for, in the order of the documentation.
pub const TARGETS: &[&Target] = &[
    &opencode::TARGET,
    &claude_code::TARGET,
    &pi::TARGET,
    &codex::TARGET,
    &gemini::TARGET,
    &copilot::TARGET,
    &cursor::TARGET,
    &agents_md::TARGET,
    &agent_skills::TARGET,
];

/// Whether the target of that name writes to a path.
pub fn is_written_by(name: &str, path: &str) -> bool {
    let is_written = |place: &HarnessPlace| place.role != PlaceRole::Settings && place.covers(path);
    target(name).is_some_and(|target| target.places.iter().any(is_written))
}

/// Returns the target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
