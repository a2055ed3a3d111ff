//! References inside a JSON Schema: a `$ref` must lead to a part of the same schema, because nothing
//! is ever fetched.

use agentry_text::{TreeMap, TreeNode, TreeValue};

/// Addresses of the schemas that every validator has built in.
const WELL_KNOWN: &[&str] = &["https://json-schema.org/", "http://json-schema.org/"];

/// Returns the value of every `$ref` in `schema` that leads nowhere.
pub(crate) fn unresolved(schema: &TreeNode) -> Vec<&TreeNode> {
    let mut found = SchemaReferences::default();
    found.collect(schema);
    let SchemaReferences { references, anchors, ids } = found;
    let leads_somewhere = |reference: &str| match reference.strip_prefix('#') {
        Some("") => true,
        Some(pointer) if pointer.starts_with('/') => at(schema, pointer).is_some(),
        Some(anchor) => anchors.contains(&anchor),
        None => {
            let base = reference.split('#').next().unwrap_or(reference);
            // A reference is relative to the `$id`, so the end of the id is enough.
            ids.iter().any(|id| id.ends_with(base))
                || WELL_KNOWN.iter().any(|known| reference.starts_with(known))
        }
    };
    references
        .into_iter()
        .filter(|node| node.as_str().is_some_and(|text| !leads_somewhere(text)))
        .collect()
}

#[derive(Default)]
struct SchemaReferences<'n> {
    references: Vec<&'n TreeNode>,
    anchors: Vec<&'n str>,
    ids: Vec<&'n str>,
}

impl<'n> SchemaReferences<'n> {
    /// Collects from a tree; the recursion is bounded because the reader limits the depth of a tree.
    fn collect(&mut self, node: &'n TreeNode) {
        match &node.value {
            TreeValue::List(items) => items.iter().for_each(|item| self.collect(item)),
            TreeValue::Map(map) => self.map(map),
            _ => {}
        }
    }

    fn map(&mut self, map: &'n TreeMap) {
        let text = |key| map.get(key).and_then(TreeNode::as_str).filter(|text| !text.is_empty());
        self.references.extend(map.get("$ref").filter(|node| node.as_str().is_some()));
        self.anchors.extend(text("$anchor").into_iter().chain(text("$dynamicAnchor")));
        self.ids.extend(text("$id"));
        for entry in &map.entries {
            // These keys hold data, not schemas: a `$ref` inside is plain text.
            if !matches!(entry.key.text.as_str(), "enum" | "const" | "default" | "examples") {
                self.collect(&entry.value);
            }
        }
    }
}

/// Returns the node that a JSON pointer leads to.
fn at<'n>(root: &'n TreeNode, pointer: &str) -> Option<&'n TreeNode> {
    let mut node = root;
    for part in pointer.split('/').skip(1) {
        // In this order: `~01` stands for `~1`, not for `/`.
        let part = part.replace("~1", "/").replace("~0", "~");
        node = match &node.value {
            TreeValue::Map(map) => map.get(&part)?,
            TreeValue::List(items) => items.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(node)
}

#[cfg(test)]
mod tests {
    use agentry_text::{FileId, Findings, SourceFile, json};

    use super::*;

    #[test]
    fn schema_references_outside_the_schema_are_found() {
        let cases = [
            (r##"{"$ref": "#"}"##, vec![]),
            (r##"{"$defs": {"a/b": {}}, "items": {"$ref": "#/$defs/a~1b"}}"##, vec![]),
            (r##"{"items": {"$ref": "#/$defs/a"}}"##, vec!["#/$defs/a"]),
            (r##"{"anyOf": [{"$ref": "#/anyOf/1"}, {}]}"##, vec![]),
            (r##"{"anyOf": [{"$ref": "#/anyOf/2"}, {}]}"##, vec!["#/anyOf/2"]),
            (r##"{"$defs": {"x": {"$anchor": "here"}}, "$ref": "#here"}"##, vec![]),
            (r##"{"$ref": "#there"}"##, vec!["#there"]),
            (r#"{"$ref": "other.json"}"#, vec!["other.json"]),
            (r#"{"$ref": "https://json-schema.org/draft/2020-12/schema"}"#, vec![]),
            (r#"{"properties": {"$ref": {"type": "string"}}}"#, vec![]),
            (r##"{"enum": [{"$ref": "#/x"}]}"##, vec![]),
        ];
        for (text, expected) in cases {
            let source = SourceFile::new(FileId(0), "x.json", text);
            let node = json::parse(&source, &mut Findings::default());
            let found: Vec<_> = unresolved(&node).iter().filter_map(|node| node.as_str()).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
