//! `run --call`: functions that an agent exposes, with typed input and output.

use serde_json::{Value, json};

use crate::run::with;
use crate::server::{Server, Turn};
use crate::test::Test;

const COUNTER: &str = "name: counter\nversion: 1.0.0\ndescription: Counts\nsoul: You count.\n\
    trust: {filesystem: none, network: none, exec: none}\n\
    expose:\n  - name: count\n    description: Counts words\n    input: {text: str, most: 'int?'}\n    \
    output: int\n  - name: report\n    input: {query: str}\n    output: Report\n";

fn counter() -> Test {
    Test::new().file("counter.agent", COUNTER)
}

fn call(test: &Test, server: &Server, name: &str, input: &str) -> crate::test::Ran {
    let args = ["run", "counter.agent", "--call", name, "--input", input, "--yes"];
    with(test, server, &args)
}

#[test]
fn the_output_is_typed_json() {
    let result = |arguments: Value| Turn::call("result", arguments).into();
    let cases: Vec<(&str, Vec<crate::server::Reply>, &str)> = vec![
        ("count", vec![result(json!({"result": 3}))], "3\n"),
        ("count", vec![Turn::text("3").into()], "3\n"),
        // Repaired once, by the tool or by text.
        ("count", vec![result(json!({"result": "three"})), result(json!({"result": 3}))], "3\n"),
        ("count", vec![Turn::text("three").into(), Turn::text("3").into()], "3\n"),
        ("report", vec![result(json!({"title": "x"}))], "{\n  \"title\": \"x\"\n}\n"),
    ];
    for (name, replies, expected) in cases {
        let turns = replies.len();
        let server = Server::playing(replies);
        let test = counter();
        let input = if name == "count" { r#"{"text": "a b c"}"# } else { r#"{"query": "x"}"# };
        let ran = call(&test, &server, name, input).exits(0);
        assert_eq!(ran.stdout, expected, "{ran}");
        assert_eq!(server.count(), turns, "{name}: the run ends with its output");
        let asked = &server.asked()[0];
        assert!(asked.tools.contains(&"result".to_owned()), "{:?}", asked.tools);
        assert!(asked.user_texts[0].contains(&format!("`{name}(")), "{:?}", asked.user_texts);
    }
}

#[test]
fn an_output_of_the_wrong_type_fails_after_one_retry() {
    let bad = || Turn::call("result", json!({"result": "many"})).into();
    let plain = || Turn::text("many").into();
    for replies in
        [vec![bad(), bad()], vec![plain(), plain()], vec![plain(), bad()], vec![bad(), plain()]]
    {
        let server = Server::playing(replies);
        let test = counter();
        let ran = call(&test, &server, "count", r#"{"text": "a"}"#).exits(1);
        assert_eq!((ran.stdout.as_str(), server.count()), ("", 2), "{ran}");
        assert!(ran.stderr.contains("the output of `count` does not fit: "), "{ran}");
        let runs = test.run("runs --format json").json();
        assert_eq!(runs[0]["state"], "failed", "{runs}");
    }
}

#[test]
fn a_wrong_input_is_refused_before_any_request() {
    let cases = [
        ("count", "not json", "the input of `count` is not JSON"),
        ("count", "{}", "\"text\" is a required property"),
        ("count", r#"{"text": 1}"#, "`/text`: "),
        ("count", r#"{"text": "a", "more": 1}"#, "Additional properties"),
        ("count", "[]", "the input of `count` does not fit"),
        ("sum", "{}", "`counter.agent` has no function `sum`"),
    ];
    for (name, input, expected) in cases {
        let server = Server::playing([]);
        let ran = call(&counter(), &server, name, input).exits(2);
        assert!(ran.stderr.contains(expected), "{ran}");
        assert_eq!((ran.stdout.as_str(), server.count()), ("", 0), "{ran}");
    }
}

/// A type that is none is reported with its place, and such a function is never called.
#[test]
fn a_malformed_type_is_an_error() {
    let agent = "name: helper\nversion: 1.0.0\ndescription: Helps\nsoul: You help.\nexpose:\n\
        - {name: find, input: {query: \"list[str\"}, output: str}\n";
    let test = Test::new().file("helper.agent", agent);
    let ran = test.run("check helper.agent").exits(1);
    assert!(ran.stdout.contains("AG3031"), "{ran}");
    assert!(ran.stdout.contains("`list[str` is no type: a `]` is missing"), "{ran}");
    assert!(ran.stdout.contains("helper.agent:6:31"), "{ran}");
    let server = Server::playing([]);
    let args = ["run", "helper.agent", "--call", "find", "--input", "{\"query\": []}", "--yes"];
    let ran = with(&test, &server, &args);
    assert_ne!(ran.code, Some(0), "{ran}");
    assert_eq!(server.count(), 0, "{ran}");
}
