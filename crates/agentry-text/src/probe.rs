//! What the tests of the data languages look at: the tree of a parser, its spans and its findings.

use proptest::prelude::*;

use crate::data::Data;
use crate::diagnostic::Findings;
use crate::rule::{LintRule, RuleExample};
use crate::source::{FileId, SourceFile, position};
use crate::tree::{TreeNode, TreeValue};

/// A function that parses one document.
pub(crate) type ParseFunction = fn(&SourceFile, &mut Findings) -> TreeNode;

/// The result of parsing a text.
pub(crate) struct ReaderProbe {
    pub(crate) source: SourceFile,
    pub(crate) node: TreeNode,
    pub(crate) findings: Findings,
}

/// Parses `text` with `parse`.
pub(crate) fn probe(parse: ParseFunction, text: &str) -> ReaderProbe {
    let source = SourceFile::new(FileId(0), "test", text);
    let mut findings = Findings::default();
    let node = parse(&source, &mut findings);
    ReaderProbe { source, node, findings }
}

impl ReaderProbe {
    /// Returns the problems as `line:column message`, in the order of being reported.
    pub(crate) fn problems(&self) -> Vec<String> {
        let line = |found: &crate::Diagnostic| {
            let at = position(&self.source.text, found.span.start as usize);
            format!("{}:{} {}", at.line, at.column, found.message)
        };
        self.findings.iter().map(line).collect()
    }

    /// Returns keys and scalars with their raw source text: `key: value`.
    pub(crate) fn raw(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.walk(&self.node, "", &mut lines);
        lines
    }

    fn walk(&self, node: &TreeNode, path: &str, lines: &mut Vec<String>) {
        match &node.value {
            TreeValue::Map(map) => {
                for entry in &map.entries {
                    let key = self.source.slice(entry.key.span);
                    self.walk(&entry.value, &format!("{path}/{key}"), lines);
                }
            }
            TreeValue::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.walk(item, &format!("{path}/{index}"), lines);
                }
            }
            _ => lines.push(format!("{path}: {}", self.source.slice(node.span))),
        }
    }

    /// Returns the value as JSON text.
    pub(crate) fn json(&self) -> String {
        self.node.to_data().to_json().to_string()
    }

    /// Returns the text after every safe fix.
    pub(crate) fn fixed(&self) -> String {
        let fixes = self.findings.iter().filter_map(|found| found.fix.as_ref());
        let safe = fixes.filter(|fix| fix.applicability == crate::Applicability::Safe);
        crate::edit::apply(&self.source.text, safe).0
    }
}

/// Checks that the bad example of each rule breaks only that rule, and the good one none.
/// Only files that end in `extension` count.
pub(crate) fn check_examples(parse: ParseFunction, rules: &[&LintRule], extension: &str) {
    let found = |example: &RuleExample| -> Vec<&str> {
        let files = example.files().into_iter().filter(|(path, _)| path.ends_with(extension));
        let texts = files.filter_map(|(_, bytes)| String::from_utf8(bytes).ok());
        texts.flat_map(|text| codes(&probe(parse, &text).findings)).collect()
    };
    for rule in rules {
        assert_eq!(found(&rule.bad), [rule.code], "{}", rule.name);
        assert_eq!(found(&rule.good), [""; 0], "{}", rule.name);
    }
}

fn codes(findings: &Findings) -> Vec<&'static str> {
    findings.iter().map(|found| found.rule.code).collect()
}

/// Generates data with a map at the top, scalars of `leaf`, and keys that match `keys`.
pub(crate) fn maps(leaf: BoxedStrategy<Data>, keys: &'static str) -> impl Strategy<Value = Data> {
    let map = move |inner: BoxedStrategy<Data>| {
        prop::collection::btree_map(keys, inner, 0..5)
            .prop_map(|entries| Data::Map(entries.into_iter().collect()))
    };
    let nested = leaf.prop_recursive(4, 40, 5, move |inner| {
        let list = prop::collection::vec(inner.clone(), 0..5).prop_map(Data::List);
        prop_oneof![list, map(inner.boxed())]
    });
    map(nested.boxed())
}

/// Generates booleans, integers, finite numbers, and any text.
pub(crate) fn scalars() -> BoxedStrategy<Data> {
    let float = any::<f64>().prop_filter("finite", |value| value.is_finite());
    prop_oneof![
        any::<bool>().prop_map(Data::Bool),
        any::<i64>().prop_map(Data::Int),
        float.prop_map(Data::Float),
        any::<String>().prop_map(Data::Str),
        "[ -~\n\"'\\\\]{0,90}".prop_map(Data::Str),
    ]
    .boxed()
}

/// Returns the data with the keys of every map sorted.
pub(crate) fn sorted(data: &Data) -> Data {
    match data {
        Data::List(items) => Data::List(items.iter().map(sorted).collect()),
        Data::Map(entries) => {
            let pairs = entries.iter().map(|(key, value)| (key.clone(), sorted(value)));
            let mut pairs: Vec<_> = pairs.collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Data::Map(pairs)
        }
        _ => data.clone(),
    }
}

/// Generates text that looks like a data language, where parsers are most likely to fail.
pub(crate) fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("("),
        Just(")"),
        Just(","),
        Just(":"),
        Just("="),
        Just("\n"),
        Just("\r"),
        Just(" "),
        Just("\""),
        Just("'"),
        Just("\\"),
        Just("/"),
        Just("#"),
        Just("."),
        Just("-"),
        Just("+"),
        Just("a"),
        Just("1"),
        Just("true"),
        Just("é"),
        Just("\\u"),
        Just("d800"),
        Just("\"k\""),
        Just("\u{0}"),
        Just("[["),
        Just("\"\"\""),
        Just("[a]\n"),
        Just("[[a]]\n"),
        Just("[a.a]\n"),
        Just("\na.a=1\n"),
        Just("a={"),
        Just("a \"a\" {"),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}
