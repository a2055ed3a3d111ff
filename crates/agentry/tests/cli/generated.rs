//! The reference of the commands, from the help of the program itself. A stale page is rewritten,
//! then the test fails: look at it, commit it, run again.

use std::path::PathBuf;

use crate::test::Test;

#[test]
fn generated_cli() {
    let test = Test::new();
    let help = test.run("--help").exits(0).stdout;
    let mut page = format!(
        "# Commands\n\nWhat `agentry COMMAND --help` prints. Exit codes: 0 done, 1 findings, \
         2 bad usage or input that cannot be read, 3 refused because it is not trusted.\n\n{}",
        block(&help)
    );
    for command in commands(&help) {
        let help = test.run(&format!("{command} --help")).exits(0).stdout;
        page.push_str(&format!("\n## agentry {command}\n\n{}", block(&help)));
    }
    current("docs/reference/cli.md", &page);
}

/// The names below `Commands:`.
fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty());
    let names: Vec<_> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 9, "{help}");
    names
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
