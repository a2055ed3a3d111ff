//! OpenCode: the last matching rule wins.

use agentry_compile::targets::RenderScope;

use crate::{Wish, agent, chiron, file, one, rendering, report_of, section};

const FILE: &str = ".opencode/agents/helper.md";

/// The rendered agent with these lines of agent-toml.
fn text(lines: &str) -> String {
    file(&one("opencode", lines, Wish::default()), FILE).to_owned()
}

/// Checks that a rendered agent contains some lines.
#[track_caller]
fn holds(lines: &str, expected: &str) {
    let text = text(lines);
    assert!(text.contains(expected), "{text}");
}

/// What is reported for the agent with these lines.
fn losses(lines: &str) -> String {
    report_of(&one("opencode", lines, Wish::default()))
}

fn bash(intent: &str, rules: &[&str]) -> String {
    format!("[permissions.bash]\nintent = \"{intent}\"\nrules = {rules:?}\n")
}

#[test]
fn renders_the_chiron_sample() {
    let rendered = rendering("opencode", &chiron(), Wish::default()).agents.remove(0);
    insta::assert_snapshot!(format!(
        "{}--- told\n{}",
        file(&rendered, ".opencode/agents/chiron.md"),
        report_of(&rendered)
    ));
    let paths: Vec<_> = rendered.files.iter().map(|file| file.path.as_str()).collect();
    let copied = ".opencode/skills/systematic-debugging/SKILL.md";
    assert_eq!(paths, [".opencode/agents/chiron.md", copied]);
}

#[test]
fn t1_rules_are_reversed_after_the_catch_all() {
    holds(
        &bash("ask", &["git push --force*:deny", "git push*:allow"]),
        "  bash:\n    \"*\": ask\n    git push*: allow\n    git push --force*: deny\n",
    );
}

#[test]
fn t2_the_first_of_two_rules_with_one_pattern_stays() {
    holds(
        &bash("ask", &["git *:allow", "git *:deny"]),
        "  bash:\n    \"*\": ask\n    git *: allow\n  skill",
    );
    // Keys of single tools stand among the others.
    let lines = section("tool", "ask", &["bash:allow", "my_tool:deny", "edit:allow"])
        + &section("mcp", "ask", &["my/tool:deny"]);
    let text = text(&lines);
    for key in ["\n  bash:", "\n  edit:", "\n  my_tool:"] {
        assert_eq!(text.matches(key).count(), 1, "{key}\n{text}");
    }
}

#[test]
fn t3_a_catch_all_rule_is_written_once() {
    for all in ["*:allow", "**:allow"] {
        holds(&bash("deny", &[all, "git *:deny"]), "\n  bash: allow\n");
    }
}

#[test]
fn t4_a_number_is_refused() {
    for lines in [bash("ask", &["10:allow", "x *:allow"]), section("tool", "ask", &["10:allow"])] {
        let report = losses(&lines);
        assert!(report.contains("would put the rule `10` before all others"), "{report}");
    }
    // JavaScript does not parse it as a number.
    holds(&bash("ask", &["010:allow"]), "    \"010\": allow\n");
}

#[test]
fn t5_the_catch_all_comes_first() {
    let text = text(&bash("allow", &[]));
    let first = text.find("permission:\n  \"*\": ask\n");
    assert!(first.is_some(), "{text}");
    assert_eq!(text.matches("\n  \"*\":").count(), 1, "{text}");
}

