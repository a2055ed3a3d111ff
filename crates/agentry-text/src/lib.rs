//! Text with spans: files, the tree that every data language is parsed into, the field tables that
//! describe what a tree may contain, and findings.
//!
//! This crate does not know agents. It does no IO: text comes in, values and findings go out.
#![warn(clippy::disallowed_methods, clippy::indexing_slicing)]

pub mod acl;
pub mod coercion;
pub mod credentials;
mod cursor;
pub mod data;
pub mod diagnostic;
pub mod digest;
pub mod edit;
pub mod hygiene;
pub mod json;
mod lexemes;
pub mod limits;
pub mod markdown;
pub mod path;
#[cfg(test)]
mod probe;
mod problems;
pub mod record;
pub mod report;
pub mod rule;
pub mod schema;
pub mod source;
pub mod suggestion;
pub mod table;
pub mod toml;
pub mod tree;
pub mod tree_rules;
pub mod yaml;

pub use data::Data;
pub use diagnostic::{Diagnostic, Findings, Severity, SpanLabel};
pub use edit::{Applicability, Fix, TextEdit};
pub use record::TableRecord;
pub use rule::{LintRule, RuleExample};
pub use source::{FileId, SourceFile, SourceFiles, Span, Spanned, TextPosition};
pub use table::{Field, FieldKind, FieldNeed, FieldTable};
pub use tree::{TreeEntry, TreeKey, TreeMap, TreeNode, TreeValue};
