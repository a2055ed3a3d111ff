//! Script tools of agent directories and of AgentFS: what they reach, and how their calls are judged,
//! written down, undone and resumed.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::{events, keyed, with};
use crate::server::{Server, Turn};
use crate::test::{Ran, Test};

/// An agent directory with one script tool.
fn agent(front_matter: &str, script: &str) -> Test {
    Test::new()
        .file("helper/instructions.md", "You help.\n")
        .file(
            "helper/tools/probe.md",
            format!("---\nkind: script\npath: scripts/probe.mjs\n{front_matter}---\nProbes.\n"),
        )
        .file("helper/scripts/probe.mjs", script)
}

/// The user's policy that allows everything that the tests do.
fn opened(test: Test) -> Test {
    let rules = "[policy.bash]\nintent = \"allow\"\n[policy.edit]\nintent = \"allow\"\n";
    test.file("home/.config/agentry/config.toml", rules)
}

fn run(body: &str) -> String {
    format!("export async function run(ctx, inputs) {{\n{body}\n}}\n")
}

fn call(test: &Test, arguments: &str) -> Ran {
    test.run(&format!("tools call helper probe '{arguments}' --yes --format json"))
}

#[test]
fn a_script_is_listed_and_called() {
    let front = "inputs:\n  type: object\n  properties: {n: {type: number}}\n  required: [n]\n";
    let script = "import { twice } from '../lib/twice.mjs';\nexport default async (ctx, { n }) => {\n  ctx.log('doubling', n);\n  return { twice: twice(n) };\n};\n";
    let test = agent(front, script).file(
        "helper/lib/twice.mjs",
        "export function twice(n) {\n  if (n < 0) throw new RangeError('below zero');\n  return n * 2;\n}\n",
    );
    let listed = test.run("tools helper --yes --format json").exits(0).json();
    let tools = listed["tools"].as_array().expect("a list");
    let own = tools.iter().find(|tool| tool["name"] == "probe").expect("the tool");
    assert_eq!((&own["kind"], &own["verdict"]), (&json!("script"), &json!("allow")));
    assert_eq!(own["parameters"]["required"], json!(["n"]));
    assert_eq!(own["path"], "helper/tools/probe.md");
    assert_eq!(listed["missing"], json!([]));
    let ran = call(&test, r#"{"n": 21}"#).exits(0);
    assert_eq!(ran.json(), json!({"ok": true, "result": {"twice": 42}}));
    assert!(ran.stderr.contains("doubling 21"), "{ran}");
    let failed = call(&test, r#"{"n": -1}"#).exits(1).json();
    let error = json!({"message": "RangeError: below zero", "path": "helper/lib/twice.mjs", "line": 2, "column": 24});
    assert_eq!(failed["error"], error);
    call(&test, "{}").exits(1);
    // A module is code of the agent: another one needs a new consent.
    test.write("helper/lib/twice.mjs", "export const twice = (n) => n * 3;\n");
    let ran = test.run("tools call helper probe '{\"n\": 1}'").exits(3);
    assert!(ran.stderr.contains("there is no consent"), "{ran}");
}

#[test]
fn inner_calls_obey_allowed_tools_and_policy() {
    let all = "return { out: (await ctx.tool(inputs.tool, inputs.args)).output };";
    let cases = [
        ("allowed_tools: [read]\n", json!({"tool": "read", "args": {"path": "a.txt"}}), Ok("one")),
        (
            "allowed_tools: [Read]\n",
            json!({"tool": "read", "args": {"file_path": "a.txt"}}),
            Ok("one"),
        ),
        (
            "allowed_tools: [grep]\n",
            json!({"tool": "grep", "args": {"pattern": "one"}}),
            Ok("a.txt:1"),
        ),
        (
            "allowed_tools: [search]\n",
            json!({"tool": "glob", "args": {"pattern": "*.txt"}}),
            Ok("a.txt"),
        ),
        ("allowed_tools: [ls]\n", json!({"tool": "ls", "args": {"path": "."}}), Ok("a.txt")),
        (
            "allowed_tools: [grep]\n",
            json!({"tool": "read", "args": {"path": "a.txt"}}),
            Err("`read` is not among"),
        ),
        (
            "",
            json!({"tool": "read", "args": {"path": "a.txt"}}),
            Err("`read` is not among the `allowed_tools` of `probe`"),
        ),
        (
            "allowed_tools: [read]\n",
            json!({"tool": "bash", "args": {"command": "true"}}),
            Err("`bash` is not among"),
        ),
        (
            "allowed_tools: [write]\n",
            json!({"tool": "edit", "args": {"path": "a.txt", "old_string": "a", "new_string": "b"}}),
            Err("`edit` is not among"),
        ),
        (
            "allowed_tools: [read]\n",
            json!({"tool": "nothing", "args": {}}),
            Err("there is no tool `nothing`"),
        ),
        (
            "allowed_tools: [read]\n",
            json!({"tool": "read", "args": {"path": 5}}),
            Err("do not fit"),
        ),
        // The policy still decides: without a person, what it asks about is refused.
        (
            "allowed_tools: [write]\n",
            json!({"tool": "write", "args": {"path": "b.txt", "content": "b"}}),
            Err("it needs an approval"),
        ),
        (
            "allowed_tools: [git]\n",
            json!({"tool": "bash", "args": {"command": "rm a.txt"}}),
            Err("not among the allowed tools"),
        ),
        (
            "allowed_tools: [probe]\n",
            json!({"tool": "probe", "args": {"tool": "probe", "args": {"tool": "probe", "args": {"tool": "probe", "args": {"tool": "probe", "args": {}}}}}}),
            Err("3 levels deep"),
        ),
    ];
    for (front, arguments, expected) in cases {
        let test = agent(front, &run(all)).file("a.txt", "one\n");
        let ran = call(&test, &arguments.to_string());
        let found = ran.json();
        match expected {
            Ok(part) => assert!(
                found["result"]["out"].as_str().is_some_and(|it| it.contains(part)),
                "{ran}"
            ),
            Err(part) => {
                let message = found.to_string();
                assert!(message.contains(part), "{front}{arguments}: {ran}");
                assert!(!test.has("b.txt"), "{ran}");
            }
        }
    }
}

#[test]
fn script_limits_end_the_script() {
    let cases = [
        (
            "limits: {maxToolCalls: 3}\nallowed_tools: [read]\n",
            "for (;;) await ctx.read('a.txt');",
            "at most 3 calls (`maxToolCalls`)",
        ),
        (
            "limits: {maxToolCalls: 3}\nallowed_tools: [read]\n",
            "await Promise.all(Array.from({ length: 9 }, () => ctx.read('a.txt')));",
            "at most 3 calls",
        ),
        ("limits: {timeoutMs: 200}\n", "for (;;) {}", "it took longer than 200 ms"),
        (
            "limits: {timeoutMs: 200}\nallowed_tools: [bash]\n",
            "await ctx.bash('sleep 60');",
            "it took longer than 200 ms",
        ),
        ("limits: {maxOutputBytes: 10}\n", "return 'x'.repeat(100);", "at most 10 are allowed"),
        ("", "await fetch('http://127.0.0.1/');", "fetch"),
    ];
    for (front, body, expected) in cases {
        let test = opened(agent(front, &run(body)).file("a.txt", "one\n"));
        let ran = call(&test, "{}").exits(1);
        let message = ran.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(expected), "{body}: {ran}");
    }
    let cut = "limits: {maxOutputBytes: 20}\nallowed_tools: [read]\n";
    let test =
        agent(cut, &run("return (await ctx.tool('read', { path: 'a.txt' })).output.length;"));
    let test = test.file("a.txt", "a long line that does not fit\n");
    assert_eq!(call(&test, "{}").exits(0).json()["result"], 20);
    // A whole file, however long its lines are.
    let front = "limits: {maxOutputBytes: 1000000}\nallowed_tools: [read]\n";
    let test = agent(front, &run("return (await ctx.readFile('a.txt')).length;"));
    let test = test.file("a.txt", format!("{}\n", "x".repeat(90_000)));
    assert_eq!(call(&test, "{}").exits(0).json()["result"], 90_001);
}

/// A script gets the whole of a file, or an error: never a part that looks like the whole.
#[test]
fn scripts_read_files_whole_or_get_an_error() {
    let front =
        |most: usize| format!("limits: {{maxOutputBytes: {most}}}\nallowed_tools: [read, grep]\n");
    let lines = |count: usize| "a line of the file\n".repeat(count);
    let long = "is longer than `maxOutputBytes`";
    let cases = [
        // Numbers before the lines count too.
        (60_000, lines(2_000), "ctx.readFile('a.txt')", Ok(38_000)),
        (60_000, lines(4_000), "ctx.readFile('a.txt')", Err(long)),
        (60_000, lines(4_000), "ctx.readFile('a.txt', { offset: 3991 })", Ok(190)),
        (60_000, lines(4_000), "ctx.readFile('a.txt', { offset: 5, limit: 10 })", Ok(190)),
        (60_000, lines(4_000), "ctx.readFile('a.txt', { limit: 3999 })", Err(long)),
        (60_000, "x".repeat(70_000), "ctx.readFile('a.txt')", Err(long)),
        (500, lines(100), "ctx.readFile('a.txt')", Err(long)),
        (500, lines(100), "ctx.grep('line')", Err(long)),
        (
            500,
            lines(100),
            "ctx.tool('read', { path: 'a.txt' }).then((it) => it.metadata.truncated ? 'x' : '')",
            Ok(1),
        ),
        (500, String::new(), "ctx.readFile('a.txt')", Ok(0)),
        (
            500,
            "[more follows: continue with `offset` 1]\n".to_owned(),
            "ctx.readFile('a.txt')",
            Ok(41),
        ),
    ];
    for (most, text, code, expected) in cases {
        let test = agent(&front(most), &run(&format!("return (await {code}).length;")));
        let ran = call(&test.file("a.txt", text), "{}");
        match expected {
            Ok(length) => assert_eq!(ran.exits(0).json()["result"], length, "{most} {code}"),
            Err(why) => assert!(ran.exits(1).stdout.contains(why), "{most} {code}"),
        }
    }
}

#[test]
fn script_imports_outside_the_directory_are_refused() {
    let cases = [
        ("import '../../secret.mjs';", "leaves the agent's directory"),
        ("import '/etc/passwd';", "cannot import `/etc/passwd`"),
        ("import 'node:fs';", "cannot import `node:fs`"),
        ("import 'https://example.com/a.mjs';", "cannot import `https://example.com/a.mjs`"),
        ("import './missing.mjs';", "there is no file `scripts/missing.mjs`"),
        ("import './data.json';", "is no JavaScript file"),
        ("import './link.mjs';", "out of the agent's directory"),
    ];
    for (import, expected) in cases {
        let test = agent("", &format!("{import}\n{}", run("return 1;")))
            .file("secret.mjs", "export default 'secret';\n")
            .link("helper/scripts/link.mjs", "../../secret.mjs");
        let ran = call(&test, "{}");
        assert!(ran.stderr.contains(expected), "{import}: {ran}");
        assert!(!ran.stdout.contains("secret\""), "{import}: {ran}");
    }
}

#[test]
fn inner_calls_are_journaled_and_undone() {
    let body = "await ctx.tool('write', { path: 'made.txt', content: 'made' });\nawait ctx.tool('edit', { path: 'a.txt', old_string: 'one', new_string: 'two' });\nreturn (await ctx.tool('bash', { command: 'cat a.txt' })).output;";
    let test = opened(
        agent("allowed_tools: [write, edit, bash, read]\n", &run(body)).file("a.txt", "one\n"),
    );
    let server =
        Server::playing([Turn::call("probe", json!({})).into(), Turn::text("Done.").into()]);
    let cassette = "helper.cassette.jsonl";
    let args = ["run", "helper", "go", "--yes", "--format", "json", "--record", cassette];
    let ran = with(&test, &server, &args).exits(0);
    assert_eq!(test.read("a.txt"), "two\n");
    assert!(server.asked()[1].results[0].1.contains("two"), "{:?}", server.asked()[1].results);
    let within: Vec<Value> = events(&ran).into_iter().filter(|it| it["type"] == "call").collect();
    let tools: Vec<_> = within.iter().map(|it| it["tool"].as_str().unwrap_or_default()).collect();
    assert_eq!(tools, ["probe", "write", "edit", "bash"], "{ran}");
    assert_eq!(within[1]["within"], within[0]["id"], "{ran}");
    let shown = test.run("runs show last").exits(0).stdout;
    assert!(shown.contains("* write {\"path\":\"made.txt\",\"content\":\"made\"}"), "{shown}");
    assert!(shown.contains(".1: allow") && shown.contains(".2: done"), "{shown}");
    // A replay executes nothing, and goes the same way.
    let replayed = test.run(&format!("run helper --replay {cassette}")).exits(0);
    assert!(replayed.stdout.contains("Done."), "{replayed}");
    let undone = test.run("runs undo last").exits(0);
    assert!(undone.stderr.contains("the run ran commands"), "{undone}");
    assert_eq!((test.read("a.txt").as_str(), test.has("made.txt")), ("one\n", false));
}

/// A refused inner call is answered at once: the script catches it, and nothing waits for its time limit.
#[test]
fn a_refused_call_throws_in_the_script() {
    let body = "const seen = [];\nfor (const [tool, input] of [['read', { path: '/etc/hosts' }], ['write', {}], ['write', { path: 'helper/instructions.md', content: 'x' }]]) {\n  try { await ctx.tool(tool, input); seen.push('done'); } catch (error) { seen.push(error.message); }\n}\nreturn seen.join('; ');";
    let limits = "allowed_tools: [read, write]\nlimits: {timeoutMs: 600000}\n";
    let rules = "[policy.read]\nrules = [\"/etc/**:deny\"]\n[policy.edit]\nintent = \"allow\"\n";
    let test = agent(limits, &run(body)).file("home/.config/agentry/config.toml", rules);
    let server =
        Server::playing([Turn::call("probe", json!({})).into(), Turn::text("Done.").into()]);
    with(&test, &server, &["run", "helper", "go", "--yes"]).exits(0);
    let result = server.asked()[1].results[0].1.clone();
    assert_eq!(result.matches("refused").count(), 3, "{result}");
    assert!(result.contains("do not fit") && !result.contains("done"), "{result}");
}

/// The run is killed inside a script: what it had finished is not done again, what it had not is asked about.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_script_repeats_no_finished_call() {
    use crate::terminal::{Terminal, wait_for};
    let body = "await ctx.bash('echo first >> log');\nawait ctx.bash('echo second >> log; while [ ! -e gate ]; do sleep 0.05; done');\nawait ctx.bash('echo third >> log');\nreturn 'finished';";
    let front = "allowed_tools: [bash, write, read]\nlimits: {timeoutMs: 600000}\n";
    let test = opened(agent(front, &run(body)));
    let server =
        Server::playing([Turn::call("probe", json!({})).into(), Turn::text("Done.").into()]);
    let mut command = keyed(&test, &server, &["run", "helper", "go", "--yes", "--unconfined"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("the program runs");
    wait_for("the second command", || test.has("log") && test.read("log") == "first\nsecond\n");
    child.kill().expect("it is killed");
    child.wait().expect("an end");
    test.write("gate", "");
    // Without a person nothing of it runs again.
    let ran = with(&test, &server, &["resume", "last", "--on-ask", "park"]).exits(3);
    assert_eq!(test.read("log"), "first\nsecond\n", "{ran}");
    let mut terminal = Terminal::new(&test, &server, "resume last");
    // First the script, then the command that has no result.
    let shown = terminal.sees("answer › ");
    assert!(shown.contains("`probe` was under way when the run was killed"), "{shown}");
    terminal.types("y");
    terminal.sees("`bash` was under way when the run was killed");
    let shown = terminal.sees("answer › ");
    assert!(shown.contains("echo second"), "{shown}");
    terminal.types("y");
    terminal.sees("Done.");
    terminal.ends(0);
    assert_eq!(test.read("log"), "first\nsecond\nsecond\nthird\n");
    assert!(server.asked()[1].results[0].1.contains("finished"), "{:?}", server.asked()[1].results);
}

/// A question about an inner call parks the run; when it is answered, the script goes on where it was.
#[test]
#[cfg(target_os = "linux")]
fn a_parked_script_is_resumed() {
    use crate::terminal::Terminal;
    let body = "await ctx.tool('write', { path: 'one.txt', content: '1' });\nconst made = await ctx.tool('bash', { command: 'echo two >> log' });\nreturn made.exitCode;";
    let rules = "[policy.edit]\nintent = \"allow\"\n[policy.bash]\nintent = \"ask\"\n";
    let test = agent("allowed_tools: [bash, write]\n", &run(body))
        .file("home/.config/agentry/config.toml", rules);
    let server =
        Server::playing([Turn::call("probe", json!({})).into(), Turn::text("Done.").into()]);
    let args = ["run", "helper", "go", "--yes", "--on-ask", "park", "--unconfined"];
    with(&test, &server, &args).exits(3);
    assert!(test.has("one.txt") && !test.has("log"));
    test.write("one.txt", "changed since");
    let mut terminal = Terminal::new(&test, &server, "resume last");
    let shown = terminal.answers("y");
    assert!(shown.contains("echo two"), "{shown}");
    terminal.sees("Done.");
    terminal.ends(0);
    assert_eq!(test.read("one.txt"), "changed since", "it was not written twice");
    assert_eq!(server.asked()[1].results[0].1, "0");
}

#[test]
fn a_tool_excluded_with_without_stays_excluded() {
    let test = agent("", &run("return 1;"));
    let server = Server::playing([Turn::text("Hello.").into(), Turn::text("Again.").into()]);
    with(&test, &server, &["run", "helper", "hi", "--yes", "--without", "Probe"]).exits(0);
    assert!(!server.asked()[0].tools.contains(&"probe".to_owned()));
    with(&test, &server, &["resume", "last", "go on"]).exits(0);
    assert!(
        !server.asked()[1].tools.contains(&"probe".to_owned()),
        "{:?}",
        server.asked()[1].tools
    );
}

/// An agent of AgentFS with one tool.
fn agentfs(front_matter: &str, script: &str) -> Test {
    Test::new()
        .file(
            "helper/agent.json",
            "{\"name\": \"Helper\", \"tool_permissions\": {\"allowed\": [\"Read\", \"Edit\"]}}",
        )
        .file("helper/persona.md", "You help.\n")
        .file("helper/principles.md", "## Never Do\n- Harm\n")
        .file(
            "helper/tools/probe/TOOL.md",
            format!("---\nname: probe\ndescription: Probes\n{front_matter}---\n"),
        )
        .file("helper/tools/probe/run.mjs", script)
}

#[test]
fn agentfs_tools_run_on_a_snapshot() {
    let front = "executor: script\ncommand: run.mjs\nscript:\n  runtime: node\n  io:\n    protocol: snapshot-v1\n    input_path_params: [source]\n    output_path_param: target\n    max_input_bytes: 100\ninput_schema:\n  type: object\n  properties: {source: {type: string}, target: {type: string}, word: {type: string}}\n";
    let script = run(
        "const [file] = inputs.files.source;\nif (JSON.stringify(inputs).includes('.txt')) throw new Error('a path');\nreturn inputs.arguments.word + file.content + file.sha256.length + Object.keys(inputs.arguments);",
    );
    let test = agentfs(front, &script).file("a.txt", "one").file("long.txt", "x".repeat(101));
    let ran = call(&test, r#"{"source": "a.txt", "word": "w"}"#).exits(0);
    assert_eq!(ran.json()["result"], "wone64word");
    call(&test, r#"{"source": "a.txt", "word": "w", "target": "out.txt"}"#).exits(0);
    assert_eq!(test.read("out.txt"), "wone64word");
    let failed = call(&test, r#"{"source": "long.txt", "word": "w"}"#).exits(1);
    assert!(failed.stdout.contains("more than 100 bytes"), "{failed}");
    // Both files are judged as for `read` and `write`; the definition itself is protected.
    call(&test, r#"{"source": "a.txt", "word": "w", "target": "helper/persona.md"}"#).exits(1);
    assert_eq!(test.read("helper/persona.md"), "You help.\n");
    let hidden = call(&test, r#"{"source": "/etc/shadow", "word": "w"}"#);
    assert!(hidden.json()["ok"] == false, "{hidden}");
}

#[test]
fn unsupported_script_runtimes_are_reported_missing() {
    let cases = [
        (
            "executor: script\ncommand: run.mjs\nscript: {runtime: python}\n",
            "its runtime is `python`; only JavaScript is run",
        ),
        ("executor: http\ncommand: run.mjs\n", "its executor is `http`"),
        ("executor: script\ncommand: ../../../run.mjs\n", "it names no script"),
        ("executor: script\ncommand: missing.mjs\n", "there is no script"),
        ("executor: script\n", "it names no script"),
    ];
    for (front, expected) in cases {
        let test = agentfs(front, &run("return 1;"));
        let listed = test.run("tools helper --yes --format json").exits(0).json();
        let missing = &listed["missing"][0];
        assert_eq!((&missing["name"], &missing["kind"]), (&json!("probe"), &json!("script")));
        assert!(missing["reason"].as_str().is_some_and(|it| it.contains(expected)), "{listed}");
        let server = Server::playing([]);
        with(&test, &server, &["run", "helper", "hi", "--yes"]).exits(3);
        assert_eq!(server.count(), 0);
    }
    let test = agentfs(
        "executor: script\ncommand: run.mjs\nscript: {runtime: node}\n",
        "process.stdin.on('data', () => 1);\n",
    );
    let listed = test.run("tools helper --yes --format json").exits(0).json();
    assert!(
        listed["missing"][0]["reason"].as_str().is_some_and(|it| it.contains("no function `run")),
        "{listed}"
    );
}

#[test]
fn requires_confirmation_asks_the_user() {
    let front = "executor: script\ncommand: run.mjs\nrequires_confirmation: true\n";
    let test = agentfs(front, &run("return 1;"));
    let ran = call(&test, "{}").exits(3);
    assert!(ran.stdout.contains("wants a confirmation of `probe`"), "{ran}");
}

/// A conversion keeps the tools of AgentFS where the format has them, and names them where it has not.
#[test]
fn converting_keeps_or_reports_agentfs_tools() {
    let front = "executor: script\ncommand: run.mjs\nrequires_confirmation: false\nscript:\n  runtime: node\n  timeout_ms: 500\n  io: {protocol: snapshot-v1, input_path_params: [source]}\ninput_schema: {type: object, properties: {source: {type: string}}}\n";
    let script = "import { size } from './size.mjs';\nexport function run(_ctx, { files }) { return size(files.source[0]); }\n";
    let test = agentfs(front, script)
        .file("helper/tools/probe/size.mjs", "export const size = (file) => file.size;\n")
        .file("a.txt", "one");
    let digest = |path: &str| test.run(&format!("hash {path} --full")).exits(0).stdout;
    test.run("convert helper --to agentfs -o kept").exits(0);
    assert_eq!(test.read("kept/tools/probe/run.mjs"), script);
    let part = |text: String| text.split_whitespace().next().map(str::to_owned);
    assert_eq!(part(digest("kept")), part(digest("helper")));
    let called = "tools call kept probe '{\"source\": \"a.txt\"}' --yes --format json";
    assert_eq!(test.run(called).exits(0).json()["result"], 3);
    for format in ["agent-toml", "manifest", "agent-md"] {
        let ran = test.run(&format!("convert helper --to {format} -o lost-{format}"));
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert!(printed.contains("tools.scripts"), "{format}: {ran}");
    }
    // A script of an agent directory gets other inputs, so it would not work as `TOOL.md`.
    let test = agent("", &run("return 1;"));
    let ran = test.run("convert helper --to agentfs -o lost");
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("tools.scripts"), "{ran}");
    assert!(!test.has("lost/tools"), "{ran}");
}
