//! The shipped examples with tools of their own: their cassettes replay, and their tools still return what is
//! recorded. A stale cassette is recorded anew, then the test fails.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::readme::{ROOT, workspace};
use crate::run::with;
use crate::server::{Reply, Server, Turn};

/// An example, and how its recorded run went.
struct ToolExample {
    /// Its path.
    agent: &'static str,
    cassette: &'static str,
    /// What the run is asked.
    asked: &'static [&'static str],
    /// The calls of the model, each in a turn of its own, and its last text.
    calls: Vec<(&'static str, Value)>,
    last: &'static str,
    /// What standard output has.
    printed: &'static str,
}

const TEXT: &str = "The queue refuses a job that is there already. A job that waits for longer than a minute, \
    because the jobs before it are slow or because the worker was stopped for a while, is reported to the \
    person who pushed it.";

fn examples() -> Vec<ToolExample> {
    let links = "sh agent-toml/link-checker/skills/check-links/scripts/links.sh sample/page.md";
    let step = |step: u8| json!({ "skill": "check-links", "step": step, "status": "done" });
    let checked = "sample/page.md: `manual.md` is missing. One link to the web was not checked.";
    let audited =
        "The total of the 4 entries is 293.25. Above 100: the hotel on 2026-11-03 (189.00).";
    let kept = "2 tasks. Without an owner: sample/queue.py:10, refuse a job that is there already. Take that first.";
    let measured = "2 sentences, 41 words, 20.5 a sentence. One is long:\n\n> A job that waits for longer than a \
        minute, …\n\nShorter: «A job that waits for longer than a minute is reported to the person who pushed it.»";
    vec![
        ToolExample {
            agent: "examples/agent-md/agents/writing_text-doctor.agent.md",
            cassette: "examples/agent-md/agents/writing_text-doctor.cassette.jsonl",
            asked: &["Measure this text and shorten what is long: The queue refuses …"],
            calls: vec![("measure_text", json!({ "text": TEXT }))],
            last: measured,
            printed: measured,
        },
        ToolExample {
            agent: "examples/agent-toml/link-checker",
            cassette: "examples/agent-toml/link-checker.cassette.jsonl",
            asked: &["Which links of sample/page.md are broken?"],
            calls: vec![
                ("skill", json!({ "name": "check-links" })),
                ("bash", json!({ "command": links })),
                ("skill_step", step(1)),
                ("skill_step", step(2)),
            ],
            last: checked,
            printed: checked,
        },
        ToolExample {
            agent: "examples/manifest/commit-sorter.agent",
            cassette: "examples/manifest/commit-sorter.cassette.jsonl",
            asked: &[
                "--call",
                "sort",
                "--input",
                r#"{"message": "Refuse a job that is queued already"}"#,
            ],
            calls: vec![("result", json!({ "result": "changed" }))],
            last: "",
            printed: "\"changed\"",
        },
        ToolExample {
            agent: "examples/agentfs/expense-auditor",
            cassette: "examples/agentfs/expense-auditor.cassette.jsonl",
            asked: &["Audit sample/november.csv, the limit is 100"],
            calls: vec![("sum-expenses", json!({ "report": "sample/november.csv", "limit": 100 }))],
            last: audited,
            printed: audited,
        },
        ToolExample {
            agent: "examples/agent-dir/todo-keeper",
            cassette: "examples/agent-dir/todo-keeper.cassette.jsonl",
            asked: &["What is open in sample?"],
            calls: vec![("collect-todos", json!({ "directory": "sample" }))],
            last: kept,
            printed: kept,
        },
    ]
}

impl ToolExample {
    /// Records the run with a model that plays its part, and puts the cassette into the repository.
    fn record(&self) {
        let turns = self.calls.iter().map(|(tool, arguments)| Turn::call(tool, arguments.clone()));
        let turns = turns.chain((!self.last.is_empty()).then(|| Turn::text(self.last)));
        let server = Server::playing(turns.map(Reply::from));
        let test = workspace("");
        // Written anew, not over the old one.
        let _ = fs::remove_file(test.path(self.cassette));
        let mut args = vec!["run", self.agent];
        args.extend(self.asked);
        args.extend(["--yes", "--record", self.cassette]);
        with(&test, &server, &args).exits(0);
        fs::write(Path::new(ROOT).join(self.cassette), test.read(self.cassette)).expect("a file");
    }

    /// The results of the tools in the cassette, in order.
    fn results(&self) -> Vec<String> {
        let text = fs::read_to_string(Path::new(ROOT).join(self.cassette)).expect("a cassette");
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        // The calls of a script have ids like `call-1.1`.
        let is_inner = |line: &Value| line["id"].as_str().is_some_and(|id| id.contains('.'));
        let ended = lines.filter(|line| line["type"] == "ended" && !is_inner(line));
        ended.filter_map(|line| line["text"].as_str().map(str::to_owned)).collect()
    }
}

#[test]
fn the_examples_of_every_format_are_replayed() {
    let mut stale = Vec::new();
    for example in examples() {
        let test = workspace("");
        // Without a key and without a network, `run` plays the cassette beside the agent.
        let ran = test.run(&format!("run {}", example.agent));
        let is_played = ran.stderr.contains("nothing is executed") && ran.code == Some(0);
        if !is_played || ran.stdout.trim_end() != example.printed {
            example.record();
            stale.push(format!("{}: {ran}", example.cassette));
        }
    }
    assert!(stale.is_empty(), "stale, and recorded anew:\n{}", stale.join("\n"));
    let tested = workspace("").run("test examples").exits(0);
    for example in examples() {
        let name = Path::new(example.cassette).file_name().expect("a name").to_string_lossy();
        assert!(tested.stdout.contains(&*name), "{tested}");
    }
}

/// The cassettes are no fiction: the tools give the recorded results now.
#[test]
fn example_tools_return_the_recorded_results() {
    for example in examples() {
        let test = workspace("");
        let listed = test.run(&format!("tools {} --yes --format json", example.agent)).exits(0);
        assert_eq!(listed.json()["missing"], json!([]), "{listed}");
        for ((tool, arguments), recorded) in example.calls.iter().zip(example.results()) {
            // These need a run: the other tools work on the bench.
            if ["skill", "skill_step", "result", "bash"].contains(tool) {
                continue;
            }
            let args = [
                "tools",
                "call",
                example.agent,
                tool,
                &arguments.to_string(),
                "--yes",
                "--format",
                "json",
            ];
            let ran = test.run_args(&args).exits(0);
            let recorded: Value = serde_json::from_str(&recorded).expect("JSON");
            assert_eq!(ran.json()["result"], recorded, "{ran}");
        }
    }
}