#[test]
fn t6_settings_of_an_agent_of_the_same_name_are_considered() {
    let lines = bash("ask", &["git push*:deny", "git *:allow"]);
    let harmless = "{\"agent\": {\"helper\": {\"model\": \"a/b\"}}}";
    let existing = [("opencode.json", harmless)];
    let rendered = one("opencode", &lines, Wish { existing: &existing, ..Wish::default() });
    let report = report_of(&rendered);
    assert!(report.contains("`opencode.json` is about an agent of this name too"), "{report}");
    assert_eq!(rendered.refused, None);
    // A key keeps its first position: `git push*` comes before `git *`.
    let harmful = "// mine\n{\"agent\": {\"helper\": {\"permission\": {\"bash\": {\"git push*\": \"allow\"}}}},}";
    for path in ["opencode.jsonc", ".opencode/opencode.json", "~/.config/opencode/opencode.json"] {
        let existing = [(path, harmful)];
        let rendered = one("opencode", &lines, Wish { existing: &existing, ..Wish::default() });
        let refused = rendered.refused.expect("a refusal");
        let message = refused.message;
        assert!(message.starts_with("`git push` is deny in the source"), "{message}");
        let hint = refused.hint.expect("a hint");
        assert!(hint.contains(&format!("`{path}` is about an agent of this name")), "{hint}");
    }
    // A second file beside it would replace it; a mode of the same name is merged.
    let markdown = "---\npermission:\n  bash: allow\n---\nMine.\n";
    let existing = [(".opencode/agent/helper.md", markdown)];
    let rendered = one("opencode", &lines, Wish { existing: &existing, ..Wish::default() });
    let refused = rendered.refused.expect("a refusal").message;
    assert!(refused.contains("OpenCode takes only one of the two"), "{refused}");
    let existing = [(".opencode/mode/helper.md", markdown)];
    let rendered = one("opencode", &lines, Wish { existing: &existing, ..Wish::default() });
    let refused = rendered.refused.expect("a refusal").message;
    assert!(refused.contains("would be allow in OpenCode"), "{refused}");
}

#[test]
fn t7_global_permissions_never_override_an_agent() {
    let lines = bash("ask", &["git *:allow"]);
    let settings =
        ["{\"permission\": \"allow\"}", "{\"permission\": {\"bash\": \"deny\", \"*\": \"allow\"}}"];
    for text in settings {
        let existing = [("opencode.json", text)];
        let rendered = one("opencode", &lines, Wish { existing: &existing, ..Wish::default() });
        assert_eq!(rendered.refused, None, "{text}");
        let text = file(&rendered, FILE);
        assert!(text.contains("  bash:\n    \"*\": ask\n    git *: allow\n"), "{text}");
    }
}

#[test]
fn t8_keys_are_not_sorted() {
    holds(
        &bash("ask", &["zap *:deny", "frob *:deny", "git *:allow"]),
        "    git *: allow\n    frob *: deny\n    zap *: deny\n",
    );
}

#[test]
fn t22_absent_sections_are_written_with_their_defaults() {
    let text = text("");
    for line in [
        "\"*\": ask",
        "bash: ask",
        "skill: ask",
        "task: ask",
        "webfetch: ask",
        "websearch: ask",
        "question: allow",
        "edit: ask",
        "external_directory: ask",
    ] {
        assert!(text.contains(&format!("\n  {line}\n")), "{line}\n{text}");
    }
    let reading = "  read:\n    \"*\": allow\n    \"*.env\": ask\n    \"*.env.*\": ask\n";
    assert!(text.contains(reading), "{text}");
}

#[test]
fn t23_a_star_that_matches_directories_gets_a_second_rule() {
    // A rule for what lies deeper makes it exact.
    let cases = [
        ("deny", "src/*:allow", "    src/*: allow\n    src/*/*: deny\n"),
        ("ask", "src/*:allow", "    src/*: allow\n    src/*/*: ask\n"),
        ("allow", "src/*:deny", "    src/*: deny\n    src/*/*: allow\n"),
        ("deny", "src/*.rs:allow", "    src/*.rs: allow\n    src/*/*.rs: deny\n"),
        ("deny", "src/**:allow", "    src/*: allow\n"),
    ];
    for (intent, rule, expected) in cases {
        let lines = section("edit", intent, &[rule]);
        holds(&lines, expected);
        let report = losses(&lines);
        assert!(!report.contains("narrowed permissions.edit"), "{rule}: {report}");
    }
}

