//! `cargo xtask generate`: rewrites every file that is generated from the code.
//!
//! The generators are ordinary tests whose names end in `_is_current` or `_are_current`: such a test compares, and
//! rewrites a stale file before it fails. So the first run writes, and the second one confirms that the
//! files are current.

use std::process::Command;

use crate::files::File;
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

/// The ends of the names of generators, which select them.
const ENDS: [&str; 2] = ["_is_current", "_are_current"];

/// Every generator, with its crate. Other crates need not be built for them.
const GENERATORS: [(&str, &str); 9] = [
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

/// The command for the generators. Doc tests cannot be selected by name, so they are left out.
fn generators() -> Command {
    let mut crates: Vec<&str> = GENERATORS.iter().map(|(name, _)| *name).collect();
    crates.dedup();
    let mut arguments: Vec<&str> = crates.into_iter().flat_map(|name| ["-p", name]).collect();
    arguments.extend(["--quiet", "--lib", "--bins", "--tests", "--"]);
    arguments.extend(ENDS);
    ci::tests(&arguments)
}

/// Compares the list of generators with the tests. One that is renamed would no longer be run, and nothing else would notice.
pub(crate) fn check_names(files: &[File]) -> Vec<String> {
    let found: Vec<(&str, &str)> = files.iter().flat_map(tests_of).collect();
    let gone = GENERATORS.iter().filter(|row| !found.contains(*row));
    let gone = gone.map(|(name, test)| format!("{name}: there is no generator `{test}`"));
    let new = found.iter().filter(|row| !GENERATORS.contains(*row));
    let new = new.map(|(name, test)| format!("{name}: `{test}` is missing in `GENERATORS`"));
    gone.chain(new).collect()
}

/// The tests of a file that are named like generators, with their crate.
fn tests_of(file: &File) -> impl Iterator<Item = (&str, &str)> {
    let place = file.path.strip_prefix("crates/").filter(|_| file.is_rust());
    let name = place.and_then(|path| path.split('/').next());
    let tests = file.text.split("#[test]\nfn ").skip(1);
    let names = tests.filter_map(|test| test.split('(').next());
    let generators = names.filter(|test| ENDS.iter().any(|end| test.ends_with(end)));
    generators.filter_map(move |test| Some((name?, test)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn renamed_and_new_generators_are_reported() {
        let mut files: Vec<File> = GENERATORS
            .iter()
            .map(|(name, test)| file(&format!("crates/{name}/tests/a.rs"), &sample(test)))
            .collect();
        assert_eq!(check_names(&files), [""; 0]);
        files.remove(0);
        files.push(file("crates/agentry-home/src/a.rs", &sample("the_page_is_current")));
        let expected = [
            "agentry: there is no generator `the_cli_reference_is_current`",
            "agentry-home: `the_page_is_current` is missing in `GENERATORS`",
        ];
        assert_eq!(check_names(&files), expected);
    }

    fn sample(test: &str) -> String {
        format!("#[test]\nfn {test}() {{}}\n")
    }
}
