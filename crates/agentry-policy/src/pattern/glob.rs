//! A text with wildcards: a word of a command, a segment of a path, a name.

/// A text with wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GlobPattern {
    /// The parts in order; two texts are never adjacent.
    pub(crate) parts: Vec<GlobPart>,
    /// For a guarded glob, its parts between the literal slashes: a wildcard in one of them never matches
    /// a `..` segment. Empty for an unguarded glob.
    pub(crate) segments: Vec<GlobPattern>,
}

/// A part of a [`GlobPattern`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GlobPart {
    /// Exactly this text.
    Text(String),
    /// Any characters except `/`.
    Segment,
    /// Any characters.
    Any,
    /// Any number of whole segments, each with its `/`.
    Folders,
}

impl GlobPattern {
    /// Parses `text`, in which a single `*` means `star`, and two or more mean any characters.
    pub(crate) fn new(text: &str, star: &GlobPart) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let literal = rest.find('*').unwrap_or(rest.len());
            let (before, after) = rest.split_at(literal);
            if !before.is_empty() {
                parts.push(GlobPart::Text(before.to_owned()));
            }
            rest = after.trim_start_matches('*');
            match after.len() - rest.len() {
                0 => {}
                1 => parts.push(star.clone()),
                _ => parts.push(GlobPart::Any),
            }
        }
        Self { parts, segments: Vec::new() }
    }

    /// Makes the glob that matches exactly `text`, including its stars.
    pub(crate) fn literal(text: &str) -> Self {
        let parts = if text.is_empty() { vec![] } else { vec![GlobPart::Text(text.to_owned())] };
        Self { parts, segments: Vec::new() }
    }

    /// Makes the glob that matches any text.
    pub(crate) fn any() -> Self {
        Self { parts: vec![GlobPart::Any], segments: Vec::new() }
    }

    /// Puts `text` in front.
    pub(crate) fn after(mut self, text: &str) -> Self {
        match self.parts.first_mut() {
            _ if text.is_empty() => {}
            Some(GlobPart::Text(first)) => first.insert_str(0, text),
            _ => self.parts.insert(0, GlobPart::Text(text.to_owned())),
        }
        self
    }

    /// Makes a guarded glob: no wildcard matches a `..` segment.
    pub(crate) fn guarded(mut self) -> Self {
        if self.as_literal().is_none() {
            self.segments = split_at_slashes(&self.parts);
        }
        self
    }

    /// Returns the only text that matches, or `None` if there are several.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [GlobPart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the part after the last literal `/`.
    pub(crate) fn last_segment(&self) -> Self {
        split_at_slashes(&self.parts).pop().unwrap_or_else(|| Self::literal(""))
    }

    /// Whether the whole `text` matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        if self.segments.is_empty() { self.plain(text) } else { self.guarded_match(text) }
    }

    fn plain(&self, text: &str) -> bool {
        // The literal prefix is compared first, because it decides most cases.
        let (parts, text) = match self.parts.as_slice() {
            [GlobPart::Text(first), rest @ ..] => match text.strip_prefix(first.as_str()) {
                Some(text) => (rest, text),
                None => return false,
            },
            parts => (parts, text),
        };
        match parts {
            [] => text.is_empty(),
            [GlobPart::Any] => true,
            [GlobPart::Segment] => !text.contains('/'),
            parts => reaches_end(parts, text.as_bytes()),
        }
    }

    /// Matches the segments in turn, and keeps every offset at which the next one may start.
    fn guarded_match(&self, text: &str) -> bool {
        let mut starts = vec![0];
        for (index, segment) in self.segments.iter().enumerate() {
            let last = index + 1 == self.segments.len();
            let mut next: Vec<usize> = Vec::new();
            for start in starts {
                for end in ends(text, start) {
                    let part = text.get(start..end).unwrap_or_default();
                    let climbs = segment.as_literal().is_none() && climbs(part);
                    // Only the last segment may end at the end of the text.
                    if (end == text.len()) == last && !climbs && segment.plain(part) {
                        next.push(end + 1);
                    }
                }
            }
            next.sort_unstable();
            next.dedup();
            starts = next;
        }
        !starts.is_empty()
    }
}

