//! Codex: a sandbox, approvals, and rules for all agents at once.

use agentry_compile::policy::Section;
use agentry_compile::targets::target;

use crate::back::{assert_stable, imported};
use crate::{Wish, agent, chiron, file, one, rendering, report_of};

const OPEN: &str = r#"
[permissions.edit]
intent = "allow"
[permissions.read]
intent = "allow"
[permissions.external_directory]
intent = "allow"
"#;

/// An agent with these rules about commands, and its configuration.
fn setup(bash: &str, more: &str) -> (String, String) {
    let lines = format!("[permissions.bash]\n{bash}\n{more}");
    let rendering = rendering("codex", &agent("helper", &lines), Wish::default());
    let text = file(&rendering.agents[0], ".codex/agents/helper.toml").to_owned();
    let word = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
        line.unwrap_or("on").trim_matches('"').to_owned()
    };
    let words = [word("shell_tool"), word("approval_policy"), word("sandbox_mode")];
    let rules = rendering.shared.first().map_or("", |file| file.text());
    let rules = rules.lines().filter(|line| line.starts_with("prefix_rule")).collect::<Vec<_>>();
    (words.join(" "), rules.join("\n"))
}

#[test]
fn renders_the_chiron_sample() {
    let rendering = rendering("codex", &chiron(), Wish::default());
    let rendered = &rendering.agents[0];
    let text = file(rendered, ".codex/agents/chiron.toml");
    insta::assert_snapshot!(format!("{text}\n=====\n{}", report_of(rendered)));
}

#[test]
fn t12_t14_the_strictest_prefix_decides() {
    let (words, rules) =
        setup("intent = \"allow\"\nrules = [\"git push *:deny\", \"rm -rf *:ask\"]", OPEN);
    assert_eq!(words, "on on-request workspace-write");
    assert_eq!(
        rules,
        "prefix_rule(pattern = [\"git\", \"push\"], decision = \"forbidden\")\n\
         prefix_rule(pattern = [\"rm\", \"-rf\"], decision = \"prompt\")"
    );
    // The allow can never win, so it is not written.
    let (words, rules) = setup(
        "intent = \"allow\"\nrules = [\"git push origin dev:allow\", \"git push *:ask\"]",
        OPEN,
    );
    assert_eq!(words, "on on-request workspace-write");
    assert_eq!(rules, "prefix_rule(pattern = [\"git\", \"push\"], decision = \"prompt\")");
}

#[test]
fn t14_a_pattern_that_ends_inside_a_word_is_no_prefix() {
    let (words, rules) = setup("intent = \"allow\"\nrules = [\"git status*:deny\"]", OPEN);
    assert_eq!(words, "on on-request workspace-write");
    assert_eq!(rules, "prefix_rule(pattern = [\"git\"], decision = \"forbidden\")");
    let (words, rules) = setup("intent = \"allow\"\nrules = [\"rm*:deny\"]", OPEN);
    assert_eq!((words.as_str(), rules.as_str()), ("false on-request workspace-write", ""));
}

#[test]
fn t17_shared_rules_narrow_other_agents_and_are_reported() {
    let deny = format!("[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:deny\"]\n{OPEN}");
    let allow = format!("[permissions.bash]\nintent = \"allow\"\n{OPEN}");
    let mut files = agent("a", &deny);
    files.extend(agent("b", &allow));
    let both = rendering("codex", &files, Wish::default());
    assert!(both.shared[0].text().contains("\"rm\""), "{:?}", both.shared);
    assert!(!file(&both.agents[0], "a.toml").contains("shell_tool"));
    assert!(!file(&both.agents[1], "b.toml").contains("shell_tool"));
    assert!(
        report_of(&both.agents[1]).contains("narrowed permissions.bash"),
        "the rule of `a` counts"
    );
    let mut files = agent("a", &deny);
    files.extend(agent("b", &deny));
    let both = rendering("codex", &files, Wish::default());
    assert!(both.shared[0].text().contains("\"rm\""));
    assert!(!both.shared[0].text().contains("\"allow\""), "never an allow");
    assert!(!file(&both.agents[0], "a.toml").contains("shell_tool"));
}

