//! Agents of Docker Agent in a registry: imported without rights, or refused.

use serde_json::{Value, json};

use crate::scripted::ScriptedRegistry;
use crate::sha256;
use crate::test::Test;

const KIND: &str = "application/vnd.docker.agent.config.v1+json";
const YAML: &str = "version: \"2\"\nagents:\n  root:\n    model: fast\n    description: Answers questions\n    \
    instruction: |\n      You answer questions.\n    toolsets:\n      - type: shell\n\
    models:\n  fast: {provider: anthropic, model: claude-sonnet-4-6, max_tokens: 100}\nmetadata: {author: someone}\n";

/// A registry with this YAML as `pirate:1`, its manifest changed.
fn holding(yaml: &str, change: impl FnOnce(&mut Value)) -> ScriptedRegistry {
    let registry = ScriptedRegistry::start();
    let mut manifest = json!({
        "schemaVersion": 2,
        "artifactType": KIND,
        "config": {"mediaType": KIND, "digest": sha256(b"{}"), "size": 2},
        "layers": [{"mediaType": "application/yaml", "digest": sha256(yaml.as_bytes()), "size": yaml.len()}],
        "annotations": {"io.docker.agent.version": "1.0.0"},
    });
    change(&mut manifest);
    registry.change(|content| {
        content.blobs.insert(sha256(yaml.as_bytes()), yaml.as_bytes().to_vec());
        content.manifests.insert("pirate:1".to_owned(), manifest.to_string().into_bytes());
    });
    registry
}

#[test]
fn docker_agents_are_imported_without_permissions() {
    let registry = holding(YAML, |_| {});
    let place = format!("oci://{}/pirate:1", registry.host());
    let test = Test::new();
    let pulled = test.run(&format!("pull {place} -o out")).exits(1);
    assert!(pulled.stderr.contains("`agentry import` reads it"), "{pulled}");
    let strict =
        test.run(&format!("import {place} --to manifest -o pirate.agent --strict")).exits(1);
    assert!(!test.has("pirate.agent"), "{strict}");
    let ran = test.run(&format!("import {place} --to manifest -o pirate.agent")).exits(0);
    for lost in ["agents.root.toolsets", "models.fast.max_tokens", "metadata"] {
        assert!(ran.stderr.contains(&format!("lost: `{lost}`")), "{lost}: {ran}");
    }
    let shown = test.run("show pirate.agent --format json").exits(0).stdout;
    for kept in ["You answer questions.", "Answers questions", "anthropic/claude-sonnet-4-6"] {
        assert!(shown.contains(kept), "{kept}: {shown}");
    }
    let verdict = test.run("policy why pirate.agent bash 'rm -rf /'");
    assert!(verdict.stdout.contains("deny"), "{verdict}");
}

#[test]
fn unsupported_docker_agents_are_refused() {
    type Change = fn(&mut Value);
    let none: Change = |_| {};
    let two = "agents:\n  a: {instruction: x}\n  b: {instruction: y}\n";
    let cases: [(&str, Change, &str); 7] = [
        (two, none, "it has 2 agents"),
        ("agents:\n  a: {description: x}\n", none, "has no `instruction`"),
        ("x: 1\n", none, "it has no `agents`"),
        ("agents: [\n", none, "cannot be imported"),
        (YAML, |manifest| manifest["annotations"] = json!({}), "io.docker.agent.version"),
        (YAML, |manifest| manifest["layers"] = json!([]), "not exactly one layer"),
        (YAML, |manifest| manifest["artifactType"] = json!("x"), "not an agent of Docker Agent"),
    ];
    for (yaml, change, expected) in cases {
        let registry = holding(yaml, change);
        let test = Test::new();
        let import = format!("import oci://{}/pirate:1 --to manifest -o x.agent", registry.host());
        let ran = test.run(&import).exits(1);
        assert!(ran.stderr.contains(expected), "{expected}: {ran}");
        assert!(!test.has("x.agent"));
    }
}
