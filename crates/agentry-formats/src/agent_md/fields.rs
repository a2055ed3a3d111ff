//! What the metadata may hold.

use agentry_model::Status;
use agentry_text::table::Keys;
use agentry_text::{Field, Kind, Table};

use crate::policy_tests;

/// The metadata of an agent file.
pub(super) static METADATA: Table = Table::new(
    "the metadata",
    &[
        Field::default(
            "version",
            Kind::Semver,
            "\"0.1.0\"",
            "The version of the definition, as a semantic version.",
        ),
        Field::default("icon", Kind::Str, "\"🤖\"", "Exactly one emoji."),
        Field::optional(
            "title",
            Kind::Line,
            "What people call the agent; the first `# Heading` when left out.",
        ),
        Field::optional(
            "description",
            Kind::Str,
            "What the agent is for; the first paragraph after the title when left out.",
        ),
        Field::default(
            "status",
            Kind::ChoiceAnyCase(Status::WORDS),
            "\"active\"",
            "Whether the definition is in use; a `disabled` agent does not start.",
        ),
        Field::optional(
            "recommended",
            Kind::Block(&RECOMMENDED),
            "What suits the agent, without being demanded.",
        ),
        Field::optional(
            "required",
            Kind::Block(&REQUIRED),
            "What must hold before the agent starts.",
        ),
        Field::optional(
            "abilities",
            Kind::Either(&[Kind::Strings, Kind::Block(&ABILITIES)]),
            "What the agent may do: a list of what is allowed, or `allow` and `deny`. When given, \
             everything else is denied.",
        ),
        Field::optional("allow", Kind::Strings, "The same as `abilities.allow`."),
        Field::optional("deny", Kind::Strings, "The same as `abilities.deny`."),
        Field::optional(
            "system",
            Kind::Str,
            "The system text; the content of `## System` when left out.",
        ),
        Field::optional("rules", Kind::Str, "Hard rules; the content of `## Rules` when left out."),
        Field::optional(
            "avatar",
            Kind::Line,
            "The address of a picture; the first image under `# Avatar` when left out.",
        ),
        policy_tests::field(policy_tests::KEY),
        Field::optional(
            "extensions",
            Kind::Map(&Kind::Any),
            "Whatever other programs keep here, by name; never looked at.",
        ),
    ],
)
.keys(Keys::AnyCase);

/// `recommended`.
pub(super) static RECOMMENDED: Table = Table::new(
    "`recommended`",
    &[
        Field::optional("models", Kind::Strings, "Models that suit the agent, the best first."),
        Field::optional(
            "capabilities",
            Kind::Strings,
            "What a model should be able to do, in free words.",
        ),
    ],
)
.keys(Keys::AnyCase);

/// `required`.
pub(super) static REQUIRED: Table = Table::new(
    "`required`",
    &[
        Field::optional(
            "env",
            Kind::Strings,
            "Environment variables that must be set and not empty.",
        ),
        Field::optional(
            "startup",
            Kind::Line,
            "The tool under `## Tools` that must succeed before the agent starts.",
        ),
    ],
)
.keys(Keys::AnyCase);

/// `abilities`, as a map.
pub(super) static ABILITIES: Table = Table::new(
    "`abilities`",
    &[
        Field::optional(
            "allow",
            Kind::Strings,
            "What is allowed: `fs`, `network`, `sh`, `sh:<command>`, `tool`, `mcp`, `browser`, `env`.",
        ),
        Field::optional("deny", Kind::Strings, "What is denied; beats `allow`."),
    ],
)
.keys(Keys::AnyCase);
