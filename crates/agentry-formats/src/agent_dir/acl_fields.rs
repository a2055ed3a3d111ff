//! What `agent.acl` may hold.

use agentry_text::table::{ANY_FLOAT, Keys};
use agentry_text::{Field, Kind, Table};

use crate::mcp;
use crate::policy_tests;

/// A count that may be nothing.
const COUNT: Kind = Kind::Int(0, i64::MAX);
/// A count that must be something.
const SOME: Kind = Kind::Int(1, i64::MAX);
/// An amount of money or a weight.
const AMOUNT: Kind = Kind::Float(0.0, f64::INFINITY);
/// A share of the whole.
const SHARE: Kind = Kind::Float(0.0, 1.0);
const TEXTS: Kind = Kind::List(&Kind::Str);
const HEADERS: Kind = Kind::Map(&Kind::Line);

/// The fields whose maps are written as labelled blocks.
pub const LABELLED: &[&str] = &["providers", "providers.*.models", "mcp_servers"];

/// `agent.acl`.
pub static ACL: Table = Table::new(
    "`agent.acl`",
    &[
        Field::optional("default_model", Kind::Line, "The model to use: `provider/model`."),
        policy_tests::field("policy_tests"),
        Field::optional(
            "providers",
            Kind::Map(&Kind::Block(&PROVIDER)),
            "Providers of models, by label.",
        ),
        Field::default(
            "storage_backend",
            Kind::Choice(&["memory", "file", "custom"]),
            "\"file\"",
            "Where sessions are kept.",
        ),
        Field::optional("sessions_dir", Kind::Line, "The directory of stored sessions."),
        Field::optional("storage_url", Kind::Line, "The address of a custom store."),
        Field::optional("memory_dir", Kind::Line, "The directory of long-term memory."),
        Field::optional("skill_dirs", TEXTS, "Further directories of skills.").or(&["skills"]),
        Field::optional("agent_dirs", TEXTS, "Directories of agents to delegate to."),
        Field::optional(
            "user_instructions_dir",
            Kind::Line,
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
            Kind::Bool,
            "Whether independent tasks run at the same time.",
        ),
        Field::optional("thinking_budget", COUNT, "The most tokens of thought."),
        Field::optional("llm_api_timeout_ms", SOME, "How long a call of the model may take."),
        Field::optional(
            "auto_delegation",
            Kind::Block(&AUTO_DELEGATION),
            "When work is handed on.",
        ),
        Field::optional("task_scheduler", Kind::Block(&TASK_SCHEDULER), "How tasks take turns."),
        Field::optional("memory", Kind::Block(&MEMORY), "What is remembered, and for how long."),
        Field::optional("queue", Kind::Block(&QUEUE), "How calls of tools queue up."),
        Field::optional("search", Kind::Block(&SEARCH), "How the web is searched."),
        Field::optional(
            "document_parser",
            Kind::Block(&DOCUMENT_PARSER),
            "How documents are read.",
        ),
        Field::optional("os", Kind::Line, "The address of the platform."),
        Field::optional(
            "mcp_servers",
            Kind::Map(&Kind::Block(&mcp::SERVER)),
            "MCP servers, by label.",
        ),
    ],
)
.keys(Keys::SnakeOrCamel);

/// `providers "name"`.
pub static PROVIDER: Table = Table::new(
    "the provider",
    &[
        API_KEY,
        BASE_URL,
        Field::optional("headers", HEADERS, "Headers of every request; ignored when run."),
        SESSION_HEADER,
        Field::optional(
            "models",
            Kind::Map(&Kind::Block(&MODEL)),
            "The provider's models, by label.",
        ),
    ],
)
.keys(Keys::SnakeOrCamel);

const API_KEY: Field =
    Field::optional("api_key", Kind::Line, "The key, as `env(\"NAME\")`; ignored when run.");
const BASE_URL: Field =
    Field::optional("base_url", Kind::Line, "The address of the provider; ignored when run.");
const SESSION_HEADER: Field = Field::optional(
    "session_id_header",
    Kind::Line,
    "The header that carries the session; ignored when run.",
);

