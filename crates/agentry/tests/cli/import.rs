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
