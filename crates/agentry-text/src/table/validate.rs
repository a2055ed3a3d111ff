//! Compares a tree with its field table and reports everything that does not fit.

use super::rules::{
    EXCLUDED_FIELD, MISSING_FIELD, NOT_A_MAP, NOT_A_VERSION, OUT_OF_RANGE, SAME_FIELD_TWICE,
    SEVERAL_LINES, UNEXPECTED_VALUE, UNKNOWN_FIELD, UNKNOWN_VALUE, WRONG_TYPE,
};
use super::{Coercion, Field, FieldKind, FieldNeed, FieldTable, UnknownKeys, is_extension};
use crate::diagnostic::Findings;
use crate::edit::Fix;
use crate::record::{as_bool, as_float, as_int};
use crate::source::Span;
use crate::suggestion::{did_you_mean, nearest};
use crate::tree::{TreeEntry, TreeMap, TreeNode, TreeValue};

/// Reports everything in `node` that does not fit `table`.
pub fn validate(
    table: &'static FieldTable,
    node: &TreeNode,
    coerce: Coercion,
    findings: &mut Findings,
) {
    let mut walk = TableValidator { coerce, findings };
    match &node.value {
        TreeValue::Map(map) => walk.table(table, map, node.span),
        // An empty file has no fields, so only missing ones are reported.
        TreeValue::Null => walk.table(table, &TreeMap::default(), node.span),
        other => {
            let message = format!("{} holds {}, not fields", table.title, other.describe());
            walk.findings.add(&NOT_A_MAP, node.span, message).hint("write `key: value` pairs");
        }
    }
}

struct TableValidator<'f> {
    coerce: Coercion,
    findings: &'f mut Findings,
}

