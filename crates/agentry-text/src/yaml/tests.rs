//! YAML as a whole: trees with spans, syntax errors, limits, and that emitted text is read back unchanged.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::YamlVersion::{V1_1, V1_2};
use super::{YamlVersion, emit, parse};
use crate::data::Data;
use crate::diagnostic::Findings;
use crate::edit;
use crate::limits;
use crate::source::{FileId, SourceFile, position};
use crate::tree::{TreeNode, TreeValue};
use crate::tree_rules;

fn read(text: &str, version: YamlVersion) -> (SourceFile, TreeNode, Findings) {
    let source = SourceFile::new(FileId(0), "helper.agent", text);
    let mut findings = Findings::default();
    let node = parse(&source, 0..text.len(), version, &mut findings);
    (source, node, findings)
}

/// Returns the findings, one per line: `AG0051 2:1 message`.
fn shown_findings(text: &str, findings: &Findings) -> String {
    let mut lines = Vec::new();
    for found in findings.iter() {
        let at = position(text, found.span.start as usize);
        lines.push(format!("{} {}:{} {}", found.rule.code, at.line, at.column, found.message));
    }
    lines.join("\n")
}

/// Returns the tree, one value per line: its bytes, its type and its raw text.
fn drawn(source: &SourceFile, node: &TreeNode, depth: usize, out: &mut String) {
    let margin = "  ".repeat(depth);
    let range = node.span.range();
    let raw = source.slice(node.span);
    let plain = if node.plain { "plain " } else { "" };
    let _ = write!(out, "{margin}{}..{} {plain}", range.start, range.end);
    let _ = match &node.value {
        TreeValue::List(_) => writeln!(out, "list {raw:?}"),
        TreeValue::Map(_) => writeln!(out, "map {raw:?}"),
        value => writeln!(out, "{value:?} {raw:?}"),
    };
    match &node.value {
        TreeValue::List(items) => items.iter().for_each(|item| drawn(source, item, depth + 1, out)),
        TreeValue::Map(map) => {
            for entry in &map.entries {
                let key = &entry.key;
                let raw = source.slice(key.span);
                let _ = writeln!(out, "{margin}  key {:?} {raw:?} {:?}", key.text, key.other);
                drawn(source, &entry.value, depth + 1, out);
            }
        }
        _ => {}
    }
}

fn draw(text: &str) -> String {
    let (source, node, findings) = read(text, V1_1);
    let mut out = String::new();
    drawn(&source, &node, 0, &mut out);
    out + &shown_findings(text, &findings)
}

#[test]
fn block_style_values_have_exact_spans() {
    let text = "a: é \"x\" # c\n\"k\": \"v\" # \"q\"\nl:\n- 1\n-\n- - x\n  - y\nlit: |\n  foo\n\n  bar\n\nend: >-\n  z\n\n# c\n";
    insta::assert_snapshot!(draw(text));
}

/// A fix replaces the bytes of a value, so an anchor or a tag before it is not part of them.
#[test]
fn anchors_and_tags_are_not_part_of_a_value() {
    let cases = [
        ("a: &v \"0.1\"\nb: 2\n", "\"0.1\""),
        ("a: !!str \"0.1\"\nb: 2\n", "\"0.1\""),
        ("a: &v 0.1\nb: *v\n", "0.1"),
        ("a: &v !!str 'x'\nb: 2\n", "'x'"),
    ];
    for (text, expected) in cases {
        let (source, node, _) = read(text, YamlVersion::V1_2);
        let TreeValue::Map(map) = &node.value else { panic!("{text}") };
        let first = map.entries.first().expect("a first entry");
        assert_eq!(source.slice(first.value.span), expected, "{text}");
    }
    let (_, node, _) = read("&k icn: 1\n!!int \"3\": 2\n", YamlVersion::V1_2);
    let TreeValue::Map(map) = &node.value else { panic!("no map") };
    let keys: Vec<_> = map.entries.iter().map(|entry| entry.key.text.as_str()).collect();
    assert_eq!(keys, ["icn", "\"3\""]);
}

