//! The clients, and what each of them must see.

use std::path::Path;

use serde_json::{Value, json};

/// One client.
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) script: &'static str,
    /// Its arguments after the program under test; `DIRECTORY` is where it works.
    pub(super) words: &'static [&'static str],
    /// What it must have seen, and what must have happened.
    pub(super) check: fn(&Value, &Path) -> Result<(), String>,
}

pub(super) const SCENES: &[Scene] = &[
    Scene {
        name: "an editor (ACP)",
        script: "editor.mjs",
        words: &["writer", "DIRECTORY"],
        check: check_editor,
    },
    Scene {
        name: "a program of the older era (MCP), which asks its user",
        script: "program.mjs",
        words: &["DIRECTORY", "older", "asks", "stdio"],
        check: check_asking,
    },
    Scene {
        name: "a program of the newer era (MCP), which asks its user",
        script: "program.mjs",
        words: &["DIRECTORY", "newer", "asks", "stdio"],
        check: check_newer,
    },
    Scene {
        name: "a program of the older era (MCP) without a user",
        script: "program.mjs",
        words: &["DIRECTORY", "older", "alone", "stdio"],
        check: check_alone,
    },
    Scene {
        name: "a program of the newer era (MCP) without a user",
        script: "program.mjs",
        words: &["DIRECTORY", "newer", "alone", "stdio"],
        check: check_alone,
    },
    Scene {
        name: "a program of the older era on the network (MCP), which asks its user",
        script: "program.mjs",
        words: &["DIRECTORY", "older", "asks", "admin"],
        check: check_remote,
    },
    Scene {
        name: "a program of the newer era on the network (MCP), which asks its user",
        script: "program.mjs",
        words: &["DIRECTORY", "newer", "asks", "admin"],
        check: check_newer,
    },
    Scene {
        name: "a program of the older era on the network (MCP), whose token approves of nothing",
        script: "program.mjs",
        words: &["DIRECTORY", "older", "asks", "run"],
        check: check_alone,
    },
    Scene {
        name: "a program of the newer era on the network (MCP), whose token approves of nothing",
        script: "program.mjs",
        words: &["DIRECTORY", "newer", "asks", "run"],
        check: check_alone,
    },
    Scene {
        name: "the conformance suite of MCP",
        script: "suite.mjs",
        words: &[
            "DIRECTORY",
            "server-initialize",
            "server-session-lifecycle",
            "ping",
            "tools-list",
            "dns-rebinding-protection",
            "http-header-validation",
            "server-sse-multiple-streams",
            "sep-2164-resource-not-found",
            "input-required-result-unsupported-methods",
        ],
        check: check_suite,
    },
];

/// The first expectation that does not hold.
fn expect(holds: &[(&str, bool)], seen: &Value) -> Result<(), String> {
    match holds.iter().find(|(_, holds)| !holds) {
        Some((what, _)) => Err(format!("{what}: {seen:#}")),
        None => Ok(()),
    }
}

fn check_editor(seen: &Value, directory: &Path) -> Result<(), String> {
    let has = |name: &str| directory.join(name).exists();
    let text = |value: &Value| value.to_string();
    let replayed = text(&seen["replayed"]);
    let asked = &seen["asked"][0];
    expect(
        &[
            ("version 1 is spoken", seen["version"] == 1),
            (
                "the exact call is asked about",
                asked["call"] == json!({"path": "a.txt", "content": "hello\n"}),
            ),
            (
                "the change is shown",
                asked["content"][0]["type"] == "diff"
                    && asked["content"][0]["newText"] == "hello\n",
            ),
            (
                "four answers are offered",
                asked["options"] == json!(["yes", "no", "always", "exact"]),
            ),
            (
                "four questions are asked",
                seen["asked"].as_array().is_some_and(|asked| asked.len() == 4),
            ),
            (
                "turns end, and the cancelled one says so",
                seen["stops"]
                    == json!(["end_turn", "end_turn", "end_turn", "cancelled", "end_turn"]),
            ),
            (
                "a session is resumed without its history",
                seen["resumed"].as_array().is_some_and(|it| {
                    !it.iter().any(|it| it == "user_message_chunk" || it == "agent_message_chunk")
                }),
            ),
            ("a directory outside is refused", text(&seen["outside"]).contains("is outside")),
            ("the session is listed", seen["listed"] == 1 || seen["listed"] == 2),
            (
                "the session is replayed",
                replayed.contains("user_message_chunk") && replayed.contains("tool_call_update"),
            ),
            (
                "the change is shown against the text that is not saved",
                seen["asked"][3]["content"][0]["oldText"] == "not saved\n",
            ),
            ("the editor saves the change", seen["saved"] == json!(["edited\n"])),
            (
                "a terminal shows the command",
                seen["terminals"][0]["output"] == "shown\n"
                    && seen["terminals"][0]["exitCode"] == 0,
            ),
            (
                "the editor runs no command of the agent",
                seen["terminals"][0]["words"][0] == "show-output",
            ),
            ("the program ends well", seen["code"] == 0),
            ("what is allowed and approved is written", has("out.txt") && has("a.txt")),
            (
                "what is denied, refused and cancelled is not",
                !has("secret/b.txt") && !has("c.txt") && !has("d.txt"),
            ),
        ],
        seen,
    )
}

