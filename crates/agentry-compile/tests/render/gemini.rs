//! Gemini CLI: tools by name, rules by priority.

use std::cell::Cell;

use agentry_compile::policy::Section;
use agentry_compile::targets::ListedFiles;
use agentry_compile::targets::{LossKind, RenderLoss, RenderScope, RenderSettings, render, target};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::back::{again, assert_stable, imported};
use crate::policies::{self, cases, subject_of};
use crate::{Wish, agent, chiron, file, one, rendering, report_of};

/// The path of Gemini's rules.
const READ: Wish<'_> = Wish {
    guard: false,
    close_gaps: false,
    unattended: false,
    unshared: false,
    accepted: &[],
    force: false,
    scope: Some(RenderScope::User),
    options: &[],
    alias: None,
    existing: &[],
};
const RULES: &str = ".gemini/policies/agentry-helper.toml";

/// The rules of one tool, one a line: pattern and verdict.
fn rules(text: &str, tool: &str) -> Vec<String> {
    let tables = text.split("[[rule]]").skip(1);
    let value = |table: &str, key: &str| {
        let line = table.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
        line.map(|value| value.trim_matches(['\'', '"']).to_owned())
    };
    let of = tables.filter(|table| value(table, "toolName").as_deref() == Some(tool));
    of.map(|table| {
        let when = value(table, "commandRegex").or_else(|| value(table, "argsPattern"));
        format!("{} {}", when.unwrap_or("-".to_owned()), value(table, "decision").expect("one"))
    })
    .collect()
}

fn tools(text: &str) -> String {
    let from = text.find("tools:").expect("tools are always written") + "tools:".len();
    let list = text[from..].split("\n---").next().expect("an end");
    let words = list.split(|c: char| !(c.is_alphanumeric() || "_*".contains(c)));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[test]
fn renders_the_chiron_sample() {
    let rendered = rendering("gemini", &chiron(), READ).agents.remove(0);
    let text = file(&rendered, ".gemini/agents/chiron.md");
    let policy = file(&rendered, ".gemini/policies/agentry-chiron.toml");
    insta::assert_snapshot!(format!("{text}\n=====\n{policy}\n=====\n{}", report_of(&rendered)));
}

#[test]
fn t1_the_first_rule_has_the_highest_priority() {
    let lines = r#"
[permissions.bash]
intent = "ask"
rules = ["git push --force*:deny", "git push*:allow"]
"#;
    let rendered = one("gemini", lines, READ);
    let expected =
        [r"git push \-\-force deny", "git push allow", r"[\\s\\S]* ask_user"].map(str::to_owned);
    let found = rules(file(&rendered, RULES), "run_shell_command");
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[1], expected[1]);
    assert!(found[0].ends_with("deny") && found[2].ends_with("ask_user"), "{found:?}");
}

