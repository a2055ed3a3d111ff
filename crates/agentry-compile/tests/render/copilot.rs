//! GitHub Copilot: whole tools, no rules.

use agentry_compile::policy::Section;
use agentry_compile::targets::{RenderScope, target};

use crate::back::{assert_stable, definition, imported};
use crate::{Wish, agent, chiron, file, one, rendering, report_of};

const ALL: &str = r#"
[permissions.bash]
intent = "allow"
[permissions.edit]
intent = "allow"
[permissions.webfetch]
intent = "allow"
[permissions.websearch]
intent = "allow"
[permissions.delegate]
intent = "allow"
[permissions.tool]
intent = "allow"
"#;

fn tools(lines: &str, wish: Wish<'_>) -> String {
    let rendered = one("copilot", lines, wish);
    let text = file(&rendered, ".github/agents/helper.agent.md");
    let line = text.lines().find_map(|line| line.strip_prefix("tools: "));
    line.expect("tools are always written").trim_matches(['[', ']']).replace(',', "")
}

#[test]
fn renders_the_chiron_sample() {
    let rendered = rendering("copilot", &chiron(), Wish::default()).agents.remove(0);
    let text = file(&rendered, ".github/agents/chiron.agent.md");
    insta::assert_snapshot!(format!("{text}\n=====\n{}", report_of(&rendered)));
}

#[test]
fn t17_tools_are_per_agent() {
    let mut files = agent("a", "[permissions.edit]\nintent = \"deny\"\n");
    files.extend(agent("b", "[permissions.edit]\nintent = \"allow\"\n"));
    let rendering = rendering("copilot", &files, Wish::default());
    assert!(rendering.shared.is_empty());
    assert!(!file(&rendering.agents[0], "a.agent.md").contains("edit]"));
    assert!(file(&rendering.agents[1], "b.agent.md").contains("edit]"));
}

#[test]
fn t22_tools_of_absent_ask_sections_stay() {
    assert_eq!(tools("", Wish::default()), "execute read search edit");
    assert_eq!(tools(ALL, Wish::default()), "execute read search edit web agent todo");
}