/// `models "id"`.
static MODEL: Table = Table::new(
    "the model",
    &[
        Field::optional("name", Kind::Line, "What people call it; its label if left out."),
        Field::optional("family", Kind::Line, "The family it belongs to."),
        API_KEY,
        BASE_URL,
        Field::optional("headers", HEADERS, "Headers of every request; ignored when run."),
        SESSION_HEADER,
        Field::default("attachment", Kind::Bool, "false", "Whether it takes files."),
        Field::default("reasoning", Kind::Bool, "false", "Whether it thinks first."),
        Field::default("tool_call", Kind::Bool, "true", "Whether it calls tools."),
        Field::default("temperature", Kind::Bool, "true", "Whether its temperature can be set."),
        Field::optional("release_date", Kind::Line, "When it was published."),
        Field::optional("modalities", Kind::Block(&MODALITIES), "What it takes and gives."),
        Field::optional("cost", Kind::Block(&COST), "US dollars per million tokens."),
        Field::optional("limit", Kind::Block(&LIMIT), "How many tokens it takes and gives."),
    ],
)
.keys(Keys::SnakeOrCamel);

static MODALITIES: Table = Table::new(
    "`modalities`",
    &[
        Field::optional("input", TEXTS, "What it takes: `text`, `image`."),
        Field::optional("output", TEXTS, "What it gives."),
    ],
)
.keys(Keys::SnakeOrCamel);

static COST: Table = Table::new(
    "`cost`",
    &[
        Field::optional("input", AMOUNT, "What is sent."),
        Field::optional("output", AMOUNT, "What comes back."),
        Field::optional("cache_read", AMOUNT, "What is read from a cache."),
        Field::optional("cache_write", AMOUNT, "What is put into a cache."),
    ],
)
.keys(Keys::SnakeOrCamel);

static LIMIT: Table = Table::new(
    "`limit`",
    &[
        Field::default("context", COUNT, "0", "The most tokens of a conversation."),
        Field::default("output", COUNT, "0", "The most tokens of an answer."),
    ],
)
.keys(Keys::SnakeOrCamel);

static AUTO_DELEGATION: Table = Table::new(
    "`auto_delegation`",
    &[
        Field::default("enabled", Kind::Bool, "false", "Whether work is handed on by itself."),
        Field::default(
            "auto_parallel",
            Kind::Bool,
            "true",
            "Whether several are handed on at a time.",
        ),
        Field::default(
            "allow_manual_delegation",
            Kind::Bool,
            "true",
            "Whether the model may hand work on.",
        ),
        Field::default("min_confidence", SHARE, "0.72", "How sure the choice must be."),
        Field::default("max_tasks", SOME, "4", "The most tasks at a time."),
    ],
)
.keys(Keys::SnakeOrCamel);

