//! The paths that a word may become, and whether a pattern matches some or all of them.

use agentry_commands::secrets::NameGlob;

use crate::argv::{ShellWord, WordPiece};
use crate::pattern::glob::{GlobPart, GlobPattern};
use crate::pattern::sequence::PatternElement;
use crate::pattern::{Pattern, PatternShape, PatternSubject};

/// Stands for the text of a wildcard; no pattern contains this character.
const FRESH: char = '\u{10FFFD}';

/// How many names are tried for any number of them; patterns that match these match all.
const MOST_DEPTH: usize = 2;

/// Larger pairs of names are not compared; they count as overlapping.
const MOST: usize = 100_000;

/// A set of paths: a known directory, and names below it that may contain wildcards.
#[derive(Debug, Clone)]
pub(super) struct PathSet {
    /// The known directory, resolved, without a slash at the end.
    known: String,
    /// The segments below it.
    names: Vec<PathName>,
}

/// A segment of a path in a set.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathName {
    /// One name.
    One(Vec<WordPiece>),
    /// Any number of names.
    Many,
    /// Any number of names, of which those with a dot at the start match one of these patterns.
    Visible(Vec<String>),
}

impl PathName {
    fn literal(&self) -> Option<&str> {
        match self {
            Self::One(pieces) => match pieces.as_slice() {
                [WordPiece::Text(text)] => Some(text),
                _ => None,
            },
            Self::Many | Self::Visible(_) => None,
        }
    }
}

impl PathSet {
    /// Makes the paths of `word` by its text alone, relative to `directory`.
    pub(super) fn unresolved(word: &ShellWord, directory: &str) -> Self {
        let known = directory.trim_end_matches('/').to_owned();
        Self { known, names: segments(word) }
    }

    /// Makes the paths of `word` relative to `directory`, with links followed in the literal part; `None` if
    /// the result is unknown.
    pub(super) fn resolved(
        word: &ShellWord,
        directory: &str,
        resolve: &dyn Fn(&str) -> Option<String>,
        ignores_case: bool,
    ) -> Option<Self> {
        // Unknown text may also contain `..`.
        if word.is_open() {
            return None;
        }
        let mut names = segments(word);
        let taken = names.iter().take_while(|name| name.literal().is_some()).count();
        let wild = names.split_off(taken);
        // A `..` after a wildcard leads to an unknown directory.
        if wild.iter().any(|name| name.literal() == Some("..")) {
            return None;
        }
        let start = if word.start().starts_with('/') || directory == "/" { "" } else { directory };
        let literal: Vec<&str> = names.iter().filter_map(PathName::literal).collect();
        let real = resolve(&format!("{start}/{}", literal.join("/")))?;
        let real = if ignores_case { real.to_lowercase() } else { real };
        let mut paths = Self { known: real.trim_end_matches('/').to_owned(), names: wild };
        if ignores_case {
            for name in &mut paths.names {
                if let PathName::One(pieces) = name {
                    pieces.iter_mut().for_each(lower);
                }
            }
        }
        Some(paths)
    }

    /// Returns the known part.
    pub(super) fn known(&self) -> &str {
        &self.known
    }

    /// Returns the only path, or `None` if there are several.
    pub(super) fn literal(&self) -> Option<&str> {
        self.names.is_empty().then_some(&self.known)
    }

    /// Returns the paths below the only one, at any depth.
    pub(super) fn below(&self) -> Option<Self> {
        let known = self.literal()?.to_owned();
        Some(Self { known, names: vec![PathName::Many] })
    }

    /// Returns the files below the only path whose names end with `end`, at any depth.
    pub(super) fn ending(&self, end: String) -> Option<Self> {
        let mut paths = self.below()?;
        paths.names.push(PathName::One(vec![WordPiece::Below, WordPiece::Text(end)]));
        Some(paths)
    }

    /// Returns the paths below the only one that lead through no hidden name, except `admitted` ones.
    pub(super) fn visible(&self, admitted: Vec<String>) -> Option<Self> {
        let known = self.literal()?.to_owned();
        Some(Self { known, names: vec![PathName::Visible(admitted)] })
    }

