//! The screen of a run: lines that are done go to the scrollback of the terminal, and what is going on is
//! drawn in a live region below them.
//!
//! Between two frames the cursor rests at the first cell of the region. A terminal that is resized keeps the
//! cursor at the text it stands on, whether it wraps lines anew or not. So «clear from the cursor on» removes
//! the whole region and nothing above it.

pub(super) mod frame;
pub(super) mod keyboard;
pub(super) mod keys;
pub(super) mod plain_signs;
pub(super) mod styled_line;

/// The smallest width that lines are laid out for.
const LEAST_COLUMNS: usize = 20;

/// The columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl TerminalSize {
    /// The size of the terminal at standard output; 80 × 24 where it cannot be asked.
    pub(super) fn now() -> Self {
        let size = agentry_posix::terminal::size();
        let asked = |of: Option<u16>, otherwise: usize| {
            of.map(usize::from).filter(|it| *it > 0).unwrap_or(otherwise)
        };
        let columns = asked(size.map(|it| it.0), 80).max(LEAST_COLUMNS);
        Self { columns, rows: asked(size.map(|it| it.1), 24).max(4) }
    }
}
