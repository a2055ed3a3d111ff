//! `agentry convert`: the meaning of an agent does not change.

use crate::test::{HELPER, Ran, Test};

/// Converts and returns the run, which must have succeeded.
fn convert(test: &Test, from: &str, to: &str, output: &str) -> Ran {
    test.run(&format!("convert {from} --to {to} -o {output}")).exits(0)
}

/// The losses of a run with `--format json`, as `field kind`.
fn losses(test: &Test, from: &str, to: &str, output: &str) -> Vec<String> {
    let args = format!("convert {from} --to {to} -o {output} --format json");
    let json = test.run(&args).exits(0).json();
    let losses = json["losses"].as_array().expect("losses").clone();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or("").to_owned();
    losses.iter().map(|loss| format!("{} {}", word(&loss["field"]), word(&loss["kind"]))).collect()
}

const WITH_SERVERS: &str = "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n\
    trust: {filesystem: full, network: allowed, exec: full}\n\
    tools:\n  mcp:\n\
    \x20   - name: db\n      command: db-server\n      env: {DB_URL: env.DB_URL, MODE: fast}\n\
    \x20   - name: web\n      url: https://example.com/mcp\n      headers: {X-Key: env.WEB_KEY}\n";

/// A manifest writes `env.NAME`, the others `${env:NAME}`.
#[test]
fn references_to_variables_are_translated() {
    let test = Test::new().file("helper.agent", WITH_SERVERS);
    for (format, file) in [("agent-dir", "tools/db.md"), ("agentfs", "agent.json")] {
        convert(&test, "helper.agent", format, format);
        let written = test.read(format!("{format}/{file}"));
        assert!(written.contains("${env:DB_URL}") && !written.contains("env.DB_URL"), "{written}");
        let back = format!("{format}.agent");
        convert(&test, format, "manifest", &back);
        let written = test.read(&back);
        for part in ["DB_URL: env.DB_URL", "X-Key: env.WEB_KEY", "MODE: fast"] {
            assert!(written.contains(part), "{part} in {format}:\n{written}");
        }
    }
}

/// Plain text of one format must not become a reference to a variable.
#[test]
fn plain_text_never_becomes_a_variable_reference() {
    let tool = "---\nkind: mcp\ncommand: db-server\nenv:\n  STAGE: env.production\n---\n";
    let test = Test::new()
        .file("agents/db/instructions.md", "You answer questions.\n")
        .file("agents/db/tools/db.md", tool);
    let lost = losses(&test, "agents/db", "manifest", "db.agent");
    assert!(lost.contains(&"tools.mcp.db.env dropped".to_owned()), "{lost:?}");
    assert!(!test.read("db.agent").contains("production"));
}

const GATED: &str = "---\nstatus: disabled\nrequired:\n  env: [API_KEY]\n  startup: ping\n---\n\
    # Helper\n\nAnswers questions.\n\n## Tools\n\n```js\nreturn {\n  ping: {\n    \
    fn: async () => ({ ok: true }),\n    scheme: { name: 'ping', description: 'Answers', \
    parameters: { type: 'object', properties: {} } },\n  },\n};\n```\n";

/// An agent that does not start must not start in another format.
#[test]
fn start_conditions_are_kept() {
    let test = Test::new().file("agents/help_helper.agent.md", GATED);
    for format in ["agent-toml", "manifest", "agentfs", "agent-dir"] {
        let output = format!("out/{format}/helper");
        let lost = losses(&test, "agents/help_helper.agent.md", format, &output);
        for field in ["status", "required.env", "required.startup"] {
            assert!(lost.contains(&format!("{field} changed")), "{format}: {lost:?}");
        }
        let shown = test.run(&format!("show {output} --format json")).exits(0).json();
        assert_eq!(shown["status"], "disabled", "{format}");
        assert_eq!(shown["required"]["env"][0], "API_KEY", "{format}");
        assert_eq!(shown["required"]["startup"], "ping", "{format}");
        // The tool itself has no place in these formats, so `check` says that the agent can never start.
        let ran = test.run(&format!("check {output}")).exits(1);
        assert!(ran.stdout.contains("the start-up tool `ping` does not exist"), "{ran}");
        assert!(ran.stdout.contains("1 error"), "{ran}");
    }
    convert(&test, "out/manifest/helper", "agentfs", "twice");
    let shown = test.run("show twice --format json").exits(0).json();
    assert_eq!(shown["status"], "disabled");
}

