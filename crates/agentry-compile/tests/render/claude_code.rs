//! Claude Code: rules apply to all agents at once, and the strictest one wins.

use agentry_compile::targets::{LossKind, ProjectRendering, RenderScope, RenderedAgent};

use crate::{Wish, agent, chiron, file, rendering, report_of, section};

const HARNESS: &str = "claude-code";

/// One agent with these lines, rendered, and the settings around it.
pub(crate) fn one(lines: &str, wish: Wish<'_>) -> (RenderedAgent, String) {
    let mut rendering = several(&[("helper", lines)], wish);
    let settings = settings(&rendering);
    (rendering.agents.remove(0), settings)
}

pub(crate) fn several(agents: &[(&str, &str)], wish: Wish<'_>) -> ProjectRendering {
    let files: Vec<_> = agents.iter().flat_map(|(name, lines)| agent(name, lines)).collect();
    rendering(HARNESS, &files, wish)
}

pub(crate) fn settings(rendering: &ProjectRendering) -> String {
    let found = rendering.shared.iter().find(|file| file.path == ".claude/settings.json");
    found.map(|file| file.text().to_owned()).unwrap_or_default()
}

/// The rules in the settings for a tool: `allow Bash`.
fn rules(settings: &str, tool: &str) -> Vec<String> {
    if settings.is_empty() {
        return Vec::new();
    }
    let value: serde_json::Value = serde_json::from_str(settings).expect("settings");
    let list = |name: &str| value["permissions"][name].as_array().cloned().unwrap_or_default();
    let about = |text: &String| text.split('(').next() == Some(tool);
    ["allow", "ask", "deny"]
        .iter()
        .flat_map(|name| {
            let texts = list(name).into_iter().filter_map(|it| it.as_str().map(str::to_owned));
            texts.filter(about).map(|text| format!("{name} {text}")).collect::<Vec<_>>()
        })
        .collect()
}

/// The value of a metadata field.
fn field<'a>(rendered: &'a RenderedAgent, key: &str) -> &'a str {
    let text = file(rendered, ".md");
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    line.unwrap_or_default()
}

fn has(rendered: &RenderedAgent, tool: &str) -> bool {
    field(rendered, "tools").split(", ").any(|it| it == tool)
}

pub(crate) fn lost(rendered: &RenderedAgent, kind: LossKind, field: &str) -> bool {
    rendered.losses.iter().any(|loss| loss.kind == kind && loss.field == field)
}

#[test]
fn renders_the_chiron_sample() {
    let rendering = rendering(HARNESS, &chiron(), Wish::default());
    let rendered = rendering.agents.first().expect("an agent");
    let text = file(rendered, "chiron.md");
    insta::assert_snapshot!(format!("{text}\n{}\n{}", settings(&rendering), report_of(rendered)));
}

#[test]
fn renders_the_chiron_sample_with_the_guard() {
    let rendering = rendering(HARNESS, &chiron(), Wish { guard: true, ..Wish::default() });
    let rendered = rendering.agents.first().expect("an agent");
    let text = file(rendered, "chiron.md");
    let digest = text.split("--digest ").nth(1).and_then(|rest| rest.split(' ').next());
    let text = text.replace(digest.expect("a digest"), "DIGEST");
    insta::assert_snapshot!(format!("{text}\n{}\n{}", settings(&rendering), report_of(rendered)));
}

#[test]
fn t9_an_allow_below_a_denial_removes_the_tool() {
    let (rendered, settings) =
        one(&section("bash", "deny", &["git status*:allow"]), Wish::default());
    assert_eq!(rules(&settings, "Bash"), [""; 0]);
    assert_eq!(field(&rendered, "disallowedTools"), "Bash, Skill, Agent");
    assert!(!has(&rendered, "Bash"));
    assert!(report_of(&rendered).contains("--guard"), "{}", report_of(&rendered));
}

#[test]
fn t10_severity_beats_specificity() {
    let cases = [
        (
            ["git push origin dev*:allow", "git push*:ask"],
            vec!["allow Bash", "ask Bash(git push*)"],
        ),
        (
            ["rm -rf ./scratch*:ask", "rm -rf *:deny"],
            vec!["allow Bash", "ask Bash(rm -rf ./scratch*)", "deny Bash(rm -rf *)"],
        ),
    ];
    for (written, expected) in cases {
        let (rendered, settings) = one(&section("bash", "allow", &written), Wish::default());
        assert_eq!(rules(&settings, "Bash"), expected);
        assert!(
            lost(&rendered, LossKind::Narrowed, "permissions.bash"),
            "{}",
            report_of(&rendered)
        );
    }
}

