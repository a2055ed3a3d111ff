use proptest::prelude::*;

use super::{RULES, emit, parse};
use crate::data::Data;
use crate::limits;
use crate::probe::{check_examples, maps, probe, scalars, soup};
use crate::tree::TreeNode;

#[test]
fn values_keep_their_spans() {
    let cases: [(&str, &str, &[&str]); 13] = [
        ("a = 1\nb: 'x'", r#"{"a":1,"b":"x"}"#, &["/a: 1", "/b: 'x'"]),
        ("a = -2.5e1 b = +3", r#"{"a":-25.0,"b":3}"#, &["/a: -2.5e1", "/b: +3"]),
        ("a = 9223372036854775808", r#"{"a":9223372036854775808}"#, &["/a: 9223372036854775808"]),
        (
            "a = [true false, null, word,]",
            r#"{"a":[true,false,null,"word"]}"#,
            &["/a/0: true", "/a/1: false", "/a/2: null", "/a/3: word"],
        ),
        (
            "a = { b = 1, \"X-C\": 2 d = { } }",
            r#"{"a":{"b":1,"X-C":2,"d":{}}}"#,
            &["/a/b: 1", "/a/\"X-C\": 2"],
        ),
        ("a = env( \"X\" )", r#"{"a":"env(\"X\")"}"#, &["/a: env( \"X\" )"]),
        ("a = env(\"X\", [1])", r#"{"a":"env(\"X\", [1])"}"#, &["/a: env(\"X\", [1])"]),
        (r#"a = "é\n\t\"\\${x}""#, r#"{"a":"é\n\t\"\\${x}"}"#, &[r#"/a: "é\n\t\"\\${x}""#]),
        (r"a = 'it\'s C:\x'", r#"{"a":"it's C:\\x"}"#, &[r"/a: 'it\'s C:\x'"]),
        ("# x\n// y\na = 1 # z", r#"{"a":1}"#, &["/a: 1"]),
        (
            "memory { x = 1\n deep { y = 2 } }",
            r#"{"memory":{"x":1,"deep":{"y":2}}}"#,
            &["/memory/x: 1", "/memory/deep/y: 2"],
        ),
        (
            "p \"a\" {\n x = 1\n}\nq = 2\np 'b' \"c\" { y = 3 }\np \"b\" \"d\" {}",
            r#"{"p":{"a":{"x":1},"b":{"c":{"y":3},"d":{}}},"q":2}"#,
            &["/p/\"a\"/x: 1", "/p/'b'/\"c\"/y: 3", "/q: 2"],
        ),
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
fn labels_and_keys_are_distinguished() {
    let seen = probe(parse, "p \"a\" { m \"x\" { l = {} } }\nq { a = {} }\nr = {}");
    let labelled = |path: &[&str]| {
        let step =
            |node: &TreeNode, key: &&str| node.as_map().and_then(|map| map.get(key)).cloned();
        let node = path.iter().try_fold(seen.node.clone(), |node, key| step(&node, key));
        node.and_then(|node| node.as_map().map(|map| map.labelled))
    };
    let cases: [(&[&str], bool); 7] = [
        (&[], false),
        (&["p"], true),
        (&["p", "a"], false),
        (&["p", "a", "m"], true),
        (&["p", "a", "m", "x"], false),
        (&["q"], false),
        (&["r"], false),
    ];
    for (path, expected) in cases {
        assert_eq!(labelled(path), Some(expected), "{path:?}");
    }
}

#[test]
fn blocks_and_words_have_their_spans() {
    let seen = probe(parse, "p \"a\" { x = 1 }\np \"b\" { y = word }");
    let p = seen.node.as_map().and_then(|map| map.entry("p")).unwrap();
    let b = p.value.as_map().and_then(|map| map.entry("b")).unwrap();
    let y = b.value.as_map().and_then(|map| map.entry("y")).unwrap();
    let spans = [p.key.span, p.value.span, b.key.span, b.value.span, y.value.span];
    let found = spans.map(|span| seen.source.slice(span));
    let whole = "\"a\" { x = 1 }\np \"b\" { y = word }";
    assert_eq!(found, ["p", whole, "\"b\"", "{ y = word }", "word"]);
    assert!(y.value.plain);
}

#[test]
fn syntax_errors_are_reported_and_the_rest_is_parsed() {
    let cases: [(&str, &[&str], &str); 34] = [
        ("a 10", &["1:1 no `=` after `a`"], r#"{"a":10}"#),
        ("a \"x\"\nb = 1", &["1:1 no `=` after `a`"], r#"{"a":"x","b":1}"#),
        ("a b c = 1", &["1:1 no `=` after `a`"], r#"{"a":"b","c":1}"#),
        ("a \"x\" b = 1", &["1:1 no `=` after `a`"], r#"{"a":"x","b":1}"#),
        ("a b = 1", &["1:1 `a` has no value"], r#"{"b":1}"#),
        ("a\nb = 1", &["1:1 `a` has no value"], r#"{"b":1}"#),
        ("a =\nb = 1", &["1:1 `a` has no value"], r#"{"b":1}"#),
        ("a =", &["1:1 `a` has no value"], "{}"),
        ("b { a = }\nc = 1", &["1:5 `a` has no value"], r#"{"b":{},"c":1}"#),
        ("a \"x\" \"y\"\nb = 1", &["1:1 `a` has labels but no block"], r#"{"b":1}"#),
        ("a x { b = 1 }", &["1:3 the label `x` needs quotes"], r#"{"a":{"x":{"b":1}}}"#),
        ("a += 1", &["1:3 `+=` does not set a value"], r#"{"a":1}"#),
        ("\"a\" = 1\nb { \"c\" = 2 }", &["1:1 the name `a` has quotes"], r#"{"a":1,"b":{"c":2}}"#),
        ("a = 1, b = 2", &["1:6 `,` where a name should be"], r#"{"a":1,"b":2}"#),
        ("a = 1 2\nb = 3", &["1:7 `2` where a name should be"], r#"{"a":1,"b":3}"#),
        ("[x = 1]\nb = 3", &["1:1 `[` where a name should be"], r#"{"b":3}"#),
        ("} a = 1", &["1:1 `}` closes nothing"], r#"{"a":1}"#),
        ("a { b = 1", &["1:3 `{` is never closed"], r#"{"a":{"b":1}}"#),
        ("a = [1, 2\nb = 3", &["1:5 `[` is never closed"], r#"{"a":[1,2],"b":3}"#),
        ("a { b = [1 }\nc = 3", &["1:9 `[` is never closed"], r#"{"a":{"b":[1]},"c":3}"#),
        ("a = env(\"X\"\nc = 3", &["1:8 `(` is never closed"], r#"{"a":"env(\"X\")","c":3}"#),
        ("a = \"x\nb = 1", &["1:5 the string is not closed on its line"], r#"{"a":"x","b":1}"#),
        ("a = 'x", &["1:5 the string is not closed on its line"], r#"{"a":"x"}"#),
        (
            "a = \"\\d\\u1\"",
            &["1:6 `\\d` is not an escape of ACL", "1:8 `\\u` is not an escape of ACL"],
            r#"{"a":"\\d\\u1"}"#,
        ),
        ("a = 1.2.3", &["1:5 `1.2.3` is not a number"], r#"{"a":"1.2.3"}"#),
        ("a = 5x", &["1:5 `5x` is not a number"], r#"{"a":"5x"}"#),
        ("a = 1e999", &["1:5 `1e999` is not a number"], r#"{"a":"1e999"}"#),
        (
            "a = 1 ;\nb = @@ 2",
            &["1:7 `;` has no meaning in ACL", "2:5 `@@` has no meaning in ACL"],
            r#"{"a":1,"b":2}"#,
        ),
        ("a = 1 / x\nb = 2", &["1:7 `/` makes the rest of the line a comment"], r#"{"a":1,"b":2}"#),
        (
            "a-b = c.d",
            &["1:1 other readers take `a-b` apart", "1:7 other readers take `c.d` apart"],
            r#"{"a-b":"c.d"}"#,
        ),
        ("a = 1\nb = 2\na = 3", &["3:1 the key `a` is here twice"], r#"{"a":3,"b":2}"#),
        ("a { }\na { b = 1 }", &["2:1 the key `a` is here twice"], r#"{"a":{"b":1}}"#),
        (
            "a \"x\" { }\na \"x\" { b = 1 }",
            &["2:3 the key `x` is here twice"],
            r#"{"a":{"x":{"b":1}}}"#,
        ),
        ("a = 1\na \"x\" { }", &["2:1 the key `a` is here twice"], r#"{"a":{"x":{}}}"#),
    ];
    for (text, problems, json) in cases {
        let seen = probe(parse, text);
        assert_eq!(seen.problems(), problems, "{text}");
        assert_eq!(seen.json(), json, "{text}");
    }
}

#[test]
fn safe_fixes_repair_the_text() {
    let cases = [("a 10", "a = 10"), ("a \"x\"", "a = \"x\""), ("a x { }", "a \"x\" { }")];
    for (text, fixed) in cases {
        assert_eq!(probe(parse, text).fixed(), fixed, "{text}");
        assert_eq!(probe(parse, fixed).problems(), [""; 0], "{fixed}");
    }
}

#[test]
fn depth_and_size_are_limited() {
    let deep = |column: usize| vec![format!("1:{column} this is nested more than 64 deep")];
    let nested = |open: &str, close: &str, depth| open.repeat(depth) + &close.repeat(depth);
    let list = |length: usize| format!("a = [{}1]", "1 ".repeat(length - 1));
    let cases = [
        (format!("a = {}", nested("[", "]", limits::DEPTH - 1)), vec![]),
        (format!("a = {}", nested("[", "]", limits::DEPTH)), deep(68)),
        (format!("a = {}", nested("[", "]", 10_000)), deep(68)),
        (nested("a{", "}", limits::DEPTH - 1), vec![]),
        (nested("a{", "}", 10_000), deep(128)),
        (format!("a = {}", nested("f(", ")", 10_000)), deep(132)),
        (format!("a {} {{}}", "\"l\" ".repeat(limits::DEPTH - 2)), vec![]),
        (format!("a {}{{}}", "\"l\" ".repeat(10_000)), deep(40_003)),
        (list(limits::NODES - 1), vec![]),
        (list(limits::NODES), vec!["1:40004 the document has more than 20000 values".to_owned()]),
    ];
    for (text, problems) in cases {
        assert_eq!(probe(parse, &text).problems(), problems, "{text:.20}");
    }
    for text in ["[", "a{", "@ ", "\"", "a\n", "a=\n", "a \"l\"{}", "f(", "a \"b\"", "}", "/\n"] {
        let seen = probe(parse, &text.repeat((1 << 18) / text.len()));
        assert!(seen.findings.iter().count() <= 101, "{text}");
    }
}

#[test]
fn data_is_written_readably() {
    let map = |entries: &[(&str, Data)]| {
        Data::Map(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    };
    let limit = map(&[("context", Data::Int(128_000))]);
    let model = map(&[("limit", limit), ("reasoning", Data::Bool(true))]);
    let openai = map(&[
        ("api_key", Data::Call("env".to_owned(), vec![Data::str("OPENAI_API_KEY")])),
        ("headers", map(&[("X-Team", Data::str("docs"))])),
        ("models", map(&[("gpt-5", model), ("gpt-5-mini", map(&[]))])),
    ]);
    let long = Data::strings(["one long directory name", "another long directory name", "a third"]);
    let data = map(&[
        ("default_model", Data::str("openai/gpt-5")),
        ("skill_dirs", long),
        ("providers", map(&[("openai", openai), ("my own", map(&[]))])),
        ("temperature", Data::Float(1.0)),
    ]);
    let text = r#"default_model = "openai/gpt-5"
skill_dirs = [
  "one long directory name",
  "another long directory name",
  "a third",
]

providers "openai" {
  api_key = env("OPENAI_API_KEY")
  headers = { "X-Team" = "docs" }
  models "gpt-5" {
    limit {
      context = 128000
    }
    reasoning = true
  }
  models "gpt-5-mini" {}
}

providers "my own" {}
temperature = 1.0
"#;
    assert_eq!(emit(&data, LABELLED), text);
    assert_eq!(probe(parse, text).node.to_data(), data);
}

const LABELLED: &[&str] = &["providers", "providers.*.models", "a", "a.*.a", "*.a"];

#[test]
fn every_rule_matches_its_examples() {
    check_examples(parse, RULES, "acl");
}

proptest! {
    #[test]
    fn written_data_reads_back(
        names in prop::collection::btree_map("[a-cé_][a-z0-9_]{0,3}", maps(with_calls(), "a|[a-z_]{1,4}|.*"), 0..5),
        scalars in prop::collection::btree_map("x-[a-z.0-9]{0,3}", with_calls(), 0..3),
    ) {
        let data = Data::Map(names.into_iter().chain(scalars).collect());
        let text = emit(&data, LABELLED);
        let seen = probe(parse, &text);
        let odd = |line: &String| !line.contains("other readers");
        prop_assert_eq!(seen.problems().into_iter().filter(odd).collect::<Vec<_>>(), Vec::<String>::new());
        prop_assert_eq!(seen.node.to_data(), data, "{}", text);
    }

    #[test]
    fn any_text_is_parsed_without_a_panic(text in prop_oneof![any::<String>(), soup()]) {
        probe(parse, &text);
    }
}

fn with_calls() -> BoxedStrategy<Data> {
    let arguments = prop::collection::vec(scalars(), 0..3);
    let call = ("[a-z_]{1,5}", arguments).prop_map(|(name, arguments)| Data::Call(name, arguments));
    prop_oneof![Just(Data::Null), call, scalars()].boxed()
}
