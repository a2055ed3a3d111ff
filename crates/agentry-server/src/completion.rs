//! Agents for clients of the API of `OpenAI`: an agent is a model, and its tools stay inside. These protocols know no
//! approvals, so a call that needs one is denied, and the agent goes on without it.

use std::collections::VecDeque;
use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Map, Value, json};

use crate::api::ApiServer;
use crate::completion_form::{AnswerForm, AnswerHead};
use crate::events::EventFeed;
use crate::host::{HostCall, HostError};
use crate::reply::{self, ServerReply};
use crate::route::RESPONSE_ID;

/// Who may have said a message.
pub(crate) const MESSAGE_ROLES: [&str; 4] = ["system", "developer", "user", "assistant"];

/// The agents as models.
pub(crate) async fn models(server: &Arc<ApiServer>) -> Result<ServerReply, Box<ServerReply>> {
    let agents = server.call(HostCall::Agents).await?.body;
    let model = |agent: &Value| json!({ "id": agent["id"], "object": "model", "created": 0, "owned_by": "agentry" });
    let models: Vec<_> = agents.as_array().into_iter().flatten().map(model).collect();
    Ok(reply::json(StatusCode::OK, &json!({ "object": "list", "data": models })))
}

/// A chat completion: the conversation of the request is the prompt of a new run.
pub(crate) async fn chat(
    server: &Arc<ApiServer>,
    body: &Map<String, Value>,
) -> Result<ServerReply, Box<ServerReply>> {
    let prompt = conversation(body.get("messages")).map_err(|why| invalid(&why))?;
    let run = start(server, body, prompt).await?;
    answer(server, AnswerForm::Chat, (run, 0), body).await
}

/// A response: a new run, or a message to the run of an earlier response.
pub(crate) async fn response(
    server: &Arc<ApiServer>,
    body: &Map<String, Value>,
) -> Result<ServerReply, Box<ServerReply>> {
    let input = body.get("input");
    let prompt = match input.and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => conversation(input).map_err(|why| invalid(&why))?,
    };
    let previous = body.get("previous_response_id").and_then(Value::as_str);
    let Some(previous) = previous else {
        let run = start(server, body, prompt).await?;
        return answer(server, AnswerForm::Response, (run, 0), body).await;
    };
    // The id of a response is that of its run and of the last event before it.
    let run = previous.strip_prefix(RESPONSE_ID).and_then(|id| id.split('.').next());
    let run = run.ok_or_else(|| invalid("`previous_response_id` is not the id of a response"))?;
    let after = last_event(server, run).await?;
    let call = HostCall::Say { run: run.to_owned(), text: prompt };
    server.ask_host(call).await.map_err(|failure| openai_error(&failure))?;
    answer(server, AnswerForm::Response, (run.to_owned(), after), body).await
}

async fn start(
    server: &Arc<ApiServer>,
    body: &Map<String, Value>,
    prompt: String,
) -> Result<String, Box<ServerReply>> {
    let agent = body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    let call = HostCall::Start { agent, prompt, commit: None, key: None, waits: false };
    let started = server.ask_host(call).await.map_err(|failure| openai_error(&failure))?;
    Ok(started.body["id"].as_str().unwrap_or_default().to_owned())
}

/// The number of the last event of a run.
async fn last_event(server: &Arc<ApiServer>, run: &str) -> Result<u64, Box<ServerReply>> {
    // Refused first if it has private memories of another user.
    let known = server.ask_host(HostCall::Run(run.to_owned())).await;
    known.map_err(|failure| openai_error(&failure))?;
    let (host, run) = (Arc::clone(&server.host), run.to_owned());
    let read = tokio::task::spawn_blocking(move || host.events(&run, 0, usize::MAX)).await;
    let batch =
        read.unwrap_or_else(|_| Err(HostError::Failed("the run cannot be read".to_owned())));
    let batch = batch.map_err(|failure| openai_error(&failure))?;
    Ok(batch.events.last().map_or(0, |(sequence, _)| *sequence))
}

/// The messages of a request as one prompt. An agent has its own instructions; those of the caller are a part of what
/// it is asked.
fn conversation(messages: Option<&Value>) -> Result<String, String> {
    let messages = messages.and_then(Value::as_array).ok_or("the messages are not a list")?;
    let mut prompt_parts = Vec::new();
    for message in messages {
        let role = message["role"].as_str().unwrap_or("user");
        if !MESSAGE_ROLES.contains(&role) {
            return Err(format!(
                "messages of `{role}` are not taken: the tools of an agent are its own"
            ));
        }
        prompt_parts.push((role, text_of(&message["content"])?));
    }
    match prompt_parts.split_last() {
        None => Err("there is no message".to_owned()),
        Some(((_, last), [])) => Ok(last.clone()),
        Some(((_, last), earlier)) => {
            let lines = earlier.iter().map(|(role, text)| format!("{role}: {text}\n\n"));
            Ok(format!("The conversation so far:\n\n{}user: {last}", lines.collect::<String>()))
        }
    }
}

/// The text of a message: a text, or a list of parts that are texts.
fn text_of(content: &Value) -> Result<String, String> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let text = |part: &Value| part["text"].as_str().map(str::to_owned);
            let texts: Option<Vec<_>> = parts.iter().map(text).collect();
            texts.map(|texts| texts.concat()).ok_or_else(|| "only text is taken".to_owned())
        }
        _ => Err("a message has no text".to_owned()),
    }
}

/// The text of a run as it comes, and its end.
struct AnswerFeed {
    feed: EventFeed,
    /// What was sent of the turn under way.
    turn: String,
    /// The whole text so far.
    text: String,
}

