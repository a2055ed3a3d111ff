//! Commands that Codex and Gemini CLI consider harmless and run without asking, unless a rule matches. Both
//! have the same list.

use agentry_policy::Action;

use crate::encoding::{EncodedRule, MatchBounds};
use crate::model::escape;

/// A command that the harness considers harmless.
#[derive(Debug)]
pub(crate) struct HarmlessCommand {
    /// Its name. Options that make the harness ask are ignored here.
    pub(crate) name: &'static str,
    /// Whether it shows the contents of a file or a directory.
    pub(crate) reads: bool,
}

const fn reads(name: &'static str) -> HarmlessCommand {
    HarmlessCommand { name, reads: true }
}

const fn plain(name: &'static str) -> HarmlessCommand {
    HarmlessCommand { name, reads: false }
}

/// All harmless commands, sorted by name.
pub(crate) const HARMLESS: &[HarmlessCommand] = &[
    reads("base64"),
    reads("cat"),
    plain("cd"),
    reads("cut"),
    plain("echo"),
    plain("expr"),
    plain("false"),
    reads("find"),
    reads("git"),
    reads("grep"),
    reads("head"),
    plain("id"),
    reads("ls"),
    reads("nl"),
    reads("numfmt"),
    reads("paste"),
    plain("pwd"),
    reads("rev"),
    reads("rg"),
    reads("sed"),
    plain("seq"),
    reads("stat"),
    reads("tac"),
    reads("tail"),
    reads("tr"),
    plain("true"),
    plain("uname"),
    reads("uniq"),
    reads("wc"),
    plain("which"),
    plain("whoami"),
];

impl HarmlessCommand {
    /// The rule that allows the command with any arguments.
    pub(crate) fn entry(&self) -> EncodedRule {
        EncodedRule {
            text: self.name.to_owned(),
            action: Action::Allow,
            matches: MatchBounds::exactly(starting_with(&[self.name])),
        }
    }
}

/// A regular expression for all commands that start with these words.
pub(crate) fn starting_with(words: &[&str]) -> String {
    let words = words.iter().flat_map(|word| [escape(word), r"\x00".to_owned()]);
    words.chain([r"(?:[^\x00]*\x00)*".to_owned()]).collect()
}