/// The format has the field but would not accept the value: nothing is written.
#[test]
fn losing_a_start_condition_is_refused() {
    let manifest = format!("{HELPER}extensions: {{x-agentry: {{required: {{env: [API-KEY]}}}}}}\n");
    let test = Test::new().file("helper.agent", manifest);
    insta::assert_snapshot!(test.run("convert helper.agent --to agent-md -o x.agent.md"), @r#"
    $ agentry convert helper.agent --to agent-md -o x.agent.md
    --- stderr
    error: `helper.agent` cannot be written as agent-md without widening it: the source requires the variable `API-KEY`
      = help: choose a format that can say it, such as agent-toml
    --- exit 1
    "#);
    assert!(!test.has("x.agent.md"));
}

/// Added values are reported, and are no losses.
#[test]
fn added_values_are_reported() {
    let test = Test::new().file("helper.agent", "name: helper\nsoul: You answer questions.\n");
    insta::assert_snapshot!(test.run("convert helper.agent --to agent-toml -o helper"), @r#"
    $ agentry convert helper.agent --to agent-toml -o helper
    --- stdout
    wrote helper/agent.toml
    wrote helper/system-prompt.md
    lost in agent-toml:
      trust  changed  written as `permissions`
    --- exit 0
    "#);
    let test = Test::new().file("bare.agent", "name: bare\n");
    insta::assert_snapshot!(test.run("convert bare.agent --to agent-dir -o bare --strict"), @r#"
    $ agentry convert bare.agent --to agent-dir -o bare --strict
    --- stdout
    would write bare/instructions.md
    would write bare/agent.acl
    lost in agent-dir:
      trust  changed  kept in `x_agentry` of `agent.acl`, which only Agentry reads
    added in agent-dir:
      description             `"You are bare."` is not in the source
      prompt.boundaries       Agentry adds this part to the prompt of agent-dir
      prompt.response_format  Agentry adds this part to the prompt of agent-dir
      prompt.tool_contract    Agentry adds this part to the prompt of agent-dir
      prompt.verification     Agentry adds this part to the prompt of agent-dir
      system                  `"You are bare."` is not in the source
    --- stderr
    error: something would be lost; nothing was written (`--strict`)
    --- exit 1
    "#);
    let test = Test::new().file("helper/instructions.md", "You answer questions.\n");
    insta::assert_snapshot!(test.run("convert helper --to agent-md -o a_helper.agent.md --strict"), @r#"
    $ agentry convert helper --to agent-md -o a_helper.agent.md --strict
    --- stdout
    would write a_helper.agent.md
    lost in agent-md:
      prompt.boundaries       dropped  this part of the prompt is not in the result
      prompt.response_format  dropped  this part of the prompt is not in the result
      prompt.tool_contract    dropped  this part of the prompt is not in the result
      prompt.verification     dropped  this part of the prompt is not in the result
    added in agent-md:
      category      `"a"` is not in the source
      display_name  `"Helper"` is not in the source
    --- stderr
    error: something would be lost; nothing was written (`--strict`)
    --- exit 1
    "#);
}

/// A grant that presupposes the sandbox is no grant in a format that cannot say so.
#[test]
fn sandboxed_exec_never_becomes_a_plain_shell() {
    let trust = "trust: {filesystem: full, network: allowed, exec: sandboxed}\n";
    let manifest = format!("name: helper\ndescription: Works\nsoul: You work.\n{trust}");
    let test = Test::new().file("agentry.toml", "").file("helper.agent", &manifest);
    for format in ["agent-toml", "agentfs", "agent-dir", "agent-md"] {
        let output = match format {
            "agent-md" => "agents/dev_helper.agent.md".to_owned(),
            _ => format!("out/{format}/helper"),
        };
        let lost = losses(&test, "helper.agent", format, &output);
        assert!(lost.contains(&"trust.exec narrowed".to_owned()), "{format}: {lost:?}");
        let why = test.run_args(&["policy", "why", &output, "bash", "make"]);
        assert_eq!(why.stdout.lines().next(), Some("deny"), "{format}: {why}");
    }
    // The same format keeps it, and a full shell stays one.
    let lost = losses(&test, "helper.agent", "manifest", "copy/helper.agent");
    assert!(!lost.iter().any(|it| it.starts_with("trust.exec")), "{lost:?}");
    test.write("full.agent", manifest.replace("sandboxed", "full"));
    losses(&test, "full.agent", "agent-toml", "full");
    let why = test.run_args(&["policy", "why", "full", "bash", "make"]);
    assert_eq!(why.stdout.lines().next(), Some("allow"), "{why}");
}

const SPOKEN: &str = "name: helper\ndescription: Answers questions\n{SOUL}behavior:\n  \
    persona: security-auditor\n  traits: [be-concise, Never shout]\n  \
    system_override: Only speak in rhymes.\ntrust: {filesystem: read-only}\n";

/// Role, traits and override are sent in every format, in the same order, and never more than before.
#[test]
fn prompt_parts_are_kept_in_every_format() {
    let prompt_texts = [
        "You are kind.",
        "Your role: security auditor.",
        "Use as few words as the matter allows.",
        "Never shout",
        "Only speak in rhymes.",
    ];
    let formats = ["agent-md", "agent-toml", "manifest", "agent-dir", "agentfs"];
    for (soul, expected) in [("soul: You are kind.\n", &prompt_texts[..]), ("", &prompt_texts[4..])]
    {
        let test = Test::new().file("helper.agent", SPOKEN.replace("{SOUL}", soul));
        for format in formats {
            let output = if format == "agent-md" { "out.agent.md" } else { format };
            convert(&test, "helper.agent", format, output);
            let prompt = test.run(&format!("show {output} --prompt")).exits(0).stdout;
            for text in prompt_texts {
                let is_expected = expected.contains(&text);
                assert_eq!(prompt.contains(text), is_expected, "{format}: {text}\n{prompt}");
            }
            let lost = losses(&test, "helper.agent", format, &format!("again-{format}"));
            let dropped = |field: &str| lost.contains(&format!("{field} dropped"));
            let is_unused = soul.is_empty() && format != "manifest";
            assert_eq!(dropped("role"), is_unused, "{format}: {lost:?}");
            assert_eq!(dropped("traits"), is_unused, "{format}: {lost:?}");
        }
    }
}
