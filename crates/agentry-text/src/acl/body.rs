//! Collects the attributes and blocks between two braces into a map. Labelled blocks of the same
//! name are merged into one map, and so on for each further label.

use std::collections::HashMap;

use crate::problems::ParseProblems;
use crate::source::Span;
use crate::tree::{TreeEntry, TreeKey, TreeMap, TreeNode, TreeValue};

/// The items so far, in source order.
#[derive(Debug, Default)]
pub(super) struct AclBody {
    items: Vec<(TreeKey, AclItem)>,
    /// The labelled blocks of each name, with their span.
    groups: Vec<(AclBody, Span)>,
    /// The index of the group of a name.
    group_of: HashMap<String, usize>,
}

#[derive(Debug)]
enum AclItem {
    Value(TreeNode),
    Group(usize),
}

impl AclBody {
    /// Adds an attribute, or a block without labels.
    pub(super) fn add(&mut self, key: TreeKey, value: TreeNode) {
        self.items.push((key, AclItem::Value(value)));
    }

    /// Adds a block with `labels`; each label is a key inside the one before.
    pub(super) fn add_labelled(&mut self, key: TreeKey, labels: Vec<TreeKey>, block: TreeNode) {
        let mut body = self;
        let mut key = key;
        for label in labels {
            body = body.blocks(key, label.span.to(block.span));
            key = label;
        }
        body.add(key, block);
    }

    /// Returns the labelled blocks of the name `key`, and extends their span by `span`.
    #[expect(clippy::indexing_slicing, reason = "the group is known, or was just made")]
    fn blocks(&mut self, key: TreeKey, span: Span) -> &mut Self {
        let next = self.groups.len();
        let group = *self.group_of.entry(key.text.clone()).or_insert(next);
        if group == next {
            self.items.push((key, AclItem::Group(group)));
            self.groups.push((Self::default(), span));
        }
        let (body, whole) = &mut self.groups[group];
        *whole = whole.to(span);
        body
    }

    /// Returns the map and reports duplicate names.
    pub(super) fn into_map(mut self, problems: &mut ParseProblems) -> TreeMap {
        let mut map = TreeMap::default();
        for (key, item) in self.items {
            let value = match item {
                AclItem::Value(value) => value,
                AclItem::Group(group) => {
                    let Some((body, span)) = self.groups.get_mut(group) else { continue };
                    // A group occurs once among the items, so it can be moved out.
                    let body = std::mem::take(body).into_map(problems);
                    TreeNode::new(TreeValue::Map(TreeMap { labelled: true, ..body }), *span)
                }
            };
            map.entries.push(TreeEntry { key, value });
        }
        problems.duplicates(&map);
        map
    }
}
