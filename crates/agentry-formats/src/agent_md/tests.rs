//! Tests of the whole format: fixtures, one case for each rule, and properties of any text.

mod properties;

use agentry_model::{Agent, losses, tree};
use agentry_text::edit::apply;
use agentry_text::{Applicability, Data, Findings, Fix};

use super::INFO;
use crate::{AgentPackage, MemoryFiles, WriteTarget};

/// Reads one file; returns the agent, and its findings as `line:column code message`.
fn read(path: &str, text: &str) -> (Agent, Findings, MemoryFiles) {
    let mut files = MemoryFiles::new([(path.to_owned(), text.to_owned())]);
    let mut findings = Findings::default();
    let mut package = AgentPackage {
        main: path.to_owned(),
        dir_name: "agents".to_owned(),
        dir: "agents".to_owned(),
        files: &mut files,
    };
    let agent = (INFO.read)(&mut package, &mut findings);
    (agent, findings, files)
}

fn findings(path: &str, text: &str) -> Vec<String> {
    let (_, findings, files) = read(path, text);
    let line = |found: agentry_text::Diagnostic| {
        let at = files.sources.start(found.span);
        format!("{}:{} {} {}", at.line, at.column, found.rule.code, found.message)
    };
    findings.into_sorted().into_iter().map(line).collect()
}

fn codes(path: &str, text: &str) -> Vec<&'static str> {
    let (_, findings, _) = read(path, text);
    findings.into_sorted().into_iter().map(|found| found.rule.code).collect()
}

fn data(agent: &Agent) -> Data {
    tree::tree(agent).to_data()
}

fn json(agent: &Agent) -> String {
    serde_json::to_string_pretty(&data(agent).to_json()).expect("json")
}

fn written(agent: &Agent, name: &str) -> String {
    let target = WriteTarget { name: name.to_owned(), ..WriteTarget::default() };
    let written = (INFO.write)(agent, &target);
    assert_eq!(written.files[0].0, name);
    written.files[0].1.clone()
}

#[test]
fn fixtures_match_their_snapshots() {
    crate::tests::each_fixture("agent_md/fixtures", "md", |path| {
        let name = path.file_name().expect("name").to_string_lossy().into_owned();
        #[expect(clippy::disallowed_methods, reason = "a test reads its fixture")]
        let text = std::fs::read_to_string(path).expect("fixture");
        let (agent, problems, _) = read(&name, &text);
        let (tree, found) = (json(&agent), findings(&name, &text).join("\n"));
        let again = written(&agent, &name);
        insta::assert_snapshot!(format!("{found}\n\n{tree}\n\n{again}"));
        let (result, _, _) = read(&name, &again);
        let lost = losses(&data(&agent), &data(&result));
        assert!(lost.is_empty() || problems.has_errors(), "{name}: {lost:?}");
        assert_eq!(written(&result, &name), again, "{name}");
    });
}

#[test]
fn the_shipped_example_is_clean() {
    let text =
        include_str!("../../../../examples/agent-md/agents/governance_policy-auditor.agent.md");
    let name = "governance_policy-auditor.agent.md";
    assert_eq!(findings(name, text), Vec::<String>::new());
    let (agent, _, _) = read(name, text);
    let names: Vec<_> = agent.tools.functions.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["test_openai_api_key", "summarise_findings"]);
    let (again, _, _) = read(name, &written(&agent, name));
    assert!(losses(&data(&agent), &data(&again)).is_empty());
}

#[test]
fn every_rule_matches_its_examples() {
    for rule in INFO.rules {
        for (example, expected) in [(&rule.bad, vec![rule.code]), (&rule.good, vec![])] {
            let (path, bytes) = example.files().remove(0);
            let name = path.trim_start_matches("agents/");
            let text = String::from_utf8(bytes).expect("text");
            assert_eq!(codes(name, &text), expected, "{} {:?}", rule.code, findings(name, &text));
        }
    }
}

#[test]
fn codes_are_in_order_and_in_range() {
    let codes: Vec<_> = INFO.rules.iter().map(|rule| rule.code).collect();
    assert!(codes.is_sorted());
    assert!(codes.iter().all(|code| ("AG1001"..="AG1099").contains(code)));
}

