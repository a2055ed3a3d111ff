//! Writes frames: what is new in the scrollback, and the live region below it.

use std::time::{Duration, Instant};

use super::TerminalSize;
use super::plain_signs::with_plain_signs;
use super::styled_line::StyledLine;
use crate::output::print;

/// The least time between two frames: 60 a second.
const BETWEEN_FRAMES: Duration = Duration::from_millis(16);
/// Clears from the cursor on. The cursor is at the first cell of the region. In two steps: tmux takes «clear from the
/// first cell of the screen on» for a new screen and keeps the old one in its scrollback, with every frame again.
const CLEAR_REGION: &str = "\r\x1b[K\x1b[C\x1b[J\r";
/// Frames are shown as a whole by terminals that know this mode; others ignore it.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";
/// Rows of the region never wrap, even where the terminal counts columns in another way.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// The scrollback and the live region of a terminal.
#[derive(Debug, Default)]
pub(in crate::command::run) struct LiveScreen {
    color: bool,
    /// Whether the signs are those of ASCII.
    is_ascii: bool,
    /// Lines for the scrollback that no frame has shown yet.
    pending: String,
    region: Vec<StyledLine>,
    /// What the region shows now, painted, and for which size.
    drawn: String,
    size: Option<TerminalSize>,
    last: Option<Instant>,
    /// Whether the last line of the scrollback is empty.
    ends_empty: bool,
}

impl LiveScreen {
    pub(in crate::command::run) fn new(color: bool, is_ascii: bool) -> Self {
        Self { color, is_ascii, ..Self::default() }
    }

    /// The line as it is written to this terminal.
    fn painted(&self, line: &StyledLine) -> String {
        let painted = line.painted(self.color);
        if self.is_ascii { with_plain_signs(&painted) } else { painted }
    }

    /// Adds a line to the scrollback. The terminal wraps it, so that it is copied as one line.
    pub(in crate::command::run) fn commit(&mut self, line: &StyledLine) {
        let painted = self.painted(line);
        self.pending.push_str(&painted);
        self.pending.push('\n');
        self.ends_empty = line.is_empty();
    }

    /// Whether the last line of the scrollback is empty.
    pub(in crate::command::run) const fn ends_empty(&self) -> bool {
        self.ends_empty
    }

    /// Something else has written to the terminal.
    pub(in crate::command::run) const fn continue_below(&mut self) {
        self.ends_empty = false;
    }

    /// Replaces the lines of the region. The last ones count if there are more than rows.
    pub(in crate::command::run) fn set_region(&mut self, lines: Vec<StyledLine>) {
        self.region = lines;
    }

    /// Whether enough time has passed for a new frame.
    pub(in crate::command::run) fn is_due(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now.duration_since(last) >= BETWEEN_FRAMES)
    }

    /// Whether lines wait for the next frame.
    pub(in crate::command::run) const fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Draws a frame, if anything has changed.
    pub(in crate::command::run) fn draw(&mut self) {
        if let Some(frame) = self.frame(TerminalSize::now(), Instant::now()) {
            print(&frame);
        }
    }

    /// The next frame; `None` if nothing has changed.
    fn frame(&mut self, size: TerminalSize, now: Instant) -> Option<String> {
        let region = self.painted_region(size);
        let is_same = self.size == Some(size) && self.drawn == region && self.pending.is_empty();
        if is_same || (region.is_empty() && self.drawn.is_empty() && self.pending.is_empty()) {
            return None;
        }
        self.last = Some(now);
        self.size = Some(size);
        let pending = std::mem::take(&mut self.pending);
        let clear = if self.drawn.is_empty() { "" } else { CLEAR_REGION };
        let cursor = match (self.drawn.is_empty(), region.is_empty()) {
            (true, false) => HIDE_CURSOR,
            (false, true) => SHOW_CURSOR,
            _ => "",
        };
        let frame = format!("{BEGIN}{cursor}{clear}{pending}{region}{END}");
        self.drawn = region;
        Some(frame)
    }

    /// The region in the rows of this size, with the way back to its first cell.
    fn painted_region(&self, size: TerminalSize) -> String {
        // One row is left for the scrollback, so that the first cell is never scrolled away.
        let skipped = self.region.len().saturating_sub(size.rows - 1);
        let rows: Vec<String> = self
            .region
            .iter()
            .skip(skipped)
            .map(|line| self.painted(&line.cut(size.columns - 1)))
            .collect();
        if rows.is_empty() {
            return String::new();
        }
        let up = match rows.len() - 1 {
            0 => String::new(),
            up => format!("\x1b[{up}A"),
        };
        format!("{NO_WRAP}{}{WRAP}{up}\r", rows.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::styled_line::TextLook;
    use super::*;

    /// Ten thousand pieces within a second are at most 60 frames and some; none clears more than the region, and
    /// every line is written once.
    #[test]
    fn frames_are_bounded_and_lose_nothing() {
        let size = TerminalSize { columns: 80, rows: 24 };
        let mut screen = LiveScreen::new(true, false);
        let start = Instant::now();
        let mut frames = Vec::new();
        for at in 0..10_000_u32 {
            let now = start + Duration::from_micros(100) * at;
            let text = format!("line {at}.");
            screen.commit(&StyledLine::new(TextLook::Plain, &text));
            screen.set_region(vec![StyledLine::new(TextLook::Dim, &format!("working {at}"))]);
            if screen.is_due(now) {
                frames.extend(screen.frame(size, now));
            }
        }
        screen.set_region(Vec::new());
        frames.extend(screen.frame(size, start + Duration::from_secs(1)));
        assert!(frames.len() <= 1_000 / 16 + 2, "{}", frames.len());
        let all = frames.concat();
        for at in [0, 1, 4_999, 9_999] {
            assert_eq!(all.matches(&format!("line {at}.\n")).count(), 1, "{at}");
        }
        assert_eq!(all.matches("line ").count(), 10_000);
        for whole in ["\r\u{1b}[J", "\u{1b}[2J", "\u{1b}[3J", "\u{1b}[H", "\u{1b}c", "\u{1b}[?1049"]
        {
            assert!(!all.contains(whole), "{whole:?}");
        }
        // Nothing new is no frame.
        assert_eq!(screen.frame(size, start + Duration::from_secs(2)), None);
    }
}
