//! `grep`: finds lines that match a regular expression.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use globset::GlobMatcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde::Deserialize;
use serde_json::{Value, json};

use super::glob;
use super::walk::{FileVisibility, WalkFlow, WalkRoot, report, touches};
use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
    files, output_cap,
};
use crate::event::CallClass;

/// The most bytes of memory for one search, which limits the longest line.
const MOST_HELD: usize = 32 << 20;
/// The most bytes of a line in the output.
const MOST_OF_LINE: usize = 400;

/// Searches files.
pub(super) struct GrepTool;

#[derive(Deserialize)]
struct GrepInput {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    files_only: bool,
    #[serde(default)]
    context: usize,
}

impl BuiltInTool for GrepTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "grep".to_owned(),
            description: "Finds lines that match a regular expression, in one file or below a \
                          directory: `path:line:text`. Files that version control ignores and \
                          files that are no text are left out."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "minLength": 1, "maxLength": 10_000, "description": "The expression, in the syntax of ripgrep"},
                    "path": {"type": "string", "description": "Where to look; the working directory if left out"},
                    "include": {"type": "string", "description": "Only files whose path matches, such as `**/*.rs`"},
                    "ignore_case": {"type": "boolean"},
                    "files_only": {"type": "boolean", "description": "Only the names of the files"},
                    "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each match"}
                },
                "required": ["pattern"],
                "additionalProperties": false
            }),
        }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, given: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let given: GrepInput = arguments(given)?;
        GrepSearch::new(&given)?;
        touches(given.path.as_deref(), place)
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move { grep(&arguments, host).await.into() })
    }
}

async fn grep(given: &Value, host: &dyn ToolHost) -> Result<String, String> {
    let given: GrepInput = arguments(given)?;
    let mut search = GrepSearch::new(&given)?;
    let root = WalkRoot::new(given.path.as_deref(), host)?;
    let mut text = String::new();
    if !root.is_directory {
        let searched = search.file(&root.path, &root.called(&root.path), &mut text);
        searched.map_err(|error| files::why(given.path.as_deref().unwrap_or("."), &error))?;
        // The search of one file stops at the limit by itself.
        let complete = text.len() <= output_cap::MOST;
        return Ok(report(text, 0, complete));
    }
    let mut hidden = 0;
    let each = |entry: &ignore::DirEntry| {
        let path = entry.path();
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        if !is_file || !search.includes(path.strip_prefix(&root.path).unwrap_or(path)) {
            return WalkFlow::More;
        }
        if root.seen(path) != FileVisibility::All {
            hidden += 1;
            return WalkFlow::More;
        }
        // A file that cannot be opened, or is not text, does not fail the whole search.
        let _ = search.file(path, &root.called(path), &mut text);
        if text.len() > output_cap::MOST { WalkFlow::Enough } else { WalkFlow::More }
    };
    let complete = root.walk(each).await;
    Ok(report(text, hidden, complete))
}

/// What to search for, and how.
struct GrepSearch {
    matcher: RegexMatcher,
    include: Option<GlobMatcher>,
    searcher: Searcher,
    files_only: bool,
}

impl GrepSearch {
    fn new(given: &GrepInput) -> Result<Self, String> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(given.ignore_case)
            .line_terminator(Some(b'\n'))
            .build(&given.pattern)
            .map_err(|error| {
                let error = error.to_string();
                format!("`pattern` is not a regular expression: {}", output_cap::start(&error, 500))
            })?;
        let include = given.include.as_deref().map(glob::matcher).transpose()?;
        let searcher = SearcherBuilder::new()
            // A NUL byte means binary data, of which a match would not be readable.
            .binary_detection(BinaryDetection::quit(0))
            .before_context(given.context)
            .after_context(given.context)
            .heap_limit(Some(MOST_HELD))
            .line_number(true)
            .build();
        Ok(Self { matcher, include, searcher, files_only: given.files_only })
    }

    fn includes(&self, path: &Path) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(path))
    }

    /// Searches one file, and adds what it finds to `text`.
    fn file(&mut self, path: &Path, name: &str, text: &mut String) -> io::Result<()> {
        let file = files::open(path)?;
        let lines = GrepLines { name, text, files_only: self.files_only };
        self.searcher.search_file(&self.matcher, &file, lines)
    }
}

/// Formats the matches of one file.
struct GrepLines<'a> {
    name: &'a str,
    text: &'a mut String,
    files_only: bool,
}

impl GrepLines<'_> {
    fn line(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) -> bool {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        let shown = output_cap::start(line, MOST_OF_LINE);
        let more = if shown.len() < line.len() { "…" } else { "" };
        let number = number.unwrap_or(0);
        let _ = writeln!(self.text, "{}{mark}{number}{mark}{shown}{more}", self.name);
        self.text.len() <= output_cap::MOST
    }
}

impl Sink for GrepLines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.files_only {
            let _ = writeln!(self.text, "{}", self.name);
            return Ok(false);
        }
        Ok(self.line(':', found.line_number(), found.bytes()))
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        Ok(self.files_only || self.line('-', found.line_number(), found.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.text.push_str("--\n");
        Ok(true)
    }
}
