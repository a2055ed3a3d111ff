//! Delegation: agents that let other agents work, under one policy, one budget and one chain of names.
#![cfg(target_os = "linux")]

use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::{keyed, with};
use crate::server::{Asked, Reply, Server, Turn};
use crate::terminal::{Terminal, wait_for};
use crate::test::Test;

/// An agent with rules, as a directory.
pub(crate) fn agent(test: Test, name: &str, rules: &str) -> Test {
    let definition = format!("name = \"{name}\"\ndescription = \"The {name}\"\n\n{rules}");
    let test = test.file(format!("{name}/agent.toml"), definition);
    test.file(format!("{name}/system-prompt.md"), format!("You are {name}.\n"))
}

/// A manifest that may write everywhere and names other agents.
pub(crate) fn lead(agents: &str, more: &str) -> String {
    format!(
        "name: lead\nversion: 1.0.0\ndescription: Leads\nsoul: You are lead.\n\
         trust: {{filesystem: full, network: none, exec: none}}\nagents: {{{agents}}}\n\
         x-agentry: {{permissions: {{delegate: {{intent: allow}}, edit: {{intent: allow}}}}}}\n{more}"
    )
}

pub(crate) const WRITES: &str =
    "[permissions.edit]\nintent = \"allow\"\n\n[permissions.delegate]\nintent = \"allow\"\n";

pub(crate) fn delegate(agent: &str, prompt: &str) -> Turn {
    Turn::call("delegate", json!({ "agent": agent, "prompt": prompt }))
}

pub(crate) fn write(path: &str) -> Turn {
    Turn::call("write", json!({ "path": path, "content": "x\n" }))
}

/// Who asks: the last word of its system prompt's first line.
pub(crate) fn asking_agent(asked: &Asked) -> String {
    let first = asked.system.lines().next().unwrap_or_default();
    first.trim_start_matches("You are ").trim_end_matches('.').to_owned()
}

/// Each agent plays its own turns, by the number of its results.
pub(crate) fn playing(scripts: Vec<(&'static str, Vec<Turn>)>) -> Server {
    Server::answering(move |asked| {
        let turns =
            scripts.iter().find(|(name, _)| *name == asking_agent(asked)).map(|it| it.1.clone());
        let turn = turns.and_then(|turns| turns.get(asked.results.len()).cloned());
        turn.unwrap_or_else(|| Turn::text("done")).into()
    })
}

/// Runs `a` to its end; if it is killed at the third request, it is resumed.
pub(crate) fn run_tree(test: &Test, server: &Server, is_killed: bool) {
    let args = ["run", "a", "go", "--yes"];
    if !is_killed {
        with(test, server, &args).exits(0);
        return;
    }
    let mut command = keyed(test, server, &args);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("it runs");
    wait_for("the grandchild", || server.count() == 3);
    child.kill().expect("it is killed");
    child.wait().expect("an end");
    with(test, server, &["resume", "last"]).exits(0);
}

pub(crate) fn runs(test: &Test) -> Vec<Value> {
    test.run("runs --format json").json().as_array().expect("a list").clone()
}

#[test]
fn a_delegate_works_as_its_own_run_under_its_parents_policy() {
    let server = playing(vec![
        ("lead", vec![delegate("helper", "write it"), Turn::text("All done.")]),
        (
            "helper",
            vec![
                write("out.txt"),
                Turn::call("bash", json!({"command": "ls"})),
                Turn::text("Written."),
            ],
        ),
    ]);
    let rules = format!("{WRITES}\n[permissions.bash]\nintent = \"allow\"\n");
    let test = agent(Test::new(), "helper", &rules)
        .file("lead.agent", lead("helper: {ref: ./helper}", ""));
    let ran = with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
    assert_eq!(ran.stdout, "All done.\n", "{ran}");
    assert_eq!(test.read("out.txt"), "x\n");
    let asked = server.asked();
    let of_helper: Vec<_> = asked.iter().filter(|it| asking_agent(it) == "helper").collect();
    assert_eq!(of_helper[0].user_texts, ["write it"]);
    // The helper may run commands, its parent may not: the refusal says whose rule it is.
    let refused = &of_helper[2].results[1].1;
    assert!(refused.contains("exec: none (parent)"), "{refused}");
    assert_eq!(asked.last().unwrap().results[0].1, "Written.");
    let runs = runs(&test);
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1]["parent"], runs[0]["id"], "{runs:?}");
    let shown = test.run("runs show last").exits(0).stdout;
    assert!(shown.contains("helper") && shown.contains("done: "), "{shown}");
    // What the child spent, the parent has spent: 2 + 3 turns.
    let shown = test.run("runs show last --format json").json();
    assert_eq!(shown["spent"]["turns"], 5, "{}", shown["spent"]);
    assert_eq!(shown["delegates"][0]["agent"], runs[1]["agent"], "{shown}");
    // Each has its own receipt, with what it spent itself: 3 and 2 turns.
    for (run, turns) in [(1, 3), (0, 2)] {
        let id = runs[run]["receipt"].as_str().expect("a receipt");
        let receipt = test.run(&format!("receipts show {id} --format json")).exits(0).json();
        assert_eq!(receipt["usage"]["turns"], turns, "{receipt}");
        let parent = if run == 1 { runs[0]["id"].clone() } else { Value::Null };
        assert_eq!(receipt["run"]["parent"], parent, "{receipt}");
    }
    let child = runs[1]["id"].as_str().unwrap();
    let ran = with(&test, &server, &["resume", child]).exits(3);
    assert!(ran.stderr.contains("works for run"), "{ran}");
}

