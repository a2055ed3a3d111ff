use proptest::prelude::*;

use super::{RULES, emit, parse};
use crate::data::Data;
use crate::limits;
use crate::probe::{check_examples, maps, probe, scalars, sorted, soup};
use crate::tree::TreeValue;

#[test]
fn values_keep_their_spans() {
    let cases: [(&str, &str, &[&str]); 8] = [
        ("b = 'x'\na = \"y\" # no\n", r#"{"b":"x","a":"y"}"#, &["/b: 'x'", "/a: \"y\""]),
        (
            "[z]\nb.c = 1\n[[z.l]]\nx = 1\n[[z.l]]\nx = 2\n[a]\n",
            r#"{"z":{"b":{"c":1},"l":[{"x":1},{"x":2}]},"a":{}}"#,
            &["/z/b/c: 1", "/z/l/0/x: 1", "/z/l/1/x: 2"],
        ),
        (
            "a = [1_000, 0xff, -2.5e1, true]",
            r#"{"a":[1000,255,-25.0,true]}"#,
            &["/a/0: 1_000", "/a/1: 0xff", "/a/2: -2.5e1", "/a/3: true"],
        ),
        ("a = 99999999999999999999", r#"{"a":1e+20}"#, &["/a: 99999999999999999999"]),
        ("a = { b = 1, }", r#"{"a":{"b":1}}"#, &["/a/b: 1"]),
        ("'x y'.\"z\" = 1", r#"{"x y":{"z":1}}"#, &["/'x y'/\"z\": 1"]),
        ("a = \"\"\"\n  x\n\"\"\"", r#"{"a":"  x\n"}"#, &["/a: \"\"\"\n  x\n\"\"\""]),
        ("", "{}", &[]),
    ];
    for (text, json, raw) in cases {
        let seen = probe(parse, text);
        assert_eq!(seen.problems(), [""; 0], "{text}");
        assert_eq!(seen.json(), json, "{text}");
        assert_eq!(seen.raw(), raw, "{text}");
    }
}

#[test]
fn the_span_of_a_table_is_its_header() {
    let seen = probe(parse, "a = 1\n[b.c]\nd = 2\n");
    let b = seen.node.as_map().and_then(|map| map.entry("b")).unwrap();
    let c = b.value.as_map().and_then(|map| map.entry("c")).unwrap();
    let found = [b.key.span, c.key.span, c.value.span].map(|span| seen.source.slice(span));
    assert_eq!(found, ["b", "c", "[b.c]"]);
}

#[test]
fn dates_are_their_own_type() {
    for text in ["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z"] {
        let seen = probe(parse, &format!("a = {text}"));
        let value = seen.node.as_map().and_then(|map| map.get("a")).map(|node| &node.value);
        assert_eq!(value, Some(&TreeValue::Date(text.to_owned())), "{text}");
    }
}

#[test]
fn syntax_errors_are_reported_and_the_rest_is_parsed() {
    let cases: [(&str, &[&str], &str); 32] = [
        ("a", &["1:1 `a` has no value"], "{}"),
        ("a =\nb = 1", &["1:4 a value is missing"], r#"{"b":1}"#),
        ("a = b", &["1:5 `b` needs quotes"], r#"{"a":"b"}"#),
        ("a = [b, c]", &["1:6 `b` needs quotes", "1:9 `c` needs quotes"], r#"{"a":["b","c"]}"#),
        ("a = 'b", &["1:7 the string is not closed"], r#"{"a":"b"}"#),
        ("a = \"b\nc = 1", &["1:7 the string is not closed"], r#"{"a":"b","c":1}"#),
        ("a = \"\"\"b", &["1:9 the string is not closed"], r#"{"a":"b"}"#),
        ("a = [1, 2", &["1:10 the list is not closed"], r#"{"a":[1,2]}"#),
        ("a = {b = 1", &["1:11 the table is not closed"], r#"{"a":{"b":1}}"#),
        ("[a", &["1:3 the header is not closed"], r#"{"a":{}}"#),
        ("[a] b = 1", &["1:5 `b` follows on the same line"], r#"{"a":{}}"#),
        ("a = 1\na = 2", &["2:1 the key `a` is here twice"], r#"{"a":1}"#),
        ("[a]\nb=1\n[a]\nc=1", &["3:2 the key `a` is here twice"], r#"{"a":{"b":1,"c":1}}"#),
        ("a = 1\n[a.b]", &["2:2 `a` has a value already"], r#"{"a":1}"#),
        ("a = [1]\n[[a]]", &["2:3 the key `a` is here twice"], r#"{"a":[1]}"#),
        ("a = \"\\q\"", &["1:7 this is not an escape of TOML"], r#"{"a":"\\q"}"#),
        ("a = \"\\u12\"", &["1:10 the escape has too few digits"], "{\"a\":\"\u{fffd}\"}"),
        ("a = \"x\u{1}\"", &["1:7 the string holds a raw control character"], r#"{"a":"x\u0001"}"#),
        ("a = 1979-13-01", &["1:5 `1979-13-01` is no date of TOML"], r#"{"a":null}"#),
        ("a = 07", &["1:5 unexpected leading zero"], r#"{"a":null}"#),
        ("a = 1__0", &["1:6 `_` may only go between digits"], r#"{"a":10}"#),
        ("a = 1e999", &["1:5 `1e999` is too large"], r#"{"a":null}"#),
        ("a = 1\rb = 2", &["2:1 a carriage return without a line feed"], r#"{"a":1,"b":2}"#),
        ("é = 1", &["1:1 the key `é` needs quotes"], r#"{"é":1}"#),
        ("= 1", &["1:1 a key is missing"], "{}"),
        ("a == 1\nb = 2", &["1:4 `=` is written twice"], r#"{"b":2}"#),
        ("a = [1,,2]", &["1:8 extra comma in array"], r#"{"a":[1,2]}"#),
        ("a: 1\nb = 2", &["1:1 `a: 1` has no value"], r#"{"b":2}"#),
        ("a = True", &["1:5 `True` is no boolean of TOML"], r#"{"a":true}"#),
        ("}\na = 1", &["1:1 `}` where a key should be"], r#"{"a":1}"#),
        (
            "a = 1\n@@\nb = 2\nc\nb = 3",
            &["2:1 `@@` has no value", "4:1 `c` has no value", "5:1 the key `b` is here twice"],
            r#"{"a":1,"b":2}"#,
        ),
        (
            "a = {b = 1 c = 2}\nd = e",
            &["1:10 `1 c` needs quotes", "2:5 `e` needs quotes"],
            r#"{"a":{},"d":"e"}"#,
        ),
    ];
    for (text, problems, json) in cases {
        let seen = probe(parse, text);
        assert_eq!(seen.problems(), problems, "{text}");
        assert_eq!(seen.json(), json, "{text}");
    }
}

#[test]
fn depth_and_size_are_limited() {
    let deep = |column: usize| vec![format!("2:{column} this is nested more than 64 deep")];
    let keys = |depth: usize| vec!["k"; depth].join(".");
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let cases = [
        (format!("b = {}", nested(limits::DEPTH - 1)), vec![], "a b z"),
        (format!("b = {}", nested(limits::DEPTH)), deep(68), "a"),
        (format!("b = {}", nested(10_000)), deep(68), "a"),
        (format!("b = {}", "[".repeat(10_000)), deep(68), "a"),
        (format!("b = {}", "{x=".repeat(10_000)), deep(99), "a"),
        (format!("{} = 1", keys(limits::DEPTH)), vec![], "a k z"),
        (format!("{} = 1", keys(10_000)), deep(129), "a"),
        (format!("[{}]", keys(10_000)), deep(130), "a"),
        (format!("[[{}]]", keys(10_000)), deep(131), "a"),
        (format!("[{0}]\n{0} = {{{0} = 1}}", keys(20)), vec![], "a k"),
    ];
    for (more, problems, names) in cases {
        let seen = probe(parse, &format!("a = 1\n{more}\nz = 1\n"));
        let map = seen.node.as_map().unwrap();
        let found: Vec<_> = map.entries.iter().map(|entry| entry.key.text.as_str()).collect();
        assert_eq!(seen.problems(), problems, "{more:.20}");
        assert_eq!(found.join(" "), names, "{more:.20}");
    }
}

#[test]
fn huge_texts_are_parsed_within_limits() {
    let list = format!("a = [{}1]", "1,".repeat(limits::NODES));
    assert_eq!(probe(parse, &list).problems(), ["1:40004 the document has more than 20000 values"]);
    let big = format!("a = {}", "9".repeat(1001));
    let message = format!("1:5 `{}…` is too large", "9".repeat(40));
    assert_eq!(probe(parse, &big).problems(), [message]);
    for text in
        ["[", "@ ", "\"", "a\n", "a=\n", "a=1\n", "[[a]]\n", "a.", "{", "= ", "'\n", ",", "a = 1 ="]
    {
        let seen = probe(parse, &text.repeat((1 << 18) / text.len()));
        assert!(seen.findings.iter().count() <= 101, "{text}");
    }
}

#[test]
fn data_is_written_readably() {
    let map = |entries: &[(&str, Data)]| {
        Data::Map(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    };
    let bash = map(&[
        ("intent", Data::str("ask")),
        (
            "rules",
            Data::strings([
                "git status*:allow",
                "git log*:allow",
                "rm -rf *:deny",
                "ls *:allow",
                "cat *:ask",
            ]),
        ),
    ]);
    let data = map(&[
        ("name", Data::str("helper")),
        ("permissions", map(&[("bash", bash), ("edit", map(&[("intent", Data::str("deny"))]))])),
        ("path", Data::str("C:\\x")),
        ("text", Data::str("one\ntwo\n")),
        ("nothing", Data::Null),
        ("tags", Data::strings(["a", "b"])),
        ("odd key", Data::Float(1.0)),
        ("servers", Data::List(vec![map(&[("url", Data::str("x"))]), map(&[])])),
    ]);
    let text = r#"name = "helper"
path = 'C:\x'
text = """
one
two
"""
tags = ["a", "b"]
"odd key" = 1.0

[permissions.bash]
intent = "ask"
rules = [
    "git status*:allow",
    "git log*:allow",
    "rm -rf *:deny",
    "ls *:allow",
    "cat *:ask",
]

[permissions.edit]
intent = "deny"

[[servers]]
url = "x"

[[servers]]
"#;
    assert_eq!(emit(&data), text);
}

#[test]
fn every_rule_matches_its_examples() {
    check_examples(parse, RULES, "toml");
}

proptest! {
    #[test]
    fn written_data_reads_back(data in maps(scalars(), ".*")) {
        let seen = probe(parse, &emit(&data));
        prop_assert_eq!(seen.problems(), Vec::<String>::new());
        prop_assert_eq!(sorted(&seen.node.to_data()), sorted(&data));
    }

    #[test]
    fn any_text_is_parsed_without_a_panic(text in prop_oneof![any::<String>(), soup()]) {
        probe(parse, &text);
    }
}