static TASK_SCHEDULER: Table = Table::new(
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
.keys(Keys::SnakeOrCamel);

static MEMORY: Table = Table::new(
    "`memory`",
    &[
        Field::default("max_short_term", COUNT, "100", "The most things of this session."),
        Field::default("max_working", COUNT, "10", "The most things in mind."),
        Field::default("prune_interval_secs", SOME, "3600", "How often it is tidied."),
        Field::default(
            "llm_extraction",
            Kind::Bool,
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
        Field::optional("relevance", Kind::Block(&RELEVANCE), "What counts as relevant."),
        Field::optional("prune_policy", Kind::Map(&Kind::Any), "What is forgotten."),
    ],
)
.keys(Keys::SnakeOrCamel);

static RELEVANCE: Table = Table::new(
    "`relevance`",
    &[
        Field::optional("decay_days", AMOUNT, "After how many days a memory counts half."),
        Field::optional("importance_weight", AMOUNT, "The weight of importance."),
        Field::optional("recency_weight", AMOUNT, "The weight of being recent."),
    ],
)
.keys(Keys::SnakeOrCamel);

static QUEUE: Table = Table::new(
    "`queue`",
    &[
        Field::default("control_max_concurrency", SOME, "2", "Calls that steer, at a time."),
        Field::default("query_max_concurrency", SOME, "4", "Calls that read, at a time."),
        Field::default("execute_max_concurrency", SOME, "2", "Calls that act, at a time."),
        Field::default("generate_max_concurrency", SOME, "1", "Calls of the model, at a time."),
        Field::optional("lane_handlers", Kind::Block(&LANE_HANDLERS), "Who works off each lane."),
        Field::default("enable_dlq", Kind::Bool, "false", "Whether failed calls are kept."),
        Field::optional("dlq_max_size", COUNT, "How many failed calls are kept."),
        Field::optional("enable_metrics", Kind::Bool, "Whether calls are counted."),
        Field::optional("enable_alerts", Kind::Bool, "Whether a full queue is reported."),
        Field::optional("default_timeout_ms", SOME, "How long a call may take."),
        Field::optional("storage_path", Kind::Line, "Where the queue is kept."),
        Field::optional(
            "retry_policy",
            Kind::Block(&RETRY_POLICY),
            "How failed calls are repeated.",
        ),
        Field::optional("rate_limit", Kind::Block(&RATE_LIMIT), "How many calls may be made."),
        Field::optional(
            "priority_boost",
            Kind::Block(&PRIORITY_BOOST),
            "How waiting calls move up.",
        ),
        Field::optional(
            "pressure_threshold",
            COUNT,
            "From how many waiting calls the queue is full.",
        ),
        Field::optional(
            "lane_timeouts",
            Kind::Block(&LANE_TIMEOUTS),
            "How long a call of a lane may take.",
        ),
    ],
)
.keys(Keys::SnakeOrCamel);

const HANDLER: Kind = Kind::Block(&LANE_HANDLER);

static LANE_HANDLERS: Table = Table::new(
    "`lane_handlers`",
    &[
        Field::optional("control", HANDLER, "Calls that steer."),
        Field::optional("query", HANDLER, "Calls that read."),
        Field::optional("execute", HANDLER, "Calls that act."),
        Field::optional("generate", HANDLER, "Calls of the model."),
    ],
)
.keys(Keys::SnakeOrCamel);

static LANE_HANDLER: Table = Table::new(
    "the lane",
    &[
        Field::optional(
            "mode",
            Kind::Choice(&["internal", "external", "hybrid"]),
            "Who works it off.",
        ),
        Field::optional("timeout_ms", SOME, "How long a call may take."),
    ],
)
.keys(Keys::SnakeOrCamel);

static LANE_TIMEOUTS: Table = Table::new(
    "`lane_timeouts`",
    &[
        Field::optional("control", SOME, "Milliseconds for calls that steer."),
        Field::optional("query", SOME, "Milliseconds for calls that read."),
        Field::optional("execute", SOME, "Milliseconds for calls that act."),
        Field::optional("generate", SOME, "Milliseconds for calls of the model."),
    ],
)
.keys(Keys::SnakeOrCamel);

static RETRY_POLICY: Table = Table::new(
    "`retry_policy`",
    &[
        Field::optional(
            "strategy",
            Kind::Choice(&["exponential", "fixed", "none"]),
            "How waits grow.",
        ),
        Field::default("max_retries", COUNT, "3", "The most repeats."),
        Field::default("initial_delay_ms", COUNT, "100", "The first wait."),
        Field::optional("fixed_delay_ms", COUNT, "The wait of `fixed`."),
    ],
)
.keys(Keys::SnakeOrCamel);

static RATE_LIMIT: Table = Table::new(
    "`rate_limit`",
    &[
        Field::optional(
            "limit_type",
            Kind::Choice(&["per_second", "per_minute", "per_hour", "unlimited"]),
            "The time in which calls are counted.",
        ),
        Field::optional("max_operations", COUNT, "The most calls in that time."),
    ],
)
.keys(Keys::SnakeOrCamel);

static PRIORITY_BOOST: Table = Table::new(
    "`priority_boost`",
    &[
        Field::optional(
            "strategy",
            Kind::Choice(&["standard", "aggressive", "disabled"]),
            "How fast.",
        ),
        Field::optional("deadline_ms", COUNT, "After how long a call goes first."),
    ],
)
.keys(Keys::SnakeOrCamel);

static SEARCH: Table = Table::new(
    "`search`",
    &[
        Field::default("timeout", SOME, "20", "How long a search may take, in seconds."),
        Field::optional("health", Kind::Block(&HEALTH), "When an engine is left out."),
        Field::optional("cascade_order", TEXTS, "The order in which engines are asked."),
        Field::optional("headless", Kind::Map(&Kind::Any), "How a browser is used for it."),
        Field::optional("engine", Kind::Map(&Kind::Block(&ENGINE)), "The engines, by name."),
    ],
)
.keys(Keys::SnakeOrCamel);

static HEALTH: Table = Table::new(
    "`health`",
    &[
        Field::default("max_failures", SOME, "3", "After how many failures."),
        Field::default("suspend_seconds", COUNT, "60", "For how long."),
    ],
)
.keys(Keys::SnakeOrCamel);

static ENGINE: Table = Table::new(
    "the engine",
    &[
        Field::default("enabled", Kind::Bool, "true", "Whether it is asked."),
        Field::default("weight", ANY_FLOAT, "1.0", "How much its answers count."),
        Field::optional("timeout", SOME, "How long it may take, in seconds."),
    ],
)
.keys(Keys::SnakeOrCamel);

static DOCUMENT_PARSER: Table = Table::new(
    "`document_parser`",
    &[
        Field::default("enabled", Kind::Bool, "true", "Whether documents are read."),
        Field::default("max_file_size_mb", SOME, "50", "The largest document."),
        Field::optional("cache", Kind::Any, "What is kept of a document that was read."),
    ],
)
.keys(Keys::SnakeOrCamel);