#[test]
fn declared_agents_that_cannot_work_refuse_the_run() {
    let disabled =
        "---\ntitle: Off\ndescription: Off\nstatus: disabled\n---\n\n## System\n\nYou are off.\n";
    let circle = "name: b\nversion: 1.0.0\ndescription: B\nsoul: You are b.\nagents: {lead: {ref: ./lead.agent}}\n";
    let cases = [
        ("x: {ref: ./missing}", "delegate `x` is not ready: `./missing` does not exist"),
        ("x: {ref: ./broken.agent}", "has errors"),
        ("x: {ref: ./agents/t_off.agent.md}", "its status is `disabled`"),
        ("b: {ref: ./b.agent}", "`lead › b › lead` is a circle"),
        ("lead: {ref: ./lead.agent}", "`lead › lead` is a circle"),
        ("x: {ref: ./unmodelled.agent}", "delegate `x` is not ready: no model"),
        ("x: {ref: ./needy.agent}", "it needs the variable `PATH`, which its parent does not get"),
        ("m: {ref: ./middle.agent}", "delegate `m` is not ready: its delegate `x`: no model"),
    ];
    let other = |name: &str, more: &str| {
        format!("name: {name}\nversion: 1.0.0\ndescription: X\nsoul: You are {name}.\n{more}")
    };
    let elsewhere = "auth: {strategy: explicit, providers: {openai: {from: env.OPENAI_API_KEY}}}\n";
    let needy = "x-agentry: {required: {env: [PATH]}}\n";
    for (agents, expected) in cases {
        let server = playing(vec![]);
        let test = Test::new()
            .file("lead.agent", lead(agents, ""))
            .file("broken.agent", crate::test::BROKEN)
            .file("agents/t_off.agent.md", disabled)
            .file("b.agent", circle)
            .file("unmodelled.agent", other("u", elsewhere))
            .file("needy.agent", other("needy", needy))
            .file("middle.agent", other("m", "agents: {x: {ref: ./unmodelled.agent}}\n"));
        let ran = with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(3);
        assert!(ran.stderr.contains(expected), "{expected}: {ran}");
        // The list of tools says the same.
        let reason = expected.rsplit_once("not ready: ").map_or(expected, |(_, reason)| reason);
        let ran = with(&test, &server, &["tools", "lead.agent"]).exits(0);
        assert!(ran.stdout.contains(reason), "{expected}: {ran}");
        assert_eq!(server.count(), 0);
    }
}

