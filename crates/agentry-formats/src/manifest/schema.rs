//! A manifest as the reference implementation sees it before hashing: every field that it knows, defaults
//! for missing fields, and scalars converted to the type of their field.
//!
//! This describes another program. It must not grow with our field tables: one more field would change
//! the hash of every manifest.

use std::collections::HashMap;

use agentry_text::path::dotted;
use agentry_text::{Data, Span, TreeEntry, TreeKey, TreeMap, TreeNode, TreeValue, coercion};

use super::canonical;

/// Why a manifest has no hash: the reference rejects it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashRefusal {
    /// The value that is rejected.
    pub span: Span,
    /// The field, with its parents: `behavior.max_steps`; empty for the whole file.
    pub field: String,
    /// What the field should be, as the end of the sentence «`field` is not …».
    pub reason: String,
}

/// The shape of a field in the reference.
enum SchemaShape {
    /// A required string.
    Text,
    /// A string, with its default.
    TextOr(&'static str),
    /// A string or null.
    MaybeText,
    /// One of these values; the first is the default.
    Word(&'static [&'static str]),
    /// An integer, with its default.
    Int(i64),
    /// A number, with its default.
    Float(f64),
    /// A number or null.
    MaybeFloat,
    /// A boolean; false by default.
    Bool,
    /// A list of values of one shape.
    List(&'static SchemaShape),
    /// A map of values of one shape.
    Named(&'static SchemaShape),
    /// A map with these fields.
    Block(&'static [(&'static str, SchemaShape)]),
    /// A string, or a map of any values.
    TextOrMap,
    /// Any value.
    Any,
}

use SchemaShape::{
    Any, Block, Bool, Float, Int, List, MaybeFloat, MaybeText, Named, Text, TextOr, TextOrMap, Word,
};

const TEXTS: SchemaShape = List(&Text);

static MANIFEST: SchemaShape = Block(&[
    ("apiVersion", TextOr("agent/v1")),
    ("name", Text),
    ("version", TextOr("0.1.0")),
    ("author", MaybeText),
    ("license", MaybeText),
    ("description", MaybeText),
    ("tags", TEXTS),
    ("base", MaybeText),
    (
        "merge",
        Block(&[
            ("skills", Word(&["append", "override", "restrict"])),
            ("tools", Word(&["append", "override", "restrict"])),
            ("behavior", Word(&["override", "append"])),
            ("trust", Word(&["restrict"])),
        ]),
    ),
    (
        "model",
        Block(&[
            (
                "capability",
                Word(&["reasoning-mid", "reasoning-low", "reasoning-high", "reasoning-max"]),
            ),
            ("preferred", TEXTS),
            ("fallback", MaybeText),
            ("context", TextOr("full")),
        ]),
    ),
    (
        "auth",
        Block(&[
            ("strategy", Word(&["auto", "explicit", "none"])),
            ("providers", Named(&Block(&[("from_", MaybeText)]))),
        ]),
    ),
    ("skills", List(&TextOrMap)),
    ("tools", Block(&[("mcp", List(&TextOrMap)), ("native", TEXTS)])),
    (
        "memory",
        Block(&[
            ("working", Word(&["session", "none"])),
            ("long_term", Word(&["none", "local", "external"])),
            ("shared", Bool),
        ]),
    ),
    (
        "behavior",
        Block(&[
            ("persona", MaybeText),
            ("traits", TEXTS),
            ("temperature", Float(0.5)),
            ("max_steps", Int(20)),
            ("on_error", Word(&["ask", "retry", "fail", "skip"])),
            ("system_override", MaybeText),
        ]),
    ),
    (
        "expose",
        List(&Block(&[
            ("name", Text),
            ("description", MaybeText),
            ("input", Named(&Text)),
            ("output", MaybeText),
        ])),
    ),
    (
        "trust",
        Block(&[
            ("filesystem", Word(&["none", "read-only", "scoped", "full"])),
            ("network", Word(&["none", "allowed", "scoped"])),
            ("exec", Word(&["none", "sandboxed", "full"])),
            ("scope", TEXTS),
        ]),
    ),
    (
        "observability",
        Block(&[
            ("trace", Bool),
            ("cost_limit", MaybeFloat),
            ("step_limit", Int(50)),
            ("on_exceed", Word(&["abort", "ask"])),
        ]),
    ),
    (
        "agents",
        Named(&Block(&[("ref", Text), ("role", Word(&["subagent", "orchestrator", "validator"]))])),
    ),
    ("pipeline", List(&Block(&[("call", Text), ("output", MaybeText)]))),
    ("extensions", Named(&Any)),
    ("soul", MaybeText),
    ("rules", MaybeText),
]);

/// Returns the manifest as the reference sees it, or the first value that it rejects.
pub(super) fn apply(node: &TreeNode) -> Result<Data, HashRefusal> {
    let empty = TreeNode::empty_map(node.span);
    // An empty file parses as null, which the reference reads as no fields.
    let node = if node.value == TreeValue::Null { &empty } else { node };
    let Some(map) = node.as_map() else {
        return refuse(node, "", "a set of fields");
    };
    if let Some(entry) = map.entries.iter().find(|entry| entry.key.other.is_some()) {
        return Err(key_refusal(&entry.key, ""));
    }
    shaped(&MANIFEST, node, "")
}

