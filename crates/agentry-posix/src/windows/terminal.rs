//! The terminal of this process. The line editor sets its modes itself; nothing else reads single keys here.

pub use ConsoleSettings as TerminalSettings;

/// The settings of a console at one moment.
#[derive(Clone)]
pub struct ConsoleSettings;

impl ConsoleSettings {
    /// None: there is nothing to restore.
    pub fn current() -> Option<Self> {
        None
    }

    /// Does nothing.
    pub fn restore(&self) -> bool {
        false
    }
}

/// Does nothing.
pub fn read_single_keys() {}

/// Does nothing.
pub fn discard_keys() {}

/// The size is not known.
pub fn size() -> Option<(u16, u16)> {
    None
}
