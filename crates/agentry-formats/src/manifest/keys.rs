//! Keys that must be strings. YAML reads `1:`, `on:` and `null:` as other types, and the reference rejects
//! a manifest with such a key for a field, a provider or a server.

use agentry_text::{Findings, Fix, TreeMap, TreeNode};

use super::rules::KEY_NOT_TEXT;

/// Reports keys that are not strings where a name is expected. Inside a value of `extensions` any key is
/// allowed.
pub(super) fn check(root: &TreeNode, findings: &mut Findings) {
    let Some(map) = root.as_map() else { return };
    names(map, findings);
    let at = |path: &[&str]| {
        path.iter().try_fold(root, |node, key| node.as_map().and_then(|map| map.get(key)))
    };
    for path in [&["auth", "providers"][..], &["agents"], &["extensions"]] {
        if let Some(map) = at(path).and_then(TreeNode::as_map) {
            names(map, findings);
        }
    }
    for path in [&["skills"][..], &["tools", "mcp"]] {
        for map in at(path)
            .and_then(TreeNode::as_list)
            .unwrap_or_default()
            .iter()
            .filter_map(TreeNode::as_map)
        {
            names(map, findings);
        }
    }
    for function in at(&["expose"]).and_then(TreeNode::as_list).unwrap_or_default() {
        let input = function.as_map().and_then(|map| map.get("input"));
        if let Some(map) = input.and_then(TreeNode::as_map) {
            names(map, findings);
        }
    }
}

fn names(map: &TreeMap, findings: &mut Findings) {
    for entry in &map.entries {
        let Some(other) = entry.key.other.as_deref() else { continue };
        let text = &entry.key.text;
        let quoted = agentry_text::yaml::emit(&agentry_text::Data::str(text));
        findings
            .add(
                &KEY_NOT_TEXT,
                entry.key.span,
                format!("the key `{text}` is {}, not a string", other.describe()),
            )
            .hint("put it in quotes")
            .fix(Fix::unsafe_("put it in quotes", entry.key.span, quoted.trim_end()));
    }
}
