//! The system prompt of a manifest, and what a definition says that no model is sent.

use agentry_compile::{prompt, read};

use crate::world::{agents, report, world};

/// The parts of the prompt of a manifest, one a line.
fn parts(lines: &str) -> String {
    let world = world(&[("helper.agent", &format!("name: helper\ndescription: Helps\n{lines}"))]);
    let compiled = read(&world, &agents(&world, None).remove(0));
    let parts = prompt(&world, &compiled).into_iter();
    parts.map(|part| format!("{}: {}", part.name, part.text)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_parts_of_a_prompt_are_in_order() {
    let cases = [
        ("soul: I am.\n", "system: I am."),
        (
            "soul: I am.\nrules: Never lie.\nbehavior: {persona: security-auditor, traits: [calm], system_override: Be brief.}\n",
            "system: I am.\nrole: Your role: security auditor.\ntraits: calm\nsystem_override: Be brief.\nrules: ## Hard Rules\nNever lie.",
        ),
        (
            "soul: I am.\nbehavior: {system_override: Be brief.}\n",
            "system: I am.\nsystem_override: Be brief.",
        ),
        (
            "rules: Never lie.\nbehavior: {persona: auditor, traits: [calm], system_override: Be brief.}\n",
            "system_override: Be brief.\nrules: ## Hard Rules\nNever lie.",
        ),
        (
            "behavior: {persona: auditor, traits: [calm]}\n",
            "role: Your role: auditor.\ntraits: calm",
        ),
        ("behavior: {traits: [calm]}\n", "description: Helps\ntraits: calm"),
        ("", "description: Helps"),
        ("rules: Never lie.\n", "description: Helps\nrules: ## Hard Rules\nNever lie."),
    ];
    for (lines, expected) in cases {
        assert_eq!(parts(lines), expected, "{lines}");
    }
}

#[test]
fn only_a_slug_persona_is_split_into_words() {
    let cases = [
        ("security-auditor", "Your role: security auditor."),
        ("k8s-admin", "Your role: k8s admin."),
        ("State-of-the-art e-mail writer", "Your role: State-of-the-art e-mail writer."),
        ("a well-known writer", "Your role: a well-known writer."),
        ("Security-Auditor", "Your role: Security-Auditor."),
        ("'You are a co-author.'", "Your role: You are a co-author."),
        ("re-read: twice", "Your role: re-read: twice."),
    ];
    for (persona, expected) in cases {
        let persona =
            if persona.contains(": ") { format!("'{persona}'") } else { persona.to_owned() };
        let lines = format!("behavior:\n  persona: {persona}\n");
        assert_eq!(parts(&lines), format!("role: {expected}"), "{persona}");
    }
}

/// The codes of the findings, with their places.
fn places(files: &[(&str, &str)], code: &str) -> Vec<String> {
    let found = report(&world(files)).into_iter();
    let of_code = found.filter(|line| line.contains(code));
    of_code.map(|line| line.split(' ').next().unwrap_or("").to_owned()).collect()
}

/// A description that is the whole system text is a warning, unless something else is sent.
#[test]
fn a_manifest_without_a_system_text_is_reported() {
    let cases = [
        ("", 1),
        ("behavior: {traits: [calm]}\n", 1),
        ("rules: Never lie.\n", 1),
        ("soul: I am.\n", 0),
        ("behavior: {persona: auditor}\n", 0),
        ("behavior: {system_override: Be brief.}\n", 0),
    ];
    for (lines, expected) in cases {
        let text = format!("name: helper\ndescription: Helps\n{lines}");
        let found = places(&[("helper.agent", &text)], "AG3030");
        assert_eq!(found.len(), expected, "{lines}: {found:?}");
    }
}

/// Metadata is an error wherever it is not first; prose between two lines is not metadata.
#[test]
fn misplaced_metadata_is_an_error() {
    let cases = [
        ("# Helper\n\n---\ndeny: [sh]\n---\n\nHelps.\n", Some("3:1")),
        ("# Helper\n---\ndeny: [sh]\n---\n", Some("2:1")),
        ("# Helper\n\nHelps.\n\n---\ndeny: [sh]\n", Some("5:1")),
        ("# Helper\n\nHelps.\n\n---\n\nabilities:\n  - fs\n\n---\n", Some("5:1")),
        ("# Helper\r\n\r\n---\r\ndeny: [sh]\r\n---\r\n", Some("3:1")),
        ("<!-- note -->\n---\nstatus: disabled\n---\n# Helper\n\nHelps.\n", Some("2:1")),
        ("---\ntitle: Helper\n---\n\nHelps.\n\n---\ndeny: [sh]\n---\n", Some("7:1")),
        ("# Helper\n\nHelps.\n\n## System\n\nYou help.\n\n---\ndeny: [sh]\n---\n", Some("9:1")),
        ("# Helper\n\nHelps.\n\n## System\n\n---\nrequired: {env: [KEY]}\n---\n", Some("7:1")),
        ("# Helper\n\n---\nx-team: a\nicon: 🤖\n---\n", Some("3:1")),
        // Not metadata.
        ("---\ndeny: [sh]\n---\n# Helper\n\nHelps.\n", None),
        ("\n\n---\ndeny: [sh]\n---\n# Helper\n\nHelps.\n", None),
        ("# Helper\n\nHelps.\n\n---\n\nMore text.\n\n---\n", None),
        ("# Helper\n\nHelps.\n\n---\nNote: this is text\n---\n", None),
        ("# Helper\n\nHelps.\n\n## System\n\n---\ntitle: A post\n---\n", None),
        ("# Helper\n\nHelps.\n\n## System\n\n```yaml\n---\ndeny: [sh]\n---\n```\n", None),
    ];
    for (text, expected) in cases {
        let found = places(&[("agents/x_helper.agent.md", text)], "AG1009");
        let expected: Vec<_> =
            expected.iter().map(|at| format!("agents/x_helper.agent.md:{at}")).collect();
        assert_eq!(found, expected, "{text:?}");
    }
}

/// Metadata in a spelling that no reader knows is an error too; prose and code for the model are not metadata.
#[test]
fn misspelt_metadata_is_an_error() {
    let system = "## System\n\nYou help.\n";
    let cases = [
        ("# Helper\n\ndeny: [sh]\nstatus: disabled\n\n", Some("3:1")),
        ("# Helper\ndeny: [sh]\n\n", Some("2:1")),
        ("# Helper\n\nHelps.\n\nStatus: Disabled\n\n", Some("5:1")),
        ("# Helper\n\nHelps people.\ndeny: [sh]\n\n", Some("3:1")),
        ("# Helper\n\nHelps.\n\nabilities:\n  deny:\n    - sh\n\n", Some("5:1")),
        ("# Helper\n\nHelps.\n\nrequired:\n- KEY\n\n", Some("5:1")),
        ("deny: [sh]\n\n# Helper\n\nHelps.\n\n", Some("1:1")),
        ("title: Helper\ndescription: Helps\n\n", Some("1:1")),
        ("+++\ndeny = [\"sh\"]\n+++\n\n# Helper\n\nHelps.\n\n", Some("1:1")),
        ("# Helper\n\n+++\ndeny = [\"sh\"]\nstatus = \"disabled\"\n+++\n\n", Some("3:1")),
        ("# Helper\n\nHelps.\n\n[abilities]\ndeny = [\"sh\"]\n\n", Some("5:1")),
        ("# Helper\n\nHelps.\n\n```yaml\ndeny: [sh]\n```\n\n", Some("6:1")),
        ("```yaml\n---\ndeny: [sh]\n---\n```\n\n# Helper\n\nHelps.\n\n", Some("2:1")),
        ("# Helper\n\nHelps.\n\n~~~toml\ndeny = [\"sh\"]\n~~~\n\n", Some("6:1")),
        ("# Helper\n\nHelps.\n\n```json\n{\n  \"deny\": [\"sh\"]\n}\n```\n\n", Some("6:1")),
        (" ---\ndeny: [sh]\n ---\n\n# Helper\n\nHelps.\n\n", Some("1:1")),
        ("# Helper\n\n ---\ndeny: [sh]\n ---\n\nHelps.\n\n", Some("3:1")),
        ("***\ndeny: [sh]\n***\n\n# Helper\n\nHelps.\n\n", Some("1:1")),
        ("# Helper\n\n***\ndeny: [sh]\n***\n\nHelps.\n\n", Some("3:1")),
        ("# Helper\n\nHelps.\n\n## Metadata\n\ndeny: sh\n\n", Some("7:1")),
        (
            "# Helper\n\nHelps.\n\n## Front matter\n\n- **deny**: sh\n- rules of the house\n\n",
            Some("7:1"),
        ),
        (
            "# Helper\n\nHelps.\n\n### Metadata\n\n| key | value |\n|---|---|\n| deny | sh |\n\n",
            Some("7:1"),
        ),
        ("# Helper\n\nHelps.\n\n- `deny`: [sh]\n\n", Some("5:1")),
        ("# Helper\n\nHelps.\n\n> **Deny:** [sh]\n\n", Some("5:1")),
        // Not metadata.
        ("# Helper\n\nHelps people: with anything.\n\n", None),
        ("# Helper\n\nRules: be brief.\n\n", None),
        ("# Helper\n\nHelps.\n\nStatus of the work: see the board.\n\n", None),
        ("# Helper\n\nHelps.\n\n## Notes\n\nIt may allow: nothing at all.\nTwo lines.\n\n", None),
        ("# Helper\n\nHelps.\n\n<!-- deny: [sh] -->\n\n<!--\nstatus: disabled\n-->\n\n", None),
        ("# Helper\n\nHelps.\n\n```js\nconst x = {\n  allow: [1],\n}\n```\n\n", None),
        (
            "# Helper\n\nHelps.\n\n## Rules\n\ndeny: [sh]\n\n```yaml\nstatus: disabled\n```\n\n",
            None,
        ),
    ];
    for (text, expected) in cases {
        let text = format!("{text}{system}");
        let found = places(&[("agents/x_helper.agent.md", &text)], "AG1009");
        let expected: Vec<_> =
            expected.iter().map(|at| format!("agents/x_helper.agent.md:{at}")).collect();
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn text_outside_the_known_sections_is_reported() {
    let cases: &[(&str, &[&str])] = &[
        ("# Helper\n\nHelps.\n\n## System\n\nYou help.\n\n## Rules\n\n- Be kind\n", &[]),
        ("# Helper\n\nHelps.\n\n## Style\n\nBe brief.\n\n## System\n\nYou help.\n", &["5:1"]),
        (
            "# Helper\n\nHelps.\n\nMore.\n\n## System\n\nYou help.\n\n## Notes\n\nx\n",
            &["5:1", "11:1"],
        ),
        ("Before.\n\n# Helper\n\nHelps.\n", &["1:1"]),
        ("# Helper\n\nHelps.\n\n<!-- a comment\nof two lines -->\n\n---\n", &[]),
        ("# Helper\n\nHelps.\n\n<!-- a comment --> and text\n", &["5:1"]),
        ("# Helper\n\nHelps.\n\n## System\n\nYou help.\n\n### Part\n\nMore.\n", &[]),
    ];
    for (text, expected) in cases {
        let found = places(&[("agents/x_helper.agent.md", text)], "AG1017");
        let expected: Vec<_> =
            expected.iter().map(|at| format!("agents/x_helper.agent.md:{at}")).collect();
        assert_eq!(found, expected, "{text:?}");
    }
}

/// A start-up tool must exist, whichever format names it.
#[test]
fn a_startup_tool_must_exist() {
    let block = "x-agentry: {required: {startup: ping}}";
    let md = format!("---\n{block}\n---\n# Helper\n\nHelps.\n");
    let manifest =
        format!("name: helper\ndescription: Helps\nsoul: I am.\nextensions: {{{block}}}\n");
    let definition = "name = \"helper\"\ndescription = \"Helps\"\nx-agentry = {required = {startup = \"ping\"}}\n";
    let json = "{\"name\": \"helper\", \"description\": \"Helps\", \"llm\": {}, \"x-agentry\": {\"required\": {\"startup\": \"ping\"}}}";
    let acl = "x_agentry {\n  required { startup = \"ping\" }\n}\n";
    let tool = "---\nkind: script\nname: ping\npath: ping.js\n---\nPings.\n";
    let script = "async function run(ctx, inputs) {\n  return inputs;\n}\n";
    let cases: &[(&[(&str, &str)], usize)] = &[
        (&[("agents/x_helper.agent.md", &md)], 1),
        (&[("helper.agent", &manifest)], 1),
        (&[("helper/agent.toml", definition), ("helper/system-prompt.md", "You help.\n")], 1),
        (&[("helper/agent.json", json), ("helper/persona.md", "You help.\n")], 1),
        (&[("helper/instructions.md", "You help.\n"), ("helper/agent.acl", acl)], 1),
        (
            &[
                ("helper/instructions.md", "You help.\n"),
                ("helper/agent.acl", acl),
                ("helper/tools/ping.md", tool),
                ("helper/ping.js", script),
            ],
            0,
        ),
        (
            &[
                ("base.agent", "name: base\ndescription: Helps\nsoul: I am.\n"),
                ("helper.agent", &manifest.replace("soul", "base: ./base.agent\nsoul")),
            ],
            1,
        ),
    ];
    for (files, expected) in cases {
        let found = places(files, "AG1033");
        assert_eq!(found.len(), *expected, "{files:?}: {found:?}\n{:#?}", report(&world(files)));
    }
}

/// A variable that is not set is reported at its name.
#[test]
fn an_unset_variable_is_reported_at_its_name() {
    let acl = "providers \"acme\" {\n  # env(\"UNSET_COMMENT\")\n  models \"one\" {\n    name = env(\"UNSET_A\")\n  }\n}\n\
        queue {\n  enable_dlq = true\n  redis_url = env(\"UNSET_B\")\n}\n";
    let files = [("helper/instructions.md", "You help.\n"), ("helper/agent.acl", acl)];
    let found = report(&world(&files)).into_iter();
    let found: Vec<_> = found.filter(|line| line.contains("is not set")).collect();
    let lines: Vec<_> = acl.lines().collect();
    for name in ["UNSET_A", "UNSET_B"] {
        let line = lines.iter().position(|line| line.contains(name)).expect("a line");
        let column = lines[line].find(name).expect("a column");
        let place = format!("helper/agent.acl:{}:{} ", line + 1, column + 1);
        assert!(found.iter().any(|it| it.starts_with(&place) && it.contains(name)), "{found:#?}");
    }
    assert_eq!(found.len(), 2, "{found:#?}");
}

/// The work for a file of nothing but lines and fences grows with its size, not with the square of it.
#[test]
fn many_fences_are_read_in_linear_time() {
    for text in [
        "---\n".repeat(40_000),
        "```\n```\n---\n".repeat(12_000),
        "---\na: b\n".repeat(18_000),
        "```js\n```\n".repeat(20_000),
    ] {
        let text = format!("# Helper\n\nHelps.\n\n{text}");
        let found = places(&[("agents/x_helper.agent.md", &text)], "AG1009");
        assert!(found.is_empty(), "{found:?}");
    }
}
