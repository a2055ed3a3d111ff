//! `read`: shows the lines of a file, numbered.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use agentry_compile::policy::Section;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::{self, touch};
use super::{
    BoxedFuture, BuiltInTool, CallLocation, OutputLimit, ToolHost, ToolOutput, ToolSpec, ToolTouch,
    arguments, output_cap, real,
};
use crate::event::CallClass;

/// The most lines if the call has no limit.
const LINES: usize = 2_000;
/// The room for the note that more follows. It is part of the limit: a script that gets a cut output must
/// see that it is cut.
const NOTE: usize = 80;
/// The bytes that are checked to distinguish text from binary data.
const LOOKED_AT: usize = 8_192;

/// Reads files.
pub(super) struct ReadTool;

#[derive(Deserialize)]
struct ReadInput {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

impl BuiltInTool for ReadTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read".to_owned(),
            description: format!(
                "Reads a text file. Lines are numbered; a number and a tab come before each line \
                 and are no part of the file. At most {LINES} lines are shown unless `limit` says \
                 otherwise; go on with `offset`."
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, absolute or relative to the working directory"},
                    "offset": {"type": "integer", "minimum": 1, "description": "The first line to show, from 1"},
                    "limit": {"type": "integer", "minimum": 1, "description": "How many lines to show"}
                },
                "required": ["path"],
                "additionalProperties": false
            }),
        }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, given: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let ReadInput { path, .. } = arguments(given)?;
        let path = files::resolve(&path, place)?;
        touched(&path, place)
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move { read(&arguments, host).into() })
    }
}

/// Returns what a call that reads a file touches. The path must be resolved.
pub(super) fn touched(path: &Path, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
    if is_output(path, place) {
        return Ok(Vec::new());
    }
    files::visible(path, place)?;
    Ok(vec![touch(Section::Read, path)])
}

/// Returns whether a path is a long output of this run: the model has already got a part of it.
pub(super) fn is_output(path: &Path, place: &CallLocation) -> bool {
    real(&output_cap::outputs(&place.run)).is_some_and(|outputs| path.parent() == Some(&outputs))
}

/// Returns the real path of a file to read, if the call may read it.
pub(super) fn readable(path: &str, host: &dyn ToolHost) -> Result<PathBuf, String> {
    let place = host.place();
    match files::resolve(path, &place)? {
        real if is_output(&real, &place) => Ok(real),
        _ => files::permitted(Section::Read, path, host),
    }
}

fn read(given: &Value, host: &dyn ToolHost) -> Result<String, String> {
    let ReadInput { path: name, offset, limit } = arguments(given)?;
    let path = readable(&name, host)?;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::IsADirectory => format!("`{name}` is a directory: use `list`"),
        _ => files::why(&name, &error),
    };
    let file = files::open(&path).map_err(failed)?;
    let mut reader: Box<dyn BufRead> = match unsaved(&path, host) {
        Some(text) => Box::new(io::Cursor::new(text)),
        None => Box::new(BufReader::with_capacity(64 << 10, file)),
    };
    let start = reader.fill_buf().map_err(failed)?;
    if start.iter().take(LOOKED_AT).any(|byte| *byte == 0) {
        return Err(format!("`{name}` is not text: it holds NUL bytes"));
    }
    if start.is_empty() {
        return Ok("the file is empty".to_owned());
    }
    let offset = offset.unwrap_or(1).max(1);
    numbered(&mut reader, offset, limit.unwrap_or(LINES), host.output_limit()).map_err(failed)
}

/// Returns the text of a file that the user has changed in an editor and not saved.
fn unsaved(path: &Path, host: &dyn ToolHost) -> Option<String> {
    let CallLocation { editor, .. } = host.place();
    editor.0.as_ref()?;
    let (bytes, _) = files::contents(path).ok()??;
    editor.unsaved(path, &bytes)
}

/// Returns the numbered lines from `offset` on, as many as are wanted and fit.
fn numbered(
    reader: &mut impl BufRead,
    offset: usize,
    limit: usize,
    most: OutputLimit,
) -> io::Result<String> {
    let mut text = String::new();
    let mut number = 0;
    while let Some(line) = next_line(reader, most.line)? {
        number += 1;
        if number < offset {
            continue;
        }
        let before = text.len();
        let _ = writeln!(text, "{number:>6}\t{}", line.shown(most.line));
        if text.len() + NOTE > most.whole || number - offset >= limit {
            // The line that does not fit is dropped as a whole, and `offset` names it.
            text.truncate(before);
            let _ = write!(text, "\n[more follows: continue with `offset` {number}]");
            return Ok(text);
        }
    }
    if number < offset {
        return Ok(format!("there are no more than {number} lines"));
    }
    Ok(text)
}

/// One line; only the start of a very long one is kept.
struct CappedLine {
    start: Vec<u8>,
    length: usize,
}

impl CappedLine {
    fn shown(&self, most: usize) -> String {
        let text = String::from_utf8_lossy(&self.start);
        let text = text.trim_end_matches(['\n', '\r']);
        if self.length <= most + 2 {
            return text.to_owned();
        }
        format!("{}… ({} bytes)", output_cap::start(text, most), self.length)
    }
}

