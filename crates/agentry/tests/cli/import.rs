//! `agentry import`: agents of harnesses in a definition format.

use crate::test::Test;

#[test]
fn what_cannot_be_imported() {
    let test = Test::new().file("notes.md", "# Notes\n").file("empty/x", "");
    for args in [
        "import nowhere --to agent-toml -o out",
        "import notes.md --to agent-toml -o out",
        "import empty --to agent-toml -o out",
        "import notes.md --as nothing --to agent-toml -o out",
        "import notes.md --to nothing -o out",
        "import --to agent-toml -o out",
    ] {
        let ran = test.run(args).exits(2);
        assert!(!ran.stderr.is_empty(), "{ran}");
        assert!(!test.has("out"), "{ran}");
    }
}

#[test]
fn what_a_file_of_claude_code_says_without_effect() {
    let head = "name: reviewer\ndescription: Use it: always\ntools: Read, Bash(git diff:*)\n";
    let file = ".claude/agents/reviewer.md";
    let test = Test::new()
        .file("agentry.toml", "[render]\ntargets = [\"claude-code\"]\n")
        .file(file, format!("---\n{head}---\nYou read changes.\n"));
    let args = format!("import {file} --to agent-toml -o agents/reviewer");
    let ran = test.run(&args).exits(0);
    for line in [
        "changed  metadata  it is no valid YAML and was read line by line, as Claude Code does",
        "dropped  tools     `Bash(git diff:*)`: Claude Code does not restrict by it",
    ] {
        assert!(ran.stdout.contains(line), "{ran}");
    }
    // The file that it came from is only replaced when that is asked for.
    let ran = test.run("render").exits(1);
    assert!(ran.stdout.contains("pass `--force` once"), "{ran}");
    test.run("render --force").exits(0);
    test.run("render --check").exits(0);
    // What is nowhere else is told apart.
    test.write(file, format!("---\n{head}more:\n  deep: x\n---\nYou read changes.\n"));
    let ran = test.run(&format!("{args} --dry-run")).exits(0);
    assert!(ran.stdout.contains("`deep: x` says nothing"), "{ran}");
}

#[test]
fn agents_of_a_harness_that_nothing_is_written_for() {
    let test = Test::new()
        .file(".cursor/agents/x.md", "---\nname: x\ndescription: y\n---\nx\n")
        .file(".cursor/cli.json", r#"{"permissions": {"deny": ["Shell(rm)"]}}"#);
    for args in [
        "import . --to agent-toml -o first",
        "import .cursor/agents/x.md --as cursor --to agent-toml -o second",
    ] {
        let ran = test.run(args).exits(0);
        assert!(ran.stdout.contains("(cursor)"), "{ran}");
    }
    assert!(test.read("second/agent.toml").contains("\"rm *:deny\""));
    let ran = test.run("render . --target cursor").exits(2);
    assert!(ran.stderr.contains("possible values: opencode"), "{ran}");
}
