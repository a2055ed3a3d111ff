//! The field table of Claude Code agents.

use agentry_policy::Section;

use super::NAME;
use super::grants::{is_mode, is_tool_list, is_worktree};
use super::import::read_servers;
use super::losses::is_written;
use super::rule::is_plain;
use super::tools::names;
use crate::FieldSupport::{No, Partly, Prompt, Yes};
use crate::draft::PLACELESS;
use crate::fields::{
    ModelName, TargetField, field, is_switch, is_text, is_word, model_field, read_description,
    read_turns, write_description, write_name, write_turns,
};
use crate::render_result::LossKind::{Dropped, Gap};
use crate::subject::RenderSubject;

/// The support text for rules about files.
const SHARED: &str = "rules for all agents, the strictest wins; else the tools are removed";

pub(super) const FIELDS: &[TargetField] = &[
    // Claude Code skips a file without a name.
    field("name").stands_for("name", Yes("`name`")).writes(|subject, _| Some(write_name(subject))),
    field("description")
        .stands_for("description", Yes("`description`"))
        .reads(read_description)
        .writes(|subject, _| Some(write_description(subject))),
    field("tools").grants(|_, value| is_tool_list(value)),
    field("disallowedTools").takes_away(|_, value| is_tool_list(value)),
    field("model")
        .stands_for("model", Partly("`model`, the first that Claude Code has"))
        .reads(|value, draft| {
            if value.as_str() != Some("inherit") {
                MODEL.read(value, draft);
            }
        })
        .writes(|subject, out| MODEL.write(subject, out)),
    field("maxTurns")
        .stands_for("max_turns", Partly("`maxTurns`, which holds for subagents"))
        .reads(read_turns)
        .writes(write_turns)
        .loses(Gap, "`maxTurns` holds for a subagent; a session that a person starts ignores it"),
    field("skills")
        .stands_for("skills", Yes("`skills`, `.claude/skills`"))
        .reads(|value, draft| draft.skills(names(value).unwrap_or_default())),
    // These servers are only for this agent.
    field("mcpServers")
        .stands_for("tools.mcp", Yes("`mcpServers`"))
        .reads(read_servers)
        .loses_when(has_odd_server, Dropped, "no rule of Claude Code can name a server so called"),
    // As a preference, only modes that do not ask less are restored.
    field("permissionMode")
        .preferred(|value| {
            matches!(value.as_str(), Some("default" | "manual" | "plan" | "dontAsk"))
        })
        .grants(|_, value| is_mode(value)),
    field("color").preferred(is_word),
    field("effort").preferred(is_word),
    field("background").preferred(is_switch),
    field("initialPrompt").preferred(is_text),
    field("isolation").grants(is_worktree).noted(PLACELESS),
    // Memory brings its own tools, so it is a grant.
    field("memory")
        .noted(PLACELESS)
        .grants(|_, value| matches!(value.as_str(), Some("user" | "project" | "local"))),
    field("hooks").noted(PLACELESS),
    model_field("display_name", No("the name is shown"))
        .loses(Dropped, "Claude Code shows the name"),
    model_field("mode", No("every agent can be started either way")).loses_when(
        |subject| subject.agent.identity.mode.is_some_and(|mode| mode.span.is_written()),
        Dropped,
        "every agent of Claude Code can be started either way",
    ),
    model_field("tags", No("no place")).loses(Dropped, "Claude Code has none"),
    model_field("temperature", No("not set by agents"))
        .loses(Dropped, "Claude Code does not set it"),
    model_field("context", Prompt),
    model_field("rules", Prompt),
    model_field(
        "permissions.bash",
        Partly("rules for all agents, the strictest wins; else the tool is removed"),
    ),
    model_field("permissions.edit", Partly(SHARED)),
    model_field("permissions.read", Partly(SHARED)),
    model_field("permissions.webfetch", Partly("by host; else the tool is removed")),
    model_field("permissions.websearch", Partly("one action")),
    model_field("permissions.question", Partly("only where a person started the agent"))
        .loses_when(
            |subject| subject.grants(Section::Question),
            Dropped,
            "a subagent of Claude Code cannot ask; only an agent that a person started can",
        ),
    model_field("permissions.external_directory", Partly("allows; the rest is asked")),
    model_field("permissions.mcp", Partly("servers of the agent, and rules by name")),
    model_field("permissions.tool", Partly("tools that are allowed by name")),
    model_field("permissions.skill", Partly("rules for all agents, by name")),
    model_field("permissions.delegate", Partly("rules for all agents, by name")),
    model_field("permissions.env", No("not looked at")).loses_when(
        |subject| is_written(subject, Section::Env),
        Dropped,
        "Claude Code has no rules about variables",
    ),
];

const MODEL: ModelName =
    ModelName { harness: NAME, named, loss: "Claude Code takes one model, and only its own" };

/// Aliases of models in Claude Code.
pub(super) const MODELS: &[&str] =
    &["sonnet", "opus", "haiku", "fable", "inherit", "opusplan", "best", "default"];

/// Returns the name of a model in Claude Code; `None` if it is not available there.
pub(super) fn named(model: &str) -> Option<String> {
    let name = model.strip_prefix("anthropic/").unwrap_or(model);
    // The suffix selects a larger context window: `opus[1m]`.
    let base = name.strip_suffix("[1m]").unwrap_or(name).to_ascii_lowercase();
    let is_claude = name.starts_with("claude-") || name.contains("anthropic.claude-");
    (MODELS.contains(&base.as_str()) || is_claude).then(|| name.to_owned())
}

fn has_odd_server(subject: &RenderSubject) -> bool {
    let mut servers = subject.agent.tools.mcp.iter().flatten();
    servers.any(|server| !is_plain(&server.name) || server.name.contains("__"))
}
