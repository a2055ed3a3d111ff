//! The fields of a skill. The three dialects share one list and differ in the required fields.

use agentry_text::table::ANY_FLOAT;
use agentry_text::{Field, FieldKind, FieldTable};

use super::SkillDialect;

const NAME: &str = "What programs call the skill: lower case, hyphens, the name of its folder.";
const DESCRIPTION: &str = "What the skill does and when to use it, in at most 1024 characters.";
const VERSION: &str = "The version of the skill.";
const STATUS: &[&str] = &["enabled", "disabled", "deprecated", "experimental"];
const RISK: &[&str] = &["low", "medium", "high", "critical"];
const VERSION_KINDS: &[FieldKind] = &[FieldKind::Str, ANY_FLOAT];

/// The fields that every dialect has, after those that differ.
macro_rules! fields {
    ($($first:expr),+ $(,)?) => {
        &[
            $($first,)+
            Field::optional("author", FieldKind::Str, "Who wrote it."),
            Field::optional("license", FieldKind::Str, "Under which licence it may be used."),
            Field::optional("tags", FieldKind::List(&FieldKind::Str), "Labels for grouping."),
            Field::optional("dependencies", FieldKind::List(&FieldKind::Str), "Other skills that it needs."),
            Field::optional("requiredTools", FieldKind::List(&FieldKind::Str), "The tools that it needs."),
            Field::optional("requires", FieldKind::Block(&REQUIRES), "What it needs to work."),
            Field::optional("compatibility", FieldKind::Str, "Where it can be used."),
            Field::optional("type", FieldKind::Known(&["procedural", "meta", "knowledge", "tool"]),
                "What kind of skill it is, in a market."),
            Field::optional("kind", FieldKind::Known(&["instruction", "persona", "tool"]),
                "What kind of skill it is, in an agent directory."),
            Field::optional("risk_level", FieldKind::Choice(RISK), "How much harm it could do."),
            Field::default("status", FieldKind::Choice(STATUS), "\"enabled\"", "Whether it is in use."),
            Field::optional("allowed-tools", FieldKind::Strings,
                "The tools that may be used while it runs: a list, or one string."),
            Field::optional("provider", FieldKind::Str, "The provider of its model."),
            Field::optional("model", FieldKind::Str, "The model that runs it."),
            Field::default("user-invocable", FieldKind::Bool, "true", "Whether people can call it.")
                .or(&["user_invocable"]),
            Field::default("disable-model-invocation", FieldKind::Bool, "false",
                "Whether only people can call it.").or(&["disable_model_invocation"]),
            Field::default("context", FieldKind::Known(&["default", "fork"]), "\"default\"",
                "Whether it runs in a conversation of its own."),
            Field::optional("agent", FieldKind::Str, "The agent that runs it."),
            Field::optional("argument-hint", FieldKind::Any, "What a person is shown as its arguments.")
                .or(&["argument_hint"]),
            Field::optional("market", FieldKind::Any, "What a market says of it."),
            Field::optional("json_output", FieldKind::Any, "The shape of its result."),
        ]
    };
}

/// `requires`.
pub static REQUIRES: FieldTable = FieldTable::new(
    "`requires`",
    &[
        Field::optional("tools", FieldKind::List(&FieldKind::Str), "The tools that it needs."),
        Field::optional("optional_tools", FieldKind::List(&FieldKind::Str), "The tools that help."),
        Field::optional(
            "connections",
            FieldKind::List(&FieldKind::Any),
            "The services that it needs.",
        ),
    ],
);

/// A skill of AgentFS with its fields at the top level.
pub static TOP: FieldTable = FieldTable::new(
    "the skill",
    fields![
        Field::required("name", FieldKind::Line, NAME),
        Field::required("description", FieldKind::Str, DESCRIPTION),
        Field::optional("version", FieldKind::Semver, VERSION),
        Field::optional("metadata", FieldKind::Map(&FieldKind::Any), "What else is known of it."),
    ],
);

/// A skill of the Agent Skills standard.
pub static STANDARD: FieldTable = FieldTable::new(
    "the skill",
    fields![
        Field::required("name", FieldKind::Line, NAME),
        Field::required("description", FieldKind::Str, DESCRIPTION),
        Field::optional("version", FieldKind::Either(VERSION_KINDS), VERSION),
        Field::optional("metadata", FieldKind::Map(&FieldKind::Any), "What else is known of it."),
    ],
);

/// A skill of an agent directory, which is named after its file.
pub static DIRECTORY: FieldTable = FieldTable::new(
    "the skill",
    fields![
        Field::optional("name", FieldKind::Line, NAME),
        Field::optional("description", FieldKind::Str, DESCRIPTION),
        Field::optional("version", FieldKind::Either(VERSION_KINDS), VERSION),
        Field::optional("metadata", FieldKind::Map(&FieldKind::Any), "What else is known of it."),
    ],
);

/// A skill with its fields under `metadata`.
pub static WRAPPED: FieldTable = FieldTable::new(
    "the skill",
    fields![
        Field::required("metadata", FieldKind::Block(&METADATA), "Who the skill is."),
        Field::optional("version", FieldKind::Semver, VERSION),
    ],
);

/// `metadata` of a wrapped skill.
pub static METADATA: FieldTable = FieldTable::new(
    "`metadata`",
    fields![
        Field::required("id", FieldKind::Line, "What programs call the skill."),
        Field::required("version", FieldKind::Semver, "The version of the skill."),
        Field::required("name", FieldKind::Line, "What people call the skill."),
        Field::required("description", FieldKind::Str, DESCRIPTION),
        Field::optional("updated_at", FieldKind::Any, "When it was last changed."),
        Field::optional("i18n", FieldKind::Any, "Its texts in other languages."),
    ],
);

/// Returns the table of the top-level fields of a skill.
pub fn top_level(dialect: SkillDialect) -> &'static FieldTable {
    match dialect {
        SkillDialect::AgentFs => &TOP,
        SkillDialect::AgentDir => &DIRECTORY,
        SkillDialect::Standard => &STANDARD,
    }
}
