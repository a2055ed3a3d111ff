//! YAML 1.1 as `PyYAML` parses it: which texts it accepts and where each value ends. Digests of
//! manifests depend on every detail. The parser stops at the first mistake with a short message;
//! `syntax` makes better messages for users.
//!
//! `reader` moves through the text, `scan` makes tokens (with `plain_scalar`, `quoted_scalar`,
//! `block_scalar` and `tag` for their kinds), and `parse` makes events. Nothing recurses, and at
//! most about a thousand characters wait for a `:` that makes them a key.

mod block_scalar;
mod parse;
mod plain_scalar;
mod quoted_scalar;
mod reader;
mod scan;
mod tag;
#[cfg(test)]
mod tests;

pub(super) use parse::YamlParser;

/// Why a text is refused, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct YamlRefusal {
    pub(super) at: usize,
    pub(super) message: &'static str,
}
