//! Text with places: files, spans, the one tree that every data language is read into, the field
//! tables that say what a tree may hold, and the diagnostics that come of it.
//!
//! This room knows no agents. It does no IO: text comes in, values and findings go out.
#![warn(clippy::disallowed_methods, clippy::indexing_slicing)]

pub mod acl;
pub mod credentials;
mod cursor;
pub mod data;
pub mod diagnostic;
pub mod edit;
pub mod hygiene;
pub mod json;
pub mod lax;
mod lexemes;
pub mod limits;
pub mod markdown;
pub mod near;
pub mod path;
#[cfg(test)]
mod probe;
mod problems;
pub mod record;
pub mod report;
pub mod rule;
pub mod schema;
pub mod source;
pub mod table;
pub mod toml;
pub mod tree;
pub mod tree_rules;
pub mod yaml;

pub use data::Data;
pub use diagnostic::{Diagnostic, Findings, Label, Severity};
pub use edit::{Applicability, Edit, Fix};
pub use record::Record;
pub use rule::{Example, Rule};
pub use source::{FileId, Position, Source, Sources, Span, Spanned};
pub use table::{Field, Kind, Need, Table};
pub use tree::{Entry, Key, Map, Node, Value};
