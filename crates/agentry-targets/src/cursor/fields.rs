//! The field table of Cursor agents.

use crate::fields::{TargetField, field, read_description};
use crate::render_result::LossKind;

pub(super) const FIELDS: &[TargetField] = &[
    // Without a name, the file name counts.
    field("name"),
    field("description").reads(read_description),
    field("model").reads(|value, draft| match value.as_str() {
        Some("inherit") | None => {}
        Some("fast") => {
            draft.lose("model", LossKind::Dropped, "`fast` is whatever Cursor takes for it");
        }
        Some(model) => draft.models([model].into_iter()),
    }),
    // A read-only agent edits nothing; its commands are asked about at best.
    field("readonly"),
];
