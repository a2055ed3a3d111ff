//! Removes characters from an imported agent that a person cannot see. A definition with such characters is an
//! error, and a harness passes them to its model.

use std::collections::HashMap;

use agentry_model::Agent;
use agentry_text::hygiene::{self, cleaned};
use agentry_text::source::position;
use agentry_text::{Data, Diagnostic, FileId, Findings, SourceFile, TextPosition};

use crate::import::{HarnessAgent, ImportError};
use crate::render_result::LossKind;

/// Cleans the prompt, the names and what is kept of the front matter, and reports each place in `text`.
/// A rule or a tool with such a name is an error, because without the character it would be another one.
pub(crate) fn keep(read: &mut HarnessAgent, text: &str) -> Result<(), ImportError> {
    let permissions = read.agent.policy.permissions.iter().flat_map(|it| &it.sections);
    let mut patterns = permissions.flat_map(|it| &it.rules).map(|rule| rule.pattern.as_str());
    if let Some(hidden) = patterns.find_map(|pattern| hidden_runs(pattern).into_iter().next()) {
        let at = text.find(&hidden.character).map(|at| position(text, at));
        let message = format!("a name or a rule is not what it seems: {}", hidden.message);
        let start = TextPosition { line: 1, column: 1 };
        return Err(ImportError::at(message, at.unwrap_or(start)));
    }
    let mut found: Vec<(&'static str, HiddenCharacter)> = Vec::new();
    clean(&mut read.agent, |field, text| {
        found.extend(hidden_runs(text).into_iter().map(|hidden| (field, hidden)));
    });
    let mut searched: HashMap<String, usize> = HashMap::new();
    for (field, HiddenCharacter { character, message }) in found {
        // The same character further down is another place.
        let from = searched.get(&character).copied().unwrap_or(0);
        let at = text.get(from..).and_then(|rest| rest.find(&character)).map(|at| from + at);
        if let Some(at) = at {
            searched.insert(character.clone(), at + character.len());
        }
        let at = at.map(|at| position(text, at));
        read.lose(field, LossKind::Changed, format!("{message}: removed"), at);
    }
    Ok(())
}

/// A character of a text that cannot be seen.
struct HiddenCharacter {
    character: String,
    /// What it is.
    message: String,
}

/// The places of a text with such characters, in order; characters in a row are one place.
fn hidden_runs(text: &str) -> Vec<HiddenCharacter> {
    let mut findings = Findings::default();
    hygiene::check(&SourceFile::new(FileId::BUILT_IN, "", text), &mut findings);
    let one = |found: &Diagnostic| {
        let character = text.get(found.span.range())?.chars().next()?.to_string();
        Some(HiddenCharacter { character, message: found.message.clone() })
    };
    findings.into_sorted().iter().filter_map(one).collect()
}

/// Cleans the texts of an agent; `changed` gets the field and the old text of each that changes.
fn clean(agent: &mut Agent, mut changed: impl FnMut(&'static str, &str)) {
    let Agent { identity, instructions, extensions, .. } = agent;
    let texts = [
        ("prompt", &mut instructions.system),
        ("description", &mut identity.description),
        ("display_name", &mut identity.display_name),
    ];
    for (field, text) in texts {
        let Some(text) = text else { continue };
        let new = cleaned(&text.value).into_owned();
        if new != text.value {
            changed(field, &text.value);
            text.value = new;
        }
    }
    for (_, data) in extensions {
        clean_data(&mut data.value, &mut |text| changed("metadata", text));
    }
}

/// Empties the values that hold such a character: what is left of them might mean something else.
fn clean_data(data: &mut Data, changed: &mut impl FnMut(&str)) {
    match data {
        Data::Str(text) if cleaned(text) != text.as_str() => {
            changed(text);
            *data = Data::Null;
        }
        Data::List(items) => {
            items.iter_mut().for_each(|item| clean_data(item, changed));
            items.retain(|item| *item != Data::Null);
        }
        Data::Map(fields) => {
            fields.iter_mut().for_each(|(_, value)| clean_data(value, changed));
            fields.retain(|(key, value)| *value != Data::Null && cleaned(key) == key.as_str());
        }
        _ => {}
    }
}
