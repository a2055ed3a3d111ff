//! One syntax error is one finding: what follows it is unknown, and therefore not reported.

use crate::world::{findings, world};

#[test]
fn a_syntax_error_is_the_only_finding() {
    let persona = ("helper/persona.md", "## L0\n\nYou answer.\n");
    let principles = ("helper/principles.md", "## Never Do\n\n- Guess\n");
    let json = ("helper/agent.json", "{\"name\": \"Helper\", \"description\": \"x\", \"llm\": {}}");
    let (text, acl) = ("You answer questions.\n", ("helper/agent.acl", ""));
    let instructions = ("helper/instructions.md", text);
    let md = "---\ntitle: Helper\ndescription: a: b\nversion: 0.1.0\n---\n# Helper\n\nAnswers.\n\n## System\n\nYou.\n";
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("agent-md", &[("agents/help_desk.agent.md", md)]),
        ("manifest", &[("helper.agent", "description: a: b\nname: helper\nsoul: You.\n")]),
        ("manifest's name", &[("helper.agent", "name: helper\ndescription: a: b\n")]),
        (
            "mcp tool",
            &[instructions, acl, ("helper/tools/a.md", "---\nname: a: b\nkind: mcp\n---\n")],
        ),
        (
            "schedule",
            &[instructions, acl, ("helper/schedules/a.md", "---\nname: a: b\ncron: x\n---\nDo\n")],
        ),
        (
            "skill of an agent directory",
            &[instructions, acl, ("helper/skills/s/SKILL.md", "---\nname: a: b\n---\nDo\n")],
        ),
        (
            "skill of AgentFS",
            &[
                json,
                persona,
                principles,
                ("helper/skills/s/SKILL.md", "---\nname: a: b\n---\nDo\n"),
            ],
        ),
        (
            "memory",
            &[json, persona, principles, ("helper/memory/a.md", "---\nsource: a: b\n---\nDo\n")],
        ),
    ];
    for (case, files) in cases {
        let found = findings(&world(files));
        let codes: Vec<_> = found.iter().map(|found| found.code).collect();
        assert_eq!(codes, ["AG0051"], "{case}\n{found:#?}");
    }
}