#[test]
fn t6_t40_a_name_already_taken_is_refused() {
    let mine = "name = \"helper\"\ndescription = \"d\"\ndeveloper_instructions = \"Hi.\"\n";
    let with_file = "[agents.helper]\nconfig_file = \"roles/x.toml\"\n";
    let settings = ".codex/config.toml";
    let same = "has the same name, and Codex takes only one of the two";
    let in_settings = format!("`[agents.helper]` in `{settings}` {same}");
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[(".codex/agents/aaa.toml", mine)], "`.codex/agents/aaa.toml`"),
        (&[(".codex/agents/team/z.toml", mine)], "`.codex/agents/team/z.toml`"),
        (&[(settings, with_file)], &in_settings),
        // Codex prefers an entry without a file to any file, and no rule limits that agent.
        (&[(settings, "[agents.helper]\ndescription = \"d\"\n")], &in_settings),
        // The name in the file counts.
        (
            &[(settings, "[agents.x]\nconfig_file = \"../x.toml\"\n"), ("x.toml", mine)],
            "`[agents.x]` in",
        ),
        (&[(settings, "[agents\n")], "`.codex/config.toml:1:"),
    ];
    for (existing, expected) in cases {
        let rendered = one("codex", "", Wish { existing, ..Wish::default() });
        let refused = report_of(&rendered);
        assert!(refused.starts_with("refused ") && refused.contains(expected), "{refused}");
        assert!(rendered.files.is_empty(), "{existing:?}");
        // Settings are never replaced.
        let forced = one("codex", "", Wish { existing, force: true, ..Wish::default() });
        let is_file = existing.iter().all(|(path, _)| path.starts_with(".codex/agents/"));
        assert_eq!(forced.refused.is_none(), is_file, "{existing:?}: {}", report_of(&forced));
        assert!(!forced.replaced.contains(settings), "{existing:?}");
    }
}

#[test]
fn t6_files_that_codex_ignores_do_not_take_a_name() {
    let mine = "name = \"helper\"\ndescription = \"d\"\ndeveloper_instructions = \"Hi.\"\n";
    let other = mine.replace("helper", "other");
    let settings = ".codex/config.toml";
    let own =
        "[agents]\nmax_threads = 2\n[agents.helper]\nconfig_file = \"./agents/helper.toml\"\n";
    let cases: &[&[(&str, &str)]] = &[
        &[(".codex/agents/aaa.toml", &other)],
        &[(".codex/agents/helper-old.toml.bak", mine)],
        &[(".codex/agents/broken.toml", "name = \"helper\n")],
        &[(".codex/agents/helper.toml", mine)],
        &[(settings, own)],
        &[(settings, "[agents.helper]\nconfig_file = \"x.toml\"\n"), (".codex/x.toml", &other)],
    ];
    for existing in cases {
        let rendered = one("codex", "", Wish { existing, ..Wish::default() });
        assert_eq!(rendered.refused, None, "{existing:?}");
    }
}

#[test]
fn t6_a_user_agent_of_the_same_name_is_a_gap() {
    let mine = "name = \"helper\"\ndescription = \"d\"\ndeveloper_instructions = \"Hi.\"\n";
    let entry = "[agents.helper]\ndescription = \"d\"\n";
    let starts =
        "has the same name: Codex starts that one where `.codex/agents/helper.toml` is missing";
    for (path, text, place) in [
        ("~/.codex/agents/x.toml", mine, "`~/.codex/agents/x.toml`"),
        ("~/.codex/config.toml", entry, "`[agents.helper]` in `~/.codex/config.toml`"),
    ] {
        let existing = [(path, text)];
        let rendered = one("codex", "", Wish { existing: &existing, ..Wish::default() });
        assert_eq!(rendered.refused, None, "{path}");
        let report = report_of(&rendered);
        assert!(report.contains(&format!("gap name: {place} {starts}")), "{report}");
    }
}