/// A program is code of the agent: where `exec: none` holds above, no server of a delegate is started, not even at the
/// call of an agent that only a rule offers, and not two levels below.
#[test]
fn no_program_is_started_below_exec_none() {
    let manifest = |name: &str, exec: &str, more: &str| {
        format!(
            "name: {name}\nversion: 1.0.0\ndescription: X\nsoul: You are {name}.\n\
             trust: {{filesystem: full, network: none, exec: {exec}}}\n\
             x-agentry: {{permissions: {{delegate: {{intent: allow}}}}}}\n{more}"
        )
    };
    let brings = "tools: {mcp: [{name: local, command: sh, args: [server.sh], optional: true}]}\n";
    let server = playing(vec![
        ("lead", vec![delegate("middle", "go")]),
        ("middle", vec![delegate("last", "go")]),
    ]);
    let test = Test::new()
        .file("lead.agent", manifest("lead", "none", ""))
        .file("middle.agent", manifest("middle", "sandboxed", brings))
        .file("last.agent", manifest("last", "sandboxed", brings))
        .file("server.sh", "echo started >> started.txt\n");
    with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
    let asked = server.asked();
    let last = asked.iter().find(|it| asking_agent(it) == "last").expect("the last one works");
    assert!(last.system.contains("not available in this run: `local`"), "{}", last.system);
    assert!(!test.path("started.txt").exists());
    // The same agent by itself starts it.
    with(&test, &server, &["run", "last.agent", "go", "--yes"]).exits(0);
    assert!(test.read("started.txt").starts_with("started\n"));
}

