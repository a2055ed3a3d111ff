//! Pi: a tool is present or absent, and its arguments are not checked.

use agentry_compile::targets::ListedFiles;
use agentry_compile::targets::import::import;
use agentry_compile::targets::{
    ProjectRendering, RenderScope, RenderSettings, RenderSubject, render, target,
};
use agentry_compile::{MemoryWorld, discover, read, subject};

use crate::{Wish, agent, file, one, rendering, report_of};

/// Rules that allow everything that Pi's own tools can do.
const ALL: &str = r#"
[permissions.bash]
intent = "allow"
[permissions.edit]
intent = "allow"
[permissions.read]
intent = "allow"
[permissions.external_directory]
intent = "allow"
[permissions.webfetch]
intent = "allow"
"#;

/// The tools field of an agent without tools.
const NONE: &str = "contact_supervisor";
/// The tools that read.
const READS: &str = "read, grep, find, ls";

/// Rules that allow every section.
fn everything() -> String {
    let rest = ["websearch", "question", "mcp", "tool", "skill", "delegate", "env"];
    let rest = rest.map(|section| format!("[permissions.{section}]\nintent = \"allow\"\n"));
    format!("{ALL}{}", rest.concat())
}

/// One field of the file of `helper`.
fn field(text: &str, key: &str) -> Option<String> {
    let start = format!("{key}:");
    text.lines().find_map(|line| line.strip_prefix(&start)).map(|value| value.trim().to_owned())
}

fn tools(lines: &str) -> String {
    let rendered = one("pi", lines, Wish::default());
    field(file(&rendered, ".pi/agents/helper.md"), "tools").expect("always written")
}

pub(crate) fn subjects(files: &[(String, String)]) -> Vec<RenderSubject> {
    let world = MemoryWorld::new(files.iter().cloned());
    let found = discover(&world, &[String::new()], None, &|_| false);
    let each = |found| subject(&world, &read(&world, found), None, true);
    found.agents.iter().map(each).collect()
}

fn with(
    files: &[(String, String)],
    options: &[(String, String)],
    scope: RenderScope,
) -> ProjectRendering {
    let existing_files = ListedFiles::default();
    let settings =
        RenderSettings { scope, options, shared: true, ..RenderSettings::new(&existing_files) };
    render(target("pi").expect("a target"), &subjects(files), &settings)
}

#[test]
fn t22_an_absent_section_is_written_as_no_tool() {
    assert_eq!(tools(""), READS);
    let report = report_of(&one("pi", "", Wish::default()));
    assert!(report.contains("narrowed permissions.bash: Pi checks no call"), "{report}");
    assert!(report.contains("gap permissions.read: "), "{report}");
}

#[test]
fn t36_shell_access_to_denied_files_is_a_gap() {
    assert_eq!(tools(ALL), "read, grep, find, ls, bash, edit, write, fetch_content");
    let cases = [
        ("edit", "`touch x` is deny in the source and allow there"),
        ("read", "`cat .env` is deny in the source and allow there"),
        ("webfetch", "`curl https://example.com/` is deny in the source and allow there"),
    ];
    for (section, example) in cases {
        let stricter = ALL.replace(
            &format!("[permissions.{section}]\nintent = \"allow\""),
            &format!("[permissions.{section}]\nintent = \"deny\""),
        );
        assert!(tools(&stricter).contains("bash"), "{section}");
        let report = report_of(&one("pi", &stricter, Wish::default()));
        assert!(report.contains(example), "{section}: {report}");
        let closed = one("pi", &stricter, Wish { close_gaps: true, ..Wish::default() });
        let tools = field(file(&closed, "helper.md"), "tools").expect("always written");
        assert!(!tools.contains("bash"), "{section}: {tools}");
    }
}

#[test]
fn t39_the_source_path_has_its_own_comment_line() {
    let rendered = one("pi", "", Wish::default());
    let text = file(&rendered, ".pi/agents/helper.md");
    let mark = "---\n# rendered by agentry from agents/helper/agent.toml\nname: helper\n";
    assert!(text.starts_with(mark), "{text}");
}

