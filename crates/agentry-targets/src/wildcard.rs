//! Wildcards over the text of a command, as several harnesses have them: `*` matches any text, across words
//! and spaces.
//!
//! A harness compares such a pattern with the typed command; Agentry compares commands word by word. With
//! quotes or escapes the two may differ: an allow then counts as matching more, a deny as matching less.

use agentry_policy::{Action, Section};

use crate::encoding::MatchBounds;
use crate::model::escape;

/// Any text, including the ends of words.
pub use agentry_policy::ANYTHING;
/// A regular expression that matches no text.
pub const NOTHING: &str = r"[^\s\S]";

/// How a harness reads its wildcards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WildcardDialect {
    /// Whether `?` matches any one character.
    pub question: bool,
    /// Whether a trailing ` *` may match nothing only if it is the only wildcard.
    pub sole: bool,
}

impl WildcardDialect {
    /// Returns what a command pattern matches. A trailing ` *` may match nothing.
    pub fn command(self, pattern: &str) -> MatchBounds {
        let (head, optional) = match pattern.strip_suffix(" *") {
            Some(head) => (head, true),
            None => (pattern, false),
        };
        let tail = |bound: WildcardBound| match optional {
            false => r"\x00".to_owned(),
            // After another wildcard, the trailing ` *` must match something.
            true if self.sole && bound == WildcardBound::Least && head.contains('*') => {
                format!(r"\x00{ANYTHING}\x00")
            }
            true => format!(r"\x00(?:{ANYTHING}\x00)?"),
        };
        let of = |bound: WildcardBound| format!("{}{}", self.text(head, bound), tail(bound));
        MatchBounds { most: of(WildcardBound::Most), least: of(WildcardBound::Least) }
    }

    /// Whether a pattern matches a whole name.
    pub fn takes(self, pattern: &str, name: &str) -> bool {
        let Some(first) = pattern.chars().next() else { return name.is_empty() };
        let rest = pattern.get(first.len_utf8()..).unwrap_or_default();
        let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
        match (first, name.chars().next()) {
            ('*', _) => ends.any(|at| self.takes(rest, name.get(at..).unwrap_or_default())),
            (first, Some(c)) if first == c || (first == '?' && self.question) => {
                self.takes(rest, name.get(c.len_utf8()..).unwrap_or_default())
            }
            _ => false,
        }
    }

    /// Returns what a pattern for a name or a path matches. A trailing ` *` may match nothing here too.
    pub fn whole(self, pattern: &str) -> String {
        match pattern.strip_suffix(" *") {
            Some(head) => format!("{}(?: {ANYTHING})?", self.plain(head)),
            None => self.plain(pattern),
        }
    }

    /// Returns what a pattern matches character by character.
    pub fn plain(self, pattern: &str) -> String {
        let each = |c: char| match c {
            '*' => ANYTHING.to_owned(),
            '?' if self.question => "(?s:.)".to_owned(),
            c => escape(c.encode_utf8(&mut [0; 4])),
        };
        pattern.chars().map(each).collect()
    }

