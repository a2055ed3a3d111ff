//! Encodes subjects as texts for machines. Every item is followed by a character that no item contains, so
//! that different subjects never have the same text.

use super::nfa::ItemCharacters;
use super::set::CharSet;
use crate::pattern::path::segments;
use crate::pattern::{PatternKind, PatternSubject};

/// The regular expressions of all valid encoded subjects, by kind.
pub(crate) const fn universe(kind: PatternKind) -> &'static str {
    match kind {
        PatternKind::Command => r"[^\x00]+\x00(?:[^\x00]*\x00)*",
        PatternKind::Path => r"(?:(?:[^/.\x00][^/\x00]*|\.[^/.\x00][^/\x00]*|\.\.[^/\x00]+)/)*",
        PatternKind::Web => concat!(
            r"(?:https?|wss?|ftp)://(?:(?:[a-z0-9_!$&'()*+,;=~{}`\x22-]+\.)+|\[[0-9a-f:]+\]\.):",
            r"(?:0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}",
            r"|655[0-2][0-9]|6553[0-5])/[!-~&&[^#]]*"
        ),
        PatternKind::Name | PatternKind::Text => r"[^\x00]+",
    }
}

/// Returns the characters of the items of a kind.
pub(crate) fn items(kind: PatternKind) -> ItemCharacters {
    let any = CharSet::all().without('\0');
    match kind {
        PatternKind::Path => ItemCharacters { any: any.without('/'), end: '/' },
        // The items are the labels of a host name.
        PatternKind::Web => ItemCharacters { any: any.without('/').without('.'), end: '.' },
        PatternKind::Command | PatternKind::Name | PatternKind::Text => {
            ItemCharacters { any, end: '\0' }
        }
    }
}

/// Encodes a subject.
pub(crate) fn encode(kind: PatternKind, subject: PatternSubject<'_>) -> String {
    match (kind, subject) {
        (_, PatternSubject::Command(argv)) => argv.iter().flat_map(|word| [*word, "\0"]).collect(),
        (PatternKind::Path, PatternSubject::Text(path)) => {
            segments(path).flat_map(|segment| [segment, "/"]).collect()
        }
        (PatternKind::Web, PatternSubject::Text(address)) => {
            let start = address.find("://").map_or(0, |at| at + 3);
            let end = address[start..].find('/').map_or(address.len(), |at| start + at);
            let (authority, path) = address.split_at(end);
            match authority.rsplit_once(':') {
                // The `.` ends the last label of the host.
                Some((host, port)) => format!("{host}.:{port}{path}"),
                None => address.to_owned(),
            }
        }
        (_, PatternSubject::Text(text)) => text.to_owned(),
    }
}

/// A subject that a machine found, as an example for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExampleSubject {
    /// An argument list.
    Command(Vec<String>),
    /// A path, an address, a name.
    Text(String),
}

impl ExampleSubject {
    /// Decodes a text.
    pub(crate) fn decode(kind: PatternKind, text: &str) -> Self {
        match kind {
            PatternKind::Command => {
                let words = text.strip_suffix('\0').unwrap_or(text).split('\0');
                Self::Command(words.map(str::to_owned).collect())
            }
            PatternKind::Path => Self::Text(format!("/{}", text.strip_suffix('/').unwrap_or(text))),
            PatternKind::Web => Self::Text(text.replacen(".:", ":", 1)),
            PatternKind::Name | PatternKind::Text => Self::Text(text.to_owned()),
        }
    }

    /// Puts a letter into each empty word, where `what` stays the same.
    pub(crate) fn filled<T: PartialEq>(self, what: impl Fn(PatternSubject<'_>) -> T) -> Self {
        let Self::Command(mut words) = self else { return self };
        let of = |words: &[String]| {
            let argv: Vec<&str> = words.iter().map(String::as_str).collect();
            what(PatternSubject::Command(&argv))
        };
        for at in 0..words.len() {
            if words[at].is_empty() {
                let before = of(&words);
                words[at].push('x');
                if of(&words) != before {
                    words[at].clear();
                }
            }
        }
        Self::Command(words)
    }

    /// Replaces host, scheme and port of a web address by common ones, where `what` stays the same.
    pub(crate) fn usual<T: PartialEq>(
        self,
        kind: PatternKind,
        what: impl Fn(PatternSubject<'_>) -> T,
    ) -> Self {
        let (PatternKind::Web, Self::Text(text)) = (kind, &self) else { return self };
        let Some((_, rest)) = text.split_once("://") else { return self };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        let own = what(PatternSubject::Text(text));
        let same = |text: &String| what(PatternSubject::Text(text)) == own;
        // A fully generic address is tried before one that keeps host and path.
        let tries = ["https://example.com:443/".to_owned(), format!("https://{host}:443{path}")];
        match tries.into_iter().find(same) {
            Some(usual) => Self::Text(usual.replacen(":443/", "/", 1)),
            None => self,
        }
    }

    /// Calls `then` with it as a [`PatternSubject`].
    pub fn with<T>(&self, then: impl FnOnce(PatternSubject<'_>) -> T) -> T {
        match self {
            Self::Command(words) => {
                let argv: Vec<&str> = words.iter().map(String::as_str).collect();
                then(PatternSubject::Command(&argv))
            }
            Self::Text(text) => then(PatternSubject::Text(text)),
        }
    }
}

impl std::fmt::Display for ExampleSubject {
    /// Writes a command as a user would type it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{}", visible(text)),
            Self::Command(words) => {
                for (index, word) in words.iter().enumerate() {
                    let space = if index > 0 { " " } else { "" };
                    write!(f, "{space}{}", quoted(word))?;
                }
                Ok(())
            }
        }
    }
}

/// Returns a word as a user would type it, quoted if necessary.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    let tilde = word.strip_prefix('~').is_some_and(|rest| rest.chars().all(plain));
    if tilde || (!word.is_empty() && word.chars().all(plain)) {
        return word.to_owned();
    }
    format!("'{}'", visible(&word.replace('\'', r"'\''")))
}

/// Escapes the control characters of a text.
fn visible(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let shown: Vec<char> =
                if c.is_control() { c.escape_default().collect() } else { vec![c] };
            shown
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_encode_and_decode() {
        let cases = [
            (PatternKind::Path, "/", "", "/"),
            (PatternKind::Path, "/a/b", "a/b/", "/a/b"),
            (
                PatternKind::Web,
                "https://x.org:443/a.:b",
                "https://x.org.:443/a.:b",
                "https://x.org:443/a.:b",
            ),
            (PatternKind::Web, "http://[::1]:80/", "http://[::1].:80/", "http://[::1]:80/"),
            (PatternKind::Name, "a/b", "a/b", "a/b"),
        ];
        for (kind, subject, text, back) in cases {
            assert_eq!(encode(kind, PatternSubject::Text(subject)), text);
            assert_eq!(ExampleSubject::decode(kind, text).to_string(), back);
        }
        let argv = ["git", "", "a b", "it's", "~/x", "\u{1b}"];
        let text = encode(PatternKind::Command, PatternSubject::Command(&argv));
        let back = ExampleSubject::decode(PatternKind::Command, &text).to_string();
        assert_eq!(back, r"git '' 'a b' 'it'\''s' ~/x '\u{1b}'");
    }
}
