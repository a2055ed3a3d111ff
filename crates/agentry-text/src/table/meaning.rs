//! Normalises a block to its meaning: two blocks that mean the same become equal.

use super::{FieldKind, FieldNeed, FieldTable};
use crate::data::Data;

/// Returns `data` with its documented keys, without default values and empty blocks.
pub fn meaning(table: &'static FieldTable, data: Data) -> Data {
    let Data::Map(entries) = data else { return data };
    let mut out: Vec<(String, Data)> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let Some(field) = table.field(&key) else {
            out.push((key, value));
            continue;
        };
        let value = of_kind(&field.kind, value);
        // Of a field in two spellings, the last one counts.
        out.retain(|(other, _)| other != field.name);
        let is_default =
            matches!(field.need, FieldNeed::Default(default) if is_same(&value, default));
        let is_empty_block = matches!((&field.kind, &value), (FieldKind::Block(_), Data::Map(entries)) if entries.is_empty());
        if !is_default && !is_empty_block {
            out.push((field.name.to_owned(), value));
        }
    }
    Data::Map(out)
}

fn of_kind(kind: &'static FieldKind, data: Data) -> Data {
    match (kind, data) {
        (FieldKind::Block(table), data) => meaning(table, data),
        (FieldKind::Map(kind), Data::Map(entries)) => {
            let entry = |(key, value)| (key, of_kind(kind, value));
            Data::Map(entries.into_iter().map(entry).collect())
        }
        (FieldKind::List(kind), Data::List(items)) => {
            Data::List(items.into_iter().map(|item| of_kind(kind, item)).collect())
        }
        (_, data) => data,
    }
}

/// Reports whether `data` equals the JSON text `default`; `1` and `1.0` are the same number.
fn is_same(data: &Data, default: &str) -> bool {
    let Ok(default) = serde_json::from_str::<serde_json::Value>(default) else { return false };
    let written = data.to_json();
    match (written.as_f64(), default.as_f64()) {
        (Some(written), Some(default)) => written.to_bits() == default.to_bits(),
        _ => written == default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ANY_FLOAT, Field, KeyMatching};

    static INNER: FieldTable = FieldTable::new(
        "the inner block",
        &[
            Field::default("on", FieldKind::Bool, "true", "a flag"),
            Field::default("weight", ANY_FLOAT, "1.0", "a number"),
            Field::optional("note", FieldKind::Str, "a text"),
        ],
    )
    .keys(KeyMatching::SnakeOrCamel);
    static TABLE: FieldTable = FieldTable::new(
        "the block",
        &[
            Field::default("kind", FieldKind::Str, "\"file\"", "a word"),
            Field::optional("inner_block", FieldKind::Block(&INNER), "more"),
            Field::optional("by_name", FieldKind::Map(&FieldKind::Block(&INNER)), "more by name"),
        ],
    )
    .keys(KeyMatching::SnakeOrCamel);

    fn data(json: &str) -> Data {
        let source = crate::SourceFile::new(crate::FileId(0), "x.json", json);
        crate::json::parse(&source, &mut crate::Findings::default()).to_data()
    }

    #[test]
    fn written_defaults_are_removed_from_the_meaning() {
        let cases = [
            (r#"{"kind": "file"}"#, "{}"),
            (r#"{"kind": "memory", "other": 1}"#, r#"{"kind":"memory","other":1}"#),
            (r#"{"innerBlock": {"on": true, "weight": 1}}"#, "{}"),
            (r#"{"innerBlock": {"on": false}}"#, r#"{"inner_block":{"on":false}}"#),
            (
                r#"{"by_name": {"a": {"on": true, "note": "x"}}}"#,
                r#"{"by_name":{"a":{"note":"x"}}}"#,
            ),
            (r#"{"by_name": {"a": {"on": true}}}"#, r#"{"by_name":{"a":{}}}"#),
            (r#"{"inner_block": 3}"#, r#"{"inner_block":3}"#),
        ];
        for (written, expected) in cases {
            let found = meaning(&TABLE, data(written)).to_json().to_string();
            assert_eq!(found, expected, "{written}");
        }
    }
}
