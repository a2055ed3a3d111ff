//! Patterns as automata, with the same meaning as the direct matching in `pattern`.

use std::sync::OnceLock;

use agentry_commands::{base_name, global_options};
use regex_syntax::hir::Hir;

use super::MachineTooLarge;
use super::nfa::{ItemCharacters, Nfa, StateId};
use super::regex;
use super::set::CharSet;
use super::subject::{items, universe};
use crate::Action;
use crate::pattern::command::CommandPattern;
use crate::pattern::glob::GlobPattern;
use crate::pattern::sequence::PatternElement;
use crate::pattern::web::WebPattern;
use crate::pattern::{Pattern, PatternKind, PatternShape};

/// The bit of subjects that the pattern matches.
pub(crate) const PATTERN: u128 = 1;
/// The bit of all valid subjects.
pub(crate) const UNIVERSE: u128 = 2;

/// Adds all valid subjects of a kind, and returns the first state.
pub(crate) fn add_universe(
    nfa: &mut Nfa,
    kind: PatternKind,
    part: u128,
) -> Result<StateId, MachineTooLarge> {
    // The same for every policy, so they are built once, on first use.
    static UNIVERSES: [OnceLock<Option<Hir>>; PatternKind::COUNT] =
        [const { OnceLock::new() }; PatternKind::COUNT];
    let start = nfa.build(part);
    let known = UNIVERSES.get(kind as usize).ok_or(MachineTooLarge)?;
    let hir = known.get_or_init(|| regex::read(universe(kind))).as_ref().ok_or(MachineTooLarge)?;
    let end = nfa.regex(start, hir);
    nfa.accept(end, part);
    Ok(start)
}

/// Adds the subjects that a pattern matches without hazard protection, and returns the first state, or
/// `None` for a pattern that matches nothing.
pub(crate) fn add_pattern(
    nfa: &mut Nfa,
    pattern: &Pattern,
) -> Result<Option<StateId>, MachineTooLarge> {
    match &pattern.shape {
        // A malformed allow rule matches nothing; a malformed deny or ask rule matches everything.
        PatternShape::Wrong(_) if pattern.action == Action::Allow => return Ok(None),
        PatternShape::Everything | PatternShape::Wrong(_) => {
            return add_universe(nfa, pattern.kind, PATTERN).map(Some);
        }
        _ => {}
    }
    let start = nfa.build(PATTERN);
    let items = items(pattern.kind);
    let end = match &pattern.shape {
        PatternShape::Everything | PatternShape::Wrong(_) => start,
        PatternShape::Command(pattern) => command(nfa, start, pattern, &items),
        PatternShape::Path(pattern) => nfa.elements(start, &pattern.elements, &items),
        PatternShape::Web(pattern) => web(nfa, start, pattern, &items),
        PatternShape::Name(glob) => nfa.glob(start, glob, &items.any),
        PatternShape::Foreign(regex) => {
            nfa.regex(start, &regex::read(regex).ok_or(MachineTooLarge)?)
        }
    };
    nfa.accept(end, PATTERN);
    Ok(Some(start))
}

fn command(
    nfa: &mut Nfa,
    start: StateId,
    pattern: &CommandPattern,
    items: &ItemCharacters,
) -> StateId {
    let end = nfa.elements(start, &pattern.elements, items);
    if pattern.as_written {
        return end;
    }
    // If a leading `**` matches no word, the next element is the command word. If it matches some, it can
    // also match the global options.
    let many =
        pattern.elements.iter().take_while(|element| **element == PatternElement::Many).count();
    let Some((PatternElement::One(globs), rest)) = pattern.elements[many..].split_first() else {
        return end;
    };
    let after = nfa.state();
    let last = nfa.elements(after, rest, items);
    nfa.join(last, end);
    let word = CommandWord { globs, items, start, below: below(nfa, start, items), after };
    word.by_base_name(nfa);
    word.with_options(nfa);
    end
}

/// Returns a state after the directory of a command word, or after nothing.
pub(crate) fn below(nfa: &mut Nfa, start: StateId, items: &ItemCharacters) -> StateId {
    let inside = nfa.star(start, &items.any);
    let below = nfa.text(inside, "/");
    nfa.join(start, below);
    below
}

/// The spellings of the command word that a deny or ask rule matches.
struct CommandWord<'a> {
    globs: &'a [GlobPattern],
    items: &'a ItemCharacters,
    /// Where the word starts.
    start: StateId,
    /// Where its base name starts.
    below: StateId,
    /// Where the words after it start.
    after: StateId,
}

impl CommandWord<'_> {
    fn by_base_name(&self, nfa: &mut Nfa) {
        for glob in self.globs {
            let end = nfa.glob(self.below, glob, &self.items.any.without('/'));
            nfa.edge(end, &CharSet::one('\0'), self.after);
        }
    }

    /// Returns a state after an unknown option, from which the following words may start anywhere.
    fn anywhere(&self, nfa: &mut Nfa) -> StateId {
        let unknown = nfa.state();
        let again = nfa.item(unknown, self.items);
        nfa.join(again, unknown);
        nfa.join(unknown, self.after);
        unknown
    }

    fn with_options(&self, nfa: &mut Nfa) {
        // With a wildcard the program is unknown, so its global options are unknown too.
        let open = self.globs.iter().any(|glob| glob.as_literal().is_none());
        for glob in self.globs {
            let base = base_name(glob.as_literal().unwrap_or_default());
            let options = if open { &[] } else { global_options(base) };
            if !open && options.is_empty() {
                continue;
            }
            let word = nfa.glob(self.start, glob, &self.items.any);
            let named = nfa.one(word, &CharSet::one('\0'));
            let unknown = (!options.is_empty()).then(|| self.anywhere(nfa));
            let around = nfa.global_options(named, options, self.items, unknown);
            nfa.join(around, self.after);
            let word = nfa.glob(self.below, glob, &self.items.any.without('/'));
            nfa.edge(word, &CharSet::one('\0'), named);
        }
    }
}

fn web(nfa: &mut Nfa, start: StateId, pattern: &WebPattern, labels: &ItemCharacters) -> StateId {
    let any = CharSet::all().without('\0');
    let scheme = nfa.text(start, pattern.scheme);
    let host = nfa.text(scheme, "://");
    let host = nfa.elements(host, &pattern.host, labels);
    let port = nfa.text(host, ":");
    let path = match pattern.port {
        Some(number) => nfa.text(port, &number.to_string()),
        None => nfa.star(port, &CharSet::ranges([('0', '9')].into_iter())),
    };
    let Some(glob) = &pattern.path else {
        let path = nfa.text(path, "/");
        return nfa.star(path, &any);
    };
    let end = nfa.glob(path, glob, &any);
    if pattern.without_query {
        let plain = nfa.glob(path, glob, &any.without('?'));
        let query = nfa.text(plain, "?");
        let query = nfa.star(query, &any);
        nfa.join(query, end);
    }
    end
}
