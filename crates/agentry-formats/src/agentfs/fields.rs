//! The fields of `agent.json`, in both generations, and of the schedules beside it.

use agentry_text::{Field, FieldKind, FieldTable};

use crate::mcp;
use crate::policy_tests;

const RISK: &[&str] = &["low", "medium", "high", "critical"];
const ANY_COUNT: FieldKind = FieldKind::Int(0, i64::MAX);
const TEXTS: FieldKind = FieldKind::List(&FieldKind::Str);

/// The fields that both generations have; the caller decides whether `version` and `role` are required.
macro_rules! fields {
    ($version:expr, $role:expr, $($more:expr),* $(,)?) => {
        &[
            Field::required("name", FieldKind::Line, "What people call the agent, in 1 to 50 characters."),
            $version,
            Field::optional("description", FieldKind::Str, "What it is for, in one sentence of at most 200 characters."),
            $role,
            Field::optional("author", FieldKind::Str, "Who wrote it."),
            Field::optional("traits", TEXTS, "What it is like: labels such as `Patient`."),
            Field::optional("risk_level", FieldKind::Choice(RISK), "How much harm it could do."),
            Field::optional("greeting", FieldKind::Str, "What it says first."),
            Field::optional("access_control", FieldKind::Block(&ACCESS_CONTROL),
                "Who owns the definition and who may see it; no automatic write changes it."),
            $($more,)*
            policy_tests::field(policy_tests::KEY),
            Field::optional("extensions", FieldKind::Map(&FieldKind::Any), "What other programs keep here."),
        ]
    };
}

const VERSION: &str = "The version of the definition: major.minor.patch.";
const ROLE: &str = "What it is, in a few words: `Legal Advisor`.";

/// `agent.json` as the specification describes it.
pub static DOCUMENT: FieldTable = FieldTable::new(
    "`agent.json`",
    fields![
        Field::required("version", FieldKind::Semver, VERSION),
        Field::required("role", FieldKind::Str, ROLE),
    ],
);

/// `agent.json` as newer agents write it.
pub static NEWER: FieldTable = FieldTable::new(
    "`agent.json`",
    fields![
        Field::optional("version", FieldKind::Semver, VERSION),
        Field::optional("role", FieldKind::Str, ROLE),
        Field::optional("$schema", FieldKind::Str, "The address of the schema of this file."),
        Field::optional("id", FieldKind::Line, "What programs call it, a slug; or a UUID."),
        Field::optional(
            "requiredClientVersion",
            FieldKind::Str,
            "The least version of the client."
        ),
        Field::optional("avatar", FieldKind::Block(&AVATAR), "How it is shown."),
        Field::optional("llm", FieldKind::Block(&LLM), "The model that it uses.").or(&["runtime"]),
        Field::optional("env", FieldKind::Block(&ENV), "What it learns about its environment."),
        Field::optional(
            "heartbeat",
            FieldKind::Block(&HEARTBEAT),
            "Whether it wakes up by itself."
        ),
        Field::optional(
            "tool_permissions",
            FieldKind::Block(&TOOL_PERMISSIONS),
            "The tools that it may and may not use; all others are asked about."
        ),
        Field::optional(
            "mcp_servers",
            FieldKind::Map(&FieldKind::Block(&mcp::SERVER)),
            "Servers of tools, by name."
        ),
        Field::optional("webhooks", FieldKind::Any, "Addresses that start it or hear of it."),
        Field::optional("agents", FieldKind::Any, "The agents that it works with."),
        Field::optional("capabilities", TEXTS, "What it can do, in free words."),
        Field::optional("trigger_patterns", TEXTS, "Words that call for it."),
        Field::optional(
            "repository",
            FieldKind::Block(&REPOSITORY),
            "Where its definition is kept."
        ),
        Field::optional("accepts_handoff", FieldKind::Bool, "Whether others may hand it work."),
        Field::optional("accepts_messages", FieldKind::Bool, "Whether others may write to it."),
        Field::optional(
            "max_concurrent_sessions",
            FieldKind::Int(1, i64::MAX),
            "The most conversations at a time."
        ),
        Field::optional(
            "default_enabled",
            FieldKind::Block(&DEFAULT_ENABLED),
            "What is switched on when it is installed."
        ),
        Field::optional(
            "command_authority",
            FieldKind::Block(&COMMAND_AUTHORITY),
            "Which agents it may direct."
        ),
        Field::optional(
            "network_security",
            FieldKind::Block(&NETWORK_SECURITY),
            "How the network is guarded."
        ),
        Field::optional(
            "file_security",
            FieldKind::Block(&FILE_SECURITY),
            "How files are guarded."
        ),
        Field::optional(
            "compute_credentials",
            FieldKind::Block(&COMPUTE_CREDENTIALS),
            "Whose keys it may use."
        ),
        Field::optional(
            "tools",
            FieldKind::Map(&FieldKind::Any),
            "Settings of single tools, by name."
        ),
    ],
);

