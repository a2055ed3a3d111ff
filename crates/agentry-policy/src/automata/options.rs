//! Global options as automata: the words between a command and its subcommand.

use std::collections::BTreeMap;

use agentry_commands::{GlobalOption, OptionWords, option_words};

use super::nfa::{ItemCharacters, Nfa, StateId};
use super::set::CharSet;

impl Nfa {
    /// Returns a state after any number of global options that start at `from`. After an unknown option, the
    /// next word may be its value, as in [`crate::pattern::command::starts`]; if `unknown` is given, that
    /// state follows instead, as in [`agentry_commands::CommandFront`].
    pub(crate) fn global_options(
        &mut self,
        from: StateId,
        options: &[GlobalOption],
        items: &ItemCharacters,
        unknown: Option<StateId>,
    ) -> StateId {
        let around = self.state();
        self.join(from, around);
        let value = self.state();
        let after = self.item(value, items);
        self.join(after, around);
        let region = OptionRegion { options, around, value, items, unknown };
        region.build(self);
        around
    }
}

struct OptionRegion<'a> {
    options: &'a [GlobalOption],
    around: StateId,
    value: StateId,
    items: &'a ItemCharacters,
    unknown: Option<StateId>,
}

impl OptionRegion<'_> {
    /// Builds a prefix tree of the spellings; a word that leaves the tree is an unknown option.
    fn build(&self, nfa: &mut Nfa) {
        let mut nodes: BTreeMap<String, StateId> = BTreeMap::new();
        nodes.insert(String::new(), self.around);
        nodes.insert("-".to_owned(), nfa.state());
        for option in self.options {
            for (at, c) in option.spelling.char_indices() {
                let start = &option.spelling[..at + c.len_utf8()];
                nodes.entry(start.to_owned()).or_insert_with(|| nfa.state());
            }
        }
        let unknown = nfa.state();
        let joined = nfa.state();
        nfa.edge(unknown, &self.items.any.without('='), unknown);
        nfa.edge(unknown, &CharSet::one('='), joined);
        nfa.edge(joined, &self.items.any, joined);
        self.end(nfa, unknown, OptionWords::Either);
        self.end(nfa, joined, OptionWords::One);
        for (text, node) in &nodes {
            let mut rest = self.items.any.clone();
            for (child, state) in nodes.range(text.clone()..) {
                let mut more = match child.strip_prefix(text.as_str()) {
                    Some(more) => more.chars(),
                    None => break,
                };
                if let (Some(c), None) = (more.next(), more.next()) {
                    rest = rest.without(c);
                    nfa.edge(*node, &CharSet::one(c), *state);
                }
            }
            self.leave(nfa, (text, *node), &rest, (unknown, joined));
        }
    }

    /// Adds the transitions that leave the tree at one of its nodes.
    fn leave(
        &self,
        nfa: &mut Nfa,
        (text, node): (&str, StateId),
        rest: &CharSet,
        (unknown, joined): (StateId, StateId),
    ) {
        self.end(
            nfa,
            node,
            if text.is_empty() { OptionWords::Nothing } else { option_words(self.options, text) },
        );
        if text.starts_with('+') {
            nfa.edge(node, rest, joined);
        }
        if !text.starts_with('-') {
            return;
        }
        if text.contains('=') {
            nfa.edge(node, rest, joined);
        } else {
            nfa.edge(node, &rest.without('='), unknown);
            if rest.contains('=') {
                nfa.edge(node, &CharSet::one('='), joined);
            }
        }
    }

    fn end(&self, nfa: &mut Nfa, state: StateId, drops: OptionWords) {
        let end = CharSet::one(self.items.end);
        if let (OptionWords::Either, Some(unknown)) = (drops, self.unknown) {
            nfa.edge(state, &end, unknown);
            return;
        }
        if matches!(drops, OptionWords::One | OptionWords::Either) {
            nfa.edge(state, &end, self.around);
        }
        if matches!(drops, OptionWords::Two | OptionWords::Either) {
            nfa.edge(state, &end, self.value);
        }
    }
}
