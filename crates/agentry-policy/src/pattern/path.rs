//! Patterns about files, matched segment by segment against an absolute, resolved path.

use super::glob::{GlobPart, GlobPattern};
use super::sequence::{self, PatternElement};
use crate::PathAnchors;

/// A pattern about files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathPattern {
    /// One element per segment, from the root on.
    pub(crate) elements: Vec<PatternElement>,
    /// The literal text with which every match starts, to reject other paths quickly.
    prefix: String,
}

impl PathPattern {
    /// Parses `text`, or explains why nothing can match it.
    pub(crate) fn new(text: &str, places: &PathAnchors) -> Result<Self, String> {
        let mut elements = Vec::new();
        let rest = anchor(text, places, &mut elements)?;
        let segments: Vec<&str> =
            rest.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        for (index, segment) in segments.iter().enumerate() {
            match *segment {
                ".." => climb(&mut elements)?,
                "**" => {
                    // A `**` at the end matches at least one segment, so not the directory itself.
                    if index + 1 == segments.len() {
                        elements.push(PatternElement::any());
                    }
                    elements.push(PatternElement::Many);
                }
                segment => elements
                    .push(PatternElement::one(GlobPattern::new(segment, &GlobPart::Segment))),
            }
        }
        let prefix = literal_start(&elements);
        Ok(Self { elements, prefix })
    }

    /// Returns the literal text with which every match starts.
    pub(crate) fn literal_start(&self) -> &str {
        &self.prefix
    }

    /// Whether `path` matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        if !path.starts_with(&self.prefix) {
            return false;
        }
        let segments: Vec<&str> = segments(path).collect();
        let item = |at: usize| segments.get(at).copied().unwrap_or_default();
        sequence::matches(&self.elements, segments.len(), item)
    }
}

/// Lists the segments of an absolute path; the root has none.
pub(crate) fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Adds the directory that a pattern is relative to, and returns the rest of the text.
fn anchor<'a>(
    text: &'a str,
    places: &PathAnchors,
    elements: &mut Vec<PatternElement>,
) -> Result<&'a str, String> {
    let mut at = |place: &str| {
        elements.extend(
            segments(place).map(|segment| PatternElement::one(GlobPattern::literal(segment))),
        );
    };
    if text.is_empty() {
        return Err("the pattern is empty".to_owned());
    }
    if text.starts_with('/') {
        return Ok(text);
    }
    match text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some(rest) => {
            let home = places.home.as_deref().ok_or("the home directory is not known")?;
            at(home);
            Ok(rest)
        }
        None => {
            at(&places.workspace);
            Ok(text)
        }
    }
}

/// Removes the last segment for a `..`; it must be literal.
fn climb(elements: &mut Vec<PatternElement>) -> Result<(), String> {
    match elements.pop() {
        Some(last) if last.as_literal().is_some() => Ok(()),
        Some(_) => Err("`..` after a wildcard leads nowhere".to_owned()),
        None => Err("`..` leads out of the root directory".to_owned()),
    }
}

fn literal_start(elements: &[PatternElement]) -> String {
    let mut start = String::new();
    for element in elements {
        let Some(segment) = element.as_literal() else { break };
        start.push('/');
        start.push_str(segment);
    }
    start
}
