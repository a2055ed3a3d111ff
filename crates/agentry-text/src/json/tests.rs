use num_bigint::BigInt;
use proptest::prelude::*;

use super::{JsonDialect, RULES, emit, parse, parse_as};
use crate::data::Data;
use crate::limits;
use crate::probe::{check_examples, maps, probe, scalars, soup};

#[test]
fn values_keep_their_spans() {
    let cases: [(&str, &str, &[&str]); 7] = [
        (
            r#"{"a": [1, -2.5e1], "b": {"c": null}}"#,
            r#"{"a":[1,-25.0],"b":{"c":null}}"#,
            &[r#"/"a"/0: 1"#, r#"/"a"/1: -2.5e1"#, r#"/"b"/"c": null"#],
        ),
        ("\n \"é\\n\" \n", r#""é\n""#, &[r#": "é\n""#]),
        (r#""\ud83d\ude80\u00e9\/\b""#, "\"🚀é/\\b\"", &[r#": "\ud83d\ude80\u00e9\/\b""#]),
        ("true", "true", &[": true"]),
        ("[]", "[]", &[]),
        ("9223372036854775808", "9223372036854775808", &[": 9223372036854775808"]),
        ("-0", "0", &[": -0"]),
    ];
    for (text, json, raw) in cases {
        let seen = probe(parse, text);
        assert_eq!(seen.problems(), [""; 0], "{text}");
        assert_eq!(seen.json(), json, "{text}");
        assert_eq!(seen.raw(), raw, "{text}");
    }
}

#[test]
fn syntax_errors_are_reported_and_the_rest_is_parsed() {
    let cases: [(&str, &[&str], &str); 27] = [
        ("", &["1:1 there is no value"], "null"),
        ("{\"a\": 1,}", &["1:8 a comma after the last value"], r#"{"a":1}"#),
        ("[1, 2,\n]", &["1:6 a comma after the last value"], "[1,2]"),
        ("[1 2]", &["1:3 no comma between two values"], "[1,2]"),
        ("{\"a\": 1 \"b\": 2}", &["1:8 no comma between two values"], r#"{"a":1,"b":2}"#),
        ("{\"a\" 1}", &["1:5 no `:` after the key `a`"], r#"{"a":1}"#),
        ("{\"a\": , \"b\": 2}", &["1:2 `a` has no value"], r#"{"b":2}"#),
        ("{\"a\"}", &["1:2 `a` has no value"], "{}"),
        ("{a: 1}", &["1:2 the key `a` needs double quotes"], r#"{"a":1}"#),
        (
            "{'a': 'b'}",
            &["1:2 JSON strings have double quotes", "1:7 JSON strings have double quotes"],
            r#"{"a":"b"}"#,
        ),
        ("// x\n[1 /* y */]", &["1:1 JSON has no comments", "2:4 JSON has no comments"], "[1]"),
        ("{\"a\": 1", &["1:1 `{` is never closed"], r#"{"a":1}"#),
        ("{\"a\": [1, 2}", &["1:7 `[` is never closed"], r#"{"a":[1,2]}"#),
        ("[1]]", &["1:4 `]` after the end of the document"], "[1]"),
        ("[1}]", &["1:3 `}` closes nothing"], "[1]"),
        (
            "{\"a\": \"b\n, \"c\": 1}",
            &["1:7 the string is not closed on its line"],
            r#"{"a":"b","c":1}"#,
        ),
        (
            "{\"a\": \"b,\n \"c\": 1}",
            &["1:7 the string is not closed on its line"],
            r#"{"a":"b,","c":1}"#,
        ),
        ("[\"a\tb\"]", &["1:4 the string holds a raw control character"], r#"["a\tb"]"#),
        (r#"["\x"]"#, &["1:3 `\\x` is not an escape of JSON"], r#"["x"]"#),
        (
            r#"["\ud800", "\udc00x"]"#,
            &[
                "1:3 `\\ud800` is half of a surrogate pair",
                "1:13 `\\udc00` is half of a surrogate pair",
            ],
            "[\"\u{fffd}\",\"\u{fffd}x\"]",
        ),
        (r#"["\u12"]"#, &["1:3 `\\u12` does not have four hexadecimal digits"], "[\"\u{fffd}\"]"),
        (
            "[+1, .5, 0x10, 007, 1e999]",
            &[
                "1:2 `+1` is not a number of JSON",
                "1:6 `.5` is not a number of JSON",
                "1:10 `0x10` is not a number of JSON",
                "1:16 `007` is not a number of JSON",
                "1:21 `1e999` is not a number of JSON",
            ],
            r#"[1,0.5,16,7,"1e999"]"#,
        ),
        (
            "[True, yes]",
            &["1:2 `True` needs double quotes", "1:8 `yes` needs double quotes"],
            r#"["True","yes"]"#,
        ),
        ("{\"a\": 1, \"b\": 2, \"a\": 3}", &["1:18 the key `a` is here twice"], r#"{"a":3,"b":2}"#),
        ("[1, @@ 2]", &["1:5 `@@` has no meaning in JSON"], "[1,2]"),
        ("[,1]", &["1:2 `,` where a value should be"], "[1]"),
        (
            "{,\"a\": 1, [2], \"b\": 3}",
            &[
                "1:2 `,` where a key should be",
                "1:11 `[` where a key should be",
                "1:14 `,` where a key should be",
            ],
            r#"{"a":1,"b":3}"#,
        ),
    ];
    for (text, problems, json) in cases {
        let seen = probe(parse, text);
        assert_eq!(seen.problems(), problems, "{text}");
        assert_eq!(seen.json(), json, "{text}");
    }
}

#[test]
fn comments_and_last_commas_may_be_allowed() {
    let cases: [(&str, &[&str], &str); 3] = [
        ("{// why\n\"a\": [1, /* two */ 2,],}", &[], r#"{"a":[1,2]}"#),
        ("{\"a\": 1, // one\n\"a\": 2,}", &["2:1 the key `a` is here twice"], r#"{"a":2}"#),
        ("{\"a\": 1 \"b\": 2,}", &["1:8 no comma between two values"], r#"{"a":1,"b":2}"#),
    ];
    for (text, problems, json) in cases {
        let seen = probe(|source, findings| parse_as(source, JsonDialect::Relaxed, findings), text);
        assert_eq!(seen.problems(), problems, "{text}");
        assert_eq!(seen.json(), json, "{text}");
    }
}

#[test]
fn safe_fixes_repair_the_text() {
    let text = "{\"a\": [1, 2,],}";
    let fixed = probe(parse, text).fixed();
    assert_eq!(fixed, "{\"a\": [1, 2]}");
    assert_eq!(probe(parse, &fixed).problems(), [""; 0]);
}

/// A quote that was not escaped looks like missing commas and colons, so no safe fix may guess.
#[test]
fn ambiguous_mistakes_have_no_safe_fix() {
    for text in ["{\"a\": \"say \"hi\" now\"}", "{\"a\": \"b\nc\", \"d\": 1}", "{a: 1 'b' 2}"] {
        assert_eq!(probe(parse, text).fixed(), text);
    }
}

#[test]
fn depth_and_size_are_limited() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let list = |length: usize| format!("[{}1]", "1,".repeat(length - 1));
    let cases = [
        (nested(limits::DEPTH), vec![]),
        (nested(limits::DEPTH + 1), vec!["1:65 this is nested more than 64 deep".to_owned()]),
        (nested(10_000), vec!["1:65 this is nested more than 64 deep".to_owned()]),
        (list(limits::NODES - 1), vec![]),
        (list(limits::NODES), vec!["1:40000 the document has more than 20000 values".to_owned()]),
        (
            format!("[{}]", "9".repeat(1001)),
            vec![format!("1:2 `{}…` is not a number of JSON", "9".repeat(40))],
        ),
    ];
    for (text, problems) in cases {
        assert_eq!(probe(parse, &text).problems(), problems, "{text:.20}");
    }
    for text in ["[", "@ ", "\"", "{\"a\":", "[,", "1 ", "}", "/*", "//\n", "{1", "\\u"] {
        let seen = probe(parse, &text.repeat((1 << 18) / text.len()));
        assert!(seen.findings.iter().count() <= 101, "{text}");
    }
}

#[test]
fn data_is_written_readably() {
    let data = Data::Map(vec![
        ("name".to_owned(), Data::str("helper")),
        ("tags".to_owned(), Data::strings(["a"])),
        ("none".to_owned(), Data::List(vec![])),
    ]);
    let text = "{\n  \"name\": \"helper\",\n  \"tags\": [\n    \"a\"\n  ],\n  \"none\": []\n}\n";
    assert_eq!(emit(&data), text);
}

#[test]
fn every_rule_matches_its_examples() {
    check_examples(parse, RULES, "json");
}

proptest! {
    #[test]
    fn written_data_reads_back(data in maps(with_null_and_big(), ".*")) {
        let seen = probe(parse, &emit(&data));
        prop_assert_eq!(seen.problems(), Vec::<String>::new());
        prop_assert_eq!(seen.node.to_data(), data);
    }

    #[test]
    fn any_text_is_parsed_without_a_panic(text in prop_oneof![any::<String>(), soup()]) {
        probe(parse, &text);
    }
}

fn with_null_and_big() -> BoxedStrategy<Data> {
    let big = any::<u64>().prop_map(|more| Data::Big(BigInt::from(i64::MAX) + 1 + more));
    prop_oneof![Just(Data::Null), big, scalars()].boxed()
}
