//! Regular expressions as automata: those of harmless arguments, and those that describe valid subjects.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::nfa::{Nfa, StateId};
use super::set::CharSet;

/// Parses a regular expression that has to match a whole text. Returns `None` for a syntax error, or for an
/// assertion other than an anchor at the start or the end.
pub(crate) fn read(text: &str) -> Option<Hir> {
    let hir = regex_syntax::parse(text).ok()?;
    let hir = without_anchors(hir);
    hir.properties().look_set().is_empty().then_some(hir)
}

fn without_anchors(hir: Hir) -> Hir {
    match hir.into_kind() {
        HirKind::Concat(mut parts) => {
            let is = |part: Option<&Hir>, look| matches!(part.map(Hir::kind), Some(HirKind::Look(found)) if *found == look);
            if is(parts.last(), Look::End) {
                parts.pop();
            }
            if is(parts.first(), Look::Start) {
                parts.remove(0);
            }
            Hir::concat(parts)
        }
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Look(look) => Hir::look(look),
        HirKind::Repetition(repetition) => Hir::repetition(repetition),
        HirKind::Capture(capture) => Hir::capture(capture),
        HirKind::Alternation(parts) => Hir::alternation(parts),
    }
}

/// Whether the empty text matches.
pub(crate) fn takes_nothing(hir: &Hir) -> bool {
    hir.properties().minimum_len() == Some(0)
}

impl Nfa {
    /// Adds the texts that the regular expression matches.
    pub(crate) fn regex(&mut self, from: StateId, hir: &Hir) -> StateId {
        match hir.kind() {
            HirKind::Empty => from,
            // Cannot happen: `read` rejects assertions. A state without edges never matches.
            HirKind::Look(_) => self.state(),
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => self.text(from, text),
                Err(_) => self.state(),
            },
            HirKind::Class(class) => self.one(from, &set_of(class)),
            HirKind::Capture(capture) => self.regex(from, &capture.sub),
            HirKind::Concat(parts) => parts.iter().fold(from, |from, part| self.regex(from, part)),
            HirKind::Alternation(parts) => {
                let after = self.state();
                for part in parts {
                    let end = self.regex(from, part);
                    self.join(end, after);
                }
                after
            }
            HirKind::Repetition(repetition) => {
                let mut here = from;
                for _ in 0..repetition.min {
                    here = self.regex(here, &repetition.sub);
                }
                match repetition.max {
                    None => self.again(here, &repetition.sub),
                    Some(max) => self.up_to(here, &repetition.sub, max - repetition.min),
                }
            }
        }
    }

    fn again(&mut self, from: StateId, sub: &Hir) -> StateId {
        let around = self.state();
        self.join(from, around);
        let end = self.regex(around, sub);
        self.join(end, around);
        around
    }

    fn up_to(&mut self, from: StateId, sub: &Hir, times: u32) -> StateId {
        let after = self.state();
        self.join(from, after);
        let mut here = from;
        for _ in 0..times {
            here = self.regex(here, sub);
            self.join(here, after);
            // A large repetition would otherwise continue long after the limit.
            if self.finish().is_err() {
                break;
            }
        }
        after
    }
}

fn set_of(class: &Class) -> CharSet {
    match class {
        Class::Unicode(class) => {
            CharSet::ranges(class.iter().map(|range| (range.start(), range.end())))
        }
        Class::Bytes(class) => CharSet::ranges(
            class.iter().map(|range| (char::from(range.start()), char::from(range.end()))),
        ),
    }
}
