//! Typed access for readers of formats: the values of a map that was validated against its field table.
//!
//! A getter returns `None` for an absent field and for one of the wrong type.
//! [`crate::table::validate`] has reported the latter, so a reader need not report it again.

use std::str::FromStr;

use crate::coercion;
use crate::data::Data;
use crate::source::{Span, Spanned};
use crate::table::{Coercion, FieldTable};
use crate::tree::{TreeEntry, TreeMap, TreeNode, TreeValue};

/// A map with its field table.
#[derive(Debug, Clone, Copy)]
pub struct TableRecord<'t> {
    table: &'static FieldTable,
    map: Option<&'t TreeMap>,
    coerce: Coercion,
    span: Span,
}

impl<'t> TableRecord<'t> {
    /// The map of `node`, or an empty one if it is not a map.
    pub fn new(table: &'static FieldTable, node: &'t TreeNode, coerce: Coercion) -> Self {
        Self { table, map: node.as_map(), coerce, span: node.span }
    }

    /// Returns the span of the whole map.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Returns the entries that are not in the table, including extensions.
    pub fn unknown(&self) -> impl Iterator<Item = &'t TreeEntry> {
        let table = self.table;
        let entries = self.map.map(|map| map.entries.as_slice()).unwrap_or_default();
        entries.iter().filter(move |entry| table.field(&entry.key.text).is_none())
    }

    /// Returns the entry of `name`. If several spellings are present, the last one counts.
    pub fn entry(&self, name: &str) -> Option<&'t TreeEntry> {
        // A name that is not in the table is a mistake of the reader, not of the file.
        debug_assert!(self.table.field(name).is_some(), "{} has no {name}", self.table.title);
        let field = self.table.fields.iter().find(|field| field.name == name)?;
        let named = |entry: &&TreeEntry| self.table.is_key(field, &entry.key.text);
        self.map?.entries.iter().rev().find(named)
    }

    /// Returns the value of `name`, of any type except null.
    pub fn node(&self, name: &str) -> Option<&'t TreeNode> {
        self.entry(name).map(|entry| &entry.value).filter(|node| node.value != TreeValue::Null)
    }

    /// Reports whether `name` is present, even as null.
    pub fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Returns a string.
    pub fn str(&self, name: &str) -> Option<Spanned<String>> {
        self.node(name)?.to_spanned()
    }

    /// Returns a boolean.
    pub fn bool(&self, name: &str) -> Option<Spanned<bool>> {
        let node = self.node(name)?;
        as_bool(node, self.coerce).map(|value| Spanned::new(value, node.span))
    }

    /// Returns an integer.
    pub fn int(&self, name: &str) -> Option<Spanned<i64>> {
        let node = self.node(name)?;
        as_int(node, self.coerce).map(|value| Spanned::new(value, node.span))
    }

    /// Returns a number.
    pub fn float(&self, name: &str) -> Option<Spanned<f64>> {
        let node = self.node(name)?;
        as_float(node, self.coerce).map(|value| Spanned::new(value, node.span))
    }

    /// Returns a keyword that `T` parses, ignoring case and surrounding white space.
    pub fn word<T: FromStr>(&self, name: &str) -> Option<Spanned<T>> {
        let text = self.str(name)?;
        // A word that `T` does not have was reported by the validation.
        let value = text.value.trim().to_lowercase().parse().ok()?;
        Some(Spanned::new(value, text.span))
    }

    /// Returns a list of strings; one string counts as a list. Items of another type are left out.
    pub fn strings(&self, name: &str) -> Option<Vec<Spanned<String>>> {
        let node = self.node(name)?;
        match &node.value {
            TreeValue::Str(text) => Some(vec![Spanned::new(text.clone(), node.span)]),
            TreeValue::List(items) => Some(items.iter().filter_map(TreeNode::to_spanned).collect()),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub fn list(&self, name: &str) -> Option<&'t [TreeNode]> {
        self.node(name)?.as_list()
    }

    /// Returns the entries of a map with free keys.
    pub fn map(&self, name: &str) -> Option<&'t TreeMap> {
        self.node(name)?.as_map()
    }

    /// Returns a map that has a field table.
    pub fn record(&self, name: &str, table: &'static FieldTable) -> Option<TableRecord<'t>> {
        let node = self.node(name)?;
        node.as_map()?;
        Some(TableRecord::new(table, node, self.coerce))
    }

    /// Returns the value without spans.
    pub fn data(&self, name: &str) -> Option<Spanned<Data>> {
        self.node(name).map(|node| Spanned::new(node.to_data(), node.span))
    }
}

