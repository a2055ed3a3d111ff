//! Checks that `parameters` is a JSON Schema, keyword by keyword.

use agentry_text::suggestion::did_you_mean;
use agentry_text::{Findings, Severity, TreeMap, TreeNode, TreeValue};

use crate::agent_md::rules::PARAMETERS;
use crate::references;

/// The allowed values of `type`.
const TYPES: &[&str] = &["object", "string", "number", "integer", "boolean", "array", "null"];

/// The shape that the value of a keyword must have.
#[derive(Clone, Copy)]
enum KeywordShape {
    Schema,
    SchemaOrSchemas,
    Schemas,
    NamedSchemas,
    Texts,
    Text,
    Number,
    Count,
    Flag,
    Values,
}

/// The keywords whose values are checked; any other may have any value.
const KEYWORDS: &[(&str, KeywordShape)] = &[
    ("properties", KeywordShape::NamedSchemas),
    ("patternProperties", KeywordShape::NamedSchemas),
    ("$defs", KeywordShape::NamedSchemas),
    ("definitions", KeywordShape::NamedSchemas),
    ("dependentSchemas", KeywordShape::NamedSchemas),
    ("additionalProperties", KeywordShape::Schema),
    ("propertyNames", KeywordShape::Schema),
    ("contains", KeywordShape::Schema),
    ("not", KeywordShape::Schema),
    ("if", KeywordShape::Schema),
    ("then", KeywordShape::Schema),
    ("else", KeywordShape::Schema),
    ("items", KeywordShape::SchemaOrSchemas),
    ("prefixItems", KeywordShape::Schemas),
    ("anyOf", KeywordShape::Schemas),
    ("oneOf", KeywordShape::Schemas),
    ("allOf", KeywordShape::Schemas),
    ("required", KeywordShape::Texts),
    ("enum", KeywordShape::Values),
    ("$ref", KeywordShape::Text),
    ("title", KeywordShape::Text),
    ("description", KeywordShape::Text),
    ("format", KeywordShape::Text),
    ("pattern", KeywordShape::Text),
    ("minimum", KeywordShape::Number),
    ("maximum", KeywordShape::Number),
    ("exclusiveMinimum", KeywordShape::Number),
    ("exclusiveMaximum", KeywordShape::Number),
    ("multipleOf", KeywordShape::Number),
    ("minLength", KeywordShape::Count),
    ("maxLength", KeywordShape::Count),
    ("minItems", KeywordShape::Count),
    ("maxItems", KeywordShape::Count),
    ("minProperties", KeywordShape::Count),
    ("maxProperties", KeywordShape::Count),
    ("uniqueItems", KeywordShape::Flag),
];

/// Reports problems with the parameters of `tool`.
pub(super) fn check(tool: &str, node: &TreeNode, findings: &mut Findings) {
    let mut walk = ParameterWalk { tool, findings };
    let Some(map) = node.as_map() else {
        return walk.wrong(node, &format!("is {}, not a JSON Schema", node.value.describe()));
    };
    // A missing `type` is accepted; an unknown one is reported by `types`.
    match map.get("type") {
        Some(kind)
            if kind.as_str().is_some_and(|word| word != "object" && TYPES.contains(&word)) =>
        {
            walk.wrong(kind, "describes something else than an object");
        }
        _ => {}
    }
    walk.map(map);
    for reference in references::unresolved(node) {
        let written = reference.as_str().unwrap_or("");
        let message = format!("`$ref` in `parameters` of `{tool}` leads nowhere: `{written}`");
        findings
            .add(&PARAMETERS, reference.span, message)
            .hint("define it in `$defs`, and write `#/$defs/<name>`; nothing is fetched");
    }
}

/// The recursion is bounded, because the evaluated tree has a depth limit.
struct ParameterWalk<'w> {
    tool: &'w str,
    findings: &'w mut Findings,
}

