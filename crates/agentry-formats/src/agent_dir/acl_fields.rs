//! The fields of `agent.acl`.

use agentry_text::table::{ANY_FLOAT, KeyMatching};
use agentry_text::{Field, FieldKind, FieldTable};

use crate::mcp;
use crate::policy_tests;

/// A count from 0.
const COUNT: FieldKind = FieldKind::Int(0, i64::MAX);
/// A count from 1.
const SOME: FieldKind = FieldKind::Int(1, i64::MAX);
/// An amount of money or a weight.
const AMOUNT: FieldKind = FieldKind::Float(0.0, f64::INFINITY);
/// A fraction from 0 to 1.
const SHARE: FieldKind = FieldKind::Float(0.0, 1.0);
const TEXTS: FieldKind = FieldKind::List(&FieldKind::Str);
const HEADERS: FieldKind = FieldKind::Map(&FieldKind::Line);

/// The fields whose maps are written as labelled blocks.
pub const LABELLED: &[&str] = &["providers", "providers.*.models", "mcp_servers"];

/// The table of `agent.acl`.
pub static ACL: FieldTable = FieldTable::new(
    "`agent.acl`",
    &[
        Field::optional("default_model", FieldKind::Line, "The model to use: `provider/model`."),
        policy_tests::field("policy_tests"),
        Field::optional(
            "providers",
            FieldKind::Map(&FieldKind::Block(&PROVIDER)),
            "Providers of models, by label.",
        ),
        Field::default(
            "storage_backend",
            FieldKind::Choice(&["memory", "file", "custom"]),
            "\"file\"",
            "Where sessions are kept.",
        ),
        Field::optional("sessions_dir", FieldKind::Line, "The directory of stored sessions."),
        Field::optional("storage_url", FieldKind::Line, "The address of a custom store."),
        Field::optional("memory_dir", FieldKind::Line, "The directory of long-term memory."),
        Field::optional("skill_dirs", TEXTS, "Further directories of skills.").or(&["skills"]),
        Field::optional("agent_dirs", TEXTS, "Directories of agents to delegate to."),
        Field::optional(
            "user_instructions_dir",
            FieldKind::Line,
            "The directory of the user's own instructions.",
        ),
        Field::default(
            "project_doc_max_bytes",
            COUNT,
            "32768",
            "How much of the project's own instructions is read; 0 for none.",
        ),
        Field::optional(
            "project_doc_fallback_filenames",
            TEXTS,
            "Other names for the project's own instructions.",
        ),
        Field::optional("max_tool_rounds", SOME, "The most rounds of the loop."),
        Field::optional("max_parallel_tasks", SOME, "The most tasks at a time."),
        Field::optional(
            "auto_parallel",
            FieldKind::Bool,
            "Whether independent tasks run at the same time.",
        ),
        Field::optional("thinking_budget", COUNT, "The most tokens of thought."),
        Field::optional("llm_api_timeout_ms", SOME, "How long a call of the model may take."),
        Field::optional(
            "auto_delegation",
            FieldKind::Block(&AUTO_DELEGATION),
            "When work is handed on.",
        ),
        Field::optional(
            "task_scheduler",
            FieldKind::Block(&TASK_SCHEDULER),
            "How tasks take turns.",
        ),
        Field::optional(
            "memory",
            FieldKind::Block(&MEMORY),
            "What is remembered, and for how long.",
        ),
        Field::optional("queue", FieldKind::Block(&QUEUE), "How calls of tools queue up."),
        Field::optional("search", FieldKind::Block(&SEARCH), "How the web is searched."),
        Field::optional(
            "document_parser",
            FieldKind::Block(&DOCUMENT_PARSER),
            "How documents are read.",
        ),
        Field::optional("os", FieldKind::Line, "The address of the platform."),
        Field::optional(
            "mcp_servers",
            FieldKind::Map(&FieldKind::Block(&mcp::SERVER)),
            "MCP servers, by label.",
        ),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

/// `providers "name"`.
pub static PROVIDER: FieldTable = FieldTable::new(
    "the provider",
    &[
        API_KEY,
        BASE_URL,
        Field::optional("headers", HEADERS, "Headers of every request; ignored when run."),
        SESSION_HEADER,
        Field::optional(
            "models",
            FieldKind::Map(&FieldKind::Block(&MODEL)),
            "The provider's models, by label.",
        ),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

const API_KEY: Field =
    Field::optional("api_key", FieldKind::Line, "The key, as `env(\"NAME\")`; ignored when run.");
const BASE_URL: Field =
    Field::optional("base_url", FieldKind::Line, "The address of the provider; ignored when run.");
const SESSION_HEADER: Field = Field::optional(
    "session_id_header",
    FieldKind::Line,
    "The header that carries the session; ignored when run.",
);

/// `models "id"`.
static MODEL: FieldTable = FieldTable::new(
    "the model",
    &[
        Field::optional("name", FieldKind::Line, "What people call it; its label if left out."),
        Field::optional("family", FieldKind::Line, "The family it belongs to."),
        API_KEY,
        BASE_URL,
        Field::optional("headers", HEADERS, "Headers of every request; ignored when run."),
        SESSION_HEADER,
        Field::default("attachment", FieldKind::Bool, "false", "Whether it takes files."),
        Field::default("reasoning", FieldKind::Bool, "false", "Whether it thinks first."),
        Field::default("tool_call", FieldKind::Bool, "true", "Whether it calls tools."),
        Field::default(
            "temperature",
            FieldKind::Bool,
            "true",
            "Whether its temperature can be set.",
        ),
        Field::optional("release_date", FieldKind::Line, "When it was published."),
        Field::optional("modalities", FieldKind::Block(&MODALITIES), "What it takes and gives."),
        Field::optional("cost", FieldKind::Block(&COST), "US dollars per million tokens."),
        Field::optional("limit", FieldKind::Block(&LIMIT), "How many tokens it takes and gives."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static MODALITIES: FieldTable = FieldTable::new(
    "`modalities`",
    &[
        Field::optional("input", TEXTS, "What it takes: `text`, `image`."),
        Field::optional("output", TEXTS, "What it gives."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static COST: FieldTable = FieldTable::new(
    "`cost`",
    &[
        Field::optional("input", AMOUNT, "What is sent."),
        Field::optional("output", AMOUNT, "What comes back."),
        Field::optional("cache_read", AMOUNT, "What is read from a cache."),
        Field::optional("cache_write", AMOUNT, "What is put into a cache."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static LIMIT: FieldTable = FieldTable::new(
    "`limit`",
    &[
        Field::default("context", COUNT, "0", "The most tokens of a conversation."),
        Field::default("output", COUNT, "0", "The most tokens of an answer."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static AUTO_DELEGATION: FieldTable = FieldTable::new(
    "`auto_delegation`",
    &[
        Field::default("enabled", FieldKind::Bool, "false", "Whether work is handed on by itself."),
        Field::default(
            "auto_parallel",
            FieldKind::Bool,
            "true",
            "Whether several are handed on at a time.",
        ),
        Field::default(
            "allow_manual_delegation",
            FieldKind::Bool,
            "true",
            "Whether the model may hand work on.",
        ),
        Field::default("min_confidence", SHARE, "0.72", "How sure the choice must be."),
        Field::default("max_tasks", SOME, "4", "The most tasks at a time."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static TASK_SCHEDULER: FieldTable = FieldTable::new(
    "`task_scheduler`",
    &[
        Field::default("max_active", SOME, "4", "The most tasks at a time."),
        Field::default(
            "aging_interval_ms",
            SOME,
            "30000",
            "After how long a waiting task moves up.",
        ),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static MEMORY: FieldTable = FieldTable::new(
    "`memory`",
    &[
        Field::default("max_short_term", COUNT, "100", "The most things of this session."),
        Field::default("max_working", COUNT, "10", "The most things in mind."),
        Field::default("prune_interval_secs", SOME, "3600", "How often it is tidied."),
        Field::default(
            "llm_extraction",
            FieldKind::Bool,
            "true",
            "Whether the model picks what to remember.",
        ),
        Field::default("llm_extraction_max_items", COUNT, "5", "The most things picked at a time."),
        Field::default(
            "llm_extraction_max_input_chars",
            COUNT,
            "8000",
            "The most text to pick from.",
        ),
        Field::optional("relevance", FieldKind::Block(&RELEVANCE), "What counts as relevant."),
        Field::optional("prune_policy", FieldKind::Map(&FieldKind::Any), "What is forgotten."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static RELEVANCE: FieldTable = FieldTable::new(
    "`relevance`",
    &[
        Field::optional("decay_days", AMOUNT, "After how many days a memory counts half."),
        Field::optional("importance_weight", AMOUNT, "The weight of importance."),
        Field::optional("recency_weight", AMOUNT, "The weight of being recent."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static QUEUE: FieldTable = FieldTable::new(
    "`queue`",
    &[
        Field::default("control_max_concurrency", SOME, "2", "Calls that steer, at a time."),
        Field::default("query_max_concurrency", SOME, "4", "Calls that read, at a time."),
        Field::default("execute_max_concurrency", SOME, "2", "Calls that act, at a time."),
        Field::default("generate_max_concurrency", SOME, "1", "Calls of the model, at a time."),
        Field::optional(
            "lane_handlers",
            FieldKind::Block(&LANE_HANDLERS),
            "Who works off each lane.",
        ),
        Field::default("enable_dlq", FieldKind::Bool, "false", "Whether failed calls are kept."),
        Field::optional("dlq_max_size", COUNT, "How many failed calls are kept."),
        Field::optional("enable_metrics", FieldKind::Bool, "Whether calls are counted."),
        Field::optional("enable_alerts", FieldKind::Bool, "Whether a full queue is reported."),
        Field::optional("default_timeout_ms", SOME, "How long a call may take."),
        Field::optional("storage_path", FieldKind::Line, "Where the queue is kept."),
        Field::optional(
            "retry_policy",
            FieldKind::Block(&RETRY_POLICY),
            "How failed calls are repeated.",
        ),
        Field::optional("rate_limit", FieldKind::Block(&RATE_LIMIT), "How many calls may be made."),
        Field::optional(
            "priority_boost",
            FieldKind::Block(&PRIORITY_BOOST),
            "How waiting calls move up.",
        ),
        Field::optional(
            "pressure_threshold",
            COUNT,
            "From how many waiting calls the queue is full.",
        ),
        Field::optional(
            "lane_timeouts",
            FieldKind::Block(&LANE_TIMEOUTS),
            "How long a call of a lane may take.",
        ),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

const HANDLER: FieldKind = FieldKind::Block(&LANE_HANDLER);

static LANE_HANDLERS: FieldTable = FieldTable::new(
    "`lane_handlers`",
    &[
        Field::optional("control", HANDLER, "Calls that steer."),
        Field::optional("query", HANDLER, "Calls that read."),
        Field::optional("execute", HANDLER, "Calls that act."),
        Field::optional("generate", HANDLER, "Calls of the model."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static LANE_HANDLER: FieldTable = FieldTable::new(
    "the lane",
    &[
        Field::optional(
            "mode",
            FieldKind::Choice(&["internal", "external", "hybrid"]),
            "Who works it off.",
        ),
        Field::optional("timeout_ms", SOME, "How long a call may take."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static LANE_TIMEOUTS: FieldTable = FieldTable::new(
    "`lane_timeouts`",
    &[
        Field::optional("control", SOME, "Milliseconds for calls that steer."),
        Field::optional("query", SOME, "Milliseconds for calls that read."),
        Field::optional("execute", SOME, "Milliseconds for calls that act."),
        Field::optional("generate", SOME, "Milliseconds for calls of the model."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static RETRY_POLICY: FieldTable = FieldTable::new(
    "`retry_policy`",
    &[
        Field::optional(
            "strategy",
            FieldKind::Choice(&["exponential", "fixed", "none"]),
            "How waits grow.",
        ),
        Field::default("max_retries", COUNT, "3", "The most repeats."),
        Field::default("initial_delay_ms", COUNT, "100", "The first wait."),
        Field::optional("fixed_delay_ms", COUNT, "The wait of `fixed`."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static RATE_LIMIT: FieldTable = FieldTable::new(
    "`rate_limit`",
    &[
        Field::optional(
            "limit_type",
            FieldKind::Choice(&["per_second", "per_minute", "per_hour", "unlimited"]),
            "The time in which calls are counted.",
        ),
        Field::optional("max_operations", COUNT, "The most calls in that time."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static PRIORITY_BOOST: FieldTable = FieldTable::new(
    "`priority_boost`",
    &[
        Field::optional(
            "strategy",
            FieldKind::Choice(&["standard", "aggressive", "disabled"]),
            "How fast.",
        ),
        Field::optional("deadline_ms", COUNT, "After how long a call goes first."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static SEARCH: FieldTable = FieldTable::new(
    "`search`",
    &[
        Field::default("timeout", SOME, "20", "How long a search may take, in seconds."),
        Field::optional("health", FieldKind::Block(&HEALTH), "When an engine is left out."),
        Field::optional("cascade_order", TEXTS, "The order in which engines are asked."),
        Field::optional(
            "headless",
            FieldKind::Map(&FieldKind::Any),
            "How a browser is used for it.",
        ),
        Field::optional(
            "engine",
            FieldKind::Map(&FieldKind::Block(&ENGINE)),
            "The engines, by name.",
        ),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static HEALTH: FieldTable = FieldTable::new(
    "`health`",
    &[
        Field::default("max_failures", SOME, "3", "After how many failures."),
        Field::default("suspend_seconds", COUNT, "60", "For how long."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static ENGINE: FieldTable = FieldTable::new(
    "the engine",
    &[
        Field::default("enabled", FieldKind::Bool, "true", "Whether it is asked."),
        Field::default("weight", ANY_FLOAT, "1.0", "How much its answers count."),
        Field::optional("timeout", SOME, "How long it may take, in seconds."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

static DOCUMENT_PARSER: FieldTable = FieldTable::new(
    "`document_parser`",
    &[
        Field::default("enabled", FieldKind::Bool, "true", "Whether documents are read."),
        Field::default("max_file_size_mb", SOME, "50", "The largest document."),
        Field::optional("cache", FieldKind::Any, "What is kept of a document that was read."),
    ],
)
.keys(KeyMatching::SnakeOrCamel);
