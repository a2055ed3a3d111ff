//! Agents that inherit, through the commands.

use crate::test::Test;

const BASE: &str = "name: base\ndescription: Answers questions\nsoul: You answer questions.\n\
    rules: Never lie.\ntrust: {filesystem: scoped, scope: [./notes], exec: sandboxed}\n\
    observability: {step_limit: 20}\n";

fn chain() -> Test {
    Test::new().file("bases/base.agent", BASE).file(
        "child.agent",
        "name: child\nbase: bases/base.agent\nrules: Never guess.\nskills: [git]\n",
    )
}

#[test]
fn show_names_the_origin_of_inherited_fields() {
    insta::assert_snapshot!(chain().run("show child.agent"), @r#"
    $ agentry show child.agent
    --- stdout
    child.agent (manifest)

    name               child                  child.agent:1
    description        Answers questions      bases/base.agent:2
    version            0.1.0                  default
    base               bases/base.agent       child.agent:2
    system             You answer questions.  bases/base.agent:3
    base_rules[0]      Never lie.             bases/base.agent:4
    rules              Never guess.           child.agent:3
    model.capability   reasoning-mid          default
    model.context      full                   default
    auth.strategy      auto                   default
    temperature        0.5                    default
    max_turns          20                     default
    on_error           ask                    default
    budget.trace       false                  default
    budget.step_limit  20                     bases/base.agent:6
    budget.on_exceed   abort                  default
    trust.filesystem   scoped                 bases/base.agent:5
    trust.network      none                   default
    trust.exec         sandboxed              bases/base.agent:5
    trust.scope[0]     bases/notes            bases/base.agent:5
    skills[0].name     git                    child.agent:4
    memory.working     session                default
    memory.long_term   none                   default
    memory.shared      false                  default
    --- exit 0
    "#);
    insta::assert_snapshot!(chain().run("show child.agent --declared"), @r#"
    $ agentry show child.agent --declared
    --- stdout
    child.agent (manifest)

    name            child             child.agent:1
    base            bases/base.agent  child.agent:2
    rules           Never guess.      child.agent:3
    skills[0].name  git               child.agent:4
    --- exit 0
    "#);
    let test = chain().file("agentry.toml", crate::show::NO_ENVIRONMENT);
    insta::assert_snapshot!(test.run("show child.agent --prompt"), @r#"
    $ agentry show child.agent --prompt
    --- stdout
    ── system (bases/base.agent:3)
    You answer questions.

    ── rules (bases/base.agent:4)
    ## Hard Rules
    Never lie.

    ── rules (child.agent:3)
    ## Hard Rules
    Never guess.

    --- exit 0
    "#);
}

#[test]
fn policy_commands_use_the_inherited_policy() {
    let test = chain();
    insta::assert_snapshot!(test.run("policy why child.agent edit bases/notes/x.md"), @r#"
    $ agentry policy why child.agent edit bases/notes/x.md
    --- stdout
    allow

      bases/notes/x.md  allow  scope: bases/notes/**  bases/base.agent:5:37 (trust)
    --- exit 0
    "#);
    insta::assert_snapshot!(test.run("policy why child.agent edit notes/x.md"), @r#"
    $ agentry policy why child.agent edit notes/x.md
    --- stdout
    deny

      notes/x.md  deny  filesystem: scoped  bases/base.agent:5:21 (trust)
    --- exit 0
    "#);
    let diff = test.run("policy diff bases/base.agent child.agent").exits(0);
    assert!(diff.stdout.contains("nothing gained"), "{diff}");
}

#[test]
fn only_the_full_digest_includes_the_base() {
    let test = chain();
    let digests = || {
        let full = test.run("hash --full child.agent").exits(0).stdout;
        (test.run("hash child.agent").exits(0).stdout, full)
    };
    let before = digests();
    test.write("bases/base.agent", BASE.replace("20", "10"));
    let after = digests();
    assert_eq!(before.0, after.0);
    assert_ne!(before.1, after.1);
}

#[test]
fn convert_inlines_inherited_fields() {
    let test = chain();
    test.run("convert child.agent --to agent-toml -o child").exits(0);
    let prompt = test.read("child/system-prompt.md");
    assert!(prompt.contains("You answer questions.") && prompt.contains("Never lie."), "{prompt}");
    let written = test.read("child/agent.toml");
    assert!(written.contains("bases/notes/**:allow"), "{written}");
    test.run("convert child.agent --to manifest -o kept.agent").exits(0);
    let kept = test.read("kept.agent");
    assert!(kept.contains("base: bases/base.agent") && !kept.contains("Never lie."), "{kept}");
    test.run("convert child.agent --to manifest --resolved -o whole.agent").exits(0);
    let whole = test.read("whole.agent");
    assert!(!whole.contains("base:") && whole.contains("Never lie."), "{whole}");
    let digest = |path: &str| test.run(&format!("policy diff child.agent {path}")).exits(0).stdout;
    assert!(digest("whole.agent").contains("nothing gained, nothing lost"));
    assert!(digest("kept.agent").contains("nothing gained, nothing lost"));
}

#[test]
fn a_configured_base_is_kept_in_a_manifest() {
    let test = Test::new()
        .file("agentry.toml", "[bases]\n\"agents/child\" = \"./bases/base.agent\"\n")
        .file("bases/base.agent", BASE)
        .file("agents/child/agent.toml", "name = \"child\"\ndescription = \"Answers\"\n")
        .file("agents/child/system-prompt.md", "You answer.\n");
    test.run("check --deny-warnings").exits(0);
    test.run("convert agents/child --to manifest -o agents/other/child.agent").exits(0);
    let written = test.read("agents/other/child.agent");
    assert!(written.contains("base: ../../bases/base.agent"), "{written}");
    insta::assert_snapshot!(test.run("show agents/child"), @r#"
    $ agentry show agents/child
    --- stdout
    agents/child (agent-toml)

    name               child               agents/child/agent.toml:1
    description        Answers             agents/child/agent.toml:2
    tags               []                  default
    mode               all                 default
    base               ./bases/base.agent  agentry.toml:2
    system             You answer.         agents/child/system-prompt.md:1
    base_rules[0]      Never lie.          bases/base.agent:4
    context            []                  default
    rule_files         []                  default
    budget.trace       false               default
    budget.step_limit  20                  bases/base.agent:6
    budget.on_exceed   abort               default
    trust.filesystem   scoped              bases/base.agent:5
    trust.network      none                default
    trust.exec         sandboxed           bases/base.agent:5
    trust.scope[0]     ../../bases/notes   bases/base.agent:5
    skills             []                  default
    --- exit 0
    "#);
}

#[test]
fn a_translated_policy_stays_within_the_base() {
    let child = "---\ntitle: Child\nicon: 🙂\nversion: 1.0.0\nabilities: [fs, sh, network]\n\
        x-agentry: {base: ./bases/base.agent}\n---\n# Child\n\nAnswers.\n";
    let test = Test::new().file("bases/base.agent", BASE).file("a_child.agent.md", child);
    test.run("convert a_child.agent.md --to manifest -o kept.agent").exits(0);
    assert!(test.read("kept.agent").contains("base: ./bases/base.agent"));
    test.run("check kept.agent").exits(0);
    let diff = test.run("policy diff a_child.agent.md kept.agent").exits(0);
    assert!(!diff.stdout.contains("gained:"), "{diff}");
}

#[test]
fn secrets_of_a_base_are_masked() {
    let base = format!("{BASE}auth: {{providers: {{x: {{from: hunter2hunter2}}}}}}\n");
    let test = chain().file("bases/base.agent", base);
    let ran = test.run("check child.agent").exits(1);
    assert!(ran.stdout.contains("AG0036") && !ran.stdout.contains("hunter2"), "{ran}");
}

#[cfg(unix)]
#[test]
fn scopes_are_judged_by_symlink_targets() {
    let child = |scope: &str| {
        format!(
            "name: child\ndescription: Answers\nbase: ./base.agent\ntrust: {{filesystem: scoped, scope: [{scope}]}}\n"
        )
    };
    let cases = [("./in", 0), ("./notes/out", 1), ("./notes/deep", 0), ("./src", 1)];
    for (scope, exit) in cases {
        Test::new()
            .file("base.agent", BASE)
            .file("notes/deep/x", "")
            .file("src/x", "")
            .link("in", "notes/deep")
            .link("notes/out", "../src")
            .file("child.agent", child(scope))
            .run("check child.agent")
            .exits(exit);
    }
}

#[test]
fn a_missing_base_is_reported_with_the_chain() {
    let test = Test::new()
        .file("a.agent", "name: a\ndescription: Answers\nbase: ./b.agent\n")
        .file("b.agent", "name: b\ndescription: Answers\nbase: ./c.agent\n");
    insta::assert_snapshot!(test.run("check a.agent"), @r#"
    $ agentry check a.agent
    --- stdout
    error[AG0031]: the base `./c.agent` does not exist: `a.agent` → `b.agent` → `c.agent`
     --> a.agent:3:7
      |
    3 | base: ./b.agent
      |       ^^^^^^^^^
      |
      = help: a path starts at the file that names the base
    note: the base of `b.agent`
     --> b.agent:3:7
      |
    3 | base: ./c.agent
      |       ^^^^^^^^^

    checked 1 agent: 1 error
    --- exit 1
    "#);
}
