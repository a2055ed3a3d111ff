//! Writes plain data as TOML in the usual style: scalars first, then tables with headers, long
//! lists with one item per line.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use crate::data::Data;

/// The most columns of a list on one line.
const WIDTH: usize = 80;

/// Writes `data`, which must be a map; other data gives an empty text.
/// Null is left out, a call becomes its text, and an integer beyond 64 bits becomes a string.
pub fn emit(data: &Data) -> String {
    let Data::Map(entries) = data else { return String::new() };
    let mut document = DocumentMut::new();
    *document.as_table_mut() = table(entries);
    document.to_string().trim_start_matches('\n').to_owned()
}

fn table(entries: &[(String, Data)]) -> Table {
    let mut table = Table::new();
    for (key, value) in entries {
        if let Some(item) = item(key, value) {
            table.insert(key, item);
        }
    }
    // A table that has only tables needs no header.
    let only_tables = |item: &Item| item.is_table() || item.is_array_of_tables();
    table.set_implicit(!table.is_empty() && table.iter().all(|(_, item)| only_tables(item)));
    table
}

fn item(key: &str, data: &Data) -> Option<Item> {
    match data {
        Data::Map(entries) => Some(Item::Table(table(entries))),
        Data::List(items) => match tables(items) {
            Some(tables) => Some(Item::ArrayOfTables(tables)),
            None => Some(Item::Value(Value::Array(array(items, key.len() + 3)))),
        },
        _ => value(data).map(Item::Value),
    }
}

/// Returns the list as tables with `[[…]]` headers, if it has only maps.
fn tables(items: &[Data]) -> Option<ArrayOfTables> {
    let mut tables = ArrayOfTables::new();
    for item in items {
        let Data::Map(entries) = item else { return None };
        let mut table = table(entries);
        // Each item needs its `[[…]]` header, even if it has only tables.
        table.set_implicit(false);
        tables.push(table);
    }
    (!items.is_empty()).then_some(tables)
}

/// Returns a list that starts in column `indent`, on one line if it is short enough.
fn array(items: &[Data], indent: usize) -> Array {
    let mut array: Array = items.iter().filter_map(value).collect();
    if indent + array.to_string().chars().count() > WIDTH {
        for value in array.iter_mut() {
            value.decor_mut().set_prefix("\n    ");
        }
        array.set_trailing_comma(true);
        array.set_trailing("\n");
    }
    array
}

/// Returns the value on one line; `None` for null.
fn value(data: &Data) -> Option<Value> {
    Some(match data {
        Data::Null => return None,
        Data::Bool(value) => Value::from(*value),
        Data::Int(value) => Value::from(*value),
        Data::Big(value) => Value::from(value.to_string()),
        Data::Float(value) => Value::from(*value),
        Data::Str(text) => Value::from(text.as_str()),
        Data::Call(..) => Value::from(data.to_json().as_str().unwrap_or_default()),
        Data::List(items) => Value::Array(items.iter().filter_map(value).collect()),
        Data::Map(entries) => {
            let pairs = entries.iter().filter_map(|(key, data)| Some((key, value(data)?)));
            Value::InlineTable(pairs.collect::<InlineTable>())
        }
    })
}