/// What a delegate brings itself is looked at before the first request to a model, two levels deep; no server of a
/// delegate is started for it.
#[test]
fn a_delegate_whose_tools_cannot_start_refuses_the_run() {
    let cases = [
        ("agents/t_code.agent.md", "no table (./agents/t_code.agent.md:9:"),
        ("scripted", "its script `count` is not ready: its runtime is `python`"),
        (
            "nowhere.agent",
            "its mcp `local` is not ready: the program `no-such-program` is not installed",
        ),
        (
            "program.agent",
            "its program is not started: the agent, or the one above it, has `exec: none`",
        ),
        ("unset.agent", "its mcp `local` is not ready: it needs `NO_SUCH_NAME`, which is not set"),
        ("remote.agent", "its mcp `remote` is not ready: refused: webfetch"),
        ("asked.agent", "its mcp `remote` is not ready: its address needs an approval"),
        ("skilled.agent", "its skill `absent` is not ready: "),
        ("middle.agent", "its delegate `x`: its mcp `local` is not ready: the program"),
    ];
    let manifest = |trust: &str, more: &str| {
        format!("name: x\nversion: 1.0.0\ndescription: X\nsoul: You are x.\ntrust: {trust}\n{more}")
    };
    let open = "{filesystem: full, network: allowed, exec: sandboxed}";
    let with_server = |server: &str| manifest(open, &format!("tools: {{mcp: [{server}]}}\n"));
    let block = "```js\nif (true) throw new Error(\"no table\");\nreturn { a: { fn: async () => 1, scheme: { name: \"a\", description: \"A\", parameters: {} } } };\n```\n";
    for (delegate, expected) in cases {
        let server = playing(vec![]);
        // A delegate may do no more than its parent, so these two rows are about the parent.
        let trust = match delegate {
            "program.agent" => "{filesystem: full, network: allowed, exec: none}",
            "remote.agent" => "{filesystem: full, network: none, exec: sandboxed}",
            _ => open,
        };
        let lead = lead(&format!("x: {{ref: ./{delegate}}}"), "")
            .replace("{filesystem: full, network: none, exec: none}", trust);
        let asks = "x-agentry: {permissions: {webfetch: {intent: ask}}}\n";
        let test = Test::new()
            .file("lead.agent", lead)
            .file(
                "agents/t_code.agent.md",
                format!("---\ntitle: Code\ndescription: Code\n---\n\n## Tools\n\n{block}\n## System\n\nYou are code.\n"),
            )
            .file("scripted/agent.json", "{\"name\": \"Scripted\", \"tool_permissions\": {\"allowed\": [\"Read\"]}}")
            .file("scripted/persona.md", "You are scripted.\n")
            .file("scripted/principles.md", "## Never Do\n- Harm\n")
            .file("scripted/tools/count/TOOL.md", "---\nname: count\ndescription: Counts\nexecutor: script\ncommand: count.py\nscript: {runtime: python}\n---\n")
            .file("scripted/tools/count/count.py", "print(1)\n")
            .file("nowhere.agent", with_server("{name: local, command: no-such-program}"))
            .file("program.agent", with_server("{name: local, command: sh, args: [server.sh]}"))
            .file("unset.agent", with_server("{name: local, command: sh, env: {X: '${env:NO_SUCH_NAME}'}}"))
            .file("remote.agent", with_server("{name: remote, url: 'https://mcp.example.com/'}"))
            .file("asked.agent", with_server("{name: remote, url: 'https://mcp.example.com/'}") + asks)
            .file("skilled.agent", manifest(open, "skills: [absent]\n"))
            .file("middle.agent", manifest(open, "agents: {x: {ref: ./nowhere.agent}}\n"));
        let ran = with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(3);
        assert!(
            ran.stderr.contains("`lead.agent` does not start: delegate `x` is not ready: "),
            "{ran}"
        );
        assert!(ran.stderr.contains(expected), "{expected}: {ran}");
        assert!(server.asked().is_empty(), "{ran}");
        let words = ["tools", "lead.agent", "--yes", "--format", "json"];
        let listed = with(&test, &server, &words).exits(0).json();
        let reason = listed["missing"][0]["reason"].as_str().unwrap_or_default();
        // A list cannot know whether a user will be there.
        assert!(reason.contains(expected) || delegate == "asked.agent", "{expected}: {listed}");
        // Without it, the run starts.
        with(&test, &server, &["run", "lead.agent", "go", "--yes", "--without", "x"]).exits(0);
    }
}

/// An agent that only a rule names is missing where it cannot start: the list and the prompt say so.
#[test]
fn a_missing_agent_named_only_by_a_rule_is_reported() {
    let lead = "name: lead\nversion: 1.0.0\ndescription: Leads\nsoul: You are lead.\n\
        trust: {filesystem: full, network: none, exec: none}\nx-agentry:\n  \
        delegation: {ceiling: declared}\n  \
        permissions: {delegate: {intent: deny, rules: [\"needy:allow\"]}}\n";
    let needy = "[x-agentry.required]\nenv = [\"UNSET_HERE\"]\n";
    let test = agent(Test::new().file("lead.agent", lead), "needy", needy);
    let server = playing(vec![("lead", vec![delegate("needy", "go"), Turn::text("Done.")])]);
    let listed = with(&test, &server, &["tools", "lead.agent", "--format", "json"]).exits(0).json();
    let missing = &listed["missing"][0];
    assert_eq!((&missing["name"], &missing["kind"]), (&json!("needy"), &json!("delegate")));
    let why = missing["reason"].as_str().unwrap_or_default();
    assert!(why.contains("`UNSET_HERE`"), "{listed}");
    with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
    let asked = server.asked();
    assert!(asked[0].system.contains("not available in this run: `needy`"), "{}", asked[0].system);
    assert!(asked[1].results[0].1.contains(why), "{:?}", asked[1].results);
}

