//! Bases in the other formats, and chains of mixed formats.

use agentry_compile::policy::{Action, Judge, Section, SectionCall};
use agentry_compile::{CompiledAgent, MemoryWorld, WorldLinks, own_layers, places, prompt};

use super::{checked, errors};
use crate::world::world;

fn verdict(
    world: &MemoryWorld,
    compiled: &CompiledAgent,
    section: Section,
    subject: &str,
) -> Action {
    let places = places(world, &compiled.workspace);
    let judge = Judge::new(own_layers(compiled, &places), places);
    let directory = judge.places().workspace.clone();
    judge.judge(SectionCall { section, subject, directory: &directory }, &WorldLinks(world)).action
}

const BASE: &str = "name: base\ndescription: Answers questions\nrules: Never lie.\n\
    trust: {filesystem: scoped, scope: [./notes], network: allowed, exec: sandboxed}\n";

/// The same child in the four other formats, each with a way to name its base.
fn children() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let entry = |text| ("agentry.toml", text);
    vec![
        (
            "x",
            vec![
                entry("[bases]\n\"x\" = \"./base.agent\"\n"),
                ("x/agent.toml", "name = \"x\"\ndescription = \"Answers\"\n"),
                ("x/system-prompt.md", "You answer.\n"),
            ],
        ),
        (
            "x",
            vec![
                entry("[bases]\n\"./x/agent.toml\" = \"base.agent\"\n"),
                ("x/agent.toml", "name = \"x\"\ndescription = \"Answers\"\n"),
                ("x/system-prompt.md", "You answer.\n"),
            ],
        ),
        (
            "agents/a_x.agent.md",
            vec![(
                "agents/a_x.agent.md",
                "---\ntitle: X\nicon: 🙂\nversion: 1.0.0\nx-agentry:\n  base: ../base.agent\n---\n# X\n\nAnswers.\n\n## System\n\nYou answer.\n",
            )],
        ),
        (
            "agents/a_x.agent.md",
            vec![
                entry("[bases]\n\"agents/a_x.agent.md\" = \"./base.agent\"\n"),
                (
                    "agents/a_x.agent.md",
                    "---\ntitle: X\nicon: 🙂\nversion: 1.0.0\n---\n# X\n\nAnswers.\n\n## System\n\nYou answer.\n",
                ),
            ],
        ),
        (
            "x",
            vec![
                (
                    "x/agent.json",
                    "{\"name\": \"x\", \"version\": \"1.0.0\", \"role\": \"helper\", \"x-agentry\": {\"base\": \"../base.agent\"}}",
                ),
                ("x/persona.md", "You answer.\n"),
                ("x/principles.md", "## Never Do\n\n- shout\n"),
            ],
        ),
        (
            "x",
            vec![
                ("x/instructions.md", "You answer.\n"),
                ("x/agent.acl", "x_agentry {\n  base = \"../base.agent\"\n}\n"),
            ],
        ),
        (
            "x",
            vec![
                entry("[bases]\nx = \"./base.agent\"\n"),
                ("x/instructions.md", "You answer.\n"),
                ("x/agent.acl", "\n"),
            ],
        ),
    ]
}

#[test]
fn every_format_can_inherit() {
    for (path, mut files) in children() {
        files.push(("base.agent", BASE));
        let world = world(&files);
        let compiled = checked(&world, path);
        let case = format!("{files:?}");
        assert_eq!(errors(&compiled), Vec::<String>::new(), "{case}");
        assert_eq!(compiled.bases.len(), 1, "{case}");
        let parts: Vec<_> = prompt(&world, &compiled).into_iter().map(|part| part.text).collect();
        assert!(parts.iter().any(|text| text.contains("You answer.")), "{case}");
        assert!(parts.iter().any(|text| text.contains("Never lie.")), "{case}");
        let cases = [
            (Section::Edit, "notes/x.md", Action::Allow),
            (Section::Edit, "src/x.rs", Action::Deny),
            (Section::Bash, "ls", Action::Allow),
        ];
        for (section, subject, expected) in cases {
            assert_eq!(verdict(&world, &compiled, section, subject), expected, "{subject} {case}");
        }
    }
}

