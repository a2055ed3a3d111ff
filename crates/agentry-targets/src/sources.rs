//! The files that an import reads. One that is there and cannot be read, or is not understood, is never
//! taken for one that is not there: what it denies would be lost without a word.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use agentry_text::json::{self, JsonDialect};
use agentry_text::tree_rules::DUPLICATE_KEY;
use agentry_text::{Data, FileId, Findings, Severity, Source, toml};

/// Gives the text of a file as [`Files`](crate::Files) does; why not, where there is one that cannot be
/// read.
pub type Sources<'a> = dyn Fn(&str) -> Result<Option<String>, String> + Sync + 'a;

/// Files with the first of them that must not be passed over.
pub(crate) struct Checked<'a> {
    sources: &'a Sources<'a>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The files that were looked at.
    paths: BTreeSet<String>,
    wrong: Option<String>,
}

impl<'a> Checked<'a> {
    pub(crate) fn new(sources: &'a Sources<'a>) -> Self {
        Self { sources, seen: Mutex::default() }
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let found = (self.sources)(path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.paths.insert(path.to_owned()) {
            let wrong = match &found {
                Ok(text) => text.as_deref().and_then(|text| wrong(path, text)),
                Err(why) => Some(format!(
                    "`{path}` is there and cannot be read, so that what it denies would be lost: {why}"
                )),
            };
            seen.wrong = seen.wrong.take().or(wrong);
        }
        found.ok().flatten()
    }

    /// What `value` is worth that was made of the files: nothing if one of them is wrong.
    pub(crate) fn sound<T>(self, value: T) -> Result<T, String> {
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        seen.wrong.map_or(Ok(value), Err)
    }
}

/// What is wrong with a file of settings, and where. Comments and a last comma are a matter of each
/// harness. Other TOML than settings is told of by who reads it.
fn wrong(path: &str, text: &str) -> Option<String> {
    let is_json = [".json", ".jsonc"].iter().any(|end| path.ends_with(end));
    let is_toml = path.rsplit('/').next() == Some("config.toml");
    let text = text.trim_start_matches('\u{feff}');
    if !(is_json || is_toml) || text.trim().is_empty() {
        return None;
    }
    let source = Source::new(FileId::BUILT_IN, "", text);
    let mut findings = Findings::default();
    let data = if is_json {
        json::parse_as(&source, JsonDialect::Relaxed, &mut findings).to_data()
    } else {
        toml::parse(&source, &mut findings).to_data()
    };
    let first = findings.iter().find(|found| found.severity == Severity::Error);
    let (at, message) = match first {
        Some(found) if *found.rule == DUPLICATE_KEY => {
            let what = "the harness takes the last: remove one";
            (found.span.range().start, format!("{}; {what}", found.message))
        }
        Some(found) => (found.span.range().start, found.message.clone()),
        None if matches!(data, Data::Map(_)) => return None,
        None => (0, "the file holds no object".to_owned()),
    };
    let at = source.position(at);
    let place = format!("`{path}:{}:{}`", at.line, at.column);
    Some(format!("{place} is not understood, so that what it denies would be lost: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_has_its_place() {
        let cases = [
            ("a.json", "{\"a\": 1}", None),
            ("a.json", "{\"a\": 1, // why\n}", None),
            ("a.json", "\u{feff}\n", None),
            ("a.txt", "{", None),
            ("x/config.toml", "\u{feff}# mine\na = 1\n", None),
            ("x/other.toml", "a = ", None),
            ("x/config.toml", "a = 1\n[agents\n", Some(("`x/config.toml:2:", ""))),
            ("a.json", "[]", Some(("`a.json:1:1` is", ": the file holds no object"))),
            ("a.jsonc", "{\n  \"a\" 1}", Some(("`a.jsonc:2:6` is", ""))),
            (
                "a.json",
                "{\"a\": {},\n\"a\": {\"b\": \"a\"}}",
                Some(("`a.json:2:1` is", "twice; the harness takes the last: remove one")),
            ),
        ];
        for (path, text, expected) in cases {
            let found = wrong(path, text);
            let fits = match (&found, expected) {
                (Some(found), Some((start, end))) => {
                    found.starts_with(start) && found.ends_with(end)
                }
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(fits, "{text}: {found:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_absent() {
        let sources = |path: &str| match path {
            "large.json" => Err("it is too large".to_owned()),
            _ => Ok(None),
        };
        let checked = Checked::new(&sources);
        assert_eq!(checked.text("none.json"), None);
        assert_eq!(checked.text("large.json"), None);
        let wrong = checked.sound(()).expect_err("a file that cannot be read");
        assert!(wrong.starts_with("`large.json` is there and cannot be read"), "{wrong}");
        assert_eq!(Checked::new(&sources).sound(1), Ok(1));
    }
}
