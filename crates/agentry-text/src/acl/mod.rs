//! ACL, the language of `agent.acl`: read into the one tree, and written from plain data.
//!
//! ```text
//! default_model = "openai/gpt-5"      an attribute; `:` may stand for `=`
//! providers "openai" {                a block with a label
//!   api_key = env("OPENAI_API_KEY")   a call
//!   headers = { "X-Team" = "docs" }   an object; commas are optional
//!   models "gpt-5" { }
//! }
//! ```
//!
//! Blocks of one name with labels become one map by label. The reference passes over what it does not
//! understand; this reader reports it.

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

/// Reads the whole of `source`.
pub fn parse(source: &SourceFile, findings: &mut Findings) -> TreeNode {
    let mut problems = ParseProblems::default();
    let lexemes = lex::lex(source, &mut problems);
    let node = parse::AclParser::new(source, &lexemes, &mut problems).document();
    problems.hand_over(findings);
    node
}
