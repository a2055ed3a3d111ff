//! The paths that a word may become, and whether a pattern matches some or all of them.

use crate::argv::{ShellWord, WordPiece};
use crate::pattern::glob::{GlobPart, GlobPattern};
use crate::pattern::sequence::PatternElement;
use crate::pattern::{Pattern, PatternShape, PatternSubject};

/// Stands for the text of a wildcard; no pattern contains this character.
const FRESH: char = '\u{10FFFD}';

/// Larger pairs of names are not compared; they count as overlapping.
const MOST: usize = 100_000;

/// A set of paths: a known directory, and names below it that may contain wildcards.
#[derive(Debug, Clone)]
pub(super) struct PathSet {
    /// The known directory, resolved, without a slash at the end.
    known: String,
    /// The segments below it.
    names: Vec<Vec<WordPiece>>,
    /// Whether any further text may follow, slashes included.
    is_open: bool,
}

impl PathSet {
    /// Makes the paths of `word` relative to `directory`; `resolved` is the known part, if links were
    /// followed, and the number of segments that it covers.
    pub(super) fn new(
        word: &ShellWord,
        directory: &str,
        resolved: Option<(String, usize)>,
    ) -> Self {
        let (segments, is_open) = segments(word);
        let (known, taken) = resolved.unwrap_or_else(|| (directory.to_owned(), 0));
        let names = segments.into_iter().skip(taken).collect();
        Self { known: known.trim_end_matches('/').to_owned(), names, is_open }
    }

    /// Like [`Self::new`], with links followed in the literal part; `None` if the result is unknown.
    pub(super) fn resolved(
        word: &ShellWord,
        directory: &str,
        resolve: &dyn Fn(&str) -> Option<String>,
        ignores_case: bool,
    ) -> Option<Self> {
        let (segments, is_open) = segments(word);
        let is_literal = |pieces: &&Vec<WordPiece>| literal(pieces).is_some();
        let taken = segments.iter().take_while(is_literal).count();
        let names: Vec<&str> = segments.iter().take(taken).filter_map(|it| literal(it)).collect();
        // A `..` after a wildcard leads to an unknown directory.
        let climbs = |pieces: &Vec<WordPiece>| literal(pieces).is_some_and(|name| name == "..");
        if segments.iter().skip(taken).any(climbs) || (is_open && taken == segments.len()) {
            return None;
        }
        let is_absolute =
            matches!(word.pieces.first(), Some(WordPiece::Text(text)) if text.starts_with('/'));
        let start = if is_absolute || directory == "/" { "" } else { directory };
        let real = resolve(&format!("{start}/{}", names.join("/")))?;
        let real = if ignores_case { real.to_lowercase() } else { real };
        let mut paths = Self::new(word, directory, Some((real, taken)));
        if ignores_case {
            paths.names.iter_mut().flatten().for_each(lower);
        }
        // Unknown text may also contain `..`.
        (!paths.is_open).then_some(paths)
    }

    /// Returns the known part.
    pub(super) fn known(&self) -> &str {
        &self.known
    }

    /// Returns the only path, or `None` if there are several.
    pub(super) fn literal(&self) -> Option<&str> {
        (self.names.is_empty() && !self.is_open).then_some(&self.known)
    }

    /// Returns two of the paths, with nothing and with `x` for each wildcard.
    pub(super) fn samples(&self) -> Vec<String> {
        [None, Some('x')].map(|filler| self.sample(filler)).into()
    }

    fn sample(&self, filler: Option<char>) -> String {
        let mut path = self.known.clone();
        for pieces in &self.names {
            path.push('/');
            for piece in pieces {
                match piece {
                    WordPiece::Text(text) => path.push_str(text),
                    WordPiece::Segment | WordPiece::Any => path.extend(filler),
                }
            }
        }
        path
    }

    /// Whether the pattern matches all of them.
    pub(super) fn are_all_in(&self, pattern: &Pattern) -> bool {
        if pattern.is_everything() {
            return true;
        }
        match self.literal() {
            Some(path) => pattern.matches(PatternSubject::Text(path)),
            // If a character that no pattern contains matches, so does any text of the wildcard.
            None => pattern.matches(PatternSubject::Text(&self.sample(Some(FRESH)))),
        }
    }

    /// Whether the pattern may match one of them.
    pub(super) fn meet(&self, pattern: &Pattern) -> bool {
        if self.literal().is_some() {
            return self.are_all_in(pattern);
        }
        match &pattern.shape {
            PatternShape::Everything => true,
            PatternShape::Path(path) => {
                let known = self.known.split('/').filter(|name| !name.is_empty());
                let known = known.map(|name| vec![WordPiece::Text(name.to_owned())]);
                let all: Vec<Vec<WordPiece>> = known.chain(self.names.iter().cloned()).collect();
                rows_meet(&path.elements, &all)
            }
            // A pattern of another shape cannot be compared with wildcards, so only the known part counts.
            _ => pattern.matches(PatternSubject::Text(&self.known)),
        }
    }
}

fn lower(piece: &mut WordPiece) {
    if let WordPiece::Text(text) = piece {
        *text = text.to_lowercase();
    }
}