#[test]
fn t11_an_ask_below_an_allow_is_exact() {
    let (rendered, settings) = one(&section("bash", "allow", &["rm -rf *:ask"]), Wish::default());
    assert_eq!(rules(&settings, "Bash"), ["allow Bash", "ask Bash(rm -rf *)"]);
    assert!(has(&rendered, "Bash"));
    assert!(!lost(&rendered, LossKind::Narrowed, "permissions.bash"), "{}", report_of(&rendered));
}

#[test]
fn t12_simple_bash_policies_are_exact_without_the_guard() {
    // Claude Code asks by itself, so that an ask needs no rule.
    let cases: &[(&str, &[&str], bool, &[&str])] = &[
        ("ask", &[], true, &[]),
        ("ask", &["rm *:deny"], true, &["deny Bash(rm *)"]),
        ("deny", &["git log*:ask"], false, &[]),
        ("allow", &[], true, &["allow Bash"]),
        ("allow", &["rm *:deny"], true, &["allow Bash", "deny Bash(rm *)"]),
        ("deny", &["**:allow"], true, &["allow Bash"]),
    ];
    let (rendered, settings) = one(&section("bash", "ask", &["git log*:allow"]), Wish::default());
    assert!(has(&rendered, "Bash") && rules(&settings, "Bash").is_empty(), "{settings}");
    assert!(report_of(&rendered).contains("`git log` is allow in the source and ask here"));
    for (intent, written, kept, expected) in cases {
        let (rendered, settings) = one(&section("bash", intent, written), Wish::default());
        assert_eq!(has(&rendered, "Bash"), *kept, "{intent} {written:?}");
        assert_eq!(rules(&settings, "Bash"), *expected, "{intent} {written:?}");
        assert_eq!(
            lost(&rendered, LossKind::Narrowed, "permissions.bash"),
            !kept,
            "{intent} {written:?}"
        );
    }
}

#[test]
fn t17_an_allow_of_one_agent_is_not_given_to_another() {
    let agents =
        [("reader", section("edit", "deny", &[])), ("writer", section("edit", "allow", &[]))];
    let agents: Vec<_> = agents.iter().map(|(name, lines)| (*name, lines.as_str())).collect();
    let rendering = several(&agents, Wish::default());
    let [reader, writer] = &rendering.agents[..] else { panic!("two agents") };
    assert_eq!(field(reader, "disallowedTools"), "Edit, Write, NotebookEdit, Skill, Agent");
    assert!(has(writer, "Edit") && has(writer, "Write") && !has(reader, "Edit"));
    assert_eq!(rules(&settings(&rendering), "Edit"), [""; 0]);
    assert!(reader.refused.is_none() && writer.refused.is_none());
}

#[test]
fn t17_a_denial_of_one_agent_narrows_all_and_is_reported() {
    let (careful, free) = (section("bash", "allow", &["rm *:deny"]), section("bash", "allow", &[]));
    let rendering = several(&[("careful", &careful), ("free", &free)], Wish::default());
    let [careful, free] = &rendering.agents[..] else { panic!("two agents") };
    // The files of one agent never depend on another agent, so each keeps its tool.
    assert!(has(careful, "Bash") && has(free, "Bash"));
    assert_eq!(rules(&settings(&rendering), "Bash"), ["allow Bash", "deny Bash(rm *)"]);
    assert!(!lost(careful, LossKind::Narrowed, "permissions.bash"), "{}", report_of(careful));
    assert!(lost(free, LossKind::Narrowed, "permissions.bash"), "{}", report_of(free));
}

#[test]
fn t17_rules_that_all_agents_share_are_written_once() {
    let lines = section("bash", "allow", &["rm *:deny", "git push*:ask"]);
    let rendering = several(&[("one", &lines), ("two", &lines)], Wish::default());
    let expected = ["allow Bash", "ask Bash(git push*)", "deny Bash(rm *)"];
    assert_eq!(rules(&settings(&rendering), "Bash"), expected);
    assert!(rendering.agents.iter().all(|agent| has(agent, "Bash")));
}