#[test]
fn flow_style_values_have_exact_spans() {
    insta::assert_snapshot!(draw("m: {a: 1, \"b\": [x, 'y'], c}\nn: [\n  p: q, ? r : s\n]\n"));
}

#[test]
fn anchors_tags_and_merge_keys_are_followed() {
    insta::assert_snapshot!(draw(
        "base: &b {p: 1, q: 2}\nown:\n  <<: *b\n  q: 3\nall: *b\nmany:\n  <<: [{r: 1, s: 1}, {r: 2}]\ntext: !!str 12\nempty: !!null\n"
    ));
}

#[test]
fn keys_need_not_be_strings() {
    insta::assert_snapshot!(draw("on: 1\n12: 2\n2024-02-29: 3\n~: 4\n? k\n: v\n"));
}

#[test]
fn front_matter_findings_point_into_the_file() {
    let text = "---\nname: é\ndescription: a: b\n---\n# Body\n";
    let source = SourceFile::new(FileId(0), "helper.agent.md", text);
    let mut findings = Findings::default();
    let node = parse(&source, 4..30, V1_2, &mut findings);
    assert_eq!(source.slice(node.as_map().unwrap().get("name").unwrap().span), "é");
    assert_eq!(
        shown_findings(text, &findings),
        "AG0051 3:15 `: ` cannot stand in a value without quotes"
    );
}

#[test]
fn empty_documents_are_null() {
    for text in ["", "\n", "# c\n", "---\n", "~", "---\n...\n", "  "] {
        for version in [V1_1, V1_2] {
            let (_, node, findings) = read(text, version);
            assert_eq!((node.value, findings.is_empty()), (TreeValue::Null, true), "{text:?}");
        }
    }
}

