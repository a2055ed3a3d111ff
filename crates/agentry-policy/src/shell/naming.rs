//! Variables that commands of the shell set by name: `read PATH`, `printf -v PATH`, `wait -p PATH`.

use super::What;
use super::analyser::Analyser;
use super::assign::is_name;
use super::call::Call;
use super::simple::Simple;
use super::state::State;
use crate::argv::{Arg, Word};
use crate::shell::Scope;
use crate::tables::environment::{Setting, setting};

impl Analyser<'_> {
    /// Adds the variables that change what runs, where a command of the shell names them.
    pub(super) fn names_of(&mut self, name: &str, call: &Call<'_>, state: &State) {
        let may_set = match name {
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "wait" => true,
            "printf" => call
                .argv
                .get(1)
                .is_some_and(|first| first.literal().is_none_or(|first| first.starts_with("-v"))),
            _ => false,
        };
        if !may_set {
            return;
        }
        for word in call.argv.iter().skip(1).filter_map(Arg::literal) {
            let bare = word.strip_prefix('-').and_then(|rest| rest.get(1..)).unwrap_or(word);
            self.named(bare, call.text, state);
        }
    }

    /// Adds a variable that is set to nobody knows what, if it changes what runs.
    pub(super) fn named(&mut self, name: &str, text: &str, state: &State) {
        if is_name(name) && setting(name) == Setting::Dangerous {
            let (name, value) = (name.to_owned(), Word::any());
            self.push(text, What::Set { name, value, scope: Scope::Shell }, state);
        }
    }

    /// `{name}> file` sets `name`, unless the braces stand apart, which cannot be told any more.
    pub(super) fn named_descriptors(&mut self, simple: &Simple, text: &str, state: &State) {
        let is_one = |word: &String| {
            let name = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            name.is_some_and(is_name)
        };
        if !simple.redirects.is_empty() && simple.words.iter().flatten().any(is_one) {
            self.unclear(text, "a redirection that may set a variable", state);
        }
    }
}
