//! Finds where the hunks of a patch belong, and applies them.

use agentry_compile::text::report::counted;

use super::parse::{PatchHunk, PatchLineKind};

/// Ways to compare two lines, the strictest first; the first that finds a match counts.
const ALIKE: [fn(&str, &str) -> bool; 3] =
    [|a, b| a == b, |a, b| a.trim_end() == b.trim_end(), |a, b| a.trim() == b.trim()];

/// Returns the text with all hunks applied, in order. Line ends and the end of the file are kept.
pub(super) fn applied(text: &str, hunks: &[PatchHunk]) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare: Vec<&str> = lines.iter().map(|line| without_end(line)).collect();
    let windows = lines.first().is_some_and(|line| line.ends_with("\r\n"));
    let mut writer = PatchWriter { out: String::new(), end: if windows { "\r\n" } else { "\n" } };
    let mut at = 0;
    for (number, hunk) in hunks.iter().enumerate() {
        let place =
            place(&bare, at, hunk).map_err(|why| format!("change {}: {why}", number + 1))?;
        lines.get(at..place).unwrap_or_default().iter().for_each(|line| writer.push(line));
        at = place;
        for (fate, line) in &hunk.lines {
            match fate {
                PatchLineKind::Comes => writer.push(line),
                PatchLineKind::Goes => at += 1,
                PatchLineKind::Stays => {
                    writer.push(lines.get(at).copied().unwrap_or_default());
                    at += 1;
                }
            }
        }
    }
    lines.get(at..).unwrap_or_default().iter().for_each(|line| writer.push(line));
    Ok(writer.finish(text.is_empty() || text.ends_with('\n')))
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Returns the line where a hunk belongs, at or after `from`.
fn place(lines: &[&str], mut from: usize, hunk: &PatchHunk) -> Result<usize, String> {
    for anchor in &hunk.anchors {
        from = find(lines, from, &[anchor])
            .ok_or_else(|| format!("there is no line `{}` after the last change", anchor.trim()))?
            + 1;
    }
    let old: Vec<&str> = hunk
        .lines
        .iter()
        .filter(|(fate, _)| *fate != PatchLineKind::Comes)
        .map(|(_, line)| line.as_str())
        .collect();
    // A hunk that only adds lines goes after its anchor, or to the end of the file.
    if old.is_empty() {
        return Ok(if hunk.anchors.is_empty() || hunk.at_end { lines.len() } else { from });
    }
    if hunk.at_end {
        // The lines of such a hunk can only be the last ones of the file.
        from = from.max(lines.len().saturating_sub(old.len()));
    }
    find(lines, from, &old).ok_or_else(|| {
        let first = old.iter().find(|line| !line.trim().is_empty()).copied().unwrap_or_default();
        let count = counted(old.len(), "line");
        format!("{count}, from `{}` on, not there; read the file again", first.trim())
    })
}

/// Returns the first line at or after `from` where `wanted` matches.
fn find(lines: &[&str], from: usize, wanted: &[&str]) -> Option<usize> {
    let rest = lines.get(from..)?;
    ALIKE.iter().find_map(|alike| {
        let fits =
            |window: &[&str]| window.iter().zip(wanted).all(|(line, wanted)| alike(line, wanted));
        rest.windows(wanted.len()).position(fits).map(|at| from + at)
    })
}

/// Joins lines, and ensures that each but the last has a line end.
struct PatchWriter {
    out: String,
    end: &'static str,
}

impl PatchWriter {
    fn push(&mut self, line: &str) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push_str(self.end);
        }
        self.out.push_str(line);
        if line.is_empty() {
            self.out.push_str(self.end);
        }
    }

    fn finish(mut self, ended: bool) -> String {
        if !ended {
            self.out.truncate(without_end(&self.out).len());
        } else if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push_str(self.end);
        }
        self.out
    }
}
