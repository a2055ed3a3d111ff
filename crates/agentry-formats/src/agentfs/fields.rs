//! The fields of `agent.json`, in both of its generations, and of the schedules beside it.

use agentry_text::{Field, Kind, Table};

use crate::mcp;
use crate::policy_tests;

const RISK: &[&str] = &["low", "medium", "high", "critical"];
const ANY_COUNT: Kind = Kind::Int(0, i64::MAX);
const TEXTS: Kind = Kind::List(&Kind::Str);

/// The fields that both generations have, `version` and `role` being what the caller makes of them.
macro_rules! fields {
    ($version:expr, $role:expr, $($more:expr),* $(,)?) => {
        &[
            Field::required("name", Kind::Line, "What people call the agent, in 1 to 50 characters."),
            $version,
            Field::optional("description", Kind::Str, "What it is for, in one sentence of at most 200 characters."),
            $role,
            Field::optional("author", Kind::Str, "Who wrote it."),
            Field::optional("traits", TEXTS, "What it is like: labels such as `Patient`."),
            Field::optional("risk_level", Kind::Choice(RISK), "How much harm it could do."),
            Field::optional("greeting", Kind::Str, "What it says first."),
            Field::optional("access_control", Kind::Block(&ACCESS_CONTROL),
                "Who owns the definition and who may see it; no automatic write changes it."),
            $($more,)*
            policy_tests::field(policy_tests::KEY),
            Field::optional("extensions", Kind::Map(&Kind::Any), "What other programs keep here."),
        ]
    };
}

const VERSION: &str = "The version of the definition: major.minor.patch.";
const ROLE: &str = "What it is, in a few words: `Legal Advisor`.";

/// `agent.json` as the document describes it.
pub static DOCUMENT: Table = Table::new(
    "`agent.json`",
    fields![
        Field::required("version", Kind::Semver, VERSION),
        Field::required("role", Kind::Str, ROLE),
    ],
);

/// `agent.json` as newer agents have it.
pub static NEWER: Table = Table::new(
    "`agent.json`",
    fields![
        Field::optional("version", Kind::Semver, VERSION),
        Field::optional("role", Kind::Str, ROLE),
        Field::optional("$schema", Kind::Str, "The address of the schema of this file."),
        Field::optional("id", Kind::Line, "What programs call it, a slug; or a UUID."),
        Field::optional("requiredClientVersion", Kind::Str, "The least version of the client."),
        Field::optional("avatar", Kind::Block(&AVATAR), "How it is shown."),
        Field::optional("llm", Kind::Block(&LLM), "The model that it uses.").or(&["runtime"]),
        Field::optional("env", Kind::Block(&ENV), "What it is told of its surroundings."),
        Field::optional("heartbeat", Kind::Block(&HEARTBEAT), "Whether it wakes up by itself."),
        Field::optional(
            "tool_permissions",
            Kind::Block(&TOOL_PERMISSIONS),
            "The tools that it may and may not use; all others are asked about."
        ),
        Field::optional(
            "mcp_servers",
            Kind::Map(&Kind::Block(&mcp::SERVER)),
            "Servers of tools, by name."
        ),
        Field::optional("webhooks", Kind::Any, "Addresses that start it or hear of it."),
        Field::optional("agents", Kind::Any, "The agents that it works with."),
        Field::optional("capabilities", TEXTS, "What it can do, in free words."),
        Field::optional("trigger_patterns", TEXTS, "Words that call for it."),
        Field::optional("repository", Kind::Block(&REPOSITORY), "Where its definition is kept."),
        Field::optional("accepts_handoff", Kind::Bool, "Whether others may hand it work."),
        Field::optional("accepts_messages", Kind::Bool, "Whether others may write to it."),
        Field::optional(
            "max_concurrent_sessions",
            Kind::Int(1, i64::MAX),
            "The most conversations at a time."
        ),
        Field::optional(
            "default_enabled",
            Kind::Block(&DEFAULT_ENABLED),
            "What is switched on when it is installed."
        ),
        Field::optional(
            "command_authority",
            Kind::Block(&COMMAND_AUTHORITY),
            "Which agents it may direct."
        ),
        Field::optional(
            "network_security",
            Kind::Block(&NETWORK_SECURITY),
            "How the network is guarded."
        ),
        Field::optional("file_security", Kind::Block(&FILE_SECURITY), "How files are guarded."),
        Field::optional(
            "compute_credentials",
            Kind::Block(&COMPUTE_CREDENTIALS),
            "Whose keys it may use."
        ),
        Field::optional("tools", Kind::Map(&Kind::Any), "Settings of single tools, by name."),
    ],
);

