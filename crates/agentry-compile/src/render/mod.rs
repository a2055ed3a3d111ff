//! From compiled agents to the files of harnesses: the agent with everything that it needs around
//! it, what the workspace says about rendering, and what has to happen on disk.
//!
//! ```text
//! Compiled ─▶ subject ─▶ agentry-targets ─▶ wanted files ─┐
//!             agentry.toml: config                        ├─▶ plan ─▶ written, kept, removed, refused
//!             ledger of what was written, what is there ──┘
//! ```

pub(crate) mod config;
mod drift;
mod explain;
mod guard;
mod ignored;
mod ledger;
mod merged;
mod plan;
mod protected;
mod run;
mod searched;
mod skills;
mod subject;

pub use config::RenderConfig;
pub use drift::drift;
pub use explain::{Explained, Side};
pub use guard::{Guarded, guard, judged};
pub use ledger::{Entry, Ledger, sha256};
pub use merged::{Hunk, Merge};
pub use plan::{
    Change, ChangeKind, Plan, Present, Refused, Replaced, Situation, Wanted, existing, plan,
};
pub use protected::{DefinitionPart, definition, protect};
pub use run::{Job, Ran, run};
pub use searched::searched;
pub use subject::subject;
