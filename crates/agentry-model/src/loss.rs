//! What a conversion drops, changes or adds: the difference between the source and the result after
//! it is read again. No list is kept by hand, so nothing can be forgotten.

use agentry_policy::words;
use agentry_text::Data;
use agentry_text::path::dotted;
use agentry_text::report::cut;

/// A difference between source and result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConversionLoss {
    /// The field of the model: `max_turns`, `permissions.bash`, `tools.mcp.github`.
    pub field: String,
    /// The kind of difference.
    pub kind: ConversionLossKind,
    /// A description for people.
    pub detail: String,
}

words! {
    /// The kind of a difference.
    pub enum ConversionLossKind {
        /// The result does not have it.
        Dropped = "dropped",
        /// The result has another value.
        Changed = "changed",
        /// The agent may do less than its source grants.
        Narrowed = "narrowed",
        /// The result has a value that the source does not have; nothing is lost.
        Added = "added",
    }
}

/// Returns every value of `before` that `after` does not have, by the paths of [`crate::tree::tree`].
pub fn losses(before: &Data, after: &Data) -> Vec<ConversionLoss> {
    let mut out = Vec::new();
    compare("", before, after, &mut |path, value, other| {
        let (kind, detail) = match other {
            Some(other) => (ConversionLossKind::Changed, change(value, other)),
            None => (
                ConversionLossKind::Dropped,
                format!("{} has no place in the result", short(value)),
            ),
        };
        out.push(ConversionLoss { field: path.to_owned(), kind, detail });
    });
    out
}

/// Returns every value of `after` that `before` does not have.
/// A text that `before` has in another field was moved, so it is not listed.
pub fn additions(before: &Data, after: &Data) -> Vec<ConversionLoss> {
    let mut out = Vec::new();
    compare("", after, before, &mut |path, value, other| {
        if other.is_none() && !contains_text(before, value) {
            let detail = format!("{} is not in the source", short(value));
            out.push(ConversionLoss {
                field: path.to_owned(),
                kind: ConversionLossKind::Added,
                detail,
            });
        }
    });
    out
}

/// Reports whether the text `value` is somewhere in `data`, as a whole or as a part with several words.
fn contains_text(data: &Data, value: &Data) -> bool {
    let Some(text) = value.as_str().map(str::trim) else { return false };
    match data {
        // A single word may be part of another text by chance, so it must match as a whole.
        Data::Str(other) => other.trim() == text || (text.contains(' ') && other.contains(text)),
        Data::List(items) => items.iter().any(|item| contains_text(item, value)),
        Data::Map(entries) => entries.iter().any(|(_, item)| contains_text(item, value)),
        _ => false,
    }
}

/// Gets the path of a value, the value, and the value of the other side, if there is one.
type DifferenceVisitor<'a> = dyn FnMut(&str, &Data, Option<&Data>) + 'a;

/// Calls `differs` for every value of `one` that is missing or different in `other`.
fn compare(path: &str, one: &Data, other: &Data, differs: &mut DifferenceVisitor<'_>) {
    match (one, other) {
        _ if one == other => {}
        (Data::Map(entries), Data::Map(_)) => {
            for (key, value) in entries {
                member(&dotted(path, key), value, other.get(key), differs);
            }
        }
        // Items are matched by name, so that another order is no difference.
        (Data::List(items), Data::List(others)) if named(items) && named(others) => {
            for item in items {
                let name = name_of(item).unwrap_or("");
                let same = others.iter().find(|other| name_of(other) == Some(name));
                member(&dotted(path, name), item, same, differs);
            }
        }
        _ => differs(path, one, Some(other)),
    }
}

fn member(path: &str, one: &Data, other: Option<&Data>, differs: &mut DifferenceVisitor<'_>) {
    // Near the top of the tree, a missing block or list of named items is listed item by item.
    let depth = path.matches('.').count();
    match (other, one) {
        (Some(other), _) => compare(path, one, other, differs),
        (None, Data::Map(entries)) if depth == 0 && !entries.is_empty() => {
            compare(path, one, &Data::Map(Vec::new()), differs);
        }
        (None, Data::List(items)) if depth <= 1 && !items.is_empty() && named(items) => {
            compare(path, one, &Data::List(Vec::new()), differs);
        }
        (None, _) => differs(path, one, None),
    }
}