#[test]
fn t24_a_star_that_matches_several_words_is_narrowed() {
    let lines = bash("ask", &["git * main:allow"]);
    holds(&lines, "\n  bash: ask\n");
    assert!(losses(&lines).contains("narrowed permissions.bash: `git example main`"));
}

#[test]
fn t25_a_final_star_also_matches_nothing() {
    let lines = bash("deny", &["ls *:allow"]);
    holds(&lines, "    ls *: allow\n");
    assert!(!losses(&lines).contains("narrowed permissions.bash"));
    // A star in a program name would match `/`, and so the directory of another program.
    let lines = bash("deny", &["npm*:allow"]);
    holds(&lines, "    npm *: allow\n");
    assert!(losses(&lines).contains("narrowed permissions.bash: `npmx`"), "{}", losses(&lines));
    holds(&bash("allow", &["npm*:deny"]), "    npm*: deny\n");
}

#[test]
fn t26_a_question_mark_matches_any_character() {
    let allowed = bash("ask", &["frob a?b:allow"]);
    holds(&allowed, "\n  bash: ask\n");
    holds(&bash("allow", &["frob a?b:deny"]), "    frob a?b: deny\n");
    holds(
        &bash("deny", &["frob [ab]:allow", "frob {a,b}:allow"]),
        "    frob {a,b}: allow\n    frob [ab]: allow\n",
    );
}

#[test]
fn t27_rules_below_a_directory_exclude_the_directory() {
    let lines = section("read", "allow", &[])
        + &section("edit", "allow", &[])
        + &section("external_directory", "deny", &["~/p/**:allow"]);
    holds(&lines, "  external_directory:\n    \"*\": deny\n    ~/p/*: allow\n");
}

#[test]
fn t28_absolute_paths_are_external_directory_rules() {
    let lines = section("edit", "allow", &["/run/agenix/**:deny"])
        + &section("external_directory", "allow", &[])
        + &section("read", "allow", &[]);
    holds(&lines, "\n  edit: allow\n");
    holds(&lines, "  external_directory:\n    \"*\": allow\n    /run/agenix/*: deny\n");
}

#[test]
fn t31_home_paths_in_commands_match_any_home() {
    holds(&bash("allow", &["~/bin/x *:deny"]), "    \"*/bin/x *\": deny\n");
    let lines = bash("ask", &["~/bin/x *:allow"]);
    assert!(losses(&lines).contains("narrowed permissions.bash: `~/bin/x`"), "{}", losses(&lines));
}

#[test]
fn t32_patterns_with_colons_are_kept() {
    holds(
        &bash("ask", &["npm run test:unit:allow", "curl https://h:8080/*:deny"]),
        "    curl https://h:8080/*: deny\n    npm run test:unit: allow\n",
    );
}

#[test]
fn t33_address_rules_are_narrowed_to_one_verdict() {
    let lines = section("webfetch", "ask", &["https://docs.example.org/*:allow"]);
    holds(&lines, "\n  webfetch: ask\n");
    assert!(losses(&lines).contains("narrowed permissions.webfetch: `https://docs.example.org"));
    let lines = section("webfetch", "allow", &["https://evil.example.org/*:deny"]);
    holds(&lines, "\n  webfetch: deny\n");
}

#[test]
fn t36_unchecked_command_parts_are_a_gap() {
    let lines = bash("ask", &["git status*:allow", "rm *:deny"]) + &section("edit", "deny", &[]);
    let report = losses(&lines);
    let gap = "redirections: OpenCode checks the command and not where its output goes; `git status > x` is deny in the source and allow there";
    assert!(report.contains(&format!("gap permissions.bash: {gap}")), "{report}");
    let open = bash("allow", &["rm *:deny"]);
    let report = losses(&open);
    for gap in ["nested shells", "other spellings", "variables"] {
        assert!(report.contains(&format!("gap permissions.bash: {gap}")), "{report}");
    }
}

