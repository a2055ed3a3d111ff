//! A field table as JSON Schema 2020-12, for editors.
//!
//! The schema is as strict as [`crate::table::Coercion::Strict`], with three differences. Where a
//! table ignores the case of keys, the schema has only the documented spelling. An empty field
//! (`tags:`), which a reader takes as absent, is an error in the schema. Unknown keys are allowed
//! where a reader only warns about them.

use serde_json::{Map, Value, json};

use crate::table::{Field, FieldKind, FieldNeed, FieldTable, KeyMatching, TextForm, UnknownKeys};

/// Returns the schema of a document with the fields of `table`; `id` is its address.
pub fn json_schema(table: &'static FieldTable, id: &str, title: &str) -> Value {
    let writer = SchemaWriter { root: table, shared: shared(table) };
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("$id".into(), id.into());
    schema.insert("title".into(), title.into());
    schema.extend(writer.object(table));
    let named = writer.shared.iter();
    let definitions: Map<_, _> =
        named.map(|(name, table)| (name.clone(), writer.object(table).into())).collect();
    if !definitions.is_empty() {
        schema.insert("$defs".into(), definitions.into());
    }
    schema.into()
}

struct SchemaWriter {
    root: &'static FieldTable,
    /// The tables in `$defs`, by name.
    shared: Vec<(String, &'static FieldTable)>,
}

impl SchemaWriter {
    fn object(&self, table: &'static FieldTable) -> Map<String, Value> {
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        if table.keys == KeyMatching::AnyCase {
            schema.insert("$comment".into(), "upper and lower case of keys do not matter".into());
        }
        schema.insert("properties".into(), self.properties(table).into());
        let required = table.fields.iter().filter(|field| field.need == FieldNeed::Required);
        let (plain, spelt): (Vec<_>, Vec<_>) =
            required.partition(|field| spellings(table, field).is_empty());
        if !plain.is_empty() {
            let names: Vec<_> = plain.iter().map(|field| field.name).collect();
            schema.insert("required".into(), names.into());
        }
        if !spelt.is_empty() {
            // A field with several spellings cannot be listed in `required`; any one of them must be present.
            let one_of_them = spelt.iter().map(|field| any_spelling(table, field)).collect();
            schema.insert("allOf".into(), Value::Array(one_of_them));
        }
        schema.insert("patternProperties".into(), json!({ "^(x-|x_|X-)": {} }));
        let open = table.unknown != UnknownKeys::Error;
        schema.insert("additionalProperties".into(), open.into());
        schema
    }

    fn properties(&self, table: &'static FieldTable) -> Map<String, Value> {
        let mut properties = Map::new();
        for field in table.fields {
            let schema = self.field(field);
            properties.insert(field.name.to_owned(), schema.clone().into());
            for other in spellings(table, field) {
                let mut schema = schema.clone();
                let description = format!("Another spelling of `{}`: {}", field.name, field.doc);
                schema.insert("description".into(), description.into());
                properties.insert(other, schema.into());
            }
        }
        properties
    }

    fn field(&self, field: &'static Field) -> Map<String, Value> {
        if let FieldNeed::Excluded(why) = field.need {
            return object(json!({ "not": {}, "description": format!("Not allowed: {why}") }));
        }
        let mut schema = self.kind(&field.kind);
        schema.insert("description".into(), field.doc.into());
        if let FieldNeed::Default(default) = field.need
            && let Ok(default) = serde_json::from_str(default)
        {
            schema.insert("default".into(), default);
        }
        schema
    }

