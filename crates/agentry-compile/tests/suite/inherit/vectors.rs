//! The reference implementation's results for parents and children, and intended differences.

use std::collections::BTreeMap;

use agentry_compile::{CompiledAgent, MemoryWorld, declared, hash, resolved};
use serde_json::{Map, Value, json};

use super::differences::DIFFERENCES;
use super::{checked, errors};

const FILES: &[(&str, &str)] = &[
    ("c1.agent", include_str!("vectors/c1.agent")),
    ("c3.agent", include_str!("vectors/c3.agent")),
    ("c5.agent", include_str!("vectors/c5.agent")),
    ("c7.agent", include_str!("vectors/c7.agent")),
    ("cy1.agent", include_str!("vectors/cy1.agent")),
    ("cy2.agent", include_str!("vectors/cy2.agent")),
    ("g.agent", include_str!("vectors/g.agent")),
    ("h.agent", include_str!("vectors/h.agent")),
    ("p.agent", include_str!("vectors/p.agent")),
    ("s1.agent", include_str!("vectors/s1.agent")),
];

#[test]
fn merging_matches_the_reference_but_for_listed_differences() {
    let expected = include_str!("vectors/expected-merge.json");
    let expected: BTreeMap<String, Value> = serde_json::from_str(expected).expect("json");
    let world = crate::world::world(FILES);
    let mut found = Vec::new();
    for (name, expected) in &expected {
        let compiled = checked(&world, name);
        assert_eq!(hash(&world, &compiled).short.as_deref(), expected["hash"].as_str(), "{name}");
        if expected["error"] == "cycle" {
            assert!(errors(&compiled).iter().any(|error| error.starts_with("AG0032")), "{name}");
            continue;
        }
        assert_eq!(errors(&compiled), Vec::<String>::new(), "{name}");
        compare(name, "", &expected["merged"], &reference_form(&compiled), &mut found);
    }
    let listed: Vec<_> = DIFFERENCES
        .iter()
        .map(|(field, reference, ours, _)| format!("{field}: {reference} here {ours}"))
        .collect();
    assert_eq!(found, listed, "a difference that is not listed, or one that is none any more");
}

#[test]
fn every_difference_has_a_reason() {
    assert!(DIFFERENCES.iter().all(|(.., reason)| reason.len() > 20));
}

fn compare(name: &str, path: &str, reference: &Value, ours: &Value, out: &mut Vec<String>) {
    match (reference, ours) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            for (key, value) in one {
                compare(name, &format!("{path}.{key}"), value, &other[key], out);
            }
        }
        _ if reference == ours => {}
        _ => {
            out.push(format!("{}{path}: {reference} here {ours}", name.trim_end_matches(".agent")));
        }
    }
}

/// A merged manifest in the reference's notation.
fn reference_form(compiled: &CompiledAgent) -> Value {
    let own = declared(&resolved(compiled), &compiled.sources).to_json();
    let or = |value: &Value, default: Value| if value.is_null() { default } else { value.clone() };
    let list = |value: &Value| or(value, json!([]));
    let merge = &own["merge"];
    let strategy = |key: &str, usual: &str| or(&merge[key], json!(usual));
    json!({
        "apiVersion": "agent/v1",
        "name": own["name"], "version": own["version"], "author": own["author"],
        "license": own["license"], "description": own["description"], "tags": list(&own["tags"]),
        "base": own["base"],
        "merge": {
            "skills": strategy("skills", "append"), "tools": strategy("tools", "append"),
            "behavior": strategy("behavior", "override"), "trust": strategy("trust", "restrict"),
        },
        "model": {
            "capability": own["model"]["capability"], "preferred": list(&own["model"]["preferred"]),
            "fallback": own["model"]["fallback"], "context": own["model"]["context"],
        },
        "auth": {
            "strategy": own["auth"]["strategy"],
            "providers": or(&own["auth"]["providers"], json!({})),
        },
        "skills": named(&own["skills"]),
        "tools": {
            "mcp": named(&own["tools"]["mcp"]), "native": list(&own["tools"]["native"]),
        },
        "memory": own["memory"],
        "behavior": {
            "persona": own["role"], "traits": list(&own["traits"]),
            "temperature": own["temperature"], "max_steps": own["max_turns"],
            "on_error": own["on_error"], "system_override": own["system_override"],
        },
        "expose": exposed(&own["expose"]),
        "trust": {
            "filesystem": own["trust"]["filesystem"], "network": own["trust"]["network"],
            "exec": own["trust"]["exec"], "scope": list(&own["trust"]["scope"]),
        },
        "observability": {
            "trace": own["budget"]["trace"], "cost_limit": own["budget"]["cost_limit"],
            "step_limit": own["budget"]["step_limit"], "on_exceed": own["budget"]["on_exceed"],
        },
        "agents": or(&own["agents"], json!({})), "pipeline": list(&own["pipeline"]),
        "extensions": or(&own["extensions"], json!({})),
        "soul": own["system"], "rules": own["rules"],
    })
}

/// Named items: only the name if there is nothing else.
fn named(list: &Value) -> Value {
    let item = |item: &Value| match item.as_object() {
        Some(map) if map.len() == 1 => map["name"].clone(),
        _ => item.clone(),
    };
    list.as_array().map_or(json!([]), |items| items.iter().map(item).collect())
}

fn exposed(list: &Value) -> Value {
    let item = |item: &Value| {
        let mut all: Map<_, _> =
            [("description", Value::Null), ("input", json!({})), ("output", Value::Null)]
                .map(|(key, value)| (key.to_owned(), value))
                .into_iter()
                .collect();
        all.extend(item.as_object().cloned().unwrap_or_default());
        Value::Object(all)
    };
    list.as_array().map_or(json!([]), |items| items.iter().map(item).collect())
}

#[test]
fn the_short_hash_ignores_changes_of_the_base() {
    let world = crate::world::world(FILES);
    let mut changed: MemoryWorld = world.clone();
    changed.write("p.agent", "name: p\nskills: [other]\n");
    let digests = |world: &MemoryWorld| {
        let digest = hash(world, &checked(world, "c3.agent"));
        (digest.short, digest.full)
    };
    let (before, after) = (digests(&world), digests(&changed));
    assert_eq!(before.0, after.0);
    assert_ne!(before.1, after.1);
}
