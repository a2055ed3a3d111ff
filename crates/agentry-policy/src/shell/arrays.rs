//! Arrays as values: `x=(a b)`.

use super::analyser::ShellAnalyser;
use super::raw_command::RawCommand;
use super::state::ShellState;

impl ShellAnalyser<'_> {
    /// Reports `x=(a)x=b`, which bash reads as one assignment and the parsers read as two. Whether there was
    /// a space between them is no longer known here.
    pub(super) fn lists_apart(&mut self, simple: &RawCommand, text: &str, state: &ShellState) {
        let is_list = |raw: &String| raw.contains("=(");
        if simple.assignments.len() > 1 && simple.assignments.iter().any(is_list) {
            self.unclear(text, "where the value of a variable ends is not clear", state);
        }
    }
}
