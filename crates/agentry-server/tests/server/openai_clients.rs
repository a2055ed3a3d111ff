//! The clients that `OpenAI` publishes for Python and JavaScript talk to an agent as to a model.
//!
//! They are tested where they are installed: `pip install openai`, and `npm install openai` in the directory that
//! `AGENTRY_NODE_MODULES` names (or where Node finds it anyway).

use std::process::{Command, Stdio};

use agentry_server::TokenScope;
use serde_json::json;

use crate::scripted_host::TestServer;

const PYTHON: &str = r#"
import os
from openai import OpenAI
client = OpenAI(base_url=os.environ["BASE"], api_key=os.environ["TOKEN"], max_retries=0)
messages = [{"role": "user", "content": "hi"}]
print([model.id for model in client.models.list()])
print(client.chat.completions.create(model="helper", messages=messages).choices[0].message.content)
usage = {"include_usage": True}
chunks = list(client.chat.completions.create(model="helper", messages=messages, stream=True, stream_options=usage))
print("".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]), chunks[-1].usage.total_tokens)
answer = client.responses.create(model="helper", input="hi")
print(answer.output_text, answer.usage.total_tokens)
events = list(client.responses.create(model="helper", input="hi", stream=True))
print("".join(event.delta for event in events if event.type == "response.output_text.delta"), events[-1].type)
try:
    client.responses.create(model="helper", input="hi", tools=[{"type": "web_search"}])
except Exception as error:
    print(type(error).__name__, error.body["message"])
"#;

const JAVASCRIPT: &str = r#"
const OpenAI = require("openai");
(async () => {
  const client = new OpenAI({ baseURL: process.env.BASE, apiKey: process.env.TOKEN, maxRetries: 0 });
  const messages = [{ role: "user", content: "hi" }];
  console.log(JSON.stringify((await client.models.list()).data.map((model) => model.id)));
  console.log((await client.chat.completions.create({ model: "helper", messages })).choices[0].message.content);
  let text = "";
  for await (const chunk of await client.chat.completions.create({ model: "helper", messages, stream: true })) text += chunk.choices[0].delta.content ?? "";
  console.log(text);
  const answer = await client.responses.create({ model: "helper", input: "hi" });
  console.log(answer.output_text, answer.usage.total_tokens);
  const events = [];
  for await (const event of await client.responses.create({ model: "helper", input: "hi", stream: true })) events.push(event);
  console.log(events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta).join(""), events.at(-1).type);
})();
"#;

/// Runs a script with a client, and compares what it prints. A client that is missing is reported.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn check((program, flag): (&str, &str), (import, script): (&str, &str), expected: &str) {
    let command = |code: &str| {
        let mut command = Command::new(program);
        command.args([flag, code]).stdin(Stdio::null());
        if let Some(modules) = std::env::var_os("AGENTRY_NODE_MODULES") {
            command.env("NODE_PATH", modules);
        }
        command
    };
    if !command(import).output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: the client `openai` of `{program}` is not installed");
        return;
    }
    let server = TestServer::new();
    let turn = json!({ "type": "turn", "text": "Good day.", "calls": 0 });
    server.host.events.lock().expect("no panic").push(turn);
    let spent = json!({ "usage": { "input": 3, "output": 4 } });
    *server.host.ended.lock().expect("no panic") =
        Some(json!({ "type": "ended", "state": "done", "spent": spent }));
    let mut command = command(script);
    command.env("BASE", format!("http://{}/v1", server.address));
    command.env("TOKEN", server.token(TokenScope::Run));
    let output = command.output().expect("the program runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed.trim_end(), expected, "{stderr}");
}

#[test]
fn the_openai_python_client_works() {
    let expected = "['helper']\nGood day.\nGood day. 7\nGood day. 7\nGood day. response.completed\n\
        BadRequestError there is no field `tools` here";
    check(("python3", "-c"), ("import openai", PYTHON), expected);
}

#[test]
fn the_openai_javascript_client_works() {
    let expected = "[\"helper\"]\nGood day.\nGood day.\nGood day. 7\nGood day. response.completed";
    check(("node", "-e"), ("require('openai')", JAVASCRIPT), expected);
}