#[test]
fn t17_an_ask_of_one_agent_removes_the_shared_allow() {
    let (asks, free) = (section("bash", "ask", &[]), section("bash", "allow", &[]));
    let rendering = several(&[("asks", &asks), ("free", &free)], Wish::default());
    let [asks, free] = &rendering.agents[..] else { panic!("two agents") };
    assert_eq!(rules(&settings(&rendering), "Bash"), [""; 0]);
    assert!(has(asks, "Bash") && has(free, "Bash"));
    assert!(!lost(asks, LossKind::Narrowed, "permissions.bash"), "{}", report_of(asks));
    assert!(report_of(free).contains("Claude Code asks about `Bash`"), "{}", report_of(free));
}

#[test]
fn t18_t49_a_denied_section_removes_all_its_tools() {
    let cases = [
        ("edit", "Edit, Write, NotebookEdit"),
        ("bash", "Bash"),
        ("webfetch", "WebFetch"),
        ("websearch", "WebSearch"),
    ];
    for (name, expected) in cases {
        let (rendered, settings) = one(&section(name, "deny", &[]), Wish::default());
        assert_eq!(field(&rendered, "disallowedTools"), format!("{expected}, Skill, Agent"));
        assert!(!settings.contains("deny"), "{settings}");
        let narrowed = format!("permissions.{name}");
        assert!(!lost(&rendered, LossKind::Narrowed, &narrowed), "{}", report_of(&rendered));
    }
}

#[test]
fn t17_no_allow_is_written_beside_unrendered_agents() {
    const OTHER: &str = "---\nname: other\ndescription: Mine\ntools: Bash\n---\nYou help.\n";
    const MINE: &str = r#"{"permissions": {"allow": ["Bash"]}}"#;
    let beside = |files: &'static [(&'static str, &'static str)]| {
        let lines = section("bash", "allow", &["rm *:deny"]);
        one(&lines, Wish { existing: files, ..Wish::default() })
    };
    let asks = "narrowed permissions: Claude Code asks about `Bash`: an allow in the settings would \
                hold for every session";
    let (rendered, settings) = beside(&[(".claude/agents/other.md", OTHER)]);
    assert_eq!(rules(&settings, "Bash"), ["deny Bash(rm *)"]);
    assert!(
        has(&rendered, "Bash") && report_of(&rendered).contains(asks),
        "{}",
        report_of(&rendered)
    );
    // What the user allows for all agents is not asked.
    let files = &[(".claude/agents/other.md", OTHER), (".claude/settings.json", MINE)];
    let (rendered, _) = beside(files);
    assert!(!report_of(&rendered).contains("asks about `Bash`"), "{}", report_of(&rendered));
    // Without another agent `Bash` is allowed for every session, which is reported as a gap.
    let (rendered, settings) = beside(&[]);
    assert_eq!(rules(&settings, "Bash"), ["allow Bash", "deny Bash(rm *)"]);
    let open = "gap permissions: allowed in every session of the project, yours included: `Bash`";
    assert!(report_of(&rendered).contains(open), "{}", report_of(&rendered));
    // With the guard there is nothing to ask or allow.
    let lines = section("bash", "allow", &["rm *:deny"]);
    let (rendered, settings) = one(&lines, Wish { guard: true, ..Wish::default() });
    assert!(
        !report_of(&rendered).contains("asks about") && !settings.contains("allow"),
        "{settings}"
    );
}

#[test]
fn t19_an_allow_needs_workspace_trust_is_reported() {
    let lines = section("bash", "allow", &[]);
    let (rendered, _) = one(&lines, Wish::default());
    assert!(
        report_of(&rendered).contains("until its workspace is trusted"),
        "{}",
        report_of(&rendered)
    );
    let (rendered, _) = one(&lines, Wish { scope: Some(RenderScope::User), ..Wish::default() });
    assert!(!report_of(&rendered).contains("trusted"), "{}", report_of(&rendered));
}