/// Returns the boolean of `node`, or the one that it can be coerced to.
pub fn as_bool(node: &TreeNode, coerce: Coercion) -> Option<bool> {
    match (&node.value, coerce) {
        (TreeValue::Bool(value), _) => Some(*value),
        (TreeValue::Int(0), Coercion::Lax) => Some(false),
        (TreeValue::Int(1), Coercion::Lax) => Some(true),
        (TreeValue::Float(value), Coercion::Lax) if *value == 0.0 => Some(false),
        (TreeValue::Float(value), Coercion::Lax) if (*value - 1.0).abs() < f64::EPSILON / 2.0 => {
            Some(true)
        }
        (TreeValue::Str(text), Coercion::Lax) => coercion::bool_of_text(text),
        _ => None,
    }
}

/// Returns the integer of `node`, or the one that it can be coerced to.
pub fn as_int(node: &TreeNode, coerce: Coercion) -> Option<i64> {
    match (&node.value, coerce) {
        (TreeValue::Int(value), _) => Some(*value),
        (TreeValue::Bool(value), Coercion::Lax) => Some(i64::from(*value)),
        (TreeValue::Float(value), Coercion::Lax) => coercion::int_of_float(*value),
        (TreeValue::Str(text), Coercion::Lax) => i64::try_from(coercion::int_of_text(text)?).ok(),
        _ => None,
    }
}

