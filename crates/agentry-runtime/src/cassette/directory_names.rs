//! Replaces the directories of this machine in cassettes by names that work on every machine.

use std::path::Path;

use serde_json::Value;

/// The directories that a cassette does not spell out.
#[derive(Debug, Clone, Default)]
pub struct CassettePaths {
    /// Name and path, the longest path first: a nested directory must be replaced before its parent.
    places: Vec<(String, String)>,
}

impl CassettePaths {
    /// Creates it from directories and their names: `workspace` is written as `<<workspace>>`.
    pub fn new<'a>(places: impl IntoIterator<Item = (&'a str, &'a Path)>) -> Self {
        let places = places.into_iter().filter_map(|(name, path)| {
            let path = path.to_str()?.trim_end_matches('/');
            (!path.is_empty()).then(|| (format!("<<{name}>>"), path.to_owned()))
        });
        let mut places: Vec<_> = places.collect();
        places.sort_by_key(|(_, path)| std::cmp::Reverse(path.len()));
        Self { places }
    }

    /// Replaces the directories of this machine by their names.
    pub(super) fn hide(&self, value: Value) -> Value {
        texts(value, &|text| self.hidden(&text))
    }

    /// Replaces the names by the directories of this machine.
    pub(super) fn show(&self, value: Value) -> Value {
        let change = |text: String, (name, path): &(String, String)| {
            if text.contains(name.as_str()) { text.replace(name, path) } else { text }
        };
        texts(value, &|text| self.places.iter().fold(text, change))
    }

    fn hidden(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (name, path)| replaced(&text, path, name))
    }
}

/// Replaces `path` by `name` wherever it is a whole path or the start of a longer one.
fn replaced(text: &str, path: &str, name: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut before = None;
    while let Some(at) = rest.find(path) {
        let (head, tail) = rest.split_at(at);
        let tail = tail.get(path.len()..).unwrap_or_default();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let starts = !head.chars().next_back().or(before).is_some_and(|c| is_part(c) || c == '/');
        let ends = !tail.starts_with(is_part);
        out.push_str(head);
        out.push_str(if starts && ends { name } else { path });
        before = path.chars().next_back();
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Changes every text in a value.
fn texts(value: Value, change: &dyn Fn(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.into_iter().map(|item| texts(item, change)).collect(),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, texts(value, change))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn machine_directories_become_placeholders() {
        let places = CassettePaths::new([
            ("home", Path::new("/srv/me")),
            ("workspace", Path::new("/srv/me/w/")),
        ]);
        let cases = [
            ("/srv/me/w/src/a.rs", "<<workspace>>/src/a.rs"),
            ("in /srv/me/w.", "in <<workspace>>."),
            ("/srv/me/work", "<<home>>/work"),
            ("/srv/menu", "/srv/menu"),
            ("/mnt/srv/me", "/mnt/srv/me"),
            ("/srv/me/w:/srv/me", "<<workspace>>:<<home>>"),
        ];
        for (text, hidden) in cases {
            let value = json!({ "a": [text] });
            assert_eq!(places.hide(value.clone()), json!({ "a": [hidden] }), "{text}");
            assert_eq!(places.show(json!({ "a": [hidden] })), value, "{text}");
        }
    }
}