    /// Returns two of the paths, with nothing and with `x` for each wildcard.
    pub(super) fn samples(&self) -> Vec<String> {
        [None, Some('x')].map(|filler| self.sample(filler, 0)).into()
    }

    /// Returns the segments in lower case, with `None` for any number of them.
    pub(super) fn globs(&self) -> Vec<Option<NameGlob>> {
        let lower = |text: &str| text.to_lowercase().chars().map(Some).collect::<NameGlob>();
        let known = self.known.split('/').filter(|name| !name.is_empty());
        let glob = |name: &PathName| match name {
            PathName::Many | PathName::Visible(_) => None,
            PathName::One(pieces) => Some(
                pieces
                    .iter()
                    .flat_map(|piece| match piece {
                        WordPiece::Text(text) => lower(text),
                        WordPiece::Loose => NameGlob::new(),
                        _ => vec![None],
                    })
                    .collect(),
            ),
        };
        known.map(|name| Some(lower(name))).chain(self.names.iter().map(glob)).collect()
    }

    /// Whether these are all files below a directory, perhaps those with one extension: `src/**`, `**/*.rs`. A
    /// name in the set, as in `**/key`, aims at certain files.
    pub(super) fn is_walk(&self) -> bool {
        let is_end = |at: usize| at + 1 == self.names.len();
        self.names.contains(&PathName::Many)
            && self.names.iter().enumerate().all(|(at, name)| match name {
                PathName::Many | PathName::Visible(_) => true,
                PathName::One(pieces) => {
                    pieces.iter().enumerate().all(|(place, piece)| match piece {
                        WordPiece::Text(text) => is_end(at) && place > 0 && text.starts_with('.'),
                        _ => true,
                    })
                }
            })
    }

    /// Whether these are all entries of a directory: `src/*`.
    pub(super) fn is_every_entry(&self) -> bool {
        let is_wild = |name: &PathName| match name {
            PathName::Many | PathName::Visible(_) => true,
            PathName::One(pieces) => {
                pieces.iter().all(|piece| !matches!(piece, WordPiece::Text(_)))
            }
        };
        !self.names.is_empty() && self.names.iter().all(is_wild)
    }

