//! Whether `parameters` is a JSON Schema: its structure, keyword by keyword.

use agentry_text::near::did_you_mean;
use agentry_text::{Findings, Map, Node, Severity, Value};

use crate::agent_md::rules::PARAMETERS;
use crate::references;

/// The words that `type` may be.
const TYPES: &[&str] = &["object", "string", "number", "integer", "boolean", "array", "null"];

/// What the value of a keyword must be.
#[derive(Clone, Copy)]
enum Shape {
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

/// The keywords whose values are looked at; others may hold anything.
const KEYWORDS: &[(&str, Shape)] = &[
    ("properties", Shape::NamedSchemas),
    ("patternProperties", Shape::NamedSchemas),
    ("$defs", Shape::NamedSchemas),
    ("definitions", Shape::NamedSchemas),
    ("dependentSchemas", Shape::NamedSchemas),
    ("additionalProperties", Shape::Schema),
    ("propertyNames", Shape::Schema),
    ("contains", Shape::Schema),
    ("not", Shape::Schema),
    ("if", Shape::Schema),
    ("then", Shape::Schema),
    ("else", Shape::Schema),
    ("items", Shape::SchemaOrSchemas),
    ("prefixItems", Shape::Schemas),
    ("anyOf", Shape::Schemas),
    ("oneOf", Shape::Schemas),
    ("allOf", Shape::Schemas),
    ("required", Shape::Texts),
    ("enum", Shape::Values),
    ("$ref", Shape::Text),
    ("title", Shape::Text),
    ("description", Shape::Text),
    ("format", Shape::Text),
    ("pattern", Shape::Text),
    ("minimum", Shape::Number),
    ("maximum", Shape::Number),
    ("exclusiveMinimum", Shape::Number),
    ("exclusiveMaximum", Shape::Number),
    ("multipleOf", Shape::Number),
    ("minLength", Shape::Count),
    ("maxLength", Shape::Count),
    ("minItems", Shape::Count),
    ("maxItems", Shape::Count),
    ("minProperties", Shape::Count),
    ("maxProperties", Shape::Count),
    ("uniqueItems", Shape::Flag),
];

/// Reports what is wrong with the parameters of `tool`.
pub(super) fn check(tool: &str, node: &Node, findings: &mut Findings) {
    let mut walk = Walk { tool, findings };
    let Some(map) = node.as_map() else {
        return walk.wrong(node, &format!("is {}, not a JSON Schema", node.value.describe()));
    };
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

/// Depth is bounded: the tree was built with a limit.
struct Walk<'w> {
    tool: &'w str,
    findings: &'w mut Findings,
}

impl Walk<'_> {
    fn wrong(&mut self, node: &Node, what: &str) {
        let message = format!("`parameters` of `{}` {what}", self.tool);
        self.findings
            .add(&PARAMETERS, node.span, message)
            .hint("write a JSON Schema: `{ type: \"object\", properties: {} }`");
    }

    fn schema(&mut self, node: &Node) {
        match &node.value {
            Value::Map(map) => self.map(map),
            Value::Bool(_) => {}
            other => {
                self.wrong(node, &format!("has {} where a schema is expected", other.describe()));
            }
        }
    }

    fn map(&mut self, map: &Map) {
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

    fn types(&mut self, node: &Node) {
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

    fn keyword(&mut self, keyword: &str, shape: Shape, node: &Node) {
        let list = node.as_list();
        let fits = match shape {
            Shape::Schema => return self.schema(node),
            Shape::SchemaOrSchemas if list.is_none() => return self.schema(node),
            Shape::NamedSchemas => match node.as_map() {
                Some(map) => return map.entries.iter().for_each(|entry| self.schema(&entry.value)),
                None => false,
            },
            Shape::Schemas | Shape::SchemaOrSchemas => match list {
                Some(items) if !items.is_empty() => {
                    return items.iter().for_each(|item| self.schema(item));
                }
                _ => false,
            },
            Shape::Texts => {
                list.is_some_and(|items| items.iter().all(|item| item.as_str().is_some()))
            }
            Shape::Values => list.is_some_and(|items| !items.is_empty()),
            Shape::Text => node.as_str().is_some(),
            Shape::Number => matches!(node.value, Value::Int(_) | Value::Float(_)),
            Shape::Count => matches!(node.value, Value::Int(0..)),
            Shape::Flag => matches!(node.value, Value::Bool(_)),
        };
        if !fits {
            let expected = shape.describe();
            self.wrong(
                node,
                &format!("has {} as `{keyword}`, not {expected}", node.value.describe()),
            );
        }
    }

    /// A required property that is not described can still be given, but never by a model that
    /// follows the schema.
    fn required(&mut self, map: &Map) {
        let Some(names) = map.get("required").and_then(Node::as_list) else { return };
        let known = map.get("properties").and_then(Node::as_map);
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

impl Shape {
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
