use std::fmt::Write as _;

use num_bigint::BigInt;

use super::*;
use crate::diagnostic::{Diagnostic, Findings};
use crate::source::{FileId, Span};
use crate::tree::{TreeEntry, TreeKey, TreeMap, TreeNode, TreeValue};

fn span(start: usize, end: usize) -> Span {
    Span::new(FileId(0), start, end)
}

fn node(value: TreeValue) -> TreeNode {
    TreeNode::new(value, span(0, 0))
}

fn text(text: &str) -> TreeValue {
    TreeValue::Str(text.to_owned())
}

fn list(items: impl IntoIterator<Item = TreeValue>) -> TreeValue {
    TreeValue::List(items.into_iter().map(node).collect())
}

fn map<'k>(entries: impl IntoIterator<Item = (&'k str, TreeValue)>) -> TreeValue {
    let entry =
        |(key, value)| TreeEntry { key: TreeKey::string(key, span(0, 0)), value: node(value) };
    TreeValue::Map(TreeMap::from(entries.into_iter().map(entry).collect::<Vec<_>>()))
}

fn big() -> TreeValue {
    TreeValue::Big(BigInt::from(i64::MAX) + 1)
}

fn check(table: &'static FieldTable, value: TreeValue, coerce: Coercion) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    validate(table, &node(value), coerce, &mut findings);
    findings.iter().cloned().collect()
}

/// Returns one line per finding, or `ok`.
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
fn table_of(field: Field) -> &'static FieldTable {
    let fields: &'static [Field] = Box::leak(Box::new([field]));
    Box::leak(Box::new(FieldTable::new("the block", fields)))
}

