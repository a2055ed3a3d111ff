//! `tools`, and the JavaScript tools of definitions in runs.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;

use crate::run::{events, with};
use crate::server::{Server, Turn};
use crate::test::Test;

const PATH: &str = "agents/team_helper.agent.md";

/// An agent with this metadata and this code.
fn agent(metadata: &str, code: &str) -> String {
    format!(
        "---\ntitle: Helper\ndescription: Helps\n{metadata}---\n\n## System\n\nYou help.\n\n\
         ## Tools\n\n```js\n{code}```\n"
    )
}

/// The code of a tool with this body.
fn tool(name: &str, body: &str) -> String {
    format!(
        "return {{ {name}: {{\n  fn: async (args, {{ env, fetch, log }}) => {{\n{body}\n  }},\n  \
         scheme: {{ name: \"{name}\", description: \"Does it\", parameters: {{ type: \"object\", \
         properties: {{ n: {{ type: \"number\" }} }}, additionalProperties: false }} }},\n}} }};\n"
    )
}

/// A server that answers every request by whether it had the right key.
fn guarded_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().filter_map(Result::ok) {
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
            let is_known = request.contains("authorization: bearer the-right-key");
            let status = if is_known { "200 OK" } else { "401 Unauthorized" };
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

/// Models write names of tools in any case; so do people.
#[test]
fn names_of_tools_have_no_case() {
    let code = tool("double", "return args.n * 2;");
    let test = Test::new().file(PATH, agent("", &code)).file("a.txt", "text of the file\n");
    let server = Server::playing([
        Turn::call("DOUBLE", json!({ "n": 21 })).into(),
        Turn::call("Read", json!({ "path": "a.txt" })).into(),
        Turn::text("It is 42.").into(),
    ]);
    with(&test, &server, &["run", PATH, "double it", "--yes"]).exits(0);
    let results = server.asked()[2].results.clone();
    assert_eq!(results[0].1, "42");
    assert!(results[1].1.contains("text of the file"), "{results:?}");
}

/// A tool that is described wrongly does not take the others with it, and can be left out. A name that no tool has
/// cannot.
#[test]
fn an_invalid_tool_does_not_remove_the_others() {
    let good = tool("double", "return args.n * 2;");
    let code = good.replacen(
        "return {",
        "return { bad: { fn: () => 1, scheme: JSON.parse('{\"name\":\"bad\"}') },",
        1,
    );
    assert_ne!(code, good);
    let test = Test::new().file(PATH, agent("", &code));
    let listed = test.run("tools agents/team_helper.agent.md --yes --format json").exits(0).json();
    assert!(listed["tools"].to_string().contains("\"double\""), "{listed}");
    assert_eq!(listed["missing"][0]["name"], "bad", "{listed}");
    let server = Server::playing([Turn::text("Hello.").into()]);
    with(&test, &server, &["run", PATH, "hi", "--yes"]).exits(3);
    let ran = with(&test, &server, &["run", PATH, "hi", "--yes", "--without", "bade"]).exits(2);
    assert!(ran.stderr.contains("declares no tool of this name"), "{ran}");
    assert!(ran.stderr.contains("did you mean `bad`?"), "{ran}");
    with(&test, &server, &["run", PATH, "hi", "--yes", "--without", "bad"]).exits(0);
    assert!(server.asked()[0].tools.contains(&"double".to_owned()));
}

/// Servers of `x-agentry` stand beside those of the format; none is ignored.
#[test]
fn servers_in_fields_and_block_are_both_declared() {
    let manifest = "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n\
        tools:\n  mcp: [{name: tracker, transport: stdio, command: tracker}]\n\
        x-agentry:\n  mcp_servers: {notes: {command: notes}}\n";
    let test = Test::new().file("helper.agent", manifest);
    let listed = test.run("tools helper.agent --yes --format json").exits(0).json();
    let names: Vec<_> = listed["missing"].as_array().expect("a list").iter().collect();
    let names: Vec<_> = names.iter().map(|it| it["name"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["tracker", "notes"], "{listed}");
}

/// What a description computes is cleaned before a model sees it.
#[test]
fn computed_tool_descriptions_are_sanitised() {
    let code = tool("double", "return 1;").replacen(
        "description: \"",
        "description: String.fromCharCode(0x202e, 27) + \"",
        1,
    );
    let test = Test::new().file(PATH, agent("", &code));
    let listed = test.run("tools agents/team_helper.agent.md --yes --format json").exits(0).json();
    let tools = listed["tools"].to_string();
    assert!(tools.contains("\"double\"") && !tools.contains("u202e"), "{listed}");
    assert!(!tools.contains('\u{202e}') && !tools.contains("u001b"), "{listed}");
}

/// The user's policy that opens one port of this machine.
fn opened(test: Test, port: u16) -> Test {
    let rules = format!(
        "[policy.webfetch]\nintent = \"ask\"\nrules = [\"http://127.0.0.1:{port}:allow\"]\n"
    );
    test.file("home/.config/agentry/config.toml", rules)
}

#[test]
fn a_model_calls_javascript_tools() {
    let code = tool("double", "log('doubling', args.n); return { twice: args.n * 2 };");
    let test = Test::new().file(PATH, agent("", &code));
    let server = Server::playing([
        Turn::call("double", json!({ "n": 21 })).into(),
        Turn::call("double", json!({ "n": "x" })).into(),
        Turn::text("It is 42.").into(),
    ]);
    let args = ["run", PATH, "double it", "--yes", "--format", "json"];
    let ran = with(&test, &server, &args).exits(0);
    let asked = server.asked();
    assert!(asked[0].tools.contains(&"double".to_owned()), "{:?}", asked[0].tools);
    assert_eq!(asked[1].results[0].1, r#"{"twice":42}"#);
    assert!(asked[2].results[1].1.contains("`/n`: value is not of type"), "{:?}", asked[2].results);
    assert!(events(&ran).iter().any(|it| it.to_string().contains("doubling 21")), "{ran}");
}

#[test]
fn javascript_tools_need_consent_before_running() {
    let test = Test::new().file(PATH, agent("", &tool("touch", "return 1;")));
    for args in
        ["tools agents/team_helper.agent.md", "tools call agents/team_helper.agent.md touch"]
    {
        let ran = test.run(args).exits(3);
        assert!(ran.stderr.contains("there is no consent"), "{ran}");
        assert!(
            ran.stderr.contains("JavaScript of agents/team_helper.agent.md:13: `touch`"),
            "{ran}"
        );
    }
    test.run("tools agents/team_helper.agent.md --yes").exits(0);
    test.run("tools call agents/team_helper.agent.md touch").exits(0);
}

#[test]
fn tools_lists_javascript_tools() {
    let metadata = "abilities:\n  allow: [fs, tool]\n";
    let test = Test::new().file(PATH, agent(metadata, &tool("double", "return 1;")));
    let listed = test.run("tools agents/team_helper.agent.md --yes --format json").exits(0).json();
    let tools = listed["tools"].as_array().expect("a list");
    let own = tools.iter().find(|tool| tool["name"] == "double").expect("the tool");
    assert_eq!(own["kind"], "js");
    assert_eq!(own["verdict"], "allow");
    assert_eq!(own["description"], "Does it");
    assert_eq!(own["parameters"]["properties"]["n"]["type"], "number");
    assert_eq!((&own["path"], &own["line"]), (&json!(PATH), &json!(15)));
    let read = tools.iter().find(|tool| tool["name"] == "read").expect("a built-in tool");
    assert_eq!((&read["kind"], &read["path"]), (&json!("native"), &json!(null)));
    assert!(!tools.iter().any(|tool| tool["name"] == "bash"), "{listed}");
    assert_eq!(listed["missing"], json!([]));
    let shown = test.run("tools agents/team_helper.agent.md").exits(0);
    assert!(
        shown
            .stdout
            .contains("double       js      allow  Does it (agents/team_helper.agent.md:15)"),
        "{shown}"
    );
}

#[test]
fn unusable_tools_are_listed_with_their_reason() {
    let cases = [
        (tool("bash", "return 1;"), "`bash` is the name of a built-in tool"),
        (format!("JSON.parse('no');\n{}", tool("double", "")), "(agents/team_helper.agent.md:13:"),
        (tool("double", "").replace("name: \"double\"", "name: String(5)"), "`scheme.name` is `5`"),
    ];
    for (code, expected) in cases {
        let test = Test::new().file(PATH, agent("", &code));
        let ran = test.run("tools agents/team_helper.agent.md --yes --format json").exits(0);
        let missing = &ran.json()["missing"][0];
        assert_eq!(missing["kind"], "js", "{ran}");
        assert!(missing["reason"].as_str().is_some_and(|it| it.contains(expected)), "{ran}");
        let server = Server::playing([]);
        let run = with(&test, &server, &["run", PATH, "hi", "--yes"]).exits(3);
        assert!(run.stderr.contains(expected), "{run}");
        assert_eq!(server.count(), 0);
    }
    let manifest = "name: helper\ndescription: Answers questions\nsoul: You answer questions.\n\
        tools:\n  mcp: [{name: tracker, transport: stdio, command: tracker}]\n";
    let test = Test::new().file("helper.agent", manifest);
    let listed = test.run("tools helper.agent --yes --format json").json();
    let missing = &listed["missing"][0];
    assert_eq!([&missing["name"], &missing["kind"]], ["tracker", "mcp"], "{listed}");
    // A run is refused before a model is asked, or goes on without and says so.
    let server = Server::playing([Turn::text("Hello.").into()]);
    let ran = with(&test, &server, &["run", "helper.agent", "hi", "--yes"]).exits(3);
    assert!(ran.stderr.contains("mcp `tracker` is not ready: "), "{ran}");
    assert_eq!(server.count(), 0);
    with(&test, &server, &["run", "helper.agent", "hi", "--yes", "--without", "Tracker"]).exits(0);
    let note = "These tools are not available in this run: `tracker`.";
    assert!(server.asked()[0].system.ends_with(note), "{:?}", server.asked()[0].system);
}

#[test]
fn one_tool_is_called() {
    let body = "    if (args.n === 0) {\n      throw new RangeError('zero');\n    }\n    return 1 / args.n;";
    let metadata = "required:\n  env: [SOME_TOKEN]\nabilities:\n  allow: [tool, env]\n";
    let code = tool("invert", body);
    let test = Test::new().env("SOME_TOKEN", "1234567890").file(PATH, agent(metadata, &code));
    let call = |rest: &str| {
        test.run(&format!("tools call agents/team_helper.agent.md {rest} --yes --format json"))
    };
    assert_eq!(call("invert '{\"n\": 4}'").exits(0).json(), json!({"ok": true, "result": 0.25}));
    assert_eq!(call("INVERT '{\"n\": 4}'").exits(0).json()["result"], 0.25);
    let failed = call("invert '{\"n\": 0}'").exits(1).json();
    let error = json!({"message": "RangeError: zero", "path": PATH, "line": 20, "column": 17});
    assert_eq!(failed, json!({"ok": false, "error": error}));
    let unfit = call("invert '{\"n\": []}'").exits(1).json();
    assert!(unfit["error"]["message"].as_str().is_some_and(|it| it.contains("`/n`")), "{unfit}");
    call("invert nonsense").exits(2);
    call("missing").exits(2);
    let refused = call("webfetch '{\"url\": \"https://example.com\"}'").exits(2);
    assert!(refused.stderr.contains("has no tool `webfetch`"), "{refused}");
    // The policy decides about the user's calls too.
    test.write(
        PATH,
        agent(
            "abilities:\n  allow: [tool]\n  deny: [env]\n",
            &tool("look", "return env.SOME_TOKEN ?? 'nothing';"),
        ),
    );
    assert_eq!(call("look").exits(0).json()["result"], "nothing");
    test.write(PATH, agent("abilities:\n  allow: [fs]\n", &tool("look", "return 1;")));
    let denied = call("look").exits(3);
    assert_eq!(denied.json()["ok"], false, "{denied}");
}

/// The example of the format's document, with its slips repaired, against a server on this machine.
#[test]
fn a_startup_tool_must_succeed_before_a_run() {
    let port = guarded_server();
    let body = format!(
        "    const res = await fetch(\"http://127.0.0.1:{port}/v1/models\", {{\n      method: \"GET\",\n      \
         headers: {{ Authorization: `Bearer ${{env.OPENAI_API_KEY}}`, \"Content-Type\": \"application/json\" }},\n    }});\n    \
         if (!res.ok) {{\n      const text = await res.text().catch(() => \"n/a\");\n      \
         throw new Error(`validation failed: ${{res.status}} ${{res.statusText}} :: ${{text}}`);\n    }}\n    return {{ ok: true }};"
    );
    let metadata = "required:\n  startup: TEST_key\n  env: [OPENAI_API_KEY]\n";
    let code = agent(metadata, &tool("test_key", &body));
    let server = Server::playing([Turn::text("Hello.").into()]);
    let args = ["run", PATH, "hi", "--yes", "--model", "anthropic/claude-sonnet-4-5"];
    let right = opened(Test::new().env("OPENAI_API_KEY", "the-right-key").file(PATH, &code), port);
    with(&right, &server, &args).exits(0);
    let asked = server.count();
    let wrong = opened(Test::new().env("OPENAI_API_KEY", "the-wrong-key").file(PATH, &code), port);
    let ran = with(&wrong, &server, &args).exits(3);
    let expected = "`TEST_key` must succeed before it starts, and failed: validation failed: 401 Unauthorized :: {}";
    assert!(ran.stderr.contains(expected), "{ran}");
    // Without a rule for this machine, the request is refused and the gate stays closed.
    let shut = Test::new().env("OPENAI_API_KEY", "the-right-key").file(PATH, &code);
    let ran = with(&shut, &server, &args).exits(3);
    assert!(ran.stderr.contains("refused: `http://127.0.0.1:"), "{ran}");
    assert!(!ran.stderr.contains("the-right-key"), "{ran}");
    for body in
        ["return { ok: false, why: 'tired' };", "while (true) {}", "throw new Error('shut');"]
    {
        let code = agent("required:\n  startup: gate\n", &tool("gate", body));
        let test = Test::new().file(PATH, code);
        let ran = with(&test, &server, &args).exits(3);
        assert!(ran.stderr.contains("`gate` must succeed before it starts, and failed: "), "{ran}");
        assert_eq!(test.run("runs --format json").json(), json!([]), "nothing began");
    }
    assert_eq!(server.count(), asked, "no model was asked");
}

#[test]
fn a_rule_on_a_javascript_tool_applies() {
    let server =
        Server::playing([Turn::call("deploy", json!({})).into(), Turn::text("Well.").into()]);
    let test = Test::new().file(PATH, agent("", &tool("Deploy", "return 'deployed';")));
    let test = test.file(
        "home/.config/agentry/config.toml",
        "[policy.tool]\nintent = \"allow\"\nrules = [\"deploy:deny\"]\n",
    );
    let called = test.run("tools call agents/team_helper.agent.md Deploy --yes").exits(3);
    assert!(called.stderr.contains("deploy"), "{called}");
    with(&test, &server, &["run", PATH, "deploy it", "--yes"]).exits(0);
    let asked = server.asked();
    assert!(
        !asked[1].results.iter().any(|(_, it)| it.contains("deployed")),
        "{:?}",
        asked[1].results
    );
}

/// A recorded run with tools of the file is played without running any code.
#[test]
fn a_replay_runs_no_code() {
    let code = tool("double", "return args.n * 2;");
    let test = Test::new().file(PATH, agent("", &code));
    let server = Server::playing([
        Turn::call("double", json!({ "n": 21 })).into(),
        Turn::text("It is 42.").into(),
    ]);
    let cassette = "agents/team_helper.agent.md.cassette.jsonl";
    with(&test, &server, &["run", PATH, "double it", "--yes", "--record", cassette]).exits(0);
    let ran = test.run(&format!("run {PATH} --replay {cassette}")).exits(0);
    assert!(ran.stdout.contains("It is 42."), "{ran}");
    // The body of a tool is not part of the recording.
    test.write(PATH, agent("", &code.replace("args.n * 2", "args.n * 3")));
    test.run(&format!("run {PATH} --replay {cassette}")).exits(0);
    test.write(PATH, agent("", &code.replace("Does it", "Does that")));
    test.run(&format!("run {PATH} --replay {cassette}")).exits(1);
}

/// `tool_timeout_ms` is the time of every call; what is no time is an error of the definition.
#[test]
fn tool_timeout_ms_limits_every_call() {
    let endless = tool("spin", "for (;;) {}");
    let slow = tool("wait", "await new Promise((done) => setTimeout(done, 300)); return 1;");
    let cases = [
        ("x-agentry: {tool_timeout_ms: 200}\n", &endless, "spin", Err("longer than 200 ms")),
        ("x-agentry: {toolTimeoutMs: 150}\n", &endless, "spin", Err("longer than 150 ms")),
        ("x-agentry: {tool_timeout_ms: 1}\n", &slow, "wait", Err("longer than 1 ms")),
        ("x-agentry: {tool_timeout_ms: 60000}\n", &slow, "wait", Ok(1)),
        ("", &slow, "wait", Ok(1)),
    ];
    for (metadata, code, name, expected) in cases {
        let test = Test::new().file(PATH, agent(metadata, code));
        let ran = test.run(&format!("tools call {PATH} {name} '{{}}' --yes --format json"));
        let found = ran.json();
        match expected {
            Ok(value) => assert_eq!(found["result"], value, "{metadata}: {ran}"),
            Err(part) => {
                let message = found["error"]["message"].as_str().unwrap_or_default().to_owned();
                assert!(message.contains(part), "{metadata}: {ran}");
            }
        }
    }
    for wrong in ["0", "-1", "600001", "1.5", "soon", "true"] {
        let metadata = format!("x-agentry: {{tool_timeout_ms: {wrong}}}\n");
        let test = Test::new().file(PATH, agent(&metadata, &slow));
        let checked = test.run(&format!("check {PATH}")).exits(1);
        assert!(checked.stdout.contains("tool_timeout_ms"), "{wrong}: {checked}");
    }
    // Another time is another agent.
    let test = Test::new().file(PATH, agent("x-agentry: {tool_timeout_ms: 200}\n", &slow));
    let before = test.run(&format!("hash {PATH} --full")).exits(0).stdout;
    test.write(PATH, agent("x-agentry: {tool_timeout_ms: 300}\n", &slow));
    assert_ne!(test.run(&format!("hash {PATH} --full")).exits(0).stdout, before);
}