/// The fields of the newer generation that the model has no field of its own for: carried whole.
pub(super) const SETTINGS: &[&str] = &[
    "$schema",
    "requiredClientVersion",
    "env",
    "heartbeat",
    "webhooks",
    "agents",
    "capabilities",
    "trigger_patterns",
    "repository",
    "accepts_handoff",
    "accepts_messages",
    "max_concurrent_sessions",
    "default_enabled",
    "command_authority",
    "network_security",
    "file_security",
    "compute_credentials",
    "tools",
];

static ACCESS_CONTROL: Table = Table::new(
    "`access_control`",
    &[
        Field::optional("owner", Kind::Str, "Whose it is."),
        Field::optional("visibility", Kind::Str, "Who may see it: `private`."),
    ],
);

pub(super) static AVATAR: Table = Table::new(
    "`avatar`",
    &[
        Field::optional("char", Kind::Str, "One character, often an emoji."),
        Field::optional("color", Kind::Str, "The colour behind it."),
        Field::optional("image", Kind::Block(&IMAGE), "A picture."),
    ],
);

pub(super) static IMAGE: Table =
    Table::new("`image`", &[Field::optional("path", Kind::Str, "Where the picture is.")]);

pub(super) static LLM: Table = Table::new(
    "`llm`",
    &[
        Field::optional("provider", Kind::Str, "Whose model it is."),
        Field::optional("providerId", Kind::Str, "Which account of that provider."),
        Field::optional("model", Kind::Str, "Which model."),
        Field::optional(
            "thinkingBudgets",
            Kind::Block(&BUDGETS),
            "Tokens for thinking, by effort.",
        ),
        Field::optional("maxRetryDelayMs", ANY_COUNT, "The longest wait before trying again."),
        Field::optional("routingMode", Kind::Str, "Who chooses the model: `smart`."),
        Field::optional("smart", Kind::Block(&SMART), "How `smart` chooses."),
    ],
);

static BUDGETS: Table = Table::new(
    "`thinkingBudgets`",
    &[
        Field::optional("low", ANY_COUNT, "For little effort."),
        Field::optional("medium", ANY_COUNT, "For some effort."),
        Field::optional("high", ANY_COUNT, "For much effort."),
        Field::optional("xhigh", ANY_COUNT, "For the most effort."),
    ],
);

static SMART: Table = Table::new(
    "`smart`",
    &[
        Field::optional("tier", Kind::Str, "How able the model must be."),
        Field::optional("profile", Kind::Block(&PROFILE), "What the model must be able to do."),
    ],
);

static PROFILE: Table = Table::new(
    "`profile`",
    &[
        Field::optional("tier", Kind::Str, "How able the model must be."),
        Field::optional("requiredCapabilities", TEXTS, "What the model must be able to do."),
        Field::optional("reasoning", Kind::Any, "How much the model must think."),
    ],
);

static ENV: Table = Table::new(
    "`env`",
    &[
        Field::default("enabled", Kind::Bool, "true", "Whether it is told anything."),
        Field::default("includeWeekday", Kind::Bool, "true", "The day of the week."),
        Field::default("includeLocalTime", Kind::Bool, "true", "The time of day."),
        Field::default("includeSessionStart", Kind::Bool, "true", "When the conversation began."),
        Field::optional("includeOs", Kind::Bool, "The operating system."),
        Field::optional("includeRuntime", Kind::Bool, "The program that runs it."),
        Field::optional("includeManagedRuntimes", Kind::Bool, "The languages at hand."),
        Field::optional(
            "template",
            Kind::Str,
            "The text, with `{date}`, `{weekday}`, `{localTime}`, `{tz}` and `{sessionStart}`.",
        ),
    ],
);

static HEARTBEAT: Table = Table::new(
    "`heartbeat`",
    &[Field::default("enabled", Kind::Bool, "false", "Whether it wakes up by itself.")],
);

