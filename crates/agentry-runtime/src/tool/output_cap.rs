//! Limits the output of a tool. The whole of a longer output is stored in a file of the run.

use std::fs;
use std::path::{Path, PathBuf};

use super::ToolHost;
use crate::context_window;
pub(super) use crate::context_window::start;
use crate::context_window::{KEPT_IN, end};

/// The most bytes of one output.
pub(super) const MOST: usize = 40_000;
/// The most bytes of one line.
pub(super) const MOST_OF_LINE: usize = 2_000;

/// Returns the directory for the long outputs of a run.
pub(super) fn outputs(run: &Path) -> PathBuf {
    run.join("outputs")
}

/// Cuts the middle of a text that is too long.
pub(super) fn text(text: &str) -> String {
    if text.len() <= MOST {
        return text.to_owned();
    }
    let left_out = text.len() - MOST;
    middle(text, &format!("{left_out} bytes are left out here"), MOST)
}

/// Redacts and cuts a text that is too long, and stores the whole in a file of the run.
pub(super) fn kept(whole: &str, host: &dyn ToolHost) -> String {
    let most = host.output_limit().whole;
    if whole.len() <= most {
        return whole.to_owned();
    }
    // Redacted before it is cut: half a secret would not be found.
    let whole = host.redacted(whole);
    let left_out = whole.len().saturating_sub(most);
    let note = match keep(&whole, &host.place().run) {
        Ok(path) => format!("{left_out} bytes are left out here; {KEPT_IN}{path}`"),
        Err(error) => format!("{left_out} bytes are left out here, and could not be kept: {error}"),
    };
    middle(&whole, &note, most)
}

/// The start of a text gets three quarters of the bytes, and its end the rest.
fn middle(text: &str, note: &str, most: usize) -> String {
    let beginning = most / 4 * 3;
    format!("{}\n\n[{note}]\n\n{}", start(text, beginning), end(text, most - beginning))
}

/// Cuts a redacted result to `most` bytes. Stores the whole in a file of the run, unless it is in one
/// already.
pub(crate) fn kept_elsewhere(whole: &str, most: usize, run: &Path) -> String {
    let kept = if context_window::kept_in(whole).is_none() { keep(whole, run).ok() } else { None };
    let short = context_window::cut_from(whole, most, kept.as_deref());
    short.unwrap_or_else(|| whole.to_owned())
}

/// Writes a text to the next free file of the run.
fn keep(whole: &str, run: &Path) -> std::io::Result<String> {
    keep_bytes(whole.as_bytes(), "txt", run)
}

/// Writes bytes to the next free file of the run.
pub(super) fn keep_bytes(whole: &[u8], extension: &str, run: &Path) -> std::io::Result<String> {
    use agentry_posix::unix::fs::OpenOptionsExt as _;
    use std::io::Write as _;

    let directory = outputs(run);
    fs::create_dir_all(&directory)?;
    let mut number = fs::read_dir(&directory)?.count();
    loop {
        number += 1;
        let path = directory.join(format!("{number}.{extension}"));
        let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match made {
            Ok(mut file) => {
                file.write_all(whole)?;
                return Ok(path.display().to_string());
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestWorkspace;
    use super::*;

    #[test]
    fn a_long_text_is_cut_in_the_middle() {
        let long = format!("start{}end", "ä".repeat(MOST));
        let shown = text(&long);
        assert!(shown.len() < MOST + 200, "{}", shown.len());
        assert!(shown.starts_with("startä") && shown.ends_with("äend"));
        assert_eq!(text("short"), "short");
        assert_eq!(start("äb", 1), "");
        assert_eq!(end("aä", 1), "");
    }

    #[test]
    fn a_long_text_is_stored_whole_and_redacted() {
        let world = TestWorkspace::new();
        let host = world.host();
        let long = format!("hush-secret {}", "x".repeat(MOST));
        let shown = kept(&long, &host);
        assert!(
            shown.contains("outputs/1.txt`]") && shown.starts_with("[redacted]"),
            "{shown:.200}"
        );
        assert!(kept(&long, &host).contains("outputs/2.txt`]"));
        let file = fs::read_to_string(outputs(&host.place().run).join("1.txt")).unwrap();
        assert!(file.starts_with("[redacted] xxx") && file.len() > MOST);
    }

    #[test]
    fn a_cut_result_is_stored_once() {
        let world = TestWorkspace::new();
        let host = world.host();
        let run = host.place().run;
        let long = "word ".repeat(1_000);
        let shown = kept_elsewhere(&long, 600, &run);
        assert!(shown.len() <= 600 && shown.contains("outputs/1.txt`]"), "{shown}");
        let again = kept_elsewhere(&shown, 400, &run);
        assert!(again.len() <= 400 && again.contains("outputs/1.txt`]"), "{again}");
        assert_eq!(fs::read_dir(outputs(&run)).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(outputs(&run).join("1.txt")).unwrap(), long);
    }
}
