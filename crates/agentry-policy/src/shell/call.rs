//! A simple command whose words are known: who runs, and with what.

use super::analyser::Analyser;
use super::flow::Flow;
use super::simple::Simple;
use super::state::{State, Value};
use super::{Scope, What};
use crate::argv::{Arg, Word};

impl Analyser<'_> {
    /// A simple command.
    pub(super) fn simple(&mut self, simple: &Simple, mut state: State) -> Flow {
        let text = simple.text();
        let argv = self.arguments(simple, &text, &mut state);
        let scope = if argv.is_empty() { Scope::Shell } else { Scope::Command };
        for raw in &simple.assignments {
            self.assignment(raw, &text, scope, &mut state);
        }
        self.redirects(&text, &simple.redirects, &mut state);
        if argv.is_empty() {
            return Flow::both(state);
        }
        self.call(&Call { text: &text, argv, simple }, state)
    }

    fn assignment(&mut self, raw: &str, text: &str, scope: Scope, state: &mut State) {
        let _ = (raw, text, scope, state);
    }

    pub(super) fn call(&mut self, call: &Call<'_>, state: State) -> Flow {
        let Some(_name) = call.argv.first().and_then(Arg::literal) else {
            self.unclear(call.text, "the command is not literal", &state);
            return Flow::both(state);
        };
        self.command(call.text, call.argv.clone(), &state);
        let _ = (Value::Unknown, What::Read(Word::any()));
        Flow::both(state)
    }
}

/// One call.
pub(super) struct Call<'a> {
    pub(super) text: &'a str,
    pub(super) argv: Vec<Arg>,
    pub(super) simple: &'a Simple,
}
