//! AgentFS: a folder with `agent.json`, persona, principles, skills, memory and schedules.
//!
//! | in the files | in the model |
//! | --- | --- |
//! | `agent.json`: `name` | `display_name`; its slug is `name` |
//! | `id`, if it is a slug | `name` |
//! | `version`, `description`, `role`, `author`, `risk_level`, `greeting` | the same |
//! | `traits` | `traits` |
//! | `access_control` | `access_control` |
//! | `avatar.char` if it is an emoji, `avatar.image.path` | `icon`, `avatar` |
//! | `llm.provider` and `llm.model` | `model.preferred`, as `provider/model` |
//! | `tool_permissions` | `tool_permissions` |
//! | `mcp_servers` | `tools.mcp` |
//! | `env`, `heartbeat`, the rest of `llm` and `avatar`, and other blocks | `settings`, by name |
//! | `extensions` and `x-…` | `extensions` |
//! | `persona.md` | `system` |
//! | `principles.md` | `rules` |
//! | `memory/**/*.md` | `memories` |
//! | `skills/**/SKILL.md`, `skills/*.md` with front matter | `skill_packs` |
//! | `tools/*/TOOL.md`, with the script it names | `tools.scripts` |
//! | `schedules/*.json` | `schedules`; what is no cron expression: `settings` |
//! | `heartbeat/HEARTBEAT.md`, where `heartbeat.enabled` is set | `schedules`, as `heartbeat` |
//!
//! `agent.json` has two generations: that of the specification, which requires `name`, `version` and
//! `role`, and a newer one, which requires only `name`. `workflows/` is ignored.

mod detect;
mod fields;
mod heartbeat;
mod memory;
mod permissions;
mod read;
mod receipt;
mod rules;
mod schedules;
mod sections;
#[cfg(test)]
mod tests;
mod texts;
mod time;
mod tools;
mod write;

use agentry_model::{Agent, Format, TextMerge};
use agentry_policy::LayerSource;
use agentry_text::data::MapBuilder;
use agentry_text::{Data, FileId, Span, Spanned};

use crate::{FormatFiles, FormatInfo, FormatPrompt, ReaderReport, ServerPlace, mcp, skill};

pub use fields::{DOCUMENT, NEWER, SCHEDULE, TOOL};
pub use memory::{MEMORY, is_memory};
pub use receipt::RECEIPT;
pub use sections::{
    PrinciplesPart, ProtectedSection, is_protected_name, is_protected_title, principles,
    protected_sections, tier,
};

/// The facts about the format.
pub const INFO: FormatInfo = FormatInfo {
    format: Format::AgentFs,
    title: "AgentFS",
    documents: &[
        ("agent.json", &NEWER),
        ("agent.json of the document", &DOCUMENT),
        ("skills/*/SKILL.md", &skill::fields::TOP),
        ("skills/*/SKILL.md of the document", &skill::fields::WRAPPED),
        ("memory/*.md", &MEMORY),
        ("schedules/*.json", &SCHEDULE),
        ("tools/*/TOOL.md", &TOOL),
        ("runs/*/receipts/*.yaml", &RECEIPT),
    ],
    settings: Some(&NEWER),
    rules: rules::RULES,
    servers: ServerPlace::OwnField,
    carries: &[
        "name",
        "display_name",
        "description",
        "version",
        "author",
        "avatar",
        "role",
        "greeting",
        "risk_level",
        "system",
        "rules",
        "traits",
        "access_control",
        "skill_packs",
        "memories",
        "extensions",
        "policy_tests",
    ],
    notation: LayerSource::ToolPermissions,
    read: read::read,
    write: write::write,
    defaults,
    files: FormatFiles {
        mains: &["agent.json"],
        ending: None,
        shares_ending: false,
        parts: &[
            "heartbeat/",
            "persona.md",
            "principles.md",
            "memory/",
            "schedules/",
            "skills/",
            "tools/",
        ],
        signs: &["persona.md", "principles.md"],
        needs_sign: false,
        owns_directory: true,
        names_agent: false,
        is_agent: detect::is_agent,
        template: &[
            ("{name}/agent.json", include_str!("new/agent.json")),
            ("{name}/persona.md", include_str!("new/persona.md")),
            ("{name}/principles.md", include_str!("new/principles.md")),
        ],
        reserved_names: RESERVED,
    },
    reports: &[
        ReaderReport::LongDescription,
        ReaderReport::NameCharacters,
        ReaderReport::LongName,
        ReaderReport::ServerSecret,
    ],
    prompt: FormatPrompt { rules_heading: None, system_is_persona: true, fixed_parts: &[] },
    behaviour_merge: TextMerge::Append,
    has_step_limit: false,
    denies_without_policy: None,
    needs_unique_names: false,
    takes_harness_skills: false,
    models: None,
    short_digest: None,
    check_receipt: Some(receipt::check),
    remembers: true,
    heartbeat: Some(heartbeat::HEARTBEAT),
};

/// Names that are reserved for directories of the home itself.
const RESERVED: &[&str] = &["core", "desirecore"];

/// Fills in the defaults: an agent without `heartbeat` does not start by itself.
fn defaults(agent: &mut Agent) {
    mcp::defaults(agent);
    if !agent.settings.iter().any(|(name, _)| name == "heartbeat") {
        let off = MapBuilder::new().set("enabled", Data::Bool(false)).build();
        let place = Span::start_of(FileId::BUILT_IN);
        agent.settings.push(("heartbeat".to_owned(), Spanned::new(off, place)));
    }
}