/// The fields of the newer generation without a field in the model; they are kept as settings.
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

static ACCESS_CONTROL: FieldTable = FieldTable::new(
    "`access_control`",
    &[
        Field::optional("owner", FieldKind::Str, "Whose it is."),
        Field::optional("visibility", FieldKind::Str, "Who may see it: `private`."),
    ],
);

pub(super) static AVATAR: FieldTable = FieldTable::new(
    "`avatar`",
    &[
        Field::optional("char", FieldKind::Str, "One character, often an emoji."),
        Field::optional("color", FieldKind::Str, "The colour behind it."),
        Field::optional("image", FieldKind::Block(&IMAGE), "A picture."),
    ],
);

pub(super) static IMAGE: FieldTable =
    FieldTable::new("`image`", &[Field::optional("path", FieldKind::Str, "Where the picture is.")]);

pub(super) static LLM: FieldTable = FieldTable::new(
    "`llm`",
    &[
        Field::optional("provider", FieldKind::Str, "Whose model it is."),
        Field::optional("providerId", FieldKind::Str, "Which account of that provider."),
        Field::optional("model", FieldKind::Str, "Which model."),
        Field::optional(
            "thinkingBudgets",
            FieldKind::Block(&BUDGETS),
            "Tokens for thinking, by effort.",
        ),
        Field::optional("maxRetryDelayMs", ANY_COUNT, "The longest wait before trying again."),
        Field::optional("routingMode", FieldKind::Str, "Who chooses the model: `smart`."),
        Field::optional("smart", FieldKind::Block(&SMART), "How `smart` chooses."),
    ],
);

static BUDGETS: FieldTable = FieldTable::new(
    "`thinkingBudgets`",
    &[
        Field::optional("low", ANY_COUNT, "For little effort."),
        Field::optional("medium", ANY_COUNT, "For some effort."),
        Field::optional("high", ANY_COUNT, "For much effort."),
        Field::optional("xhigh", ANY_COUNT, "For the most effort."),
    ],
);

static SMART: FieldTable = FieldTable::new(
    "`smart`",
    &[
        Field::optional("tier", FieldKind::Str, "How able the model must be."),
        Field::optional(
            "profile",
            FieldKind::Block(&PROFILE),
            "What the model must be able to do.",
        ),
    ],
);

static PROFILE: FieldTable = FieldTable::new(
    "`profile`",
    &[
        Field::optional("tier", FieldKind::Str, "How able the model must be."),
        Field::optional("requiredCapabilities", TEXTS, "What the model must be able to do."),
        Field::optional("reasoning", FieldKind::Any, "How much the model must think."),
    ],
);