fn check_program(seen: &Value, directory: &Path) -> Result<(), String> {
    let has = |name: &str| directory.join(name).exists();
    let first = &seen["first"];
    let is_run =
        |value: &Value| value["structuredContent"]["run"] == first["structuredContent"]["run"];
    expect(
        &[
            (
                "the tools are listed",
                seen["tools"] == json!(["counter", "counter__count", "writer"]),
            ),
            (
                "the agent answers",
                first["content"][0]["text"].as_str().is_some_and(|it| it.starts_with("done")),
            ),
            ("the run is done", first["structuredContent"]["state"] == "done"),
            ("progress is reported", seen["progress"].as_array().is_some_and(|it| it.len() >= 4)),
            (
                "the same run goes on",
                is_run(&seen["second"]) && first["structuredContent"]["run"].is_string(),
            ),
            ("the function is typed", seen["count"]["structuredContent"]["result"] == 3),
            ("a run of another agent is refused", seen["foreign"]["isError"] == true),
            ("what is allowed is written", has("out.txt")),
            ("what is denied is not", !has("secret/b.txt")),
        ],
        seen,
    )
}

fn check_asking(seen: &Value, directory: &Path) -> Result<(), String> {
    check_program(seen, directory)?;
    let question = seen["asked"][0].as_str().unwrap_or_default();
    expect(
        &[
            ("the user is asked twice", seen["asked"].as_array().is_some_and(|it| it.len() == 2)),
            (
                "the exact call is asked about",
                question.contains("{\"path\":\"a.txt\",\"content\":\"hello\\n\"}"),
            ),
            ("what is approved is written", directory.join("a.txt").exists()),
        ],
        seen,
    )
}

fn check_suite(seen: &Value, _: &Path) -> Result<(), String> {
    let scenarios = seen.as_object().into_iter().flatten();
    let failed = scenarios.filter(|(_, result)| *result != "passed").map(|(name, _)| name.as_str());
    match failed.collect::<Vec<_>>().as_slice() {
        [] => Ok(()),
        failed => Err(format!("these scenarios fail: {}: {seen:#}", failed.join(", "))),
    }
}

fn check_remote(seen: &Value, directory: &Path) -> Result<(), String> {
    check_asking(seen, directory)?;
    expect(&[("a call is cancelled", seen["cancelled"] == "cancelled")], seen)
}

fn check_newer(seen: &Value, directory: &Path) -> Result<(), String> {
    check_asking(seen, directory)?;
    expect(&[("the newer version is spoken", seen["version"] == "2026-07-28")], seen)
}

fn check_alone(seen: &Value, directory: &Path) -> Result<(), String> {
    check_program(seen, directory)?;
    let text = seen["first"]["content"][0]["text"].as_str().unwrap_or_default();
    expect(
        &[
            (
                "the result says what was denied",
                text.contains("[denied, because this client cannot ask its user: write path=a.txt"),
            ),
            ("what nobody approved is not written", !directory.join("a.txt").exists()),
        ],
        seen,
    )
}
