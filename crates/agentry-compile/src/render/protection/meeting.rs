//! How the words of a command meet protected paths: literal words, options with an attached path, globs,
//! and words with unknown parts.

use std::borrow::Cow;

use agentry_policy::argv::{ShellWord, WordPiece};
use agentry_policy::path::{LinkResolver, is_inside};
use agentry_policy::shell::CurrentDirs;

use super::{ProtectedPaths, at};
use crate::protected_names::{WrittenBy, fold, names};

/// How a word meets a protected path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PathMeeting {
    /// Its path is unknown.
    Unknown,
    /// It may be a directory above the protected path.
    Above(String),
    /// It may be the protected path, or lie below it.
    Within(String),
}

/// Where a command runs, and how links are resolved.
#[derive(Clone, Copy)]
pub(super) struct CommandPlace<'a> {
    /// The directories that it may run in.
    pub(super) bases: &'a CurrentDirs,
    /// The starting directory of the command line.
    pub(super) start: &'a str,
    /// Resolves links.
    pub(super) resolver: &'a dyn LinkResolver,
}

impl CommandPlace<'_> {
    fn directories(self) -> Vec<String> {
        match self.bases {
            CurrentDirs::Known(all) => all.iter().map(|base| at(base, self.start)).collect(),
            CurrentDirs::Unknown => vec![self.start.to_owned()],
        }
    }
}

impl ProtectedPaths<'_> {
    /// The worst way in which a word meets a protected path.
    pub(super) fn meeting(&self, word: &ShellWord, place: CommandPlace<'_>) -> Option<PathMeeting> {
        match word.literal() {
            Some(text) => paths_in(text).filter_map(|path| self.literal(path, place)).max(),
            None => self.open(word, place, WrittenBy::Command),
        }
    }

    /// How a word meets a protected path that it would replace. It is judged as a write by a tool, because
    /// git does not replace its own files this way.
    pub(super) fn replaced(
        &self,
        word: &ShellWord,
        place: CommandPlace<'_>,
    ) -> Option<PathMeeting> {
        match word.literal() {
            Some(text) => self.literal_by(text, place, WrittenBy::Tool),
            None => self.open(word, place, WrittenBy::Tool),
        }
    }

    /// How a path meets a protected one.
    pub(super) fn literal(&self, path: &str, place: CommandPlace<'_>) -> Option<PathMeeting> {
        self.literal_by(path, place, WrittenBy::Command)
    }

    fn literal_by(
        &self,
        path: &str,
        place: CommandPlace<'_>,
        by: WrittenBy,
    ) -> Option<PathMeeting> {
        let meets = |real: &Option<String>| match real {
            Some(real) => self.real_meeting(real, by),
            None => Some(PathMeeting::Unknown),
        };
        self.reals(path, place).iter().filter_map(meets).max()
    }

    /// The real paths of a path, from each directory that the command may run in.
    pub(super) fn reals(&self, path: &str, place: CommandPlace<'_>) -> Vec<Option<String>> {
        let from = |directory: &String| self.real(path, directory, place.resolver);
        place.directories().iter().map(from).collect()
    }

    /// How a path without links meets a protected one.
    fn real_meeting(&self, real: &str, by: WrittenBy) -> Option<PathMeeting> {
        if let Some(hit) = self.covering(real, by) {
            return Some(PathMeeting::Within(hit));
        }
        let below = || self.paths.iter().filter(|path| is_inside(path, real));
        // Of several paths, one that exists counts more.
        let first = below().find(|path| self.exists(path)).or_else(|| below().next());
        first.map(|path| PathMeeting::Above(path.clone()))
    }

    /// How a word with wildcards or unknown parts meets a protected path.
    fn open(
        &self,
        word: &ShellWord,
        place: CommandPlace<'_>,
        by: WrittenBy,
    ) -> Option<PathMeeting> {
        let start = match word.pieces.first() {
            Some(WordPiece::Text(text)) => text.as_str(),
            _ => "",
        };
        // An option with an attached value: `--into=.cl*`, `-t$X`.
        let glued =
            if start.starts_with('-') { start.rfind('=').map_or(2, |at| at + 1) } else { 0 };
        let start = start.get(glued..).unwrap_or_default();
        let (known, rest) = match start.rfind('/') {
            Some(at) => start.split_at_checked(at + 1)?,
            None => ("", start),
        };
        let behind = if has_text_first(word) { word.pieces.get(1..)? } else { &word.pieces };
        let rest = PatternParts::new(rest, behind);
        let known = if known.is_empty() { "." } else { known };
        let from = |directory: &String| {
            let Some(real) = self.real(known, directory, place.resolver) else {
                return Some(PathMeeting::Unknown);
            };
            match self.real_meeting(&real, by) {
                Some(PathMeeting::Within(hit)) => Some(PathMeeting::Within(hit)),
                above => self.below(&real, &rest, above.is_some() || known == ".", by),
            }
        };
        place.directories().iter().filter_map(from).max()
    }

    /// How the rest of a word below a directory meets a protected path. `near` returns whether a
    /// protected path is there.
    fn below(
        &self,
        directory: &str,
        rest: &PatternParts,
        near: bool,
        by: WrittenBy,
    ) -> Option<PathMeeting> {
        let PatternParts::Known(rest) = rest else {
            return near.then_some(PathMeeting::Unknown);
        };
        // A pattern such as `*/..` may lead anywhere.
        if rest.iter().any(|it| it.text() == "..") {
            return Some(PathMeeting::Unknown);
        }
        let listed = names().iter().filter(|name| name.counts_for(by));
        let listed = listed.filter(|name| may_name(directory, rest, name.path));
        let by_name = listed.map(|name| PathMeeting::Within(name.path.to_owned()));
        let inside = self.paths.iter().filter_map(|path| {
            let below = path.strip_prefix(directory.trim_end_matches('/'))?.strip_prefix('/')?;
            let names: Vec<&str> = below.split('/').collect();
            let agree = rest.iter().zip(&names).all(|(it, name)| it.matches(name));
            let path = path.clone();
            let within = rest.len() >= names.len();
            agree.then_some(if within {
                PathMeeting::Within(path)
            } else {
                PathMeeting::Above(path)
            })
        });
        by_name.chain(inside).max()
    }
}