    fn text(self, pattern: &str, bound: WildcardBound) -> String {
        // A space separates two words, unless a wildcard before it matched an opening quote.
        let mut open = false;
        let most = bound == WildcardBound::Most;
        // A special character changes the meaning of the text after it in unknown ways.
        let known = pattern.find(is_special).unwrap_or(pattern.len());
        let rest = match (known < pattern.len(), most) {
            (false, _) => "",
            (true, true) => ANYTHING,
            (true, false) => NOTHING,
        };
        let each = |c: char| {
            open |= c == '*' || (c == '?' && self.question);
            match c {
                '*' => ANYTHING.to_owned(),
                '?' if self.question => "(?s:.)".to_owned(),
                ' ' if most && open => r"(?:\x00| )".to_owned(),
                ' ' => r"\x00".to_owned(),
                c => escape(c.encode_utf8(&mut [0; 4])),
            }
        };
        let known = pattern.get(..known).unwrap_or_default();
        known.chars().map(each).chain([rest.to_owned()]).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WildcardBound {
    Most,
    Least,
}

/// Whether the character has a meaning for a shell, so that its literal form is typed with quotes or escapes.
pub fn is_special(c: char) -> bool {
    c.is_control() || "\"'\\$`<>|&;()".contains(c)
}

/// Translates a source pattern for a rule that may match less; empty if the pattern contains a character that
/// cannot be written.
pub fn at_most(pattern: &str) -> Vec<String> {
    if pattern.chars().any(is_special) || pattern.contains('?') {
        return Vec::new();
    }
    spelled(pattern)
}

/// Translates a source pattern for a rule that may match more.
pub fn at_least(pattern: &str) -> Vec<String> {
    // The harness may see the home directory written out, without the tilde.
    let pattern = pattern.replace(" ~/", " */");
    let pattern = match pattern.strip_prefix("~/") {
        Some(rest) => format!("*/{rest}"),
        None => pattern,
    };
    match pattern.find(is_special) {
        Some(at) => {
            let known = pattern.get(..at).unwrap_or_default().trim_end();
            vec![if known.is_empty() { "*".to_owned() } else { format!("{known}*") }]
        }
        None => spelled(&pattern),
    }
}

/// Returns source patterns that together match every command which a pattern of this dialect may match.
pub fn around(pattern: &str) -> Vec<String> {
    let text = match pattern.find(is_special) {
        Some(at) => format!("{}*", pattern.get(..at).unwrap_or_default()),
        None => pattern.to_owned(),
    };
    let words: Vec<&str> = text.split(' ').collect();
    if words.iter().all(|word| word.is_empty()) {
        return Vec::new();
    }
    let Some(wild) = words.iter().position(|word| word.contains('*')) else { return vec![text] };
    let (head, rest) = words.split_at(wild);
    let first = rest.first().copied().unwrap_or_default();
    // A tilde beside a wildcard may be a written-out home directory.
    let known = first.split('*').next().filter(|it| *it != "~").unwrap_or_default();
    // The last literal piece of the pattern must be at the end of some word.
    let last = rest.last().copied().unwrap_or_default();
    let open = if last.ends_with('*') { "*" } else { "" };
    let tail = last.trim_end_matches('*').rsplit(['*', '~']).next().unwrap_or_default();
    let tail = match (known, tail) {
        ("", "") => vec!["*".to_owned()],
        ("", tail) => vec!["**".to_owned(), format!("*{tail}{open}")],
        (known, _) => vec![format!("{known}*")],
    };
    let words = head.iter().copied().chain(tail.iter().map(String::as_str));
    vec![words.collect::<Vec<_>>().join(" ")]
}

/// Describes how a rule about commands was changed; `None` if it was not.
pub fn reworded(section: Section, text: &str, action: Action, words: &[String]) -> Option<String> {
    let changed = section == Section::Bash && text.contains(is_special);
    let detail = || match words {
        [] => format!("`{text}` to {action} is left out: a shell gives its characters a meaning"),
        words => {
            format!("`{text}` to {action} became `{}`", words.join("`, `"))
        }
    };
    changed.then(detail)
}

/// Expands `**` between words, which matches any number of words, into variants with and without it.
fn spelled(pattern: &str) -> Vec<String> {
    let words: Vec<&str> = pattern.split(' ').filter(|word| !word.is_empty()).collect();
    let mut out = vec![String::new()];
    for (at, word) in words.iter().enumerate() {
        let last = at + 1 == words.len();
        let many = word.len() > 1 && word.bytes().all(|byte| byte == b'*');
        let word = collapsed(word);
        let mut next = Vec::new();
        for text in out {
            let space = if text.is_empty() { "" } else { " " };
            // A last `**` becomes ` *`, which may match nothing anyway.
            if many && !last {
                next.push(text.clone());
            }
            next.push(format!("{text}{space}{word}"));
        }
        out = next;
    }
    out.dedup();
    out
}

/// Replaces each run of `*` by one, which matches the same.
pub(crate) fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '*' || !out.ends_with('*') {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_become_covering_patterns() {
        let cases = [
            ("git log", "git log"),
            ("git log*", "git log*"),
            ("git *", "git *"),
            ("git * --force", "git ** *--force"),
            ("git * push --force*", "git ** *--force*"),
            ("git *a*b", "git ** *b"),
            ("a*b c", "a*"),
            ("rm -rf $HOME*", "rm -rf *"),
            ("git commit -m \"wip*", "git commit -m *"),
            ("$x", "*"),
            ("rm ~*", "rm *"),
            ("rm *~/a", "rm ** */a"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(around(pattern), [expected], "{pattern}");
        }
    }

    #[test]
    fn patterns_have_upper_and_lower_wildcards() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("git log*", &["git log*"], &["git log*"]),
            (
                "git ** --force",
                &["git --force", "git * --force"],
                &["git --force", "git * --force"],
            ),
            ("git **", &["git *"], &["git *"]),
            ("echo \"x\"", &[], &["echo*"]),
            ("~/bin/x *", &["~/bin/x *"], &["*/bin/x *"]),
            ("cat ~/x", &["cat ~/x"], &["cat */x"]),
            ("curl http://x/?q", &[], &["curl http://x/?q"]),
        ];
        for (pattern, most, least) in cases {
            assert_eq!(at_most(pattern), *most, "{pattern}");
            assert_eq!(at_least(pattern), *least, "{pattern}");
        }
    }
}
