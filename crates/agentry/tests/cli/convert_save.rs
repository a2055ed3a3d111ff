//! `agentry convert`: the files of an agent are written all or none.

use std::process::Command;

use crate::test::{HELPER, Test};

const SKILL: &str = "---\nname: review\ndescription: Reviews a change\n---\n\nLook at it.\n";

/// Files that only the older agent had would become a part of the new one.
#[test]
fn stale_files_of_the_replaced_agent_are_removed() {
    let test = Test::new()
        .file("helper.agent", HELPER)
        .file("out/agent.json", "{\"name\": \"Old\", \"role\": \"x\", \"version\": \"1.0.0\"}\n")
        .file("out/persona.md", "You are old.\n")
        .file("out/principles.md", "## Never Do\n\n- Lie\n")
        .file("out/skills/review/SKILL.md", SKILL)
        .file("out/skills/review/scripts/run.sh", "true\n")
        .file("out/skills/other/SKILL.md", SKILL.replace("review", "other"))
        .file("out/runs/1/receipts/r.yaml", "task: x\n")
        .file("out/notes.txt", "mine\n");
    insta::assert_snapshot!(test.run("convert helper.agent --to agentfs -o out --force --dry-run"), @r#"
    $ agentry convert helper.agent --to agentfs -o out --force --dry-run
    --- stdout
    would write out/agent.json
    would write out/persona.md
    would remove out/principles.md
    would remove out/skills/other/SKILL.md
    would remove out/skills/review/SKILL.md
    lost in agentfs:
      permissions.external_directory  changed   kept in `x-agentry`, which only Agentry reads
      permissions.mcp                 changed   kept in `x-agentry`, which only Agentry reads
      trust                           narrowed  only whole tools can be allowed or denied; what is asked about stays so
    added in agentfs:
      settings.file_security  a block of 1 is not in the source
    --- exit 0
    "#);
    assert!(test.has("out/principles.md"));
    insta::assert_snapshot!(test.run("convert helper.agent --to agentfs -o out/ --force"), @r#"
    $ agentry convert helper.agent --to agentfs -o out/ --force
    --- stdout
    wrote out/agent.json
    wrote out/persona.md
    removed out/principles.md
    removed out/skills/other/SKILL.md
    removed out/skills/review/SKILL.md
    lost in agentfs:
      permissions.external_directory  changed   kept in `x-agentry`, which only Agentry reads
      permissions.mcp                 changed   kept in `x-agentry`, which only Agentry reads
      trust                           narrowed  only whole tools can be allowed or denied; what is asked about stays so
    added in agentfs:
      settings.file_security  a block of 1 is not in the source
    --- exit 0
    "#);
    for gone in ["out/principles.md", "out/skills/review/SKILL.md", "out/skills/other"] {
        assert!(!test.has(gone), "{gone}");
    }
    for kept in ["out/skills/review/scripts/run.sh", "out/runs/1/receipts/r.yaml", "out/notes.txt"]
    {
        assert!(test.has(kept), "{kept}");
    }
}

/// Files of the source that the result does not need must stay.
#[test]
fn files_of_the_source_are_never_removed() {
    let test = Test::new()
        .file("out/agent.yaml", HELPER)
        .file("out/memory/m.md", "Remember.\n")
        .file("out/skills/review.md", SKILL);
    test.run("convert out --to manifest -o out --force").exits(0);
    assert!(test.has("out/memory/m.md") && test.has("out/skills/review.md"));
}

#[test]
fn a_failed_write_restores_all_files() {
    let test = Test::new()
        .file("helper.agent", HELPER)
        .file("out/agent.toml", "old\n")
        .file("out/system-prompt.md/taken", "mine\n");
    insta::assert_snapshot!(test.run("convert helper.agent --to agent-toml -o out --force"), @r#"
    $ agentry convert helper.agent --to agent-toml -o out --force
    --- stderr
    error: `out/system-prompt.md` cannot be written: is a directory
    --- exit 2
    "#);
    assert_eq!(test.read("out/agent.toml"), "old\n");
    assert_eq!(test.read("out/system-prompt.md/taken"), "mine\n");
}

/// A full disk: the second, larger file cannot be stored.
#[cfg(unix)]
#[test]
fn a_full_disk_restores_all_files() {
    let soul = format!("name: helper\ndescription: Answers\nsoul: {}\n", "word ".repeat(20_000));
    let test = Test::new().file("helper.agent", soul).file("out/agent.toml", "old\n");
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    for output in ["out", "new/deep"] {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_agentry")]);
        command.args(["convert", "helper.agent", "--to", "agent-toml", "--force", "-o", output]);
        command.current_dir(test.path("")).env("HOME", test.path("home"));
        let ran = command.output().expect("a shell");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("system-prompt.md` cannot be written"), "{stderr}");
    }
    assert_eq!(test.read("out/agent.toml"), "old\n");
    let names: Vec<_> = std::fs::read_dir(test.path("out")).expect("a folder").collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(!test.has("new"));
}

#[test]
fn a_target_that_is_a_link_is_refused() {
    let test = Test::new().file("helper.agent", HELPER).link("x.agent.md", "victim.md");
    let test = test.file("victim.md", "mine\n");
    let ran = test.run("convert helper.agent --to agent-md -o x.agent.md --force").exits(2);
    assert!(ran.stderr.contains("`x.agent.md` is a link"), "{ran}");
    assert_eq!(test.read("victim.md"), "mine\n");
}