#[test]
fn t2_t3_unreachable_rules_are_not_written() {
    let cases = [
        (r#"["git *:allow", "git *:deny"]"#, vec!["git[ \"] allow", "ask_user"]),
        (r#"["*:deny", "git *:allow"]"#, vec![]),
        (r#"["**:allow"]"#, vec!["- allow"]),
    ];
    for (list, expected) in cases {
        let lines = format!("[permissions.bash]\nintent = \"ask\"\nrules = {list}\n");
        let rendered = one("gemini", &lines, READ);
        let found = rules(file(&rendered, RULES), "run_shell_command");
        assert_eq!(found.len(), expected.len(), "{list}: {found:?}");
        for (found, end) in found.iter().zip(expected) {
            assert!(found.ends_with(end.trim_start_matches("git")), "{list}: {found}");
        }
    }
}

#[test]
fn t15_priorities_are_unique_and_too_many_are_refused() {
    let many = |count: usize| {
        let rules: Vec<_> = (0..count).map(|at| format!("cmd{at} *:allow")).collect();
        format!("[permissions.bash]\nintent = \"ask\"\nrules = {rules:?}\n")
    };
    let rendered = one("gemini", &many(20), READ);
    let text = file(&rendered, RULES);
    let priorities: Vec<i64> =
        text.lines().filter_map(|line| line.strip_prefix("priority = ")?.parse().ok()).collect();
    assert!(priorities.windows(2).all(|pair| pair[0] > pair[1]), "{priorities:?}");
    assert!(priorities.iter().all(|it| (0..1000).contains(it)));
    assert_eq!(text.matches("subagent = \"helper\"").count(), priorities.len());
    let too_many = one("gemini", &many(1_000), READ);
    assert!(report_of(&too_many).contains("refused permissions: 1"), "{}", report_of(&too_many));
    assert!(too_many.files.is_empty());
}

#[test]
fn t15_project_rules_do_not_count_so_tools_are_removed() {
    let lines = r#"
[permissions.bash]
intent = "ask"
rules = ["git log*:allow", "git push*:deny"]
[permissions.edit]
intent = "deny"
"#;
    let rendered = one("gemini", lines, Wish::default());
    let text = file(&rendered, ".gemini/agents/helper.md");
    assert!(!tools(text).contains("run_shell_command"), "{text}");
    assert!(!tools(text).contains("replace"), "{text}");
    assert!(!text.contains("runs only under the rules"), "{text}");
    let report = report_of(&rendered);
    assert!(report.contains("only with `--policy`"), "{report}");
    assert!(report.contains("dropped name: Gemini has a person confirm"), "{report}");
    for wish in [READ, Wish { scope: Some(RenderScope::User), ..Wish::default() }] {
        let rendered = one("gemini", lines, wish);
        assert!(tools(file(&rendered, "helper.md")).contains("run_shell_command"));
    }
    let user = one("gemini", lines, Wish { scope: Some(RenderScope::User), ..Wish::default() });
    file(&user, ".gemini/policies/agentry-helper.toml");
}

#[test]
fn t17_rules_name_their_agent() {
    let mut files = agent("a", "[permissions.edit]\nintent = \"deny\"\n");
    files.extend(agent("b", "[permissions.edit]\nintent = \"allow\"\n"));
    let rendering = rendering("gemini", &files, READ);
    assert!(rendering.shared.is_empty());
    assert!(rules(file(&rendering.agents[0], "a.toml"), "replace").is_empty());
    assert_eq!(rules(file(&rendering.agents[1], "b.toml"), "replace"), ["- allow"]);
    assert!(!file(&rendering.agents[1], "b.toml").contains("subagent = \"a\""));
}

#[test]
fn t22_an_absent_section_is_written_out() {
    let rendered = one("gemini", "", READ);
    let text = file(&rendered, RULES);
    for (tool, expected) in [
        ("replace", "- ask_user"),
        ("write_file", "- ask_user"),
        ("read_file", "- allow"),
        ("web_fetch", "- ask_user"),
        ("google_web_search", "- ask_user"),
        ("ask_user", "- allow"),
        ("activate_skill", "- ask_user"),
    ] {
        assert_eq!(rules(text, tool), [expected], "{tool}");
    }
    assert!(rules(text, "run_shell_command")[0].ends_with("* ask_user"));
}

#[test]
fn t23_t28_t30_path_rules_narrow_to_whole_tools() {
    let cases = [
        ("edit", "deny", "src/*:allow", "deny"),
        ("edit", "allow", "/run/agenix/**:deny", "allow"),
        ("edit", "allow", "secrets/**:deny", "deny"),
        ("edit", "allow", "secrets/**:ask", "ask_user"),
        ("read", "allow", "**/.env*:deny", "deny"),
    ];
    for (section, intent, rule, expected) in cases {
        let lines =
            format!("[permissions.{section}]\nintent = \"{intent}\"\nrules = [\"{rule}\"]\n");
        let rendered = one("gemini", &lines, READ);
        let tool = if section == "edit" { "replace" } else { "glob" };
        let found = rules(file(&rendered, RULES), tool);
        let found = found.first().map_or("- deny", |rule| rule.as_str());
        assert_eq!(found, format!("- {expected}"), "{rule}");
    }
}

#[test]
fn t24_t25_wildcards_never_match_more() {
    let lines = r#"
[permissions.bash]
intent = "deny"
rules = ["git * main:allow", "ls *:allow", "make:allow"]
"#;
    let rendered = one("gemini", lines, READ);
    let found = rules(file(&rendered, RULES), "run_shell_command");
    // One word would match any number of words, so the rule cannot be an allow.
    assert!(!found.iter().any(|rule| rule.starts_with("git ") && rule.ends_with("allow")));
    assert!(found.iter().any(|rule| rule.starts_with("ls[ ") && rule.ends_with("allow")));
    assert!(found.iter().any(|rule| rule.starts_with("make") && rule.ends_with("allow")));
}

#[test]
fn t26_t32_t34_t35_expressions_are_escaped_and_anchored() {
    let lines = r#"
[permissions.bash]
intent = "ask"
rules = [
    "npm run test:unit:allow", "a.b+c [x] {y}:allow", "a^b:allow", "^c d$:allow", "RM *:deny",
    "x^y$:deny", "p^q:ask",
]
"#;
    let rendered = one("gemini", lines, READ);
    // Gemini puts `"command":"` before an expression, where the command starts. The quote after an exact one
    // is its end. `$` may start a variable: a denial matches more, an allow nothing.
    let text = file(&rendered, RULES);
    let expressions = text.lines().filter_map(|line| line.strip_prefix("commandRegex = "));
    let expected = [
        r#"'npm run test\:unit"'"#,
        r#"'a\.b\+c \[x\] \{y\}"'"#,
        r#"'a\^b"'"#,
        r#"'RM[ "]'"#,
        r"'x\^y'",
        r#"'p\^q"'"#,
        r"'[\s\S]*'",
    ];
    assert_eq!(expressions.collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn t33_address_rules_are_narrowed() {
    let lines = "[permissions.webfetch]\nintent = \"ask\"\nrules = [\"https://docs.example.org/*:allow\"]\n";
    let rendered = one("gemini", lines, READ);
    assert_eq!(rules(file(&rendered, RULES), "web_fetch"), ["- ask_user"]);
    assert!(report_of(&rendered).contains("narrowed permissions.webfetch"));
}

#[test]
fn t36_gaps_are_reported_and_closed() {
    let lines =
        "[permissions.bash]\nintent = \"ask\"\nrules = [\"git log*:allow\", \"cat *:allow\"]\n";
    let gaps = report_of(&one("gemini", lines, READ));
    assert!(gaps.contains("gap permissions.bash: dangerous options"), "{gaps}");
    let closed = one("gemini", lines, Wish { close_gaps: true, force: false, ..READ });
    assert!(!report_of(&closed).contains("gap permissions.bash"), "{}", report_of(&closed));
}

#[test]
fn t39_t41_t43_only_known_fields_are_written() {
    let lines = "max_turns = 5\ntags = [\"x\"]\n[permissions.read]\nintent = \"deny\"\n";
    let text = file(&one("gemini", lines, Wish::default()), "helper.md").to_owned();
    let keys: Vec<_> = text.lines().skip(2).take_while(|line| *line != "---").collect();
    assert_eq!(
        keys,
        [
            "kind: local",
            "name: helper",
            "description: Answers questions",
            "max_turns: 5",
            "tools:",
            "  - replace",
            "  - write_file",
            "  - run_shell_command",
            "  - web_fetch",
            "  - ask_user",
            "  - activate_skill",
        ],
    );
    let nothing = "[permissions.bash]\nintent = \"deny\"\n\
        [permissions.edit]\nintent = \"deny\"\n[permissions.read]\nintent = \"deny\"\n\
        [permissions.webfetch]\nintent = \"deny\"\n[permissions.skill]\nintent = \"deny\"\n\
        [permissions.question]\nintent = \"deny\"\n";
    let text = file(&one("gemini", nothing, Wish::default()), "helper.md").to_owned();
    assert!(text.contains("\ntools: []\n"), "{text}");
}

#[test]
fn t42_t44_texts_are_quoted_for_yaml() {
    for text in ["a: b", "say \"hi\"", "# x", "*x", "@x", "- x", "yes", "null", "--- x"] {
        let lines = format!("display_name = {text:?}\n");
        let rendered = one("gemini", &lines, READ);
        let again = again("gemini", &rendered, READ);
        assert_eq!(again.files, rendered.files, "{text}");
    }
    let mut files = agent("helper", "");
    files[1].1 = "---\r\nfirst\r\n---\r\nsecond {{ x }}\n".to_owned();
    let rendered = rendering("gemini", &files, READ).agents.remove(0);
    assert_stable("gemini", &rendered, READ);
}

#[test]
fn t47_t48_t49_t50_sections_map_to_their_tools() {
    let lines = "skills = [\"pdf\"]\n[permissions.question]\nintent = \"allow\"\n[permissions.edit]\nintent = \"allow\"\n\
        [permissions.skill]\nintent = \"deny\"\nrules = [\"pdf:allow\", \"git-*:ask\"]\n";
    let rendered = one("gemini", lines, READ);
    let text = file(&rendered, RULES);
    assert_eq!(rules(text, "ask_user"), ["- allow"]);
    assert_eq!(
        (rules(text, "replace"), rules(text, "write_file")),
        (vec!["- allow".to_owned()], vec!["- allow".to_owned()])
    );
    let skills = rules(text, "activate_skill");
    assert!(skills[0].contains("pdf") && skills[0].ends_with("allow"), "{skills:?}");
    assert!(skills[1].ends_with("ask_user") && skills[2] == "- deny", "{skills:?}");
    assert!(report_of(&rendered).contains("dropped skills: the skill `pdf` was not found"));
}

#[test]
fn t53_built_in_names_are_refused() {
    for name in target("gemini").expect("a target").built_in {
        let rendered = rendering("gemini", &agent("x", ""), Wish { alias: Some(name), ..READ })
            .agents
            .remove(0);
        assert!(report_of(&rendered).contains("is built into Gemini CLI"), "{name}");
    }
}

/// Single MCP tools are listed by name if Gemini surely asks about them.
#[test]
fn single_server_tools_are_listed_if_gemini_asks() {
    let lines = "[permissions.mcp]\nintent = \"deny\"\nrules = [\"github/del:deny\", \"github/get_issue:ask\", \"docs/*:allow\", \"a_b/c:allow\"]\n";
    let given = |existing: &[(&str, &str)]| {
        let rendered = one("gemini", lines, Wish { existing, ..Wish::default() });
        assert_eq!(rendered.refused, None, "{existing:?}");
        let all = tools(file(&rendered, "helper.md"));
        let names = all.split(' ').filter(|name| name.starts_with("mcp_"));
        (names.collect::<Vec<_>>().join(" "), report_of(&rendered))
    };
    let (both, allowed) = ("mcp_github_get_issue mcp_docs_*", "mcp_docs_*");
    let cases = [
        ("{}", both),
        (r#"{"mcpServers": {"github": {"command": "g", "trust": false}}}"#, both),
        (r#"{"mcpServers": {"docs": {"trust": true}}}"#, both),
        (r#"{"mcpServers": {"github": {"trust": true}}}"#, allowed),
        (r#"{"mcp": {"allowed": ["github"]}}"#, allowed),
        (r#"{"mcp": {"allowed": ["*"]}}"#, allowed),
        (r#"{"allowMCPServers": "github"}"#, allowed),
        (r#"{"mcp": {"autoAllowInHeadless": true}}"#, allowed),
        (r#"{"tools": {"allowed": ["read_file", "run_shell_command(git)"]}}"#, both),
        (r#"{"tools": {"allowed": ["mcp_github_get_issue"]}}"#, allowed),
        (r#"{"allowedTools": ["github__get_issue"]}"#, allowed),
        (r#"{"policyPaths": ["x.toml"]}"#, allowed),
        // Gemini finds tools by their full names.
        (r#"{"mcpServers": {"github_get": {"command": "g"}}}"#, allowed),
        ("{", allowed),
    ];
    for (settings, expected) in cases {
        assert_eq!(given(&[(".gemini/settings.json", settings)]).0, expected, "{settings}");
        // The user's trust settings do not change the rendered files.
        let (names, report) = given(&[("~/.gemini/settings.json", settings)]);
        assert_eq!(names, both, "{settings}");
        assert_eq!(report.contains("gap permissions.mcp: your own"), expected != both, "{report}");
    }
}

#[test]
fn server_rules_are_written_by_server_name() {
    let lines = "[permissions.mcp]\nintent = \"deny\"\nrules = [\"github/create_issue:ask\", \"github/*:allow\"]\n";
    let rendered = one("gemini", lines, READ);
    let text = file(&rendered, RULES);
    assert_eq!(rules(text, "create_issue"), ["- ask_user"]);
    assert_eq!(rules(text, "*"), ["- allow", "- deny"], "{text}");
    assert!(tools(file(&rendered, "helper.md")).ends_with("mcp_*"));
}

#[test]
fn imported_agents_render_to_the_same_file() {
    let cases = [
        "",
        "[permissions.bash]\nintent = \"ask\"\nrules = [\"git push --force*:deny\", \"git *:allow\", \"make:ask\"]\n",
        "max_turns = 7\ndisplay_name = \"X\"\n[permissions.mcp]\nintent = \"ask\"\nrules = [\"a/b:deny\", \"a/*:allow\"]\n",
        "[permissions.skill]\nintent = \"deny\"\nrules = [\"pdf:allow\"]\n[permissions.tool]\nintent = \"allow\"\n",
    ];
    for lines in cases {
        let rendered = one("gemini", lines, READ);
        assert_stable("gemini", &rendered, READ);
        let plain = one("gemini", lines, Wish::default());
        let again = again("gemini", &plain, Wish::default());
        assert_eq!(again.files[0], plain.files[0], "{lines}");
    }
}

#[test]
fn import_reads_common_agent_files() {
    let path = ".gemini/agents/x.md";
    let text = "---\r\nname: reviewer\r\ndescription: Use this: always\r\ntools:\r\n  - read_file\r\n  - run_shell_command\r\ntimeout_mins: 5\r\ncolor: red\r\n---\r\nReview.\r\n";
    let imported = imported("gemini", &[(path, text)], path).expect("an agent");
    assert_eq!(imported.agent.name(), "reviewer");
    let permissions = imported.agent.policy.permissions.as_ref().expect("permissions");
    let intent = |section| {
        permissions.get(section).and_then(|rules| rules.intent).map(|it| it.value.as_str())
    };
    assert_eq!(intent(Section::Bash), Some("ask"));
    assert_eq!(intent(Section::Edit), Some("deny"));
    let fields: Vec<_> = imported.losses.iter().map(|loss| loss.field.as_str()).collect();
    assert_eq!(fields, ["color", "metadata", "metadata"]);
    let remote = "---\nkind: remote\nname: x\nagent_card_url: https://x/\n---\n";
    assert!(crate::back::imported("gemini", &[(path, remote)], path).is_err());
}

/// The property of every target, for rules that Gemini reads.
#[test]
fn rules_never_permit_more_than_the_source() {
    let (narrowed, all) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: cases(60), failure_persistence: None, ..Config::default() };
    let property = |(files, close_gaps): (Vec<(String, String)>, bool)| {
        let Some(subject) = subject_of(&files) else { return Ok(()) };
        let nothing = ListedFiles::default();
        let settings = RenderSettings {
            scope: RenderScope::User,
            close_gaps,
            shared: true,
            ..RenderSettings::new(&nothing)
        };
        let target = target("gemini").expect("a target");
        let rendered = render(target, &[subject], &settings).agents.remove(0);
        all.set(all.get() + 1);
        let field = |loss: &RenderLoss| loss.field == "permissions.bash";
        let strict = |loss: &RenderLoss| field(loss) && loss.kind == LossKind::Narrowed;
        narrowed.set(narrowed.get() + u32::from(rendered.losses.iter().any(strict)));
        prop_assert!(rendered.refused.is_none(), "{:?}", rendered.refused);
        let gap = |loss: &RenderLoss| field(loss) && loss.kind == LossKind::Gap;
        prop_assert!(!close_gaps || !rendered.losses.iter().any(gap), "{:?}", rendered.losses);
        Ok(())
    };
    let result = TestRunner::new(config).run(&(policies::agent(), any::<bool>()), property);
    println!("gemini: rules about commands narrowed for {} of {}", narrowed.get(), all.get());
    result.expect("never wider");
}
