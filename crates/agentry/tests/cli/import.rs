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
    assert!(ran.stderr.contains("known are opencode"), "{ran}");
}
