//! The forms of text fields: reader and schema accept the same texts, and samples show both.

use agentry_compile::formats::FORMATS;
use agentry_compile::text::table::TextForm;
use agentry_compile::text::{FieldKind, FieldTable};
use serde_json::json;

/// Every form that a field of some format has, by its title.
fn forms() -> Vec<&'static TextForm> {
    let mut seen = Vec::new();
    let mut forms: Vec<&'static TextForm> = Vec::new();
    let tables = FORMATS.iter().flat_map(|format| format.documents).map(|(_, table)| *table);
    tables.for_each(|table| in_table(table, &mut seen, &mut forms));
    forms.sort_by_key(|form| form.title);
    forms.dedup_by_key(|form| form.title);
    forms
}

fn in_table(
    table: &'static FieldTable,
    seen: &mut Vec<*const FieldTable>,
    forms: &mut Vec<&'static TextForm>,
) {
    if !seen.contains(&std::ptr::from_ref(table)) {
        seen.push(table);
        table.fields.iter().for_each(|field| in_kind(&field.kind, seen, forms));
    }
}

fn in_kind(
    kind: &'static FieldKind,
    seen: &mut Vec<*const FieldTable>,
    forms: &mut Vec<&'static TextForm>,
) {
    match kind {
        FieldKind::Form(form) | FieldKind::Forms(form) => forms.push(form),
        FieldKind::List(inner) | FieldKind::Map(inner) => in_kind(inner, seen, forms),
        FieldKind::Either(kinds) => kinds.iter().for_each(|kind| in_kind(kind, seen, forms)),
        FieldKind::Block(table) => in_table(table, seen, forms),
        _ => {}
    }
}

fn validator(pattern: &str) -> jsonschema::Validator {
    jsonschema::draft202012::new(&json!({ "pattern": pattern })).expect("a pattern")
}

#[test]
fn form_samples_match_reader_and_schema() {
    let titles: Vec<_> = forms().iter().map(|form| form.title).collect();
    let expected =
        ["`pattern:action` rule", "ability", "emoji", "kebab-case name", "variable name"];
    assert_eq!(titles, expected);
    for form in forms() {
        let (one, list) = (validator(&form.one()), validator(&form.list()));
        assert!(!form.examples.is_empty() && !form.others.is_empty(), "{}", form.title);
        for text in form.examples {
            assert!(form.is(text), "{}: {text:?} is refused", form.title);
            assert!(one.is_valid(&json!(text)), "{}: {text:?} breaks the pattern", form.title);
            let several = json!(format!("{text}, {text}\n{text}"));
            assert!(list.is_valid(&several), "{}: {several}", form.title);
        }
        for text in form.others {
            assert!(!form.is(text), "{}: {text:?} is accepted", form.title);
            assert!(!one.is_valid(&json!(text)), "{}: {text:?} fits the pattern", form.title);
        }
    }
}

/// The pattern may accept more than the reader, never less.
#[test]
fn every_emoji_matches_the_schema_pattern() {
    let icon = forms().into_iter().find(|form| form.title == "emoji").expect("a form");
    let pattern = validator(&icon.one());
    let mut refused = Vec::new();
    for emoji in emojis::iter() {
        let toned = emoji.skin_tones().into_iter().flatten();
        for emoji in toned.chain([emoji]) {
            if !icon.is(emoji.as_str()) || !pattern.is_valid(&json!(emoji.as_str())) {
                refused.push(emoji.as_str());
            }
        }
    }
    assert!(refused.is_empty(), "{refused:?}");
}
