//! Patterns about files: segments against an absolute, resolved path.

use super::glob::{GlobPart, GlobPattern};
use super::sequence::{self, PatternElement};
use crate::PathAnchors;

/// A pattern about files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathPattern {
    /// One element a segment, from the root on.
    pub(crate) elements: Vec<PatternElement>,
    /// The text that every path starts with, to say no quickly.
    prefix: String,
}

impl PathPattern {
    /// Reads `text`, or says why nothing can match it.
    pub(crate) fn new(text: &str, places: &PathAnchors) -> Result<Self, String> {
        let mut elements = Vec::new();
        let rest = anchor(text, places, &mut elements)?;
        let segments: Vec<&str> =
            rest.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        for (index, segment) in segments.iter().enumerate() {
            match *segment {
                ".." => climb(&mut elements)?,
                "**" => {
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

/// The segments of an absolute path; the root has none.
pub(crate) fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Puts the place that a pattern starts from into `elements` and gives what is left to read.
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

/// Takes back the last segment, which must be one that is known.
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
