//! The pipeline and the interface for every front end: finds agents, then reads, checks, shows, hashes and
//! converts them.
//!
//! ```text
//! paths ─▶ discover ─▶ FoundAgent ─▶ read ─▶ CompiledAgent ─▶ check ─▶ findings
//!                                                 ├─▶ show, digest
//!                                                 └─▶ convert ─▶ files + losses
//! ```
//!
//! All IO goes through a [`World`]. Every result depends only on the answers of the world.
#![warn(clippy::disallowed_methods)]

mod baseline;
mod caps;
mod config;
mod conversion;
pub mod delegates;
mod detect;
mod digest;
mod discover;
mod effective_settings;
mod evolution;
mod files;
mod finding_text;
mod fix;
mod harness;
mod home;
mod inherit;
mod judge;
pub mod lock;
mod memo;
mod memory_world;
mod new;
mod notify;
mod overlay_world;
mod owner;
mod pipeline;
mod prompt;
mod prompt_switches;
pub mod protected_names;
mod recorder;
mod registry;
mod relocate;
pub mod render;
mod resolve;
mod rules;
mod run_prompt;
mod schema;
mod secret_mask;
mod serve_settings;
mod show;
mod signing;
mod start_gate;
mod store_reference;
mod suppress;
mod world;

pub use baseline::Baseline;
pub use caps::SpendingCaps;
pub use config::{SeverityOverride, WorkspaceConfig, configuration};
pub use conversion::{ConversionRefusal, ConversionRequest, convert_agent, is_moved, write_target};
pub use digest::{AgentDigest, digest, hash};
pub use discover::{AgentDiscovery, FoundAgent, SearchAs, at, discover, discover_all};
pub use effective_settings::{
    EffectiveSetting, SettingOrigin, SettingsOutcome, effective_settings,
};
pub use evolution::{EvolutionMode, EvolutionRules};
pub use fix::{FixMode, FixedAgent, FixedHarnessFile, fix, fix_harness};
pub use harness::{
    CheckedHarnessFile, FoundHarnessFile, check_harness, check_harness_together, examine_harness,
};
pub use home::{CheckedReceipt, HomeReceipt, check_receipt};
pub use inherit::{BaseAgent, BaseMemo};
pub use judge::{
    WorldLinks, inside, judge, own_layers, places, policy_diff, policy_grants, tested,
    user_configuration,
};
pub use memo::SessionMemo;
pub use memory_world::MemoryWorld;
pub use new::new_agent;
pub use notify::NotifySettings;
pub use pipeline::{
    AgentLocation, CompiledAgent, DuplicateName, check, duplicate_names, examine, read,
};
pub use prompt::{PromptPart, prompt};
pub use prompt_switches::PromptSwitches;
pub use recorder::{AnswerRecord, WorldRecorder, file_digest, is_unchanged};
pub use registry::{registry, rule};
pub use relocate::{RelocatedPaths, relocate};
pub use render::subject;
pub use resolve::{
    CandidateOrigin, CandidateOutcome, CatalogueModel, LoadableSkill, ModelCandidate,
    ModelCatalogue, ModelLookup, ModelProvider, ModelSurvey, ModelsEndpoint, PlannedFile,
    PlannedSkill, PlannedTool, ProviderApi, ResolveSettings, ResolvedPlan, SEARCH_VARIABLES,
    SkillDirectory, SkillResolution, TokenPrice, ToolKind, candidates, loadable_skills,
    named_model, native_tool, resolve, survey_models,
};
pub use run_prompt::{EnvironmentFacts, RunPrompt, defused, git_branch, skill_list};
pub use schema::schema;
pub use serve_settings::ServeSettings;
pub use show::{ShowRow, convertible, declared, flat, resolved, rows};
pub use signing::{SigningSettings, signing};
pub use start_gate::{StartRefusal, gate};
pub use store_reference::{FetchError, StoreRef, StoredAgent};
pub use world::{
    DirectoryEntry, EntryKind, FileLayer, FileTree, MachineFacts, NoServices, ReadError,
    WalkedPath, World, WorldServices,
};

pub use agentry_check as checks;
pub use agentry_formats as formats;
pub use agentry_model as model;
pub use agentry_policy as policy;
pub use agentry_targets as targets;
pub use agentry_text as text;