impl TableValidator<'_> {
    fn table(&mut self, table: &'static FieldTable, map: &TreeMap, span: Span) {
        let mut first_of: Vec<(&str, &TreeEntry)> = Vec::new();
        // A field with the value null counts as missing.
        let mut written: Vec<&str> = Vec::new();
        for entry in &map.entries {
            let Some(field) = table.field(&entry.key.text) else {
                self.unknown(table, entry);
                continue;
            };
            match first_of.iter().find(|(name, _)| *name == field.name) {
                Some((_, first)) => self.repeated(first, entry),
                None => first_of.push((field.name, entry)),
            }
            if entry.value.value != TreeValue::Null && !written.contains(&field.name) {
                written.push(field.name);
            }
            self.field(field, entry);
        }
        for field in table.fields {
            if field.need == FieldNeed::Required && !written.contains(&field.name) {
                let message = format!("{} has no `{}`", table.title, field.name);
                let hint = format!("add `{}`: {}", field.name, remark(field.doc));
                self.findings.add(&MISSING_FIELD, head(map, span), message).hint(hint).absent();
            }
        }
    }

    /// Reports a field that is present in two spellings. The parser reports the same spelling twice.
    fn repeated(&mut self, first: &TreeEntry, again: &TreeEntry) {
        if first.key.text != again.key.text {
            let message =
                format!("`{}` and `{}` are the same field", first.key.text, again.key.text);
            self.findings
                .add(&SAME_FIELD_TWICE, again.key.span, message)
                .related(first.key.span, "first written here")
                .hint("keep one of them");
        }
    }

    fn unknown(&mut self, table: &'static FieldTable, entry: &TreeEntry) {
        let key = &entry.key.text;
        if table.unknown == UnknownKeys::Silent || is_extension(key) {
            return;
        }
        let message = format!("{} has no field `{key}`", table.title);
        let hint = did_you_mean(key, table.names());
        let found = self.findings.add(&UNKNOWN_FIELD, entry.key.span, message);
        found.hint_opt(hint);
        if let Some(name) = nearest(key, table.names()) {
            // Unsafe, because the nearest name is a guess.
            found.fix(Fix::word(format!("rename to `{name}`"), entry.key.span, name));
        }
        if table.unknown == UnknownKeys::Error {
            found.severity = crate::Severity::Error;
            if found.hint.is_none() {
                let names: Vec<_> = table.names().collect();
                found.hint(format!("use one of {}", listed(&names)));
            }
        }
    }

    fn field(&mut self, field: &'static Field, entry: &TreeEntry) {
        if let FieldNeed::Excluded(why) = field.need {
            let message = format!("`{}` is not part of this format: {why}", field.name);
            self.findings.add(&EXCLUDED_FIELD, entry.key.span, message).hint("remove it");
            return;
        }
        if entry.value.value == TreeValue::Null && self.may_be_null(field) {
            return;
        }
        self.value(field.name, &field.kind, &entry.value);
    }

    /// Reports whether null means the same as an absent field.
    /// For a required one, the absence is reported separately. The manifest's reference accepts
    /// null only where there is no default.
    fn may_be_null(&self, field: &Field) -> bool {
        let scalar_default = || field.kind.is_scalar() && self.coerce == Coercion::Strict;
        match field.need {
            FieldNeed::Required | FieldNeed::Excluded(_) => true,
            FieldNeed::Optional => field.kind.is_scalar(),
            FieldNeed::Default(_) => scalar_default(),
        }
    }

    fn value(&mut self, name: &str, kind: &'static FieldKind, node: &TreeNode) {
        match kind {
            FieldKind::Any => {}
            FieldKind::Str | FieldKind::Form(_) => {
                self.typed(name, node.as_str().is_some(), "a string", node);
            }
            FieldKind::Line => self.line(name, node),
            FieldKind::Bool => {
                self.typed(name, as_bool(node, self.coerce).is_some(), "`true` or `false`", node);
            }
            FieldKind::Int(least, most) => self.int(name, *least, *most, node),
            FieldKind::Float(least, most) => self.float(name, (*least, *most), node),
            FieldKind::Semver => self.semver(name, node),
            FieldKind::Choice(words) => self.choice(name, words, node, false),
            FieldKind::ChoiceAnyCase(words) => self.choice(name, words, node, true),
            FieldKind::Known(words) => self.known(name, words, node),
            FieldKind::List(item) => self.list(name, item, node),
            // A single text counts as a list.
            FieldKind::Strings | FieldKind::Forms(_) if node.as_str().is_some() => {}
            FieldKind::Strings | FieldKind::Forms(_) => self.list(name, &FieldKind::Str, node),
            FieldKind::Map(value) => self.map(name, value, node),
            FieldKind::Block(table) => match &node.value {
                TreeValue::Map(map) => self.table(table, map, node.span),
                _ => self.wrong(name, "a map", node),
            },
            // The shape alone selects the kind, so that problems inside the value are reported in detail.
            FieldKind::Either(kinds) => match kinds.iter().find(|kind| kind.fits(node)) {
                Some(kind) => self.value(name, kind, node),
                None => {
                    let expected: Vec<_> = kinds.iter().map(FieldKind::describe).collect();
                    self.wrong(name, &expected.join(" or "), node);
                }
            },
        }
    }

    fn typed(&mut self, name: &str, fits: bool, expected: &str, node: &TreeNode) {
        if !fits {
            self.wrong(name, expected, node);
        }
    }

    fn wrong(&mut self, name: &str, expected: &str, node: &TreeNode) {
        let message = format!("`{name}` is {}, expected {expected}", node.value.describe());
        let found = self.findings.add(&WRONG_TYPE, node.span, message);
        match (&node.value, expected) {
            (TreeValue::Str(_), "a list") => {
                found.hint("put it in brackets: `[…]`");
            }
            (TreeValue::Null, _) => {
                found.hint(format!("write a value, or remove `{name}`"));
            }
            (
                TreeValue::Int(_)
                | TreeValue::Big(_)
                | TreeValue::Float(_)
                | TreeValue::Bool(_)
                | TreeValue::Date(_),
                "a string",
            ) => {
                found.hint("put it in quotes");
            }
            _ => {}
        }
    }

    fn line(&mut self, name: &str, node: &TreeNode) {
        match node.as_str() {
            None => self.wrong(name, "a string", node),
            // A block scalar of YAML ends with a line break, which is not a second line.
            Some(text) if text.trim_end_matches(['\n', '\r']).contains(['\n', '\r']) => {
                let message = format!("`{name}` has several lines");
                self.findings.add(&SEVERAL_LINES, node.span, message).hint("write it on one line");
            }
            Some(_) => {}
        }
    }

    fn int(&mut self, name: &str, least: i64, most: i64, node: &TreeNode) {
        // The type is right; only the size is wrong.
        if let TreeValue::Big(_) = node.value {
            self.range(name, node, &bounds(least, most));
            return;
        }
        match as_int(node, self.coerce) {
            None => self.wrong(name, "a whole number", node),
            Some(value) if value < least || value > most => {
                self.range(name, node, &bounds(least, most));
            }
            Some(_) => {}
        }
    }

    fn float(&mut self, name: &str, (least, most): (f64, f64), node: &TreeNode) {
        match as_float(node, self.coerce) {
            None => self.wrong(name, "a number", node),
            // NaN is in no range, so it is reported as well.
            Some(value) if !(least..=most).contains(&value) => {
                let bounds = match (least.is_finite(), most.is_finite()) {
                    (true, true) => format!("from {least} to {most}"),
                    (true, false) => format!("at least {least}"),
                    (false, true) => format!("at most {most}"),
                    (false, false) => "a number".to_owned(),
                };
                self.range(name, node, &bounds);
            }
            Some(_) => {}
        }
    }

    fn range(&mut self, name: &str, node: &TreeNode, bounds: &str) {
        let message = format!("`{name}` is out of range");
        self.findings.add(&OUT_OF_RANGE, node.span, message).hint(format!("it must be {bounds}"));
    }

    fn semver(&mut self, name: &str, node: &TreeNode) {
        let (shown, number) = match &node.value {
            TreeValue::Str(text) if semver::Version::parse(text).is_ok() => return,
            TreeValue::Str(text) => (text.clone(), false),
            TreeValue::Int(value) => (value.to_string(), true),
            TreeValue::Float(value) => (value.to_string(), true),
            _ => return self.wrong(name, "a version such as \"1.0.0\"", node),
        };
        let what = if number { "a number, not a version" } else { "not a semantic version" };
        let found =
            self.findings.add(&NOT_A_VERSION, node.span, format!("`{name}: {shown}` is {what}"));
        if let Some(full) = full_version(&shown) {
            found.hint(format!("write `\"{full}\"`"));
            found.fix(Fix::unsafe_("write a full version", node.span, format!("\"{full}\"")));
        } else {
            found.hint("write major.minor.patch, as in `\"1.0.0\"`");
        }
    }

    fn choice(&mut self, name: &str, words: &[&'static str], node: &TreeNode, any_case: bool) {
        let Some(text) = node.as_str() else {
            return self.wrong(name, &format!("one of {}", listed(words)), node);
        };
        let fits =
            |word: &&&str| **word == text || (any_case && word.eq_ignore_ascii_case(text.trim()));
        if words.iter().find(fits).is_none() {
            let message = format!("`{name}` cannot be `{text}`");
            let found = self.findings.add(&UNKNOWN_VALUE, node.span, message);
            let near = did_you_mean(text, words.iter().copied());
            found.hint(near.unwrap_or_else(|| format!("use one of {}", listed(words))));
        }
    }

    fn known(&mut self, name: &str, words: &[&'static str], node: &TreeNode) {
        match node.as_str() {
            None => self.wrong(name, "a string", node),
            Some(text) if !words.contains(&text) => {
                let message = format!("`{name}` is `{text}`, which has no meaning");
                let near = did_you_mean(text, words.iter().copied());
                self.findings
                    .add(&UNEXPECTED_VALUE, node.span, message)
                    .hint(near.unwrap_or_else(|| format!("known are {}", listed(words))));
            }
            Some(_) => {}
        }
    }

    fn list(&mut self, name: &str, item: &'static FieldKind, node: &TreeNode) {
        match node.as_list() {
            Some(items) => items.iter().for_each(|node| self.value(name, item, node)),
            None => self.wrong(name, "a list", node),
        }
    }

    fn map(&mut self, name: &str, value: &'static FieldKind, node: &TreeNode) {
        let Some(map) = node.as_map() else { return self.wrong(name, "a map", node) };
        for entry in &map.entries {
            self.value(&format!("{name}.{}", entry.key.text), value, &entry.value);
        }
    }
}

/// Converts a sentence of documentation to a remark: lower case, no full stop.
fn remark(doc: &str) -> String {
    let mut chars = doc.trim_end_matches('.').chars();
    let first = chars.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// Returns the span for a missing field: the first key, or the start of the map.
fn head(map: &TreeMap, span: Span) -> Span {
    map.entries.first().map_or(Span { end: span.start, ..span }, |entry| entry.key.span)
}

fn bounds(least: i64, most: i64) -> String {
    match (least, most) {
        (i64::MIN, i64::MAX) => "a whole number of at most 64 bits".to_owned(),
        (least, i64::MAX) => format!("at least {least}"),
        (i64::MIN, most) => format!("at most {most}"),
        (least, most) => format!("from {least} to {most}"),
    }
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the semantic version that was probably meant: `0.1` → `0.1.0`, `2` → `2.0.0`, `v1.2.3` → `1.2.3`.
pub fn full_version(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['v', 'V']);
    [text.to_owned(), format!("{text}.0"), format!("{text}.0.0")]
        .into_iter()
        .find(|text| semver::Version::parse(text).is_ok())
}

impl FieldKind {
    fn is_scalar(&self) -> bool {
        match self {
            Self::List(_) | Self::Strings | Self::Forms(_) | Self::Map(_) | Self::Block(_) => false,
            Self::Either(kinds) => kinds.iter().all(Self::is_scalar),
            _ => true,
        }
    }

    /// Reports whether a value has the shape of this kind, to choose one of several.
    fn fits(&self, node: &TreeNode) -> bool {
        match self {
            Self::Any => true,
            Self::Str
            | Self::Line
            | Self::Form(_)
            | Self::Semver
            | Self::Choice(_)
            | Self::ChoiceAnyCase(_)
            | Self::Known(_) => node.as_str().is_some(),
            Self::Bool => matches!(node.value, TreeValue::Bool(_)),
            Self::Int(..) => matches!(node.value, TreeValue::Int(_) | TreeValue::Big(_)),
            Self::Float(..) => {
                matches!(node.value, TreeValue::Int(_) | TreeValue::Big(_) | TreeValue::Float(_))
            }
            Self::List(_) => node.as_list().is_some(),
            Self::Strings | Self::Forms(_) => node.as_list().is_some() || node.as_str().is_some(),
            Self::Map(_) | Self::Block(_) => node.as_map().is_some(),
            Self::Either(kinds) => kinds.iter().any(|kind| kind.fits(node)),
        }
    }

    /// Returns a description of such a value for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Any => "anything".to_owned(),
            Self::Str | Self::Line | Self::Form(_) => "a string".to_owned(),
            Self::Semver => "a version".to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Int(..) => "a whole number".to_owned(),
            Self::Float(..) => "a number".to_owned(),
            Self::Choice(words) | Self::ChoiceAnyCase(words) | Self::Known(words) => {
                format!("one of {}", listed(words))
            }
            Self::List(_) => "a list".to_owned(),
            Self::Strings | Self::Forms(_) => "a list of strings".to_owned(),
            Self::Map(_) | Self::Block(_) => "a map".to_owned(),
            Self::Either(kinds) => {
                kinds.iter().map(Self::describe).collect::<Vec<_>>().join(" or ")
            }
        }
    }
}
