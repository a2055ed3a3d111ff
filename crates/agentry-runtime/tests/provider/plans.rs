//! From the candidates of an agent to the models that can be asked here, and their prices.

use agentry_compile::model::Agent;
use agentry_compile::text::{Data, FileId, Span, Spanned};
use agentry_compile::{CandidateOutcome, ModelCandidate, ResolveSettings};
use agentry_runtime::TokenUsage;
use agentry_runtime::provider::plan::{ModelPlan, NoModel, PlanInputs};
use serde_json::{Value, json};

use crate::candidate;

fn plan(
    models: &[ModelCandidate],
    set: &[(&str, &str)],
    agent: &Agent,
) -> Result<ModelPlan, String> {
    planned(models, set, agent, false).map_err(|error| error.to_string())
}

fn planned(
    models: &[ModelCandidate],
    set: &[(&str, &str)],
    agent: &Agent,
    counts_money: bool,
) -> Result<ModelPlan, NoModel> {
    let environment = |name: &str| {
        set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
    };
    let settings = ResolveSettings::built_in().clone().with_environment(&environment);
    let wanted = PlanInputs { agent, models, settings: &settings, may_search: false, counts_money };
    ModelPlan::of(&wanted, &environment)
}

/// The variables that are set; provider, address and key of the models that can be asked.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, &'a str, Option<&'a str>)]);

