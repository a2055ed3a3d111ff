//! What a harness does with the agent files that people write: which fields it needs, which values it takes,
//! and what becomes of the rest. The checks of such files are generic over these facts.

use agentry_policy::{Action, Section};

use crate::encoding::{EncodedRule, MatchOrder};

/// The facts about the agent files of one harness. The names of its fields are in
/// [`Target::fields`](crate::Target) as well; a field that only the harness knows is in `values`.
#[derive(Debug)]
pub struct AuthoringFacts {
    /// The language of the metadata.
    pub syntax: MetadataSyntax,
    /// What the harness does with metadata that it cannot parse.
    pub broken: &'static str,
    /// What it does with a key that is written twice; `None` if that is unknown.
    pub repeated_key: Option<&'static str>,
    /// What it does with a file without metadata; `None` if it loads the file.
    pub without_metadata: Option<&'static str>,
    /// The fields that an agent needs.
    pub required: &'static [&'static str],
    /// What it does with an agent that lacks one of them.
    pub without_required: &'static str,
    /// What it does with a field that it does not know.
    pub unknown_field: UnknownFieldEffect,
    /// What its fields accept, as far as it is known.
    pub values: &'static [FieldValue],
    /// Whether the file name is the name of the agent.
    pub named_by_file: bool,
    /// Names that it does not accept.
    pub name: Option<NameRule>,
    /// The field with the list of tools, and what is known about the names in it.
    pub tools: Option<ToolFacts>,
    /// The models that it takes.
    pub models: Option<ModelFacts>,
    /// The most characters of the instructions.
    pub longest_prompt: Option<usize>,
    /// How it applies the rules of a settings file or a `permission` block.
    pub rules: Option<RuleReading>,
}

/// The language of the metadata of an agent file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataSyntax {
    /// YAML between two lines of `---`.
    Yaml,
    /// Lines of `key: value` between two lines of `---`, which only resemble YAML.
    Lines,
    /// The whole file is TOML.
    Toml,
}

/// What becomes of a field that a harness does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownFieldEffect {
    /// It is ignored.
    Ignored,
    /// It is sent to the model provider as an option.
    Sent,
    /// The agent is refused.
    Refused,
    /// The agent is refused, but the list of fields here is not complete.
    RefusedIfUnknown,
}

/// What one field accepts.
#[derive(Debug, Clone, Copy)]
pub struct FieldValue {
    /// The field.
    pub name: &'static str,
    /// The values that it accepts.
    pub kind: ValueKind,
    /// What the harness does with another value; empty if that is unknown.
    pub otherwise: &'static str,
    /// Whether it then refuses the agent, or does not start.
    pub refuses: bool,
}

/// The values that a field accepts.
#[derive(Debug, Clone, Copy)]
pub enum ValueKind {
    /// Anything.
    Any,
    /// Text.
    Text,
    /// `true` or `false`.
    Switch,
    /// A whole number above zero.
    Count,
    /// A number.
    Number,
    /// A list.
    List,
    /// A list, or a text with commas.
    Names,
    /// A map.
    Map,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A text that passes a test; the second part describes it.
    Form(fn(&str) -> bool, &'static str),
}

/// The names that a harness accepts.
#[derive(Debug, Clone, Copy)]
pub struct NameRule {
    /// Whether a name is accepted.
    pub fits: fn(&str) -> bool,
    /// Which names are accepted.
    pub form: &'static str,
    /// What happens to an agent with another name.
    pub otherwise: &'static str,
}

/// What is known about the names in a list of tools.
#[derive(Debug, Clone, Copy)]
pub struct ToolFacts {
    /// The known names, with the sections of a policy that decide about them.
    pub names: fn() -> Vec<(&'static str, Option<Section>)>,
    /// Whether a name may belong to a server, a plugin or an extension.
    pub is_foreign: fn(&str) -> bool,
    /// Whether every other name is unknown to the harness. Otherwise an extension may have added it.
    pub is_complete: bool,
    /// Whether names are compared without case.
    pub ignores_case: bool,
    /// What becomes of an unknown name.
    pub unknown: &'static str,
    /// Whether an unknown name makes the harness refuse the agent.
    pub refuses: bool,
    /// What an empty list means.
    pub empty: &'static str,
    /// What a pattern behind a name, as in `Bash(git *)`, means in this list.
    pub pattern: Option<&'static str>,
    /// Another field that removes tools, and what a pattern means there.
    pub removed: Option<(&'static str, &'static str)>,
}

/// What is known about the models of a harness.
#[derive(Debug, Clone, Copy)]
pub struct ModelFacts {
    /// Words that stand for a model.
    pub aliases: &'static [&'static str],
    /// Whether a name that is no alias looks like a model that the harness can use.
    pub fits: fn(&str) -> bool,
    /// How models are named.
    pub form: &'static str,
}

/// How a harness applies its rules.
#[derive(Debug, Clone, Copy)]
pub struct RuleReading {
    /// Which of several matching rules decides.
    pub order: MatchOrder,
    /// Encodes a rule for a section; `None` if it belongs to another section.
    pub entry: fn(Section, &str, Action) -> Option<EncodedRule>,
}

/// A field whose other values are ignored or have an unknown effect.
pub(crate) const fn takes(
    name: &'static str,
    kind: ValueKind,
    otherwise: &'static str,
) -> FieldValue {
    FieldValue { name, kind, otherwise, refuses: false }
}

/// A field with which the harness refuses the agent if it has another value.
pub(crate) const fn needs(
    name: &'static str,
    kind: ValueKind,
    otherwise: &'static str,
) -> FieldValue {
    FieldValue { name, kind, otherwise, refuses: true }
}

impl AuthoringFacts {
    /// What a field accepts.
    pub fn value(&self, name: &str) -> Option<&FieldValue> {
        self.values.iter().find(|value| value.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::TARGETS;

    #[test]
    fn facts_agree_with_the_field_tables() {
        for target in TARGETS {
            let Some(facts) = target.authoring else { continue };
            let names: BTreeSet<&str> = facts.values.iter().map(|value| value.name).collect();
            assert_eq!(names.len(), facts.values.len(), "{}: a field twice", target.name);
            for required in facts.required {
                let known = target.fields.iter().any(|field| field.name == *required);
                assert!(known, "{} {required}", target.name);
            }
            if let Some(tools) = facts.tools {
                let names = (tools.names)();
                let unique: BTreeSet<&str> = names.iter().map(|(name, _)| *name).collect();
                assert_eq!(unique.len(), names.len(), "{}: a tool twice", target.name);
            }
        }
    }
}