/// Texts that are refused, with the finding.
const REFUSED: &[(&str, &str)] = &[
    ("a: b: c\n", "AG0051 1:5 `: ` cannot stand in a value without quotes"),
    ("a: b\n  c: d\n", "AG0051 2:4 `:` is not expected here"),
    ("a: @b\n", "AG0051 1:4 a value cannot start with `@` without quotes"),
    ("a: `b`\n", "AG0051 1:4 a value cannot start with a backtick without quotes"),
    ("a: %b\n", "AG0051 1:4 a value cannot start with `%` without quotes"),
    ("a: * * *\n", "AG0051 1:4 a value cannot start with `*` without quotes"),
    ("a: */5 *\n", "AG0051 1:4 a value cannot start with `*` without quotes"),
    ("a: *\n", "AG0051 1:4 a value cannot start with `*` without quotes"),
    ("a: **/*.py,**/*.rs\n", "AG0051 1:4 a value cannot start with `*` without quotes"),
    ("%b\na: c\n", "AG0051 1:1 a line that starts with `%` is a directive of YAML"),
    ("a: b\n%c: d\n", "AG0051 2:1 a line that starts with `%` is a directive of YAML"),
    ("a:\n\tb: c\n", "AG0051 2:1 a tab cannot be used as indentation"),
    ("a:\n  b: c\n\td: e\n", "AG0051 3:1 a tab cannot be used as indentation"),
    ("a: b\t\n", "AG0051 1:5 a tab cannot stand between values"),
    ("a: [b,\tc]\n", "AG0051 1:7 a tab cannot stand between values"),
    ("a: [b, c\n", "AG0051 1:4 the `[` is never closed"),
    ("a: [b, c\nd: e\n", "AG0051 1:4 the `[` is never closed"),
    ("a: {b: c\nd: e\n", "AG0051 1:4 the `{` is never closed"),
    ("a: [b, , c]\n", "AG0051 1:8 there is no value before this `,`"),
    ("a: {b: c} d\n", "AG0051 1:11 there is text after the end of the value"),
    ("a: ]\n", "AG0051 1:4 `]` is not expected here"),
    ("a: [what?]\n", "AG0051 1:9 `?` cannot stand between brackets without quotes"),
    ("a: [|b]\n", "AG0051 1:5 `|` cannot stand between brackets without quotes"),
    ("a: \"b\nc: d\n", "AG0051 1:4 the quote is never closed"),
    ("a: 'it's'\n", "AG0051 1:8 there is text after the closing quote"),
    ("a: \"C:\\d\"\n", "AG0051 1:7 `\\d` is not an escape sequence"),
    ("a: \"\\ud800\"\n", "AG0051 1:5 `\\ud800` is one half of a character"),
    ("a: \"\\ud83d\\ude80\\ude80\"\n", "AG0051 1:17 `\\ude80` is one half of a character"),
    ("a:\n    b: c\n  d: e\n", "AG0051 3:3 the line is not indented like the lines it belongs to"),
    ("a:\n  - b\n - c\n", "AG0051 3:2 the line is not indented like the lines it belongs to"),
    ("a: - b\n", "AG0051 1:4 a list cannot start in the line of its key"),
    ("a: x\nfoo\nb: y\n", "AG0051 2:1 the line has no `:` after its key"),
    ("a: |x\n  b\n", "AG0051 1:4 nothing but `-`, `+` or a number may follow `|` or `>`"),
    (": a\n", "AG0051 1:1 there is no key before this `:`"),
    ("a: *b\n", "AG0051 1:4 no anchor is called `b`"),
    ("a: &b [*b]\n", "AG0051 1:8 the alias stands inside of its own anchor"),
    ("a: &b 1\nc: &b 2\n", "AG0051 2:4 the anchor `&b` is here twice"),
    ("a: &b.c 1\n", "AG0051 1:4 `b.c` is not a name for an anchor"),
    ("a: \u{7}\n", "AG0051 1:4 the character U+0007 cannot stand in YAML"),
    ("[a]: b\n", "AG0051 1:1 a list cannot be a key"),
    ("a: {{ b }}\n", "AG0051 1:5 a map cannot be a key"),
    ("a: 2023-02-29\n", "AG0051 1:4 `2023-02-29` is not a date that exists"),
    ("a: =\n", "AG0051 1:4 `=` has a meaning of its own and is not a value"),
    ("<<: 3\n", "AG0051 1:5 `<<` takes a map or a list of maps, not a whole number"),
    ("a: 1\n---\nb: 2\n", "AG0052 2:1 a second document starts here"),
    ("a: 1\n...\nb: 2\n", "AG0052 3:1 a second document starts here"),
    ("a: 1\nb: 2\na: 3\n", "AG0053 3:1 the key `a` is here twice"),
    ("1: a\ntrue: b\n", "AG0053 2:1 the key `true` is here twice"),
    (
        "a: !!python/name:os.system x\n",
        "AG0054 1:4 the tag `!!python/name:os.system` is not known here",
    ),
    ("a: !mine [b]\n", "AG0054 1:4 the tag `!mine` is not known here"),
    ("a: !!int b\n", "AG0054 1:4 the tag `!!int` does not fit this value"),
    ("a: !!seq {b: c}\n", "AG0054 1:4 the tag `!!seq` does not fit a map"),
    ("a: !e!x b\n", "AG0054 1:4 the tag `!e!x` is not known here"),
];

#[test]
fn syntax_errors_are_reported_at_their_position() {
    for (text, expected) in REFUSED {
        let (_, _, findings) = read(text, V1_1);
        assert_eq!(shown_findings(text, &findings), *expected, "{text:?}");
    }
}

#[test]
fn yaml_1_2_requires_more_spaces() {
    let cases = [
        ("a: {b:[c]}\n", "AG0051 1:6 `:` needs a space after it"),
        ("a: \"b\"#c\n", "AG0051 1:7 `#` starts a comment only after a space"),
    ];
    for (text, expected) in cases {
        let (_, _, findings) = read(text, V1_2);
        assert_eq!(shown_findings(text, &findings), expected, "{text:?}");
    }
}

