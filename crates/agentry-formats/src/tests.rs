//! Helpers for tests with fixture files, and a test of the table of formats.
//!
//! `insta::glob!` does the same, but its feature changes the dependencies of the tests, so that every
//! crate of the workspace would be compiled a second time.

use std::path::Path;

use agentry_model::Format;

use crate::FORMATS;

/// Runs `work` with each file of `folder` (below `src`) that has this ending, sorted by name.
/// Snapshots in `work` are named after the file.
#[expect(clippy::disallowed_methods, reason = "tests read their fixtures")]
pub(crate) fn each_fixture(folder: &str, ending: &str, mut work: impl FnMut(&Path)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let entries = std::fs::read_dir(folder).expect("a folder of fixtures");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == ending));
    paths.sort();
    assert!(!paths.is_empty(), "no fixture ends in `.{ending}`");
    for path in paths {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_suffix(path.file_name().expect("a name").to_string_lossy());
        settings.set_input_file(&path);
        settings.bind(|| work(&path));
    }
}

#[test]
fn every_format_has_a_table_row() {
    let rows: Vec<_> = FORMATS.iter().map(|row| row.format.as_str()).collect();
    assert_eq!(rows, Format::WORDS);
    for row in FORMATS {
        let has_file = !row.files.mains.is_empty() || row.files.ending.is_some();
        assert!(has_file && !row.files.template.is_empty(), "{}", row.format);
    }
}
