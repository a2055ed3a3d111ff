use std::fmt::Write as _;

use num_bigint::BigInt;

use super::*;
use crate::diagnostic::{Diagnostic, Findings};
use crate::source::{FileId, Span};
use crate::tree::{Entry, Key, Map, Node, Value};

fn span(start: usize, end: usize) -> Span {
    Span::new(FileId(0), start, end)
}

fn node(value: Value) -> Node {
    Node::new(value, span(0, 0))
}

fn text(text: &str) -> Value {
    Value::Str(text.to_owned())
}

fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::List(items.into_iter().map(node).collect())
}

fn map<'k>(entries: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let entry = |(key, value)| Entry { key: Key::string(key, span(0, 0)), value: node(value) };
    Value::Map(Map::from(entries.into_iter().map(entry).collect::<Vec<_>>()))
}

fn big() -> Value {
    Value::Big(BigInt::from(i64::MAX) + 1)
}

fn check(table: &'static Table, value: Value, coerce: Coerce) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    validate(table, &node(value), coerce, &mut findings);
    findings.iter().cloned().collect()
}

/// One line a finding, `ok` without any.
fn shown(found: &[Diagnostic]) -> String {
    let mut lines = String::new();
    for Diagnostic { rule, severity, message, hint, fix, .. } in found {
        let _ = write!(lines, "  {} {severity}: {message}", rule.code);
        if let Some(hint) = hint {
            let _ = write!(lines, " | {hint}");
        }
        if let Some(fix) = fix {
            let _ = write!(lines, " | {} -> {}", fix.title, fix.edits[0].text);
        }
        lines.push('\n');
    }
    if lines.is_empty() { "  ok\n".to_owned() } else { lines }
}

/// A table with the one field `f`.
fn table_of(field: Field) -> &'static Table {
    let fields: &'static [Field] = Box::leak(Box::new([field]));
    Box::leak(Box::new(Table::new("the block", fields)))
}

/// What is said about each value of a field of `kind`.
fn report(kind: Kind, coerce: Coerce, values: Vec<Value>) -> String {
    let mut report = format!("{kind:?}\n");
    let table = table_of(Field::required("f", kind, "what it is"));
    for value in values {
        let shown_value = node(value.clone()).to_data().to_json();
        let _ = writeln!(report, " {} {shown_value}", value.describe());
        report.push_str(&shown(&check(table, map([("f", value)]), coerce)));
    }
    report
}

/// One value of every type.
fn every_value() -> Vec<Value> {
    vec![
        Value::Null,
        Value::Bool(true),
        Value::Int(1),
        big(),
        Value::Float(1.5),
        text("word"),
        Value::Date("2024-01-01".to_owned()),
        Value::Call("env".to_owned(), vec![node(text("X"))]),
        list([text("a")]),
        map([("a", text("b"))]),
    ]
}

