//! YAML 1.1 as `PyYAML` takes it apart, event by event: which texts it accepts and where each value
//! ends, because hashes of manifests depend on its every corner. It stops at the first mistake and
//! says little about it; what to tell a person is `syntax`'s to say.
//!
//! `reader` walks over the text, `scan` makes tokens of it (`plain_scalar`, `quoted_scalar`, `block_scalar` and `tag` take
//! their kinds of tokens), `parse` makes events of the tokens. Nothing recurses, and no more than
//! about a thousand characters wait for the `:` that would make them a key.

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
