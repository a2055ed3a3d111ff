//! `agent.toml` with `system-prompt.md`: a definition that is not tied to any harness.
//!
//! | field of the file | field of the model |
//! | --- | --- |
//! | `name`, `display_name`, `description` | the same of [`agentry_model::AgentIdentity`] |
//! | `mode`, `tags` | the same of [`agentry_model::AgentIdentity`] |
//! | `max_turns` | `behaviour.max_turns` |
//! | `skills` | `skills`, by name |
//! | `context` | `instructions.context` |
//! | `rules` | `instructions.rule_files` |
//! | `[permissions.TOOL]` | `policy.permissions` |
//! | `x-…`, `[extensions]` | `extensions` |
//! | `system-prompt.md` | `instructions.system` |
//! | `skills/NAME/SKILL.md`, `skills/*.md` with front matter | `skill_packs` |

mod detect;
mod fields;
mod permissions;
mod read;
mod references;
mod rules;
#[cfg(test)]
mod tests;
mod write;
mod write_policy;
#[cfg(test)]
mod write_tests;

use agentry_model::{Agent, AgentMode, Format, TextMerge};
use agentry_policy::LayerSource;
use agentry_text::{FileId, Span, Spanned};

use crate::{FormatFiles, FormatInfo, FormatPrompt, ReaderReport, ServerPlace};

use rules::RULES;

/// The name of the main file.
const MAIN: &str = "agent.toml";
/// The name of the system prompt beside it.
const PROMPT: &str = "system-prompt.md";
/// The directory of the agent's own skills beside it.
const SKILLS: &str = "skills";

/// The facts about the format.
pub const INFO: FormatInfo = FormatInfo {
    format: Format::AgentToml,
    title: "`agent.toml` with `system-prompt.md`",
    documents: &[(MAIN, &fields::AGENT)],
    settings: None,
    rules: RULES,
    // Not the description, which must be one line without a full stop, and not the system prompt, to which
    // the writer adds hard rules and traits.
    servers: ServerPlace::AgentryBlock,
    carries: &[
        "name",
        "display_name",
        "mode",
        "tags",
        "max_turns",
        "skills",
        "context",
        "rule_files",
        "permissions",
        "skill_packs",
        "extensions",
        "policy_tests",
    ],
    notation: LayerSource::Permissions,
    read: read::read,
    write: write::write,
    defaults,
    files: FormatFiles {
        mains: &[MAIN],
        ending: None,
        shares_ending: false,
        parts: &[PROMPT, "skills/"],
        signs: &[PROMPT],
        needs_sign: false,
        owns_directory: false,
        names_agent: false,
        is_agent: detect::is_agent,
        template: &[
            ("{name}/agent.toml", include_str!("new/agent.toml")),
            ("{name}/system-prompt.md", include_str!("new/system-prompt.md")),
        ],
        reserved_names: &[],
    },
    reports: &[
        ReaderReport::NoDescription,
        ReaderReport::NameCharacters,
        ReaderReport::NameHyphens,
        ReaderReport::ServerSecret,
    ],
    prompt: FormatPrompt { rules_heading: None, system_is_persona: false, fixed_parts: &[] },
    behaviour_merge: TextMerge::Append,
    has_step_limit: false,
    denies_without_policy: None,
    needs_unique_names: true,
    takes_harness_skills: true,
    models: None,
    short_digest: None,
    check_receipt: None,
    remembers: false,
    heartbeat: None,
};

/// Fills in the defaults: users and agents may start the agent, and its lists are empty.
fn defaults(agent: &mut Agent) {
    let mode = Spanned::new(AgentMode::All, Span::start_of(FileId::BUILT_IN));
    agent.identity.mode.get_or_insert(mode);
    agent.identity.tags.get_or_insert_default();
    agent.skills.get_or_insert_default();
    agent.instructions.context.get_or_insert_default();
    agent.instructions.rule_files.get_or_insert_default();
}
