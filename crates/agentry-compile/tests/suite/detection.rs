//! What is detected as an agent, and in which format.

use crate::world::{agents, report, world};

type Files<'a> = &'a [(&'a str, &'a str)];

#[test]
fn formats_are_detected_by_content_then_by_name() {
    let manifest = "name: a\ndescription: b\n";
    let cases: &[(Files<'_>, &[&str])] = &[
        (&[("x.agent", manifest)], &["x.agent manifest"]),
        (&[("a/agent.yaml", manifest)], &["a manifest"]),
        (&[("a/agent.yml", manifest), ("a/SOUL.md", "x")], &["a manifest"]),
        (&[("a/agent.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n")], &[]),
        (&[("a/agent.toml", "name = 'a'\ndescription = 'b'\n")], &["a agent-toml"]),
        (&[("a/agent.toml", "[agent]\ninterval = '10s'\n")], &[]),
        (&[("a/agent.toml", ""), ("a/system-prompt.md", "x")], &["a agent-toml"]),
        (&[("a/agent.json", r#"{"name": "A", "version": "1.0.0", "role": "r"}"#)], &["a agentfs"]),
        (&[("a/agent.json", r#"{"name": "A"}"#)], &[]),
        (&[("a/agent.json", r#"{"name": "A"}"#), ("a/persona.md", "x")], &["a agentfs"]),
        (
            &[(
                "a/agent.json",
                r#"{"id": "x", "name": "A", "category": "c", "i18n": {}, "role": "x"}"#,
            )],
            &[],
        ),
        (&[("a/instructions.md", "You help.")], &[]),
        (&[("a/instructions.md", "You help."), ("a/agent.acl", "")], &["a agent-dir"]),
        (&[("a/instructions.md", "You help."), ("a/tools/x.md", "")], &["a agent-dir"]),
        (&[("a/instructions.md", "You help."), ("a/skills/x/SKILL.md", "")], &["a agent-dir"]),
        (&[("agents/x_y.agent.md", "# Y\n\nHelps.\n")], &["agents/x_y.agent.md agent-md"]),
        (&[("y.agent.md", "---\ntools: [read]\nmodel: gpt\n---\nHelps.\n")], &[]),
        (
            &[("y.agent.md", "---\ntools: [read]\ntitle: Y\n---\nHelps.\n")],
            &["y.agent.md agent-md"],
        ),
        (&[(".github/agents/y.agent.md", "# Y\n\nHelps.\n")], &[]),
        (&[(".claude/agents/y.md", "---\nname: y\n---\nHelps.\n")], &[]),
        (&[("README.md", "# hello")], &[]),
    ];
    for (files, expected) in cases {
        let found = agents(&world(files), None);
        let found: Vec<_> =
            found.iter().map(|found| format!("{} {}", found.path, found.format)).collect();
        assert_eq!(found, *expected, "{files:?}");
    }
}

#[test]
fn a_directory_of_two_formats_is_an_error_that_names_both() {
    let found = report(&world(&[
        ("a/agent.toml", "name = 'a'\ndescription = 'b'\n"),
        ("a/agent.yaml", "name: a\ndescription: b\n"),
    ]));
    assert_eq!(
        found,
        [
            "a:1:1 error[AG0006] this directory has `agent.toml` and `agent.yaml`: it could be any of them"
        ]
    );
}