#[test]
fn gaps_are_closed_by_stricter_rules() {
    let wish = Wish { close_gaps: true, ..Wish::default() };
    for lines in [
        bash("ask", &["git status*:allow", "rm *:deny"]) + &section("edit", "deny", &[]),
        bash("allow", &["rm *:deny"]),
        section("edit", "allow", &["src/**:ask"]),
        String::new(),
    ] {
        let rendered = one("opencode", &lines, wish);
        let report = report_of(&rendered);
        assert!(!report.contains("gap permissions."), "{lines}{report}");
        assert_eq!(rendered.refused, None);
    }
    let text = one("opencode", "", wish);
    assert!(file(&text, FILE).contains("    \"*id_rsa*\": ask\n"));
}

#[test]
fn t39_only_known_fields_are_written() {
    let text = text("tags = [\"x\"]\ndisplay_name = \"Helper (x)\"\nmax_turns = 3\n");
    let fields: Vec<_> = text
        .lines()
        .skip(1)
        .take_while(|line| *line != "---")
        .filter(|line| !line.starts_with([' ', '#']))
        .filter_map(|line| line.split_once(':'))
        .map(|(key, _)| key)
        .collect();
    assert_eq!(fields, ["description", "mode", "steps", "permission"]);
    assert!(
        text.starts_with("---\n# rendered by agentry from agents/helper/agent.toml\n"),
        "{text}"
    );
}

#[test]
fn t40_no_name_is_written_and_a_renamed_agent_is_refused() {
    let lines = "display_name = \"Helper (Assistant)\"\n";
    assert!(!text(lines).contains("name:"));
    assert!(losses(lines).contains("dropped display_name"));
    let renamed = "{\"agent\": {\"helper\": {\"name\": \"other\"}}}";
    let existing = [("opencode.json", renamed)];
    let rendered = one("opencode", "", Wish { existing: &existing, ..Wish::default() });
    let refused = rendered.refused.expect("a refusal").message;
    assert_eq!(refused, "OpenCode would not find the agent under this name");
}

#[test]
fn t41_max_turns_is_written_as_steps_with_a_gap() {
    holds("max_turns = 50\n", "\nsteps: 50\n");
    assert!(losses("max_turns = 50\n").contains("gap max_turns"));
}

#[test]
fn t42_descriptions_are_quoted() {
    for description in [
        "Say \"hi\": now # or later",
        "*starred",
        "@home",
        "- item",
        "yes",
        "null",
        "12:30",
        "2026-01-01",
        "0x10",
        "{a: b}",
        "--- x",
        "it's",
    ] {
        let mut files = agent("helper", "");
        files[0].1 = format!("name = \"helper\"\ndescription = {description:?}\n");
        let rendered = rendering("opencode", &files, Wish::default()).agents.remove(0);
        let text = file(&rendered, FILE);
        let (data, _) = agentry_compile::targets::front_matter::read(text).expect("metadata");
        let found = data.get("description").and_then(|data| data.as_str());
        assert_eq!(found, Some(description), "{text}");
    }
}

#[test]
fn t44_a_prompt_with_dashes_is_kept() {
    let mut files = agent("helper", "");
    files[1].1 =
        "\u{feff}---\r\nnot: metadata\r\n---\r\n\r\nYou answer.\r\n---\r\nAlways.\r\n".to_owned();
    let rendered = rendering("opencode", &files, Wish::default()).agents.remove(0);
    let text = file(&rendered, FILE);
    let (_, body) = agentry_compile::targets::front_matter::read(text).expect("metadata");
    assert!(
        body.starts_with("---\nnot: metadata") || body.starts_with("---\r\nnot: metadata"),
        "{body}"
    );
    assert!(body.ends_with("Always."), "{body}");
}

#[test]
fn t45_a_long_prompt_stays_whole() {
    let mut files = agent("helper", "");
    let long = format!("{{{{ x }}}} {{file:./x}} {{env:HOME}}\n{}\n\n\n", "word ".repeat(20_000));
    files[1].1.clone_from(&long);
    let rendered = rendering("opencode", &files, Wish::default()).agents.remove(0);
    let (_, body) =
        agentry_compile::targets::front_matter::read(file(&rendered, FILE)).expect("metadata");
    assert_eq!(body, long.trim());
}

