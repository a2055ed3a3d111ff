//! The fields of a receipt.

use agentry_text::table::Unknown;
use agentry_text::{Field, Kind, Table};

const COUNT: Kind = Kind::Int(0, i64::MAX);
const SECONDS: Kind = Kind::Float(0.0, f64::INFINITY);
const STATUS: &[&str] =
    &["completed", "rejected", "modified", "needs_escalation", "needs escalation"];

const REPO_REF: Field = Field::optional("repo_ref", Kind::Str, "The commit of the agent.");
const SESSION_FIELD: Field = Field::optional("session", Kind::Block(&SESSION), "Whose run it was.");
const TASK_FIELD: Field =
    Field::optional("task", Kind::Block(&TASK), "What was asked, and what came of it.");
const STEPS: Field =
    Field::optional("step_types", Kind::Block(&STEP_TYPES), "How many steps there were.");
const TIMES: Field =
    Field::optional("time_metrics", Kind::Block(&TIME_METRICS), "How long it took, in seconds.");

/// The receipt of a task.
pub static RECEIPT: Table = Table::new(
    "the receipt",
    &[
        Field::required(
            "receipt_id",
            Kind::Line,
            "Which receipt it is: `rcpt_YYYYMMDD_HHMMSS_xxxxxx`.",
        ),
        REPO_REF,
        SESSION_FIELD,
        TASK_FIELD,
        STEPS,
        TIMES,
        Field::optional("receipt", Kind::Block(&EVOLUTION), "What the agent learnt."),
    ],
)
.unknown(Unknown::Silent);

/// The receipt of an evolution, which needs no id.
pub(super) static EVOLUTION_RECEIPT: Table = Table::new(
    "the receipt",
    &[
        Field::optional("receipt_id", Kind::Line, "Which receipt it is."),
        REPO_REF,
        SESSION_FIELD,
        TASK_FIELD,
        STEPS,
        TIMES,
        Field::required("receipt", Kind::Block(&EVOLUTION), "What the agent learnt."),
    ],
)
.unknown(Unknown::Silent);

pub(super) static SESSION: Table = Table::new(
    "`session`",
    &[
        Field::optional("session_id", Kind::Str, "The conversation."),
        Field::optional("agent_id", Kind::Str, "The agent."),
        Field::optional("user_id", Kind::Str, "The person."),
    ],
);

pub(super) static TASK: Table = Table::new(
    "`task`",
    &[
        Field::optional("input_summary", Kind::Str, "What was asked, in short."),
        Field::optional("output_summary", Kind::Str, "What came of it, in short."),
        Field::optional("outcome", Kind::Block(&OUTCOME), "How it ended."),
    ],
);

pub(super) static OUTCOME: Table = Table::new(
    "`outcome`",
    &[
        Field::optional("status", Kind::ChoiceAnyCase(STATUS), "How it ended."),
        Field::optional("auto_completed", Kind::Bool, "Whether it ended without help."),
        Field::optional("user_edits", COUNT, "How often a person changed the result."),
    ],
);

pub(super) static STEP_TYPES: Table = Table::new(
    "`step_types`",
    &[
        Field::optional("deterministic", COUNT, "Steps that are always done the same way."),
        Field::optional("adaptive", COUNT, "Steps that were done as the agent saw fit."),
        Field::optional("human_gate", COUNT, "Steps that waited for a person."),
    ],
);

pub(super) static TIME_METRICS: Table = Table::new(
    "`time_metrics`",
    &[
        Field::optional("agent_execution_time", SECONDS, "How long the agent took."),
        Field::optional("actual_human_time", SECONDS, "How long a person took."),
        Field::optional(
            "estimated_human_time",
            SECONDS,
            "How long a person would have taken alone.",
        ),
    ],
);

pub(super) static EVOLUTION: Table = Table::new(
    "`receipt`",
    &[
        Field::required("type", Kind::Known(&["self-evolution"]), "What kind of receipt it is."),
        Field::required("timestamp", Kind::Str, "When, as RFC 3339 writes times."),
        Field::optional("trigger", Kind::Str, "What made the agent look back."),
        Field::optional(
            "session_analysis",
            Kind::Block(&ANALYSIS),
            "What the session looked like.",
        ),
        Field::optional("learning_items", Kind::List(&Kind::Block(&ITEM)), "What was learnt."),
        Field::optional("metadata", Kind::Block(&METADATA), "How many items there are."),
    ],
);

static ANALYSIS: Table = Table::new(
    "`session_analysis`",
    &[
        Field::optional("session_id", Kind::Str, "The conversation."),
        Field::optional("duration_minutes", SECONDS, "How long it was."),
        Field::optional("task_completion", Kind::Any, "Whether the task was done."),
        Field::optional("user_satisfaction", Kind::Any, "Whether the person was content."),
    ],
);

pub(super) static ITEM: Table = Table::new(
    "the learning item",
    &[
        Field::optional("type", Kind::Str, "What kind of thing was learnt."),
        Field::optional("content", Kind::Str, "What was learnt."),
        Field::optional("target", Kind::Str, "The file that it changes."),
        Field::optional(
            "risk_level",
            Kind::Choice(&["low", "medium", "high", "critical"]),
            "How much harm it could do.",
        ),
        Field::required(
            "status",
            Kind::Choice(&["applied", "user_rejected", "rejected", "skipped"]),
            "What became of it.",
        ),
        Field::optional("git_commit", Kind::Str, "The commit that holds it."),
        Field::optional("rejection_reason", Kind::Str, "Why it was refused."),
    ],
);

pub(super) static METADATA: Table = Table::new(
    "`metadata`",
    &[
        Field::optional("total_items", COUNT, "How many items there are."),
        Field::optional("applied", COUNT, "How many were taken over."),
        Field::optional("rejected", COUNT, "How many a person refused."),
        Field::optional("skipped", COUNT, "How many were left for later."),
    ],
);
