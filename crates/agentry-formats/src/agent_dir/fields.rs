//! The fields of the Markdown files of an agent directory.

use agentry_model::{MisfirePolicy, OverlapPolicy};
use agentry_text::table::{KeyMatching, UnknownKeys};
use agentry_text::{Field, FieldKind, FieldTable};

use crate::mcp;

/// The metadata of `schedules/*.md`.
pub static SCHEDULE: FieldTable = FieldTable::new(
    "the schedule",
    &[
        Field::required(
            "cron",
            FieldKind::Line,
            "When it runs: `0 9 * * mon-fri`, with seconds in front, or `@daily`.",
        ),
        Field::optional("name", FieldKind::Line, "What it is called; the file's name if left out."),
        Field::default("enabled", FieldKind::Bool, "true", "Whether it runs at all."),
        Field::default(
            "timezone",
            FieldKind::Line,
            "\"UTC\"",
            "An IANA time zone: `Europe/Berlin`.",
        ),
        Field::default(
            "overlap",
            FieldKind::Choice(OverlapPolicy::WORDS),
            "\"skip\"",
            "What happens when the last run is still going.",
        ),
        Field::default(
            "misfire",
            FieldKind::Choice(MisfirePolicy::WORDS),
            "\"once\"",
            "What happens to runs that were missed.",
        ),
        Field::optional(
            "jitter",
            FieldKind::Line,
            "The most by which a run is delayed at random: `30s`, `5m`, `1h`.",
        ),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

/// The kinds of tool.
pub const KINDS: &[&str] = &["mcp", "script"];

const KIND: Field =
    Field::required("kind", FieldKind::Choice(KINDS), "What the tool is: `mcp` or `script`.");
const NAME: Field =
    Field::optional("name", FieldKind::Line, "What it is called; the file's name if left out.");

/// The metadata of `tools/*.md` with `kind: mcp`.
pub static MCP_TOOL: FieldTable = FieldTable::new(
    "the MCP server",
    &[
        KIND,
        NAME,
        mcp::TRANSPORT,
        mcp::COMMAND,
        mcp::ARGS,
        mcp::CWD,
        mcp::URL,
        mcp::HEADERS,
        mcp::ENV,
        mcp::ENABLED,
        mcp::DISABLED,
        mcp::OPTIONAL,
        mcp::TIMEOUT,
        mcp::OTHER_TIMEOUT,
        mcp::REQUIRES,
        mcp::OAUTH,
    ],
)
.keys(KeyMatching::SnakeOrCamel);

/// The metadata of `tools/*.md` with `kind: script`.
pub static SCRIPT_TOOL: FieldTable = FieldTable::new(
    "the script tool",
    &[
        KIND,
        NAME,
        Field::optional(
            "description",
            FieldKind::Str,
            "What it does, for the model; the text after the metadata if left out.",
        ),
        Field::required(
            "path",
            FieldKind::Line,
            "The `.js` or `.mjs` file, relative to the agent's directory, else to the workspace.",
        ),
        Field::default(
            "allowed_tools",
            FieldKind::List(&FieldKind::Str),
            "[]",
            "The tools that the script may call.",
        ),
        Field::optional("limits", FieldKind::Block(&LIMITS), "What the script may use."),
        Field::optional(
            "inputs",
            FieldKind::Map(&FieldKind::Any),
            "The JSON Schema of the object that the script is called with.",
        ),
    ],
)
.keys(KeyMatching::SnakeOrCamel);

/// The least, most and default time limit of a script, in milliseconds.
pub const TIMEOUT_MS: (i64, i64, i64) = (1, 600_000, 30_000);
/// The least, most and default number of tool calls of a script.
pub const MAX_TOOL_CALLS: (i64, i64, i64) = (1, 1_000, 20);
/// The least, most and default size of a script's output, in bytes.
pub const MAX_OUTPUT_BYTES: (i64, i64, i64) = (1, 16_777_216, 65_536);

/// `limits` of a script.
pub static LIMITS: FieldTable = FieldTable::new(
    "`limits`",
    &[
        Field::default(
            "timeoutMs",
            FieldKind::Int(TIMEOUT_MS.0, TIMEOUT_MS.1),
            "30000",
            "How long a call may take, in milliseconds.",
        ),
        Field::default(
            "maxToolCalls",
            FieldKind::Int(MAX_TOOL_CALLS.0, MAX_TOOL_CALLS.1),
            "20",
            "How many tools a call may call.",
        ),
        Field::default(
            "maxOutputBytes",
            FieldKind::Int(MAX_OUTPUT_BYTES.0, MAX_OUTPUT_BYTES.1),
            "65536",
            "How many bytes of each inner result are kept.",
        ),
    ],
)
.keys(KeyMatching::SnakeOrCamel)
.unknown(UnknownKeys::Error);
