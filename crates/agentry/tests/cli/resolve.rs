//! `agentry resolve`: which model, tools and skills an agent gets, and why.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::json;

use crate::test::Test;

const RESEARCHER: &str = "\
name: researcher
description: Finds sources
model:
  preferred: [openai/o3, claude/claude-sonnet-4-6, local/llama3:70b]
  fallback: reasoning-high
  capability: reasoning-max
skills: [git, review, {name: web-search, optional: true}]
tools: {native: [bash], mcp: [{name: docs, command: docs-server, args: [--stdio]}]}
";
const PACK: &str = "---\nname: review\ndescription: Reviews a text\n---\nRead it twice.\n";

/// Nothing listens at this port of the machine.
const NO_SERVER: &str = "[providers.ollama]\nbase_url = \"http://127.0.0.1:9\"\n";

fn researcher() -> Test {
    Test::new()
        .file("researcher.agent", RESEARCHER)
        .file("skills/review/SKILL.md", PACK)
        .file("home/.config/agentry/config.toml", NO_SERVER)
}

#[test]
fn resolve_shows_the_plan_with_reasons() {
    let test = researcher().env("ANTHROPIC_API_KEY", "k");
    insta::assert_snapshot!(test.run("resolve researcher.agent"), @r#"
    $ agentry resolve researcher.agent
    --- stdout
    researcher.agent (manifest)

    model  anthropic/claude-sonnet-4-6
           reasoning-high, 1000000 tokens, $3 in and $15 out for a million, key in ANTHROPIC_API_KEY

    candidates, by catalogue 1 of 2026-11-15
      preferred   openai/o3                                               skipped  `OPENAI_API_KEY` is not set
      preferred   anthropic/claude-sonnet-4-6 (claude/claude-sonnet-4-6)  chosen
      preferred   ollama/llama3:70b (local/llama3:70b)                    skipped  it cannot call tools, and the agent has some
      fallback    anthropic (2 models)                                    usable
      fallback    openai (7 models)                                       skipped  `OPENAI_API_KEY` is not set
      fallback    google/gemini-2.5-pro                                   skipped  neither `GEMINI_API_KEY` nor `GOOGLE_API_KEY` is set
      fallback    xai (3 models)                                          skipped  `XAI_API_KEY` is not set
      fallback    mistral (3 models)                                      skipped  `MISTRAL_API_KEY` is not set
      fallback    deepseek/deepseek-v4-pro                                skipped  `DEEPSEEK_API_KEY` is not set
      fallback    zai (2 models)                                          skipped  `ZAI_API_KEY` is not set
      fallback    moonshot/kimi-k2.6                                      skipped  `MOONSHOT_API_KEY` is not set
      fallback    together (2 models)                                     skipped  `TOGETHER_API_KEY` is not set
      capability  anthropic (8 models)                                    usable
      capability  openai (3 models)                                       skipped  `OPENAI_API_KEY` is not set
      capability  google (2 models)                                       skipped  neither `GEMINI_API_KEY` nor `GOOGLE_API_KEY` is set
      capability  xai/grok-4.7                                            skipped  `XAI_API_KEY` is not set
      capability  moonshot/kimi-k3                                        skipped  `MOONSHOT_API_KEY` is not set
      capability  together/moonshotai/Kimi-K3                             skipped  `TOGETHER_API_KEY` is not set

    skills
      git         native    bash; every call is denied: exec: none
      review      pack      skills/review/SKILL.md
      web-search  left out  `websearch` needs `SEARXNG_URL`, `BRAVE_API_KEY` or `TAVILY_API_KEY`; an MCP server would do as well (brave, serper, tavily, exa, duckduckgo, searxng)

    tools
      bash  native  every call is denied: exec: none
      docs  mcp     docs-server --stdio; every call is denied: network: none, exec: none

    files
      sha256:ef446dd10f22  researcher.agent
      sha256:20da28f8d632  skills/review/SKILL.md
    --- exit 0
    "#);
}

#[test]
fn without_a_key_no_model_is_usable() {
    insta::assert_snapshot!(researcher().run("resolve researcher.agent"), @r#"
    $ agentry resolve researcher.agent
    --- stdout
    researcher.agent (manifest)

    model  none can be used

    candidates, by catalogue 1 of 2026-11-15
      preferred   openai/o3                                               skipped  `OPENAI_API_KEY` is not set
      preferred   anthropic/claude-sonnet-4-6 (claude/claude-sonnet-4-6)  skipped  `ANTHROPIC_API_KEY` is not set
      preferred   ollama/llama3:70b (local/llama3:70b)                    skipped  it cannot call tools, and the agent has some
      fallback    anthropic (2 models)                                    skipped  `ANTHROPIC_API_KEY` is not set
      fallback    openai (7 models)                                       skipped  `OPENAI_API_KEY` is not set
      fallback    google/gemini-2.5-pro                                   skipped  neither `GEMINI_API_KEY` nor `GOOGLE_API_KEY` is set
      fallback    xai (3 models)                                          skipped  `XAI_API_KEY` is not set
      fallback    mistral (3 models)                                      skipped  `MISTRAL_API_KEY` is not set
      fallback    deepseek/deepseek-v4-pro                                skipped  `DEEPSEEK_API_KEY` is not set
      fallback    zai (2 models)                                          skipped  `ZAI_API_KEY` is not set
      fallback    moonshot/kimi-k2.6                                      skipped  `MOONSHOT_API_KEY` is not set
      fallback    together (2 models)                                     skipped  `TOGETHER_API_KEY` is not set
      capability  anthropic (8 models)                                    skipped  `ANTHROPIC_API_KEY` is not set
      capability  openai (3 models)                                       skipped  `OPENAI_API_KEY` is not set
      capability  google (2 models)                                       skipped  neither `GEMINI_API_KEY` nor `GOOGLE_API_KEY` is set
      capability  xai/grok-4.7                                            skipped  `XAI_API_KEY` is not set
      capability  moonshot/kimi-k3                                        skipped  `MOONSHOT_API_KEY` is not set
      capability  together/moonshotai/Kimi-K3                             skipped  `TOGETHER_API_KEY` is not set

    skills
      git         native    bash; every call is denied: exec: none
      review      pack      skills/review/SKILL.md
      web-search  left out  `websearch` needs `SEARXNG_URL`, `BRAVE_API_KEY` or `TAVILY_API_KEY`; an MCP server would do as well (brave, serper, tavily, exa, duckduckgo, searxng)

    tools
      bash  native  every call is denied: exec: none
      docs  mcp     docs-server --stdio; every call is denied: network: none, exec: none

    files
      sha256:ef446dd10f22  researcher.agent
      sha256:20da28f8d632  skills/review/SKILL.md
    --- stderr
    error: no model can be used for `researcher.agent`
      = help: set one of `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`
    --- exit 1
    "#);
}

#[test]
fn a_missing_skill_is_an_error() {
    let agent =
        "name: a\ndescription: A\nskills: [web-search]\nmodel: {preferred: [openai/o3]}\nsoul: A\n";
    let test =
        Test::new().file("a.agent", agent).file("home/.config/agentry/config.toml", NO_SERVER);
    let test = test.env("OPENAI_API_KEY", "k");
    let ran = test.run("resolve a.agent").exits(1);
    insta::assert_snapshot!(ran.stderr, @r#"
    error[AG0040]: nothing provides the skill `web-search`: `websearch` needs `SEARXNG_URL`, `BRAVE_API_KEY` or `TAVILY_API_KEY`; an MCP server would do as well (brave, serper, tavily, exa, duckduckgo, searxng)
     --> a.agent:3:10
      |
    3 | skills: [web-search]
      |          ^^^^^^^^^^
      |
      = help: add what is missing, or mark the skill `optional: true`

    error: `a.agent` lacks skills that it needs
    "#);
    insta::assert_snapshot!(test.run("check a.agent"), @r#"
    $ agentry check a.agent
    --- stdout
    warning[AG0040]: nothing provides the skill `web-search`: `websearch` needs `SEARXNG_URL`, `BRAVE_API_KEY` or `TAVILY_API_KEY`; an MCP server would do as well (brave, serper, tavily, exa, duckduckgo, searxng)
     --> a.agent:3:10
      |
    3 | skills: [web-search]
      |          ^^^^^^^^^^
      |
      = help: add what is missing, or mark the skill `optional: true`

    checked 1 agent: 1 warning
    --- exit 0
    "#);
}

#[test]
fn resolve_prints_json() {
    let test = researcher().env("ANTHROPIC_API_KEY", "k");
    let plan = test.run("resolve researcher.agent --format json").exits(0).json();
    assert_eq!(plan["model"], "anthropic/claude-sonnet-4-6");
    assert_eq!(plan["usable"], true);
    assert_eq!(
        plan["models"][0],
        json!({
            "id": "openai/o3", "written": "openai/o3", "provider": "openai", "wish": "preferred",
            "tier": "reasoning-high", "context": 200_000, "price": {"input": 2.0, "output": 8.0},
            "tools": true, "keys": ["OPENAI_API_KEY"], "outcome": "skipped",
            "reason": "`OPENAI_API_KEY` is not set",
        })
    );
    assert_eq!(plan["models"][1]["outcome"], "chosen");
    assert_eq!(plan["models"][1]["written"], "claude/claude-sonnet-4-6");
    assert_eq!(plan["candidates"][0], "openai/o3");
    assert_eq!(
        plan["skills"][1],
        json!({"name": "review", "optional": false, "kind": "pack",
               "resolved": "skills/review/SKILL.md", "reason": null, "denied": null})
    );
    assert_eq!(plan["files"][0]["path"], "researcher.agent");
    assert_eq!(plan["files"][1]["path"], "skills/review/SKILL.md");
}

/// A server that answers one request with `body`, and what it was sent.
pub(crate) fn server(status: &str, body: &str) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    let (send, receive) = channel();
    thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut buffer) {
                Ok(count) if count > 0 => request.extend(&buffer[..count]),
                _ => break,
            }
        }
        let _ = stream.write_all(answer.as_bytes());
        let _ = send.send(String::from_utf8_lossy(&request).to_lowercase());
    });
    (address, receive)
}