/// Tests the rules of the specification, each with a small file and its findings.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn specification_rules_have_their_findings() {
    let file = |metadata: &str, body: &str| format!("---\n{metadata}\n---\n{body}");
    let plain = "# Helper\n\nAnswers questions.\n";
    let cases: Vec<(&str, String, Vec<&str>)> = vec![
        ("metadata is optional", plain.to_owned(), vec![]),
        ("metadata keys are case-insensitive", file("VERSION: 1.0.0\nIcon: 🤖", plain), vec![]),
        (
            "blank lines may precede the metadata",
            format!("\n\n{}", file("status: active", plain)),
            vec![],
        ),
        (
            "a version is a string",
            file("version: 0.1", plain),
            vec!["2:10 AG0109 `version: 0.1` is a number, not a version"],
        ),
        ("a status has any case", file("status: DEPRECATED", plain), vec![]),
        (
            "another status is refused",
            file("status: retired", plain),
            vec!["2:9 AG0104 `status` cannot be `retired`"],
        ),
        (
            "equal values do not conflict",
            file("title: ' HELPER '\ndescription: answers  QUESTIONS.", plain),
            vec![],
        ),
        (
            "a title conflicts",
            file("title: Other", plain),
            vec!["2:8 AG1003 `title` in the metadata differs from the top-level heading"],
        ),
        (
            "a system text conflicts",
            file("system: A", "# Helper\n\n## System\n\nB\n"),
            vec!["2:9 AG1003 `system` in the metadata differs from `## System`"],
        ),
        (
            "rules conflict",
            file("rules: A", "# Helper\n\n## RULES\n\nB\n"),
            vec!["2:8 AG1003 `rules` in the metadata differs from `## Rules`"],
        ),
        (
            "an avatar conflicts",
            file("avatar: a.png", "# Helper\n\n# Avatar\n\n![x](b.png)\n"),
            vec!["2:9 AG1003 `avatar` in the metadata differs from the image under `# Avatar`"],
        ),
        (
            "without a first paragraph there is no conflict",
            file("description: Answers.", "# Helper\n\n## System\n\nYou answer.\n"),
            vec![],
        ),
        ("the avatar is no title", file("title: Helper", "# Avatar\n\n![x](b.png)\n"), vec![]),
        (
            "the start-up tool must exist",
            file("required: {startup: check}", plain),
            vec!["2:21 AG1033 the start-up tool `check` does not exist"],
        ),
        (
            "lists may be texts with commas",
            file("abilities: fs, sh:git, disk", plain),
            vec!["2:24 AG1010 there is no ability `disk`"],
        ),
        (
            "an overlap may span both notations",
            file("abilities: [sh:git]\ndeny: [SH]", plain),
            vec!["2:13 AG1014 `sh:git` is allowed, but all of `sh` is denied"],
        ),
        ("denying a part is a narrowing", file("allow: [sh]\ndeny: [sh:rm]", plain), vec![]),
        (
            "the same list twice is fine",
            file("abilities: [fs, sh]\nallow: [sh, FS]", plain),
            vec![],
        ),
        ("nothing at all may be allowed", file("abilities: []", plain), vec![]),
        (
            "a wildcard cannot be denied either",
            file("deny: ['*']", plain),
            vec!["2:8 AG1013 `*` is not an ability"],
        ),
        ("extensions are silent", file("x-a: 1\nextensions: {b: 2}", plain), vec![]),
    ];
    for (rule, text, expected) in cases {
        assert_eq!(findings("help_helper.agent.md", &text), expected, "{rule}");
    }
}

