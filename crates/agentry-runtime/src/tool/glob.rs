//! `glob`: finds files by a pattern for their path.

use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use super::walk::{FileVisibility, WalkFlow, WalkRoot, report, touches};
use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
    output_cap,
};
use crate::event::CallClass;

/// The most bytes of a pattern.
const MOST_OF_PATTERN: usize = 1_000;

/// Finds files.
pub(super) struct GlobTool;

#[derive(Deserialize)]
struct GlobInput {
    pattern: String,
    path: Option<String>,
}

impl BuiltInTool for GlobTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "glob".to_owned(),
            description: "Finds files by their path below a directory: `**/*.rs`, \
                          `src/{a,b}/*.toml`. `*` stays inside one directory, `**` crosses. Files \
                          that version control ignores are left out."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "minLength": 1, "description": "The pattern, relative to `path`"},
                    "path": {"type": "string", "description": "Where to look; the working directory if left out"}
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
        let GlobInput { pattern, path } = arguments(given)?;
        matcher(&pattern)?;
        touches(path.as_deref(), place)
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move { glob(&arguments, host).await.into() })
    }
}

/// Returns the matcher of a pattern for paths relative to the search root.
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let shown = output_cap::start(pattern, 100);
    if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
        return Err(format!("`{shown}` leads elsewhere: name the directory in `path`"));
    }
    if pattern.len() > MOST_OF_PATTERN {
        return Err(format!("the pattern `{shown}…` is too long"));
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    // With `literal_separator`, a `*` does not cross directories.
    let built = GlobBuilder::new(pattern).literal_separator(true).build();
    let wrong = |error: globset::Error| format!("`{shown}` is not a pattern: {}", error.kind());
    Ok(built.map_err(wrong)?.compile_matcher())
}

async fn glob(given: &Value, host: &dyn ToolHost) -> Result<String, String> {
    let GlobInput { pattern, path } = arguments(given)?;
    let matcher = matcher(&pattern)?;
    let root = WalkRoot::new(path.as_deref(), host)?;
    if !root.is_directory {
        return Err(format!("`{}` is not a directory", path.unwrap_or_default()));
    }
    let (mut text, mut hidden) = (String::new(), 0);
    let each = |entry: &ignore::DirEntry| {
        let path = entry.path();
        let is_directory = entry.file_type().is_none_or(|kind| kind.is_dir());
        let below = path.strip_prefix(&root.path).unwrap_or(path);
        if is_directory || !matcher.is_match(below) {
            return WalkFlow::More;
        }
        if root.seen(path) == FileVisibility::Nothing {
            hidden += 1;
            return WalkFlow::More;
        }
        text.push_str(&root.called(path));
        text.push('\n');
        if text.len() > output_cap::MOST { WalkFlow::Enough } else { WalkFlow::More }
    };
    let complete = root.walk(each).await;
    Ok(report(text, hidden, complete))
}