impl ParameterWalk<'_> {
    fn wrong(&mut self, node: &TreeNode, what: &str) {
        let message = format!("`parameters` of `{}` {what}", self.tool);
        self.findings
            .add(&PARAMETERS, node.span, message)
            .hint("write a JSON Schema: `{ type: \"object\", properties: {} }`");
    }

    fn schema(&mut self, node: &TreeNode) {
        match &node.value {
            TreeValue::Map(map) => self.map(map),
            // `true` and `false` are schemas, too.
            TreeValue::Bool(_) => {}
            other => {
                self.wrong(node, &format!("has {} where a schema is expected", other.describe()));
            }
        }
    }

    fn map(&mut self, map: &TreeMap) {
        if let Some(kind) = map.get("type") {
            self.types(kind);
        }
        for (keyword, shape) in KEYWORDS {
            if let Some(node) = map.get(keyword) {
                self.keyword(keyword, *shape, node);
            }
        }
        self.required(map);
    }

    fn types(&mut self, node: &TreeNode) {
        let words = node.as_list().unwrap_or(std::slice::from_ref(node));
        for word in words {
            let Some(text) = word.as_str() else {
                self.wrong(word, &format!("has {} as `type`", word.value.describe()));
                continue;
            };
            if !TYPES.contains(&text) {
                let message =
                    format!("`parameters` of `{}` has the unknown type `{text}`", self.tool);
                let hint = did_you_mean(text, TYPES.iter().copied());
                let all = || format!("use one of `{}`", TYPES.join("`, `"));
                self.findings.add(&PARAMETERS, word.span, message).hint(hint.unwrap_or_else(all));
            }
        }
    }

    fn keyword(&mut self, keyword: &str, shape: KeywordShape, node: &TreeNode) {
        let list = node.as_list();
        let fits = match shape {
            // The arms that return leave it to the nested schemas to report problems.
            KeywordShape::Schema => return self.schema(node),
            KeywordShape::SchemaOrSchemas if list.is_none() => return self.schema(node),
            KeywordShape::NamedSchemas => match node.as_map() {
                Some(map) => return map.entries.iter().for_each(|entry| self.schema(&entry.value)),
                None => false,
            },
            KeywordShape::Schemas | KeywordShape::SchemaOrSchemas => match list {
                Some(items) if !items.is_empty() => {
                    return items.iter().for_each(|item| self.schema(item));
                }
                _ => false,
            },
            KeywordShape::Texts => {
                list.is_some_and(|items| items.iter().all(|item| item.as_str().is_some()))
            }
            // An empty `enum` would allow no value at all.
            KeywordShape::Values => list.is_some_and(|items| !items.is_empty()),
            KeywordShape::Text => node.as_str().is_some(),
            KeywordShape::Number => matches!(node.value, TreeValue::Int(_) | TreeValue::Float(_)),
            KeywordShape::Count => matches!(node.value, TreeValue::Int(0..)),
            KeywordShape::Flag => matches!(node.value, TreeValue::Bool(_)),
        };
        if !fits {
            let expected = shape.describe();
            self.wrong(
                node,
                &format!("has {} as `{keyword}`, not {expected}", node.value.describe()),
            );
        }
    }

    /// Reports required properties that are not described: a language model that follows the schema never
    /// sends them. Only a warning, because a call may still pass them.
    fn required(&mut self, map: &TreeMap) {
        let Some(names) = map.get("required").and_then(TreeNode::as_list) else { return };
        let known = map.get("properties").and_then(TreeNode::as_map);
        for name in names {
            let Some(text) = name.as_str() else { continue };
            if known.is_none_or(|known| known.get(text).is_none()) {
                let keys = known
                    .into_iter()
                    .flat_map(|map| map.entries.iter().map(|e| e.key.text.as_str()));
                let hint = did_you_mean(text, keys);
                let message = format!(
                    "`parameters` of `{}` requires `{text}`, which `properties` does not have",
                    self.tool
                );
                let found = self.findings.add(&PARAMETERS, name.span, message);
                found.severity = Severity::Warning;
                found.hint(hint.unwrap_or_else(|| format!("describe `{text}` in `properties`")));
            }
        }
    }
}

impl KeywordShape {
    fn describe(self) -> &'static str {
        match self {
            Self::Schema | Self::SchemaOrSchemas => "a schema",
            Self::Schemas => "a list of schemas",
            Self::NamedSchemas => "a map of schemas",
            Self::Texts => "a list of strings",
            Self::Text => "a string",
            Self::Number => "a number",
            Self::Count => "a whole number from 0",
            Self::Flag => "`true` or `false`",
            Self::Values => "a list of values",
        }
    }
}