#[test]
fn t22_an_absent_section_is_asked_about() {
    let (rendered, settings) = one("", Wish::default());
    for expected in ["Edit(/**)", "Bash", "WebFetch", "WebSearch"] {
        let tool = expected.split('(').next().unwrap_or_default();
        assert_eq!(rules(&settings, tool), [""; 0], "Claude Code asks by itself");
        assert!(has(&rendered, tool));
    }
    assert!(has(&rendered, "Read") && !has(&rendered, "TodoWrite"));
    // A question about these would also apply to the user's own sessions.
    for tool in ["Skill", "Agent"] {
        assert_eq!(rules(&settings, tool), [""; 0]);
        assert!(!has(&rendered, tool));
    }
}

#[test]
fn t24_t25_wildcards_matching_more_words_never_widen() {
    // One word in the source, any text there: a denial matches more, an allow is not written.
    let (rendered, settings) =
        one(&section("bash", "allow", &["git * main:deny"]), Wish::default());
    assert_eq!(rules(&settings, "Bash"), ["allow Bash", "deny Bash(git * main)"]);
    assert!(lost(&rendered, LossKind::Narrowed, "permissions.bash"), "{}", report_of(&rendered));
    let (rendered, settings) = one(&section("bash", "allow", &["ls *:ask"]), Wish::default());
    assert_eq!(rules(&settings, "Bash"), ["allow Bash", "ask Bash(ls *)"]);
    assert!(!lost(&rendered, LossKind::Narrowed, "permissions.bash"), "{}", report_of(&rendered));
}

#[test]
fn t26_t32_special_characters_in_patterns_are_widened_to_deny() {
    let cases: &[(&str, &[&str])] = &[
        ("echo (x)*", &["allow Bash", "deny Bash(echo*)"]),
        ("foo:*", &["allow Bash", "deny Bash(foo*)"]),
        ("npm run test:unit", &["allow Bash", "deny Bash(npm run test:unit)"]),
        ("command:x", &["allow Bash", "deny Bash(command*)"]),
        ("a?b [c] {d,e}", &["allow Bash", "deny Bash(a?b [c] {d,e})"]),
        ("\\\"x\\\" y", &[]),
    ];
    for (pattern, expected) in cases {
        let lines =
            format!("[permissions.bash]\nintent = \"allow\"\nrules = [\"{pattern}:deny\"]\n");
        let (rendered, settings) = one(&lines, Wish::default());
        assert_eq!(rendered.refused, None, "{pattern}");
        assert_eq!(rules(&settings, "Bash"), *expected, "{pattern}");
    }
    let (_, settings) = one(&section("edit", "allow", &["a?[b](c)/x:deny"]), Wish::default());
    assert_eq!(rules(&settings, "Edit"), ["allow Edit(/**)", "deny Edit(/a??b??c?/x)"]);
}

#[test]
fn t28_t29_t30_paths_are_anchored_by_the_scope() {
    let rules_of = ["/run/agenix/**:deny", "secrets/**:deny", "~/x/**:deny"];
    let lines = section("edit", "allow", &rules_of);
    let (_, settings) = one(&lines, Wish::default());
    let expected = [
        "allow Edit(/**)",
        "deny Edit(//run/agenix/**)",
        "deny Edit(/secrets/**)",
        "deny Edit(~/x/**)",
    ];
    assert_eq!(rules(&settings, "Edit"), expected);
    let (rendered, settings) =
        one(&lines, Wish { scope: Some(RenderScope::User), ..Wish::default() });
    assert_eq!(rendered.refused, None);
    assert_eq!(rules(&settings, "Edit")[1], "deny Edit(secrets/**)", "no allow for every project");
}

#[test]
fn t33_an_address_rule_with_a_path_is_narrowed() {
    let (rendered, settings) =
        one(&section("webfetch", "ask", &["https://docs.example.org/*:allow"]), Wish::default());
    assert_eq!(rules(&settings, "WebFetch"), [""; 0]);
    assert_eq!(field(&rendered, "disallowedTools"), "Skill, Agent");
    assert!(
        lost(&rendered, LossKind::Narrowed, "permissions.webfetch"),
        "{}",
        report_of(&rendered)
    );
    let (_, settings) =
        one(&section("webfetch", "allow", &["evil.example.org:deny"]), Wish::default());
    assert_eq!(
        rules(&settings, "WebFetch"),
        ["allow WebFetch", "deny WebFetch(domain:evil.example.org)"]
    );
}