#[test]
fn keys_and_addresses_come_from_the_environment() {
    let models = [
        candidate("anthropic", &["ANTHROPIC_API_KEY"]),
        candidate("openai", &["OPENAI_API_KEY"]),
        candidate("google", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
        candidate("groq", &["GROQ_API_KEY"]),
        candidate("ollama", &[]),
    ];
    let cases: &[Case<'_>] = &[
        (&[], &[("ollama", "http://127.0.0.1:11434", None)]),
        (
            &[("ANTHROPIC_API_KEY", " k \n"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")],
            &[
                ("anthropic", "http://127.0.0.1:1/v1", Some("ANTHROPIC_API_KEY")),
                ("ollama", "http://127.0.0.1:11434", None),
            ],
        ),
        (
            &[("OPENAI_API_KEY", "k"), ("GOOGLE_API_KEY", "g"), ("GROQ_API_KEY", "q")],
            &[
                ("openai", "https://api.openai.com/v1", Some("OPENAI_API_KEY")),
                (
                    "google",
                    "https://generativelanguage.googleapis.com/v1beta",
                    Some("GOOGLE_API_KEY"),
                ),
                ("groq", "https://api.groq.com/openai/v1", Some("GROQ_API_KEY")),
                ("ollama", "http://127.0.0.1:11434", None),
            ],
        ),
        (
            &[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://elsewhere.example/v1")],
            &[("ollama", "http://127.0.0.1:11434", None)],
        ),
    ];
    for (set, expected) in cases {
        let plan = plan(&models, set, &Agent::default()).expect("a plan");
        let found: Vec<_> = plan
            .entries
            .iter()
            .map(|it| {
                (it.provider.as_str(), it.client.base.as_str(), it.client.key_name.as_deref())
            })
            .collect();
        assert_eq!(found, *expected, "{set:?}");
    }
}

#[test]
fn the_protocol_follows_provider_and_address() {
    let models = [
        candidate("openai", &["OPENAI_API_KEY"]),
        candidate("anthropic", &["ANTHROPIC_API_KEY"]),
        candidate("google", &["GEMINI_API_KEY"]),
        candidate("mistral", &["MISTRAL_API_KEY"]),
        candidate("ollama", &[]),
    ];
    let keys: Vec<(&str, &str)> =
        models.iter().flat_map(|it| it.keys.iter().map(|key| (key.as_str(), "k"))).collect();
    let elsewhere = [&keys[..], &[("OPENAI_BASE_URL", "http://localhost:1/v1")]].concat();
    for (set, openai) in [(keys, "/responses"), (elsewhere, "/chat/completions")] {
        let plan = plan(&models, &set, &Agent::default()).expect("a plan");
        let extra = serde_json::Map::new();
        let paths: Vec<String> = plan
            .entries
            .iter()
            .map(|entry| {
                entry.client.wire.path(&agentry_runtime::provider::ProviderRequest {
                    model: "a/../b?x",
                    system: "",
                    messages: &[],
                    tools: &[],
                    temperature: None,
                    most_output: 1,
                    extra: &extra,
                })
            })
            .collect();
        let gemini = "/models/a%2F..%2Fb%3Fx:streamGenerateContent?alt=sse";
        assert_eq!(paths, [openai, "/messages", gemini, "/chat/completions", "/api/chat"]);
    }
}

#[test]
fn without_a_model_the_plan_lists_missing_keys() {
    let skipped = |provider: &str, why: &str| ModelCandidate {
        outcome: CandidateOutcome::Skipped(why.to_owned()),
        ..candidate(provider, &[])
    };
    let models = [
        skipped("anthropic", "`ANTHROPIC_API_KEY` is not set"),
        candidate("openai", &["OPENAI_API_KEY"]),
        skipped("ollama", "no server answers at `http://127.0.0.1:11434`"),
        candidate("groq", &["GROQ_API_KEY"]),
        candidate("google", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
    ];
    let set = [("GROQ_API_KEY", "two\nlines")];
    let message = plan(&models, &set, &Agent::default()).err().expect("no plan");
    insta::assert_snapshot!(message, @"
    no model can be asked
      `anthropic/scripted`: `ANTHROPIC_API_KEY` is not set
      `openai/scripted`: `OPENAI_API_KEY` is not set
      `ollama/scripted`: no server answers at `http://127.0.0.1:11434`
      `groq/scripted`: `GROQ_API_KEY` has signs that no key has
      `google/scripted`: `GEMINI_API_KEY` or `GOOGLE_API_KEY` is not set
    ");
}

#[test]
fn usage_is_priced_by_the_catalogue() {
    let usage = TokenUsage { input: 1_000_000, cached: 400_000, output: 100_000, cost: None };
    let small = TokenUsage { input: 1, cached: 0, output: 0, cost: None };
    // Two dollars per million input tokens, ten per million output tokens.
    let cases = [
        ("anthropic", usage, Some(1_200_000 + 80_000 + 1_000_000)),
        ("openai", usage, Some(1_200_000 + 400_000 + 1_000_000)),
        ("google", usage, Some(1_200_000 + 200_000 + 1_000_000)),
        ("groq", usage, Some(2_000_000 + 1_000_000)),
        ("groq", small, Some(2)),
        ("groq", TokenUsage::default(), Some(0)),
    ];
    for (provider, usage, expected) in cases {
        let set = [("KEY", "k")];
        let plan = plan(&[candidate(provider, &["KEY"])], &set, &Agent::default()).expect("a plan");
        assert_eq!(plan.entries[0].cost(&usage), expected, "{provider}");
        assert_eq!(plan.notes, Vec::<String>::new());
    }
    let free = ModelCandidate { price: None, ..candidate("groq", &["KEY"]) };
    let plan = plan(&[free], &[("KEY", "k")], &Agent::default()).expect("a plan");
    assert_eq!(plan.entries[0].cost(&usage), None);
    assert_eq!(plan.notes, ["no price is known for `groq/scripted`: what it costs is not counted"]);
}

/// Money is a hard limit: a model without a known price is not asked.
#[test]
fn a_cost_limit_excludes_models_without_a_price() {
    let known = candidate("groq", &["KEY"]);
    let unknown = ModelCandidate { price: None, ..candidate("mistral", &["KEY"]) };
    let own = ModelCandidate { price: None, ..candidate("ollama", &[]) };
    let names = |models: &[ModelCandidate], counts: bool| {
        let plan = planned(models, &[("KEY", "k")], &Agent::default(), counts)?;
        let entries = plan.entries.iter();
        Ok((entries.map(|entry| entry.provider.clone()).collect::<Vec<_>>(), plan.notes))
    };
    let all = [unknown.clone(), known, own];
    let (asked, notes) = names(&all, true).map_err(|error: NoModel| error).expect("a plan");
    assert_eq!(asked, ["groq", "ollama"]);
    let why = "no price is known for it, so a limit on money could not be kept";
    assert_eq!(notes, [format!("`mistral/scripted` is not asked: {why}")]);
    assert_eq!(names(&all, false).expect("a plan").0, ["mistral", "groq", "ollama"]);
    let nothing = names(&[unknown], true).expect_err("no plan");
    assert_eq!(nothing.unpriced, ["mistral/scripted"]);
    assert_eq!(nothing.looked_for, [format!("`mistral/scripted`: {why}")]);
}

#[test]
fn context_and_output_sizes_follow_the_model() {
    let of = |provider: &str, context: Option<u64>| {
        let model = ModelCandidate { context, ..candidate(provider, &[]) };
        let plan = plan(&[model], &[], &Agent::default()).expect("a plan");
        let entry = &plan.entries[0];
        (entry.window, entry.most_output, entry.extra.get("options").cloned())
    };
    let options = |size: u64| Some(json!({ "num_ctx": size }));
    assert_eq!(of("groq", None), (None, 16_000, None));
    assert_eq!(of("groq", Some(8_000)), (Some(8_000), 2_000, None));
    assert_eq!(of("groq", Some(200_000)), (Some(200_000), 16_000, None));
    assert_eq!(of("ollama", None), (Some(32_768), 8_192, options(32_768)));
    assert_eq!(of("ollama", Some(131_072)), (Some(32_768), 8_192, options(32_768)));
    assert_eq!(of("ollama", Some(4_096)), (Some(4_096), 1_024, options(4_096)));
}

#[test]
fn extensions_of_the_definition_are_applied() {
    let at = |data: Data| Spanned::new(data, Span::start_of(FileId(0)));
    let claude = Data::Map(vec![
        ("extended_thinking".to_owned(), Data::Bool(true)),
        ("max_tokens".to_owned(), Data::Int(5_000)),
        ("model".to_owned(), Data::str("claude-other")),
    ]);
    let gemini = Data::Map(vec![("grounding".to_owned(), Data::Bool(true))]);
    let mut agent = Agent {
        extensions: vec![("x-claude".to_owned(), at(claude)), ("x-gemini".to_owned(), at(gemini))],
        ..Agent::default()
    };
    agent.behaviour.temperature = Some(Spanned::new(0.2, Span::start_of(FileId(0))));
    let models = [candidate("anthropic", &["KEY"]), candidate("google", &["KEY"])];
    let plan = plan(&models, &[("KEY", "k")], &agent).expect("a plan");
    let [claude, gemini] = &plan.entries[..] else { panic!("two models") };
    let thinking = json!({ "thinking": { "type": "enabled", "budget_tokens": 4_096 } });
    assert_eq!(Value::Object(claude.extra.clone()), thinking);
    assert_eq!((claude.most_output, claude.temperature), (5_000, Some(0.2)));
    assert_eq!((gemini.extra.len(), gemini.most_output), (0, 16_000));
    assert_eq!(
        plan.notes,
        [
            "`x-claude.model` is not used: nothing is known of it",
            "`x-gemini.grounding` is not used: the agent may not search the web",
        ]
    );
}