fn next_line(reader: &mut impl BufRead, most: usize) -> io::Result<Option<CappedLine>> {
    let mut line = CappedLine { start: Vec::new(), length: 0 };
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            return Ok((line.length > 0).then_some(line));
        }
        let end = piece.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let taken = end.unwrap_or(piece.len());
        // A few bytes more than the limit, for the line end.
        let wanted = (most + 4).saturating_sub(line.start.len());
        line.start.extend(piece.iter().take(taken.min(wanted)));
        line.length += taken;
        reader.consume(taken);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_compile::policy::Action;

    use super::super::testing::TestWorkspace;
    use super::*;

    #[tokio::test]
    async fn read_shows_files_of_every_encoding() {
        let world = TestWorkspace::new();
        world.file("unix", "one\ntwo\n");
        world.file("windows", "one\r\ntwo\r\n");
        world.file("open", "one\ntwo");
        world.file("unicode", "\u{feff}grün 🦀\nzwei");
        world.file("latin", [b'g', 0xfc, b'n', b'\n']);
        world.file("empty", "");
        world.file("binary", [b'E', b'L', b'F', 0, 1]);
        std::fs::create_dir(world.path("dir")).unwrap();
        let cases = [
            (json!({"path": "unix"}), Ok("     1\tone\n     2\ttwo\n")),
            (json!({"path": "windows"}), Ok("     1\tone\n     2\ttwo\n")),
            (json!({"path": "open"}), Ok("     1\tone\n     2\ttwo\n")),
            (json!({"path": "unicode"}), Ok("     1\t\u{feff}grün 🦀\n     2\tzwei\n")),
            (json!({"path": "latin"}), Ok("     1\tg\u{fffd}n\n")),
            (json!({"path": "empty"}), Ok("the file is empty")),
            (json!({"path": "unix", "offset": 2}), Ok("     2\ttwo\n")),
            (
                json!({"path": "unix", "limit": 1}),
                Ok("     1\tone\n\n[more follows: continue with `offset` 2]"),
            ),
            (json!({"path": "unix", "offset": 3}), Ok("there are no more than 2 lines")),
            (json!({"path": "binary"}), Err("`binary` is not text: it holds NUL bytes")),
            (json!({"path": "dir"}), Err("`dir` is a directory: use `list`")),
            (json!({"path": "missing"}), Err("`missing`: it does not exist")),
            (json!({"path": ""}), Err("the path is empty, too long or holds a NUL")),
        ];
        for (arguments, expected) in cases {
            let output = world.host().call(&ReadTool, arguments.clone()).await;
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(output, ToolOutput::from(expected), "{arguments}");
        }
    }

    #[tokio::test]
    async fn read_cuts_long_files_and_lines() {
        let world = TestWorkspace::new();
        world.file("long", "a line of text\n".repeat(700_000));
        let output =
            world.host().call(&ReadTool, json!({"path": "long", "limit": 1_000_000})).await;
        assert!(output.text.len() < output_cap::MOST + 100, "{}", output.text.len());
        assert!(output.text.contains("continue with `offset` "), "{:.100}", output.text);
        let last = world.host().call(&ReadTool, json!({"path": "long", "offset": 700_000})).await;
        assert_eq!(last.text, "700000\ta line of text\n");
        world.file("wide", "ä".repeat(5 << 20));
        let output = world.host().call(&ReadTool, json!({"path": "wide"})).await;
        assert!(output.text.ends_with("ä… (10485760 bytes)\n"), "{}", output.text.len());
        assert!(output.text.len() < output_cap::MOST_OF_LINE + 100);
    }

    #[tokio::test]
    async fn read_opens_only_the_judged_file() {
        let world = TestWorkspace::new();
        let rules = (Section::Read, Action::Allow, ["private/**:deny"].as_slice());
        world.file("private/key", "hush");
        world.file("open/key", "fine");
        agentry_posix::unix::fs::symlink(world.path("open"), world.path("link")).unwrap();
        let host = world.judged(&[rules]);
        let arguments = json!({"path": "link/key"});
        assert!(!host.call(&ReadTool, arguments.clone()).await.failed);
        // The link is changed after the judgement.
        host.grant(&ReadTool, &arguments);
        std::fs::remove_file(world.path("link")).unwrap();
        agentry_posix::unix::fs::symlink(world.path("private"), world.path("link")).unwrap();
        let output = ReadTool.run(arguments, &host).await;
        assert!(output.failed && output.text.contains("was not judged before"), "{output:?}");
    }

    #[tokio::test]
    async fn read_opens_an_approved_secret_file() {
        let world = TestWorkspace::new();
        world.file(".env", "KEY=x");
        let host = world.host();
        let arguments = json!({"path": ".env"});
        assert!(host.call(&ReadTool, arguments.clone()).await.text.starts_with("Ask: a secret"));
        host.grant(&ReadTool, &arguments);
        assert_eq!(ReadTool.run(arguments, &host).await, ToolOutput::done("     1\tKEY=x\n"));
    }

    #[tokio::test]
    async fn outputs_of_the_run_are_read_without_asking() {
        let world = TestWorkspace::new();
        let host = world.judged(&[(Section::Read, Action::Deny, &[])]);
        let run = host.place().run;
        std::fs::create_dir(run.join("outputs")).unwrap();
        std::fs::write(run.join("outputs/1.txt"), "much").unwrap();
        std::fs::write(run.join("journal.db"), "more").unwrap();
        let at = |name: &str| json!({"path": run.join(name)});
        assert_eq!(host.call(&ReadTool, at("outputs/1.txt")).await.text, "     1\tmuch\n");
        assert!(host.call(&ReadTool, at("journal.db")).await.failed);
        assert!(host.call(&ReadTool, at("outputs/../journal.db")).await.failed);
        agentry_posix::unix::fs::symlink(run.join("journal.db"), run.join("outputs/2.txt"))
            .unwrap();
        assert!(host.call(&ReadTool, at("outputs/2.txt")).await.failed);
    }
}
