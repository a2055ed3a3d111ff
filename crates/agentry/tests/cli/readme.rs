//! The README and the guides match the program: their files are written, their commands run, and their
//! outputs compared. A stale page is rewritten, then the test fails.

use std::fs;
use std::path::{Path, PathBuf};

use crate::test::Test;

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The workspace of the pages: the shipped examples, and the files that a page shows.
pub(crate) fn workspace(page: &str) -> Test {
    let test = Test::new();
    copy(&Path::new(ROOT).join("examples"), Path::new("examples"), &test);
    // A file that is shown twice changes on the way; the first text is the initial one.
    for (name, text) in files(page).into_iter().rev() {
        test.write(name, text);
    }
    test
}

/// The files of a page: in the block after `<!-- file: name -->`, or hidden in the comment itself, from
/// its second line on.
fn files(page: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("<!-- file: ") {
        let (line, below) = after.split_once('\n').expect("a line");
        let (name, lines, after) = match line.strip_suffix(" -->") {
            Some(name) => {
                let (_, block) = below.split_once("```").expect("a block after its name");
                // A block with blocks in it has a longer fence.
                let longer = block.bytes().take_while(|byte| *byte == b'`').count();
                let fence = format!("\n{}", "`".repeat(3 + longer));
                let (block, after) = block.split_once(&fence).expect("a closed block");
                let (_, lines) = block.split_once('\n').expect("a block with lines");
                (name, lines, after)
            }
            None => {
                let (lines, after) = below.split_once("\n-->").expect("a closed comment");
                (line, lines, after)
            }
        };
        found.push((name, format!("{lines}\n")));
        rest = after;
    }
    found
}

fn copy(from: &Path, to: &Path, test: &Test) {
    for entry in fs::read_dir(from).expect("examples") {
        let entry = entry.expect("a readable folder");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to, test);
        } else {
            test.write(to, fs::read(entry.path()).expect("a readable file"));
        }
    }
}

/// The page with the present output of every block after `<!-- run -->`.
fn filled(page: &str) -> String {
    const MARK: &str = "<!-- run -->\n```console\n";
    let test = workspace(page);
    let mut parts = page.split(MARK);
    let mut before = parts.next().unwrap_or("");
    let mut out = before.to_owned();
    for part in parts {
        files(before).into_iter().for_each(|(name, text)| test.write(name, text));
        let (block, rest) = part.split_once("```").expect("a closed block");
        out.push_str(MARK);
        for line in block.lines().filter_map(|line| line.strip_prefix("$ agentry ")) {
            let printed = test.run(line).stdout;
            out.push_str(&format!("$ agentry {line}\n{}\n", printed.trim_end()));
        }
        out.push_str("```");
        out.push_str(rest);
        before = rest;
    }
    out
}

/// The pages whose commands need a sandbox.
const CONFINED: &[&str] = if cfg!(target_os = "linux") {
    &[
        "docs/guides/give-an-agent-skills.md",
        "docs/guides/script-tools.md",
        "docs/guides/tools-in-the-agent-file.md",
        "docs/guides/use-mcp-servers.md",
    ]
} else {
    &[]
};

#[test]
fn the_readme_and_the_guides_are_current() {
    let pages = [
        "README.md",
        "docs/guides/your-first-agent.md",
        "docs/guides/audit-a-workspace.md",
        "docs/guides/build-on-another-agent.md",
        "docs/guides/check-a-repository.md",
        "docs/guides/check-in-ci.md",
        "docs/guides/convert-an-agent.md",
        "docs/guides/keep-an-agent.md",
        "docs/guides/know-what-an-agent-may-do.md",
        "docs/guides/let-agents-work-together.md",
        "docs/guides/lock-agents.md",
        "docs/guides/run-an-agent.md",
        "docs/guides/share-agents.md",
        "docs/guides/resolve-an-agent.md",
        "docs/guides/render-for-a-harness.md",
    ];
    let mut stale = Vec::new();
    for page in pages.into_iter().chain(CONFINED.iter().copied()) {
        let path = PathBuf::from(ROOT).join(page);
        let text = fs::read_to_string(&path).expect("a page");
        let now = filled(&text);
        if now != text {
            fs::write(&path, now).expect("a writable folder");
            stale.push(page);
        }
    }
    assert!(stale.is_empty(), "stale, and rewritten: {}", stale.join(", "));
}

#[test]
fn the_shipped_examples_have_no_finding() {
    insta::assert_snapshot!(workspace("").run("check examples"), @r#"
    $ agentry check examples
    --- stdout
    checked 11 agents: all good
    --- exit 0
    "#);
}
