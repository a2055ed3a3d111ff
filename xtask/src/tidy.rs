//! `cargo xtask tidy`: checks that no compiler makes. A check takes files and returns lines to print.

mod arrows;
mod codemap;
mod formats;
mod openings;
mod purity;
mod sizes;
mod type_names;
mod vocabulary;

use crate::{files, generate};

/// Runs every check and lists the findings.
pub(crate) fn run() -> Result<(), String> {
    let files = files::all()?;
    for long in sizes::nearly_too_long(&files) {
        println!("{long}");
    }
    let problems = [
        arrows::check(&arrows::read()?),
        sizes::check(&files),
        vocabulary::check(&files),
        codemap::check(&files),
        openings::check(&files),
        purity::check(&files),
        type_names::check(&files),
        formats::check(&files),
        generate::check_names(&files),
    ]
    .concat();
    match problems.len() {
        0 => Ok(()),
        count => Err(format!("{}\n\ntidy: {count} to fix", problems.join("\n"))),
    }
}
