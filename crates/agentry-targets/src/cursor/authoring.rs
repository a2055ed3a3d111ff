//! What Cursor does with the agent files that people write (documentation of November 2026).

use crate::authoring::{
    AuthoringFacts, FieldValue, MetadataSyntax, UnknownFieldEffect, ValueKind, takes,
};

pub(super) static AUTHORING: AuthoringFacts = AuthoringFacts {
    syntax: MetadataSyntax::Yaml,
    broken: "the metadata is YAML, and a program that cannot parse it does not get its fields",
    repeated_key: None,
    without_metadata: None,
    required: &[],
    without_required: "",
    unknown_field: UnknownFieldEffect::Ignored,
    values: VALUES,
    named_by_file: false,
    name: None,
    tools: None,
    models: None,
    longest_prompt: None,
    rules: None,
};

const VALUES: &[FieldValue] = &[
    takes("name", ValueKind::Text, ""),
    takes("description", ValueKind::Text, ""),
    takes("model", ValueKind::Text, ""),
    takes("readonly", ValueKind::Switch, ""),
    takes("is_background", ValueKind::Switch, ""),
];
