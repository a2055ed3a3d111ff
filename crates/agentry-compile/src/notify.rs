//! `[notify]`: how a terminal calls the user to a question. Both configurations may set it; each can only turn
//! something off.

use agentry_text::{Field, FieldKind, FieldTable, TableRecord};

/// `[notify]`.
pub(crate) static NOTIFY: FieldTable = FieldTable::new(
    "`[notify]`",
    &[
        Field::default(
            "bell",
            FieldKind::Bool,
            "true",
            "Whether the terminal rings when a run waits for you.",
        ),
        Field::default(
            "message",
            FieldKind::Bool,
            "true",
            "Whether the terminal shows a desktop notification when a run waits for you (OSC 9).",
        ),
    ],
);

/// How a terminal calls the user to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifySettings {
    /// Whether it rings.
    pub bell: bool,
    /// Whether it shows a notification.
    pub message: bool,
}

impl Default for NotifySettings {
    fn default() -> Self {
        Self { bell: true, message: true }
    }
}

impl NotifySettings {
    /// Reads the settings of one file.
    pub(crate) fn read(record: &TableRecord<'_>) -> Self {
        let is_on = |name| record.bool(name).is_none_or(|on| on.value);
        Self { bell: is_on("bell"), message: is_on("message") }
    }

    /// What both leave on.
    #[must_use]
    pub const fn narrowed(self, other: Self) -> Self {
        Self { bell: self.bell && other.bell, message: self.message && other.message }
    }
}
