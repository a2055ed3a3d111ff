//! The pipeline, and the facade that every front end calls: find agents, read them, check them,
//! show, hash and convert them.
//!
//! ```text
//! paths ─▶ discover ─▶ Found ─▶ read ─▶ Compiled ─▶ check ─▶ findings
//!                                          ├─▶ show, digest
//!                                          └─▶ convert ─▶ files + losses
//! ```
//!
//! All IO goes through a [`World`]; everything here is a function of what the world answers.
#![warn(clippy::disallowed_methods)]

mod baseline;
mod caps;
mod config;
mod detect;
mod digest;
mod discover;
mod files;
mod fix;
mod home;
mod inherit;
mod judge;
pub mod lock;
mod masked;
mod memo;
mod memory_world;
mod new;
mod pipeline;
mod prompt;
pub mod protected;
mod recorder;
mod registry;
mod relocate;
pub mod render;
mod resolve;
mod rules;
mod schema;
mod show;
mod shown;
mod signing;
mod stored;
mod suppress;
mod world;

pub use baseline::Baseline;
pub use caps::Caps;
pub use config::{Config, SeverityOverride, configuration};
pub use digest::{Digest, digest, hash};
pub use discover::{Discovery, Found, at, discover};
pub use fix::{FixMode, Fixed, fix};
pub use home::{CheckedReceipt, HomeReceipt, check_receipt};
pub use inherit::{Base, BaseMemo};
pub use judge::{Links, SectionDiff, inside, judge, own_layers, places, policy_diff, tested};
pub use memo::SessionMemo;
pub use memory_world::MemoryWorld;
pub use new::new_agent;
pub use pipeline::{Compiled, NameTaken, check, duplicate_names, read};
pub use prompt::{Part, prompt};
pub use recorder::{Record, WorldRecorder, file_digest, is_unchanged};
pub use registry::{registry, rule};
pub use relocate::{Relocated, relocate};
pub use render::subject;
pub use resolve::{
    Api, Ask, Candidate, Catalogue, Endpoint, Model, Outcome, Plan, PlannedFile, PlannedSkill,
    PlannedTool, Price, Provider, Settings, SkillFound, ToolKind, Wish, candidates, named_model,
    native_tool, resolve,
};
pub use schema::schema;
pub use show::{Row, convertible, declared, flat, resolved, rows};
pub use signing::{Signing, signing};
pub use stored::{FetchError, StoreRef, Stored};
pub use world::{
    Entry, EntryKind, FileLayer, FileTree, MachineFacts, NoServices, ReadError, Walked, World,
    WorldServices,
};

pub use agentry_check as checks;
pub use agentry_formats as formats;
pub use agentry_model as model;
pub use agentry_policy as policy;
pub use agentry_targets as targets;
pub use agentry_text as text;
