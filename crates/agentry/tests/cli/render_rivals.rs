//! `agentry render` next to an agent of the same name in a file of another name: the usual case after an
//! import.

use crate::render::agent;
use crate::test::Test;

/// Harness, the file of the user, its text, and the rendered file.
const RIVALS: &[(&str, &str, &str, &str)] = &[
    (
        "opencode",
        ".opencode/agent/one.md",
        "---\ndescription: x\n---\nx\n",
        ".opencode/agents/one.md",
    ),
    (
        "opencode",
        ".opencode/agents/other.md",
        "---\nname: one\ndescription: x\n---\nx\n",
        ".opencode/agents/one.md",
    ),
    (
        "claude-code",
        ".claude/agents/other.md",
        "---\nname: one\ndescription: x\n---\nx\n",
        ".claude/agents/one.md",
    ),
    (
        "copilot",
        ".github/agents/one.md",
        "---\ndescription: x\n---\nx\n",
        ".github/agents/one.agent.md",
    ),
    (
        "gemini",
        ".gemini/agents/other.md",
        "---\nname: ONE\ndescription: x\n---\nx\n",
        ".gemini/agents/one.md",
    ),
    (
        "codex",
        ".codex/agents/aaa.toml",
        "name = \"one\"\ndescription = \"x\"\ndeveloper_instructions = \"x\"\n",
        ".codex/agents/one.toml",
    ),
    (
        "codex --scope user",
        "home/.codex/agents/aaa.toml",
        "name = \"one\"\ndescription = \"x\"\ndeveloper_instructions = \"x\"\n",
        "home/.codex/agents/one.toml",
    ),
    (
        "pi",
        ".pi/agents/team/v1.2/other.md",
        "---\nname: one\ndescription: x\n---\nx\n",
        ".pi/agents/one.md",
    ),
    (
        "pi --scope user",
        "home/.agents/more/other.md",
        "---\nname: \"one\"\ndescription: x\n---\nx\n",
        "home/.pi/agent/agents/one.md",
    ),
];

/// Rendered files are removed with their agent in every harness, and no others.
#[test]
fn t54_stale_files_go_in_every_harness() {
    let cases = [
        ("codex", ".codex/agents/one.toml", ".codex/agents/mine.toml"),
        ("gemini", ".gemini/agents/one.md", ".gemini/agents/mine.md"),
        ("copilot", ".github/agents/one.agent.md", ".github/agents/mine.agent.md"),
        ("claude-code", ".claude/agents/one.md", ".claude/agents/mine.md"),
        ("pi", ".pi/agents/one.md", ".pi/agents/mine.md"),
    ];
    for (harness, own, mine) in cases {
        let test = agent(agent(Test::new(), "one", ""), "two", "");
        test.write(mine, "mine");
        test.run(&format!("render --target {harness}")).exits(0);
        let other = own.replace("one", "two");
        assert!(test.has(own) && test.has(&other), "{harness}");
        std::fs::remove_dir_all(test.path("agents/one")).expect("a folder");
        test.run(&format!("render --target {harness}")).exits(0);
        assert!(!test.has(own) && test.has(&other), "{harness}");
        assert_eq!(test.read(mine), "mine", "{harness}");
    }
}

#[test]
fn a_rival_file_is_replaced_only_by_force() {
    for (harness, rival, text, own) in RIVALS {
        let test = agent(Test::new(), "one", "").file(rival, text);
        let ran = test.run(&format!("render --target {harness}")).exits(1);
        let shown = rival.strip_prefix("home/").unwrap_or(rival);
        let expected = format!("`{shown}` has the same name");
        assert!(ran.stdout.contains(&expected), "{rival}: {ran}");
        assert!(ran.stdout.contains("pass `--force` once to replace it"), "{rival}: {ran}");
        assert!(test.has(rival) && !test.has(own), "{rival}");
        let ran = test.run(&format!("render --target {harness} --force --dry-run")).exits(0);
        let removed = ran.stdout.lines().find(|line| line.contains("would remove  "));
        assert!(removed.is_some_and(|line| line.contains(rival)), "{rival}: {ran}");
        assert!(test.has(rival), "{rival}");
        test.run(&format!("render --target {harness} --force")).exits(0);
        assert!(!test.has(rival) && test.has(own), "{rival}");
        test.run(&format!("render --target {harness} --check")).exits(0);
    }
}

/// An agent that Pi finds in `.agents` never wins over one of the project, and is reported.
#[test]
fn t52_pi_agents_in_other_directories_are_reported() {
    let other = "---\nname: one\ndescription: x\n---\nx\n";
    let own = ".pi/agents/one.md";
    let starts = "has the same name: Pi starts that one where `.pi/agents/one.md` is missing";
    for (path, shown) in [
        (".agents/agents/other.md", ".agents/agents/other.md"),
        ("home/.agents/other.md", "~/.agents/other.md"),
    ] {
        let test = agent(Test::new(), "one", "").file(path, other);
        let ran = test.run("render --target pi --force").exits(0);
        assert!(ran.stdout.contains(&format!("`{shown}` {starts}")), "{ran}");
        assert!(test.has(path) && test.has(own), "{ran}");
        test.write(path, other.replace("name:", "package: p\nname:"));
        let ran = test.run("render --target pi").exits(0);
        assert!(ran.stdout.contains("Pi finds `one` ambiguous"), "{ran}");
    }
    // Files that Pi does not take for an agent of this name.
    let test = agent(Test::new(), "one", "")
        .file(".agents/skills/one/SKILL.md", other)
        .file("home/.agents/Skills/one.md", other)
        .file(".agents/x.chain.md", other)
        .file(".pi/agents/x.md", "---\nname: one\n---\nx\n")
        .file(".pi/agents/y.md", "---\nname: two\ndescription: x\n---\nx\n")
        .file(".pi/agents/z.chain.md", other);
    let ran = test.run("render --target pi").exits(0);
    assert!(!ran.stdout.contains("has the same name"), "{ran}");
}