    fn kind(&self, kind: &'static FieldKind) -> Map<String, Value> {
        object(match kind {
            FieldKind::Str => json!({ "type": "string" }),
            FieldKind::Line => json!({ "type": "string", "pattern": "^[^\\r\\n]*[\\r\\n]*$" }),
            FieldKind::Form(form) => return text_of(form),
            FieldKind::Forms(form) => json!({ "anyOf": [
                { "type": "string", "pattern": form.list() },
                { "type": "array", "items": text_of(form) },
            ] }),
            FieldKind::Bool => json!({ "type": "boolean" }),
            FieldKind::Int(least, most) => return whole_number(*least, *most),
            FieldKind::Float(least, most) => return number(*least, *most),
            FieldKind::Semver => {
                json!({ "type": "string", "pattern": semver(), "examples": ["1.0.0"] })
            }
            FieldKind::Choice(words) => json!({ "enum": words }),
            FieldKind::ChoiceAnyCase(words) => {
                json!({ "type": "string", "pattern": any_case(words), "examples": words })
            }
            FieldKind::Known(words) => json!({ "type": "string", "examples": words }),
            FieldKind::List(item) => json!({ "type": "array", "items": self.kind(item) }),
            FieldKind::Strings => json!({ "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" } },
            ] }),
            FieldKind::Map(value) => {
                json!({ "type": "object", "additionalProperties": self.kind(value) })
            }
            FieldKind::Block(table) => return self.block(table),
            FieldKind::Either(kinds) => {
                let kinds: Vec<_> = kinds.iter().map(|kind| self.kind(kind)).collect();
                json!({ "anyOf": kinds })
            }
            FieldKind::Any => json!({}),
        })
    }

    fn block(&self, table: &'static FieldTable) -> Map<String, Value> {
        // A recursive table refers to the document; written out, the schema would be infinite.
        if std::ptr::eq(table, self.root) {
            return object(json!({ "$ref": "#" }));
        }
        match self.shared.iter().find(|(_, shared)| std::ptr::eq(*shared, table)) {
            Some((name, _)) => object(json!({ "$ref": format!("#/$defs/{name}") })),
            None => self.object(table),
        }
    }
}

/// Returns the fields of a JSON object.
fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

/// Returns the schema of a text of a certain form.
fn text_of(form: &TextForm) -> Map<String, Value> {
    object(json!({ "type": "string", "pattern": form.one(), "examples": form.examples }))
}

/// Returns the condition that one spelling of a required field is present.
fn any_spelling(table: &'static FieldTable, field: &Field) -> Value {
    let others = spellings(table, field);
    let names = std::iter::once(field.name.to_owned()).chain(others);
    let required: Vec<_> = names.map(|name| json!({ "required": [name] })).collect();
    json!({ "anyOf": required })
}

fn whole_number(least: i64, most: i64) -> Map<String, Value> {
    let mut schema = object(json!({ "type": "integer" }));
    if least > i64::MIN {
        schema.insert("minimum".into(), least.into());
    }
    if most < i64::MAX {
        schema.insert("maximum".into(), most.into());
    }
    schema
}

fn number(least: f64, most: f64) -> Map<String, Value> {
    let mut schema = object(json!({ "type": "number" }));
    for (name, bound) in [("minimum", least), ("maximum", most)] {
        // JSON has no infinity, so an open bound is left out.
        if bound.is_finite() {
            schema.insert(name.into(), bound.into());
        }
    }
    schema
}

/// Returns the pattern of a semantic version.
fn semver() -> String {
    let number = "(0|[1-9][0-9]*)";
    let before = "(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)";
    let build = "[0-9A-Za-z-]+";
    format!("^{number}\\.{number}\\.{number}(-{before}(\\.{before})*)?(\\+{build}(\\.{build})*)?$")
}

/// Returns the pattern of one of the words in any case, with white space around it.
fn any_case(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| word.chars().map(letter).collect()).collect();
    format!("^\\s*({})\\s*$", words.join("|"))
}

/// Returns the pattern of a character in either case.
fn letter(c: char) -> String {
    match c {
        // Patterns of JSON Schema have no flag to ignore case.
        'a'..='z' | 'A'..='Z' => format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase()),
        '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' => {
            format!("\\{c}")
        }
        c => c.to_string(),
    }
}

/// Returns the other spellings of a field that can be listed.
fn spellings(table: &FieldTable, field: &Field) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in std::iter::once(&field.name).chain(field.aliases) {
        let styled = match table.keys {
            KeyMatching::SnakeOrCamel => styles(name),
            KeyMatching::Exact | KeyMatching::AnyCase => Vec::new(),
        };
        for spelling in std::iter::once((*name).to_owned()).chain(styled) {
            if spelling != field.name && !names.contains(&spelling) {
                names.push(spelling);
            }
        }
    }
    names
}

