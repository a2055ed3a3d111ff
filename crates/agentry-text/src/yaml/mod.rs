//! YAML: parsed into [`TreeNode`], and written from plain data by [`emit()`].
//!
//! The parser (`saphyr`) gives events. `build` makes the tree, `scalar` resolves plain scalars,
//! `syntax` writes the messages for syntax errors, `strictness` rejects text that only this parser
//! accepts, and `flow` accepts brackets that are closed without indentation. `pyyaml` parses YAML
//! 1.1, exactly as the manifest's reference does. A text that it refuses is parsed again by
//! `saphyr` for the better message.

mod binary;
mod build;
mod characters;
mod date;
mod emit;
mod flow;
mod maps;
mod offsets;
mod pyyaml;
mod rules;
mod scalar;
mod strictness;
mod surrogates;
mod syntax;
mod tagged_scalar;
mod tags;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::diagnostic::Findings;
use crate::rule::LintRule;
use crate::source::{SourceFile, Span};
use crate::tree::TreeNode;
use crate::tree_rules::{DUPLICATE_KEY, TOO_MANY_VALUES};

pub use emit::emit;
pub use rules::{RULES, YAML_DOCUMENTS, YAML_RARE_TAG, YAML_SYNTAX, YAML_TAG};
pub use scalar::{ambiguous, resolve};

/// Which plain scalars are not strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlVersion {
    /// `yes`, `on`, `017` and `12:30` are not strings. The manifest's reference reads this version.
    V1_1,
    /// The core schema, for all other formats.
    V1_2,
}

/// Parses the part `range` of `source`: a whole file, or its front matter.
/// The text after a syntax error is ignored. An empty text is null.
pub fn parse(
    source: &SourceFile,
    range: Range<usize>,
    version: YamlVersion,
    findings: &mut Findings,
) -> TreeNode {
    let part = source.text.get(range.clone()).unwrap_or("");
    let forbidden = characters::first_forbidden(part);
    let allowed = part.get(..forbidden.unwrap_or(part.len())).unwrap_or(part);
    // A text with too many values is cut as well, before the parser allocates memory for them.
    let excess = flow::excess(allowed);
    let text = allowed.get(..excess.unwrap_or(allowed.len())).unwrap_or(allowed);
    let is_cut = text.len() < part.len();
    let (file, base) = (source.id, range.start);
    let input = build::YamlInput { text, file, base, version, is_cut, is_disguised: false };
    // A cut text may end inside a value, which `pyyaml` would refuse.
    let old = (version == YamlVersion::V1_1 && !is_cut).then(|| build::read_old(&input));
    let outcome = match old {
        Some(Ok(outcome)) => outcome,
        Some(Err(refusal)) => refused(&input, refusal),
        None => parsed(&input),
    };
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

/// Parses `input` with `saphyr`.
fn parsed(input: &build::YamlInput<'_>) -> build::YamlOutcome {
    let disguised = surrogates::disguised(input.text);
    let input = build::YamlInput { is_disguised: disguised.is_some(), ..*input };
    let scanned = disguised.as_deref().unwrap_or(input.text);
    let outcome = build::read(&input, scanned);
    // Second try, with the lines between brackets joined.
    if outcome.error.as_ref().is_some_and(flow::may_help) {
        return build::read(&input, &flow::joined(scanned));
    }
    outcome
}

/// Parses a text that YAML 1.1 refuses, for its messages. There is at least one finding.
fn refused(input: &build::YamlInput<'_>, refusal: pyyaml::YamlRefusal) -> build::YamlOutcome {
    let at = input.base + refusal.at;
    let span = Span::new(input.file, at, at + 1);
    let mut outcome = parsed(input);
    // These three rules do not explain why YAML 1.1 refuses the text.
    let explains_error =
        |rule: &LintRule| *rule != DUPLICATE_KEY && *rule != YAML_TAG && *rule != YAML_RARE_TAG;
    let is_reported =
        outcome.error.is_some() || outcome.findings.iter().any(|found| explains_error(found.rule));
    if !is_reported {
        outcome.findings.add(&YAML_SYNTAX, span, refusal.message);
    }
    outcome
}
