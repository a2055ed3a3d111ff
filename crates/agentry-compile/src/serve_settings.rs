//! `[serve]`: how the server treats runs. The workspace's and the user's configuration may both set it; the
//! shorter time counts.

use agentry_text::{Field, FieldKind, FieldTable, TableRecord};

/// `[serve]`.
pub(crate) static SERVE: FieldTable = FieldTable::new(
    "`[serve]`",
    &[Field::default(
        "park_after",
        FieldKind::Line,
        "\"10m\"",
        "How long a run of the server waits for an approval before it is parked.",
    )],
);

/// The settings of the server in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServeSettings {
    /// The time after which a run that waits is parked, as it is written.
    pub park_after: Option<String>,
}

impl ServeSettings {
    /// Reads the settings of one file.
    pub(crate) fn read(record: &TableRecord<'_>) -> Self {
        Self { park_after: record.str("park_after").map(|text| text.value) }
    }
}
