//! The extensions of a definition for one provider: `x-claude`, `x-gemini`, `x-openai` and `x-ollama`.
//!
//! A field is used only if it is in this table, and only at the path in the table. So a file of a
//! workspace can change how a model writes, but never which model is asked, at which address, or with
//! which key.

use agentry_compile::model::Agent;
use agentry_compile::text::Data;
use serde_json::{Map, Value, json};

use super::anthropic::THINKING;

/// The set of fields that a provider understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProviderDialect {
    Anthropic,
    Chat,
    Responses,
    Gemini,
    Ollama,
}

/// The extensions of an agent for one provider.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ProviderExtension {
    /// Fields that are added to the body.
    pub(super) extra: Map<String, Value>,
    /// The most output tokens.
    pub(super) most_output: Option<u64>,
    /// The context window to use.
    pub(super) window: Option<u64>,
    /// Fields that are not used, and why.
    pub(super) notes: Vec<String>,
}

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExtensionKind {
    Bool,
    /// A whole number; -1 means no limit.
    Count,
    Number,
    Word,
    Texts,
}

impl ExtensionKind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Bool => value.is_boolean(),
            Self::Count => value.as_i64().is_some_and(|count| count >= -1),
            Self::Number => value.is_number(),
            Self::Word => value.as_str().is_some_and(|word| word.len() <= 64),
            Self::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
        }
    }
}

use ExtensionKind::{Bool, Count, Number, Texts, Word};
use ProviderDialect::{Anthropic, Chat, Gemini, Ollama, Responses};

/// Each field, its type, and its path in the body.
const FIELDS: &[(ProviderDialect, &str, ExtensionKind, &[&str])] = &[
    (Anthropic, "top_p", Number, &["top_p"]),
    (Anthropic, "top_k", Count, &["top_k"]),
    (Anthropic, "stop_sequences", Texts, &["stop_sequences"]),
    (Anthropic, "service_tier", Word, &["service_tier"]),
    (Anthropic, "effort", Word, &["output_config", "effort"]),
    (Gemini, "top_p", Number, &["generationConfig", "topP"]),
    (Gemini, "top_k", Count, &["generationConfig", "topK"]),
    (Gemini, "seed", Count, &["generationConfig", "seed"]),
    (Gemini, "stop_sequences", Texts, &["generationConfig", "stopSequences"]),
    (Gemini, "presence_penalty", Number, &["generationConfig", "presencePenalty"]),
    (Gemini, "frequency_penalty", Number, &["generationConfig", "frequencyPenalty"]),
    (Gemini, "thinking_budget", Count, &["generationConfig", "thinkingConfig", "thinkingBudget"]),
    (Gemini, "thinking_level", Word, &["generationConfig", "thinkingConfig", "thinkingLevel"]),
    (Gemini, "include_thoughts", Bool, &["generationConfig", "thinkingConfig", "includeThoughts"]),
    (Chat, "reasoning_effort", Word, &["reasoning_effort"]),
    (Chat, "verbosity", Word, &["verbosity"]),
    (Chat, "top_p", Number, &["top_p"]),
    (Chat, "seed", Count, &["seed"]),
    (Chat, "stop", Texts, &["stop"]),
    (Chat, "service_tier", Word, &["service_tier"]),
    (Chat, "presence_penalty", Number, &["presence_penalty"]),
    (Chat, "frequency_penalty", Number, &["frequency_penalty"]),
    (Responses, "reasoning_effort", Word, &["reasoning", "effort"]),
    (Responses, "reasoning_summary", Word, &["reasoning", "summary"]),
    (Responses, "verbosity", Word, &["text", "verbosity"]),
    (Responses, "top_p", Number, &["top_p"]),
    (Responses, "service_tier", Word, &["service_tier"]),
    (Ollama, "top_p", Number, &["options", "top_p"]),
    (Ollama, "top_k", Count, &["options", "top_k"]),
    (Ollama, "min_p", Number, &["options", "min_p"]),
    (Ollama, "seed", Count, &["options", "seed"]),
    (Ollama, "repeat_penalty", Number, &["options", "repeat_penalty"]),
    (Ollama, "stop", Texts, &["options", "stop"]),
    (Ollama, "think", Bool, &["think"]),
    (Ollama, "keep_alive", Word, &["keep_alive"]),
];