#[test]
fn t36_unparsed_nested_commands_are_a_gap() {
    let (rendered, _) = one(&section("bash", "allow", &["rm *:deny"]), Wish::default());
    assert!(
        report_of(&rendered).contains("`sh -c 'rm'` is deny in the source"),
        "{}",
        report_of(&rendered)
    );
    let wish = Wish { close_gaps: true, ..Wish::default() };
    let lines = section("bash", "allow", &["rm *:deny"]) + &section("webfetch", "allow", &[]);
    let (rendered, settings) = one(&lines, wish);
    for name in ["bash", "read", "webfetch"] {
        let field = format!("permissions.{name}");
        assert!(!lost(&rendered, LossKind::Gap, &field), "{}", report_of(&rendered));
    }
    assert!(rules(&settings, "Read").contains(&"ask Read(//**/.env)".to_owned()), "{settings}");
    assert!(has(&rendered, "Read") && !has(&rendered, "Grep") && !has(&rendered, "WebFetch"));
}

#[test]
fn t37_no_path_rules_are_written_for_the_write_tool() {
    let (_, settings) = one(&section("edit", "allow", &["secrets/**:deny"]), Wish::default());
    assert!(!settings.contains("Write("), "{settings}");
}

#[test]
fn t38_t39_only_known_front_matter_fields_are_written() {
    let (rendered, _) = one("", Wish::default());
    let text = file(&rendered, ".claude/agents/helper.md");
    let known = [
        "# rendered by agentry",
        "name: helper",
        "description: ",
        "tools: ",
        "disallowedTools: ",
        "---",
    ];
    let head = text.split("\n\n").next().unwrap_or_default();
    assert!(head.lines().all(|line| known.iter().any(|it| line.starts_with(it))), "{head}");
}

#[test]
fn t42_t44_descriptions_and_prompts_are_quoted() {
    let texts = [
        "a --- b",
        "---",
        "x: y # z",
        "'single' and \\\"double\\\"",
        "* star",
        "yes",
        "null",
        "@x -y",
        "ends with a backslash \\\\",
    ];
    for text in texts {
        let toml = format!(
            "name = \"helper\"\ndescription = \"{text}\"\n[permissions.bash]\nintent = \"deny\"\n"
        );
        let files = [
            ("agents/helper/agent.toml".to_owned(), toml),
            ("agents/helper/system-prompt.md".to_owned(), "---\nx: y\n---\nprompt\n".to_owned()),
        ];
        let rendering = rendering(HARNESS, &files, Wish::default());
        let rendered = rendering.agents.first().expect("an agent");
        assert_eq!(rendered.refused, None, "{text}");
        let written = file(rendered, "helper.md");
        // Claude Code ends the metadata at the first `---`, wherever it is.
        let head = written
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("---"))
            .expect("metadata")
            .0;
        assert!(head.contains("disallowedTools: Bash, Skill, Agent\n"), "{written}");
        assert!(written.ends_with("---\n\n---\nx: y\n---\nprompt\n"), "{written}");
    }
}

#[test]
fn t43_an_agent_without_tools_gets_an_empty_list() {
    let sections = [
        "bash",
        "edit",
        "read",
        "webfetch",
        "websearch",
        "question",
        "mcp",
        "tool",
        "skill",
        "delegate",
    ];
    let lines: String = sections.iter().map(|name| section(name, "deny", &[])).collect();
    let (rendered, settings) = one(&lines, Wish::default());
    assert_eq!(field(&rendered, "tools"), "[]");
    assert_eq!(settings, "");
    let lines: String = sections.iter().map(|name| section(name, "allow", &[])).collect();
    let (rendered, _) = one(&lines, Wish::default());
    assert_eq!(field(&rendered, "tools"), "", "all that the session has");
}

#[test]
fn t45_a_long_prompt_stays_whole() {
    let prompt = "word ".repeat(20_000);
    let mut files = agent("helper", "");
    files[1].1.clone_from(&prompt);
    let rendering = rendering(HARNESS, &files, Wish::default());
    let text = file(rendering.agents.first().expect("an agent"), "helper.md");
    assert!(text.ends_with(&format!("{}\n", prompt.trim_end())));
}