fn shaped(shape: &'static SchemaShape, node: &TreeNode, path: &str) -> Result<Data, HashRefusal> {
    let null = node.value == TreeValue::Null;
    let found = match shape {
        MaybeText | MaybeFloat if null => Some(Data::Null),
        Text | TextOr(_) | MaybeText => node.as_str().map(Data::str),
        Word(words) => node.as_str().filter(|text| words.contains(text)).map(Data::str),
        Int(_) => int(node),
        Float(_) | MaybeFloat => float(node).map(Data::Float),
        Bool => boolean(node).map(Data::Bool),
        List(item) => match node.as_list() {
            Some(items) => return list(item, items, path),
            None => None,
        },
        Named(value) => match node.as_map() {
            Some(map) => return named(value, map, path),
            None => None,
        },
        Block(fields) => match node.as_map() {
            Some(map) => return block(fields, map, node, path),
            None => None,
        },
        TextOrMap => match &node.value {
            TreeValue::Str(text) => Some(Data::str(text)),
            TreeValue::Map(map) => return named(&Any, map, path),
            _ => None,
        },
        Any => return any(node, path),
    };
    found.map_or_else(|| refuse(node, path, &expected(shape)), Ok)
}

fn expected(shape: &SchemaShape) -> String {
    match shape {
        Text | TextOr(_) | MaybeText => "a string".to_owned(),
        Word(words) => format!("one of `{}`", words.join("`, `")),
        Int(_) => "a whole number".to_owned(),
        Float(_) | MaybeFloat => "a number".to_owned(),
        Bool => "a boolean".to_owned(),
        List(_) => "a list".to_owned(),
        Named(_) | Block(_) => "a map".to_owned(),
        TextOrMap => "a string or a map".to_owned(),
        Any => "plain data".to_owned(),
    }
}

fn refuse(node: &TreeNode, path: &str, expected: &str) -> Result<Data, HashRefusal> {
    Err(HashRefusal { span: node.span, field: path.to_owned(), reason: expected.to_owned() })
}

/// Returns the value of a missing field.
fn default(shape: &'static SchemaShape, node: &TreeNode, path: &str) -> Result<Data, HashRefusal> {
    Ok(match shape {
        TextOr(text) => Data::str(*text),
        Word(words) => words.first().map_or(Data::Null, |word| Data::str(*word)),
        Int(value) => Data::Int(*value),
        Float(value) => Data::Float(*value),
        Bool => Data::Bool(false),
        List(_) => Data::List(Vec::new()),
        Named(_) => Data::Map(Vec::new()),
        Block(fields) => return block(fields, &TreeMap::default(), node, path),
        MaybeText | MaybeFloat => Data::Null,
        Text | TextOrMap | Any => return refuse(node, path, "there"),
    })
}

fn block(
    fields: &'static [(&'static str, SchemaShape)],
    map: &TreeMap,
    node: &TreeNode,
    path: &str,
) -> Result<Data, HashRefusal> {
    let field = |(name, shape): &'static (&'static str, SchemaShape)| {
        let path = dotted(path, name);
        let value = match written(map, name) {
            Some(value) => shaped(shape, value, &path)?,
            None => default(shape, node, &path)?,
        };
        Ok(((*name).to_owned(), value))
    };
    fields.iter().map(field).collect::<Result<_, _>>().map(Data::Map)
}

/// Returns the value of a field; of `from_`, the spelling `from` comes first.
fn written<'n>(map: &'n TreeMap, name: &str) -> Option<&'n TreeNode> {
    let last = |name: &str| {
        let named = |entry: &&TreeEntry| entry.key.other.is_none() && entry.key.text == name;
        map.entries.iter().rev().find(named).map(|entry| &entry.value)
    };
    if name == "from_" { last("from").or_else(|| last(name)) } else { last(name) }
}

fn list(item: &'static SchemaShape, items: &[TreeNode], path: &str) -> Result<Data, HashRefusal> {
    let each = |(at, node): (usize, &TreeNode)| shaped(item, node, &dotted(path, &at.to_string()));
    items.iter().enumerate().map(each).collect::<Result<_, _>>().map(Data::List)
}

/// Reads a map whose keys must be strings. Of a repeated key, only the last value is validated.
fn named(value: &'static SchemaShape, map: &TreeMap, path: &str) -> Result<Data, HashRefusal> {
    let mut last: HashMap<&str, usize> = HashMap::with_capacity(map.entries.len());
    for (at, TreeEntry { key, .. }) in map.entries.iter().enumerate() {
        if key.other.is_some() {
            return Err(key_refusal(key, path));
        }
        last.insert(&key.text, at);
    }
    let mut out = Vec::with_capacity(last.len());
    for (at, TreeEntry { key, value: node }) in map.entries.iter().enumerate() {
        if last.get(key.text.as_str()) == Some(&at) {
            out.push((key.text.clone(), shaped(value, node, &dotted(path, &key.text))?));
        }
    }
    Ok(Data::Map(out))
}