/// Returns the number of `node`, or the one that it can be coerced to.
#[expect(clippy::cast_precision_loss, reason = "a number field takes whole numbers as floats")]
pub fn as_float(node: &TreeNode, coerce: Coercion) -> Option<f64> {
    match (&node.value, coerce) {
        (TreeValue::Float(value), _) => Some(*value),
        (TreeValue::Int(value), _) => Some(*value as f64),
        (TreeValue::Big(value), _) => coercion::float_of_big(value),
        (TreeValue::Bool(value), Coercion::Lax) => Some(f64::from(u8::from(*value))),
        (TreeValue::Str(text), Coercion::Lax) => coercion::float_of_text(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;
    use crate::table::{ANY_FLOAT, ANY_INT, Field, FieldKind, KeyMatching};
    use crate::tree::TreeKey;

    static INNER: FieldTable =
        FieldTable::new("the inner block", &[Field::optional("a", FieldKind::Str, "a")]);
    static TABLE: FieldTable = FieldTable::new(
        "the block",
        &[
            Field::optional("text", FieldKind::Str, "a text").or(&["words"]),
            Field::optional("flag", FieldKind::Bool, "a flag"),
            Field::optional("int", ANY_INT, "a whole number"),
            Field::optional("float", ANY_FLOAT, "a number"),
            Field::optional("list", FieldKind::Strings, "texts"),
            Field::optional("inner", FieldKind::Block(&INNER), "more"),
            Field::optional("absent", FieldKind::Any, "never there"),
        ],
    )
    .keys(KeyMatching::AnyCase);

    fn span(at: usize) -> Span {
        Span::new(FileId(0), at, at + 1)
    }

    fn text(text: &str) -> TreeValue {
        TreeValue::Str(text.to_owned())
    }

    /// A map whose values have the spans 0, 1, 2, ….
    fn tree(entries: Vec<(&str, TreeValue)>) -> TreeNode {
        let entry = |(at, (key, value))| TreeEntry {
            key: TreeKey::string(key, span(at)),
            value: TreeNode::new(value, span(at)),
        };
        let entries: Vec<_> = entries.into_iter().enumerate().map(entry).collect();
        TreeNode::new(TreeValue::Map(TreeMap::from(entries)), span(99))
    }

    #[test]
    fn values_are_read_with_their_span() {
        let inner = tree(vec![("a", text("b"))]).value;
        let items =
            vec![TreeNode::new(text("x"), span(50)), TreeNode::new(TreeValue::Int(1), span(51))];
        let node = tree(vec![
            ("TEXT", text("Hello")),
            ("flag", TreeValue::Bool(true)),
            ("int", TreeValue::Int(3)),
            ("float", TreeValue::Float(1.5)),
            ("list", TreeValue::List(items)),
            ("inner", inner),
        ]);
        let record = TableRecord::new(&TABLE, &node, Coercion::Strict);
        assert_eq!(record.span(), span(99));
        assert_eq!(record.str("text"), Some(Spanned::new("Hello".to_owned(), span(0))));
        assert_eq!(record.bool("flag"), Some(Spanned::new(true, span(1))));
        assert_eq!(record.int("int"), Some(Spanned::new(3, span(2))));
        assert_eq!(record.float("float"), Some(Spanned::new(1.5, span(3))));
        assert_eq!(record.strings("list"), Some(vec![Spanned::new("x".to_owned(), span(50))]));
        assert_eq!(record.list("list").map(<[TreeNode]>::len), Some(2));
        let inner = record.record("inner", &INNER).expect("a block");
        assert_eq!(inner.str("a"), Some(Spanned::new("b".to_owned(), span(0))));
        assert_eq!(record.map("inner").map(|map| map.entries.len()), Some(1));
        assert_eq!(record.data("int"), Some(Spanned::new(Data::Int(3), span(2))));
        assert_eq!(record.strings("text"), Some(vec![Spanned::new("Hello".to_owned(), span(0))]));
    }

    #[test]
    fn absent_and_mistyped_fields_are_none() {
        let null = tree(vec![("text", TreeValue::Null)]);
        let wrong = tree(vec![("text", TreeValue::Int(1)), ("flag", text("yes"))]);
        let no_map = TreeNode::new(text("x"), span(0));
        for (case, node) in [("null", &null), ("wrong", &wrong), ("no map", &no_map)] {
            let record = TableRecord::new(&TABLE, node, Coercion::Strict);
            assert_eq!(record.str("text"), None, "{case}");
            assert_eq!(record.strings("text"), None, "{case}");
            assert_eq!(record.bool("flag"), None, "{case}");
            assert_eq!(record.int("int"), None, "{case}");
            assert_eq!(record.float("float"), None, "{case}");
            assert_eq!(record.data("absent"), None, "{case}");
            assert!(record.record("text", &INNER).is_none(), "{case}");
            assert!(record.list("text").is_none() && record.map("text").is_none(), "{case}");
        }
        let record = TableRecord::new(&TABLE, &null, Coercion::Strict);
        assert!(record.has("text") && record.node("text").is_none() && !record.has("flag"));
    }

    #[test]
    fn the_last_of_several_spellings_wins() {
        let node = tree(vec![("text", text("a")), ("Words", text("b")), ("flag", TreeValue::Null)]);
        let record = TableRecord::new(&TABLE, &node, Coercion::Strict);
        assert_eq!(record.str("text"), Some(Spanned::new("b".to_owned(), span(1))));
    }

    #[test]
    fn unknown_fields_are_kept() {
        let node =
            tree(vec![("text", text("a")), ("other", TreeValue::Null), ("x-y", TreeValue::Null)]);
        let record = TableRecord::new(&TABLE, &node, Coercion::Strict);
        let unknown: Vec<_> = record.unknown().map(|entry| entry.key.text.as_str()).collect();
        assert_eq!(unknown, ["other", "x-y"]);
    }

    #[test]
    fn words_are_parsed_in_any_case() {
        for (written, expected) in [(" TRUE ", Some(true)), ("false", Some(false)), ("no", None)] {
            let node = tree(vec![("text", text(written))]);
            let record = TableRecord::new(&TABLE, &node, Coercion::Strict);
            assert_eq!(record.word("text").map(|word| word.value), expected, "{written}");
        }
    }

    #[test]
    fn scalars_are_coerced_only_in_lax_mode() {
        let value = |value: TreeValue| TreeNode::new(value, span(0));
        let cases = [
            (text("yes"), Some(true), None, None),
            (text("OFF"), Some(false), None, None),
            (text("1"), Some(true), Some(1), Some(1.0)),
            (text(" 12.0 "), None, Some(12), Some(12.0)),
            (text("1.5"), None, None, Some(1.5)),
            (text(""), None, None, None),
            (TreeValue::Bool(true), Some(true), Some(1), Some(1.0)),
            (TreeValue::Int(0), Some(false), Some(0), Some(0.0)),
            (TreeValue::Int(2), None, Some(2), Some(2.0)),
            (TreeValue::Float(1.0), Some(true), Some(1), Some(1.0)),
            (TreeValue::Float(0.5), None, None, Some(0.5)),
            (TreeValue::Float(1e300), None, None, Some(1e300)),
            (TreeValue::Float(f64::INFINITY), None, None, Some(f64::INFINITY)),
            (TreeValue::Null, None, None, None),
            (TreeValue::List(Vec::new()), None, None, None),
        ];
        for (written, flag, int, float) in cases {
            let node = value(written);
            assert_eq!(as_bool(&node, Coercion::Lax), flag, "{node:?}");
            assert_eq!(as_int(&node, Coercion::Lax), int, "{node:?}");
            assert_eq!(as_float(&node, Coercion::Lax), float, "{node:?}");
            if matches!(node.value, TreeValue::Str(_)) {
                assert_eq!(as_bool(&node, Coercion::Strict), None, "{node:?}");
                assert_eq!(as_int(&node, Coercion::Strict), None, "{node:?}");
                assert_eq!(as_float(&node, Coercion::Strict), None, "{node:?}");
            }
        }
    }
}
