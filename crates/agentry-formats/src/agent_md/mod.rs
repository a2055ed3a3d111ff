//! `*.agent.md`: one Markdown file with YAML metadata, recognised headings and JavaScript tools.
//!
//! | in the file | in the model |
//! | --- | --- |
//! | the file's name, `<category>_<agent-name>.agent.md` | `identity.category`, `identity.name` |
//! | `version`, `icon`, `status` | `identity.version`, `.icon`, `.status` |
//! | `title`, or the first `# Heading` | `identity.display_name` |
//! | `description`, or the first paragraph under it | `identity.description` |
//! | `avatar`, or the first image under `# Avatar` | `identity.avatar` |
//! | `system`, or the text under `## System` | `instructions.system` |
//! | `rules`, or the text under `## Rules` | `instructions.rules` |
//! | the rest of the text | `instructions.notes` |
//! | `recommended.models`, `recommended.capabilities` | `model.preferred`, `model.capabilities` |
//! | `required.env`, `required.startup` | `requirements.env`, `.startup` |
//! | `abilities`, `allow`, `deny` | `policy.abilities` |
//! | the `js` blocks under `## Tools` | `tools.source`, and what they return: `tools.functions` |
//! | `x-…`, `extensions` | `extensions` |
//!
//! The tools are never run: `js` parses each block and reads the object of its top-level `return`.

mod abilities;
mod bare_metadata;
mod body;
mod conflict;
mod detect;
mod fields;
mod js;
mod late_metadata;
mod metadata;
mod name;
mod read;
mod rules;
#[cfg(test)]
mod tests;
mod tools;
mod write;

pub(crate) use rules::STARTUP_MISSING;

use agentry_model::{Agent, AgentStatus, Format, TextMerge};
use agentry_policy::LayerSource;
use agentry_text::{FileId, LintRule, Span, Spanned};

use crate::{FormatFiles, FormatInfo, FormatPrompt, ReaderReport, ServerPlace};

/// Whether a finding of this rule is about text that belongs to no section and is not sent.
pub fn is_unsent_text(rule: &LintRule) -> bool {
    *rule == rules::TEXT_NOT_SENT
}

/// The facts about the format.
pub const INFO: FormatInfo = FormatInfo {
    format: Format::AgentMd,
    title: "Agent File Format (`.agent.md`)",
    documents: &[("*.agent.md", &fields::METADATA)],
    settings: None,
    rules: rules::RULES,
    servers: ServerPlace::AgentryBlock,
    carries: &[
        "display_name",
        "description",
        "version",
        "icon",
        "avatar",
        "status",
        "system",
        "rules",
        "notes",
        "model.preferred",
        "model.capabilities",
        "required",
        "abilities",
        "tools.source",
        "extensions",
        "policy_tests",
    ],
    notation: LayerSource::Abilities,
    read: read::read,
    write: write::write,
    defaults,
    files: FormatFiles {
        mains: &[],
        ending: Some(".agent.md"),
        shares_ending: true,
        parts: &[],
        signs: &[],
        needs_sign: false,
        owns_directory: false,
        names_agent: false,
        is_agent: detect::is_agent,
        template: &[("agents/general_{name}.agent.md", include_str!("new/agent.agent.md"))],
        reserved_names: &[],
    },
    reports: &[
        ReaderReport::NameCharacters,
        ReaderReport::LongName,
        ReaderReport::ServerSecret,
        ReaderReport::StartupTool,
    ],
    prompt: FormatPrompt {
        rules_heading: Some("## Rules"),
        system_is_persona: false,
        fixed_parts: &[],
    },
    behaviour_merge: TextMerge::Append,
    has_step_limit: false,
    denies_without_policy: None,
    needs_unique_names: false,
    takes_harness_skills: false,
    models: None,
    short_digest: None,
    check_receipt: None,
    heartbeat: None,
};

/// The default version.
const VERSION: &str = "0.1.0";
/// The default icon.
const ICON: &str = "🤖";

fn defaults(agent: &mut Agent) {
    let built_in = Span::start_of(FileId::BUILT_IN);
    let text = |text: &str| Spanned::new(text.to_owned(), built_in);
    let identity = &mut agent.identity;
    identity.version.get_or_insert_with(|| text(VERSION));
    identity.icon.get_or_insert_with(|| text(ICON));
    identity.status.get_or_insert_with(|| Spanned::new(AgentStatus::Active, built_in));
}