#[test]
fn t46_t48_unsupported_fields_are_reported() {
    let lines = "mode = \"subagent\"\ntags = [\"x\"]\ndisplay_name = \"X\"\nmax_turns = 3\n[permissions.question]\nintent = \"allow\"\n";
    let (rendered, _) = one(lines, Wish::default());
    for field in ["mode", "tags", "display_name", "permissions.question"] {
        assert!(lost(&rendered, LossKind::Dropped, field), "{field}: {}", report_of(&rendered));
    }
    assert!(lost(&rendered, LossKind::Gap, "max_turns"));
    assert_eq!(field(&rendered, "maxTurns"), "3");
}

#[test]
fn t47_skills_are_copied_and_missing_ones_reported() {
    let mut files = agent("helper", "skills = [\"pdf\", \"none\"]\n");
    let skill = "---\nname: pdf\ndescription: Reads files\n---\nRead.\n".to_owned();
    files.push(("skills/pdf/SKILL.md".to_owned(), skill.clone()));
    let rendering = rendering(HARNESS, &files, Wish::default());
    let rendered = rendering.agents.first().expect("an agent");
    assert_eq!(file(rendered, ".claude/skills/pdf/SKILL.md"), skill);
    assert!(file(rendered, "helper.md").contains("skills: [pdf]\n"));
    assert!(
        report_of(rendered).contains("the skill `none` was not found"),
        "{}",
        report_of(rendered)
    );
}

#[test]
fn t53_built_in_names_are_refused() {
    for name in ["explore", "plan", "general-purpose", "claude"] {
        let rendering = several(&[(name, "")], Wish::default());
        let refused = rendering.agents.first().and_then(|agent| agent.refused.as_ref());
        assert!(refused.is_some_and(|it| it.message.contains("built into")), "{name}");
        assert!(rendering.agents.iter().all(|agent| agent.files.is_empty()));
    }
}

#[test]
fn each_read_tool_that_the_guard_removes_is_reported() {
    let guard = || Wish { guard: true, ..Wish::default() };
    let narrowed = |rendered: &RenderedAgent| -> Vec<String> {
        let of_read = rendered.losses.iter().filter(|loss| loss.field == "permissions.read");
        let narrowed = of_read.filter(|loss| loss.kind == LossKind::Narrowed);
        narrowed.filter_map(|loss| loss.detail.split('`').nth(1).map(str::to_owned)).collect()
    };
    let some = section("read", "allow", &["*.pem:ask"]);
    let (rendered, _) = one(&some, guard());
    assert_eq!(field(&rendered, "disallowedTools"), "Glob, Grep");
    assert_eq!(narrowed(&rendered), ["Glob", "Grep"], "{}", report_of(&rendered));
    assert!(
        report_of(&rendered).contains("it searches many files at once"),
        "{}",
        report_of(&rendered)
    );
    // Without the guard, a search that does not ask about single files is a gap.
    let (rendered, _) = one(&some, Wish::default());
    assert_eq!(narrowed(&rendered), [""; 0], "{}", report_of(&rendered));
    assert!(
        report_of(&rendered).contains("Claude Code never asks about it"),
        "{}",
        report_of(&rendered)
    );
    // A denial of the source is not lost.
    let (rendered, _) = one(&section("read", "deny", &[]), guard());
    assert_eq!(narrowed(&rendered), [""; 0], "{}", report_of(&rendered));
}

/// One denied name does not keep another one from being allowed.
#[test]
fn a_tool_of_a_denied_server_is_not_allowed() {
    for intent in ["allow", "ask", "deny"] {
        let rules = "\"github/**:deny\", \"github/create_issue:allow\", \"github/*:allow\"";
        let lines = format!("[permissions.mcp]\nintent = \"{intent}\"\nrules = [{rules}]\n");
        let rendering =
            crate::rendering("claude-code", &crate::agent("x", &lines), crate::Wish::default());
        assert_eq!(rendering.agents[0].refused, None, "{intent}");
        let files = rendering.agents.iter().flat_map(|agent| &agent.files);
        for file in files.chain(&rendering.shared) {
            let allowed = file.text().lines().filter(|line| !line.starts_with("disallowedTools"));
            assert_eq!(allowed.filter(|line| line.contains("create_issue")).count(), 0, "{intent}");
        }
    }
}
