//! Markdown: front matter, sections, fenced code, images and paragraphs, each with its span.
//!
//! `CommonMark` defines headings, fences and paragraphs (`pulldown-cmark`, no extensions). Headings
//! and paragraphs inside a quote or a list item are content of it, not of the document. Every
//! function takes a byte range and returns spans of the whole file.

mod document;
mod fences;
mod parts;
mod prose;
mod sections;
#[cfg(test)]
mod tests;

pub use fences::{CodeFence, fences, outside};
pub use parts::{MarkdownParts, parts};
pub use prose::{first_image, first_paragraph};
pub use sections::{MarkdownSection, sections};
