//! Functions that an agent exposes: typed input, typed output, and the tool `result` that gives the output.
//!
//! ```text
//! input ─schema─▶ prompt ─▶ run ─▶ `result`, or JSON as the last text ─schema─▶ output
//!                            ▲                                           │ does not fit, once
//!                            └───────────────── repair ◀─────────────────┘
//! ```

mod result_tool;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentry_compile::formats::manifest::function_type::{is_optional, schema};
use agentry_compile::model::ExposedFunction;
use serde_json::{Map, Value, json};

pub use result_tool::ResultTool;

use crate::conversation::MessageRole;
use crate::driver::{BrokenRun, RunDriver};
use crate::event::RunEnding;
use crate::state::StepState;
use crate::tool::{misfits, validator};

/// The start of the message that asks for another output.
const REPAIR: &str = "The output does not fit: ";

/// A function that an agent exposes.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentFunction {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// The schema of its input: an object with its arguments.
    pub input: Value,
    /// The schema of its output.
    pub output: Value,
    /// Its arguments and its output as the definition writes them.
    pub signature: String,
}

/// One call of a function, while its run works.
#[derive(Debug, Clone)]
pub struct FunctionCall {
    /// The function.
    pub function: Arc<AgentFunction>,
    /// Whether an output that does not fit was given before.
    repaired: Arc<AtomicBool>,
}

impl AgentFunction {
    /// Reads a function of a definition; `None` if it has no name, or a malformed type.
    pub fn of(exposed: &ExposedFunction) -> Option<Self> {
        let ExposedFunction { name, description, input, output } = exposed;
        let name = name.as_ref()?.value.clone();
        let mut properties = Map::new();
        for (argument, of) in input {
            properties.insert(argument.clone(), schema(&of.value).ok()?);
        }
        let required = input.iter().filter(|(_, of)| !is_optional(&of.value));
        let required: Vec<&String> = required.map(|(argument, _)| argument).collect();
        let arguments: Vec<_> =
            input.iter().map(|(it, of)| format!("{it}: {}", of.value)).collect();
        let output_schema = match output {
            Some(output) => schema(&output.value).ok()?,
            None => json!({}),
        };
        let returns = output.as_ref().map_or(String::new(), |it| format!(" -> {}", it.value));
        Some(Self {
            signature: format!("{name}({}){returns}", arguments.join(", ")),
            description: description.as_ref().map(|it| it.value.clone()),
            input: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
            output: output_schema,
            name,
        })
    }

    /// Checks an input against its schema.
    pub fn check_input(&self, input: &Value) -> Result<(), String> {
        fits(&self.input, input)
    }

    /// Checks an output against its schema.
    pub fn check_output(&self, output: &Value) -> Result<(), String> {
        fits(&self.output, output)
    }

    /// Returns the input that a plain text stands for: a JSON object that fits, or the only argument.
    pub fn input_of(&self, text: &str) -> Result<Value, String> {
        let parsed = serde_json::from_str::<Value>(text.trim()).ok();
        let given = parsed.filter(Value::is_object);
        let why = match given {
            Some(given) => match self.check_input(&given) {
                Ok(()) => return Ok(given),
                Err(why) => why,
            },
            None => "it is no JSON object".to_owned(),
        };
        let names = self.input.get("required").and_then(Value::as_array);
        let only = names.filter(|names| names.len() == 1).and_then(|names| names.first()?.as_str());
        let Some(only) = only else { return Err(why) };
        let texts = [Value::String(text.to_owned())].into_iter();
        let values = texts.chain(serde_json::from_str(text.trim()).ok());
        let mut inputs = values.map(|value| json!({ only: value }));
        inputs.find(|input| self.check_input(input).is_ok()).ok_or(why)
    }

    /// Returns the first message of a run that carries it out.
    pub fn prompt(&self, input: &Value) -> String {
        let what = self.description.as_ref().map_or(String::new(), |it| format!(": {it}"));
        format!(
            "Carry out the function `{}`{what}\n\nIts input:\n\n{input:#}\n\nWhen you have its output, give \
             it by calling the tool `result`, as the last thing that you do.",
            self.signature
        )
    }

    /// Returns the output that a last text stands for.
    fn output_of(&self, text: &str) -> Result<Value, String> {
        let text = unfenced(text.trim());
        let parsed = serde_json::from_str::<Value>(text);
        let why = match parsed {
            Ok(value) => match self.check_output(&value) {
                Ok(()) => return Ok(value),
                Err(why) => why,
            },
            Err(error) => format!("the last text is no JSON: {error}"),
        };
        // Where the output is text, the text itself is one.
        let own = Value::String(text.to_owned());
        let is_text = self.output.get("type").is_some_and(|it| it == "string") || self.is_untyped();
        if is_text && !text.is_empty() && self.check_output(&own).is_ok() {
            Ok(own)
        } else {
            Err(why)
        }
    }

    /// Whether the definition writes no type for the output.
    fn is_untyped(&self) -> bool {
        self.output.as_object().is_some_and(Map::is_empty)
    }
}

impl FunctionCall {
    /// Creates a call.
    pub fn new(function: AgentFunction) -> Self {
        Self { function: Arc::new(function), repaired: Arc::default() }
    }

    /// Checks the output after a turn, asks once for another one, and returns how the run ended with the
    /// output.
    pub async fn finish(
        &self,
        driver: &mut RunDriver,
        mut ending: RunEnding,
    ) -> Result<(RunEnding, Option<Value>), BrokenRun> {
        if driver.state().messages.iter().any(|it| it.text().starts_with(REPAIR)) {
            self.repaired.store(true, Ordering::SeqCst);
        }
        // At most two rounds: the second one finds `repaired` set.
        loop {
            if ending != RunEnding::Done {
                return Ok((ending, None));
            }
            let why = match self.given(driver.state()) {
                Ok(output) => return Ok((ending, Some(output))),
                Err(why) => why,
            };
            if self.is_last() {
                let why = format!("the output of `{}` does not fit: {why}", self.function.name);
                return Ok((RunEnding::Failed { why }, None));
            }
            ending = driver
                .send_message(format!("{REPAIR}{why}. Give the whole output with `result`."))
                .await?;
        }
    }

    /// The output that the run has given, or what does not fit.
    fn given(&self, state: &StepState) -> Result<Value, String> {
        if let Some(output) = &state.output {
            return output.clone();
        }
        let last = state.messages.iter().rev().find(|it| it.role == MessageRole::Assistant);
        self.function.output_of(&last.map(|it| it.text()).unwrap_or_default())
    }

    /// Notes an output that does not fit; returns whether there was one before.
    fn is_last(&self) -> bool {
        self.repaired.swap(true, Ordering::SeqCst)
    }
}

/// Checks a value against a schema.
fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    let problems = misfits(&validator(schema)?, value);
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// A text without the Markdown fence around it.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let inner = inner.and_then(|text| text.split_once('\n'));
    inner.map_or(text, |(_, inner)| inner.trim())
}

#[cfg(test)]
mod tests;
