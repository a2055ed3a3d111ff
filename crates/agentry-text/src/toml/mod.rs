//! TOML 1.1: parsed into the tree that all data languages share, and written from plain data.

mod depth;
mod emit;
mod error_text;
mod parse;
#[cfg(test)]
mod tests;

pub use emit::emit;
pub use parse::parse;

crate::rules! {
    /// Every rule about the syntax of TOML.
    pub RULES = [
        TOML_SYNTAX: "AG0061",
    ]
}
