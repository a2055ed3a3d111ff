//! Tab completion and continued lines, for the input line of a conversation.

use std::fs;
use std::path::{Path, PathBuf};

use agentry_compile::text::report::visible;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

/// The most files that are offered.
const MOST_FILES: usize = 50;

/// What a line can be completed with.
#[derive(Debug, Default)]
pub(super) struct LineHelper {
    /// The commands: `/help`.
    words: Vec<String>,
    /// Files are named relative to it.
    directory: PathBuf,
}

impl LineHelper {
    pub(super) fn new(words: Vec<String>, directory: &Path) -> Self {
        // A server names its prompts as it likes.
        let words = words.into_iter().filter(|word| is_printable(word)).collect();
        Self { words, directory: directory.to_path_buf() }
    }

    /// The start of the word before the cursor, and what can stand there.
    fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = before.get(start..).unwrap_or_default();
        let found = match word.strip_prefix('@') {
            Some(path) => self.files(path),
            None if start == 0 && word.starts_with('/') => {
                self.words.iter().filter(|known| known.starts_with(word)).cloned().collect()
            }
            None => Vec::new(),
        };
        (start, found)
    }

    /// The files that start with this path: `@src/ma` for `@src/main.rs`.
    fn files(&self, path: &str) -> Vec<String> {
        let (folder, start) =
            path.rsplit_once('/').map_or(("", path), |(folder, rest)| (folder, rest));
        let above = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let entries = fs::read_dir(self.directory.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                // A name with white space would end the word; a hidden one is asked for by its dot.
                let is_plain = !name.contains(char::is_whitespace) && is_printable(&name);
                let is_hidden = name.starts_with('.') && !start.starts_with('.');
                let slash = if entry.path().is_dir() { "/" } else { "" };
                (name.starts_with(start) && is_plain && !is_hidden)
                    .then(|| format!("@{above}{name}{slash}"))
            })
            .collect();
        names.sort();
        names.truncate(MOST_FILES);
        names
    }
}

/// Whether a name can be shown as it is. Others are not offered: they would act on the terminal.
fn is_printable(name: &str) -> bool {
    visible(name) == name
}

impl Completer for LineHelper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..at).unwrap_or(line)))
    }
}

impl Validator for LineHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let goes_on = context.input().ends_with('\\');
        Ok(if goes_on { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for LineHelper {
    type Hint = String;
}

impl Highlighter for LineHelper {}

impl Helper for LineHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_files_are_completed() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["src/main.rs", "src/map.rs", "README.md", ".env", "two words", "a\u{202e}b"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let words = vec![
            "/help".to_owned(),
            "/history".to_owned(),
            "/cost".to_owned(),
            "/h\u{1b}[2J".to_owned(),
        ];
        let helper = LineHelper::new(words, folder.path());
        let cases: [(&str, usize, &[&str]); 8] = [
            ("/h", 0, &["/help", "/history"]),
            ("/cost", 0, &["/cost"]),
            ("say /h", 4, &[]),
            ("look at @src/ma", 8, &["@src/main.rs", "@src/map.rs"]),
            ("@", 0, &["@README.md", "@src/"]),
            ("@.e", 0, &["@.env"]),
            ("@none/x", 0, &[]),
            ("", 0, &[]),
        ];
        for (line, start, expected) in cases {
            let (at, found) = helper.candidates(line);
            assert_eq!(
                (at, found),
                (start, expected.iter().map(ToString::to_string).collect()),
                "{line}"
            );
        }
    }
}