#[test]
fn values_before_a_syntax_error_are_kept() {
    let cases = [
        ("a: 1\nb: c: d\n", r#"{"a":1}"#),
        ("a: 1\nb: @c\n", r#"{"a":1}"#),
        ("a: [1, 2\n", r#"{"a":[1,2]}"#),
        ("a: 1\n---\nb: 2\n", r#"{"a":1}"#),
        ("a: !mine {b: c}\nd: 1\n", r#"{"a":null,"d":1}"#),
        ("a: 1\na: 2\n", r#"{"a":2}"#),
        ("a: b\u{0}c\n", r#"{"a":"b"}"#),
    ];
    for (text, expected) in cases {
        let (_, node, findings) = read(text, V1_2);
        assert_eq!(node.to_data().to_json().to_string(), expected, "{text:?}");
        assert!(findings.has_errors(), "{text:?}");
    }
}

#[test]
fn fixes_quote_values_that_need_it() {
    let cases = [
        ("a: Foo: it's # c\nb: 1\n", "a: 'Foo: it''s' # c\nb: 1\n"),
        ("- a: b: c\n", "- a: 'b: c'\n"),
        ("a: @b c\n", "a: '@b c'\n"),
        ("a: `b` # c\n", "a: '`b`' # c\n"),
        ("a: b: c\n  d\n", "a: b: c\n  d\n"),
        ("a: [b] c: 1 # d\n", "a: '[b] c: 1' # d\n"),
        ("- a: {b} it's\n", "- a: '{b} it''s'\n"),
        ("a: \"b\" c\n", "a: \"b\" c\n"),
        ("a: **/*.rs # c\n", "a: '**/*.rs' # c\n"),
        ("a: *\n", "a: '*'\n"),
        ("a: [b] c\n  d\n", "a: [b] c\n  d\n"),
        ("a: {b: [c] d}\n", "a: {b: [c] d}\n"),
        ("a: [@b]\n", "a: [@b]\n"),
        ("@a: b\n", "@a: b\n"),
    ];
    for (text, expected) in cases {
        let (_, _, findings) = read(text, V1_2);
        let fixes = findings.iter().filter_map(|found| found.fix.as_ref());
        let (mended, applied) = edit::apply(text, fixes);
        assert_eq!(mended, expected, "{text:?}");
        let clean = read(&mended, V1_2).2.is_empty();
        assert_eq!(clean, !applied.is_empty(), "{text:?}");
    }
}

/// Values of `PyYAML` 6.0.3 that YAML 1.2 or `saphyr` alone would read differently.
#[test]
fn yaml_1_1_values_match_pyyaml() {
    let cases = [
        ("[yes, 017, 12:30, 1_000, 1e3]", "[true,15,750,1000,\"1e3\"]"),
        ("a: [\n  b\n]\n", r#"{"a":["b"]}"#),
        ("a: {\n\"b\": c\n}\n", r#"{"a":{"b":"c"}}"#),
        ("a: \"b\nc\"\n", r#"{"a":"b c"}"#),
        ("a: |\n  b", r#"{"a":"b"}"#),
        ("a: >\n", r#"{"a":""}"#),
        ("a: |+\n  b\n\n", r#"{"a":"b\n\n"}"#),
        ("a: |\n  b\n  ", r#"{"a":"b\n"}"#),
        ("{\"a\":1,b: [c: d]}", r#"{"a":1,"b":[{"c":"d"}]}"#),
        ("{a:1}", r#"{"a:1":null}"#),
        ("a: ! \"12\"\n", r#"{"a":12}"#),
        ("a: 2024-02-29 12:30:45\n", r#"{"a":"2024-02-29T12:30:45"}"#),
        ("=: 1\n", r#"{"=":1}"#),
        ("\"<<\": 1\n", r#"{"<<":1}"#),
        ("x: &x {a: 1}\ny: {<<: *x, a: 2, b: 3}\n", r#"{"x":{"a":1},"y":{"a":2,"b":3}}"#),
    ];
    for (text, expected) in cases {
        let (_, node, findings) = read(text, V1_1);
        assert_eq!(shown_findings(text, &findings), "", "{text:?}");
        assert_eq!(node.to_data().to_json().to_string(), expected, "{text:?}");
    }
}

#[test]
fn every_rule_matches_its_examples() {
    for rule in super::RULES.iter().chain(tree_rules::RULES) {
        for (example, expected) in [(rule.bad, rule.code), (rule.good, "")] {
            for (_, bytes) in example.files() {
                let text = String::from_utf8(bytes).unwrap();
                let (_, _, findings) = read(&text, V1_1);
                let codes: Vec<_> = findings.iter().map(|found| found.rule.code).collect();
                assert_eq!(codes.join(" "), expected, "{}", rule.name);
            }
        }
    }
}

#[test]
fn yaml_bombs_are_bounded() {
    let deep = |open: &str, count: usize| open.repeat(count);
    let mut laughs = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (name, last) in "bcdefghi".chars().zip("abcdefgh".chars()) {
        let nine = vec![format!("*{last}"); 9].join(", ");
        let _ = writeln!(laughs, "{name}: &{name} [{nine}]");
    }
    let mut ladder = String::from("a0: &a0 [1]\n");
    for step in 1..=100 {
        let _ = writeln!(ladder, "a{step}: &a{step} [*a{}]", step - 1);
    }
    let long = format!("a: &a {}\nb:\n{}", "x".repeat(200_000), "- *a\n".repeat(9000));
    let cases = [
        (deep("[", 10_000), "AG0055"),
        (deep("- ", 10_000), "AG0055"),
        (deep("{a: ", 10_000), "AG0055"),
        (format!("{}{}", deep("[", 65), deep("]", 65)), "AG0055"),
        (ladder, "AG0055"),
        (laughs, "AG0056"),
        (long, "AG0056"),
        ("- 1\n".repeat(limits::NODES + 1), "AG0056"),
        (format!("[{}", "1,".repeat(400_000)), "AG0056"),
        (format!("{}{}", deep("[", 200), "1,".repeat(400_000)), "AG0056"),
    ];
    for (text, code) in cases {
        let (_, _, findings) = read(&text, V1_1);
        assert!(findings.iter().any(|found| found.rule.code == code), "{code} {text:.20}");
    }
    let most = "- 1\n".repeat(limits::NODES - 1);
    assert!(read(&most, V1_1).2.is_empty());
    let deepest = format!("{}{}", deep("[", limits::DEPTH), deep("]", limits::DEPTH));
    assert!(read(&deepest, V1_1).2.is_empty());
}

#[test]
fn written_yaml_is_portable() {
    let data = Data::Map(vec![
        ("name".to_owned(), Data::str("helper")),
        ("on".to_owned(), Data::str("yes")),
        ("version".to_owned(), Data::str("1.0")),
        ("url".to_owned(), Data::str("https://example.org/a#b")),
        ("note".to_owned(), Data::str("a: b # c")),
        ("tags".to_owned(), Data::strings(["a", "b c", "d, e", "-x", "--long"])),
        ("empty".to_owned(), Data::List(Vec::new())),
        ("none".to_owned(), Data::Map(Vec::new())),
        ("text".to_owned(), Data::str("one\n\n  two\n")),
        ("bare".to_owned(), Data::str("one\ntwo")),
        ("more".to_owned(), Data::str("  one\ntwo\n\n")),
        ("odd".to_owned(), Data::str("one \ntwo\u{202e}\t\u{1}")),
        (
            "list".to_owned(),
            Data::List(vec![
                Data::Map(vec![
                    ("a".to_owned(), Data::Int(1)),
                    ("b".to_owned(), Data::List(vec![Data::Map(Vec::new())])),
                ]),
                Data::List(vec![Data::str("x\ny\n"), Data::Null]),
            ]),
        ),
        (
            "numbers".to_owned(),
            Data::List(
                [
                    1.0,
                    1e20,
                    1e-7,
                    -0.0,
                    0.1,
                    1e15,
                    1e16,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                    f64::NAN,
                ]
                .map(Data::Float)
                .to_vec(),
            ),
        ),
        ("call".to_owned(), Data::Call("env".to_owned(), vec![Data::str("X")])),
    ]);
    insta::assert_snapshot!(emit(&data));
}

#[test]
fn a_dash_before_a_bracket_is_quoted() {
    let cases = [("a -", "\"a -\""), ("a-", "a-"), ("a - b", "a - b"), ("-", "\"-\"")];
    for (text, expected) in cases {
        let data = Data::Map(vec![("key".to_owned(), Data::strings([text]))]);
        assert_eq!(emit(&data), format!("key: [{expected}]\n"), "{text}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let odd = "[ \\n\\t\\r:#'\"\\\\\\-?,{}&*!|>%@`~=<.0-9a-eEtTyYnNoO_+\u{0}\u{7f}\u{85}\u{2028}\u{feff}\u{202e}\u{ffff}é\u{1f680}]{0,12}";
    prop_oneof![
        any::<String>(),
        odd,
        "[a-z ]{0,20}(\n[a-z ]{0,20}){0,4}",
        "[0-9:._+eE-]{1,8}",
        "[a-z]{500,1200}"
    ]
}

fn any_data() -> impl Strategy<Value = Data> {
    let leaf = prop_oneof![
        Just(Data::Null),
        any::<bool>().prop_map(Data::Bool),
        any::<i64>().prop_map(Data::Int),
        any::<i128>().prop_map(|value| match i64::try_from(value) {
            Ok(value) => Data::Int(value),
            Err(_) => Data::Big(value.into()),
        }),
        any::<f64>().prop_filter("equal to itself", |value| !value.is_nan()).prop_map(Data::Float),
        any_text().prop_map(Data::Str),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let map = prop::collection::btree_map(any_text(), inner.clone(), 0..5);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Data::List),
            map.prop_map(|map| Data::Map(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_yaml_reads_back(data in any_data()) {
        let text = emit(&data);
        for version in [V1_1, V1_2] {
            let (_, node, findings) = read(&text, version);
            prop_assert_eq!(shown_findings(&text, &findings), "", "{}", text);
            prop_assert_eq!(node.to_data(), data.clone(), "{}", text);
        }
    }

    #[test]
    fn any_bytes_are_parsed_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let text = String::from_utf8_lossy(&bytes);
        read(&text, V1_1);
        read(&text, V1_2);
    }

    #[test]
    fn spans_of_odd_text_stay_within_it(
        text in "([ \n\t:#'\"\\\\?,\\[\\]{}&*!|>%@`~=<a1é-]|- |: |\n  |<<: |&a |\\*a|---\n|!!str ){0,40}"
    ) {
        for version in [V1_1, V1_2] {
            let (source, node, findings) = read(&text, version);
            prop_assert!(text.get(node.span.range()).is_some());
            for found in findings.iter() {
                prop_assert!(text.get(found.span.range()).is_some(), "{}", found.message);
            }
            prop_assert!(within(&source, &node), "{:?}", node);
        }
    }
}

/// Checks that every span is inside the text, and inside its parent unless an alias or merge key
/// put it there.
fn within(source: &SourceFile, node: &TreeNode) -> bool {
    let fits = |inner: &TreeNode| {
        let inside = node.span.start <= inner.span.start && inner.span.end <= node.span.end;
        (inside || source.text.contains('*') || source.text.contains("<<")) && within(source, inner)
    };
    source.text.get(node.span.range()).is_some()
        && match &node.value {
            TreeValue::List(items) => items.iter().all(fits),
            TreeValue::Map(map) => map.entries.iter().all(|entry| fits(&entry.value)),
            _ => true,
        }
}
