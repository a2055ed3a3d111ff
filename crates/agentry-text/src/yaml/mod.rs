//! YAML: read into the one tree, and written from plain data.
//!
//! The parser gives events; `build` makes the tree of them, `scalar` says what a plain word is,
//! `syntax` says in our own words what the parser did not like, `strict` refuses what it should not
//! have liked, and `flow` lets brackets close where people write them. [`emit()`] goes the other way.

mod binary;
mod build;
mod characters;
mod date;
mod emit;
mod flow;
mod maps;
mod places;
mod rules;
mod scalar;
mod strict;
mod surrogates;
mod syntax;
mod tags;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::diagnostic::Findings;
use crate::source::{Source, Span};
use crate::tree::Node;
use crate::tree_rules::TOO_MANY_VALUES;

pub use emit::emit;
pub use rules::{RULES, YAML_DOCUMENTS, YAML_SYNTAX, YAML_TAG};
pub use scalar::{ambiguous, resolve};

/// Which words of a plain scalar are more than text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `yes`, `on`, `017` and `12:30` are no strings: what the manifest's reference reads.
    V1_1,
    /// The core schema, which everything else reads.
    V1_2,
}

/// Reads the part `range` of `source` (a whole file, or its front matter). What follows a mistake of
/// syntax is left out; a text that holds nothing is null.
pub fn parse(
    source: &Source,
    range: Range<usize>,
    version: Version,
    findings: &mut Findings,
) -> Node {
    let part = source.text.get(range.clone()).unwrap_or("");
    let forbidden = characters::first_forbidden(part, version);
    let allowed = part.get(..forbidden.unwrap_or(part.len())).unwrap_or(part);
    let excess = flow::excess(allowed);
    let text = allowed.get(..excess.unwrap_or(allowed.len())).unwrap_or(allowed);
    let is_cut = text.len() < part.len();
    let disguised = surrogates::disguised(text);
    let is_disguised = disguised.is_some();
    let (file, base) = (source.id, range.start);
    let input = build::Input { text, file, base, version, is_cut, is_disguised };
    let scanned = disguised.as_deref().unwrap_or(text);
    let mut outcome = build::read(&input, scanned);
    if outcome.error.as_ref().is_some_and(flow::may_mend) {
        outcome = build::read(&input, &flow::joined(scanned));
    }
    match (excess, forbidden) {
        (Some(at), _) => {
            let span = Span::new(source.id, range.start + at, range.start + at + 1);
            findings.add(&TOO_MANY_VALUES, span, build::too_many_values());
        }
        (None, Some(at)) => characters::report(source, range.start + at, findings),
        (None, None) => {}
    }
    findings.extend(outcome.findings);
    outcome.node
}