    /// Returns one of the paths, with `depth` names for any number of them.
    fn sample(&self, filler: Option<char>, depth: usize) -> String {
        let mut path = self.known.clone();
        for name in &self.names {
            match name {
                PathName::Many | PathName::Visible(_) => {
                    for _ in 0..depth {
                        path.push('/');
                        path.extend(filler);
                    }
                }
                PathName::One(pieces) => {
                    path.push('/');
                    for piece in pieces {
                        match piece {
                            WordPiece::Text(text) => path.push_str(text),
                            WordPiece::Loose => {}
                            _ => path.extend(filler),
                        }
                    }
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
            None => (0..=MOST_DEPTH).all(|depth| {
                pattern.matches(PatternSubject::Text(&self.sample(Some(FRESH), depth)))
            }),
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
                let known = known.map(|name| PathName::One(vec![WordPiece::Text(name.to_owned())]));
                let all: Vec<PathName> = known.chain(self.names.iter().cloned()).collect();
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

/// Returns the segments of a word.
fn segments(word: &ShellWord) -> Vec<PathName> {
    let mut all = Vec::new();
    let mut name: Vec<WordPiece> = Vec::new();
    let mut is_dropped = false;
    let end = |name: &mut Vec<WordPiece>, all: &mut Vec<PathName>| {
        let one = PathName::One(std::mem::take(name));
        if one != PathName::One(Vec::new()) && one.literal() != Some(".") {
            all.push(one);
        }
    };
    for piece in &word.pieces {
        match piece {
            WordPiece::Text(text) => {
                for (at, part) in text.split('/').enumerate() {
                    if at > 0 {
                        end(&mut name, &mut all);
                        is_dropped = false;
                    }
                    if !part.is_empty() && !is_dropped {
                        name.push(WordPiece::Text(part.to_owned()));
                    }
                }
            }
            WordPiece::Below if name.is_empty() => {
                all.push(PathName::Many);
                name.push(WordPiece::Below);
            }
            // The text before it starts a name, perhaps of a directory; the text after it is dropped, because
            // it belongs to that name or to one below.
            WordPiece::Below => {
                name.push(WordPiece::Below);
                end(&mut name, &mut all);
                all.push(PathName::Many);
                is_dropped = true;
            }
            WordPiece::Loose => {}
            piece if !is_dropped => name.push(piece.clone()),
            _ => {}
        }
    }
    end(&mut name, &mut all);
    all
}

/// Whether some sequence of names matches both.
fn rows_meet(elements: &[PatternElement], names: &[PathName]) -> bool {
    // Computed from the end: whether the remaining elements and names have a match in common.
    let mut reached = vec![vec![false; names.len() + 1]; elements.len() + 1];
    for at in (0..=elements.len()).rev() {
        for other in (0..=names.len()).rev() {
            let get = |at: usize, other: usize| {
                reached.get(at).and_then(|row| row.get(other)).copied().unwrap_or_default()
            };
            let is_possible = match (elements.get(at), names.get(other)) {
                (None, None) => true,
                (Some(PatternElement::One(globs)), Some(PathName::Visible(admitted))) => {
                    let is_one = || globs.iter().any(|glob| is_visible(glob, admitted));
                    get(at, other + 1) || (get(at + 1, other) && is_one())
                }
                (Some(PatternElement::Many), Some(_)) if get(at, other + 1) => true,
                (Some(_), Some(PathName::Many)) if get(at + 1, other) => true,
                (Some(PatternElement::Many), _) => get(at + 1, other),
                (_, Some(PathName::Many | PathName::Visible(_))) => get(at, other + 1),
                (Some(PatternElement::One(globs)), Some(PathName::One(name))) => {
                    get(at + 1, other + 1) && globs.iter().any(|glob| names_meet(glob, name))
                }
                _ => false,
            };
            if let Some(cell) = reached.get_mut(at).and_then(|row| row.get_mut(other)) {
                *cell = is_possible;
            }
        }
    }
    reached.first().and_then(|row| row.first()).copied().unwrap_or_default()
}

/// Whether a pattern matches a name without a dot at the start, or an admitted one.
fn is_visible(glob: &GlobPattern, admitted: &[String]) -> bool {
    let is_admitted = |name: &String| {
        let parts = name.split('*').map(|text| WordPiece::Text(text.to_owned()));
        let mut pieces: Vec<WordPiece> = Vec::new();
        for part in parts {
            // Between two parts there was a wildcard, which matches a dot here.
            if !pieces.is_empty() {
                pieces.push(WordPiece::Any);
            }
            pieces.push(part);
        }
        names_meet(glob, &pieces)
    };
    names_meet(glob, &[WordPiece::Segment]) || admitted.iter().any(is_admitted)
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
            WordPiece::Loose => Vec::new(),
            _ => vec![None],
        })
        .collect();
    let is_hidden = pattern.first() == Some(&Some('.'));
    if is_hidden && matches!(name.first(), Some(WordPiece::Segment | WordPiece::Number)) {
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
            // `…` stands for any path below.
            if at > 0 {
                pieces.push(if part.starts_with('…') {
                    WordPiece::Below
                } else {
                    WordPiece::Segment
                });
            }
            let part = part.trim_start_matches('…');
            if !part.is_empty() {
                pieces.push(WordPiece::Text(part.to_owned()));
            }
        }
        ShellWord { pieces }
    }

    #[test]
    fn globs_in_words_are_compared_with_patterns() {
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
            ("src/*….rs", "src/**", true, true),
            ("src/*….rs", "src/*", true, false),
            ("src/*….rs", "src/a/*.rs", true, false),
            ("src/*….rs", "**/.env", false, false),
            ("src/*…", "**/.env", true, false),
            ("src/*…", "secrets/**", false, false),
            ("*…", "secrets/**", true, false),
            ("*…/key", "secrets/key", true, false),
            ("doc*…", "docs/a", true, false),
            ("doc*….md", "docs", true, false),
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
