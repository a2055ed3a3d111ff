//! What Claude Code does with the agent files that people write (version 2.1.325, November 2026).

use agentry_policy::Section;

use super::fields::named;
use super::rule;
use super::tools::{BESIDE, GROUPS, OLDER, UNASKED};
use crate::authoring::{
    AuthoringFacts, FieldValue, MetadataSyntax, ModelFacts, NameRule, RuleReading, ToolFacts,
    UnknownFieldEffect, ValueKind, takes,
};
use crate::encoding::MatchOrder;

pub(super) static AUTHORING: AuthoringFacts = AuthoringFacts {
    syntax: MetadataSyntax::Yaml,
    broken: "Claude Code reads such a value as text, or does not load the file",
    repeated_key: None,
    without_metadata: Some("Claude Code does not load the file, without a message"),
    required: &["name", "description"],
    without_required: "Claude Code does not load the file, without a message",
    unknown_field: UnknownFieldEffect::Ignored,
    values: VALUES,
    named_by_file: false,
    name: Some(NameRule {
        fits: |name| !name.starts_with('-') && !name.contains(':'),
        form: "a name without `:` that does not start with `-`",
        otherwise: "Claude Code skips the file without a message",
    }),
    tools: Some(ToolFacts {
        names,
        is_foreign: |name| name.starts_with("mcp__") || name == "*",
        is_complete: true,
        ignores_case: false,
        unknown: "Claude Code drops a name that it does not know",
        refuses: false,
        empty: "an agent with an empty list cannot work; without `tools` it has all tools",
        pattern: Some("the agent gets the whole tool: the pattern neither restricts nor approves"),
        removed: Some(("disallowedTools", "the whole tool is removed, whatever the pattern says")),
    }),
    models: Some(ModelFacts {
        aliases: super::fields::MODELS,
        fits: |model| {
            named(model).is_some() || model.contains("claude") || model.contains(['/', ':'])
        },
        form: "`sonnet`, `opus`, `haiku`, `inherit` or a full name such as `claude-sonnet-4-5`",
    }),
    longest_prompt: None,
    rules: Some(RuleReading { order: MatchOrder::Strictest, entry: rule::entry }),
};

const MODES: &[&str] =
    &["default", "manual", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan"];

const VALUES: &[FieldValue] = &[
    takes("name", ValueKind::Text, ""),
    takes("description", ValueKind::Text, ""),
    takes("tools", ValueKind::Names, ""),
    takes("disallowedTools", ValueKind::Names, ""),
    takes("model", ValueKind::Text, ""),
    takes("permissionMode", ValueKind::Words(MODES), "Claude Code ignores another mode"),
    takes("maxTurns", ValueKind::Count, "Claude Code ignores the limit"),
    takes(
        "effort",
        ValueKind::Words(&["low", "medium", "high", "xhigh", "max"]),
        "Claude Code ignores another effort",
    ),
    takes("memory", ValueKind::Words(&["user", "project", "local"]), ""),
    takes("isolation", ValueKind::Words(&["worktree"]), ""),
    takes("background", ValueKind::Switch, ""),
    takes("skills", ValueKind::Names, ""),
    takes("hooks", ValueKind::Map, "an agent with malformed hooks disappears"),
];

/// Tools that no rule of a policy decides about.
const OTHERS: &[&str] = &[
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "ListMcpResources",
    "ListMcpResourcesTool",
    "LSP",
    "ReadMcpResource",
    "ReadMcpResourceTool",
    "RemoteTrigger",
    "ScheduleWakeup",
    "SendMessage",
    "SendUserFile",
    "SlashCommand",
    "StructuredOutput",
    "TeamCreate",
    "TeamDelete",
    "TodoRead",
    "ToolSearch",
    "Workflow",
    "EndConversation",
    "PushNotification",
    "Config",
    "Sleep",
    "REPL",
];

fn names() -> Vec<(&'static str, Option<Section>)> {
    let own = GROUPS.iter().flat_map(|it| it.tools.iter().map(|tool| (*tool, Some(it.section))));
    let beside = BESIDE.iter().map(|(tool, section)| (*tool, Some(*section)));
    let others = UNASKED.iter().chain(OTHERS).map(|tool| (*tool, None));
    own.chain(beside).chain([(OLDER, Some(Section::Delegate))]).chain(others).collect()
}
