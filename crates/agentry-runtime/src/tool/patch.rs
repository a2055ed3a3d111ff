//! `apply_patch`: changes several files in one call; all changes happen, or none.

mod apply;
mod parse;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use agentry_compile::policy::Section;
use serde::Deserialize;
use serde_json::{Value, json};

use self::apply::applied;
use self::parse::{FilePatch, parse};
use super::change::{ToolFileChange, carry_out, shown};
use super::files::{self, touch};
use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
    output_cap, permit,
};
use crate::event::CallClass;

/// Applies patches.
pub(super) struct PatchTool;

#[derive(Deserialize)]
struct PatchInput {
    patch: String,
}

impl BuiltInTool for PatchTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "apply_patch".to_owned(),
            description:
                "Changes several files at once; all of it happens or nothing. Give about three lines that stay \
                          before and after each change. A patch is\n\
                          *** Begin Patch\n\
                          *** Add File: PATH (then lines that begin with +)\n\
                          *** Delete File: PATH\n\
                          *** Update File: PATH (then, if it moves, *** Move to: PATH)\n\
                          @@ a line above the change, to find it (may be left out)\n \
                           a line that stays\n\
                          -a line that goes\n\
                          +a line that comes\n\
                          *** End of File (if the lines are the last ones)\n\
                          *** End Patch"
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "patch": {"type": "string", "description": "From `*** Begin Patch` to `*** End Patch`"}
                },
                "required": ["patch"],
                "additionalProperties": false
            }),
        }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Write
    }

    fn touches(&self, given: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let PatchInput { patch } = arguments(given)?;
        let mut touches = Vec::new();
        for path in parse(&patch)?.iter().flat_map(FilePatch::paths) {
            let path = files::resolve(path, place)?;
            files::unprotected(&path, place)?;
            touches.push(touch(Section::Edit, &path));
        }
        Ok(touches)
    }

    fn preview(&self, given: &Value, place: &CallLocation) -> Option<String> {
        let PatchInput { patch } = arguments(given).ok()?;
        let changes = changes(parse(&patch).ok()?, place).ok()?;
        Some(output_cap::text(&changes.iter().map(ToolFileChange::diff).collect::<String>()))
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move { patch(&arguments, host).into() })
    }
}

fn patch(given: &Value, host: &dyn ToolHost) -> Result<String, String> {
    let PatchInput { patch } = arguments(given)?;
    let place = host.place();
    let changes = changes(parse(&patch)?, &place)?;
    for change in &changes {
        files::unprotected(&change.path, &place)?;
        permit(host, &touch(Section::Edit, &change.path))?;
    }
    carry_out(&changes, host)?;
    let mut text = String::new();
    for change in &changes {
        let done = match (&change.before, &change.after) {
            (None, _) => "made",
            (Some(_), None) => "deleted",
            (Some(_), Some(_)) => "changed",
        };
        let _ = writeln!(text, "{done} `{}`", change.name);
    }
    text.push_str(&shown(&changes, host));
    Ok(text)
}

/// Returns the file changes of a patch; each file may be named once.
fn changes(parts: Vec<FilePatch>, place: &CallLocation) -> Result<Vec<ToolFileChange>, String> {
    let mut changes = Vec::new();
    for part in parts {
        changes.extend(part_changes(part, place)?);
    }
    let mut paths = BTreeSet::new();
    match changes.iter().find(|change| !paths.insert(&change.path)) {
        Some(twice) => Err(format!("the patch names `{}` twice", twice.name)),
        None => Ok(changes),
    }
}

fn part_changes(part: FilePatch, place: &CallLocation) -> Result<Vec<ToolFileChange>, String> {
    match part {
        FilePatch::Add { path, text } => Ok(vec![new(path, text.into_bytes(), place)?]),
        FilePatch::Delete { path } => {
            no_link(&path, place)?;
            Ok(vec![old(path, place)?])
        }
        FilePatch::Update { path, to, hunks } => {
            if to.is_some() {
                no_link(&path, place)?;
            }
            let mut change = old(path, place)?;
            let name = &change.name;
            let bytes = change.before.as_ref().map(|before| before.bytes.as_slice());
            let text = str::from_utf8(bytes.unwrap_or_default())
                .map_err(|_| format!("`{name}`: it is no UTF-8 text"))?;
            let after = applied(text, &hunks).map_err(|why| format!("`{name}`: {why}"))?;
            let Some(to) = to else {
                change.after = Some(after.into_bytes());
                return Ok(vec![change]);
            };
            let mut moved = new(to, after.into_bytes(), place)?;
            moved.like = change.before.as_ref().map(|before| before.stamp.clone());
            // The new file comes first: if it cannot be written, the old one is still there.
            Ok(vec![moved, change])
        }
    }
}

/// Refuses to delete or move a link: the call would remove its target instead.
fn no_link(name: &str, place: &CallLocation) -> Result<(), String> {
    if files::is_link(name, place) { Err(format!("`{name}` is a link")) } else { Ok(()) }
}

/// Returns the change that creates a file, which must not exist.
fn new(name: String, bytes: Vec<u8>, place: &CallLocation) -> Result<ToolFileChange, String> {
    let path = files::resolve(&name, place)?;
    match place.editor.contents(&path).map_err(|error| files::why(&name, &error))? {
        Some(_) => Err(format!("`{name}` exists already")),
        None => Ok(ToolFileChange { name, path, before: None, after: Some(bytes), like: None }),
    }
}

/// Returns the change that deletes a file, which must exist; the caller may set new content.
fn old(name: String, place: &CallLocation) -> Result<ToolFileChange, String> {
    let path = files::resolve(&name, place)?;
    match place.editor.contents(&path).map_err(|error| files::why(&name, &error))? {
        Some(before) => {
            Ok(ToolFileChange { name, path, before: Some(before), after: None, like: None })
        }
        None => Err(format!("`{name}` does not exist")),
    }
}

#[cfg(test)]
mod tests;
