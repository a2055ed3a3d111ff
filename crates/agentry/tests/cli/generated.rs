//! The reference of the commands, generated from the help of the program. A stale page is rewritten, then
//! the test fails: review it, commit it, and run the test again.

use std::path::PathBuf;

use crate::test::Test;

#[test]
fn the_cli_reference_is_current() {
    let test = Test::new();
    let help = test.run("--help").exits(0).stdout;
    let mut page = format!(
        "# Commands\n\nWhat `agentry COMMAND --help` prints. Exit codes: 0 done, 1 findings \
         or a failed run, 2 bad usage or input that cannot be read, 3 refused (not trusted, no consent, \
         start conditions not met, over budget, parked), 130 interrupted.\n\n{}",
        block(&help)
    );
    let names = commands(&help);
    assert!(names.len() >= 9, "{help}");
    for name in names {
        describe(&test, &name, 2, &mut page);
    }
    current("docs/reference/cli.md", &page);
}

/// Adds the help of a command, and of those below it.
fn describe(test: &Test, command: &str, level: usize, page: &mut String) {
    let help = test.run(&format!("{command} --help")).exits(0).stdout;
    let marks = "#".repeat(level);
    page.push_str(&format!("\n{marks} agentry {command}\n\n{}", block(&help)));
    for name in commands(&help) {
        describe(test, &format!("{command} {name}"), level + 1, page);
    }
}

/// The names of the commands: the lists above the options, also in groups.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().take_while(|line| *line != "Options:");
    // An argument stands in brackets, and what does not fit into a line is indented deeper.
    let rows = lines.filter_map(|line| line.strip_prefix("  "));
    let rows = rows.filter(|row| row.starts_with(|c: char| c.is_ascii_lowercase()));
    let names = rows.filter_map(|row| row.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

fn block(help: &str) -> String {
    let lines: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", lines.join("\n"))
}

fn current(page: &str, text: &str) {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(page);
    if std::fs::read_to_string(&path).ok().as_deref() != Some(text) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        std::fs::write(&path, text).expect("a writable folder");
        panic!("{page} was stale; it has been rewritten");
    }
}
