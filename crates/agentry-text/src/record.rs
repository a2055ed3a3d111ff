//! The cursor of every reader: picks typed values out of a map that was validated against its table.
//!
//! A getter gives `None` for what is absent and for what has the wrong type: the latter was reported
//! by [`crate::table::validate`] already, so a reader can go on without a word.

use std::str::FromStr;

use crate::data::Data;
use crate::lax;
use crate::source::{Span, Spanned};
use crate::table::{Coerce, Table};
use crate::tree::{Entry, Map, Node, Value};

/// A map, seen through its field table.
#[derive(Debug, Clone, Copy)]
pub struct Record<'t> {
    table: &'static Table,
    map: Option<&'t Map>,
    coerce: Coerce,
    span: Span,
}

impl<'t> Record<'t> {
    /// The map of `node`, or an empty one if it is no map.
    pub fn new(table: &'static Table, node: &'t Node, coerce: Coerce) -> Self {
        Self { table, map: node.as_map(), coerce, span: node.span }
    }

    /// Where the whole map was written.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The entries of fields that the table does not have, extensions included.
    pub fn unknown(&self) -> impl Iterator<Item = &'t Entry> {
        let table = self.table;
        let entries = self.map.map(|map| map.entries.as_slice()).unwrap_or_default();
        entries.iter().filter(move |entry| table.field(&entry.key.text).is_none())
    }

    /// The entry of `name`; of several spellings, the last.
    pub fn entry(&self, name: &str) -> Option<&'t Entry> {
        debug_assert!(self.table.field(name).is_some(), "{} has no {name}", self.table.title);
        let table = self.table;
        let named =
            |entry: &&Entry| table.field(&entry.key.text).is_some_and(|field| field.name == name);
        self.map?.entries.iter().rev().find(named)
    }

    /// The value of `name`, whatever it is, unless it is null.
    pub fn node(&self, name: &str) -> Option<&'t Node> {
        self.entry(name).map(|entry| &entry.value).filter(|node| node.value != Value::Null)
    }

    /// Whether `name` was written, even as null.
    pub fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// A text.
    pub fn str(&self, name: &str) -> Option<Spanned<String>> {
        self.node(name)?.to_spanned()
    }

    /// A boolean.
    pub fn bool(&self, name: &str) -> Option<Spanned<bool>> {
        let node = self.node(name)?;
        as_bool(node, self.coerce).map(|value| Spanned::new(value, node.span))
    }

    /// A whole number.
    pub fn int(&self, name: &str) -> Option<Spanned<i64>> {
        let node = self.node(name)?;
        as_int(node, self.coerce).map(|value| Spanned::new(value, node.span))
    }

    /// A number.
    pub fn float(&self, name: &str) -> Option<Spanned<f64>> {
        let node = self.node(name)?;
        as_float(node, self.coerce).map(|value| Spanned::new(value, node.span))
    }

    /// A word that `T` knows, without regard to case or surrounding space.
    pub fn word<T: FromStr>(&self, name: &str) -> Option<Spanned<T>> {
        let text = self.str(name)?;
        let value = text.value.trim().to_lowercase().parse().ok()?;
        Some(Spanned::new(value, text.span))
    }

    /// A list of texts; one text counts as a list of one. Items of another type are left out.
    pub fn strings(&self, name: &str) -> Option<Vec<Spanned<String>>> {
        let node = self.node(name)?;
        match &node.value {
            Value::Str(text) => Some(vec![Spanned::new(text.clone(), node.span)]),
            Value::List(items) => Some(items.iter().filter_map(Node::to_spanned).collect()),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn list(&self, name: &str) -> Option<&'t [Node]> {
        self.node(name)?.as_list()
    }

    /// The entries of a map whose keys the author chooses.
    pub fn map(&self, name: &str) -> Option<&'t Map> {
        self.node(name)?.as_map()
    }

    /// A map with fields of its own.
    pub fn record(&self, name: &str, table: &'static Table) -> Option<Record<'t>> {
        let node = self.node(name)?;
        node.as_map()?;
        Some(Record::new(table, node, self.coerce))
    }

    /// The value without its places.
    pub fn data(&self, name: &str) -> Option<Spanned<Data>> {
        self.node(name).map(|node| Spanned::new(node.to_data(), node.span))
    }
}

/// The boolean that `node` is, or may stand for.
pub fn as_bool(node: &Node, coerce: Coerce) -> Option<bool> {
    match (&node.value, coerce) {
        (Value::Bool(value), _) => Some(*value),
        (Value::Int(0), Coerce::Lax) => Some(false),
        (Value::Int(1), Coerce::Lax) => Some(true),
        (Value::Float(value), Coerce::Lax) if *value == 0.0 => Some(false),
        (Value::Float(value), Coerce::Lax) if (*value - 1.0).abs() < f64::EPSILON / 2.0 => {
            Some(true)
        }
        (Value::Str(text), Coerce::Lax) => lax::bool_of_text(text),
        _ => None,
    }
}

/// The whole number that `node` is, or may stand for.
pub fn as_int(node: &Node, coerce: Coerce) -> Option<i64> {
    match (&node.value, coerce) {
        (Value::Int(value), _) => Some(*value),
        (Value::Bool(value), Coerce::Lax) => Some(i64::from(*value)),
        (Value::Float(value), Coerce::Lax) => lax::int_of_float(*value),
        (Value::Str(text), Coerce::Lax) => i64::try_from(lax::int_of_text(text)?).ok(),
        _ => None,
    }
}

/// The number that `node` is, or may stand for.
#[expect(clippy::cast_precision_loss, reason = "a number field takes whole numbers as floats")]
pub fn as_float(node: &Node, coerce: Coerce) -> Option<f64> {
    match (&node.value, coerce) {
        (Value::Float(value), _) => Some(*value),
        (Value::Int(value), _) => Some(*value as f64),
        (Value::Big(value), _) => lax::float_of_big(value),
        (Value::Bool(value), Coerce::Lax) => Some(f64::from(u8::from(*value))),
        (Value::Str(text), Coerce::Lax) => lax::float_of_text(text),
        _ => None,
    }
}
