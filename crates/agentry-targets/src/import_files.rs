//! The files that an import reads. A file that exists but cannot be read or parsed never counts as missing,
//! because its denials would be lost without a message.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use agentry_text::json::{self, JsonDialect};
use agentry_text::tree_rules::DUPLICATE_KEY;
use agentry_text::{Data, FileId, Findings, Severity, SourceFile, toml};

use crate::harness_files::{HarnessFiles, HarnessPath, Unreadable};
use crate::memo::RenderMemo;

/// Files that remember the first problem found in any file that was read.
pub(crate) struct CheckedFiles<'a> {
    files: &'a dyn HarnessFiles,
    memo: Option<&'a RenderMemo>,
    looked: Mutex<LookedAt>,
}

#[derive(Default)]
struct LookedAt {
    paths: BTreeSet<String>,
    wrong: Option<String>,
}

impl<'a> CheckedFiles<'a> {
    pub(crate) fn new(files: &'a dyn HarnessFiles, memo: Option<&'a RenderMemo>) -> Self {
        Self { files, memo, looked: Mutex::default() }
    }

    /// Records a problem the first time that a path is read.
    fn note<T>(
        &self,
        path: HarnessPath<'_>,
        found: &Result<Option<T>, Unreadable>,
        problem: impl Fn(&str, &T) -> Option<String>,
    ) {
        let path = path.to_string();
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.paths.insert(path.clone()) {
            let wrong = match found {
                Ok(found) => found.as_ref().and_then(|found| problem(&path, found)),
                Err(Unreadable(why)) => Some(format!(
                    "`{path}` is there and cannot be read, so that what it denies would be lost: {why}"
                )),
            };
            looked.wrong = looked.wrong.take().or(wrong);
        }
    }

    /// Returns `value`, which was built from the files, or the first problem.
    pub(crate) fn sound<T>(self, value: T) -> Result<T, String> {
        let looked = self.looked.into_inner().unwrap_or_else(PoisonError::into_inner);
        looked.wrong.map_or(Ok(value), Err)
    }
}

impl HarnessFiles for CheckedFiles<'_> {
    fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
        let found = self.files.read(path);
        self.note(path, &found, |path, text| wrong(path, text));
        found
    }

    fn list(&self, dir: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
        let found = self.files.list(dir);
        self.note(dir, &found, |_, _| None);
        found
    }

    fn memo(&self) -> Option<&RenderMemo> {
        self.memo
    }
}

/// Describes the first problem of a settings file. Comments and trailing commas are allowed, since each
/// harness decides about them. Only `config.toml` is checked here; other TOML is checked by its reader.
fn wrong(path: &str, text: &str) -> Option<String> {
    let is_json = [".json", ".jsonc"].iter().any(|end| path.ends_with(end));
    let is_toml = path.rsplit('/').next() == Some("config.toml");
    let text = text.trim_start_matches('\u{feff}');
    // An empty file counts as empty settings.
    if !(is_json || is_toml) || text.trim().is_empty() {
        return None;
    }
    let source = SourceFile::new(FileId::BUILT_IN, "", text);
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
    fn malformed_settings_are_reported_with_a_position() {
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
    fn an_unreadable_file_is_not_treated_as_missing() {
        struct Closed;
        impl HarnessFiles for Closed {
            fn read(&self, path: HarnessPath<'_>) -> Result<Option<String>, Unreadable> {
                match path.path {
                    "large.json" => Err(Unreadable("it is too large".to_owned())),
                    _ => Ok(None),
                }
            }

            fn list(&self, _: HarnessPath<'_>) -> Result<Option<Vec<String>>, Unreadable> {
                Ok(None)
            }
        }
        let checked = CheckedFiles::new(&Closed, None);
        let files: &dyn HarnessFiles = &checked;
        assert_eq!(files.text("none.json"), None);
        assert_eq!(files.text("large.json"), None);
        let wrong = checked.sound(()).expect_err("a file that cannot be read");
        assert!(wrong.starts_with("`large.json` is there and cannot be read"), "{wrong}");
        assert_eq!(CheckedFiles::new(&Closed, None).sound(1), Ok(1));
    }
}