/// Returns a name in `snake_case`, `kebab-case` and `camelCase`.
fn styles(name: &str) -> Vec<String> {
    let mut snake = String::new();
    for c in name.chars() {
        match c {
            '-' => snake.push('_'),
            c if c.is_uppercase() && !snake.is_empty() && !snake.ends_with('_') => {
                snake.push('_');
                snake.extend(c.to_lowercase());
            }
            c => snake.extend(c.to_lowercase()),
        }
    }
    let mut camel = String::new();
    let mut up = false;
    for c in snake.chars() {
        match c {
            '_' => up = !camel.is_empty(),
            c if std::mem::take(&mut up) => camel.extend(c.to_uppercase()),
            c => camel.push(c),
        }
    }
    vec![snake.clone(), snake.replace('_', "-"), camel]
}

/// Returns the tables below `root` that are used more than once, each with a unique name.
fn shared(root: &'static FieldTable) -> Vec<(String, &'static FieldTable)> {
    let mut uses = Vec::new();
    count(root, &mut uses);
    let mut named: Vec<(String, &'static FieldTable)> = Vec::new();
    let again = uses.iter().filter(|(table, times)| *times > 1 && !std::ptr::eq(*table, root));
    for (table, _) in again {
        let plain = table.title.to_lowercase();
        let words: Vec<_> = plain.split(|c: char| !c.is_alphanumeric()).collect();
        let base = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
        // Two tables may have the same title, but names in `$defs` are unique.
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let free = |name: &String| named.iter().all(|(other, _)| other != name);
        if let Some(name) = std::iter::once(base.clone()).chain(numbered).find(free) {
            named.push((name, table));
        }
    }
    named
}

/// Counts how often each table is used. A table is entered once, so that recursion ends.
fn count(table: &'static FieldTable, uses: &mut Vec<(&'static FieldTable, usize)>) {
    if let Some((_, times)) = uses.iter_mut().find(|(other, _)| std::ptr::eq(*other, table)) {
        *times += 1;
        return;
    }
    uses.push((table, 1));
    for field in table.fields {
        count_in(&field.kind, uses);
    }
}

