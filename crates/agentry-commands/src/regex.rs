//! Matches whole argument lists against regular expressions, by simulating a nondeterministic automaton.
//!
//! Few lists are compared in one run, so compiling a deterministic automaton would take longer.

use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{NFA, WhichCaptures};
use regex_syntax::hir::{Hir, Look};

/// One regular expression.
#[derive(Debug)]
pub(crate) struct ArgumentRegex(PikeVM);

impl ArgumentRegex {
    /// Parses an expression; returns `None` for a syntax error or an anchor.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let hir = regex_syntax::parse(text).ok()?;
        // The match is always anchored at both ends, so an anchor in the text would be a mistake.
        hir.properties().look_set().is_empty().then_some(())?;
        let whole = Hir::concat(vec![Hir::look(Look::Start), hir, Hir::look(Look::End)]);
        let config = NFA::config().which_captures(WhichCaptures::None);
        let nfa = NFA::compiler().configure(config).build_from_hir(&whole).ok()?;
        PikeVM::new_from_nfa(nfa).ok().map(Self)
    }

    /// Whether the expression matches the whole text.
    pub(crate) fn takes(&self, text: &str) -> bool {
        self.0.is_match(&mut self.0.create_cache(), text)
    }
}
