//! Writes plain data as ACL. A map becomes a block if possible, or else an object.

use super::lex::{is_name_part, is_name_start, is_wide_name_part};
use crate::data::Data;

/// The most columns of a list or object on one line.
const WIDTH: usize = 80;

/// Writes `data`, which must be a map. The maps at the paths `labelled` become labelled blocks:
/// `providers`, or `providers.*.models` with `*` for any key.
pub fn emit(data: &Data, labelled: &[&str]) -> String {
    let Data::Map(entries) = data else { return String::new() };
    let labelled = labelled.iter().map(|path| path.split('.').collect()).collect();
    let mut writer = AclWriter { out: String::new(), labelled, path: Vec::new(), indent: 0 };
    writer.items(entries);
    writer.out
}

struct AclWriter<'d> {
    out: String,
    labelled: Vec<Vec<&'d str>>,
    /// The keys that lead to the current place.
    path: Vec<&'d str>,
    indent: usize,
}

impl<'d> AclWriter<'d> {
    fn items(&mut self, entries: &'d [(String, Data)]) {
        for (key, value) in entries {
            self.path.push(key);
            match value {
                // Only a bare name can head a block.
                Data::Map(inner) if self.name(key) == *key && self.is_labelled(inner) => {
                    self.labelled_blocks(key, inner);
                }
                Data::Map(inner) if self.name(key) == *key && fits_block(inner) => {
                    self.block(key, inner);
                }
                _ => self.attribute(key, value),
            }
            self.path.pop();
        }
    }

    /// Reports whether the map at the current path is written as labelled blocks.
    fn is_labelled(&self, entries: &[(String, Data)]) -> bool {
        let here = |path: &Vec<&str>| {
            let same = |(part, key): (&&str, &&str)| *part == "*" || part == key;
            path.len() == self.path.len() && path.iter().zip(&self.path).all(same)
        };
        self.labelled.iter().any(here) && holds_maps(entries)
    }

    fn labelled_blocks(&mut self, key: &str, entries: &'d [(String, Data)]) {
        for (label, value) in entries {
            let Data::Map(inner) = value else { continue };
            self.path.push(label);
            self.block(&format!("{key} {}", quoted(label)), inner);
            self.path.pop();
        }
    }

    fn block(&mut self, head: &str, entries: &'d [(String, Data)]) {
        if self.indent == 0 && !self.out.is_empty() {
            self.out.push('\n');
        }
        if entries.is_empty() {
            return self.line(&format!("{head} {{}}"));
        }
        self.line(&format!("{head} {{"));
        self.indent += 2;
        self.items(entries);
        self.indent -= 2;
        self.line("}");
    }

    fn attribute(&mut self, key: &str, value: &Data) {
        let name = self.name(key);
        let column = self.indent + name.chars().count() + 3;
        self.line(&format!("{name} = {}", laid_out(value, self.indent, column)));
    }

    /// Returns a name as it is written here. At the top level, quoted names are not allowed.
    fn name(&self, key: &str) -> String {
        let bare = if self.indent == 0 { is_wide_name(key) } else { is_name(key) };
        if bare { key.to_owned() } else { quoted(key) }
    }

    fn line(&mut self, text: &str) {
        self.out.extend(std::iter::repeat_n(' ', self.indent));
        self.out.push_str(text);
        self.out.push('\n');
    }
}

/// Reports whether a block can hold these entries: every key must be a name.
fn fits_block(entries: &[(String, Data)]) -> bool {
    entries.iter().all(|(key, _)| is_name(key))
}

fn holds_maps(entries: &[(String, Data)]) -> bool {
    !entries.is_empty() && entries.iter().all(|(_, value)| matches!(value, Data::Map(_)))
}

/// Returns the value from `column` on. If it does not fit the line, each part gets its own line.
fn laid_out(value: &Data, indent: usize, column: usize) -> String {
    let inline = inline(value);
    if column + inline.chars().count() <= WIDTH {
        return inline;
    }
    let inner = indent + 2;
    let margin = " ".repeat(inner);
    let (open, parts, close): (_, Vec<_>, _) = match value {
        Data::List(items) => {
            let part = |item| format!("{margin}{},\n", laid_out(item, inner, inner));
            ('[', items.iter().map(part).collect(), ']')
        }
        Data::Map(entries) => {
            let part = |(key, value): &(String, Data)| {
                let name = object_key(key);
                let column = inner + name.chars().count() + 3;
                format!("{margin}{name} = {}\n", laid_out(value, inner, column))
            };
            ('{', entries.iter().map(part).collect(), '}')
        }
        _ => return inline,
    };
    format!("{open}\n{}{}{close}", parts.concat(), " ".repeat(indent))
}

/// Returns the value on one line.
fn inline(value: &Data) -> String {
    match value {
        Data::Bool(value) => value.to_string(),
        Data::Int(value) => value.to_string(),
        Data::Big(value) => value.to_string(),
        Data::Float(value) if value.is_finite() => format!("{value:?}"),
        // Infinity and NaN have no literal in ACL.
        Data::Null | Data::Float(_) => "null".to_owned(),
        Data::Str(text) => quoted(text),
        Data::Call(name, arguments) => format!("{name}({})", joined(arguments)),
        Data::List(items) => format!("[{}]", joined(items)),
        Data::Map(entries) if entries.is_empty() => "{}".to_owned(),
        Data::Map(entries) => {
            let pair =
                |(key, value): &(String, Data)| format!("{} = {}", object_key(key), inline(value));
            format!("{{ {} }}", entries.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

fn joined(items: &[Data]) -> String {
    items.iter().map(inline).collect::<Vec<_>>().join(", ")
}

fn object_key(key: &str) -> String {
    if is_name(key) { key.to_owned() } else { quoted(key) }
}

/// Reports whether every reader takes `key` as one name.
fn is_name(key: &str) -> bool {
    key.starts_with(is_name_start) && key.chars().all(is_name_part)
}

fn is_wide_name(key: &str) -> bool {
    key.starts_with(is_name_start) && key.chars().all(is_wide_name_part)
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