#[test]
fn t22_t50_an_absent_section_asks() {
    let rendering = rendering("codex", &agent("helper", ""), Wish::default());
    let text = file(&rendering.agents[0], "helper.toml");
    assert!(text.contains("approval_policy = \"on-request\""), "{text}");
    assert!(text.contains("sandbox_mode = \"read-only\""), "{text}");
    assert!(text.contains("web_search = \"disabled\""), "{text}");
    // Codex runs commands in its sandbox without a question, so there is no shell.
    assert!(text.contains("shell_tool = false"), "{text}");
    assert_eq!(rendering.shared, []);
    let report = report_of(&rendering.agents[0]);
    assert!(report.contains("narrowed permissions.bash"), "{report}");
}

#[test]
fn the_removed_approval_policy_untrusted_is_never_written() {
    let path = ".codex/agents/helper.toml";
    let head = "name = \"helper\"\ndescription = \"x\"\ndeveloper_instructions = \"x\"\n";
    for sandbox in ["read-only", "workspace-write", "danger-full-access"] {
        let lines = format!("sandbox_mode = \"{sandbox}\"\napproval_policy = \"untrusted\"\n");
        let found = imported("codex", &[(path, &format!("{head}{lines}"))], path).expect("it");
        let permissions = found.agent.policy.permissions.as_ref().expect("permissions");
        let bash = permissions.get(Section::Bash).and_then(|rules| rules.intent);
        assert_eq!(bash.map(|intent| intent.value.as_str()), Some("ask"), "{sandbox}");
        let files = crate::back::definition(&found);
        for accepted in [&[][..], &["permissions.bash"]] {
            let wish = Wish { accepted, ..Wish::default() };
            let rendered = rendering("codex", &files, wish).agents.remove(0);
            let text = file(&rendered, path);
            assert!(!text.contains("untrusted"), "{text}");
        }
    }
}

#[test]
fn sandboxes_and_approvals_never_permit_more() {
    let cases = [
        ("allow", "", "on on-request read-only"),
        ("allow", OPEN, "on on-request workspace-write"),
        (
            "allow",
            "[permissions.edit]\nintent = \"deny\"\n[permissions.read]\nintent = \"allow\"\n[permissions.external_directory]\nintent = \"allow\"\n",
            "on never read-only",
        ),
        (
            "allow",
            "[permissions.edit]\nintent = \"ask\"\n[permissions.read]\nintent = \"allow\"\n[permissions.external_directory]\nintent = \"allow\"\n",
            "on on-request read-only",
        ),
        ("deny", "", "false on-request read-only"),
        ("deny", "[permissions.edit]\nintent = \"allow\"\n", "false on-request workspace-write"),
        (
            "deny",
            "[permissions.edit]\nintent = \"allow\"\n[permissions.external_directory]\nintent = \"deny\"\n",
            "false never workspace-write",
        ),
        (
            "deny",
            "[permissions.edit]\nintent = \"allow\"\nrules = [\"secrets/**:deny\"]\n",
            "false never read-only",
        ),
        ("ask", "[permissions.edit]\nintent = \"deny\"\n", "false never read-only"),
    ];
    for (intent, more, expected) in cases {
        let (words, _) = setup(&format!("intent = \"{intent}\""), more);
        assert_eq!(words, expected, "{intent} {more}");
    }
}

#[test]
fn that_the_session_overrides_permissions_is_a_gap() {
    let rendered = one("codex", "", Wish::default());
    let session_report = report_of(&rendered);
    let command = "codex -s read-only -a on-request -c web_search=disabled";
    assert!(
        session_report.contains("gap permissions: session") && session_report.contains(command),
        "{session_report}"
    );
    let closed = one("codex", "", Wish { close_gaps: true, ..Wish::default() });
    assert!(report_of(&closed).contains("no file of the agent can close that"));
    assert!(closed.files.is_empty());
}