#[test]
fn scalars_take_their_own_type() {
    let kinds = [Kind::Str, Kind::Line, Kind::Bool, ANY_INT, ANY_FLOAT, Kind::Semver, Kind::Any];
    let reports = kinds.map(|kind| report(kind, Coerce::Strict, every_value()));
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn words_take_their_own_type() {
    static WORDS: &[&str] = &["read-only", "none"];
    let kinds = [Kind::Choice(WORDS), Kind::ChoiceAnyCase(WORDS), Kind::Known(WORDS)];
    let values = || {
        let words = ["none", "NONE", " none ", "read-onl", "elsewhere", ""].map(text);
        every_value().into_iter().chain(words).collect()
    };
    let reports = kinds.map(|kind| report(kind, Coerce::Strict, values()));
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn collections_look_inside() {
    static BLOCK: Table =
        Table::new("the inner block", &[Field::required("a", Kind::Bool, "whether it is a")]);
    static EITHER: &[Kind] = &[Kind::Bool, Kind::Int(0, 9), Kind::Strings];
    let kinds = [
        Kind::List(&Kind::Int(0, 9)),
        Kind::Strings,
        Kind::Map(&Kind::Bool),
        Kind::Block(&BLOCK),
        Kind::Either(EITHER),
    ];
    let reports = kinds.map(|kind| report(kind, Coerce::Strict, every_value()));
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn numbers_have_bounds() {
    let int = |least, most, value| report(Kind::Int(least, most), Coerce::Strict, vec![value]);
    let float = |least, most, value| {
        report(Kind::Float(least, most), Coerce::Strict, vec![Value::Float(value)])
    };
    let infinity = f64::INFINITY;
    let reports = [
        int(1, 9, Value::Int(1)),
        int(1, 9, Value::Int(9)),
        int(1, 9, Value::Int(0)),
        int(1, i64::MAX, Value::Int(0)),
        int(i64::MIN, 9, Value::Int(10)),
        int(1, 9, big()),
        float(0.0, 1.0, 1.0),
        float(0.0, 1.0, 1.1),
        float(0.0, 1.0, f64::NAN),
        float(0.0, infinity, -0.1),
        float(-infinity, 0.5, 0.6),
        float(-infinity, infinity, infinity),
        float(-infinity, infinity, f64::NAN),
        report(Kind::Float(0.0, 1.0), Coerce::Strict, vec![Value::Int(2), big()]),
    ];
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn texts_have_a_form() {
    let lines = ["one", "one\n", "one\ntwo", "one\rtwo", ""].map(text).to_vec();
    let versions = ["1.2.3", "1.2.3-rc.1", "1.2", "1", "v1.2.3", "latest", ""].map(text);
    let versions =
        versions.into_iter().chain([Value::Float(0.1), Value::Int(2), Value::Float(f64::NAN)]);
    let reports = [
        report(Kind::Line, Coerce::Strict, lines),
        report(Kind::Semver, Coerce::Strict, versions.collect()),
    ];
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn lax_types_are_those_of_the_manifest() {
    let texts = |texts: &[&str]| texts.iter().map(|it| text(it)).collect::<Vec<_>>();
    let numbers = || [Value::Bool(true), Value::Int(0), Value::Int(2), Value::Float(1.0)];
    let booleans = texts(&["YES", "off", "maybe", ""]).into_iter().chain(numbers()).collect();
    let ints = texts(&["12", " 12 ", "12.0", "12.5", "x", "1e400"]).into_iter();
    let ints = ints.chain(numbers()).chain([Value::Float(1.5), Value::Float(f64::NAN)]).collect();
    let floats = texts(&["1.5", "x", "NaN"]).into_iter().chain(numbers()).collect();
    let reports = [
        report(Kind::Bool, Coerce::Lax, booleans),
        report(Kind::Int(0, 50), Coerce::Lax, ints),
        report(Kind::Float(0.0, 50.0), Coerce::Lax, floats),
        report(Kind::Str, Coerce::Lax, vec![Value::Int(1), Value::Bool(true)]),
    ];
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn fields_are_needed_or_not() {
    let fields = [
        Field::required("f", Kind::Str, "what it is"),
        Field::optional("f", Kind::Str, "what it is"),
        Field::optional("f", Kind::Strings, "what it is"),
        Field::default("f", Kind::Bool, "true", "what it is"),
        Field::excluded("f", "it belongs to the machine"),
    ];
    let mut report = String::new();
    for field in fields {
        let (need, kind) = (field.need, format!("{:?}", field.kind));
        let table = table_of(field);
        let cases = [("absent", map([])), ("null", map([("f", Value::Null)]))];
        let cases = cases.into_iter().chain([("a text", map([("f", text("a"))]))]);
        for (case, value) in cases {
            let _ = writeln!(report, "{need:?} {kind}, {case}");
            report.push_str(&shown(&check(table, value, Coerce::Strict)));
        }
    }
    insta::assert_snapshot!(report);
}

#[test]
fn keys_are_compared() {
    let cases = [
        (Keys::Exact, "max_steps", "max_steps", true),
        (Keys::Exact, "max_steps", "Max_steps", false),
        (Keys::AnyCase, "status", "STATUS", true),
        (Keys::AnyCase, "größe", "GRÖßE", true),
        (Keys::AnyCase, "max_steps", "max-steps", false),
        (Keys::AnyCase, "a", "ab", false),
        (Keys::SnakeOrCamel, "max_steps", "maxSteps", true),
        (Keys::SnakeOrCamel, "max_steps", "max-steps", true),
        (Keys::SnakeOrCamel, "max_steps", "maxstep", false),
    ];
    for (keys, a, b, same) in cases {
        assert_eq!(keys.same(a, b), same, "{keys:?} {a} {b}");
        assert_eq!(keys.same(b, a), same, "{keys:?} {b} {a}");
    }
}

static FIELDS: &[Field] = &[
    Field::optional("max_steps", ANY_INT, "how far").or(&["steps"]),
    Field::optional("name", Kind::Str, "who"),
    Field::excluded("names", "there is one"),
];

#[test]
fn keys_that_no_field_has() {
    static WARN: Table = Table::new("the block", FIELDS);
    static ERROR: Table = Table::new("the block", FIELDS).unknown(Unknown::Error);
    static SILENT: Table = Table::new("the block", FIELDS).unknown(Unknown::Silent);
    let mut report = String::new();
    for table in [&WARN, &ERROR, &SILENT] {
        for key in ["colour", "nam", "namez", "steps", "Name", "x-colour", "x_colour", "X-colour"] {
            let _ = writeln!(report, "{:?} {key}", table.unknown);
            let found = check(table, map([(key, Value::Int(1))]), Coerce::Strict);
            report.push_str(&shown(&found));
        }
    }
    insta::assert_snapshot!(report);
}

#[test]
fn two_spellings_are_one_field() {
    static ANY_CASE: Table = Table::new("the block", FIELDS).keys(Keys::AnyCase);
    static CAMEL: Table = Table::new("the block", FIELDS).keys(Keys::SnakeOrCamel);
    let cases = [
        (&ANY_CASE, vec!["name", "Name"], vec!["`name` and `Name` are the same field"]),
        (&ANY_CASE, vec!["name", "name"], vec![]),
        (&ANY_CASE, vec!["Steps", "Max_Steps"], vec!["`Steps` and `Max_Steps` are the same field"]),
        (
            &CAMEL,
            vec!["max_steps", "maxSteps", "name", "steps"],
            vec![
                "`max_steps` and `maxSteps` are the same field",
                "`max_steps` and `steps` are the same field",
            ],
        ),
    ];
    for (table, keys, expected) in cases {
        let found = check(table, map(keys.iter().map(|key| (*key, Value::Null))), Coerce::Strict);
        let found: Vec<_> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(found, expected, "{keys:?}");
    }
}

#[test]
fn a_document_is_a_map() {
    let table = table_of(Field::optional("f", Kind::Str, "what it is"));
    let needy = table_of(Field::required("f", Kind::Str, "what it is"));
    let mut report = String::new();
    for value in [text("a"), list([]), Value::Int(1), Value::Null, map([])] {
        for (name, table) in [("optional", table), ("required", needy)] {
            let _ = writeln!(report, "{} {name}", value.describe());
            report.push_str(&shown(&check(table, value.clone(), Coerce::Strict)));
        }
    }
    insta::assert_snapshot!(report);
}

#[test]
fn findings_stand_where_the_text_is() {
    static TABLE: Table = Table::new(
        "the block",
        &[
            Field::required("name", Kind::Str, "who"),
            Field::optional("on", Kind::Bool, "whether"),
            Field::optional("On", Kind::Bool, "whether"),
            Field::excluded("model", "it is elsewhere"),
        ],
    )
    .keys(Keys::AnyCase);
    let entry = |key: &str, at: usize, value: Value| Entry {
        key: Key::string(key, span(at, at + 1)),
        value: Node::new(value, span(at + 5, at + 6)),
    };
    let entries = vec![
        entry("other", 10, Value::Null),
        entry("on", 20, Value::Int(1)),
        entry("ON", 30, Value::Bool(true)),
        entry("model", 40, text("x")),
    ];
    let cases = [
        (
            entries,
            vec![("AG0101", 10), ("AG0103", 25), ("AG0111", 30), ("AG0107", 40), ("AG0102", 10)],
        ),
        (vec![], vec![("AG0102", 7)]),
    ];
    for (entries, expected) in cases {
        let node = Node::new(Value::Map(Map::from(entries)), span(7, 99));
        let mut findings = Findings::default();
        validate(&TABLE, &node, Coerce::Strict, &mut findings);
        let found: Vec<_> = findings.iter().map(|it| (it.rule.code, it.span.start)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn large_maps_are_quick() {
    static TABLE: Table = Table::new("the block", FIELDS).keys(Keys::AnyCase);
    let unknown: Vec<_> = (0..10_000).map(|at| format!("x-{at}")).collect();
    let keys = unknown.iter().map(String::as_str).chain(std::iter::repeat_n("name", 10_000));
    assert_eq!(check(&TABLE, map(keys.map(|key| (key, text("a")))), Coerce::Strict), []);
}

#[test]
fn the_reference_lists_every_field() {
    static INNER: Table = Table::new(
        "the inner block",
        &[
            Field::required("at", Kind::Semver, "Since when"),
            Field::optional("inner", Kind::Block(&INNER), "The same once more"),
        ],
    );
    static TABLE: Table = Table::new(
        "the block",
        &[
            Field::required("name", Kind::Line, "What others | call it"),
            Field::default("mode", Kind::Choice(&["slow", "fast"]), "\"slow\"", "How fast"),
            Field::optional("level", Kind::ChoiceAnyCase(&["low", "high"]), "How loud"),
            Field::optional("size", Kind::Known(&["4k", "8k"]), "How large"),
            Field::optional("steps", Kind::Int(1, 9), "How far").or(&["max_steps"]),
            Field::optional("least", Kind::Int(1, i64::MAX), "How far at least"),
            Field::optional("share", Kind::Float(f64::NEG_INFINITY, 0.5), "How much"),
            Field::optional("tags", Kind::Strings, "Words"),
            Field::optional("list", Kind::List(&Kind::List(&ANY_INT)), "Numbers"),
            Field::optional("env", Kind::Map(&Kind::Map(&Kind::Str)), "Names"),
            Field::optional("inner", Kind::Block(&INNER), "Nested"),
            Field::optional("skills", Kind::List(&Kind::Block(&INNER)), "Many nested"),
            Field::optional("hosts", Kind::Map(&Kind::Block(&INNER)), "Named ones"),
            Field::optional("any", Kind::Either(&[Kind::Bool, Kind::Block(&INNER)]), "Or"),
            Field::optional("extra", Kind::Any, "Whatever"),
            Field::excluded("model", "It belongs to the machine"),
        ],
    );
    insta::assert_snapshot!(reference(&TABLE));
}