#[test]
fn local_servers_are_queried_for_models() {
    let (address, asked) = server("200 OK", r#"{"models": [{"name": "llama3:70b"}]}"#);
    let test = researcher();
    let agent = RESEARCHER.replace("tools:", "x-tools:").replace("skills:", "x-skills:");
    test.write("researcher.agent", agent);
    let config = format!("[providers.ollama]\nbase_url = \"{address}\"\n");
    test.write("home/.config/agentry/config.toml", config);
    let plan = test.run("resolve researcher.agent --format json").exits(0).json();
    assert_eq!(plan["model"], "ollama/llama3:70b");
    assert!(asked.recv().expect("a request").starts_with("get /api/tags "));
}

#[test]
fn hosted_providers_are_asked_live_with_their_key() {
    let cases = [
        (
            "openai",
            "200 OK",
            r#"{"data": [{"id": "o3"}]}"#,
            "authorization: bearer k-live",
            "chosen",
        ),
        ("openai", "200 OK", r#"{"data": [{"id": "x"}]}"#, "get /models ", "does not have it"),
        ("openai", "401 No", "{}", "get /models ", "the key in `MINE` was refused"),
        ("openai", "302 Found", "{}", "get /models ", "it answered with the status 302"),
        ("openai", "200 OK", "hello", "get /models ", "its answer is not a list of models"),
        ("anthropic", "200 OK", r#"{"data": [{"id": "o3"}]}"#, "x-api-key: k-live", "chosen"),
        (
            "google",
            "200 OK",
            r#"{"models": [{"name": "models/o3"}]}"#,
            "x-goog-api-key: k-live",
            "chosen",
        ),
    ];
    for (provider, status, body, sent, outcome) in cases {
        let (address, asked) = server(status, body);
        let manifest = format!(
            "name: a\ndescription: A\nmodel: {{preferred: [{provider}/o3]}}\nauth: {{strategy: explicit, \
             providers: {{{provider}: {{from: env.MINE}}}}}}\n"
        );
        let config = format!("{NO_SERVER}[providers.{provider}]\nbase_url = \"{address}\"\n");
        let test = Test::new().file("a.agent", manifest).env("MINE", "k-live");
        test.write("home/.config/agentry/config.toml", config);
        let ran = test.run("resolve a.agent --live --format json");
        assert!(!ran.stdout.contains("k-live") && !ran.stderr.contains("k-live"), "{ran}");
        let first = &ran.json()["models"][0];
        let outcome_text = first["reason"].as_str().or(first["outcome"].as_str());
        assert!(
            outcome_text.is_some_and(|outcome_text| outcome_text.ends_with(outcome)),
            "{provider} {status}: {outcome_text:?}"
        );
        let request = asked.recv().expect("a request");
        assert!(request.contains(sent), "{provider} {status}: {request}");
    }
}

#[test]
fn an_invalid_user_configuration_is_an_error() {
    let test = researcher();
    test.write("home/.config/agentry/config.toml", "[[models]]\nid = \"x\"\n");
    insta::assert_snapshot!(test.run("resolve researcher.agent"), @r#"
    $ agentry resolve researcher.agent
    --- stderr
    error[AG0102]: the model has no `provider`
     --> [DIR]/home/.config/agentry/config.toml:2:1
      |
    2 | id = "x"
      | ^^
      |
      = help: add `provider`: whose model it is

    error: your configuration has errors
    --- exit 2
    "#);
}
