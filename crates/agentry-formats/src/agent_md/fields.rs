//! The fields of the metadata.

use agentry_model::AgentStatus;
use agentry_policy::Ability;
use agentry_text::table::{KeyMatching, TextForm};
use agentry_text::{Field, FieldKind, FieldTable};

use super::metadata::is_one_emoji;
use crate::policy_tests;
use crate::text_checks::is_variable;
/// The form of an ability.
pub(super) static ABILITY: TextForm = TextForm {
    title: "ability",
    many: "abilities",
    fits: |text| text.parse::<Ability>().is_ok(),
    pattern: "[Ff][Ss]|[Nn][Ee][Tt][Ww][Oo][Rr][Kk]|[Ss][Hh](?::[A-Za-z0-9._-]+)?|[Tt][Oo][Oo][Ll]|\
              [Mm][Cc][Pp]|[Bb][Rr][Oo][Ww][Ss][Ee][Rr]|[Ee][Nn][Vv]",
    trims: true,
    examples: &["fs", "network", "sh", "sh:git", "tool", "mcp", "browser", "env"],
    others: &["", "disk", "*", "fs:src", "sh:", "sh:git push", "sh:git:push"],
};
/// The form of an icon: one emoji.
pub(super) static ICON: TextForm = TextForm {
    title: "emoji",
    many: "emojis",
    fits: is_one_emoji,
    // One grapheme cluster: emoji joined by U+200D, a flag of two letters, or a keycap.
    pattern: concat!(
        "(?:\\p{Regional_Indicator}{2}|[0-9#*]\\uFE0F?\\u20E3|",
        "\\p{Extended_Pictographic}[\\uFE0E\\uFE0F]?\\p{Emoji_Modifier}?[\u{E0020}-\u{E007F}]*",
        "(?:\\u200D\\p{Extended_Pictographic}[\\uFE0E\\uFE0F]?\\p{Emoji_Modifier}?)*)"
    ),
    trims: true,
    examples: &["🤖", "🧭", "⚙️", "👩🏽‍💻", "🇫🇷", "1️⃣"],
    others: &["", "A", "1", "🤖🤖", ":robot:", "robot 🤖"],
};
/// The name of an environment variable.
pub(super) static VARIABLE: TextForm = TextForm {
    title: "variable name",
    many: "variable names",
    fits: is_variable,
    pattern: "[A-Za-z_][A-Za-z0-9_]*",
    trims: false,
    examples: &["API_KEY", "_x1"],
    others: &["", "1_KEY", "API-KEY", "API KEY"],
};

/// The metadata of an agent file.
pub(super) static METADATA: FieldTable = FieldTable::new(
    "the metadata",
    &[
        Field::default(
            "version",
            FieldKind::Semver,
            "\"0.1.0\"",
            "The version of the definition, as a semantic version.",
        ),
        Field::default("icon", FieldKind::Form(&ICON), "\"🤖\"", "Exactly one emoji."),
        Field::optional(
            "title",
            FieldKind::Line,
            "What people call the agent; the first `# Heading` when left out.",
        ),
        Field::optional(
            "description",
            FieldKind::Str,
            "What the agent is for; the first paragraph after the title when left out.",
        ),
        Field::default(
            "status",
            FieldKind::ChoiceAnyCase(AgentStatus::WORDS),
            "\"active\"",
            "Whether the definition is in use; a `disabled` agent does not start.",
        ),
        Field::optional(
            "recommended",
            FieldKind::Block(&RECOMMENDED),
            "What suits the agent, without being demanded.",
        ),
        Field::optional(
            "required",
            FieldKind::Block(&REQUIRED),
            "What must hold before the agent starts.",
        ),
        Field::optional(
            "abilities",
            FieldKind::Either(&[FieldKind::Forms(&ABILITY), FieldKind::Block(&ABILITIES)]),
            "What the agent may do: a list of what is allowed, or `allow` and `deny`. An allow list \
             denies everything else.",
        ),
        Field::optional("allow", FieldKind::Forms(&ABILITY), "The same as `abilities.allow`."),
        Field::optional("deny", FieldKind::Forms(&ABILITY), "The same as `abilities.deny`."),
        Field::optional(
            "system",
            FieldKind::Str,
            "The system text; the content of `## System` when left out.",
        ),
        Field::optional(
            "rules",
            FieldKind::Str,
            "Hard rules; the content of `## Rules` when left out.",
        ),
        Field::optional(
            "avatar",
            FieldKind::Line,
            "The address of a picture; the first image under `# Avatar` when left out.",
        ),
        policy_tests::field(policy_tests::KEY),
        Field::optional(
            "extensions",
            FieldKind::Map(&FieldKind::Any),
            "Whatever other programs keep here, by name; never looked at.",
        ),
    ],
)
.keys(KeyMatching::AnyCase);

/// `recommended`.
pub(super) static RECOMMENDED: FieldTable = FieldTable::new(
    "`recommended`",
    &[
        Field::optional(
            "models",
            FieldKind::Strings,
            "Models that suit the agent, the best first.",
        ),
        Field::optional(
            "capabilities",
            FieldKind::Strings,
            "What a model should be able to do, in free words.",
        ),
    ],
)
.keys(KeyMatching::AnyCase);

/// `required`.
pub(super) static REQUIRED: FieldTable = FieldTable::new(
    "`required`",
    &[
        Field::optional(
            "env",
            FieldKind::Forms(&VARIABLE),
            "Environment variables that must be set and not empty.",
        ),
        Field::optional(
            "startup",
            FieldKind::Line,
            "The tool under `## Tools` that must succeed before the agent starts.",
        ),
    ],
)
.keys(KeyMatching::AnyCase);

/// `abilities`, as a map.
pub(super) static ABILITIES: FieldTable = FieldTable::new(
    "`abilities`",
    &[
        Field::optional(
            "allow",
            FieldKind::Forms(&ABILITY),
            "What is allowed: `fs`, `network`, `sh`, `sh:<command>`, `tool`, `mcp`, `browser`, `env`.",
        ),
        Field::optional("deny", FieldKind::Forms(&ABILITY), "What is denied; beats `allow`."),
    ],
)
.keys(KeyMatching::AnyCase);