#[test]
fn t46_the_mode_is_always_written() {
    holds("", "\nmode: all\n");
    holds("mode = \"subagent\"\n", "\nmode: subagent\n");
}

#[test]
fn t47_missing_skills_are_reported() {
    let report = losses("skills = [\"pdf\"]\n");
    assert!(report.contains("dropped skills: the skill `pdf` was not found"), "{report}");
    let mut files = agent("helper", "skills = [\"pdf\"]\n");
    files.push(("skills/pdf/SKILL.md".to_owned(), "Read it.\n".to_owned()));
    let rendered = rendering("opencode", &files, Wish::default()).agents.remove(0);
    let report = crate::report_of(&rendered);
    assert!(report.contains("the skill `pdf` lacks `name` or `description`"), "{report}");
}

#[test]
fn t48_an_allowed_question_is_written() {
    holds(&section("question", "allow", &[]), "\n  question: allow\n");
}

#[test]
fn t49_edit_and_write_are_one_permission() {
    holds(&section("edit", "deny", &[]), "\n  edit: deny\n");
    assert!(!text(&section("edit", "deny", &[])).contains("write:"));
}

#[test]
fn t53_built_in_names_are_refused() {
    for name in ["build", "plan", "general", "explore", "compaction", "title", "summary"] {
        let rendered = rendering("opencode", &agent(name, ""), Wish::default()).agents.remove(0);
        let refused = rendered.refused.expect("a refusal");
        assert_eq!(refused.message, format!("`{name}` is built into OpenCode"));
        assert!(rendered.files.is_empty());
    }
    let wish = Wish { alias: Some("my-plan"), ..Wish::default() };
    let rendered = rendering("opencode", &agent("plan", ""), wish).agents.remove(0);
    assert_eq!(rendered.files[0].path, ".opencode/agents/my-plan.md");
}

#[test]
fn t55_names_invalid_as_file_names_are_refused() {
    for alias in ["-x", "a--b", "con", "a/b", "../x"] {
        let wish = Wish { alias: Some(alias), ..Wish::default() };
        let rendered = rendering("opencode", &agent("helper", ""), wish).agents.remove(0);
        assert!(rendered.refused.is_some() && rendered.files.is_empty(), "{alias}");
    }
}

#[test]
fn unreadable_settings_refuse_the_agent() {
    for path in ["opencode.json", ".opencode/opencode.jsonc"] {
        let existing = [(path, "{\"permission\": ")];
        let rendered = one("opencode", "", Wish { existing: &existing, ..Wish::default() });
        let refused = rendered.refused.expect("a refusal").message;
        assert!(refused.starts_with(&format!("`{path}:1:1` cannot be read")), "{refused}");
    }
}

#[test]
fn two_agents_of_one_name_are_refused() {
    let mut files = agent("helper", "");
    let other = agent("helper", "").into_iter();
    files.extend(other.map(|(path, text)| (path.replace("agents/", "more/"), text)));
    let rendering = rendering("opencode", &files, Wish::default());
    assert_eq!(rendering.agents.len(), 2);
    for rendered in rendering.agents {
        let message = rendered.refused.expect("a refusal").message;
        assert!(message.contains("would be written for"), "{message}");
    }
}

#[test]
fn the_user_scope_renders_to_the_config_directory() {
    let wish = Wish { scope: Some(RenderScope::User), ..Wish::default() };
    let rendered = rendering("opencode", &chiron(), wish).agents.remove(0);
    assert_eq!(rendered.refused, None);
    assert_eq!(rendered.files[0].path, ".config/opencode/agents/chiron.md");
    // A home directory has no access to the skills of a project.
    let skills = rendered.files.iter().filter(|file| file.path.ends_with("SKILL.md"));
    assert_eq!(skills.count(), 3);
}

