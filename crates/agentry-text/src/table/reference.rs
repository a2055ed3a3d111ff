//! A field table as a Markdown table for the reference; fields of blocks have dotted names.

use super::{Field, FieldKind, FieldNeed, FieldTable};

/// Returns one row per field. `model.capability` is a field of a block, `skills[]` an item of a list.
pub fn reference(table: &'static FieldTable) -> String {
    let mut page = ReferencePage { text: String::new(), open: Vec::new() };
    page.line(&["field", "type", "default", "meaning"]);
    page.line(&["---"; 4]);
    page.table(table, "");
    page.text
}

struct ReferencePage {
    text: String,
    /// The tables around the current row. A table inside itself is not written again.
    open: Vec<&'static FieldTable>,
}

impl ReferencePage {
    fn table(&mut self, table: &'static FieldTable, prefix: &str) {
        if self.open.iter().any(|other| std::ptr::eq(*other, table)) {
            return;
        }
        self.open.push(table);
        for field in table.fields {
            let name = format!("{prefix}{}", field.name);
            self.field(field, &name);
            self.nested(&field.kind, &name);
        }
        self.open.pop();
    }

    fn field(&mut self, field: &'static Field, name: &str) {
        let (kind, default) = match field.need {
            FieldNeed::Required => (one(&field.kind), "required".to_owned()),
            FieldNeed::Optional => (one(&field.kind), "–".to_owned()),
            FieldNeed::Default(value) => (one(&field.kind), format!("`{value}`")),
            FieldNeed::Excluded(_) => ("–".to_owned(), "not allowed".to_owned()),
        };
        let aliases: Vec<_> = field.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        let meaning = match aliases.as_slice() {
            [] => field.doc.to_owned(),
            aliases => format!("{} (also {})", field.doc, aliases.join(", ")),
        };
        self.line(&[&format!("`{name}`"), &kind, &default, &meaning]);
    }

    fn nested(&mut self, kind: &'static FieldKind, name: &str) {
        match kind {
            FieldKind::Block(table) => self.table(table, &format!("{name}.")),
            FieldKind::List(item) => self.nested(item, &format!("{name}[]")),
            FieldKind::Map(value) => self.nested(value, &format!("{name}.<name>")),
            FieldKind::Either(kinds) => kinds.iter().for_each(|kind| self.nested(kind, name)),
            _ => {}
        }
    }

    fn line(&mut self, cells: &[&str]) {
        for cell in cells {
            self.text.push_str("| ");
            // A bar or a line break would end the cell.
            self.text.push_str(&cell.replace('|', "\\|").replace('\n', " "));
            self.text.push(' ');
        }
        self.text.push_str("|\n");
    }
}

/// Describes one value of a kind.
fn one(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Str => "string".to_owned(),
        FieldKind::Line => "one line".to_owned(),
        FieldKind::Form(form) => form.title.to_owned(),
        FieldKind::Forms(form) => format!("{} or list of {}", form.title, form.many),
        FieldKind::Bool => "`true` or `false`".to_owned(),
        FieldKind::Int(least, most) => {
            let least = (*least > i64::MIN).then(|| least.to_string());
            let most = (*most < i64::MAX).then(|| most.to_string());
            format!("whole number{}", bounds(least, most))
        }
        FieldKind::Float(least, most) => {
            let bound = |bound: &f64| bound.is_finite().then(|| bound.to_string());
            format!("number{}", bounds(bound(least), bound(most)))
        }
        FieldKind::Semver => "version".to_owned(),
        FieldKind::Choice(words) => words_of(words, " or "),
        FieldKind::ChoiceAnyCase(words) => format!("{}, in any case", words_of(words, " or ")),
        FieldKind::Known(words) => format!("string such as {}", words_of(words, ", ")),
        FieldKind::List(item) => format!("list of {}", many(item)),
        FieldKind::Strings => "string or list of strings".to_owned(),
        FieldKind::Map(value) => format!("map to {}", many(value)),
        FieldKind::Block(_) => "map".to_owned(),
        FieldKind::Either(kinds) => kinds.iter().map(one).collect::<Vec<_>>().join(" or "),
        FieldKind::Any => "anything".to_owned(),
    }
}

/// Describes several values of a kind.
fn many(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Str => "strings".to_owned(),
        FieldKind::Line => "lines".to_owned(),
        FieldKind::Form(form) => form.many.to_owned(),
        FieldKind::Forms(form) => format!("{0} or lists of {0}", form.many),
        FieldKind::Int(..) | FieldKind::Float(..) => one(kind).replacen("number", "numbers", 1),
        FieldKind::Semver => "versions".to_owned(),
        FieldKind::Known(_) => one(kind).replacen("string", "strings", 1),
        FieldKind::List(_) => one(kind).replacen("list", "lists", 1),
        FieldKind::Map(_) => one(kind).replacen("map", "maps", 1),
        FieldKind::Strings => "strings or lists of strings".to_owned(),
        FieldKind::Block(_) => "maps".to_owned(),
        FieldKind::Either(kinds) => kinds.iter().map(many).collect::<Vec<_>>().join(" or "),
        FieldKind::Bool | FieldKind::Choice(_) | FieldKind::ChoiceAnyCase(_) | FieldKind::Any => {
            one(kind)
        }
    }
}

fn bounds(least: Option<String>, most: Option<String>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    }
}

fn words_of(words: &[&str], between: &str) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(between)
}
