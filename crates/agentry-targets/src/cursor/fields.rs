//! The fields of an agent of Cursor.

use crate::fields::{TargetField, field, read_description};
use crate::render_result::LossKind;

pub(super) const FIELDS: &[TargetField] = &[
    // Without it that of the file counts.
    field("name"),
    field("description").reads(read_description),
    field("model").reads(|value, draft| match value.as_str() {
        Some("inherit") | None => {}
        Some("fast") => {
            draft.lose("model", LossKind::Dropped, "`fast` is whatever Cursor takes for it");
        }
        Some(model) => draft.models([model].into_iter()),
    }),
    // Nothing is edited; commands are asked about at best.
    field("readonly"),
];
