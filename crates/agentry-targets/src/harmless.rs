//! Commands that Codex and Gemini CLI take for harmless and run without asking, unless a rule says
//! otherwise. Both have the same list.

use agentry_policy::Action;

use crate::encoding::{Entry, Matches};
use crate::model::escape;

/// A command that is taken for harmless.
#[derive(Debug)]
pub(crate) struct Harmless {
    /// Its name. Some of its options may take it off the list; that does not count here.
    pub(crate) name: &'static str,
    /// Whether it shows what is in a file or a directory.
    pub(crate) reads: bool,
}

const fn reads(name: &'static str) -> Harmless {
    Harmless { name, reads: true }
}

const fn plain(name: &'static str) -> Harmless {
    Harmless { name, reads: false }
}

/// All of them, by name.
pub(crate) const HARMLESS: &[Harmless] = &[
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

impl Harmless {
    /// The rule that it is allowed with whatever arguments.
    pub(crate) fn entry(&self) -> Entry {
        Entry {
            text: self.name.to_owned(),
            action: Action::Allow,
            matches: Matches::exactly(starting_with(&[self.name])),
        }
    }
}

/// All commands that start with these words.
pub(crate) fn starting_with(words: &[&str]) -> String {
    let words = words.iter().flat_map(|word| [escape(word), r"\x00".to_owned()]);
    words.chain([r"(?:[^\x00]*\x00)*".to_owned()]).collect()
}
