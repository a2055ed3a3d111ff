//! Renders compiled agents into the files of harnesses: collects what a target needs, reads the settings
//! of the workspace, and plans the changes on disk.
//!
//! ```text
//! CompiledAgent ─▶ subject ─▶ agentry-targets ─▶ wanted files ─┐
//!             agentry.toml: config                             ├─▶ plan ─▶ written, kept, removed, refused
//!             ledger of rendered files, present files ─────────┘
//! ```

mod acceptance;
pub(crate) mod config;
mod drift;
mod explain;
mod file_search;
mod gitignore;
mod guard;
mod hidden_names;
mod ledger;
mod merge_record;
mod plan;
mod protection;
mod run;
mod skills;
mod subject;

pub use acceptance::AcceptedLoss;
pub use config::RenderConfig;
pub use drift::drift;
pub use explain::{ExplainedRules, ExplainedSection};
pub use file_search::searched;
pub use guard::{GuardedAgent, guard, judged, shell_word};
pub(crate) use hidden_names::admitted;
pub use ledger::{LedgerEntry, RenderLedger};
pub use merge_record::{MergeHunk, MergeRecord};
pub use plan::{
    FilePlan, PlanSituation, PlannedChange, PlannedChangeKind, PresentFile, RefusedFile,
    ReplacedFile, WantedFile, existing, plan,
};
pub use protection::{
    DefinitionPart, PROTECTED_NAME, definition, is_protection, other_agents, protect,
};
pub use run::{RenderJob, TargetRun, run};
pub use subject::subject;
