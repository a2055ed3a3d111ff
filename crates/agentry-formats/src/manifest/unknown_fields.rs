//! Fields that the format does not define: kept with their paths and otherwise ignored.

use agentry_model::Agent;
use agentry_text::path::dotted;
use agentry_text::table::{UnknownKeys, is_extension};
use agentry_text::{FieldKind, FieldTable, Spanned, TreeEntry, TreeNode};

use super::fields::MANIFEST;
use super::read::put;

/// Copies the extensions and the unknown fields of the manifest `root` into `agent`.
pub(super) fn collect(root: &TreeNode, agent: &mut Agent) {
    let extensions = root.as_map().and_then(|map| map.get("extensions")).and_then(TreeNode::as_map);
    for TreeEntry { key, value } in extensions.map(|map| map.entries.as_slice()).unwrap_or_default()
    {
        put(&mut agent.extensions, &key.text, Spanned::new(value.to_data(), value.span));
    }
    table(&MANIFEST, root, "", agent);
}

fn table(table: &'static FieldTable, node: &TreeNode, path: &str, agent: &mut Agent) {
    if table.unknown == UnknownKeys::Silent {
        return;
    }
    for TreeEntry { key, value } in
        node.as_map().map(|map| map.entries.as_slice()).unwrap_or_default()
    {
        match table.field(&key.text) {
            Some(field) if !has_fields(&field.kind) => {}
            Some(field) => kind(&field.kind, value, &dotted(path, &key.text), agent),
            None => {
                let path = dotted(path, &key.text);
                let data = Spanned::new(value.to_data(), value.span);
                // A key of `extensions` wins over the same key at the top level.
                let known = agent.extensions.iter().any(|(name, _)| *name == path);
                let extension = is_extension(&key.text) && !known;
                let list = if extension { &mut agent.extensions } else { &mut agent.unknown };
                put(list, &path, data);
            }
        }
    }
}

/// Whether a field has nested fields. The field tables bound the recursion.
fn has_fields(kind: &FieldKind) -> bool {
    match kind {
        FieldKind::Block(_) => true,
        FieldKind::List(inner) | FieldKind::Map(inner) => has_fields(inner),
        _ => false,
    }
}

/// Collects from the blocks of a field. The field tables bound the recursion.
fn kind(kind: &'static FieldKind, node: &TreeNode, path: &str, agent: &mut Agent) {
    match kind {
        FieldKind::Block(block) => table(block, node, path, agent),
        FieldKind::List(item) => {
            for (at, node) in node.as_list().unwrap_or_default().iter().enumerate() {
                self::kind(item, node, &dotted(path, &at.to_string()), agent);
            }
        }
        FieldKind::Map(value) => {
            let entries = node.as_map().map(|map| map.entries.as_slice()).unwrap_or_default();
            for entry in entries {
                self::kind(value, &entry.value, &dotted(path, &entry.key.text), agent);
            }
        }
        _ => {}
    }
}