#[test]
fn t36_complex_command_lines_are_a_gap() {
    let lines = format!("[permissions.bash]\nintent = \"allow\"\nrules = [\"rm *:deny\"]\n{OPEN}");
    let report = report_of(&one("codex", &lines, Wish::default()));
    assert!(report.contains("gap permissions.bash: lines that are no plain words"), "{report}");
    assert!(report.contains("gap permissions.bash: nested commands"), "{report}");
}

#[test]
fn t39_only_known_keys_are_written() {
    let known = [
        "name",
        "description",
        "model",
        "sandbox_mode",
        "approval_policy",
        "web_search",
        "developer_instructions",
    ];
    let rendered = one("codex", "tags = [\"x\"]\nmax_turns = 3\n", Wish::default());
    let text = file(&rendered, "helper.toml");
    let top = text.split("\n[").next().expect("a start");
    let keys = top.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key);
    assert!(keys.into_iter().all(|key| known.contains(&key)), "{text}");
    let report = report_of(&rendered);
    assert!(report.contains("dropped tags") && report.contains("dropped max_turns"), "{report}");
}

#[test]
fn t42_t44_texts_are_escaped_for_toml() {
    let prompts = ["a \"\"\" b", "'''", "a\\b\\u0041", "---\nx\n---\ny", "é {{ x }} # y", "# x"];
    for prompt in prompts {
        let mut files = agent("helper", "");
        files[1].1 = format!("{prompt}\n");
        let rendered = rendering("codex", &files, Wish::default()).agents.remove(0);
        let path = ".codex/agents/helper.toml";
        let imported = imported("codex", &[(path, file(&rendered, path))], path).expect("one");
        let system = imported.agent.instructions.system.expect("a prompt");
        assert_eq!(system.value.trim(), prompt);
    }
    let long = "x".repeat(100_000);
    let mut files = agent("helper", "");
    files[1].1 = long;
    assert_eq!(rendering("codex", &files, Wish::default()).agents[0].refused, None);
}

#[test]
fn t47_t48_skills_and_questions_are_reported_as_dropped() {
    let lines = "skills = [\"pdf\"]\n[permissions.question]\nintent = \"allow\"\n";
    let rendered = one("codex", lines, Wish::default());
    assert!(file(&rendered, "helper.toml").contains("include_instructions = false"));
    let report = report_of(&rendered);
    assert!(
        report.contains("permissions.question") && report.contains("dropped skills"),
        "{report}"
    );
}

#[test]
fn t53_built_in_names_are_refused() {
    for name in target("codex").expect("a target").built_in {
        let rendered = rendering("codex", &agent(name, ""), Wish::default()).agents.remove(0);
        assert!(report_of(&rendered).contains("is built into Codex"), "{name}");
    }
}

#[test]
fn imported_agents_render_to_the_same_file() {
    let bash = "[permissions.bash]\nintent = \"allow\"\nrules = [\"git push *:deny\"]\n";
    let open = format!("{OPEN}[permissions.bash]\nintent = \"allow\"\n");
    for lines in [String::new(), open, bash.replace("allow", "ask")] {
        let mut rendering = rendering("codex", &agent("helper", &lines), Wish::default());
        let mut rendered = rendering.agents.remove(0);
        rendered.files.append(&mut rendering.shared);
        let path = rendered.files[0].path.clone();
        let files: Vec<_> = rendered.files.iter().map(|it| (it.path.as_str(), it.text())).collect();
        let imported = imported("codex", &files, &path).expect("an agent");
        let again = crate::rendering("codex", &crate::back::definition(&imported), Wish::default());
        let mut files = again.agents[0].files.clone();
        files.extend(again.shared);
        assert_eq!(files, rendered.files, "{lines}");
    }
    assert_stable(
        "codex",
        &one("codex", "[permissions.bash]\nintent = \"deny\"\n", Wish::default()),
        Wish::default(),
    );
}

