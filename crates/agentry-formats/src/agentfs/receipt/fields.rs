//! The fields of a receipt.

use agentry_text::table::UnknownKeys;
use agentry_text::{Field, FieldKind, FieldTable};

const COUNT: FieldKind = FieldKind::Int(0, i64::MAX);
const SECONDS: FieldKind = FieldKind::Float(0.0, f64::INFINITY);
const STATUS: &[&str] = &[
    "completed",
    "rejected",
    "modified",
    "needs_escalation",
    "needs escalation",
    "failed",
    "refused",
    "parked",
    "killed",
    "cancelled",
    "over_budget",
    "skipped",
];

const REPO_REF: Field = Field::optional("repo_ref", FieldKind::Str, "The commit of the agent.");
const SESSION_FIELD: Field =
    Field::optional("session", FieldKind::Block(&SESSION), "Whose run it was.");
const TASK_FIELD: Field =
    Field::optional("task", FieldKind::Block(&TASK), "What was asked, and what came of it.");
const STEPS: Field =
    Field::optional("step_types", FieldKind::Block(&STEP_TYPES), "How many steps there were.");
const TIMES: Field = Field::optional(
    "time_metrics",
    FieldKind::Block(&TIME_METRICS),
    "How long it took, in seconds.",
);

/// The receipt of a task.
pub static RECEIPT: FieldTable = FieldTable::new(
    "the receipt",
    &[
        Field::required(
            "receipt_id",
            FieldKind::Line,
            "Which receipt it is: `rcpt_YYYYMMDD_HHMMSS_xxxxxx`.",
        ),
        REPO_REF,
        SESSION_FIELD,
        TASK_FIELD,
        STEPS,
        TIMES,
        Field::optional("receipt", FieldKind::Block(&EVOLUTION), "What the agent learnt."),
    ],
)
.unknown(UnknownKeys::Silent);

/// The receipt of a self-evolution, which needs no id.
pub(super) static EVOLUTION_RECEIPT: FieldTable = FieldTable::new(
    "the receipt",
    &[
        Field::optional("receipt_id", FieldKind::Line, "Which receipt it is."),
        REPO_REF,
        SESSION_FIELD,
        TASK_FIELD,
        STEPS,
        TIMES,
        Field::required("receipt", FieldKind::Block(&EVOLUTION), "What the agent learnt."),
    ],
)
.unknown(UnknownKeys::Silent);

pub(super) static SESSION: FieldTable = FieldTable::new(
    "`session`",
    &[
        Field::optional("session_id", FieldKind::Str, "The conversation."),
        Field::optional("agent_id", FieldKind::Str, "The agent."),
        Field::optional("user_id", FieldKind::Str, "The person."),
    ],
);

pub(super) static TASK: FieldTable = FieldTable::new(
    "`task`",
    &[
        Field::optional("input_summary", FieldKind::Str, "What was asked, in short."),
        Field::optional("output_summary", FieldKind::Str, "What came of it, in short."),
        Field::optional("outcome", FieldKind::Block(&OUTCOME), "How it ended."),
    ],
);

pub(super) static OUTCOME: FieldTable = FieldTable::new(
    "`outcome`",
    &[
        Field::optional("status", FieldKind::ChoiceAnyCase(STATUS), "How it ended."),
        Field::optional("auto_completed", FieldKind::Bool, "Whether it ended without help."),
        Field::optional("user_edits", COUNT, "How often a person changed the result."),
    ],
);

pub(super) static STEP_TYPES: FieldTable = FieldTable::new(
    "`step_types`",
    &[
        Field::optional("deterministic", COUNT, "Steps that are always done the same way."),
        Field::optional("adaptive", COUNT, "Steps that were done as the agent saw fit."),
        Field::optional("human_gate", COUNT, "Steps that waited for a person."),
    ],
);

pub(super) static TIME_METRICS: FieldTable = FieldTable::new(
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

pub(super) static EVOLUTION: FieldTable = FieldTable::new(
    "`receipt`",
    &[
        Field::required(
            "type",
            FieldKind::Known(&["self-evolution"]),
            "What kind of receipt it is.",
        ),
        Field::required("timestamp", FieldKind::Str, "When, as RFC 3339 writes times."),
        Field::optional("trigger", FieldKind::Str, "What made the agent look back."),
        Field::optional(
            "session_analysis",
            FieldKind::Block(&ANALYSIS),
            "What the session looked like.",
        ),
        Field::optional(
            "learning_items",
            FieldKind::List(&FieldKind::Block(&ITEM)),
            "What was learnt.",
        ),
        Field::optional("metadata", FieldKind::Block(&METADATA), "How many items there are."),
    ],
);

static ANALYSIS: FieldTable = FieldTable::new(
    "`session_analysis`",
    &[
        Field::optional("session_id", FieldKind::Str, "The conversation."),
        Field::optional("duration_minutes", SECONDS, "How long it was."),
        Field::optional("task_completion", FieldKind::Any, "Whether the task was done."),
        Field::optional("user_satisfaction", FieldKind::Any, "Whether the person was content."),
    ],
);

pub(super) static ITEM: FieldTable = FieldTable::new(
    "the learning item",
    &[
        Field::optional("type", FieldKind::Str, "What kind of thing was learnt."),
        Field::optional("content", FieldKind::Str, "What was learnt."),
        Field::optional("target", FieldKind::Str, "The file that it changes."),
        Field::optional(
            "risk_level",
            FieldKind::Choice(&["low", "medium", "high", "critical"]),
            "How much harm it could do.",
        ),
        Field::required(
            "status",
            FieldKind::Choice(&["applied", "user_rejected", "rejected", "skipped"]),
            "What became of it.",
        ),
        Field::optional("git_commit", FieldKind::Str, "The commit that holds it."),
        Field::optional("rejection_reason", FieldKind::Str, "Why it was refused."),
    ],
);

pub(super) static METADATA: FieldTable = FieldTable::new(
    "`metadata`",
    &[
        Field::optional("total_items", COUNT, "How many items there are."),
        Field::optional("applied", COUNT, "How many were taken over."),
        Field::optional("rejected", COUNT, "How many a person refused."),
        Field::optional("skipped", COUNT, "How many were left for later."),
    ],
);
