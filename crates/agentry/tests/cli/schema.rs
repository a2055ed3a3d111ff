//! `agentry schema`: JSON Schemas that accept the output of `new`.

use agentry_compile::text::yaml::{self, YamlVersion};
use agentry_compile::text::{Findings, SourceFiles, acl, json, markdown, toml};
use serde_json::{Value, json};

use crate::new::FORMATS;
use crate::test::Test;

/// A file of a new agent as data, parsed by its extension.
fn document(test: &Test, path: &str) -> Value {
    let source = SourceFiles::default().add(path, &test.read(path));
    let findings = &mut Findings::default();
    let node = match path.rsplit('.').next() {
        Some("toml") => toml::parse(&source, findings),
        Some("json") => json::parse(&source, findings),
        Some("acl") => acl::parse(&source, findings),
        Some("md") => {
            let metadata = markdown::parts(&source).metadata.expect("metadata");
            yaml::parse(&source, metadata, YamlVersion::V1_2, findings)
        }
        _ => yaml::parse(&source, 0..source.text.len(), YamlVersion::V1_1, findings),
    };
    assert!(findings.is_empty(), "{path}: {findings:#?}");
    node.to_data().to_json()
}

/// The names of a format's documents, from the hint about one that it does not have.
fn documents(format: &str) -> Vec<String> {
    let ran = Test::new().run(&format!("schema {format} nothing-like-it")).exits(2);
    let (_, names) = ran.stderr.split_once("its documents are ").expect("a hint");
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_schema_is_a_valid_json_schema() {
    for (format, _) in FORMATS {
        for document in documents(format) {
            let schema = Test::new().run_args(&["schema", format, &document]).exits(0).json();
            let dialect = "https://json-schema.org/draft/2020-12/schema";
            assert_eq!(schema["$schema"], dialect, "{format}");
            if let Err(error) = jsonschema::meta::validate(&schema) {
                panic!("{format} {document}: {error}");
            }
            let id = schema["$id"].as_str().expect("an address");
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-');
            assert!(id.starts_with("urn:agentry:") && id.chars().all(fits), "{id}");
        }
    }
}

/// Editors distinguish schemas by their addresses.
#[test]
fn every_schema_has_a_unique_id() {
    let mut seen = Vec::new();
    for (format, _) in FORMATS {
        for document in documents(format) {
            let schema = Test::new().run_args(&["schema", format, &document]).json();
            assert!(!seen.contains(&schema["$id"]), "{}", schema["$id"]);
            seen.push(schema["$id"].clone());
        }
    }
}

#[test]
fn new_agents_fit_their_schema() {
    let cases = [
        ("agent-md", "agents/general_reviewer.agent.md", ""),
        ("agent-toml", "reviewer/agent.toml", ""),
        ("manifest", "reviewer.agent", ""),
        ("agentfs", "reviewer/agent.json", ""),
        ("agent-dir", "reviewer/agent.acl", ""),
        ("agent-dir", "reviewer/schedules/weekly-review.md", "schedules/*.md"),
    ];
    for (format, path, name) in cases {
        let test = Test::new();
        test.run(&format!("new {format} reviewer")).exits(0);
        let schema = test.run(&format!("schema {format} {name}")).json();
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let document = document(&test, path);
        let errors: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{path}: {errors:#?}");
        assert!(!validator.is_valid(&json!([])), "{path}");
    }
}

/// The schema refuses what the parser refuses.
#[test]
fn schemas_refuse_what_the_parser_refuses() {
    let toml = |name: &str, rule: &str| {
        json!({
            "name": name,
            "description": "Answers",
            "permissions": { "bash": { "intent": "ask", "rules": [rule] } },
        })
    };
    let cases = [
        ("agent-toml", toml("code-reviewer", "git push*:ask"), true),
        ("agent-toml", toml("Code Reviewer", "git push*:ask"), false),
        ("agent-toml", toml("code-reviewer", "git push*"), false),
        ("agent-toml", toml("code-reviewer", "git push*:never"), false),
        ("agent-md", json!({ "icon": "🧭", "allow": ["fs", "sh:git"] }), true),
        ("agent-md", json!({ "abilities": "fs, SH:git" }), true),
        ("agent-md", json!({ "abilities": { "deny": ["sh:rm"] } }), true),
        ("agent-md", json!({ "icon": "compass" }), false),
        ("agent-md", json!({ "icon": "🧭🧭" }), false),
        ("agent-md", json!({ "allow": ["disk"] }), false),
        ("agent-md", json!({ "abilities": "fs, sh:git push" }), false),
        ("agent-md", json!({ "abilities": { "deny": ["fs:src"] } }), false),
        ("agent-md", json!({ "required": { "env": ["API_KEY"] } }), true),
        ("agent-md", json!({ "required": { "env": ["API-KEY"] } }), false),
    ];
    for (format, document, expected) in cases {
        let schema = Test::new().run(&format!("schema {format}")).json();
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        assert_eq!(validator.is_valid(&document), expected, "{format} {document}");
    }
}

#[test]
fn schema_prints_the_document() {
    let ran = Test::new().run("schema agent-toml").exits(0);
    let head: Vec<_> = ran.stdout.lines().take(12).collect();
    insta::assert_snapshot!(head.join("\n"), @r#"
    {
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "$id": "urn:agentry:agent-toml:agent-toml",
      "title": "`agent.toml` with `system-prompt.md` (agent.toml)",
      "type": "object",
      "properties": {
        "name": {
          "type": "string",
          "pattern": "^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)$",
          "examples": [
            "reviewer",
            "code-reviewer-2"
    "#);
    assert!(ran.stdout.ends_with("}\n"));
}

#[test]
fn an_unknown_document_is_an_error() {
    insta::assert_snapshot!(Test::new().run("schema agent-toml agent.yaml"), @r#"
    $ agentry schema agent-toml agent.yaml
    --- stderr
    error: agent-toml has no document `agent.yaml`
      = help: its documents are `agent.toml`
    --- exit 2
    "#);
    insta::assert_snapshot!(Test::new().run("schema agenttoml"), @r#"
    $ agentry schema agenttoml
    --- stderr
    error: invalid value 'agenttoml' for '<FORMAT>'
      [possible values: agent-md, agent-toml, manifest, agentfs, agent-dir]

      tip: a similar value exists: 'agent-toml'

    For more information, try '--help'.
    --- exit 2
    "#);
}
