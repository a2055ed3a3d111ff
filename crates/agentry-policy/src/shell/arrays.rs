//! Lists as values: `x=(a b)`.

use super::analyser::ShellAnalyser;
use super::raw_command::RawCommand;
use super::state::ShellState;

impl ShellAnalyser<'_> {
    /// To bash `x=(a)x=b` is one assignment of a text, to its parsers they are two; whether something
    /// stood between them cannot be told any more.
    pub(super) fn lists_apart(&mut self, simple: &RawCommand, text: &str, state: &ShellState) {
        let is_list = |raw: &String| raw.contains("=(");
        if simple.assignments.len() > 1 && simple.assignments.iter().any(is_list) {
            self.unclear(text, "where the value of a variable ends is not clear", state);
        }
    }
}