static ENV: FieldTable = FieldTable::new(
    "`env`",
    &[
        Field::default("enabled", FieldKind::Bool, "true", "Whether the agent gets any of it."),
        Field::default("includeWeekday", FieldKind::Bool, "true", "The day of the week."),
        Field::default("includeLocalTime", FieldKind::Bool, "true", "The time of day."),
        Field::default(
            "includeSessionStart",
            FieldKind::Bool,
            "true",
            "When the conversation began.",
        ),
        Field::optional("includeOs", FieldKind::Bool, "The operating system."),
        Field::optional("includeRuntime", FieldKind::Bool, "The program that runs it."),
        Field::optional("includeManagedRuntimes", FieldKind::Bool, "The languages at hand."),
        Field::optional(
            "template",
            FieldKind::Str,
            "The text, with `{date}`, `{weekday}`, `{localTime}`, `{tz}` and `{sessionStart}`.",
        ),
    ],
);

static HEARTBEAT: FieldTable = FieldTable::new(
    "`heartbeat`",
    &[Field::default("enabled", FieldKind::Bool, "false", "Whether it wakes up by itself.")],
);

pub(super) static TOOL_PERMISSIONS: FieldTable = FieldTable::new(
    "`tool_permissions`",
    &[
        Field::optional("allowed", TEXTS, "Tools used without asking."),
        Field::optional("denied", TEXTS, "Tools never used; beats `allowed`."),
    ],
);

static REPOSITORY: FieldTable = FieldTable::new(
    "`repository`",
    &[
        Field::optional("url", FieldKind::Str, "The address of the repository."),
        Field::optional("branch", FieldKind::Str, "The branch that is followed."),
    ],
);

static DEFAULT_ENABLED: FieldTable = FieldTable::new(
    "`default_enabled`",
    &[
        Field::optional("skills", FieldKind::Any, "Skills that are on."),
        Field::optional("tools", FieldKind::Any, "Tools that are on."),
    ],
);

static COMMAND_AUTHORITY: FieldTable = FieldTable::new(
    "`command_authority`",
    &[
        Field::optional("enabled", FieldKind::Bool, "Whether it may direct others."),
        Field::optional("allowed_targets", TEXTS, "Whom it may direct."),
    ],
);

static NETWORK_SECURITY: FieldTable = FieldTable::new(
    "`network_security`",
    &[Field::optional(
        "enableSsrfProtection",
        FieldKind::Bool,
        "Whether private addresses are closed.",
    )],
);

static FILE_SECURITY: FieldTable = FieldTable::new(
    "`file_security`",
    &[Field::optional("restrictToWorkDirs", FieldKind::Bool, "Whether other folders are closed.")],
);

static COMPUTE_CREDENTIALS: FieldTable = FieldTable::new(
    "`compute_credentials`",
    &[Field::optional("allowed_providers", TEXTS, "The providers whose keys it may use.")],
);

/// The table of `schedules/*.json`.
pub static SCHEDULE: FieldTable = FieldTable::new(
    "the schedule",
    &[
        Field::optional(
            "id",
            FieldKind::Line,
            "What it is called; the name of the file if left out.",
        ),
        Field::optional("display_name", FieldKind::Str, "What people call it."),
        Field::default("enabled", FieldKind::Bool, "true", "Whether it is on."),
        Field::optional(
            "status",
            FieldKind::Choice(&["pending", "active", "paused", "completed", "cancelled"]),
            "How far it is.",
        ),
        Field::required("schedule", FieldKind::Block(&TIMES), "When it runs."),
        Field::required("action", FieldKind::Block(&ACTION), "What it does."),
        Field::optional("retry", FieldKind::Any, "What happens when it fails."),
        Field::optional("failureAlert", FieldKind::Any, "Who is notified when it fails."),
        Field::optional("tags", TEXTS, "Labels for grouping."),
    ],
);

