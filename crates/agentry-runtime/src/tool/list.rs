//! `list`: shows the entries of a directory.

use std::fmt::Write as _;

use agentry_compile::text::report::visible;
use agentry_posix::fs::FileType;
use serde::Deserialize;
use serde_json::{Value, json};

use super::walk::{FileVisibility, WalkRoot, report, touches};
use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
    files, output_cap,
};
use crate::event::CallClass;

/// Lists directories.
pub(super) struct ListTool;

#[derive(Deserialize)]
struct ListInput {
    path: Option<String>,
}

impl BuiltInTool for ListTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list".to_owned(),
            description: "Lists a directory. Directories end in `/`, links in `@`.".to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The directory; the working directory if left out"}
                },
                "additionalProperties": false
            }),
        }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, given: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        touches(arguments::<ListInput>(given)?.path.as_deref(), place)
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move { list(&arguments, host).into() })
    }
}

fn list(given: &Value, host: &dyn ToolHost) -> Result<String, String> {
    let ListInput { path: name } = arguments(given)?;
    let root = WalkRoot::new(name.as_deref(), host)?;
    let name = name.unwrap_or_else(|| ".".to_owned());
    if !root.is_directory {
        return Err(format!("`{name}` is not a directory"));
    }
    let entries = files::entries(&root.path).map_err(|error| files::why(&name, &error))?;
    let (mut text, mut hidden) = (String::new(), 0);
    let place = host.place();
    for (entry, kind) in entries {
        if files::is_hidden(&root.path.join(&entry), &place) {
            continue;
        }
        // Only the name of a directory is shown; its content is judged when a call lists it.
        let is_directory = kind == FileType::Directory;
        if !is_directory && root.seen(&root.path.join(&entry)) == FileVisibility::Nothing {
            hidden += 1;
            continue;
        }
        let end = match kind {
            FileType::Directory => "/",
            FileType::Symlink => "@",
            _ => "",
        };
        let _ = writeln!(text, "{}{end}", visible(&entry.to_string_lossy()));
        if text.len() > output_cap::MOST {
            return Ok(report(text, hidden, false));
        }
    }
    if text.is_empty() && hidden == 0 {
        return Ok("the directory is empty".to_owned());
    }
    Ok(report(text, hidden, true))
}
