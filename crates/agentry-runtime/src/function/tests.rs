//! Functions: which inputs and outputs fit.

use agentry_compile::text::{FileId, Span, Spanned};

use super::*;

fn function(input: &[(&str, &str)], output: Option<&str>) -> AgentFunction {
    let written = |text: &str| Spanned::new(text.to_owned(), Span::start_of(FileId(0)));
    let exposed = ExposedFunction {
        name: Some(written("find")),
        description: None,
        input: input.iter().map(|(name, of)| ((*name).to_owned(), written(of))).collect(),
        output: output.map(written),
    };
    AgentFunction::of(&exposed).unwrap()
}

#[test]
fn function_inputs_are_validated() {
    let find = function(&[("query", "str"), ("most", "int?")], Some("list[str]"));
    assert_eq!(find.signature, "find(query: str, most: int?) -> list[str]");
    let cases = [
        (json!({"query": "x"}), None),
        (json!({"query": "x", "most": 3}), None),
        (json!({"query": "x", "most": null}), None),
        (json!({}), Some("required property")),
        (json!({"query": 1}), Some("not of type")),
        (json!({"query": "x", "most": "3"}), Some("`/most`")),
        (json!({"query": "x", "more": 1}), Some("Additional properties")),
        (json!("x"), Some("not of type")),
        (json!(null), Some("not of type")),
    ];
    for (input, expected) in cases {
        let found = find.check_input(&input).err();
        assert_eq!(found.is_some(), expected.is_some(), "{input}: {found:?}");
        let expected = expected.unwrap_or_default();
        assert!(found.unwrap_or_default().contains(expected), "{input}");
    }
}

#[test]
fn plain_text_is_the_input_of_a_one_argument_function() {
    let one = function(&[("query", "str"), ("most", "int?")], None);
    assert_eq!(one.input_of("some words"), Ok(json!({"query": "some words"})));
    assert_eq!(one.input_of("{\"query\": \"x\"}"), Ok(json!({"query": "x"})));
    let number = function(&[("count", "int")], None);
    assert_eq!(number.input_of(" 3 "), Ok(json!({"count": 3})));
    assert!(number.input_of("three").is_err());
    let two = function(&[("a", "str"), ("b", "str")], None);
    assert!(two.input_of("words").is_err());
}

#[test]
fn the_final_text_is_parsed_as_the_output() {
    let cases = [
        (Some("list[str]"), "[\"a\"]", Some(json!(["a"]))),
        (Some("list[str]"), "```json\n[\"a\"]\n```", Some(json!(["a"]))),
        (Some("list[str]"), "[1]", None),
        (Some("list[str]"), "here it is: [\"a\"]", None),
        (Some("Report"), "{\"title\": \"x\"}", Some(json!({"title": "x"}))),
        (Some("Report"), "words", None),
        (Some("str"), "words", Some(json!("words"))),
        (Some("str"), "\"words\"", Some(json!("words"))),
        (Some("str"), "42", Some(json!("42"))),
        (Some("int"), "42", Some(json!(42))),
        (Some("int"), "many", None),
        (None, "words", Some(json!("words"))),
        (None, "", None),
    ];
    for (of, text, expected) in cases {
        assert_eq!(function(&[], of).output_of(text).ok(), expected, "{of:?}: {text}");
    }
}
