//! Bases of the other formats, and chains of mixed ones.

use agentry_compile::policy::{Action, Call, Judge, Section};
use agentry_compile::{Compiled, Links, MemoryWorld, own_layers, places, prompt};

use super::{checked, errors};
use crate::world::world;

fn verdict(world: &MemoryWorld, compiled: &Compiled, section: Section, subject: &str) -> Action {
    let places = places(world, &compiled.workspace);
    let judge = Judge::new(own_layers(compiled, &places), places);
    let directory = judge.places().workspace.clone();
    judge.judge(Call { section, subject, directory: &directory }, &Links(world)).action
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
fn every_format_has_bases() {
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

/// Rules of both are layers: the strictest answer counts, and a section that the child does not write
/// is the base's.
#[test]
fn rules_of_base_and_child_hold_together() {
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
        (Section::Question, "well", Action::Ask),
    ];
    for (section, subject, expected) in cases {
        assert_eq!(verdict(&world, &compiled, section, subject), expected, "{subject}");
    }
}

/// What the child does not write is the base's, also where the base says it in other words.
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
        (Section::Question, "well", Action::Ask),
    ];
    for (section, subject, expected) in cases {
        assert_eq!(verdict(&world, &compiled, section, subject), expected, "{subject}");
    }
}

/// A base that says nothing about what it may do is asked about everything, and so is its child.
#[test]
fn a_silent_base_lets_nothing_pass_unasked() {
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
fn an_entry_that_names_nobody_is_an_error() {
    let world = world(&[
        ("agentry.toml", "[bases]\n\"agnets/x\" = \"./base.agent\"\n"),
        ("base.agent", BASE),
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