/// Tests the findings of tools blocks; lines count from the first line of the code.
#[test]
fn invalid_tools_blocks_are_reported() {
    let scheme = "{name:'a',description:'b',parameters:{type:'object',properties:{}}}";
    let cases: Vec<(String, Vec<&str>)> = vec![
        (format!("return {{a:{{fn(){{}},scheme:{scheme}}}}}"), vec![]),
        (format!("const t={{fn:async()=>1,scheme:{scheme}}};\nreturn ({{'A':t}});"), vec![]),
        (format!("await 1;\nfunction f(){{return 1}}\nreturn {{a:{{fn:f,scheme:{scheme}}}}}"), vec![]),
        (format!("const {{f}} = await g();\nreturn {{a:{{fn:f,scheme:{scheme}}}}}"), vec![]),
        (String::new(), vec!["1:1 AG1025 the block returns no tools"]),
        ("return;".to_owned(), vec!["1:1 AG1025 the block returns no tools"]),
        ("return [1];".to_owned(), vec!["1:8 AG1025 the block returns no object of tools"]),
        (
            "if (x) { return {} }\nreturn {};".to_owned(),
            vec!["1:1 AG1026 what the block returns depends on a condition"],
        ),
        (
            "return make();".to_owned(),
            vec!["1:8 AG1026 what the block returns can only be known by running it"],
        ),
        (
            "const t = {};\nt.a = 1;\nreturn t;".to_owned(),
            vec!["3:8 AG1026 what the block returns can only be known by running it"],
        ),
        (
            format!("const t = {{}};\nObject.assign(t, {scheme});\nreturn t;"),
            vec!["3:8 AG1026 what the block returns can only be known by running it"],
        ),
        (
            "return {[k]: 1, ...other};".to_owned(),
            vec!["1:9 AG1026 this tool can only be known by running the code"],
        ),
        ("return {\n  a: 1 };".to_owned(), vec!["2:3 AG1027 `a` is not an object with `fn` and `scheme`"]),
        (
            "return {a: {description: 'x', run() {}}};".to_owned(),
            vec!["1:9 AG1027 tool `a` has no `fn`", "1:9 AG1027 tool `a` has no `scheme`"],
        ),
        (
            format!("function check() {{}}\nreturn {{a: {{fn: chek, scheme: {scheme}}}}}"),
            vec!["2:17 AG1028 `fn` of tool `a` is `chek`, which the block does not define"],
        ),
        (
            format!("return {{b: {{fn() {{}}, scheme: {scheme}}}}}"),
            vec!["1:36 AG1030 the scheme of `b` is named `a`"],
        ),
        (
            "return {a: {fn() {}, scheme: {name: 'a', description: f(), parameters: {}}}}".to_owned(),
            vec!["1:42 AG1026 `description` of the scheme of `a` can only be known by running the code"],
        ),
        (
            "return {a: {fn() {}, scheme: {name: 'a', description: 'b', parameters: {type: 'array'}}}}".to_owned(),
            vec!["1:79 AG1031 `parameters` of `a` describes something else than an object"],
        ),
        (
            "return {a: {fn() {}, scheme: {name: 'a', description: 'b', parameters: {properties: {x: 3}}}}}".to_owned(),
            vec!["1:89 AG1031 `parameters` of `a` has a whole number where a schema is expected"],
        ),
        (
            "return {a: {fn() {}, scheme: {name: 'a', description: 'b', parameters: {required: ['x']}}}}".to_owned(),
            vec!["1:84 AG1031 `parameters` of `a` requires `x`, which `properties` does not have"],
        ),
        ("return {\n  a: ;\n};".to_owned(), vec!["2:6 AG1023 the code does not parse: unexpected token"]),
        (
            "export default {};".to_owned(),
            vec!["1:1 AG1023 `import` and `export` cannot stand in a tools block"],
        ),
    ];
    for (code, expected) in cases {
        let before = "# Helper\n\nAnswers.\n\n## Tools\n\n```js\n";
        let text = format!("{before}{code}\n```\n");
        let lines = before.lines().count();
        let shifted = |found: String| {
            let (line, rest) = found.split_once(':').expect("a place");
            format!("{}:{rest}", line.parse::<usize>().expect("a line") - lines)
        };
        let found: Vec<_> =
            findings("help_helper.agent.md", &text).into_iter().map(shifted).collect();
        assert_eq!(found, expected, "{code}");
    }
}

#[test]
fn exponential_constants_are_refused() {
    let mut code = String::from("const a0 = { x: 1 };\n");
    for n in 1..40 {
        let before = n - 1;
        let line = format!("const a{n} = {{ ...a{before}, y: [a{before}, a{before}] }};\n");
        code.push_str(&line);
    }
    code.push_str(
        "return { a: { fn() {}, scheme: { name: 'a', description: 'b', parameters: a39 } } };\n",
    );
    let text = format!("# Helper\n\nAnswers.\n\n## Tools\n\n```js\n{code}```\n");
    assert_eq!(codes("help_helper.agent.md", &text), ["AG1026"]);
}