/// Returns the segments of a word, and whether some part of it may contain a slash.
fn segments(word: &ShellWord) -> (Vec<Vec<WordPiece>>, bool) {
    let mut all: Vec<Vec<WordPiece>> = vec![Vec::new()];
    let mut is_open = false;
    for piece in &word.pieces {
        match piece {
            WordPiece::Text(text) => {
                for (at, part) in text.split('/').enumerate() {
                    if at > 0 {
                        all.push(Vec::new());
                    }
                    if let Some(last) = all.last_mut().filter(|_| !part.is_empty()) {
                        last.push(WordPiece::Text(part.to_owned()));
                    }
                }
            }
            WordPiece::Segment => {
                if let Some(last) = all.last_mut() {
                    last.push(WordPiece::Segment);
                }
            }
            WordPiece::Any => is_open = true,
        }
    }
    all.retain(|pieces| !pieces.is_empty() && literal(pieces) != Some("."));
    (all, is_open)
}

fn literal(pieces: &[WordPiece]) -> Option<&str> {
    match pieces {
        [WordPiece::Text(text)] => Some(text),
        _ => None,
    }
}

/// Whether some sequence of names matches both.
fn rows_meet(elements: &[PatternElement], names: &[Vec<WordPiece>]) -> bool {
    // For each number of names, whether that many can be matched by the elements so far.
    let mut possible: Vec<bool> = (0..=names.len()).map(|taken| taken == 0).collect();
    for element in elements {
        let mut next = vec![false; names.len() + 1];
        match element {
            PatternElement::Many => {
                let mut is_open = false;
                for (now, before) in next.iter_mut().zip(&possible) {
                    is_open |= before;
                    *now = is_open;
                }
            }
            PatternElement::One(globs) => {
                for (taken, name) in names.iter().enumerate() {
                    let before = possible.get(taken).copied().unwrap_or_default();
                    let meets = before && globs.iter().any(|glob| names_meet(glob, name));
                    if let Some(now) = next.get_mut(taken + 1) {
                        *now = meets;
                    }
                }
            }
        }
        possible = next;
    }
    possible.last().copied().unwrap_or_default()
}

/// Whether some name matches both; a shell wildcard at the start of a name does not match a dot.
fn names_meet(glob: &GlobPattern, name: &[WordPiece]) -> bool {
    let pattern: Vec<Option<char>> = glob
        .parts
        .iter()
        .flat_map(|part| match part {
            GlobPart::Text(text) => text.chars().map(Some).collect(),
            GlobPart::Segment | GlobPart::Any | GlobPart::Folders => vec![None],
        })
        .collect();
    let word: Vec<Option<char>> = name
        .iter()
        .flat_map(|piece| match piece {
            WordPiece::Text(text) => text.chars().map(Some).collect(),
            WordPiece::Segment | WordPiece::Any => vec![None],
        })
        .collect();
    if word.first() == Some(&None) && pattern.first() == Some(&Some('.')) {
        return false;
    }
    stars_meet(&pattern, &word)
}

/// Whether two texts with stars have a match in common.
fn stars_meet(left: &[Option<char>], right: &[Option<char>]) -> bool {
    if left.len() * right.len() > MOST {
        return true;
    }
    // Computed from the end: whether the remaining texts have a match in common.
    let mut reached = vec![vec![false; right.len() + 1]; left.len() + 1];
    for at in (0..=left.len()).rev() {
        for other in (0..=right.len()).rev() {
            let get = |at: usize, other: usize| {
                reached.get(at).and_then(|row| row.get(other)).copied().unwrap_or_default()
            };
            let is_possible = match (left.get(at), right.get(other)) {
                (None, None) => true,
                (Some(None), Some(_)) if get(at, other + 1) => true,
                (Some(_), Some(None)) if get(at + 1, other) => true,
                (Some(None), _) => get(at + 1, other),
                (_, Some(None)) => get(at, other + 1),
                (Some(a), Some(b)) => a == b && get(at + 1, other + 1),
                _ => false,
            };
            if let Some(cell) = reached.get_mut(at).and_then(|row| row.get_mut(other)) {
                *cell = is_possible;
            }
        }
    }
    reached.first().and_then(|row| row.first()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, PathAnchors, PatternKind};

    fn word(text: &str) -> ShellWord {
        let mut pieces = Vec::new();
        for (at, part) in text.split('*').enumerate() {
            if at > 0 {
                pieces.push(WordPiece::Segment);
            }
            if !part.is_empty() {
                pieces.push(WordPiece::Text(part.to_owned()));
            }
        }
        ShellWord { pieces }
    }

    #[test]
    fn words_and_patterns() {
        let cases = [
            ("src/*.rs", "src/**", true, true),
            ("src/*.rs", "**/.env", false, false),
            ("*", ".env", false, false),
            (".*", ".env", true, false),
            (".e*", "**/.env*", true, false),
            ("*.pem", "**/*.pem", true, true),
            ("*", "**/*.pem", true, false),
            ("*/.env", "**/.env", true, true),
            ("src/../.env", ".env", true, true),
            ("a*b", "a*c", false, false),
            ("a*b*", "*bc", true, false),
        ];
        for (text, pattern, meet, all) in cases {
            let resolve =
                |path: &str| crate::path::LinkResolver::resolve(&crate::path::NoLinks, path);
            let paths = PathSet::resolved(&word(text), "/workspace", &resolve, false);
            let paths = paths.expect("a word without variables");
            let rule =
                Pattern::new(PatternKind::Path, pattern, Action::Deny, &PathAnchors::default());
            assert_eq!(
                (paths.meet(&rule), paths.are_all_in(&rule)),
                (meet, all),
                "{text} {pattern}"
            );
        }
    }
}