fn count_in(kind: &'static FieldKind, uses: &mut Vec<(&'static FieldTable, usize)>) {
    match kind {
        FieldKind::Block(table) => count(table, uses),
        FieldKind::List(inner) | FieldKind::Map(inner) => count_in(inner, uses),
        FieldKind::Either(kinds) => kinds.iter().for_each(|kind| count_in(kind, uses)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{ANY_FLOAT, ANY_INT};

    static INNER: FieldTable =
        FieldTable::new("an inner block", &[Field::optional("a", FieldKind::Str, "A text")]);

    static STRICT: FieldTable = FieldTable::new(
        "limits",
        &[Field::required("max_calls", FieldKind::Int(1, 9), "How many calls").or(&["calls"])],
    )
    .keys(KeyMatching::SnakeOrCamel)
    .unknown(UnknownKeys::Error);

    static WORD: TextForm = TextForm {
        title: "word",
        many: "words",
        fits: |text| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase()),
        pattern: "[a-z]+",
        trims: true,
        examples: &["one"],
        others: &["One"],
    };

    static TABLE: FieldTable = FieldTable::new(
        "the example",
        &[
            Field::optional("alias", FieldKind::Form(&WORD), "What else it is called"),
            Field::optional("aliases", FieldKind::Forms(&WORD), "What else it is called"),
            Field::required("name", FieldKind::Line, "What others call it"),
            Field::default(
                "mode",
                FieldKind::Choice(&["slow", "fast"]),
                "\"slow\"",
                "How fast it is",
            ),
            Field::optional("level", FieldKind::ChoiceAnyCase(&["low", "a.b"]), "How loud it is"),
            Field::optional("version", FieldKind::Semver, "Which one it is"),
            Field::optional("size", FieldKind::Known(&["4k", "8k"]), "How large it is"),
            Field::optional("on", FieldKind::Bool, "Whether it runs"),
            Field::optional("share", FieldKind::Float(0.0, 1.0), "How much of it"),
            Field::optional("count", ANY_INT, "How many"),
            Field::optional("weight", ANY_FLOAT, "How heavy"),
            Field::optional("words", FieldKind::Strings, "What it says").or(&["word"]),
            Field::optional("env", FieldKind::Map(&FieldKind::Str), "What it is told"),
            Field::optional(
                "either",
                FieldKind::Either(&[FieldKind::Bool, FieldKind::Block(&INNER)]),
                "Or both",
            ),
            Field::optional("inner", FieldKind::List(&FieldKind::Block(&INNER)), "More of it"),
            Field::optional(
                "children",
                FieldKind::List(&FieldKind::Block(&TABLE)),
                "Others below it",
            ),
            Field::optional("limits", FieldKind::Block(&STRICT), "How far it goes"),
            Field::optional("extra", FieldKind::Any, "Whatever else"),
            Field::excluded("secret", "keep it elsewhere"),
        ],
    );

    fn schema() -> Value {
        json_schema(&TABLE, "https://example.org/example.json", "Example")
    }

    #[test]
    fn the_generated_schema_is_valid() {
        let schema = schema();
        if let Err(error) = jsonschema::meta::validate(&schema) {
            panic!("{error}");
        }
        insta::assert_snapshot!(serde_json::to_string_pretty(&schema).unwrap());
    }

    #[test]
    fn documents_are_validated_by_the_schema() {
        let validator = jsonschema::draft202012::new(&schema()).expect("a schema");
        let cases = [
            (json!({}), false),
            (json!({ "name": "a" }), true),
            (json!({ "name": "a\nb" }), false),
            (json!({ "name": "a\n" }), true),
            (json!({ "name": "a", "other": 1, "x-y": [] }), true),
            (json!({ "name": "a", "mode": "fast" }), true),
            (json!({ "name": "a", "mode": "Fast" }), false),
            (json!({ "name": "a", "level": " LoW" }), true),
            (json!({ "name": "a", "level": "a.B" }), true),
            (json!({ "name": "a", "level": "axb" }), false),
            (json!({ "name": "a", "version": "1.2.3-rc.1+b.01" }), true),
            (json!({ "name": "a", "version": "1.2" }), false),
            (json!({ "name": "a", "version": "01.2.3" }), false),
            (json!({ "name": "a", "version": 1.2 }), false),
            (json!({ "name": "a", "size": "5k" }), true),
            (json!({ "name": "a", "size": 5 }), false),
            (json!({ "name": "a", "share": 0.5 }), true),
            (json!({ "name": "a", "share": 1.5 }), false),
            (json!({ "name": "a", "count": 1.5 }), false),
            (json!({ "name": "a", "words": "b", "word": ["c"] }), true),
            (json!({ "name": "a", "words": [1] }), false),
            (json!({ "name": "a", "env": { "b": "c" } }), true),
            (json!({ "name": "a", "env": { "b": 1 } }), false),
            (json!({ "name": "a", "either": { "a": "b" } }), true),
            (json!({ "name": "a", "either": 1 }), false),
            (json!({ "name": "a", "inner": [{ "a": 1 }] }), false),
            (json!({ "name": "a", "children": [{ "name": "b" }] }), true),
            (json!({ "name": "a", "children": [{}] }), false),
            (json!({ "name": "a", "limits": { "max_calls": 1 } }), true),
            (json!({ "name": "a", "limits": { "maxCalls": 9 } }), true),
            (json!({ "name": "a", "limits": { "max-calls": 10 } }), false),
            (json!({ "name": "a", "limits": { "calls": 1 } }), true),
            (json!({ "name": "a", "limits": {} }), false),
            (json!({ "name": "a", "limits": { "calls": 1, "more": 2 } }), false),
            (json!({ "name": "a", "limits": { "calls": 1, "x-more": 2 } }), true),
            (json!({ "name": "a", "secret": null }), false),
            (json!({ "name": "a", "alias": " b " }), true),
            (json!({ "name": "a", "alias": "B" }), false),
            (json!({ "name": "a", "alias": 1 }), false),
            (json!({ "name": "a", "aliases": "b, c\nd," }), true),
            (json!({ "name": "a", "aliases": "b, C" }), false),
            (json!({ "name": "a", "aliases": ["b", " c"] }), true),
            (json!({ "name": "a", "aliases": ["b", "c d"] }), false),
        ];
        for (document, expected) in cases {
            assert_eq!(validator.is_valid(&document), expected, "{document}");
        }
    }

    #[test]
    fn the_version_pattern_matches_the_parser() {
        let schema = json!({ "pattern": semver() });
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        let cases =
            ["1.0.0", "1.0", "v1.0.0", "1.0.0-", "1.0.0-01", "1.0.0-0a.b", "1.0.0+", "1.0.0+0"];
        for text in cases {
            assert_eq!(
                validator.is_valid(&json!(text)),
                semver::Version::parse(text).is_ok(),
                "{text}"
            );
        }
    }
}
