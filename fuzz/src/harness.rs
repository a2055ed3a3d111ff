//! Checks fuzzer input as files of harnesses.

use agentry_compile::text::report::human;
use agentry_compile::{
    FixMode, MemoryWorld, WorkspaceConfig, check_harness, discover_all, fix_harness,
};

#[path = "../../crates/agentry-compile/tests/suite/harness_paths.rs"]
mod harness_paths;

use harness_paths::PATHS;

/// Checks, shows and fixes the bytes as every kind of file.
pub fn everywhere(bytes: &[u8]) {
    let world = MemoryWorld::new(PATHS.iter().map(|path| ((*path).to_owned(), bytes.to_vec())));
    let found = discover_all(&world, &[String::new()], None, &|_| false);
    let config = WorkspaceConfig::default();
    for file in &found.harness {
        let checked = check_harness(&world, file, &config);
        for diagnostic in &checked.diagnostics {
            let style = human::ReportStyle::default();
            let text = human::render(diagnostic, &checked.sources, style);
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        }
        fix_harness(&world, file, &config, FixMode::Unsafe);
    }
}
