//! The cases of the reference implementation, which chooses among programs on `PATH`. Here the choice is
//! among providers. Of a case's programs only `ollama` counts: it means a server with the reference's models.

use serde_json::Value;

use super::*;

const CASES: &str = include_str!("../fixtures/expected-resolve.json");

/// The model that is chosen here, and why it differs from the reference.
const HERE: &[(&str, Option<&str>, &str)] = &[
    (
        "capability only, no preferred/fallback",
        Some("anthropic/claude-sonnet-5-5"),
        "`capability` counts; the reference never reads it",
    ),
    ("claude with key", Some("anthropic/claude-sonnet-4-6"), ""),
    ("openai no key -> subscription", None, "only a key opens a provider; no program is logged in"),
    ("gemini both keys -> GEMINI first", Some("google/gem"), ""),
    ("skip order", Some("anthropic/c"), "the key is at hand; no program is needed"),
    ("fallback reasoning-low gemini+ollama only", Some("ollama/llama3:8b"), ""),
    ("fallback reasoning-high gemini+ollama only", Some("google/gemini-2.5-pro"), ""),
    (
        "fallback nope gemini+ollama only",
        Some("google/gemini-3.8-flash"),
        "after an unknown tier comes that of `capability`",
    ),
    ("cursor", None, "a program, no provider"),
    ("goose", None, "a program, no provider"),
    ("test-echo", None, "a program, no provider"),
    ("skills found", None, "a program, no provider"),
    ("cost_limit 0", None, "a program, no provider"),
    ("auth none", None, "`auth.strategy: none` sends no key"),
    ("prompt: persona+override", None, "a program, no provider"),
    ("prompt: rules only", None, "a program, no provider"),
];

#[test]
fn model_choice_matches_the_reference_vectors() {
    let cases: Vec<Value> = serde_json::from_str(CASES).expect("cases");
    assert_eq!(cases.len(), HERE.len());
    for (case, (label, expected, reason)) in cases.iter().zip(HERE) {
        assert_eq!(case["label"], *label);
        let plan = plan(case);
        let chosen = plan.chosen().map(|candidate| candidate.id.as_str());
        assert_eq!(chosen, *expected, "{label}: {:?}", outcomes(&plan));
        let same = case["model"].as_str().map(here).as_deref() == chosen;
        assert_eq!(same, reason.is_empty(), "{label}: {reason}");
    }
}

fn plan(case: &Value) -> ResolvedPlan {
    let manifest = case["manifest"].to_string();
    let keys: Vec<&str> =
        case["env"].as_object().expect("env").keys().map(String::as_str).collect();
    let mut world = Here::new(&[("a.agent", &manifest)], &keys);
    let programs = case["path_binaries"].as_array().expect("programs");
    world.local = programs
        .iter()
        .any(|program| program == "ollama")
        .then(|| vec!["llama3:70b", "llama3:8b", "mistral:7b"]);
    world.plan("a.agent", ModelLookup::Local)
}

/// A model of the reference, by its name here.
fn here(model: &str) -> String {
    let (provider, model) = model.split_once('/').expect("a provider");
    format!("{}/{model}", provider::canonical(provider))
}

#[test]
fn the_first_set_key_variable_is_used() {
    for (set, expected) in [
        (&["GOOGLE_API_KEY", "GEMINI_API_KEY"][..], "GEMINI_API_KEY"),
        (&["GOOGLE_API_KEY"], "GOOGLE_API_KEY"),
    ] {
        let world = Here::new(&[("a.agent", "name: a\nmodel: {preferred: [gemini/g]}\n")], set);
        assert_eq!(
            world.plan("a.agent", ModelLookup::Local).chosen().expect("a model").keys,
            [expected]
        );
    }
}
