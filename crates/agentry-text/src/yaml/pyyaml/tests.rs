//! Cases in which YAML readers differ. `PyYAML` 6.0.3 gave these values, and refuses what is refused here.

use crate::diagnostic::Findings;
use crate::source::{FileId, SourceFile};
use crate::tree_rules::DUPLICATE_KEY;
use crate::yaml::{YAML_RARE_TAG, YamlVersion, parse};

/// Returns the value as JSON, or the first finding that makes the value unreliable.
fn read(text: &str) -> Result<String, String> {
    let source = SourceFile::new(FileId(0), "x.agent", text);
    let mut findings = Findings::default();
    let node = parse(&source, 0..text.len(), YamlVersion::V1_1, &mut findings);
    let harmless = [&DUPLICATE_KEY, &YAML_RARE_TAG];
    match findings.iter().find(|found| !harmless.contains(&found.rule)) {
        Some(found) => Err(found.message.clone()),
        None => Ok(node.to_data().to_json().to_string()),
    }
}

#[test]
fn values_match_pyyaml() {
    let cases = [
        ("a: [b, -, c]", r#"{"a":["b","-","c"]}"#),
        ("a: [nev -]", r#"{"a":["nev -"]}"#),
        ("a: {b:[c]}", r#"{"a":{"b":["c"]}}"#),
        ("a: {b: c:d}", r#"{"a":{"b":"c:d"}}"#),
        ("a: b\u{85}c: d", r#"{"a":"b","c":"d"}"#),
        ("a: b\u{2028} c", "{\"a\":\"b\u{2028}c\"}"),
        ("a: \"b\u{2029}c\"", "{\"a\":\"b\u{2029}c\"}"),
        ("a: |\n  b\u{2028}  c\n", "{\"a\":\"b\u{2028}c\\n\"}"),
        ("a: !!set {b}", r#"{"a":["b"]}"#),
        ("a: !!set {}", r#"{"a":[]}"#),
        ("a: !!omap [b: 1, c: 2]", r#"{"a":[["b",1],["c",2]]}"#),
        ("a: !!pairs\n- b: 1\n- b: 2\n", r#"{"a":[["b",1],["b",2]]}"#),
        ("a: !!binary aGk=", r#"{"a":"hi"}"#),
        ("a:\n    b: 1\nc: 2", r#"{"a":{"b":1},"c":2}"#),
        ("a:\n- b\n-   - c\n", r#"{"a":["b",["c"]]}"#),
        ("a: [\nb\n]\n", r#"{"a":["b"]}"#),
        ("a: 'b\nc'\n", r#"{"a":"b c"}"#),
        ("a: \"b\n\n c\\\n d\"", "{\"a\":\"b\\ncd\"}"),
        ("a: >\n b\n  c\n d\n\n\n", "{\"a\":\"b\\n c\\nd\\n\"}"),
        ("a: |+\n b\n\n", "{\"a\":\"b\\n\\n\"}"),
        ("a: |2\n   b\n", "{\"a\":\" b\\n\"}"),
        ("%YAML 1.1\n%TAG !e! tag:yaml.org,2002:\n---\na: !e!str 1\n", r#"{"a":"1"}"#),
        ("a: ! 12", r#"{"a":12}"#),
        ("a: \"\\ud83d\\ude80\"", r#"{"a":"🚀"}"#),
        ("? a\n? b\n", r#"{"a":null,"b":null}"#),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).as_deref(), Ok(expected), "{text:?}");
    }
}

#[test]
fn texts_refused_by_pyyaml_are_refused() {
    let long = format!("a: {{{}: 1}}", "k".repeat(1025));
    let cases = [
        "a: {:x: 1}",
        "a: [-b, - , c]",
        "? [a, b]",
        "a: {b\n: c}",
        "a: {\"b\"\n: c}",
        &long,
        "a: [? b\n: c]\nd: [b\n: c]",
        "a: !!set [b]",
        "a: !!set {b, c}",
        "a: !!omap {b: 1}",
        "a: !!pairs [{b: 1, c: 2}]",
        "a: \"\\ud83d\"",
        "a: b\n c: d",
        "a: [b, c",
        "a: 'b\n---\nc'",
        "a: !e!x b",
        "a: *b",
        "%YAML 2.0\n---\na: b",
        "a: b\n...\nc: d\n",
    ];
    for text in cases {
        let short: String = text.chars().take(40).collect();
        assert!(read(text).is_err(), "{short:?} is read as {:?}", read(text));
    }
    let fits = format!("a: {{{}: 1}}", "k".repeat(1024));
    assert!(read(&fits).is_ok(), "a key may have up to 1,024 characters");
}