/// Circles that no definition shows are refused as calls, and so is a fourth level.
#[test]
fn delegation_cycles_and_excess_depth_are_refused() {
    let names = ["a", "b", "c", "d", "e"];
    let test = names.iter().fold(Test::new(), |test, name| agent(test, name, WRITES));
    let script = |name: &'static str, next: &str| (name, vec![delegate(next, "go on")]);
    let server =
        playing(vec![script("a", "b"), script("b", "c"), script("c", "d"), script("d", "e")]);
    with(&test, &server, &["run", "a", "go", "--yes"]).exits(0);
    let asked = server.asked();
    assert!(asked.iter().all(|it| asking_agent(it) != "e"));
    let refused =
        asked.iter().find(|it| asking_agent(it) == "d" && !it.results.is_empty()).unwrap();
    assert!(
        refused.results[0].1.contains("`a › b › c › d › e` is too deep"),
        "{:?}",
        refused.results
    );
    let server = playing(vec![script("a", "b"), script("b", "a")]);
    with(&test, &server, &["run", "a", "go", "--yes"]).exits(0);
    let asked = server.asked();
    let refused =
        asked.iter().find(|it| asking_agent(it) == "b" && !it.results.is_empty()).unwrap();
    assert!(refused.results[0].1.contains("`a › b › a` is a circle"), "{:?}", refused.results);
    let server = playing(vec![("a", vec![delegate("nobody", "x")])]);
    with(&test, &server, &["run", "a", "go", "--yes"]).exits(0);
    let refused = &server.asked()[1].results[0].1;
    assert!(refused.contains("there is no agent `nobody`"), "{refused}");
}

/// A call of an agent that asks: unattended it is denied, or the whole tree is parked and resumed.
#[test]
fn a_question_of_a_delegate_is_denied_or_parks_the_tree() {
    let rules = "[permissions.edit]\nintent = \"ask\"\n";
    let make = || {
        agent(Test::new(), "helper", rules).file("lead.agent", lead("helper: {ref: ./helper}", ""))
    };
    let script = || {
        playing(vec![
            ("lead", vec![delegate("helper", "write"), Turn::text("All done.")]),
            ("helper", vec![write("out.txt"), Turn::text("Tried.")]),
        ])
    };
    let (test, server) = (make(), script());
    with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
    assert!(!test.has("out.txt"));
    let (test, server) = (make(), script());
    with(&test, &server, &["run", "lead.agent", "go", "--yes", "--on-ask", "park"]).exits(3);
    let states: Vec<_> = runs(&test).iter().map(|it| it["state"].clone()).collect();
    assert_eq!(states, ["parked", "parked"]);
    let before = server.count();
    let mut terminal = Terminal::new(&test, &server, "resume last");
    let shown = terminal.sees("answer › ");
    assert!(shown.contains("lead › helper asks:"), "{shown}");
    terminal.types("y");
    terminal.sees("All done.");
    terminal.ends(0);
    assert_eq!(test.read("out.txt"), "x\n");
    assert_eq!(server.count(), before + 2, "one more turn of each");
    let states: Vec<_> = runs(&test).iter().map(|it| it["state"].clone()).collect();
    assert_eq!(states, ["done", "done"], "no run was begun again");
}