/// Returns the findings about each value of a field of `kind`.
fn report(kind: FieldKind, coerce: Coercion, values: Vec<TreeValue>) -> String {
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
fn every_value() -> Vec<TreeValue> {
    vec![
        TreeValue::Null,
        TreeValue::Bool(true),
        TreeValue::Int(1),
        big(),
        TreeValue::Float(1.5),
        text("word"),
        TreeValue::Date("2024-01-01".to_owned()),
        TreeValue::Call("env".to_owned(), vec![node(text("X"))]),
        list([text("a")]),
        map([("a", text("b"))]),
    ]
}

#[test]
fn scalar_fields_accept_only_their_type() {
    let kinds = [
        FieldKind::Str,
        FieldKind::Line,
        FieldKind::Bool,
        ANY_INT,
        ANY_FLOAT,
        FieldKind::Semver,
        FieldKind::Any,
    ];
    let reports = kinds.map(|kind| report(kind, Coercion::Strict, every_value()));
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn choice_fields_accept_only_their_words() {
    static WORDS: &[&str] = &["read-only", "none"];
    let kinds =
        [FieldKind::Choice(WORDS), FieldKind::ChoiceAnyCase(WORDS), FieldKind::Known(WORDS)];
    let values = || {
        let words = ["none", "NONE", " none ", "read-onl", "elsewhere", ""].map(text);
        every_value().into_iter().chain(words).collect()
    };
    let reports = kinds.map(|kind| report(kind, Coercion::Strict, values()));
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn collection_fields_check_their_items() {
    static BLOCK: FieldTable = FieldTable::new(
        "the inner block",
        &[Field::required("a", FieldKind::Bool, "whether it is a")],
    );
    static EITHER: &[FieldKind] = &[FieldKind::Bool, FieldKind::Int(0, 9), FieldKind::Strings];
    let kinds = [
        FieldKind::List(&FieldKind::Int(0, 9)),
        FieldKind::Strings,
        FieldKind::Map(&FieldKind::Bool),
        FieldKind::Block(&BLOCK),
        FieldKind::Either(EITHER),
    ];
    let reports = kinds.map(|kind| report(kind, Coercion::Strict, every_value()));
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn number_fields_check_their_bounds() {
    let int =
        |least, most, value| report(FieldKind::Int(least, most), Coercion::Strict, vec![value]);
    let float = |least, most, value| {
        report(FieldKind::Float(least, most), Coercion::Strict, vec![TreeValue::Float(value)])
    };
    let infinity = f64::INFINITY;
    let reports = [
        int(1, 9, TreeValue::Int(1)),
        int(1, 9, TreeValue::Int(9)),
        int(1, 9, TreeValue::Int(0)),
        int(1, i64::MAX, TreeValue::Int(0)),
        int(i64::MIN, 9, TreeValue::Int(10)),
        int(1, 9, big()),
        float(0.0, 1.0, 1.0),
        float(0.0, 1.0, 1.1),
        float(0.0, 1.0, f64::NAN),
        float(0.0, infinity, -0.1),
        float(-infinity, 0.5, 0.6),
        float(-infinity, infinity, infinity),
        float(-infinity, infinity, f64::NAN),
        report(FieldKind::Float(0.0, 1.0), Coercion::Strict, vec![TreeValue::Int(2), big()]),
    ];
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn text_fields_check_their_form() {
    let lines = ["one", "one\n", "one\ntwo", "one\rtwo", ""].map(text).to_vec();
    let versions = ["1.2.3", "1.2.3-rc.1", "1.2", "1", "v1.2.3", "latest", ""].map(text);
    let versions = versions.into_iter().chain([
        TreeValue::Float(0.1),
        TreeValue::Int(2),
        TreeValue::Float(f64::NAN),
    ]);
    let reports = [
        report(FieldKind::Line, Coercion::Strict, lines),
        report(FieldKind::Semver, Coercion::Strict, versions.collect()),
    ];
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn lax_coercion_matches_the_manifest() {
    let texts = |texts: &[&str]| texts.iter().map(|it| text(it)).collect::<Vec<_>>();
    let numbers =
        || [TreeValue::Bool(true), TreeValue::Int(0), TreeValue::Int(2), TreeValue::Float(1.0)];
    let booleans = texts(&["YES", "off", "maybe", ""]).into_iter().chain(numbers()).collect();
    let ints = texts(&["12", " 12 ", "12.0", "12.5", "x", "1e400"]).into_iter();
    let ints =
        ints.chain(numbers()).chain([TreeValue::Float(1.5), TreeValue::Float(f64::NAN)]).collect();
    let floats = texts(&["1.5", "x", "NaN"]).into_iter().chain(numbers()).collect();
    let reports = [
        report(FieldKind::Bool, Coercion::Lax, booleans),
        report(FieldKind::Int(0, 50), Coercion::Lax, ints),
        report(FieldKind::Float(0.0, 50.0), Coercion::Lax, floats),
        report(FieldKind::Str, Coercion::Lax, vec![TreeValue::Int(1), TreeValue::Bool(true)]),
    ];
    insta::assert_snapshot!(reports.concat());
}

#[test]
fn missing_required_fields_are_reported() {
    let fields = [
        Field::required("f", FieldKind::Str, "what it is"),
        Field::optional("f", FieldKind::Str, "what it is"),
        Field::optional("f", FieldKind::Strings, "what it is"),
        Field::default("f", FieldKind::Bool, "true", "what it is"),
        Field::excluded("f", "it belongs to the machine"),
    ];
    let mut report = String::new();
    for field in fields {
        let (need, kind) = (field.need, format!("{:?}", field.kind));
        let table = table_of(field);
        let cases = [("absent", map([])), ("null", map([("f", TreeValue::Null)]))];
        let cases = cases.into_iter().chain([("a text", map([("f", text("a"))]))]);
        for (case, value) in cases {
            let _ = writeln!(report, "{need:?} {kind}, {case}");
            report.push_str(&shown(&check(table, value, Coercion::Strict)));
        }
    }
    insta::assert_snapshot!(report);
}

#[test]
fn keys_match_by_the_table_setting() {
    let cases = [
        (KeyMatching::Exact, "max_steps", "max_steps", true),
        (KeyMatching::Exact, "max_steps", "Max_steps", false),
        (KeyMatching::AnyCase, "status", "STATUS", true),
        (KeyMatching::AnyCase, "größe", "GRÖßE", true),
        (KeyMatching::AnyCase, "max_steps", "max-steps", false),
        (KeyMatching::AnyCase, "a", "ab", false),
        (KeyMatching::SnakeOrCamel, "max_steps", "maxSteps", true),
        (KeyMatching::SnakeOrCamel, "max_steps", "max-steps", true),
        (KeyMatching::SnakeOrCamel, "max_steps", "maxstep", false),
    ];
    for (keys, a, b, same) in cases {
        assert_eq!(keys.same(a, b), same, "{keys:?} {a} {b}");
        assert_eq!(keys.same(b, a), same, "{keys:?} {b} {a}");
    }
}

static FIELDS: &[Field] = &[
    Field::optional("max_steps", ANY_INT, "how far").or(&["steps"]),
    Field::optional("name", FieldKind::Str, "who"),
    Field::excluded("names", "there is one"),
];

#[test]
fn unknown_keys_are_reported() {
    static WARN: FieldTable = FieldTable::new("the block", FIELDS);
    static ERROR: FieldTable = FieldTable::new("the block", FIELDS).unknown(UnknownKeys::Error);
    static SILENT: FieldTable = FieldTable::new("the block", FIELDS).unknown(UnknownKeys::Silent);
    let mut report = String::new();
    for table in [&WARN, &ERROR, &SILENT] {
        for key in ["colour", "nam", "namez", "steps", "Name", "x-colour", "x_colour", "X-colour"] {
            let _ = writeln!(report, "{:?} {key}", table.unknown);
            let found = check(table, map([(key, TreeValue::Int(1))]), Coercion::Strict);
            report.push_str(&shown(&found));
        }
    }
    insta::assert_snapshot!(report);
}

#[test]
fn two_spellings_of_one_key_are_reported() {
    static ANY_CASE: FieldTable = FieldTable::new("the block", FIELDS).keys(KeyMatching::AnyCase);
    static CAMEL: FieldTable = FieldTable::new("the block", FIELDS).keys(KeyMatching::SnakeOrCamel);
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
        let found =
            check(table, map(keys.iter().map(|key| (*key, TreeValue::Null))), Coercion::Strict);
        let found: Vec<_> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(found, expected, "{keys:?}");
    }
}

#[test]
fn a_document_must_be_a_map() {
    let table = table_of(Field::optional("f", FieldKind::Str, "what it is"));
    let needy = table_of(Field::required("f", FieldKind::Str, "what it is"));
    let mut report = String::new();
    for value in [text("a"), list([]), TreeValue::Int(1), TreeValue::Null, map([])] {
        for (name, table) in [("optional", table), ("required", needy)] {
            let _ = writeln!(report, "{} {name}", value.describe());
            report.push_str(&shown(&check(table, value.clone(), Coercion::Strict)));
        }
    }
    insta::assert_snapshot!(report);
}

#[test]
fn findings_point_at_the_text() {
    static TABLE: FieldTable = FieldTable::new(
        "the block",
        &[
            Field::required("name", FieldKind::Str, "who"),
            Field::optional("on", FieldKind::Bool, "whether"),
            Field::optional("On", FieldKind::Bool, "whether"),
            Field::excluded("model", "it is elsewhere"),
        ],
    )
    .keys(KeyMatching::AnyCase);
    let entry = |key: &str, at: usize, value: TreeValue| TreeEntry {
        key: TreeKey::string(key, span(at, at + 1)),
        value: TreeNode::new(value, span(at + 5, at + 6)),
    };
    let entries = vec![
        entry("other", 10, TreeValue::Null),
        entry("on", 20, TreeValue::Int(1)),
        entry("ON", 30, TreeValue::Bool(true)),
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
        let node = TreeNode::new(TreeValue::Map(TreeMap::from(entries)), span(7, 99));
        let mut findings = Findings::default();
        validate(&TABLE, &node, Coercion::Strict, &mut findings);
        let found: Vec<_> = findings.iter().map(|it| (it.rule.code, it.span.start)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn large_maps_are_validated_in_linear_time() {
    static TABLE: FieldTable = FieldTable::new("the block", FIELDS).keys(KeyMatching::AnyCase);
    let unknown: Vec<_> = (0..10_000).map(|at| format!("x-{at}")).collect();
    let keys = unknown.iter().map(String::as_str).chain(std::iter::repeat_n("name", 10_000));
    assert_eq!(check(&TABLE, map(keys.map(|key| (key, text("a")))), Coercion::Strict), []);
}

#[test]
fn the_reference_lists_every_field() {
    static INNER: FieldTable = FieldTable::new(
        "the inner block",
        &[
            Field::required("at", FieldKind::Semver, "Since when"),
            Field::optional("inner", FieldKind::Block(&INNER), "The same once more"),
        ],
    );
    static TABLE: FieldTable = FieldTable::new(
        "the block",
        &[
            Field::required("name", FieldKind::Line, "What others | call it"),
            Field::default("mode", FieldKind::Choice(&["slow", "fast"]), "\"slow\"", "How fast"),
            Field::optional("level", FieldKind::ChoiceAnyCase(&["low", "high"]), "How loud"),
            Field::optional("size", FieldKind::Known(&["4k", "8k"]), "How large"),
            Field::optional("steps", FieldKind::Int(1, 9), "How far").or(&["max_steps"]),
            Field::optional("least", FieldKind::Int(1, i64::MAX), "How far at least"),
            Field::optional("share", FieldKind::Float(f64::NEG_INFINITY, 0.5), "How much"),
            Field::optional("tags", FieldKind::Strings, "Words"),
            Field::optional("list", FieldKind::List(&FieldKind::List(&ANY_INT)), "Numbers"),
            Field::optional("env", FieldKind::Map(&FieldKind::Map(&FieldKind::Str)), "Names"),
            Field::optional("inner", FieldKind::Block(&INNER), "Nested"),
            Field::optional("skills", FieldKind::List(&FieldKind::Block(&INNER)), "Many nested"),
            Field::optional("hosts", FieldKind::Map(&FieldKind::Block(&INNER)), "Named ones"),
            Field::optional(
                "any",
                FieldKind::Either(&[FieldKind::Bool, FieldKind::Block(&INNER)]),
                "Or",
            ),
            Field::optional("extra", FieldKind::Any, "Whatever"),
            Field::excluded("model", "It belongs to the machine"),
        ],
    );
    insta::assert_snapshot!(reference(&TABLE));
}