pub(super) static TOOL_PERMISSIONS: Table = Table::new(
    "`tool_permissions`",
    &[
        Field::optional("allowed", TEXTS, "Tools used without asking."),
        Field::optional("denied", TEXTS, "Tools never used; beats `allowed`."),
    ],
);

static REPOSITORY: Table = Table::new(
    "`repository`",
    &[
        Field::optional("url", Kind::Str, "The address of the repository."),
        Field::optional("branch", Kind::Str, "The branch that is followed."),
    ],
);

static DEFAULT_ENABLED: Table = Table::new(
    "`default_enabled`",
    &[
        Field::optional("skills", Kind::Any, "Skills that are on."),
        Field::optional("tools", Kind::Any, "Tools that are on."),
    ],
);

static COMMAND_AUTHORITY: Table = Table::new(
    "`command_authority`",
    &[
        Field::optional("enabled", Kind::Bool, "Whether it may direct others."),
        Field::optional("allowed_targets", TEXTS, "Whom it may direct."),
    ],
);

static NETWORK_SECURITY: Table = Table::new(
    "`network_security`",
    &[Field::optional("enableSsrfProtection", Kind::Bool, "Whether private addresses are closed.")],
);

static FILE_SECURITY: Table = Table::new(
    "`file_security`",
    &[Field::optional("restrictToWorkDirs", Kind::Bool, "Whether other folders are closed.")],
);

static COMPUTE_CREDENTIALS: Table = Table::new(
    "`compute_credentials`",
    &[Field::optional("allowed_providers", TEXTS, "The providers whose keys it may use.")],
);

/// `schedules/*.json`.
pub static SCHEDULE: Table = Table::new(
    "the schedule",
    &[
        Field::optional("id", Kind::Line, "What it is called; the name of the file if left out."),
        Field::optional("display_name", Kind::Str, "What people call it."),
        Field::default("enabled", Kind::Bool, "true", "Whether it is on."),
        Field::optional(
            "status",
            Kind::Choice(&["pending", "active", "paused", "completed", "cancelled"]),
            "How far it is.",
        ),
        Field::required("schedule", Kind::Block(&TIMES), "When it runs."),
        Field::required("action", Kind::Block(&ACTION), "What it does."),
        Field::optional("retry", Kind::Any, "What happens when it fails."),
        Field::optional("failureAlert", Kind::Any, "Who is told when it fails."),
        Field::optional("tags", TEXTS, "Labels for grouping."),
    ],
);

pub(super) static TIMES: Table = Table::new(
    "`schedule`",
    &[
        Field::required(
            "kind",
            Kind::Choice(&["at", "delay", "interval", "cron", "rrule"]),
            "How the times are given.",
        ),
        Field::optional("cron", Kind::Line, "The cron expression of kind `cron`.").or(&[
            "expression",
            "expr",
            "cron_expression",
        ]),
        Field::optional("timezone", Kind::Line, "The time zone: `Europe/Berlin`."),
        Field::optional("starts_at", Kind::Str, "The first moment."),
        Field::optional("expires_at", Kind::Str, "The last moment."),
        Field::optional("max_fires", Kind::Int(1, i64::MAX), "The most runs."),
        Field::optional(
            "missed_fire_policy",
            Kind::Choice(&["skip", "fire_once", "fire_all"]),
            "What happens to runs that were missed.",
        ),
        Field::optional("no_overlap", Kind::Bool, "Whether a run waits for the one before."),
        Field::optional("at", Kind::Any, "The moment of kind `at`."),
        Field::optional("delay", Kind::Any, "The wait of kind `delay`."),
        Field::optional("interval", Kind::Any, "The gap of kind `interval`."),
        Field::optional("rrule", Kind::Any, "The rule of kind `rrule`."),
    ],
)
.unknown(agentry_text::table::Unknown::Silent);

pub(super) static ACTION: Table = Table::new(
    "`action`",
    &[
        Field::required("type", Kind::Choice(&["query", "heartbeat"]), "What kind of run it is."),
        Field::optional("prompt", Kind::Str, "What the agent is told."),
    ],
)
.unknown(agentry_text::table::Unknown::Silent);
