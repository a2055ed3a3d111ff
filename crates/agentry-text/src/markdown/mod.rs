//! Markdown: front matter, sections, fenced code, images and paragraphs, each with its bytes.
//!
//! `CommonMark` decides what a heading, a fence and a paragraph is (`pulldown-cmark`, no extensions).
//! A section or a first paragraph is one of the document itself: what stands in a quote or in a list
//! item is content. Every function takes the bytes to look at and gives spans in the whole file.

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