/// Whether a pattern below a directory may match a path with this name. A wildcard alone does not match
/// the first part of a name; otherwise nearly every glob would be refused.
fn may_name(directory: &str, rest: &[PatternPart], name: &str) -> bool {
    let names: Vec<&str> = name.split('/').collect();
    let known: Vec<_> = directory.split('/').map(fold).collect();
    let fits = |known: &[Cow<'_, str>], names: &[&str]| {
        known.len() == names.len() && known.iter().zip(names).all(|(one, other)| one == other)
    };
    // The first `count` parts of the name end the directory, and the others follow in the pattern.
    let follows = |count: usize| {
        let (before, behind) = names.split_at_checked(count)?;
        let end = known.len().checked_sub(count)?;
        let agree = behind.len() <= rest.len()
            && rest.iter().zip(behind).all(|(it, name)| it.matches(name));
        Some(agree && fits(known.get(end..)?, before))
    };
    let below = (0..rest.len()).filter_map(|at| rest.get(at..)).any(|rest| {
        let opens = rest.first().is_some_and(|it| it.0.first() == Some(&Some('.')));
        let agree = rest.iter().zip(&names).all(|(it, name)| it.matches(name));
        opens && agree && rest.len() >= names.len()
    });
    below || (1..names.len()).any(|count| follows(count) == Some(true))
}

fn has_text_first(word: &ShellWord) -> bool {
    matches!(word.pieces.first(), Some(WordPiece::Text(_)))
}

/// One part of a path pattern: characters, and `None` for any number of them.
struct PatternPart(Vec<Option<char>>);

/// The parts of a path pattern.
enum PatternParts {
    Known(Vec<PatternPart>),
    /// It may have any number of parts.
    Unknown,
}

impl PatternParts {
    fn new(start: &str, pieces: &[WordPiece]) -> Self {
        let mut all: Vec<Option<char>> = start.chars().map(Some).collect();
        for piece in pieces {
            match piece {
                WordPiece::Text(text) => all.extend(text.chars().map(Some)),
                WordPiece::Segment | WordPiece::Number => all.push(None),
                WordPiece::Loose => {}
                WordPiece::Below | WordPiece::Label | WordPiece::Any => return Self::Unknown,
            }
        }
        let parts = all.split(|it| *it == Some('/')).map(|part| PatternPart(part.to_vec()));
        let plain = parts.filter(|part| !matches!(part.text().as_str(), "" | "."));
        Self::Known(plain.collect())
    }
}

impl PatternPart {
    /// Its text, with `*` for wildcards.
    fn text(&self) -> String {
        self.0.iter().map(|it| it.unwrap_or('*')).collect()
    }

    /// Whether it may match this name. A wildcard at the start does not match a dot.
    fn matches(&self, name: &str) -> bool {
        let opens = self.0.first().is_some_and(Option::is_none);
        if opens && name.starts_with('.') {
            return false;
        }
        let name: Vec<char> = name.chars().collect();
        // The positions in the name that the pattern so far may have reached.
        let mut reached = vec![false; name.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        for it in &self.0 {
            reached = match it {
                None => reached
                    .iter()
                    .scan(false, |any, here| {
                        *any |= *here;
                        Some(*any)
                    })
                    .collect(),
                Some(wanted) => {
                    let steps = reached.iter().zip(&name).map(|(here, c)| *here && c == wanted);
                    std::iter::once(false).chain(steps).collect()
                }
            };
        }
        reached.last().copied().unwrap_or(false)
    }
}

/// The paths that a word may contain: the word itself, and values attached to an option, name or host.
fn paths_in(text: &str) -> impl Iterator<Item = &str> {
    // These options name paths that the command does not touch.
    let left_out = ["--exclude", "--ignore"].iter().any(|option| text.starts_with(option));
    let behind = text.match_indices(['=', ':', ',']).map(|(at, _)| at + 1);
    // A value may be attached to any letter of a short option: `-tDIR`, `-xvtDIR`.
    let letters = text
        .strip_prefix('-')
        .filter(|rest| !rest.starts_with('-'))
        .map_or(0, |rest| rest.chars().take_while(char::is_ascii_alphanumeric).take(16).count());
    let glued = (1..=letters).map(|at| at + 1);
    let is_option = text.starts_with('-');
    // The limit keeps a hostile word from costing much time.
    let cuts = behind.chain(glued).filter(move |_| !left_out).take(64);
    let parts = cuts.filter_map(|at| text.get(at..)).filter(|part| !part.is_empty());
    std::iter::once(text).filter(move |_| !is_option && !text.is_empty()).chain(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_command_words() {
        let cases = [
            ("a/b", "a/b"),
            ("of=a", "of=a a"),
            ("-t.x", ".x"),
            ("-rt.x", "t.x .x"),
            ("--into=.x", ".x"),
            ("--exclude=.x", ""),
            ("host:.x", "host:.x .x"),
            ("-", ""),
            ("", ""),
        ];
        for (word, expected) in cases {
            assert_eq!(paths_in(word).collect::<Vec<_>>().join(" "), expected, "{word}");
        }
    }
}