#[test]
fn deep_code_is_refused_or_read() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("!", ""), ("a=>", ""), ("f(", ")"), ("`${", "}`"), ("({a:", "})")]
    {
        for levels in [100, 3_000, 100_000] {
            let deep = format!(
                "const x = {}a{};\nreturn {{}};",
                open.repeat(levels),
                close.repeat(levels)
            );
            let text = format!("# Helper\n\nAnswers.\n\n## Tools\n\n```js\n{deep}\n```\n");
            let expected: &[&str] = if levels == 100_000 { &["AG1024"] } else { &[] };
            assert_eq!(codes("help_helper.agent.md", &text), expected, "{levels} times {open}");
        }
    }
}

/// Tests the result of applying the fixes of one applicability once.
#[test]
fn fixes_produce_the_expected_text() {
    let cases = [
        (
            Applicability::Unsafe,
            "---\nicon: 🤖\ndescription: |\n  Other.\n\n  Words.\nstatus: active\n---\n# Helper\n\nAnswers.\n",
            "---\nicon: 🤖\nstatus: active\n---\n# Helper\n\nAnswers.\n",
        ),
        (
            Applicability::Unsafe,
            "---\ntitle: Other\n---\n# Helper\n\nAnswers.\n",
            "---\n---\n# Helper\n\nAnswers.\n",
        ),
        (
            Applicability::Unsafe,
            "---\n{title: Other, icon: 🤖}\n---\n# Helper\n\nAnswers.\n",
            "---\n{title: Other, icon: 🤖}\n---\n# Helper\n\nAnswers.\n",
        ),
        (
            Applicability::Safe,
            "# Helper\n\nAnswers.\n\n## Tools\n\nWords.\n\nfunction f() {\n\n  return 1;\n}\nreturn {};\n\n### More\n",
            "# Helper\n\nAnswers.\n\n## Tools\n\nWords.\n\n```js\nfunction f() {\n\n  return 1;\n}\nreturn {};\n```\n\n### More\n",
        ),
        (
            Applicability::Unsafe,
            "# Helper\n\nAnswers.\n\n## Tools\n\n```js\nreturn {};\n'''\n",
            "# Helper\n\nAnswers.\n\n## Tools\n\n```js\nreturn {};\n```\n",
        ),
        (
            Applicability::Unsafe,
            "# Helper\n\nAnswers.\n\n# Rules\n\n- Be brief\n",
            "# Helper\n\nAnswers.\n\n## Rules\n\n- Be brief\n",
        ),
    ];
    for (applicability, text, expected) in cases {
        let (_, findings, _) = read("help_helper.agent.md", text);
        let found = findings.into_sorted();
        let fixes = found.iter().filter_map(|found| found.fix.as_ref());
        let fixes: Vec<&Fix> = fixes.filter(|fix| fix.applicability == applicability).collect();
        assert_eq!(apply(text, fixes).0, expected);
    }
}

#[test]
fn a_conflict_points_at_both_positions() {
    let text = "---\ntitle: Other\n---\n# Helper\n\nAnswers.\n";
    let (_, findings, files) = read("help_helper.agent.md", text);
    let found = findings.into_sorted().remove(0);
    assert_eq!(files.sources.slice(found.span), "Other");
    assert_eq!(files.sources.slice(found.related[0].span), "Helper");
}

#[test]
fn defaults_fill_only_what_is_missing() {
    let (mut agent, _, _) =
        read("help_helper.agent.md", "---\nversion: 2.0.0\n---\n# Helper\n\nAnswers.\n");
    (INFO.defaults)(&mut agent);
    let identity = &agent.identity;
    assert_eq!(identity.version.as_ref().map(|v| v.value.as_str()), Some("2.0.0"));
    assert_eq!(identity.icon.as_ref().map(|v| v.value.as_str()), Some("🤖"));
    assert_eq!(identity.status.as_ref().map(|v| v.value.as_str()), Some("active"));
}
