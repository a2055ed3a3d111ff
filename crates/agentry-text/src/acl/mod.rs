//! ACL, the language of `agent.acl`: parsed into [`TreeNode`], and written from plain data.
//!
//! ```text
//! default_model = "openai/gpt-5"      an attribute; `:` means the same as `=`
//! providers "openai" {                a block with a label
//!   api_key = env("OPENAI_API_KEY")   a call
//!   headers = { "X-Team" = "docs" }   an object; commas are optional
//!   models "gpt-5" { }
//! }
//! ```
//!
//! Labelled blocks of the same name become one map, with the labels as keys. The reference ignores
//! text that it does not understand; this parser reports it.

mod body;
mod emit;
mod lex;
mod parse;
pub mod rules;
#[cfg(test)]
mod tests;

pub use emit::emit;
pub use rules::RULES;

use crate::diagnostic::Findings;
use crate::problems::ParseProblems;
use crate::source::SourceFile;
use crate::tree::TreeNode;

/// Parses the whole of `source`.
pub fn parse(source: &SourceFile, findings: &mut Findings) -> TreeNode {
    let mut problems = ParseProblems::default();
    let lexemes = lex::lex(source, &mut problems);
    let node = parse::AclParser::new(source, &lexemes, &mut problems).document();
    problems.hand_over(findings);
    node
}
