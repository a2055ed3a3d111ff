//! `cargo xtask generate`: rewrites every file that is generated from the code.
//!
//! The generators are ordinary tests whose names end in `_is_current` or `_are_current`: such a test compares, and
//! rewrites a stale file before it fails. So the first run writes, and the second one confirms that the
//! files are current.

use std::process::Command;

use crate::{ci, process};

/// Rewrites stale files.
pub(crate) fn write() -> Result<(), String> {
    if process::output(&mut generators()).is_ok() {
        println!("every generated file is current");
        return Ok(());
    }
    process::run(&mut generators())
        .map_err(|error| format!("the generators failed twice: {error}"))?;
    println!("stale files were rewritten; look at them and commit them");
    Ok(())
}

/// Fails if a file was stale (it is rewritten anyway).
pub(crate) fn check() -> Result<(), String> {
    process::run(&mut generators())
        .map_err(|error| format!("{error}\n\nrewritten files are to be committed"))
}

/// The ends of the names of generators.
const ENDS: [&str; 2] = ["_is_current", "_are_current"];

/// The crates that have generators. The others need not be built for them.
const CRATES: [&str; 3] = ["agentry-compile", "agentry-runtime", "agentry"];

/// The command for the generators. Doc tests cannot be selected by name, so they are left out.
fn generators() -> Command {
    let mut arguments: Vec<&str> = CRATES.iter().flat_map(|name| ["-p", name]).collect();
    arguments.extend(["--quiet", "--lib", "--bins", "--tests", "--"]);
    arguments.extend(ENDS);
    ci::tests(&arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;

    /// A test that is renamed would no longer be run by `generate`, and no other check would notice.
    #[test]
    fn every_generator_is_found_by_its_name() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        std::env::set_current_dir(root).expect("the repository");
        let files = files::all().expect("its files");
        let sources = files.iter().filter(|file| file.is_rust());
        let mut found: Vec<(&str, &str)> = sources
            .filter_map(|file| Some((file.path.strip_prefix("crates/")?.split('/').next()?, file)))
            .flat_map(|(name, file)| {
                let tests = file.text.split("#[test]\nfn ").skip(1);
                tests.filter_map(move |test| Some((name, test.split_once('(')?.0)))
            })
            .filter(|(_, test)| ENDS.iter().any(|end| test.ends_with(end)))
            .collect();
        found.sort_unstable();
        let expected = [
            ("agentry", "the_cli_reference_is_current"),
            ("agentry", "the_readme_and_the_guides_are_current"),
            ("agentry-compile", "the_configuration_pages_are_current"),
            ("agentry-compile", "the_field_pages_are_current"),
            ("agentry-compile", "the_formats_page_is_current"),
            ("agentry-compile", "the_rules_page_is_current"),
            ("agentry-compile", "the_schema_files_are_current"),
            ("agentry-compile", "the_targets_page_is_current"),
            ("agentry-runtime", "the_tools_page_is_current"),
        ];
        assert_eq!(found, expected);
        assert!(found.iter().all(|(name, _)| CRATES.contains(name)));
    }
}