/// The root is killed while its delegate waits for the model; the write before that is not done twice.
#[test]
fn a_killed_tree_continues_where_it_was() {
    let server =
        Server::answering(|asked| match (asking_agent(asked).as_str(), asked.results.len()) {
            ("lead", 0) => delegate("helper", "write").into(),
            ("lead", _) => Turn::text("All done.").into(),
            ("helper", 0) => Turn::call("bash", json!({"command": "echo once >> log"})).into(),
            // The first time, the answer never comes.
            ("helper", _) if asked.number == 2 => Reply::Silent,
            _ => Turn::text("Written.").into(),
        });
    let rules = format!("{WRITES}\n[permissions.bash]\nintent = \"allow\"\n");
    let lead = lead("helper: {ref: ./helper}", "").replace("exec: none", "exec: full");
    let lead =
        lead.replace("edit: {intent: allow}", "edit: {intent: allow}, bash: {intent: allow}");
    let test = agent(Test::new(), "helper", &rules).file("lead.agent", lead);
    let args = ["run", "lead.agent", "go", "--yes", "--unconfined", "--max-turns", "10"];
    let mut command = keyed(&test, &server, &args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    wait_for("the third request", || server.count() == 3);
    let killed =
        std::process::Command::new("kill").args(["-KILL", &child.id().to_string()]).status();
    assert!(killed.expect("`kill` runs").success());
    child.wait().expect("an end");
    let ran = with(&test, &server, &["resume", "last"]).exits(0);
    assert_eq!(ran.stdout, "All done.\n", "{ran}");
    assert_eq!(test.read("log"), "once\n");
    assert_eq!(runs(&test).len(), 2, "the delegate continued its own run");
    let shown = test.run("runs show last --format json").json();
    assert_eq!(shown["spent"]["turns"], 4, "{}", shown["spent"]);
}

/// One pot: the turns of the child end the run of the parent.
#[test]
fn a_delegate_spends_the_budget_of_its_parent() {
    let helper = (0..9).map(|at| write(&format!("out-{at}.txt"))).collect();
    let server = playing(vec![("lead", vec![delegate("helper", "write")]), ("helper", helper)]);
    let test = agent(Test::new(), "helper", WRITES)
        .file("lead.agent", lead("helper: {ref: ./helper}", ""));
    let ran =
        with(&test, &server, &["run", "lead.agent", "go", "--yes", "--max-turns", "4"]).exits(3);
    assert!(ran.stderr.contains("limit of 4 turns"), "{ran}");
    assert_eq!(server.count(), 4, "one of the parent, three of the child");
    assert!(test.has("out-1.txt") && !test.has("out-3.txt"));
    // Resumed with the same limit, nobody is asked.
    with(&test, &server, &["resume", "last"]).exits(3);
    assert_eq!(server.count(), 4);
}

#[test]
fn typed_delegates_and_pipelines_run() {
    let finder = "name: finder\nversion: 1.0.0\ndescription: Finds\nsoul: You are finder.\n\
        trust: {filesystem: read-only, network: none, exec: none}\n\
        expose:\n  - {name: find, input: {query: str}, output: 'list[str]'}\n";
    let make = |more: &str| {
        agent(Test::new(), "writer", WRITES).file("finder.agent", finder).file(
            "lead.agent",
            lead("finder: {ref: ./finder.agent}, writer: {ref: ./writer}", more),
        )
    };
    let result = |value: Value| Turn::call("result", json!({ "result": value }));
    let server = playing(vec![
        (
            "lead",
            vec![
                Turn::call("delegate", json!({"agent": "finder.find", "input": {"query": 1}})),
                Turn::call("delegate", json!({"agent": "finder", "input": {"query": "x"}})),
            ],
        ),
        ("finder", vec![result(json!(["a"]))]),
    ]);
    with(&make(""), &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
    let results = server.asked().last().unwrap().results.clone();
    assert!(results[0].1.contains("does not fit"), "{results:?}");
    assert_eq!(results[1].1, "[\"a\"]");
    let script = |found: Value| {
        playing(vec![
            ("finder", vec![result(found.clone()), result(found)]),
            ("writer", vec![Turn::text("Written.")]),
        ])
    };
    let steps = "pipeline: [{call: finder.find, output: found}, {call: writer}]\n";
    let server = script(json!(["a"]));
    let ran = with(&make(steps), &server, &["run", "lead.agent", "look", "--yes"]).exits(0);
    assert_eq!(ran.stdout, "Written.\n", "{ran}");
    let asked = server.asked();
    assert!(asked[0].user_texts[0].contains("\"query\": \"look\""), "{:?}", asked[0].user_texts);
    assert_eq!(asked[1].user_texts, ["[\"a\"]"]);
    // A step that fails follows `on_error`.
    let bad = || script(json!(1));
    let ran = with(&make(steps), &bad(), &["run", "lead.agent", "look", "--yes"]).exits(1);
    assert!(ran.stderr.contains("step 1 (`finder.find`): `finder` failed"), "{ran}");
    let skips = format!("{steps}behavior: {{on_error: skip}}\n");
    let server = bad();
    let ran = with(&make(&skips), &server, &["run", "lead.agent", "look", "--yes"]).exits(0);
    assert_eq!(ran.stdout, "Written.\n", "{ran}");
    assert_eq!(server.asked().last().unwrap().user_texts, ["look"]);
    let unknown = "pipeline: [{call: nobody}]\n";
    let ran = with(&make(unknown), &bad(), &["run", "lead.agent", "look", "--yes"]).exits(3);
    assert!(ran.stderr.contains("step 1 of `pipeline`: there is no agent `nobody`"), "{ran}");
}

/// What a grandchild tries: each path is denied by the root, by the middle, by the user, or by nobody.
const TRIED: [(&str, bool); 4] =
    [("root/x", false), ("middle/x", false), ("mine/x", false), ("free/x", true)];

/// The rules of the root, the middle and the user hold for a grandchild, also after the tree was killed.
#[test]
fn a_grandchild_obeys_every_policy_above_it() {
    for is_killed in [false, true] {
        let server = Server::answering(move |asked| {
            match (asking_agent(asked).as_str(), asked.results.len()) {
                ("a", 0) => delegate("b", "go on").into(),
                ("b", 0) => delegate("c", "go on").into(),
                ("c", _) if is_killed && asked.number == 2 => Reply::Silent,
                ("c", at) if at < TRIED.len() => write(TRIED[at].0).into(),
                _ => Turn::text("done").into(),
            }
        });
        let rules = |denied: &str| {
            WRITES.replacen("\"allow\"\n", &format!("\"allow\"\nrules = [{denied}]\n"), 1)
        };
        let test = agent(Test::new(), "a", &rules("\"root/**:deny\""));
        let test = agent(test, "b", &rules("\"middle/**:deny\""));
        let test = agent(test, "c", WRITES).file(
            "home/.config/agentry/config.toml",
            "[policy.edit]\nintent = \"allow\"\nrules = [\"mine/**:deny\"]\n\n[policy.delegate]\nintent = \"allow\"\n",
        );
        run_tree(&test, &server, is_killed);
        for (path, is_written) in TRIED {
            assert_eq!(test.has(path), is_written, "{path}, killed: {is_killed}");
        }
        assert_eq!(runs(&test).len(), 3, "killed: {is_killed}");
    }
}

/// Children of one answer run side by side: each waits until the other one has asked the model.
#[test]
fn delegates_of_one_answer_run_in_parallel() {
    let both = std::sync::Arc::new(std::sync::Barrier::new(2));
    let server =
        Server::answering(move |asked| match (asking_agent(asked).as_str(), asked.results.len()) {
            ("a", 0) => {
                let task = |agent: &str| json!({"agent": agent, "prompt": "go"});
                Turn::call("delegate", task("b")).and_call("delegate", task("c")).into()
            }
            ("b" | "c", _) => {
                both.wait();
                Turn::text(format!("by {}", asking_agent(asked))).into()
            }
            _ => Turn::text("done").into(),
        });
    let test = ["a", "b", "c"].iter().fold(Test::new(), |test, name| agent(test, name, WRITES));
    with(&test, &server, &["run", "a", "go", "--yes"]).exits(0);
    let results = server.asked().last().unwrap().results.clone();
    let texts: Vec<_> = results.iter().map(|it| it.1.as_str()).collect();
    assert_eq!(texts, ["by b", "by c"]);
}