#[test]
fn t23_t24_rules_narrow_to_whole_tools() {
    let cases = [
        ("[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:deny\"]\n", "read search edit"),
        (
            "[permissions.bash]\nintent = \"deny\"\nrules = [\"git * main:allow\"]\n",
            "read search edit",
        ),
        (
            "[permissions.edit]\nintent = \"deny\"\nrules = [\"src/*:allow\"]\n",
            "execute read search",
        ),
        (
            "[permissions.edit]\nintent = \"allow\"\nrules = [\"s/**:ask\"]\n",
            "execute read search edit",
        ),
        ("[permissions.read]\nintent = \"deny\"\n", "execute edit"),
        ("[permissions.external_directory]\nintent = \"deny\"\n", "execute"),
        ("[permissions.webfetch]\nintent = \"allow\"\n", "execute read search edit"),
        (
            "[permissions.tool]\nintent = \"deny\"\nrules = [\"todo:allow\"]\n",
            "execute read search edit todo",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(tools(lines, Wish::default()), expected, "{lines}");
    }
    let lines = "[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:deny\"]\n";
    let report = report_of(&one("copilot", lines, Wish::default()));
    assert!(report.contains("narrowed permissions.bash"), "{report}");
}

#[test]
fn t36_unchecked_commands_are_a_gap() {
    let lines = "[permissions.bash]\nintent = \"allow\"\n[permissions.edit]\nintent = \"deny\"\n";
    let rendered = one("copilot", lines, Wish::default());
    let report = report_of(&rendered);
    assert!(report.contains("gap permissions.bash: commands"), "{report}");
    assert!(report.contains("gap permissions.read: temporary files"), "{report}");
    assert_eq!(tools(lines, Wish { close_gaps: true, ..Wish::default() }), "");
}

#[test]
fn t42_texts_are_quoted_for_yaml() {
    for text in ["a: b", "say \"hi\"", "# x", "*x", "@x", "- x", "yes", "null", "--- x"] {
        let lines = format!("display_name = {text:?}\n");
        let rendered = one("copilot", &lines, Wish::default());
        let text_of = file(&rendered, "helper.agent.md");
        let imported = imported(
            "copilot",
            &[(".github/agents/helper.agent.md", text_of)],
            ".github/agents/helper.agent.md",
        )
        .expect("an agent");
        let name = imported.agent.identity.display_name.expect("a name");
        assert_eq!(name.value, text);
    }
}

#[test]
fn t43_an_empty_tool_list_is_written() {
    let lines = ["read", "bash", "edit"]
        .map(|section| format!("[permissions.{section}]\nintent = \"deny\"\n"))
        .concat();
    let rendered = one("copilot", &lines, Wish::default());
    assert!(file(&rendered, "helper.agent.md").contains("\ntools: []\n"));
}

#[test]
fn t44_t45_dashes_survive_and_long_prompts_are_refused() {
    let mut files = agent("helper", "");
    files[1].1 = "---\nfirst\n---\nsecond\n".to_owned();
    let rendered = rendering("copilot", &files, Wish::default()).agents.remove(0);
    assert_stable("copilot", &rendered, Wish::default());
    files[1].1 = "é".repeat(30_000);
    let fits = rendering("copilot", &files, Wish::default()).agents.remove(0);
    assert_eq!(fits.refused, None);
    files[1].1 = "x".repeat(100_000);
    let long = rendering("copilot", &files, Wish::default()).agents.remove(0);
    assert!(report_of(&long).contains("100000 characters"), "{}", report_of(&long));
    assert!(long.files.is_empty());
}

#[test]
fn t46_mode_is_two_booleans() {
    let cases = [
        ("primary", Some("disable-model-invocation: true")),
        ("subagent", Some("user-invocable: false")),
        ("all", None),
    ];
    for (mode, expected) in cases {
        let rendered = one("copilot", &format!("mode = \"{mode}\"\n"), Wish::default());
        let text = file(&rendered, "helper.agent.md");
        let found = text.lines().find(|line| line.contains("invo"));
        assert_eq!(found, expected, "{mode}");
        assert_stable("copilot", &rendered, Wish::default());
    }
}

#[test]
fn t47_t48_unsupported_fields_are_reported() {
    let lines = "max_turns = 5\ntags = [\"x\"]\nskills = [\"pdf\"]\n[permissions.question]\nintent = \"allow\"\n";
    let rendered = one("copilot", lines, Wish::default());
    let report = report_of(&rendered);
    for part in
        ["dropped max_turns", "dropped tags", "dropped skills", "dropped permissions.question"]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
}

/// VS Code and Copilot CLI ask about commands and changes. Where they never ask, the tool is left out.
#[test]
fn t50_an_ask_without_questions_removes_the_tool() {
    for (section, tool, asks) in [
        ("bash", "execute", true),
        ("edit", "edit", true),
        ("webfetch", "web", true),
        ("websearch", "web", false),
        ("delegate", "agent", false),
    ] {
        let with = |action: &str| {
            ALL.replace(
                &format!("[permissions.{section}]\nintent = \"allow\""),
                &format!("[permissions.{section}]\nintent = \"{action}\""),
            )
        };
        let has = |action: &str| {
            tools(&with(action), Wish::default()).split(' ').any(|name| name == tool)
        };
        assert!(has("allow") && !has("deny"), "{section}");
        assert_eq!(has("ask"), asks, "{section}");
        if asks {
            continue;
        }
        let asked = report_of(&one("copilot", &with("ask"), Wish::default()));
        let line = format!("narrowed permissions.{section}: ");
        let line = asked.lines().find(|it| it.starts_with(&line)).expect(&asked);
        assert!(line.contains("is ask in the source and deny here"), "{line}");
        let denied = report_of(&one("copilot", &with("deny"), Wish::default()));
        assert!(!denied.contains(&format!("narrowed permissions.{section}")), "{denied}");
    }
}

#[test]
fn t53_built_in_names_are_refused() {
    for name in target("copilot").expect("a target").built_in {
        let rendered = rendering("copilot", &agent(name, ""), Wish::default()).agents.remove(0);
        assert!(report_of(&rendered).contains("is built into GitHub Copilot"), "{name}");
    }
}

#[test]
fn the_user_scope_renders_to_the_home_directory() {
    let rendered = one("copilot", "", Wish { scope: Some(RenderScope::User), ..Wish::default() });
    assert_eq!(rendered.refused, None);
    file(&rendered, ".copilot/agents/helper.agent.md");
}

#[test]
fn imported_agents_render_to_the_same_file() {
    let reads = "[permissions.read]\nintent = \"allow\"\n[permissions.tool]\nintent = \"allow\"\n";
    for lines in ["", reads, "mode = \"subagent\"\ndisplay_name = \"X: y\"\n"] {
        let rendered = one("copilot", lines, Wish::default());
        assert_stable("copilot", &rendered, Wish::default());
    }
}

#[test]
fn import_reads_common_agent_files() {
    let path = ".github/agents/Code Review.md";
    let text = "---\r\nname: Reviewer\r\ndescription: Use this: always\r\ntools: read, Shell, github/*, unknown\r\n\
        model: [gpt-5, other]\r\nhandoffs:\r\n  - label: x\r\nmcp-servers:\r\n  github:\r\n    command: gh\r\n    args: [mcp]\r\n---\r\nReview.\r\n";
    let imported = imported("copilot", &[(path, text)], path).expect("an agent");
    let agent = &imported.agent;
    assert_eq!(agent.name(), "code-review");
    assert_eq!(agent.identity.description.as_ref().expect("text").value, "Use this: always");
    assert_eq!(agent.model.preferred.as_ref().map(Vec::len), Some(2));
    assert_eq!(agent.tools.mcp.as_ref().map(Vec::len), Some(1));
    let permissions = agent.policy.permissions.as_ref().expect("permissions");
    let report_of = |section| {
        let rules = permissions.get(section).expect("a section");
        (rules.intent.expect("an intent").value.as_str(), rules.rules.len())
    };
    assert_eq!(report_of(Section::Bash), ("ask", 0));
    assert_eq!(report_of(Section::Edit), ("deny", 0));
    assert_eq!(report_of(Section::Read), ("allow", 0));
    assert_eq!(report_of(Section::ExternalDirectory), ("ask", 0));
    assert_eq!(report_of(Section::Mcp), ("deny", 1));
    assert_eq!(report_of(Section::Tool), ("deny", 0));
    let fields: Vec<_> = imported.losses.iter().map(|loss| loss.field.as_str()).collect();
    assert_eq!(
        fields,
        ["metadata", "name", "permissions", "tools", "x-harness.copilot.as-written"]
    );
    assert!(!definition(&imported).is_empty());
}

#[test]
fn import_without_a_tool_list_asks_about_all_tools() {
    let path = ".github/agents/x.agent.md";
    let imported = imported("copilot", &[(path, "---\ndescription: x\n---\nx")], path);
    let permissions = imported.expect("an agent").agent.policy.permissions.expect("permissions");
    let intent = |section| permissions.get(section).and_then(|rules| rules.intent);
    // Some of the programs that read the file would ask.
    for section in [Section::Bash, Section::Edit, Section::Webfetch, Section::Mcp] {
        assert_eq!(intent(section).expect("an intent").value.as_str(), "ask", "{section}");
    }
}

/// VS Code, Copilot CLI and the cloud agent read the same files, and do not have the same tools.
#[test]
fn differences_between_copilot_programs_are_reported() {
    let open = "[permissions.webfetch]\nintent = \"allow\"\n[permissions.websearch]\nintent = \"allow\"\n\
                [permissions.tool]\nintent = \"allow\"\n[permissions.skill]\nintent = \"deny\"\n\
                [permissions.edit]\nintent = \"allow\"\n";
    let cloud = "narrowed permissions.webfetch: Copilot's cloud agent has no `web`";
    let list = "narrowed permissions.tool: Copilot's cloud agent has no `todo`";
    let skill = "gap permissions.skill: Copilot CLI gives every agent `skill`";
    let temporary = "gap permissions.edit: temporary files: Copilot CLI";
    for (target, expected) in [
        ("", [true, true, true, true]),
        ("vscode", [false, false, false, false]),
        ("github-copilot", [true, true, true, true]),
    ] {
        let more = match target {
            "" => String::new(),
            target => format!("[x-harness.copilot]\ntarget = \"{target}\"\n"),
        };
        let rendered = one("copilot", &format!("{open}{more}"), Wish::default());
        let text = file(&rendered, ".agent.md");
        assert!(text.contains("web, todo]"), "{text}");
        assert_eq!(text.contains("target: "), !target.is_empty(), "{text}");
        let report = report_of(&rendered);
        let found = [cloud, list, skill, temporary].map(|line| report.contains(line));
        assert_eq!(found, expected, "{target}:\n{report}");
    }
    // What the source allows is no gap.
    let allowed = open.replace("skill]\nintent = \"deny\"", "skill]\nintent = \"allow\"");
    assert!(!report_of(&one("copilot", &allowed, Wish::default())).contains(skill));
}
