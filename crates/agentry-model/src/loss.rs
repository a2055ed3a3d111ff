//! What a conversion does not carry over: the difference between the agent that went in and the
//! agent that comes out when the result is read again. Nothing is listed by hand, so nothing can be
//! forgotten.

use agentry_policy::words;
use agentry_text::Data;

/// Something of the source that the result does not say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// The model's field: `max_turns`, `permissions.bash`, `tools.mcp.github`.
    pub field: String,
    /// What became of it.
    pub kind: LossKind,
    /// In words.
    pub detail: String,
}

words! {
    /// What became of a value.
    pub enum LossKind {
        /// It is not there any more.
        Dropped = "dropped",
        /// It is there with another value.
        Changed = "changed",
        /// The agent may do less than its source says.
        Narrowed = "narrowed",
    }
}

/// Every value of `before` that `after` does not have, as [`crate::tree::tree`] names them.
pub fn losses(before: &Data, after: &Data) -> Vec<Loss> {
    let mut out = Vec::new();
    compare("", before, after, &mut out);
    out
}

fn compare(path: &str, before: &Data, after: &Data, out: &mut Vec<Loss>) {
    match (before, after) {
        _ if before == after => {}
        (Data::Map(entries), Data::Map(_)) => {
            for (key, value) in entries {
                member(&join(path, key), value, after.get(key), out);
            }
        }
        (Data::List(items), Data::List(others)) if named(items) && named(others) => {
            for item in items {
                let name = name_of(item).unwrap_or("");
                let same = others.iter().find(|other| name_of(other) == Some(name));
                member(&join(path, name), item, same, out);
            }
        }
        _ => out.push(Loss {
            field: path.to_owned(),
            kind: LossKind::Changed,
            detail: format!("{} became {}", short(before), short(after)),
        }),
    }
}

fn member(path: &str, before: &Data, after: Option<&Data>, out: &mut Vec<Loss>) {
    // A block or a list of named things that is gone is told part by part, near the top of the tree.
    let depth = path.matches('.').count();
    match (after, before) {
        (Some(after), _) => compare(path, before, after, out),
        (None, Data::Map(entries)) if depth == 0 && !entries.is_empty() => {
            compare(path, before, &Data::Map(Vec::new()), out);
        }
        (None, Data::List(items)) if depth <= 1 && !items.is_empty() && named(items) => {
            compare(path, before, &Data::List(Vec::new()), out);
        }
        (None, _) => out.push(Loss {
            field: path.to_owned(),
            kind: LossKind::Dropped,
            detail: format!("{} has no place in the result", short(before)),
        }),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Whether every item of a list has a name of its own, so that it can be found again.
fn named(items: &[Data]) -> bool {
    let mut names: Vec<_> = items.iter().filter_map(name_of).collect();
    names.sort_unstable();
    names.dedup();
    names.len() == items.len()
}

fn name_of(item: &Data) -> Option<&str> {
    item.get("name").or_else(|| item.get("path")).and_then(Data::as_str)
}

/// A value in a few words, for a person.
fn short(data: &Data) -> String {
    match data {
        Data::List(items) if items.len() > 3 => format!("a list of {}", items.len()),
        Data::Map(entries) => format!("a block of {}", entries.len()),
        other => {
            let text = other.to_json().to_string();
            match text.char_indices().nth(48) {
                Some((at, _)) => format!("`{}…`", text.get(..at).unwrap_or("")),
                None => format!("`{text}`"),
            }
        }
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
}
