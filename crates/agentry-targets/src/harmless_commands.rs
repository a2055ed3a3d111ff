//! Commands that Codex and Gemini CLI take for harmless and run without asking, unless a rule says
//! otherwise. Both have the same list.

use agentry_policy::Action;

use crate::encoding::{EncodedRule, MatchBounds};
use crate::model::escape;

/// A command that is taken for harmless.
#[derive(Debug)]
pub(crate) struct HarmlessCommand {
    /// Its name. Some of its options may take it off the list; that does not count here.
    pub(crate) name: &'static str,
    /// Whether it shows what is in a file or a directory.
    pub(crate) reads: bool,
}

const fn reads(name: &'static str) -> HarmlessCommand {
    HarmlessCommand { name, reads: true }
}

const fn plain(name: &'static str) -> HarmlessCommand {
    HarmlessCommand { name, reads: false }
}

/// All of them, by name.
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
    /// The rule that it is allowed with whatever arguments.
    pub(crate) fn entry(&self) -> EncodedRule {
        EncodedRule {
            text: self.name.to_owned(),
            action: Action::Allow,
            matches: MatchBounds::exactly(starting_with(&[self.name])),
        }
    }
}

/// All commands that start with these words.
pub(crate) fn starting_with(words: &[&str]) -> String {
    let words = words.iter().flat_map(|word| [escape(word), r"\x00".to_owned()]);
    words.chain([r"(?:[^\x00]*\x00)*".to_owned()]).collect()
}
