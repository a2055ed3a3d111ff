//! JSON Schemas of the formats' documents, for editors.

use agentry_formats::{FormatInfo, info};
use agentry_model::{Format, slug};
use agentry_text::schema::json_schema;
use serde_json::Value;

/// The schema of one of a format's documents, by the document's name.
pub fn schema(format: Format, document: &str) -> Option<Value> {
    let FormatInfo { title, documents, .. } = info(format);
    let (name, table) = documents.iter().find(|(name, _)| *name == document)?;
    // Document names contain spaces and stars, which a URN does not allow.
    let id = format!("urn:agentry:{format}:{}", slug(name));
    Some(json_schema(table, &id, &format!("{title} ({name})")))
}
