//! An agent directory: `instructions.md`, and optional files beside it.
//!
//! | file | field of it | field of the model |
//! | --- | --- | --- |
//! | the directory | its name | `name` |
//! | `instructions.md` | the whole text, trimmed | `system` |
//! | | the first paragraph | `description` |
//! | | the text after `## Rules <!-- agentry:rules -->`, which only a conversion writes | `rules` |
//! | `agent.acl` | `default_model` | `model.preferred` |
//! | | `max_tool_rounds` | `max_turns` |
//! | | `mcp_servers "name"` | `tools.mcp` |
//! | | `x_agentry { permissions }`, which only Agentry reads | `permissions` |
//! | | every other block | `settings` |
//! | `skills/x.md`, `skills/x/SKILL.md` | the whole text, and some of its metadata | `skill_packs` |
//! | `schedules/x.md` | `cron`, `name`, `enabled`, `timezone`, `overlap`, `misfire`, `jitter`, the body | `schedules` |
//! | `tools/x.md` | `kind: mcp` | `tools.mcp` |
//! | | `kind: script`, with the script it names | `tools.scripts` |
//!
//! The specification has no permissions: without `x_agentry` the user's default policy alone decides.

mod acl;
pub mod acl_fields;
pub mod fields;
mod prompt;
mod read;
pub mod rules;
mod schedules;
#[cfg(test)]
mod tests;
mod tools;
mod write;

use agentry_model::{Agent, Format, MisfirePolicy, OverlapPolicy, TextMerge};
use agentry_policy::LayerSource;
use agentry_text::{Data, FileId, Span, Spanned};

use crate::{FormatFiles, FormatInfo, FormatPrompt, ReaderReport, ServerPlace, mcp, skill};

pub use acl::variables;
pub use fields::{MAX_OUTPUT_BYTES, MAX_TOOL_CALLS, TIMEOUT_MS};
pub use schedules::seconds;

/// The heading under which a conversion writes hard rules. Every reader sees them, and this reader can tell
/// them from the role.
const RULES_MARK: &str = "## Rules <!-- agentry:rules -->";

/// The facts about the format.
pub const INFO: FormatInfo = FormatInfo {
    format: Format::AgentDir,
    title: "agent directory",
    documents: &[
        ("agent.acl", &acl_fields::ACL),
        ("schedules/*.md", &fields::SCHEDULE),
        ("tools/*.md (kind: mcp)", &fields::MCP_TOOL),
        ("tools/*.md (kind: script)", &fields::SCRIPT_TOOL),
        ("skills/**/*.md", &skill::fields::DIRECTORY),
    ],
    settings: Some(&acl_fields::ACL),
    rules: rules::RULES,
    servers: ServerPlace::OwnField,
    carries: &[
        "name",
        "system",
        "rules",
        "max_turns",
        "schedules",
        "tools.scripts",
        "policy_tests",
    ],
    notation: LayerSource::Permissions,
    read: read::read,
    write: write::write,
    defaults,
    files: FormatFiles {
        mains: &["instructions.md"],
        ending: None,
        shares_ending: false,
        parts: &["agent.acl", "schedules/", "skills/", "tools/"],
        signs: &["agent.acl", "tools/", "schedules/", "skills/"],
        needs_sign: true,
        owns_directory: true,
        names_agent: true,
        is_agent: |file| file.has_sign,
        template: &[
            ("{name}/instructions.md", include_str!("new/instructions.md")),
            ("{name}/agent.acl", include_str!("new/agent.acl")),
            ("{name}/schedules/weekly-review.md", include_str!("new/weekly-review.md")),
        ],
        reserved_names: &[],
    },
    reports: &[
        ReaderReport::NoInstructions,
        ReaderReport::NameCharacters,
        ReaderReport::LongName,
        ReaderReport::ServerSecret,
    ],
    prompt: FormatPrompt {
        rules_heading: None,
        system_is_persona: false,
        fixed_parts: prompt::FIXED_PARTS,
    },
    behaviour_merge: TextMerge::Append,
    has_step_limit: false,
    denies_without_policy: None,
    needs_unique_names: false,
    takes_harness_skills: false,
    models: Some(models),
    short_digest: None,
    check_receipt: None,
    heartbeat: None,
};

/// Returns the models that `agent.acl` lists under `providers`. Addresses, keys and prices there are ignored,
/// because no file of a workspace may set them.
fn models(agent: &Agent) -> Vec<String> {
    let providers = agent.settings.iter().find(|(name, _)| name == "providers");
    let Some((_, Spanned { value: Data::Map(providers), .. })) = providers else {
        return Vec::new();
    };
    let models = |(provider, block): &(String, Data)| match block.get("models") {
        Some(Data::Map(models)) => {
            models.iter().map(|(model, _)| format!("{provider}/{model}")).collect()
        }
        _ => Vec::new(),
    };
    providers.iter().flat_map(models).collect()
}

/// Fills in the defaults of the format.
fn defaults(agent: &mut Agent) {
    for schedule in &mut agent.schedules {
        fill(&mut schedule.enabled, true);
        fill(&mut schedule.timezone, "UTC".to_owned());
        fill(&mut schedule.overlap, OverlapPolicy::Skip);
        fill(&mut schedule.misfire, MisfirePolicy::Once);
    }
    for script in &mut agent.tools.scripts {
        let limits = &mut script.value.limits;
        fill(&mut limits.timeout_ms, TIMEOUT_MS.2);
        fill(&mut limits.max_tool_calls, MAX_TOOL_CALLS.2);
        fill(&mut limits.max_output_bytes, MAX_OUTPUT_BYTES.2);
        script.value.allowed_tools.get_or_insert_default();
    }
    mcp::defaults(agent);
}

fn fill<T>(field: &mut Option<Spanned<T>>, value: T) {
    field.get_or_insert_with(|| Spanned::new(value, Span::start_of(FileId::BUILT_IN)));
}
