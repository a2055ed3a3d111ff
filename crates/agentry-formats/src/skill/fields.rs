//! The fields of a skill. The three dialects share one list and differ in what must be there.

use agentry_text::table::ANY_FLOAT;
use agentry_text::{Field, Kind, Table};

use super::Dialect;

const NAME: &str = "What programs call the skill: lower case, hyphens, the name of its folder.";
const DESCRIPTION: &str = "What the skill does and when to use it, in at most 1024 characters.";
const VERSION: &str = "The version of the skill.";
const STATUS: &[&str] = &["enabled", "disabled", "deprecated", "experimental"];
const RISK: &[&str] = &["low", "medium", "high", "critical"];
const VERSION_KINDS: &[Kind] = &[Kind::Str, ANY_FLOAT];

/// The fields that every dialect has, after those in which they differ.
macro_rules! fields {
    ($($first:expr),+ $(,)?) => {
        &[
            $($first,)+
            Field::optional("author", Kind::Str, "Who wrote it."),
            Field::optional("license", Kind::Str, "Under which licence it may be used."),
            Field::optional("tags", Kind::List(&Kind::Str), "Labels for grouping."),
            Field::optional("dependencies", Kind::List(&Kind::Str), "Other skills that it needs."),
            Field::optional("requiredTools", Kind::List(&Kind::Str), "The tools that it needs."),
            Field::optional("requires", Kind::Block(&REQUIRES), "What it needs to work."),
            Field::optional("compatibility", Kind::Str, "Where it can be used."),
            Field::optional("type", Kind::Known(&["procedural", "meta", "knowledge", "tool"]),
                "What kind of skill it is, in a market."),
            Field::optional("kind", Kind::Known(&["instruction", "persona", "tool"]),
                "What kind of skill it is, in an agent directory."),
            Field::optional("risk_level", Kind::Choice(RISK), "How much harm it could do."),
            Field::default("status", Kind::Choice(STATUS), "\"enabled\"", "Whether it is in use."),
            Field::optional("allowed-tools", Kind::Strings,
                "The tools that may be used while it runs: a list, or one string."),
            Field::optional("provider", Kind::Str, "The provider of its model."),
            Field::optional("model", Kind::Str, "The model that runs it."),
            Field::default("user-invocable", Kind::Bool, "true", "Whether people can call it.")
                .or(&["user_invocable"]),
            Field::default("disable-model-invocation", Kind::Bool, "false",
                "Whether only people can call it.").or(&["disable_model_invocation"]),
            Field::default("context", Kind::Known(&["default", "fork"]), "\"default\"",
                "Whether it runs in a conversation of its own."),
            Field::optional("agent", Kind::Str, "The agent that runs it."),
            Field::optional("argument-hint", Kind::Any, "What a person is shown as its arguments.")
                .or(&["argument_hint"]),
            Field::optional("market", Kind::Any, "What a market says of it."),
            Field::optional("json_output", Kind::Any, "The shape of its result."),
        ]
    };
}

/// `requires`.
static REQUIRES: Table = Table::new(
    "`requires`",
    &[
        Field::optional("tools", Kind::List(&Kind::Str), "The tools that it needs."),
        Field::optional("optional_tools", Kind::List(&Kind::Str), "The tools that help."),
        Field::optional("connections", Kind::List(&Kind::Any), "The services that it needs."),
    ],
);

/// A skill of AgentFS with its fields at the top level.
pub static TOP: Table = Table::new(
    "the skill",
    fields![
        Field::required("name", Kind::Line, NAME),
        Field::required("description", Kind::Str, DESCRIPTION),
        Field::optional("version", Kind::Semver, VERSION),
        Field::optional("metadata", Kind::Map(&Kind::Any), "What else is known of it."),
    ],
);

/// A skill of the Agent Skills standard.
pub static STANDARD: Table = Table::new(
    "the skill",
    fields![
        Field::required("name", Kind::Line, NAME),
        Field::required("description", Kind::Str, DESCRIPTION),
        Field::optional("version", Kind::Either(VERSION_KINDS), VERSION),
        Field::optional("metadata", Kind::Map(&Kind::Any), "What else is known of it."),
    ],
);

/// A skill of an agent directory, whose name is that of its file.
pub static DIRECTORY: Table = Table::new(
    "the skill",
    fields![
        Field::optional("name", Kind::Line, NAME),
        Field::optional("description", Kind::Str, DESCRIPTION),
        Field::optional("version", Kind::Either(VERSION_KINDS), VERSION),
        Field::optional("metadata", Kind::Map(&Kind::Any), "What else is known of it."),
    ],
);

/// A skill with its fields under `metadata`.
pub static WRAPPED: Table = Table::new(
    "the skill",
    fields![
        Field::required("metadata", Kind::Block(&METADATA), "Who the skill is."),
        Field::optional("version", Kind::Semver, VERSION),
    ],
);

/// `metadata` of such a skill.
pub static METADATA: Table = Table::new(
    "`metadata`",
    fields![
        Field::required("id", Kind::Line, "What programs call the skill."),
        Field::required("version", Kind::Semver, "The version of the skill."),
        Field::required("name", Kind::Line, "What people call the skill."),
        Field::required("description", Kind::Str, DESCRIPTION),
        Field::optional("updated_at", Kind::Any, "When it was last changed."),
        Field::optional("i18n", Kind::Any, "Its texts in other languages."),
    ],
);

/// The fields at the top level of a skill.
pub fn top_level(dialect: Dialect) -> &'static Table {
    match dialect {
        Dialect::AgentFs => &TOP,
        Dialect::AgentDir => &DIRECTORY,
        Dialect::Standard => &STANDARD,
    }
}