/// A part of an answer.
enum AnswerPart {
    Text(String),
    /// How the run ended.
    End(Value),
}

impl AnswerFeed {
    async fn next(&mut self) -> AnswerPart {
        loop {
            let Some((sequence, event)) = self.feed.next().await else {
                return AnswerPart::End(json!({ "state": "failed", "why": "the server ends" }));
            };
            let text = event["text"].as_str().unwrap_or_default();
            match (sequence, event["type"].as_str().unwrap_or_default()) {
                (_, "ended") => return AnswerPart::End(event),
                (None, "text") => {
                    self.turn.push_str(text);
                    return self.add(text.to_owned());
                }
                (Some(_), "turn") => {
                    // Pieces may have been missed, or all of them.
                    let sent = std::mem::take(&mut self.turn);
                    let rest = text.strip_prefix(sent.as_str()).unwrap_or_default().to_owned();
                    let has_more = event["calls"].as_u64().unwrap_or(0) > 0 && !text.is_empty();
                    let rest = if has_more { format!("{rest}\n\n") } else { rest };
                    if !rest.is_empty() {
                        return self.add(rest);
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, text: String) -> AnswerPart {
        self.text.push_str(&text);
        AnswerPart::Text(text)
    }
}

/// Answers with what the run says: as a stream, or at the end.
async fn answer(
    server: &Arc<ApiServer>,
    form: AnswerForm,
    (run, after): (String, u64),
    body: &Map<String, Value>,
) -> Result<ServerReply, Box<ServerReply>> {
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
    let mut head = AnswerHead::new(form, (&run, after), model);
    let options = body.get("stream_options");
    head.includes_usage = options.is_some_and(|it| it["include_usage"] == true);
    let feed = server.feed(run, after)?;
    let mut reader = AnswerFeed { feed, turn: String::new(), text: String::new() };
    if body.get("stream") == Some(&Value::Bool(true)) {
        let opening = VecDeque::from(head.open());
        let state = Some((reader, head, opening));
        return Ok(reply::stream(futures_util::stream::unfold(state, async |state| {
            let (mut reader, mut head, mut ready) = state?;
            if let Some(text) = ready.pop_front() {
                return Some((text, Some((reader, head, ready))));
            }
            match reader.next().await {
                AnswerPart::Text(text) => {
                    let text = head.delta(&text);
                    Some((text, Some((reader, head, ready))))
                }
                AnswerPart::End(ended) => {
                    let text = head.close(&reader.text, &ended).concat();
                    Some((text, None))
                }
            }
        })));
    }
    loop {
        if let AnswerPart::End(ended) = reader.next().await {
            return match failure_of(&ended) {
                Some(why) => Err(Box::new(error(StatusCode::BAD_GATEWAY, "failed", &why))),
                None => Ok(reply::json(StatusCode::OK, &head.whole(&reader.text, &ended))),
            };
        }
    }
}

/// Why a run has no answer.
pub(crate) fn failure_of(ended: &Value) -> Option<String> {
    match ended["state"].as_str().unwrap_or_default() {
        "done" | "over_budget" => None,
        state => Some(format!("the run is {state}: {}", ended["why"].as_str().unwrap_or_default())),
    }
}

#[expect(
    clippy::unnecessary_box_returns,
    reason = "errors are boxed everywhere: a response is large"
)]
pub(crate) fn invalid(why: &str) -> Box<ServerReply> {
    Box::new(error(StatusCode::BAD_REQUEST, "invalid", why))
}

/// An error as clients of this API expect it.
fn error(status: StatusCode, code: &str, message: &str) -> ServerReply {
    reply::json(status, &error_body(code, message))
}

/// The document of an error.
pub(crate) fn error_body(code: &str, message: &str) -> Value {
    json!({ "error": { "message": message, "type": "agentry", "param": null, "code": code } })
}

#[expect(
    clippy::unnecessary_box_returns,
    reason = "errors are boxed everywhere: a response is large"
)]
fn openai_error(failure: &HostError) -> Box<ServerReply> {
    let (status, code, message) = match failure {
        HostError::Missing(message) => (StatusCode::NOT_FOUND, "model_not_found", message.as_str()),
        HostError::Conflict(body) => {
            let text = |name: &str| body[name].as_str().unwrap_or_default();
            (StatusCode::CONFLICT, text("error"), text("message"))
        }
        HostError::Invalid(message) => (StatusCode::BAD_REQUEST, "invalid", message.as_str()),
        HostError::Failed(message) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "failed", message.as_str())
        }
    };
    Box::new(error(status, code, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chat_messages_become_one_prompt() {
        let cases = [
            (json!([{ "role": "user", "content": "hi" }]), Ok("hi")),
            (
                json!([{ "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }]),
                Ok("ab"),
            ),
            (
                json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "hi" }]),
                Ok("The conversation so far:\n\nsystem: Be brief.\n\nuser: hi"),
            ),
            (json!([]), Err("there is no message")),
            (json!("hi"), Err("the messages are not a list")),
            (
                json!([{ "role": "user", "content": [{ "type": "image_url" }] }]),
                Err("only text is taken"),
            ),
            (
                json!([{ "role": "tool", "content": "x" }]),
                Err("messages of `tool` are not taken: the tools of an agent are its own"),
            ),
        ];
        for (messages, expected) in cases {
            let found = conversation(Some(&messages));
            let found = found.as_deref().map_err(String::as_str);
            assert_eq!(found, expected, "{messages}");
        }
    }
}
