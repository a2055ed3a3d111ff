//! Collects the attributes and blocks between two braces into a map. Labelled blocks of one name meet
//! in one map, and those of one first label in the next.

use std::collections::HashMap;

use crate::problems::Problems;
use crate::source::Span;
use crate::tree::{Entry, Key, Map, Node, Value};

/// The items so far, in source order.
#[derive(Debug, Default)]
pub(super) struct Body {
    items: Vec<(Key, Item)>,
    /// The labelled blocks of one name, by their label, and where they are.
    groups: Vec<(Body, Span)>,
    /// The group of a name.
    group_of: HashMap<String, usize>,
}

#[derive(Debug)]
enum Item {
    Value(Node),
    Group(usize),
}

impl Body {
    /// Adds an attribute, or a block without labels.
    pub(super) fn add(&mut self, key: Key, value: Node) {
        self.items.push((key, Item::Value(value)));
    }

    /// Adds a block with `labels`; the first of them is inside `key`, and so on.
    pub(super) fn add_labelled(&mut self, key: Key, labels: Vec<Key>, block: Node) {
        let mut body = self;
        let mut key = key;
        for label in labels {
            body = body.blocks(key, label.span.to(block.span));
            key = label;
        }
        body.add(key, block);
    }

    /// The labelled blocks of the name `key`, to which one at `span` comes.
    #[expect(clippy::indexing_slicing, reason = "the group is known, or was just made")]
    fn blocks(&mut self, key: Key, span: Span) -> &mut Self {
        let next = self.groups.len();
        let group = *self.group_of.entry(key.text.clone()).or_insert(next);
        if group == next {
            self.items.push((key, Item::Group(group)));
            self.groups.push((Self::default(), span));
        }
        let (body, whole) = &mut self.groups[group];
        *whole = whole.to(span);
        body
    }

    /// The map; names that are there twice are reported.
    pub(super) fn into_map(mut self, problems: &mut Problems) -> Map {
        let mut map = Map::default();
        for (key, item) in self.items {
            let value = match item {
                Item::Value(value) => value,
                Item::Group(group) => {
                    let Some((body, span)) = self.groups.get_mut(group) else { continue };
                    let body = std::mem::take(body).into_map(problems);
                    Node::new(Value::Map(Map { labelled: true, ..body }), *span)
                }
            };
            map.entries.push(Entry { key, value });
        }
        problems.duplicates(&map);
        map
    }
}
