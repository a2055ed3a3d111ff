//! Scripts of an agent: checked without running them, and read together with the files that they import.

mod check;
mod modules;
mod rules;

pub(crate) use check::check;
pub use check::entry_problem;
pub(crate) use modules::read_modules;
pub use rules::{
    INPUTS_SCHEMA, RULES, SCRIPT_IMPORT, SCRIPT_MISSING, SCRIPT_PATH, SCRIPT_SYNTAX,
    SCRIPT_TOO_DEEP, SCRIPT_WITHOUT_RUN,
};

/// Whether a name ends in `.js` or `.mjs`, in lower case, as every reader of scripts requires.
pub(crate) fn is_javascript(path: &str) -> bool {
    let ending = std::path::Path::new(path).extension();
    ending.is_some_and(|ending| ending == "js" || ending == "mjs")
}