#[test]
fn a_base_may_be_of_any_format() {
    for (path, mut files) in children() {
        files.push(("base.agent", BASE));
        let path = format!("./{path}");
        let child =
            format!("name: last\ndescription: Answers\nbase: {path}\nrules: Never guess.\n");
        files.push(("last.agent", &child));
        let world = world(&files);
        let compiled = checked(&world, "last.agent");
        assert_eq!(errors(&compiled), Vec::<String>::new(), "{path}");
        assert_eq!(compiled.bases.len(), 2, "{path}");
        let rules: Vec<_> =
            prompt(&world, &compiled).into_iter().filter(|part| part.name == "rules").collect();
        assert!(rules.first().is_some_and(|part| part.text.contains("Never lie.")), "{path}");
        assert!(rules.last().is_some_and(|part| part.text.contains("Never guess.")), "{path}");
        assert_eq!(verdict(&world, &compiled, Section::Edit, "src/x.rs"), Action::Deny, "{path}");
    }
}

/// How skills are merged in each mode, wherever the mode is written.
#[test]
fn every_format_can_set_the_merge_strategy() {
    let base =
        "name: base\ndescription: Answers\nsoul: You answer.\nskills: [read-file, list-files]\n";
    let cases = [
        ("append", "read-file list-files write-file"),
        ("override", "list-files write-file"),
        ("restrict", "list-files"),
    ];
    for (word, expected) in cases {
        let entry =
            format!("[bases.x]\nbase = \"./base.agent\"\nmerge = {{ skills = \"{word}\" }}\n");
        let toml =
            "name = \"x\"\ndescription = \"Answers\"\nskills = [\"list-files\", \"write-file\"]\n";
        let own = format!(
            "{{\"name\": \"x\", \"mcp_servers\": {{\"list-files\": {{\"command\": \"a\"}}, \"write-file\": {{\"command\": \"b\"}}}}, \"x-agentry\": {{\"base\": \"../base.agent\", \"merge\": {{\"tools\": \"{word}\"}}}}}}"
        );
        let configured = world(&[
            ("base.agent", base),
            ("agentry.toml", &entry),
            ("x/agent.toml", toml),
            ("x/system-prompt.md", "You answer.\n"),
        ]);
        let written = world(&[
            ("base.agent", &format!("{base}{SERVERS}")),
            ("x/agent.json", &own),
            ("x/persona.md", "You answer.\n"),
            ("x/principles.md", "## Never Do\n\n- shout\n"),
        ]);
        let compiled = checked(&configured, "x");
        assert_eq!(errors(&compiled), Vec::<String>::new(), "{word}");
        let skills = compiled.whole().skills.as_deref().unwrap_or_default();
        let names: Vec<_> = skills.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{word}");
        let compiled = checked(&written, "x");
        let servers = compiled.whole().tools.mcp.as_deref().unwrap_or_default();
        let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{word}");
    }
}

const SERVERS: &str =
    "tools:\n  mcp:\n    - {name: read-file, command: a}\n    - {name: list-files, command: a}\n";

#[test]
fn an_unknown_merge_strategy_is_an_error() {
    let world = world(&[
        ("base.agent", BASE),
        ("agentry.toml", "[bases.x]\nbase = \"./base.agent\"\nmerge = { skills = \"both\" }\n"),
        ("x/agent.toml", "name = \"x\"\ndescription = \"Answers\"\n"),
        ("x/system-prompt.md", "You answer.\n"),
    ]);
    let config = agentry_compile::WorkspaceConfig::read(&world, "");
    let found: Vec<_> = config.diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found.iter().any(|message| message.contains("both")), "{found:?}");
}

/// Turns are a budget where a format defines them so: the smaller number counts.
#[test]
fn the_smaller_max_turns_of_base_and_child_counts() {
    let toml = |name: &str, turns: u32| {
        format!("name = \"{name}\"\ndescription = \"Answers\"\nmax_turns = {turns}\n")
    };
    for (base, child, expected) in [(5, 9, 5), (9, 5, 5), (7, 7, 7)] {
        let (base, child) = (toml("base", base), toml("x", child));
        let world = world(&[
            ("agentry.toml", "[bases]\nx = \"base\"\n"),
            ("base/agent.toml", &base),
            ("base/system-prompt.md", "You answer.\n"),
            ("x/agent.toml", &child),
            ("x/system-prompt.md", "You answer.\n"),
        ]);
        let compiled = checked(&world, "x");
        let turns = compiled.whole().behaviour.max_turns.as_ref().map(|turns| turns.value);
        assert_eq!(turns, Some(expected), "{base} {child}");
    }
}

