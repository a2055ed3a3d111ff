//! `agentry schema`: JSON Schemas that hold for what `new` makes.

use serde_json::Value;

use crate::new::FORMATS;
use crate::test::Test;

/// The main document of a new agent, as data.
fn document(test: &Test, format: &str) -> Value {
    match format {
        "agent-toml" => {
            let text = test.read("reviewer/agent.toml");
            let table: toml::Table = text.parse().expect("TOML");
            serde_json::to_value(table).expect("data")
        }
        "agentfs" => serde_json::from_str(&test.read("reviewer/agent.json")).expect("JSON"),
        other => panic!("{other} has no document that a test can read"),
    }
}

#[test]
fn schemas_are_schemas() {
    for (format, _) in FORMATS {
        let schema = Test::new().run(&format!("schema {format}")).exits(0).json();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{format}");
        if let Err(error) = jsonschema::meta::validate(&schema) {
            panic!("{format}: {error}");
        }
        let id = schema["$id"].as_str().expect("an address");
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '.');
        assert!(id.starts_with("urn:agentry:") && id.chars().all(fits), "{id}");
    }
}

#[test]
fn new_agents_fit_their_schema() {
    for format in ["agent-toml", "agentfs"] {
        let test = Test::new();
        test.run(&format!("new {format} reviewer")).exits(0);
        let schema = test.run(&format!("schema {format}")).json();
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let document = document(&test, format);
        let errors: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{format}: {errors:#?}");
        assert!(!validator.is_valid(&serde_json::json!({})), "{format}");
    }
}

#[test]
fn the_start_of_one() {
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
          "description": "What programs call the agent: lower-case letters, digits and hyphens, the name of its directory."
        },
        "display_name": {
          "type": "string",
    "#);
    assert!(ran.stdout.ends_with("}\n"));
}

#[test]
fn a_document_that_is_not_there() {
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
    error: invalid value 'agenttoml' for '<FORMAT>': did you mean `agent-toml`?

    For more information, try '--help'.
    --- exit 2
    "#);
}