/// Returns the extensions of `agent` for a provider. Web search by the provider is enabled only if the agent
/// may search.
pub(super) fn of(agent: &Agent, dialect: ProviderDialect, may_search: bool) -> ProviderExtension {
    let mut extension = ProviderExtension::default();
    let names: &[&str] = match dialect {
        Anthropic => &["x-claude", "x-anthropic"],
        Gemini => &["x-gemini", "x-google"],
        Chat | Responses => &["x-openai"],
        Ollama => &["x-ollama"],
    };
    for name in names {
        let Some(Value::Object(fields)) = agent.extension(name).map(Data::to_json) else {
            continue;
        };
        for (field, value) in &fields {
            if let Err(why) = extension.take(dialect, &snake(field), value, may_search) {
                extension.notes.push(format!("`{name}.{field}` is not used: {why}"));
            }
        }
        if dialect == Anthropic {
            extension.think(&fields);
        }
    }
    extension
}

impl ProviderExtension {
    fn take(
        &mut self,
        dialect: ProviderDialect,
        field: &str,
        value: &Value,
        may_search: bool,
    ) -> Result<(), String> {
        let wrong = || format!("`{value}` is not what it takes");
        match (dialect, field) {
            (_, "max_tokens" | "max_output_tokens" | "num_predict") => {
                let most = value.as_u64().filter(|most| *most > 0).ok_or_else(wrong)?;
                self.most_output = Some(most);
            }
            (Ollama, "num_ctx") => {
                let size = value.as_u64().filter(|size| *size > 0).ok_or_else(wrong)?;
                self.window = Some(size);
            }
            // `think` reads both fields together; here they are only checked.
            (Anthropic, "extended_thinking") => value.as_bool().map(drop).ok_or_else(wrong)?,
            (Anthropic, "budget" | "thinking_budget" | "budget_tokens") => {
                value.as_u64().map(drop).ok_or_else(wrong)?;
            }
            (Gemini, "grounding") => {
                let wanted = value.as_bool().ok_or_else(wrong)?;
                if wanted && !may_search {
                    return Err("the agent may not search the web".to_owned());
                }
                if wanted {
                    self.extra.insert("tools".to_owned(), json!([{ "googleSearch": {} }]));
                }
            }
            _ => {
                let known = |row: &&(ProviderDialect, &str, ExtensionKind, &[&str])| {
                    (row.0, row.1) == (dialect, field)
                };
                let row = FIELDS.iter().find(known).ok_or("nothing is known of it")?;
                let (_, _, kind, path) = row;
                if !kind.fits(value) {
                    return Err(wrong());
                }
                put(&mut self.extra, path, value);
            }
        }
        Ok(())
    }

    /// Sets the thinking budget of an Anthropic model.
    fn think(&mut self, fields: &Map<String, Value>) {
        let field = |names: &[&str]| {
            let found = fields.iter().find(|(name, _)| names.contains(&snake(name).as_str()));
            found.map(|(_, value)| value)
        };
        if field(&["extended_thinking"]).and_then(Value::as_bool) == Some(true) {
            let budget = field(&["budget", "thinking_budget", "budget_tokens"]);
            // The provider rejects a smaller budget.
            let budget = budget.and_then(Value::as_u64).unwrap_or(THINKING).max(1_024);
            let thinking = json!({ "type": "enabled", "budget_tokens": budget });
            self.extra.insert("thinking".to_owned(), thinking);
        }
    }
}

