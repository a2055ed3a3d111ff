//! The fields of `agent.toml`: one table for the reader, the schema and the reference page.

use agentry_model::AgentMode;
use agentry_policy::Action;
use agentry_text::table::{TextForm, UnknownKeys};
use agentry_text::{Field, FieldKind, FieldTable};

use crate::agentry_block;
use crate::policy_tests;

const NAMES: FieldKind = FieldKind::List(&FieldKind::Str);

/// The form of an agent's name.
pub(super) static NAME: TextForm = TextForm {
    title: "kebab-case name",
    many: "kebab-case names",
    fits: is_kebab_case,
    pattern: "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?",
    trims: false,
    examples: &["reviewer", "code-reviewer-2"],
    others: &["", "Reviewer", "code_reviewer", "-reviewer", "reviewer-", " reviewer", "prüfer"],
};

/// Whether `name` is a slug that starts and ends with a letter or digit.
pub(super) fn is_kebab_case(name: &str) -> bool {
    let sign = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-');
    !name.is_empty() && name.chars().all(sign) && !name.starts_with('-') && !name.ends_with('-')
}

/// The table of `agent.toml`.
pub(super) static AGENT: FieldTable = FieldTable::new(
    "`agent.toml`",
    &[
        Field::required(
            "name",
            FieldKind::Form(&NAME),
            "What programs call the agent: lower-case letters, digits and hyphens, the name of its \
             directory.",
        ),
        Field::optional("display_name", FieldKind::Line, "What people call the agent."),
        Field::required(
            "description",
            FieldKind::Line,
            "What the agent is for, on one line, without a full stop at the end.",
        ),
        Field::default(
            "mode",
            FieldKind::Choice(AgentMode::WORDS),
            "\"all\"",
            "Whether people start the agent (`primary`), other agents do (`subagent`), or both.",
        ),
        Field::default("tags", NAMES, "[]", "Labels for grouping."),
        Field::optional(
            "max_turns",
            FieldKind::Int(1, i64::MAX),
            "The most rounds of the agent's loop.",
        ),
        Field::default("skills", NAMES, "[]", "The skills that are loaded, by name."),
        Field::default(
            "context",
            NAMES,
            "[]",
            "Files that are put into the context, relative to the agent's directory.",
        ),
        Field::default(
            "rules",
            NAMES,
            "[]",
            "Rule files of the workspace: `languages/nix` is `rules/languages/nix.md`.",
        ),
        Field::optional(
            "permissions",
            FieldKind::Block(&PERMISSIONS),
            "What each tool may do; a tool without a section asks, except reading in the workspace and questions.",
        ),
        policy_tests::field(policy_tests::KEY),
        Field::optional(
            "extensions",
            FieldKind::Map(&FieldKind::Any),
            "Values for other programs; carried and never acted upon.",
        ),
        Field::excluded(
            "model",
            "which model runs an agent is the choice of each machine, not of the definition",
        ),
        Field::excluded("prompt", "the system prompt is the file `system-prompt.md` beside it"),
        Field::excluded(
            "mcp",
            "MCP servers are set up where the agent is deployed, not in its definition",
        ),
        Field::excluded(
            "hooks",
            "only one harness has lifecycle hooks; the others could not follow them",
        ),
    ],
);

/// `[permissions]`: the six tools of the specification, and those of newer harnesses.
pub(super) static PERMISSIONS: FieldTable = FieldTable::new(
    "`[permissions]`",
    &[
        section("bash", "Shell commands."),
        section("edit", "Creating, changing, moving and deleting files."),
        section("webfetch", "Fetching web addresses."),
        section("websearch", "Searching the web."),
        section("question", "Asking the person questions."),
        section("external_directory", "Files outside the workspace."),
        section("read", "Reading files."),
        section("mcp", "Tools of MCP servers, as `server/tool`."),
        section("tool", "Other tools, by name."),
        section("skill", "Skills, by name."),
        section("delegate", "Handing work to other agents, by name."),
        section("env", "Environment variables, by name."),
    ],
)
.unknown(UnknownKeys::Error);

/// `[permissions.TOOL]`.
pub(super) static SECTION: FieldTable = FieldTable::new(
    "the permission",
    &[
        Field::required(
            "intent",
            FieldKind::Choice(Action::WORDS),
            "The answer when no rule matches: `allow`, `ask` or `deny`.",
        ),
        Field::default(
            "rules",
            FieldKind::List(&FieldKind::Form(&agentry_block::PERMISSION_RULE)),
            "[]",
            "Exceptions in order, `pattern:action`; the first that matches decides.",
        ),
        policy_tests::MATCH,
        policy_tests::NOT_MATCH,
    ],
);

const fn section(name: &'static str, doc: &'static str) -> Field {
    Field::optional(name, FieldKind::Block(&SECTION), doc)
}
