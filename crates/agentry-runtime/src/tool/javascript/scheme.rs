//! The parameters of a tool: a JSON Schema that is checked quickly, whatever is in it.

use serde_json::{Map, Value};

/// The most values of a schema with its references replaced. Checking takes time in proportion to it.
const MOST_VALUES: usize = 5_000;
/// The most levels of nesting.
const MOST_LEVELS: usize = 64;

/// Replaces each reference by what it refers to, and checks that the result is a JSON Schema. A schema
/// that refers to itself could take exponential time, and is refused.
pub(in crate::tool) fn expanded(schema: &Value) -> Result<Value, String> {
    expanded_with(schema, LoopedReference::IsRefused)
}

/// The same for a schema whose owner validates the arguments again: where it refers to itself or to
/// something unknown, anything fits.
pub(in crate::tool) fn expanded_loosely(schema: &Value) -> Result<Value, String> {
    expanded_with(schema, LoopedReference::FitsAnything)
}

/// What becomes of a reference that cannot be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopedReference {
    IsRefused,
    FitsAnything,
}

fn expanded_with(schema: &Value, looped: LoopedReference) -> Result<Value, String> {
    if !schema.is_object() {
        return Err("it is not an object".to_owned());
    }
    let mut expansion = SchemaExpansion { root: schema, values: 0, open: Vec::new(), looped };
    let mut expanded = expansion.expand(schema, 0)?;
    if let Value::Object(fields) = &mut expanded {
        fields.retain(|name, _| !matches!(name.as_str(), "$defs" | "definitions"));
        if fields.get("type").is_some_and(|kind| kind != "object") {
            return Err("its type is not `object`".to_owned());
        }
    }
    super::super::toolbox::validator(&expanded)?;
    Ok(expanded)
}

/// The state of an expansion.
struct SchemaExpansion<'a> {
    root: &'a Value,
    values: usize,
    /// The references that are being replaced.
    open: Vec<String>,
    looped: LoopedReference,
}

impl SchemaExpansion<'_> {
    fn expand(&mut self, value: &Value, level: usize) -> Result<Value, String> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(format!("it has more than {MOST_VALUES} values"));
        }
        if level > MOST_LEVELS {
            return Err(format!("it has more than {MOST_LEVELS} levels"));
        }
        match value {
            Value::Object(fields) => self.object(fields, level),
            Value::Array(items) => items.iter().map(|item| self.expand(item, level + 1)).collect(),
            other => Ok(other.clone()),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, level: usize) -> Result<Value, String> {
        let is_loose = self.looped == LoopedReference::FitsAnything;
        let dynamic = ["$dynamicRef", "$recursiveRef", "$id"];
        if let Some(name) = dynamic.iter().find(|name| fields.contains_key(**name)) {
            if is_loose {
                // A name for a schema changes nothing without references to it.
                return self.object(&fields_without(fields, &dynamic), level);
            }
            return Err(format!("`{name}` is not supported"));
        }
        let Some(reference) = fields.get("$ref").and_then(Value::as_str) else {
            let each = |(name, value): (&String, &Value)| {
                // Definitions are copied to where they are used.
                let is_definition = level == 0 && matches!(name.as_str(), "$defs" | "definitions");
                let value =
                    if is_definition { value.clone() } else { self.expand(value, level + 1)? };
                Ok((name.clone(), value))
            };
            return fields
                .iter()
                .map(each)
                .collect::<Result<Map<_, _>, String>>()
                .map(Value::Object);
        };
        let target = reference.strip_prefix('#').and_then(|path| self.root.pointer(path));
        let is_looped = self.open.iter().any(|open| open == reference);
        if is_loose && (is_looped || target.is_none()) {
            return Ok(Value::Object(Map::new()));
        }
        if is_looped {
            return Err(format!("`{reference}` refers to itself"));
        }
        let target = target.ok_or_else(|| format!("`{reference}` refers to nothing here"))?.clone();
        self.open.push(reference.to_owned());
        let expanded = self.expand(&target, level + 1);
        self.open.pop();
        let others = fields_without(fields, &["$ref"]);
        let expanded = expanded?;
        if others.is_empty() {
            return Ok(expanded);
        }
        // Both count: what stands beside a reference is a further condition.
        let others = self.expand(&Value::Object(others), level + 1)?;
        Ok(serde_json::json!({ "allOf": [expanded, others] }))
    }
}

fn fields_without(fields: &Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let rest = fields.iter().filter(|(name, _)| !names.contains(&name.as_str()));
    rest.map(|(name, value)| (name.clone(), value.clone())).collect()
}