fn key_refusal(key: &TreeKey, path: &str) -> HashRefusal {
    let reason = "named by a string".to_owned();
    HashRefusal { span: key.span, field: dotted(path, &key.text), reason }
}

/// Converts any value to JSON: infinities become null, dates and keys become strings.
fn any(node: &TreeNode, path: &str) -> Result<Data, HashRefusal> {
    Ok(match &node.value {
        TreeValue::Bool(value) => Data::Bool(*value),
        TreeValue::Int(value) => Data::Int(*value),
        TreeValue::Big(value) => Data::Big(value.clone()),
        TreeValue::Float(value) if value.is_finite() => Data::Float(*value),
        TreeValue::Null | TreeValue::Float(_) => Data::Null,
        TreeValue::Str(text) | TreeValue::Date(text) => Data::str(text),
        TreeValue::List(items) => return list(&Any, items, path),
        TreeValue::Map(map) => return any_map(map, path),
        TreeValue::Call(..) => return refuse(node, path, "plain data"),
    })
}

/// Reads a map with keys of any type. Keys that are equal in the reference become one entry: the
/// first key stays, with the last value. Then keys become strings, and of equal strings the last value wins.
fn any_map(map: &TreeMap, path: &str) -> Result<Data, HashRefusal> {
    let mut equal = KeyedEntries::default();
    let mut texts: Vec<String> = Vec::with_capacity(map.entries.len());
    for TreeEntry { key, value } in &map.entries {
        let text = key_text(key);
        let value = any(value, &dotted(path, &text))?;
        if equal.set(identity(key), value) {
            texts.push(text);
        }
    }
    let mut out = KeyedEntries::default();
    for (text, (_, value)) in texts.into_iter().zip(equal.entries) {
        out.set(text, value);
    }
    Ok(Data::Map(out.entries))
}

/// Returns a key as JSON spells it.
fn key_text(key: &TreeKey) -> String {
    match key.other.as_deref() {
        None | Some(TreeValue::Call(..) | TreeValue::List(_) | TreeValue::Map(_)) => {
            key.text.clone()
        }
        Some(TreeValue::Bool(value)) => value.to_string(),
        Some(TreeValue::Int(value)) => value.to_string(),
        Some(TreeValue::Big(value)) => value.to_string(),
        Some(TreeValue::Float(value)) if value.is_finite() => canonical::float(*value),
        // Not `null`: this is how the reference spells such a key.
        Some(TreeValue::Null | TreeValue::Float(_)) => "None".to_owned(),
        Some(TreeValue::Date(text) | TreeValue::Str(text)) => text.clone(),
    }
}

/// Returns a text that is equal for equal keys: `1`, `1.0` and `true` are equal, `1` and `"1"` are not.
fn identity(key: &TreeKey) -> String {
    let number = match key.other.as_deref() {
        None => return format!("text {}", key.text),
        Some(TreeValue::Bool(value)) => u8::from(*value).to_string(),
        Some(TreeValue::Int(value)) => value.to_string(),
        Some(TreeValue::Big(value)) => value.to_string(),
        // NaN is not even equal to itself.
        Some(TreeValue::Float(value)) if value.is_nan() => format!("nan at {}", key.span.start),
        // Adding zero turns -0.0 into 0.0, which is equal to it.
        Some(TreeValue::Float(value)) => format!("{}", value + 0.0),
        Some(other) => return format!("{} {}", other.describe(), key_text(key)),
    };
    format!("number {number}")
}

/// Entries in order, where a repeated key replaces the value of the first.
#[derive(Default)]
struct KeyedEntries {
    entries: Vec<(String, Data)>,
    places: HashMap<String, usize>,
}

impl KeyedEntries {
    /// Sets a key; returns whether it is new.
    fn set(&mut self, key: String, value: Data) -> bool {
        match self.places.get(&key).and_then(|at| self.entries.get_mut(*at)) {
            Some(slot) => {
                slot.1 = value;
                false
            }
            None => {
                self.places.insert(key.clone(), self.entries.len());
                self.entries.push((key, value));
                true
            }
        }
    }
}

fn int(node: &TreeNode) -> Option<Data> {
    match &node.value {
        TreeValue::Int(value) => Some(Data::Int(*value)),
        TreeValue::Big(value) => Some(Data::Big(value.clone())),
        TreeValue::Bool(value) => Some(Data::Int(i64::from(*value))),
        TreeValue::Float(value) => coercion::int_of_float(*value).map(Data::Int),
        TreeValue::Str(text) => coercion::int_of_text(text).map(Data::Big),
        _ => None,
    }
}

fn float(node: &TreeNode) -> Option<f64> {
    agentry_text::record::as_float(node, agentry_text::table::Coercion::Lax)
}

fn boolean(node: &TreeNode) -> Option<bool> {
    agentry_text::record::as_bool(node, agentry_text::table::Coercion::Lax)
}