#[test]
fn import_reads_common_agent_files() {
    let path = ".codex/agents/pr_explorer.toml";
    let text = "name = \"pr_explorer\"\r\ndescription = \"Reads\"\r\nmodel = \"gpt-5.5\"\r\nmodel_reasoning_effort = \"high\"\r\n\
        sandbox_mode = \"read-only\"\r\ndeveloper_instructions = \"\"\"\r\nRead.\r\n\"\"\"\r\n[mcp_servers.docs]\r\nurl = \"https://x/\"\r\n";
    let rules = "prefix_rule(pattern = [\"rm\"], decision = \"forbidden\")\nprefix_rule(pattern=[\"ls\"])\n";
    let files = [(path, text), (".codex/rules/default.rules", rules)];
    let imported = imported("codex", &files, path).expect("an agent");
    assert_eq!(imported.agent.name(), "pr-explorer");
    assert_eq!(imported.agent.tools.mcp.as_ref().map(Vec::len), Some(1));
    let permissions = imported.agent.policy.permissions.as_ref().expect("permissions");
    let report_of = |section| {
        let rules = permissions.get(section).expect("a section");
        let list = rules.rules.iter().map(|rule| rule.value.to_string());
        (rules.intent.expect("an intent").value.as_str(), list.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(report_of(Section::Bash), ("ask", "rm *:deny ls *:allow".to_owned()));
    assert_eq!(report_of(Section::Edit), ("ask", String::new()));
    assert_eq!(report_of(Section::Read), ("allow", String::new()));
    let fields: Vec<_> = imported.losses.iter().map(|loss| loss.field.as_str()).collect();
    assert_eq!(fields, ["name", "permissions.bash", "x-harness.codex.as-written"]);
    for bad in ["name = x", "name = \"x\"\ndescription = \"y\"\n"] {
        assert!(crate::back::imported("codex", &[(path, bad)], path).is_err(), "{bad}");
    }
}

#[test]
fn import_reads_all_rules_and_the_settings() {
    let path = ".codex/agents/helper.toml";
    let text = "name = \"helper\"\ndescription = \"x\"\ndeveloper_instructions = \"x\"\n";
    let forbid = "prefix_rule(pattern = [\"rm\"], decision = \"forbidden\")\n";
    let ask = "prefix_rule(pattern = [\"git\", \"push\"], decision = \"prompt\")\n";
    let settings = "sandbox_mode = \"read-only\"\napproval_policy = \"never\"\nmodel = \"x\"\n";
    let files = [
        (path, text),
        (".codex/rules/team.rules", forbid),
        (".codex/rules/other.rules", ask),
        (".codex/config.toml", settings),
    ];
    let section = |files: &[(&str, &str)], section| {
        let imported = imported("codex", files, path).expect("an agent").agent;
        let permissions = imported.policy.permissions.expect("permissions");
        let rules = permissions.get(section).expect("a section");
        let list: Vec<String> = rules.rules.iter().map(|rule| rule.value.to_string()).collect();
        format!("{} {}", rules.intent.expect("an intent").value, list.join(" "))
    };
    assert_eq!(section(&files, Section::Bash), "deny rm *:deny git push *:deny");
    assert_eq!(section(&files, Section::Edit), "deny ");
    // The agent's own field takes precedence.
    let own =
        format!("{text}sandbox_mode = \"workspace-write\"\napproval_policy = \"on-request\"\n");
    let files = [(path, own.as_str()), (".codex/config.toml", settings)];
    assert_eq!(section(&files, Section::Edit), "ask **/*:allow .:allow");
    // Settings that cannot be understood may forbid anything.
    for settings in [".codex/config.toml", "~/.codex/config.toml"] {
        let files = [(path, text), (settings, "sandbox_mode = ")];
        let why = imported("codex", &files, path).expect_err("settings that are no TOML");
        assert!(why.contains(&format!("`{settings}:1:16` is not understood")), "{why}");
    }
}
