//! `cargo xtask catalogue PRICES.json`: writes the catalogue of models from a public price list.
//!
//! Only facts are taken from the list (context window, prices, tool use), and only for the models of
//! `catalogue/selection.txt`, which also holds our own judgement: the tier and the order. The list is
//! `model_prices_and_context_window*.json`, which the Python package `litellm` (MIT) ships.

mod selection;

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use selection::{Choice, Facts};

/// The file that is written.
const CATALOGUE: &str = "crates/agentry-compile/src/resolve/catalogue.toml";
const SELECTION: &str = include_str!("catalogue/selection.txt");

/// The prefixes of keys in the price list, by provider.
const PREFIXES: &[(&str, &str)] = &[
    ("anthropic", ""),
    ("cerebras", "cerebras/"),
    ("deepseek", "deepseek/"),
    ("google", "gemini/"),
    ("groq", "groq/"),
    ("mistral", "mistral/"),
    ("moonshot", "moonshot/"),
    ("ollama", "ollama/"),
    ("openai", ""),
    ("together", "together_ai/"),
    ("xai", "xai/"),
    ("zai", "zai/"),
];

/// Rewrites the catalogue; its version increases when a model or a fact changes.
pub(crate) fn run(prices: &str) -> Result<(), String> {
    let text = fs::read_to_string(prices).map_err(|error| format!("`{prices}`: {error}"))?;
    let prices: Value =
        serde_json::from_str(&text).map_err(|error| format!("`{prices}`: {error}"))?;
    let (models, left_out) = models(&selection::parse(SELECTION)?, &prices, &today());
    left_out.iter().for_each(|line| println!("left out: {line}"));
    let old = fs::read_to_string(CATALOGUE).unwrap_or_default();
    // The header has a date; only the table decides whether anything changed.
    if old.ends_with(&models) {
        println!("{CATALOGUE} is current");
        return Ok(());
    }
    let text = format!("{}{models}", header(version(&old) + 1, &today()));
    fs::write(CATALOGUE, text).map_err(|error| format!("`{CATALOGUE}`: {error}"))?;
    println!("{CATALOGUE} was rewritten; look at it and commit it");
    Ok(())
}

/// Today, as `2027-03-01` in UTC.
fn today() -> String {
    chrono::Utc::now().format("%F").to_string()
}

fn header(version: u64, date: &str) -> String {
    format!(
        "# The models that Agentry knows, best tier first, each tier in the order in which it is tried.\n\
         # Prices are US dollars per million tokens. Written by `cargo xtask catalogue`; do not edit.\n\
         version = {version}\ndate = \"{date}\"\n\n"
    )
}

/// The version of the existing catalogue; 0 if there is none.
fn version(old: &str) -> u64 {
    let line = old.lines().find_map(|line| line.strip_prefix("version = "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The table of models, and the models that the price list does not have or that are withdrawn.
fn models(choices: &[Choice], prices: &Value, today: &str) -> (String, Vec<String>) {
    let (mut out, mut left_out) = ("models = [\n".to_owned(), Vec::new());
    for choice in choices {
        match facts(choice, prices, today) {
            Ok(facts) => line(choice, &facts, &mut out),
            Err(why) => left_out.push(format!("{}/{}: {why}", choice.provider, choice.model)),
        }
    }
    out.push_str("]\n");
    (out, left_out)
}

fn line(choice: &Choice, facts: &Facts, out: &mut String) {
    let Choice { tier, provider, model, .. } = choice;
    let Facts { context, input, output, tools } = facts;
    let _ = write!(out, "  {{ provider = \"{provider}\", id = \"{model}\", ");
    let _ = write!(out, "tier = \"reasoning-{tier}\", context = {context}, ");
    let _ = writeln!(out, "input = {input:?}, output = {output:?}, tools = {tools} }},");
}

/// The facts about a model: those of the selection, else those of the list.
fn facts(choice: &Choice, prices: &Value, today: &str) -> Result<Facts, String> {
    if let Some(facts) = choice.facts {
        return Ok(facts);
    }
    let prefix = PREFIXES.iter().find(|(provider, _)| *provider == choice.provider);
    let (_, prefix) = prefix.ok_or("the price list has no such provider")?;
    let entry = &prices[format!("{prefix}{}", choice.model)];
    if let Some(date) = entry["deprecation_date"].as_str().filter(|date| *date <= today) {
        return Err(format!("withdrawn on {date}"));
    }
    let context = entry["max_input_tokens"].as_u64().ok_or("the price list does not have it")?;
    // Dollars for a million tokens, rounded to four decimals: the product has rounding errors.
    let million = |key: &str| (entry[key].as_f64().unwrap_or(0.0) * 1e10).round() / 1e4;
    Ok(Facts {
        context,
        input: million("input_cost_per_token"),
        output: million("output_cost_per_token"),
        tools: entry["supports_function_calling"].as_bool().unwrap_or(false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_facts_come_from_prices_or_selection() {
        let prices = serde_json::json!({
            "gpt-x": {"max_input_tokens": 1000, "input_cost_per_token": 2.5e-6,
                "output_cost_per_token": 1e-5, "supports_function_calling": true},
            "gemini/g": {"max_input_tokens": 5, "deprecation_date": "2026-01-01"},
        });
        let selected = "max openai gpt-x\nmid google g\nmid google gone\nlow nobody x\n\
                        low ollama l:8b context=8192 tools=no\n";
        let choices = selection::parse(selected).expect("a selection");
        let (table, left_out) = models(&choices, &prices, "2026-06-01");
        assert_eq!(
            table,
            "models = [\n  { provider = \"openai\", id = \"gpt-x\", tier = \"reasoning-max\", \
             context = 1000, input = 2.5, output = 10.0, tools = true },\n  \
             { provider = \"ollama\", id = \"l:8b\", tier = \"reasoning-low\", context = 8192, \
             input = 0.0, output = 0.0, tools = false },\n]\n"
        );
        assert_eq!(
            left_out,
            [
                "google/g: withdrawn on 2026-01-01",
                "google/gone: the price list does not have it",
                "nobody/x: the price list has no such provider",
            ]
        );
    }

    #[test]
    fn versions_are_read_from_the_header() {
        for (old, expected) in [("", 0), (&*header(7, "2026-01-01"), 7), ("version = x\n", 0)] {
            assert_eq!(version(old), expected, "{old}");
        }
    }
}
