//! The two forms in which clients of the API of `OpenAI` get an answer: chat completions and responses.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::completion::{error_body, failure_of};
use crate::route::RESPONSE_ID;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// `chat.completion`.
    Chat,
    /// `response`.
    Response,
}

/// What all parts of an answer have in common.
pub(crate) struct AnswerHead {
    form: AnswerForm,
    id: String,
    model: String,
    created: u64,
    /// The number of the next event of a stream.
    number: u64,
    /// Whether the end of a stream of chunks has a chunk with the usage.
    pub(crate) includes_usage: bool,
}

impl AnswerHead {
    pub(crate) fn new(form: AnswerForm, (run, after): (&str, u64), model: &str) -> Self {
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let id = match form {
            AnswerForm::Chat => format!("chatcmpl-{run}"),
            AnswerForm::Response => format!("{RESPONSE_ID}{run}.{after}"),
        };
        Self { form, id, model: model.to_owned(), created, number: 0, includes_usage: false }
    }

    /// The first events of a stream.
    pub(crate) fn open(&self) -> Vec<String> {
        match self.form {
            AnswerForm::Chat => {
                vec![self.chunk(&json!({ "role": "assistant", "content": "" }), None)]
            }
            AnswerForm::Response => {
                let response = self.response("in_progress", &[], &Value::Null);
                vec![
                    event(0, "response.created", json!({ "response": response })),
                    event(
                        1,
                        "response.output_item.added",
                        json!({ "output_index": 0, "item": self.item("in_progress", None) }),
                    ),
                    event(
                        2,
                        "response.content_part.added",
                        self.part(json!({ "part": text_part("") })),
                    ),
                ]
            }
        }
    }

    /// A piece of text.
    pub(crate) fn delta(&mut self, text: &str) -> String {
        match self.form {
            AnswerForm::Chat => self.chunk(&json!({ "content": text }), None),
            AnswerForm::Response => {
                self.number += 1;
                event(
                    self.number + 2,
                    "response.output_text.delta",
                    self.part(json!({ "delta": text })),
                )
            }
        }
    }

    /// The last events of a stream.
    pub(crate) fn close(&self, text: &str, ended: &Value) -> Vec<String> {
        let failure = failure_of(ended);
        match (self.form, failure) {
            (AnswerForm::Chat, Some(why)) => {
                vec![format!("data: {}\n\n", error_body("failed", &why))]
            }
            (AnswerForm::Chat, None) => {
                let last = self.chunk(&json!({}), Some(finish(ended)));
                let usage = self.includes_usage.then(|| self.usage_chunk(ended));
                let done = "data: [DONE]\n\n".to_owned();
                [last].into_iter().chain(usage).chain([done]).collect()
            }
            (AnswerForm::Response, failure) => {
                let at = self.number + 3;
                let status = if failure.is_some() { "failed" } else { "completed" };
                let item = self.item("completed", Some(text));
                let mut response = self.response(status, std::slice::from_ref(&item), ended);
                if let Some(why) = &failure {
                    response["error"] = json!({ "code": "server_error", "message": why });
                }
                vec![
                    event(at, "response.output_text.done", self.part(json!({ "text": text }))),
                    event(
                        at + 1,
                        "response.content_part.done",
                        self.part(json!({ "part": text_part(text) })),
                    ),
                    event(
                        at + 2,
                        "response.output_item.done",
                        json!({ "output_index": 0, "item": item }),
                    ),
                    event(at + 3, &format!("response.{status}"), json!({ "response": response })),
                ]
            }
        }
    }

    /// The whole answer as one document.
    pub(crate) fn whole(&self, text: &str, ended: &Value) -> Value {
        match self.form {
            AnswerForm::Chat => json!({
                "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
                "choices": [{
                    "index": 0, "finish_reason": finish(ended), "logprobs": null,
                    "message": { "role": "assistant", "content": text, "refusal": null },
                }],
                "usage": chat_usage(ended),
            }),
            AnswerForm::Response => {
                self.response("completed", &[self.item("completed", Some(text))], ended)
            }
        }
    }

    fn chunk(&self, delta: &Value, end: Option<&str>) -> String {
        let chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": end }],
        });
        format!("data: {chunk}\n\n")
    }

    /// The chunk that a client gets which asks for the usage: it has no choice.
    fn usage_chunk(&self, ended: &Value) -> String {
        let chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [], "usage": chat_usage(ended),
        });
        format!("data: {chunk}\n\n")
    }

    fn item(&self, status: &str, text: Option<&str>) -> Value {
        let content: Vec<_> = text.map(text_part).into_iter().collect();
        json!({ "type": "message", "id": format!("msg_{}", self.id), "status": status, "role": "assistant", "content": content })
    }

    /// Fields of an event about the only text of the answer.
    fn part(&self, mut fields: Value) -> Value {
        fields["item_id"] = json!(format!("msg_{}", self.id));
        fields["output_index"] = json!(0);
        fields["content_index"] = json!(0);
        fields
    }

    fn response(&self, status: &str, output: &[Value], ended: &Value) -> Value {
        let usage = &ended["spent"]["usage"];
        let (input, written) = (number(&usage["input"]), number(&usage["output"]));
        let usage = (!ended.is_null()).then(|| {
            json!({
                "input_tokens": input, "output_tokens": written, "total_tokens": input + written,
                "input_tokens_details": { "cached_tokens": 0 }, "output_tokens_details": { "reasoning_tokens": 0 },
            })
        });
        json!({
            "id": self.id, "object": "response", "created_at": self.created, "model": self.model, "status": status,
            "output": output, "usage": usage, "error": null, "incomplete_details": null, "instructions": null,
            "metadata": {}, "parallel_tool_calls": false, "tool_choice": "auto", "tools": [],
        })
    }
}

fn event(number: u64, kind: &str, mut fields: Value) -> String {
    fields["type"] = json!(kind);
    fields["sequence_number"] = json!(number);
    format!("event: {kind}\ndata: {fields}\n\n")
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [] })
}

fn finish(ended: &Value) -> &'static str {
    if ended["state"] == "over_budget" { "length" } else { "stop" }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn chat_usage(ended: &Value) -> Value {
    let usage = &ended["spent"]["usage"];
    let (input, output) = (number(&usage["input"]), number(&usage["output"]));
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}