/// Rules of both are layers: the strictest verdict counts, and a section that the child omits is the base's.
#[test]
fn the_stricter_rule_of_base_and_child_counts() {
    let world = world(&[
        ("agentry.toml", "[bases]\n\"child\" = \"base\"\n"),
        (
            "base/agent.toml",
            "name = \"base\"\ndescription = \"Answers\"\n[permissions.bash]\nintent = \"ask\"\nrules = [\"git log *:allow\", \"rm *:deny\"]\n[permissions.edit]\nintent = \"allow\"\n",
        ),
        ("base/system-prompt.md", "You answer.\n"),
        (
            "child/agent.toml",
            "name = \"child\"\ndescription = \"Answers\"\n[permissions.bash]\nintent = \"allow\"\nrules = [\"git log -p *:deny\"]\n",
        ),
        ("child/system-prompt.md", "You answer.\n"),
    ]);
    let compiled = checked(&world, "child");
    assert_eq!(errors(&compiled), Vec::<String>::new());
    let cases = [
        (Section::Bash, "git log -1", Action::Allow),
        (Section::Bash, "git log -p x", Action::Deny),
        (Section::Bash, "rm x", Action::Deny),
        (Section::Bash, "make", Action::Ask),
        (Section::Edit, "x", Action::Allow),
        (Section::Question, "well", Action::Allow),
    ];
    for (section, subject, expected) in cases {
        assert_eq!(verdict(&world, &compiled, section, subject), expected, "{subject}");
    }
}

/// What the child omits is the base's, also if the base writes it in another notation.
#[test]
fn sections_are_inherited_across_notations() {
    let world = world(&[
        ("agentry.toml", "[bases]\nchild = \"base.agent\"\n"),
        ("base.agent", BASE),
        (
            "child/agent.toml",
            "name = \"child\"\ndescription = \"Answers\"\n[permissions.bash]\nintent = \"deny\"\n",
        ),
        ("child/system-prompt.md", "You answer.\n"),
    ]);
    let compiled = checked(&world, "child");
    assert_eq!(errors(&compiled), Vec::<String>::new());
    let cases = [
        (Section::Bash, "ls", Action::Deny),
        (Section::Edit, "notes/x.md", Action::Allow),
        (Section::Edit, "x.md", Action::Deny),
        (Section::Webfetch, "https://a.org/", Action::Allow),
        (Section::Question, "well", Action::Allow),
    ];
    for (section, subject, expected) in cases {
        assert_eq!(verdict(&world, &compiled, section, subject), expected, "{subject}");
    }
}

/// A base without a policy has the verdict `ask` for everything, and so has its child.
#[test]
fn a_base_without_a_policy_asks() {
    let world = world(&[
        ("team/instructions.md", "You answer.\n"),
        ("child.agent", "name: child\nbase: ./team\ntrust: {filesystem: full, exec: full}\n"),
    ]);
    let compiled = checked(&world, "child.agent");
    assert_eq!(errors(&compiled), Vec::<String>::new());
    assert_eq!(verdict(&world, &compiled, Section::Bash, "ls"), Action::Ask);
    assert_eq!(verdict(&world, &compiled, Section::Edit, "x"), Action::Ask);
    assert_eq!(verdict(&world, &compiled, Section::Webfetch, "https://a.org/"), Action::Deny);
}

#[test]
fn a_bases_entry_for_an_unknown_agent_is_an_error() {
    let world = world(&[
        ("agentry.toml", "[bases]\n\"agnets/x\" = \"./base.agent\"\n"),
        ("base.agent", &format!("{BASE}soul: You answer.\n")),
    ]);
    let found = crate::world::report(&world);
    assert_eq!(found, ["agentry.toml:2:1 error[AG0033] there is no agent `agnets/x`"]);
}

#[test]
fn errors_point_at_the_entry_or_the_block() {
    let cases = [
        (
            vec![
                ("agentry.toml", "[bases]\n\"x\" = \"./none.agent\"\n"),
                ("x/instructions.md", "You answer.\n"),
            ],
            "agentry.toml",
        ),
        (
            vec![
                ("x/instructions.md", "You answer.\n"),
                ("x/agent.acl", "x_agentry {\n  base = \"./none.agent\"\n}\n"),
            ],
            "x/agent.acl",
        ),
        (
            vec![
                (
                    "x/agent.json",
                    "{\"name\": \"x\", \"llm\": {}, \"x-agentry\": {\"base\": \"./none.agent\"}}",
                ),
                ("x/persona.md", "You.\n"),
            ],
            "x/agent.json",
        ),
    ];
    for (files, expected) in cases {
        let world = world(&files);
        let compiled = checked(&world, "x");
        let found = compiled.diagnostics.iter().find(|it| it.rule.code == "AG0031").expect("one");
        assert_eq!(compiled.sources.path(found.span), expected);
        assert!(compiled.sources.slice(found.span).contains("./none.agent"));
        assert!(compiled.sources.slice(found.span).len() <= "\"./none.agent\"".len());
    }
}
