//! What programs do with their arguments. The knowledge is in `data/`, one file per family of programs.
//! One parser (`data.rs`, `row.rs`) looks it up by program name.
//!
//! ```text
//! data/*.txt ─▶ ProgramFacts ─▶ effects(argv): reads, writes, runs, configures, own rules, approval
//!                          └──▶ rows, for code that covers all argument lists at once (automata, shells)
//! ```
//!
//! Nothing here decides what is allowed. A program without rows may do anything.
#![warn(clippy::disallowed_methods)]

mod arguments;
pub mod argv;
mod data;
mod effects;
mod git;
pub mod hazard;
mod hidden_names;
mod operands;
mod options;
mod prints;
mod program;
mod regex;
mod row;
mod searched_names;
pub mod secrets;
pub mod variables;
mod wrapper;

pub use data::{names, program};
pub use effects::{CommandEffects, FileEffect, effects};
pub use git::reads_setting;
pub use hazard::{CommandHazard, DashMeaning, HazardSign, own_rules};
pub use hidden_names::{HiddenExceptions, HiddenRows};
pub use operands::{FileUse, OperandKind};
pub use options::{
    CommandFront, GlobalOption, OptionValue, OptionWords, global_options, option_words, subcommand,
};
pub use prints::{PrintKind, PrintedWords, passes_lines, printed};
pub use program::{FileRow, InnerSyntax, ProgramFacts, ProgramTrait, ShellKind, WordList};
pub use searched_names::NameOptions;
pub use wrapper::{
    InnerForm, RunnerRow, RunnerTrust, TextPlace, WrapperOption, WrapperReach, WrapperRow,
};

/// Returns the part after the last `/`.
pub fn base_name(word: &str) -> &str {
    word.rsplit_once('/').map_or(word, |(_, base)| base)
}

/// Whether a program has a trait, by its base name; an unknown program has none.
pub fn has_trait(name: &str, wanted: ProgramTrait) -> bool {
    program(name).is_some_and(|facts| facts.has(wanted))
}
