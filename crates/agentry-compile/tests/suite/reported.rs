//! Mistakes that are easy to make and hard to see: each is reported once, by its own rule.

use crate::world::{findings, world};

fn tools(code: &str) -> String {
    format!("# Helper\n\nAnswers questions.\n\n## Tools\n\n```js\n{code}\n```\n")
}

fn codes(path: &str, text: &str) -> Vec<&'static str> {
    let instructions = ("helper/instructions.md", "You answer questions.\n");
    let beside = if path.starts_with("helper/") { vec![instructions] } else { Vec::new() };
    let files: Vec<_> = beside.into_iter().chain([(path, text)]).collect();
    findings(&world(&files)).into_iter().map(|found| found.code).collect()
}

#[test]
fn mistakes_in_javascript_tools_are_reported() {
    let tool = |parameters: &str, more: &str| {
        tools(&format!(
            "return {{ greet: {{ fn: () => 1, {more} scheme: {{ name: \"greet\", \
             description: \"Greets.\", parameters: {parameters} }} }} }};"
        ))
    };
    let object = "{ type: \"object\", properties: {} }";
    let properties = |value: &str| format!("{{ type: \"object\", properties: {{ {value} }} }}");
    let cases = [
        (tool(object, ""), vec![]),
        (tool(object, "fn: () => 2,"), vec!["AG0053"]),
        (tool(&properties("a: { type: \"string\" }, a: { type: \"number\" }"), ""), vec!["AG0053"]),
        (tool(&properties("a: { $ref: \"#/$defs/b\" }"), ""), vec!["AG1031"]),
        (tool(&properties("a: { $ref: \"#/properties/b\" }, b: {}"), ""), vec![]),
        // A key that was spread may be set again: spreading exists for that.
        (tool(&properties("...{ a: {} }, a: { type: \"string\" }"), ""), vec![]),
    ];
    for (text, expected) in cases {
        assert_eq!(codes("agents/help_desk.agent.md", &text), expected, "{text}");
    }
}

#[test]
fn mistakes_in_blocks_and_names_are_reported() {
    let manifest = |more: &str| {
        format!("name: helper\ndescription: Answers questions\nsoul: You answer.\n{more}")
    };
    let script = "---\nkind: script\ndescription: Counts\npath: a.js\ninputs:\n  type: object\n  \
                  properties: {a: {$ref: '#/$defs/b'}}\n---\n";
    let cases = [
        ("helper/agent.acl", "providers {}\n".to_owned(), vec!["AG5010"]),
        ("helper/agent.acl", "providers \"a\" {}\n".to_owned(), vec![]),
        ("helper/tools/a.md", script.to_owned(), vec!["AG5051", "AG5056"]),
        ("agents/治理_审计员.agent.md", "# 审计员\n\n检查。\n".to_owned(), vec![]),
        ("helper.agent", manifest("tools: {mcp: [web search]}\n"), vec!["AG0158"]),
        ("helper.agent", manifest("tools: {mcp: [{name: a__b}]}\n"), vec!["AG0158"]),
        ("helper.agent", manifest("tools: {mcp: [{a/b: {command: x}}]}\n"), vec!["AG0158"]),
        ("helper.agent", manifest("tools: {mcp: [github]}\n"), vec![]),
        ("helper.agent", manifest("trust: {filesystem: scoped, scope: [/]}\n"), vec!["AG9040"]),
        ("helper.agent", manifest("trust: {network: scoped, hosts: ['**']}\n"), vec!["AG9041"]),
    ];
    for (path, text, expected) in cases {
        assert_eq!(codes(path, &text), expected, "{path}\n{text}");
    }
}

/// A problem in the block `x-agentry` has the place of the value, in every format.
#[test]
fn findings_in_x_agentry_point_at_the_value() {
    let manifest = "name: helper\ndescription: Answers questions\nsoul: You answer.\n\
        trust: {filesystem: none}\nx-agentry:\n  status: retired\n  delegation:\n    ceiling: high\n  \
        mcp_servers:\n    files:\n      url: 7\n  permissions:\n    bash:\n      intent: ask\n      \
        rules:\n        - git log\n";
    let markdown = "---\nx-agentry:\n  status: retired\n  delegation:\n    ceiling: high\n  \
        mcp_servers:\n    files:\n      url: 7\n  permissions:\n    bash:\n      rules:\n        - git log\n\
        ---\n# Helper\n\nAnswers questions.\n";
    let json = "{\n  \"name\": \"helper\",\n  \"role\": \"Helper\",\n  \"x-agentry\": {\n    \
        \"status\": \"retired\",\n    \"delegation\": {\n      \"ceiling\": \"high\"\n    },\n    \
        \"mcp_servers\": {\n      \"files\": {\n        \"url\": 7\n      }\n    },\n    \
        \"permissions\": {\n      \"bash\": {\n        \"rules\": [\n          \"git log\"\n        ]\n      \
        }\n    }\n  }\n}\n";
    let toml = "name = \"helper\"\ndescription = \"Answers questions\"\n[x-agentry]\n\
        status = \"retired\"\n[x-agentry.delegation]\nceiling = \"high\"\n\
        [x-agentry.mcp_servers.files]\nurl = 7\n[x-agentry.permissions.bash]\nrules = [\n  \"git log\",\n]\n";
    let acl = "x_agentry {\n  status = \"retired\"\n  delegation {\n    ceiling = \"high\"\n  }\n  \
        mcp_servers {\n    files {\n      url = 7\n    }\n  }\n  permissions {\n    bash {\n      \
        rules = [\n        \"git log\"\n      ]\n    }\n  }\n}\n";
    let cases = [
        ("helper.agent", manifest, None, [6, 8, 11, 16]),
        ("agents/help_desk.agent.md", markdown, None, [3, 5, 8, 12]),
        ("helper/agent.json", json, Some(("helper/persona.md", "You answer.\n")), [5, 7, 11, 17]),
        (
            "helper/agent.toml",
            toml,
            Some(("helper/system-prompt.md", "You answer.\n")),
            [4, 6, 8, 11],
        ),
        ("helper/agent.acl", acl, Some(("helper/instructions.md", "You answer.\n")), [2, 4, 8, 14]),
    ];
    for (path, text, beside, lines) in cases {
        let files: Vec<_> = beside.into_iter().chain([(path, text)]).collect();
        let found = findings(&world(&files));
        for line in lines {
            let start = format!("{path}:{line}:");
            let is_there = found.iter().any(|finding| finding.line.starts_with(&start));
            assert!(
                is_there,
                "{start}\n{:#?}",
                found.iter().map(|it| &it.line).collect::<Vec<_>>()
            );
        }
    }
}