pub(super) static TIMES: FieldTable = FieldTable::new(
    "`schedule`",
    &[
        Field::required(
            "kind",
            FieldKind::Choice(&["at", "delay", "interval", "cron", "rrule"]),
            "How the times are given.",
        ),
        Field::optional("cron", FieldKind::Line, "The cron expression of kind `cron`.").or(&[
            "expression",
            "expr",
            "cron_expression",
        ]),
        Field::optional("timezone", FieldKind::Line, "The time zone: `Europe/Berlin`."),
        Field::optional("starts_at", FieldKind::Str, "The first moment."),
        Field::optional("expires_at", FieldKind::Str, "The last moment."),
        Field::optional("max_fires", FieldKind::Int(1, i64::MAX), "The most runs."),
        Field::optional(
            "missed_fire_policy",
            FieldKind::Choice(&["skip", "fire_once", "fire_all"]),
            "What happens to runs that were missed.",
        ),
        Field::optional(
            "no_overlap",
            FieldKind::Bool,
            "Whether a run is skipped while the one before still runs.",
        ),
        Field::optional("at", FieldKind::Any, "The moment of kind `at`."),
        Field::optional("delay", FieldKind::Any, "The wait of kind `delay`."),
        Field::optional("interval", FieldKind::Any, "The gap of kind `interval`."),
        Field::optional("rrule", FieldKind::Any, "The rule of kind `rrule`."),
    ],
)
.unknown(agentry_text::table::UnknownKeys::Silent);

pub(super) static ACTION: FieldTable = FieldTable::new(
    "`action`",
    &[
        Field::required(
            "type",
            FieldKind::Choice(&["query", "heartbeat"]),
            "What kind of run it is.",
        ),
        Field::optional("prompt", FieldKind::Str, "The prompt."),
    ],
)
.unknown(agentry_text::table::UnknownKeys::Silent);

/// `tools/*/TOOL.md`.
pub static TOOL: FieldTable = FieldTable::new(
    "`TOOL.md`",
    &[
        Field::required("name", FieldKind::Line, "What the model calls the tool."),
        Field::optional(
            "description",
            FieldKind::Str,
            "What it does; the text after the metadata if left out.",
        ),
        Field::optional("risk_level", FieldKind::Choice(RISK), "How much harm it could do."),
        Field::optional(
            "requires_confirmation",
            FieldKind::Bool,
            "Whether the person confirms each call.",
        ),
        Field::optional("executor", FieldKind::Line, "What runs it: `script`."),
        Field::optional(
            "command",
            FieldKind::Line,
            "The file of the script, relative to this one.",
        ),
        Field::optional("script", FieldKind::Block(&TOOL_SCRIPT), "How the script is run."),
        Field::optional(
            "input_schema",
            FieldKind::Map(&FieldKind::Any),
            "The JSON Schema of its arguments.",
        ),
        Field::optional("metadata", FieldKind::Map(&FieldKind::Any), "Author, version and origin."),
    ],
);

/// `script` of a tool.
pub(super) static TOOL_SCRIPT: FieldTable = FieldTable::new(
    "`script`",
    &[
        Field::optional(
            "runtime",
            FieldKind::Line,
            "The language of the script: `node` and `javascript` are run.",
        ),
        Field::optional("args", TEXTS, "Arguments of the program; a worker has none."),
        Field::optional(
            "timeout_ms",
            FieldKind::Int(1, 600_000),
            "The time of a call, in milliseconds.",
        ),
        Field::optional("io", FieldKind::Block(&TOOL_IO), "The files that it gets and writes."),
    ],
);

/// `script.io` of a tool.
pub(super) static TOOL_IO: FieldTable = FieldTable::new(
    "`io`",
    &[
        Field::optional(
            "protocol",
            FieldKind::Line,
            "`snapshot-v1`: the script gets the content of files, never paths.",
        ),
        Field::optional("input_path_params", TEXTS, "The arguments that name files to read."),
        Field::optional(
            "output_path_param",
            FieldKind::Line,
            "The argument that names the file to write.",
        ),
        Field::optional("max_input_bytes", ANY_COUNT, "The most bytes of one file."),
        Field::optional("max_total_input_bytes", ANY_COUNT, "The most bytes of all files."),
        Field::optional("max_output_bytes", ANY_COUNT, "The most bytes of the result."),
    ],
);
