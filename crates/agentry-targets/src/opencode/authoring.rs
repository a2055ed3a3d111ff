//! What OpenCode does with the agent files that people write (version 1.18.33, November 2026).

use agentry_policy::Section;

use super::fields::is_color;
use super::ruleset;
use crate::authoring::{
    AuthoringFacts, FieldValue, MetadataSyntax, ModelFacts, RuleReading, ToolFacts,
    UnknownFieldEffect, ValueKind, needs, takes,
};
use crate::encoding::MatchOrder;

/// A value that does not fit the schema.
const ABORTS: &str = "OpenCode does not start with such a value, for any agent";

pub(super) static AUTHORING: AuthoringFacts = AuthoringFacts {
    syntax: MetadataSyntax::Yaml,
    broken: "OpenCode leaves out the agent, or loads it without its metadata and so without its rules",
    repeated_key: Some("OpenCode loads the agent without its metadata, and so without its rules"),
    without_metadata: None,
    required: &[],
    without_required: "",
    unknown_field: UnknownFieldEffect::Sent,
    values: VALUES,
    named_by_file: true,
    name: None,
    tools: Some(ToolFacts {
        names,
        is_foreign: |name| name.contains(['*', '_', '-']),
        is_complete: false,
        ignores_case: false,
        unknown: "OpenCode takes another name for a tool of a server, so the entry has no effect",
        refuses: false,
        empty: "an empty map changes nothing",
        pattern: None,
        removed: None,
    }),
    models: Some(ModelFacts {
        aliases: &[],
        fits: |model| model.contains('/') || model.contains('{'),
        form: "`provider/model`",
    }),
    longest_prompt: None,
    rules: Some(RuleReading {
        order: MatchOrder::Last,
        entry: |section, pattern, action| Some(ruleset::entry(section, pattern, action)),
    }),
};

/// Options that people mean to send to the model provider. Every other unknown key is sent as well.
const fn option(name: &'static str) -> FieldValue {
    takes(name, ValueKind::Any, "")
}

const VALUES: &[FieldValue] = &[
    needs("description", ValueKind::Text, ABORTS),
    needs("mode", ValueKind::Words(&["subagent", "primary", "all"]), ABORTS),
    needs("model", ValueKind::Text, ABORTS),
    needs("temperature", ValueKind::Number, ABORTS),
    needs("top_p", ValueKind::Number, ABORTS),
    needs("steps", ValueKind::Count, ABORTS),
    needs("maxSteps", ValueKind::Count, ABORTS),
    needs("disable", ValueKind::Switch, ABORTS),
    needs("hidden", ValueKind::Switch, ABORTS),
    needs("color", ValueKind::Form(is_color, "`#rrggbb` or a colour of the theme"), ABORTS),
    needs("tools", ValueKind::Map, ABORTS),
    takes("prompt", ValueKind::Any, ""),
    takes("options", ValueKind::Map, ""),
    // A setting of OpenCode 2.
    takes("permissions", ValueKind::Any, ""),
    option("reasoningEffort"),
    option("reasoningSummary"),
    option("textVerbosity"),
    option("thinking"),
    option("thinkingConfig"),
    option("reasoning"),
    option("effort"),
    option("include"),
    option("store"),
    option("serviceTier"),
    option("promptCacheKey"),
    option("parallelToolCalls"),
    option("maxTokens"),
    option("max_tokens"),
    option("maxOutputTokens"),
    option("topK"),
    option("top_k"),
    option("seed"),
    option("frequencyPenalty"),
    option("presencePenalty"),
];

fn names() -> Vec<(&'static str, Option<Section>)> {
    vec![
        ("bash", Some(Section::Bash)),
        ("edit", Some(Section::Edit)),
        ("write", Some(Section::Edit)),
        ("patch", Some(Section::Edit)),
        ("multiedit", Some(Section::Edit)),
        ("apply_patch", Some(Section::Edit)),
        ("read", Some(Section::Read)),
        ("glob", Some(Section::Read)),
        ("grep", Some(Section::Read)),
        ("list", Some(Section::Read)),
        ("lsp", Some(Section::Read)),
        ("task", Some(Section::Delegate)),
        ("skill", Some(Section::Skill)),
        ("question", Some(Section::Question)),
        ("webfetch", Some(Section::Webfetch)),
        ("websearch", Some(Section::Websearch)),
        ("codesearch", Some(Section::Websearch)),
        ("todowrite", None),
        ("todoread", None),
    ]
}