/// Reports whether every item of a list has a unique name, by which it can be matched.
fn named(items: &[Data]) -> bool {
    let mut names: Vec<_> = items.iter().filter_map(name_of).collect();
    names.sort_unstable();
    names.dedup();
    names.len() == items.len()
}

fn name_of(item: &Data) -> Option<&str> {
    item.get("name").or_else(|| item.get("path")).and_then(Data::as_str)
}

/// Returns a short form of a value for messages.
/// The text of a change. Two long texts are shown only if their beginnings differ.
fn change(value: &Data, other: &Data) -> String {
    let (old, new) = (short(value), short(other));
    if old != new {
        return format!("{old} became {new}");
    }
    match (value, other) {
        (Data::Str(value), Data::Str(other)) if value.trim() == other.trim() => {
            format!("{old}: the white space around it changed")
        }
        (Data::Str(_), Data::Str(_)) => format!("{old}: its end changed"),
        _ => format!("{old} changed"),
    }
}

fn short(data: &Data) -> String {
    match data {
        Data::List(items) if items.len() > 3 => format!("a list of {}", items.len()),
        Data::Map(entries) => format!("a block of {}", entries.len()),
        other => format!("`{}`", cut(&other.to_json().to_string(), 48)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(json: &str) -> Data {
        fn of(value: &serde_json::Value) -> Data {
            match value {
                serde_json::Value::String(text) => Data::str(text),
                serde_json::Value::Array(items) => Data::List(items.iter().map(of).collect()),
                serde_json::Value::Object(entries) => {
                    Data::Map(entries.iter().map(|(k, v)| (k.clone(), of(v))).collect())
                }
                other => Data::Int(other.as_i64().unwrap_or_default()),
            }
        }
        of(&serde_json::from_str(json).expect("json"))
    }

    #[test]
    fn losses_name_the_field() {
        let cases = [
            (r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#, vec![]),
            (
                r#"{"a": 1, "b": {"c": 2, "d": 3}}"#,
                r#"{"a": 1, "b": {"c": 2}}"#,
                vec!["b.d dropped"],
            ),
            (r#"{"a": [1, 2]}"#, r#"{"a": [1]}"#, vec!["a changed"]),
            (
                r#"{"mcp": [{"name": "x", "url": "u"}, {"name": "y"}]}"#,
                r#"{"mcp": [{"name": "x"}]}"#,
                vec!["mcp.x.url dropped", "mcp.y dropped"],
            ),
        ];
        for (before, after, expected) in cases {
            let found = losses(&data(before), &data(after));
            let found: Vec<_> = found.iter().map(|l| format!("{} {}", l.field, l.kind)).collect();
            assert_eq!(found, expected, "{before}");
        }
    }

    #[test]
    fn additions_are_values_missing_in_the_source() {
        let cases = [
            (r#"{"a": 1, "b": 2}"#, r#"{"a": 1}"#, vec![]),
            (r#"{"a": 1}"#, r#"{"a": 2, "b": 2}"#, vec!["b added"]),
            (r#"{"name": "x"}"#, r#"{"name": "x", "title": "x", "c": "y"}"#, vec!["c added"]),
            (
                r#"{"system": "You help. You are kind."}"#,
                r#"{"description": "You help.", "role": "Be"}"#,
                vec!["role added"],
            ),
            (
                r#"{"mcp": [{"name": "x"}]}"#,
                r#"{"mcp": [{"name": "x", "url": "u"}, {"name": "z"}]}"#,
                vec!["mcp.x.url added", "mcp.z added"],
            ),
            ("{}", r#"{"a": {"b": {"c": 1}, "d": 2}}"#, vec!["a.b added", "a.d added"]),
        ];
        for (before, after, expected) in cases {
            let found = additions(&data(before), &data(after));
            let found: Vec<_> = found.iter().map(|l| format!("{} {}", l.field, l.kind)).collect();
            assert_eq!(found, expected, "{before}");
        }
    }
}