#[test]
fn t41_max_turns_is_written_as_a_tool_budget() {
    let rendered = one("pi", "max_turns = 7\n", Wish::default());
    let text = file(&rendered, "helper.md");
    assert_eq!(field(text, "toolBudget").as_deref(), Some(r#"{"hard":7,"block":"*"}"#));
    assert!(report_of(&rendered).contains("narrowed max_turns: Pi counts calls"));
}

#[test]
fn t42_values_are_written_without_escapes() {
    let cases = [
        ("plain words", Some("plain words")),
        ("Use this: always", Some("\"Use this: always\"")),
        ("a # b", Some("\"a # b\"")),
        ("- x", Some("\"- x\"")),
        ("yes", Some("\"yes\"")),
        ("say \\\"x\\\": y", Some("'say \"x\": y'")),
        ("it's \\\"x\\\": y", Some(">-")),
        ("---", Some("---")),
    ];
    for (description, expected) in cases {
        let mut files = agent("helper", "");
        let described = format!("description = \"{description}\"");
        files[0].1 = files[0].1.replace("description = \"Answers questions\"", &described);
        let rendered = rendering("pi", &files, Wish::default()).agents.remove(0);
        let text = file(&rendered, "helper.md");
        assert_eq!(field(text, "description").as_deref(), expected, "{description}");
    }
}

#[test]
fn t43_an_agent_without_tools_gets_an_explicit_list() {
    let lines = "[permissions.read]\nintent = \"deny\"\n";
    let rendered = one("pi", lines, Wish::default());
    let text = file(&rendered, "helper.md");
    assert_eq!(field(text, "tools").as_deref(), Some(NONE));
    assert!(!tools(ALL).contains('['));
    // Neither of the two means all tools to Pi, but a missing list does.
    let model = target("pi").expect("a target").model;
    for (tools, ways) in [("tools:\n", false), ("tools: contact_supervisor\n", false), ("", true)] {
        let text = format!("---\nname: x\ndescription: y\n{tools}---\n");
        let files = [(".pi/agents/x.md", &*text)];
        assert_eq!(
            !model(&ListedFiles(&files), "x").expect("an agent").ways.is_empty(),
            ways,
            "{tools}"
        );
    }
}

#[test]
fn t44_a_prompt_with_dashes_is_kept() {
    for prompt in ["---\nA\n---\nB\n", "A\r\n---\r\nB\r\n", "\u{feff}A\n"] {
        let mut files = agent("helper", "");
        files[1].1 = prompt.to_owned();
        let rendered = rendering("pi", &files, Wish::default()).agents.remove(0);
        let text = file(&rendered, "helper.md");
        assert!(text.starts_with("---\n"), "{text}");
        let body = prompt.replace("\r\n", "\n");
        let body = body.trim_start_matches('\u{feff}').trim();
        assert!(text.ends_with(&format!("\n---\n\n{body}\n")), "{text}");
    }
}

#[test]
fn t45_the_main_prompt_is_written_verbatim() {
    let mut files = agent("helper", &format!("mode = \"primary\"\n{}", everything()));
    files[1].1 = "\n  Be {{ kind }}.  \n\n\n".to_owned();
    let rendered = rendering("pi", &files, Wish::default()).agents.remove(0);
    // White space around a prompt is lost in reading.
    assert_eq!(file(&rendered, ".pi/SYSTEM.md"), "Be {{ kind }}.\n");
}

#[test]
fn t46_two_primary_agents_are_refused_without_a_choice() {
    let lines = format!("mode = \"primary\"\n{}", everything());
    let mut files = agent("first", &lines);
    files.extend(agent("second", &lines));
    files.extend(agent("third", "mode = \"subagent\"\n"));
    let none = with(&files, &[], RenderScope::Project);
    for rendered in &none.agents[..2] {
        assert!(report_of(rendered).contains("refused mode: Pi has one main session and 2 agents"));
        assert!(rendered.files.is_empty());
    }
    assert!(none.agents[2].refused.is_none());
    let chosen = with(&files, &[("primary".to_owned(), "second".to_owned())], RenderScope::Project);
    let paths = |at: usize| -> Vec<&str> {
        chosen.agents[at].files.iter().map(|file| file.path.as_str()).collect()
    };
    assert_eq!(paths(0), [".pi/agents/first.md"]);
    assert_eq!(paths(1), [".pi/agents/second.md", ".pi/SYSTEM.md"]);
    assert!(report_of(&chosen.agents[0]).contains("narrowed mode: Pi has one main session"));
    let wrong = with(&files, &[("primary".to_owned(), "third".to_owned())], RenderScope::Project);
    assert!(
        report_of(&wrong.agents[2])
            .contains("refused mode: `third` is not an agent that people start")
    );
}

#[test]
fn t46_a_restricted_agent_is_no_main_session() {
    for (lines, main) in [(everything(), true), (ALL.to_owned(), false), (String::new(), false)] {
        let rendered = one("pi", &format!("mode = \"primary\"\n{lines}"), Wish::default());
        let found = rendered.files.iter().any(|file| file.path == ".pi/SYSTEM.md");
        assert_eq!(found, main, "{lines}");
        let report = report_of(&rendered);
        assert_eq!(report.contains("narrowed mode: a main session of Pi"), !main, "{report}");
    }
}

#[test]
fn t47_skills_without_read_are_dropped() {
    let skill = |name: &str| {
        let text = format!("---\nname: {name}\ndescription: x\n---\nDo.\n");
        (format!("skills/{name}/SKILL.md"), text)
    };
    let read = "[permissions.read]\nintent = \"allow\"\n[permissions.external_directory]\nintent = \"allow\"\n";
    let deny = "[permissions.skill]\nintent = \"ask\"\nrules = [\"two:deny\"]\n";
    let lines = format!("skills = [\"one\", \"two\"]\n{read}{deny}");
    let mut files = agent("helper", &lines);
    files.extend([skill("one"), skill("two")]);
    let rendered = rendering("pi", &files, Wish::default()).agents.remove(0);
    let text = file(&rendered, "agents/helper.md");
    assert_eq!(field(text, "skills").as_deref(), Some("one"));
    assert!(file(&rendered, ".pi/skills/one/SKILL.md").contains("Do."));
    assert!(report_of(&rendered).contains("dropped skills: `two` is denied in the source"));

    let lines = "skills = [\"one\"]\n[permissions.read]\nintent = \"ask\"\n";
    let mut files = agent("helper", lines);
    files.push(skill("one"));
    let rendered = rendering("pi", &files, Wish::default()).agents.remove(0);
    assert_eq!(field(file(&rendered, "agents/helper.md"), "skills"), None);
    assert!(report_of(&rendered).contains("dropped skills: `one` is loaded with `read`"));
}

#[test]
fn t47_pi_gives_read_to_an_agent_with_skills() {
    let model = target("pi").expect("a target").model;
    let text = "---\nname: x\ndescription: y\ntools: edit, write\nskills: one\n---\n";
    let files = [(".pi/agents/x.md", text)];
    let model = model(&ListedFiles(&files), "x").expect("an agent");
    assert!(model.ways.iter().any(|way| way.tool == "read"));
}

#[test]
fn t48_questions_are_dropped() {
    let rendered = one("pi", "[permissions.question]\nintent = \"allow\"\n", Wish::default());
    assert!(report_of(&rendered).contains("dropped permissions.question"));
}

#[test]
fn t49_edit_covers_the_edit_and_write_tools() {
    let outside = "[permissions.external_directory]\nintent = \"allow\"\n";
    let edit = |intent: &str| format!("[permissions.edit]\nintent = \"{intent}\"\n{outside}");
    assert_eq!(tools(&edit("allow")), format!("{READS}, edit, write"));
    let rendered = one("pi", &edit("deny"), Wish::default());
    let rules = field(file(&rendered, "helper.md"), "permission");
    assert_eq!(rules.as_deref(), Some(r#"{"edit":"deny","write":"deny"}"#));
}

#[test]
fn t50_an_ask_removes_the_tool() {
    for section in ["bash", "edit", "read", "webfetch", "websearch"] {
        let intent = format!("[permissions.{section}]\nintent = \"allow\"");
        let asks = ALL.replace(&intent, &intent.replace("allow", "ask"));
        let tool = match section {
            "webfetch" => "fetch_content",
            "websearch" => "web_search",
            tool => tool,
        };
        let tools = tools(&asks);
        assert!(!tools.split(", ").any(|name| name == tool), "{section}: {tools}");
    }
    let rendered = one("pi", "[permissions.bash]\nintent = \"ask\"\n", Wish::default());
    assert!(!file(&rendered, "helper.md").contains("ask"));
}

#[test]
fn t51_bash_rules_remove_the_bash_tool() {
    let rules = "rules = [\"git log*:allow\"]\n";
    let lines = format!("[permissions.bash]\nintent = \"deny\"\n{rules}");
    let rendered = one("pi", &lines, Wish::default());
    let text = file(&rendered, "helper.md");
    assert_eq!(field(text, "tools").as_deref(), Some(READS));
    assert_eq!(field(text, "permission"), None);
    let report = report_of(&rendered);
    assert!(report.contains("narrowed permissions.bash: Pi checks no call"), "{report}");
    assert!(report.contains("the guard would make it exact"), "{report}");
}

#[test]
fn t51_pi_drops_an_agent_with_unsupported_rules() {
    let model = target("pi").expect("a target").model;
    for rules in ["{\"bash\":\"deny\"}", "{\"intercom\":\"deny\"}", "[]", "{\"edit\":\"no\"}"] {
        let text = format!("---\nname: x\ndescription: y\npermission: {rules}\n---\n");
        let files = [(".pi/agents/x.md", &*text)];
        assert!(model(&ListedFiles(&files), "x").is_none(), "{rules}");
    }
}

#[test]
fn t52_skills_of_the_open_standard_are_no_agents() {
    let files = agent("helper", "");
    let skill = rendering("agent-skills", &files, Wish::default()).agents.remove(0);
    let agent = rendering("pi", &files, Wish::default()).agents.remove(0);
    // pi-subagents treats every Markdown file below `.agents` as an agent, except skills.
    assert!(skill.files.iter().all(|file| file.path.starts_with(".agents/skills/")));
    assert!(agent.files.iter().all(|file| file.path.starts_with(".pi/")));
}

#[test]
fn t53_built_in_names_are_refused() {
    for name in ["scout", "worker", "reviewer", "oracle", "researcher", "delegate"] {
        let rendered = rendering("pi", &agent(name, ""), Wish::default());
        assert!(report_of(&rendered.agents[0]).contains("is built into Pi"), "{name}");
        assert!(rendered.agents[0].files.is_empty());
        assert!(rendered.shared.is_empty());
    }
}

#[test]
fn t54_an_empty_agent_list_is_removed() {
    let files = agent("helper", &format!("mode = \"primary\"\n{}", everything()));
    let first = rendering("pi", &agent("other", ""), Wish::default());
    let listed = first.shared[0].text().to_owned();
    let existing = [("AGENTS.md", listed.as_str())];
    let wish = Wish { existing: &existing, ..Wish::default() };
    let rendering = rendering("pi", &files, wish);
    assert_eq!(rendering.shared[0].text(), "");
}

#[test]
fn subagents_are_listed_between_marks() {
    let existing = [("AGENTS.md", "# Mine\n\nKeep this.\n")];
    let wish = Wish { existing: &existing, ..Wish::default() };
    let files = agent("helper", "display_name = \"The Helper\"\n");
    let shared = &rendering("pi", &files, wish).shared[0];
    assert_eq!(shared.path, "AGENTS.md");
    assert!(shared.text().starts_with("# Mine\n\nKeep this.\n\n<!-- begin agentry pi"));
    assert!(shared.text().contains("- `helper` (The Helper): Answers questions\n"));

    let broken = [("AGENTS.md", "<!-- end agentry pi -->\n")];
    let rendering = rendering("pi", &files, Wish { existing: &broken, ..Wish::default() });
    assert!(rendering.shared.is_empty());
    assert!(report_of(&rendering.agents[0]).contains("dropped display_name: `AGENTS.md` does not"));
}

#[test]
fn project_settings_that_add_tools_are_refused() {
    let cases = [
        (r#"{"subagents":{"agentOverrides":{"helper":{"tools":"inherit"}}}}"#, true),
        (r#"{"subagents":{"agentOverrides":{"helper":{"tools":["bash"]}}}}"#, true),
        (r#"{"subagents":{"agentOverridesByProvider":{"p":{"helper":{"tools":false}}}}}"#, true),
        (r#"{"subagents":{"agentOverrides":{"other":{"tools":"inherit"}}}}"#, false),
        (r#"{"subagents":{"agentOverrides":{"helper":{"model":"x"}}}}"#, false),
    ];
    for (settings, refused) in cases {
        let existing = [(".pi/settings.json", settings)];
        let rendered = one("pi", "", Wish { existing: &existing, ..Wish::default() });
        assert_eq!(rendered.refused.is_some(), refused, "{settings}: {}", report_of(&rendered));
    }
}

#[test]
fn secret_reads_are_a_gap_that_close_gaps_closes() {
    let rendered = one("pi", ALL, Wish::default());
    assert!(report_of(&rendered).contains(
        "gap permissions.read: secrets: Pi does not check them; `/workspace/.env` is ask"
    ));
    let closed = one("pi", ALL, Wish { close_gaps: true, ..Wish::default() });
    assert_eq!(field(file(&closed, "helper.md"), "tools").as_deref(), Some(NONE));
    assert!(!report_of(&closed).contains("gap "), "{}", report_of(&closed));
}

#[test]
fn the_user_scope_renders_to_the_home_directory() {
    let rendering = with(&agent("helper", ""), &[], RenderScope::User);
    assert!(rendering.agents[0].refused.is_none());
    assert_eq!(rendering.agents[0].files[0].path, ".pi/agent/agents/helper.md");
    assert_eq!(rendering.shared[0].path, ".pi/agent/AGENTS.md");
}

#[test]
fn large_prompts_and_special_characters_are_rendered() {
    let mut files = agent("helper", "");
    files[1].1 = "All work and no play. ".repeat(5_000);
    let rendered = rendering("pi", &files, Wish::default()).agents.remove(0);
    assert!(file(&rendered, "helper.md").len() > 100_000);
    let rules = r#"rules = ["a'b \"c\" ) : * ? [x] {a,b} $(y):deny", "10:allow"]"#;
    let lines = format!("{ALL}[permissions.websearch]\nintent = \"ask\"\n{rules}\n");
    assert!(one("pi", &lines, Wish::default()).refused.is_none());
}

#[test]
fn renders_the_chiron_sample() {
    let rendering = rendering("pi", &crate::chiron::files(), Wish::default());
    insta::assert_snapshot!(crate::chiron::shown(&rendering));
}

#[test]
fn an_imported_agent_renders_with_the_same_fields() {
    let target = target("pi").expect("a target");
    for lines in ["", ALL, "max_turns = 7\n[permissions.edit]\nintent = \"deny\"\n"] {
        let first = one("pi", lines, Wish::default());
        let text = file(&first, ".pi/agents/helper.md");
        let files = [(".pi/agents/helper.md", text)];
        let imported =
            import(target, &ListedFiles(&files), ".pi/agents/helper.md").expect("an agent");
        let mut subject = subjects(&agent("helper", lines)).remove(0);
        let permissions = imported.agent.policy.permissions.clone().expect("always some");
        let places = subject.judge.places().clone();
        let place = agentry_compile::policy::PolicyContext::default();
        let layers = agentry_compile::policy::layers(&imported.agent.policy, &place, &places);
        subject.judge = agentry_compile::policy::Judge::new(layers, places);
        subject.permissions = permissions;
        subject.agent.behaviour = imported.agent.behaviour;
        let existing_files = ListedFiles::default();
        let settings = RenderSettings { shared: true, ..RenderSettings::new(&existing_files) };
        let second = render(target, &[subject], &settings).agents.remove(0);
        let again = file(&second, ".pi/agents/helper.md");
        assert_eq!(field(again, "tools"), field(text, "tools"), "{lines}");
        assert_eq!(field(again, "toolBudget"), field(text, "toolBudget"), "{lines}");
    }
}

#[test]
fn import_is_as_lenient_as_pi() {
    let target = target("pi").expect("a target");
    let imported = |text: &str| {
        let text = text.to_owned();
        let files = [(".pi/agents/x.md", &*text)];
        import(target, &ListedFiles(&files), ".pi/agents/x.md")
    };
    let text = "\u{feff}---\r\nname: x\r\ndescription: Use this: x \"y\"\r\ntools:\r\n  - read\r\n  - mcp:db/query\r\n  - edit\r\nthinking: high\r\n---\r\nBe kind.\r\n";
    let read = imported(text).expect("an agent");
    assert_eq!(read.agent.identity.description.as_ref().expect("one").value, "Use this: x \"y\"");
    let details: Vec<_> =
        read.losses.iter().map(|it| format!("{}: {}", it.field, it.detail)).collect();
    let kept = read.agent.extension("x-harness").and_then(|it| it.get("pi")?.get("thinking"));
    assert_eq!(kept.and_then(agentry_compile::text::Data::as_str), Some("high"));
    let one = "permissions: `edit` is a part of what `write` does, and is not granted alone";
    assert!(details.contains(&one.to_owned()), "{details:?}");
    let permissions = read.agent.policy.permissions.expect("some");
    let verdicts: Vec<String> = permissions
        .sections
        .iter()
        .map(|it| {
            let rules: Vec<String> = it.rules.iter().map(|rule| rule.to_string()).collect();
            let intent = it.intent.expect("one").value;
            format!("{} {intent} {}", it.section.value, rules.join(" "))
        })
        .collect();
    assert!(verdicts.contains(&"read allow ".to_owned()), "{verdicts:?}");
    assert!(verdicts.contains(&"edit deny ".to_owned()), "{verdicts:?}");
    assert!(verdicts.contains(&"mcp deny db/query:allow".to_owned()), "{verdicts:?}");

    for broken in [
        "no metadata",
        "---\nname: x\n---\n",
        "---\nname: x\ndescription: y\npermission: {bash: deny}\n---\n",
        "---\nname: x\ndescription: y\nrunner: {type: external-cli, command: rm}\n---\n",
    ] {
        assert!(imported(broken).is_err(), "{broken}");
    }
}