#[test]
fn special_characters_in_patterns_are_literal() {
    let patterns = "<>!%@#&;|^$()+=~`',-_.:[]{}".chars().map(|c| format!("src/a{c}b/**:allow"));
    let patterns: Vec<_> = patterns.collect();
    let rules: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let lines = section("edit", "deny", &rules);
    let report = losses(&lines);
    assert!(!report.contains("narrowed permissions.edit"), "{report}");
    assert_eq!(text(&lines).matches("b/*").count(), rules.len());
}

#[test]
fn permissions_that_are_no_tools_keep_their_defaults() {
    let lines = section("tool", "allow", &[]) + &section("mcp", "allow", &[]);
    holds(&lines, "  \"*\": allow\n  doom_loop: ask\n  plan_enter: deny\n  plan_exit: deny\n");
}

#[test]
fn ambiguous_server_and_tool_names_are_denied() {
    let lines = section("mcp", "deny", &["github/delete*:deny", "github/*:allow"])
        + &section("tool", "deny", &["todowrite:allow", "my_tool:allow"]);
    let text = text(&lines);
    // A server `my` with a tool `tool` would have the same name.
    let expected = "  \"*\": deny\n  github_*: allow\n  github_delete*: deny\n  my_tool: deny\n  todowrite: allow\n";
    assert!(text.contains(expected), "{text}");
    let report = losses(&lines);
    assert!(report.contains("`github_x` would be taken for one of `github`"), "{report}");
}

#[test]
fn delegate_stars_do_not_match_nested_agents() {
    holds(
        &section("delegate", "deny", &["rev*:allow", "docs:allow"]),
        "  task:\n    \"*\": deny\n    docs: allow\n    rev*: allow\n    rev*/*: deny\n",
    );
    holds(
        &section("skill", "deny", &["git-*:allow"]),
        "  skill:\n    \"*\": deny\n    git-*: allow\n",
    );
}

/// Verdicts are memoised for agents with equal policies; nearly equal ones do not share.
#[test]
fn verdicts_are_not_shared_between_similar_agents() {
    let alike = [
        bash("ask", &["git *:allow", "git push *:deny"]),
        bash("ask", &["git push *:deny", "git *:allow"]),
        bash("deny", &["git push *:deny", "git *:allow"]),
        bash("ask", &["git push *:ask", "git *:allow"]),
        section("edit", "ask", &["src/**:allow"]),
        section("edit", "ask", &["src/**:deny"]),
        section("read", "ask", &["src/**:allow"]),
        section("external_directory", "deny", &[]),
        section("external_directory", "allow", &[]),
        section("websearch", "deny", &[]),
        section("question", "deny", &[]),
        section("skill", "deny", &["x:allow"]),
        section("delegate", "deny", &["x:allow"]),
        section("mcp", "deny", &["x/*:allow"]),
        section("tool", "deny", &["x:allow"]),
        section("webfetch", "deny", &[]),
    ];
    let name = |at: usize| format!("helper-{at}");
    let files: Vec<(String, String)> =
        alike.iter().enumerate().flat_map(|(at, lines)| agent(&name(at), lines)).collect();
    let rules = |rendered: &agentry_compile::targets::RenderedAgent, at: usize| {
        let text = file(rendered, &format!("/{}.md", name(at)));
        text.split_once("permission:").map(|(_, rules)| rules.replace(&name(at), ""))
    };
    let together = rendering("opencode", &files, Wish::default());
    let mut all = std::collections::BTreeMap::new();
    for rendered in &together.agents {
        let at = (0..alike.len()).find(|at| {
            rendered.files.iter().any(|file| file.path.ends_with(&format!("/{}.md", name(*at))))
        });
        let at = at.unwrap_or_else(|| panic!("no file: {:?}", rendered.refused));
        if let Some(other) = all.insert(rules(rendered, at), at) {
            panic!("{} and {} are rendered alike", alike[other], alike[at]);
        }
    }
}