/// Inserts a value at a path.
fn put(map: &mut Map<String, Value>, path: &[&str], value: &Value) {
    match path {
        [] => {}
        [last] => {
            map.insert((*last).to_owned(), value.clone());
        }
        [first, rest @ ..] => {
            let inner = map.entry((*first).to_owned()).or_insert_with(|| json!({}));
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// Converts a name to snake case: `topP` becomes `top_p`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    text
}

#[cfg(test)]
mod tests {
    use agentry_compile::text::{FileId, Span, Spanned};

    use super::*;

    fn agent(name: &str, fields: &[(&str, Data)]) -> Agent {
        let map =
            fields.iter().map(|(field, value)| ((*field).to_owned(), value.clone())).collect();
        let data = Spanned::new(Data::Map(map), Span::start_of(FileId(0)));
        Agent { extensions: vec![(name.to_owned(), data)], ..Agent::default() }
    }

    /// The extension, its fields, its provider, and the resulting fields.
    type Case<'a> = (&'a str, &'a [(&'a str, Data)], ProviderDialect, Value);

    #[test]
    fn extension_fields_are_written_to_their_path() {
        let yes = Data::Bool(true);
        let cases: &[Case<'_>] = &[
            (
                "x-claude",
                &[("extended_thinking", yes.clone())],
                Anthropic,
                json!({ "thinking": { "type": "enabled", "budget_tokens": THINKING } }),
            ),
            (
                "x-claude",
                &[("extended_thinking", yes.clone()), ("budget", Data::Int(2_048))],
                Anthropic,
                json!({ "thinking": { "type": "enabled", "budget_tokens": 2_048 } }),
            ),
            (
                "x-claude",
                &[("extended_thinking", Data::Bool(false)), ("effort", Data::str("low"))],
                Anthropic,
                json!({ "output_config": { "effort": "low" } }),
            ),
            ("x-claude", &[("extended_thinking", yes.clone())], Gemini, json!({})),
            (
                "x-gemini",
                &[("grounding", yes.clone()), ("topP", Data::Float(0.5))],
                Gemini,
                json!({ "tools": [{ "googleSearch": {} }], "generationConfig": { "topP": 0.5 } }),
            ),
            (
                "x-openai",
                &[("reasoning_effort", Data::str("high"))],
                Responses,
                json!({ "reasoning": { "effort": "high" } }),
            ),
            ("x-ollama", &[("think", yes.clone())], Ollama, json!({ "think": true })),
        ];
        for (name, fields, dialect, expected) in cases {
            let found = of(&agent(name, fields), *dialect, true);
            assert_eq!(Value::Object(found.extra), *expected, "{name} {fields:?}");
            assert_eq!(found.notes, Vec::<String>::new(), "{name} {fields:?}");
        }
    }

    /// The reference page has every field.
    #[test]
    fn every_field_is_documented() {
        let page = include_str!("../../../../docs/reference/providers.md");
        for (dialect, field, _, path) in FIELDS {
            let row = format!("| `{field}` | `{}` |", path.join("."));
            assert!(page.contains(&row), "{dialect:?}: {row}");
        }
    }

    #[test]
    fn unsafe_extension_fields_are_dropped() {
        let map = Data::Map(vec![("url".to_owned(), Data::str("https://evil.example"))]);
        let fields = [
            ("model", Data::str("other")),
            ("base_url", Data::str("https://evil.example")),
            ("api_key", Data::str("sk")),
            ("mcp_servers", Data::List(vec![map.clone()])),
            ("tools", Data::List(vec![map])),
            ("system", Data::str("obey")),
            ("top_p", Data::str("much")),
        ];
        for (name, dialect) in [
            ("x-claude", Anthropic),
            ("x-gemini", Gemini),
            ("x-openai", Chat),
            ("x-openai", Responses),
            ("x-ollama", Ollama),
        ] {
            let found = of(&agent(name, &fields), dialect, true);
            assert_eq!(found.extra, Map::new(), "{name}");
            assert_eq!(found.notes.len(), fields.len(), "{name}: {:?}", found.notes);
        }
        let searching = agent("x-gemini", &[("grounding", Data::Bool(true))]);
        let found = of(&searching, Gemini, false);
        assert_eq!(
            (found.extra, found.notes),
            (
                Map::new(),
                vec![
                    "`x-gemini.grounding` is not used: the agent may not search the web".to_owned()
                ]
            )
        );
    }
}
