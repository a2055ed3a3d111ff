//! Reads the tables of command lines in `tests/commands`.

use agentry_policy::{Judge, LayerSource, PathAnchors, Permissions, SectionRules, layer};
use agentry_text::{FileId, Span, Spanned};
use toml::Value;

/// The items of a list, if there is one.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Makes a judge from `{bash: {intent, rules}, …}`.
pub(crate) fn judge(rules: &Value) -> Judge {
    let nowhere = Span::start_of(FileId(0));
    let at = |text: &Value| Spanned::new(text.as_str().expect("a rule").to_owned(), nowhere);
    let section = |(name, section): (&String, &Value)| SectionRules {
        section: Spanned::new(name.parse().expect("a section"), nowhere),
        intent: section
            .get("intent")
            .map(|intent| at(intent).map(|word| word.parse().expect("an action"))),
        rules: list(section, "rules")
            .map(|rule| at(rule).map(|text| text.parse().expect("a rule")))
            .collect(),
    };
    let sections = rules.as_table().expect("sections").iter().map(section).collect();
    let places = PathAnchors::default();
    let layers = vec![layer(LayerSource::Permissions, &Permissions { sections }, &places)];
    Judge::new(layers, places)
}