/// Whether some segment of `text` is `..`.
fn climbs(text: &str) -> bool {
    text.split('/').any(|segment| segment == "..")
}

/// Lists every offset from `start` on at which a segment ends.
fn ends(text: &str, start: usize) -> impl Iterator<Item = usize> {
    let rest = text.get(start..).unwrap_or_default();
    let slashes = rest.match_indices('/').map(move |(at, _)| start + at);
    slashes.chain(std::iter::once(text.len()))
}

fn split_at_slashes(parts: &[GlobPart]) -> Vec<GlobPattern> {
    let mut segments = vec![GlobPattern { parts: Vec::new(), segments: Vec::new() }];
    for part in parts {
        let GlobPart::Text(text) = part else {
            if let Some(last) = segments.last_mut() {
                last.parts.push(part.clone());
            }
            continue;
        };
        for (index, piece) in text.split('/').enumerate() {
            if index > 0 {
                segments.push(GlobPattern { parts: Vec::new(), segments: Vec::new() });
            }
            if let Some(last) = segments.last_mut().filter(|_| !piece.is_empty()) {
                last.parts.push(GlobPart::Text(piece.to_owned()));
            }
        }
    }
    segments
}

/// Tracks all possible matches at once, so that the time is linear in the text for each part, and no pattern
/// causes exponential backtracking.
fn reaches_end(parts: &[GlobPart], text: &[u8]) -> bool {
    let mut here = vec![false; text.len() + 1];
    here[0] = true;
    for part in parts {
        here = step(part, &here, text);
    }
    here.last() == Some(&true)
}

/// Returns the offsets that one part reaches from the offsets in `here`.
fn step(part: &GlobPart, here: &[bool], text: &[u8]) -> Vec<bool> {
    let mut next = vec![false; here.len()];
    let mut open = false;
    for (at, reached) in here.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        match part {
            GlobPart::Text(literal) => {
                let fits = *reached && text[at..].starts_with(literal.as_bytes());
                if let Some(next) = next.get_mut(at + literal.len()).filter(|_| fits) {
                    *next = true;
                }
            }
            GlobPart::Segment => {
                open = *reached || (open && before != Some(&b'/'));
                next[at] = open;
            }
            GlobPart::Any => {
                open |= *reached;
                next[at] = open;
            }
            GlobPart::Folders => {
                // Whole segments end after a `/`, or there are none.
                next[at] = *reached || (open && before == Some(&b'/'));
                open |= *reached;
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_texts() {
        let cases = [
            ("", "", true),
            ("", "x", false),
            ("a*", "abc", true),
            ("a*", "a/c", false),
            ("a**", "a/c", true),
            ("*c", "abc", true),
            ("*b*b*", "abab", true),
            ("*b*b*", "aba", false),
            ("**/*.rs", "a/b/c.rs", true),
            ("**/*.rs", "c.rs", false),
            ("***x", "a/x", true),
            ("é*", "é", true),
        ];
        for (pattern, text, expected) in cases {
            let glob = GlobPattern::new(pattern, &GlobPart::Segment);
            assert_eq!(glob.matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_guarded_glob_matches_parents_only_if_written() {
        let cases = [
            ("src/*", "src/x", true),
            ("src/*", "src/..", false),
            ("src/.*", "src/..", false),
            ("src/.*", "src/.git", true),
            ("src/**", "src/a/b", true),
            ("src/**", "src/a/../b", false),
            ("src/**", "src/a..b/...", true),
            ("../*", "../x", true),
            ("../*", "../..", false),
            ("**/../x", "a/../x", true),
            ("**/../x", "a/../../x", false),
            ("../x", "../x", true),
        ];
        for (pattern, text, expected) in cases {
            let glob = GlobPattern::new(pattern, &GlobPart::Segment).guarded();
            assert_eq!(glob.matches(text), expected, "{pattern} {text}");
        }
    }
}
