//! The fields of the metadata that need no comparison with the body.

use agentry_model::{Agent, DeclaredList};
use agentry_text::table::is_extension;
use agentry_text::{
    Data, Findings, Fix, SourceFile, Span, Spanned, TableRecord, TreeEntry, TreeNode, TreeValue,
};
use unicode_segmentation::UnicodeSegmentation;

use super::fields::{ABILITIES, ICON, RECOMMENDED, REQUIRED, VARIABLE};
use super::rules::{ENV_NAME, NOT_ONE_EMOJI};
use crate::text_checks::is_variable;

/// Fills in version, icon, status, recommendations, requirements, extensions and unknown fields.
pub(super) fn fill(
    agent: &mut Agent,
    record: &TableRecord<'_>,
    source: &SourceFile,
    findings: &mut Findings,
) {
    agent.identity.version = record.str("version");
    agent.identity.icon = record.str("icon").map(|icon| icon.map(|text| text.trim().to_owned()));
    agent.identity.status = record.word("status");
    if let Some(icon) = &agent.identity.icon {
        check_icon(icon, findings);
    }
    if let Some(recommended) = record.record("recommended", &RECOMMENDED) {
        agent.model.preferred = list(&recommended, "models", source);
        agent.model.capabilities = list(&recommended, "capabilities", source);
    }
    if let Some(required) = record.record("required", &REQUIRED) {
        agent.requirements.env = list(&required, "env", source);
        agent.requirements.startup = required.str("startup");
    }
    for name in agent.requirements.env.iter().flatten() {
        check_variable(name, findings);
    }
    extensions(agent, record);
}

/// Reads a list, which may also be one string with commas or line breaks.
pub(super) fn list(
    record: &TableRecord<'_>,
    name: &str,
    source: &SourceFile,
) -> DeclaredList<String> {
    texts(record.node(name)?, source)
}

/// Returns the items of a list, or of one string with commas or line breaks between them.
pub(super) fn texts(node: &TreeNode, source: &SourceFile) -> DeclaredList<String> {
    match &node.value {
        TreeValue::List(items) => Some(items.iter().filter_map(TreeNode::to_spanned).collect()),
        TreeValue::Str(text) => {
            let mut at = node.span.range().start;
            let parts = text.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty());
            // A quoted or folded string may differ from its source; then the whole node is the span.
            let place = |part: &str| {
                let rest = source.text.get(at..node.span.range().end)?;
                let start = at + rest.find(part)?;
                at = start + part.len();
                Some(Span::new(source.id, start, at))
            };
            let places: Vec<_> = parts.clone().map(place).collect();
            let item = |(part, place): (&str, Option<Span>)| {
                Spanned::new(part.to_owned(), place.unwrap_or(node.span))
            };
            Some(parts.zip(places).map(item).collect())
        }
        _ => None,
    }
}

fn check_icon(icon: &Spanned<String>, findings: &mut Findings) {
    if !ICON.is(&icon.value) {
        let message = format!("`icon` is `{}`, not one emoji", icon.value);
        findings
            .add(&NOT_ONE_EMOJI, icon.span, message)
            .hint("choose exactly one, as in `icon: 🤖`");
    }
}

/// Whether `text` is one extended grapheme cluster that is an emoji, in any variation.
pub(super) fn is_one_emoji(text: &str) -> bool {
    let styled = |text: &str| format!("{text}\u{fe0f}");
    let known = |text: &str| emojis::get(text).is_some() || emojis::get(&styled(text)).is_some();
    // ASCII is excluded: digits and `#` are bases of keycap emoji.
    let first = text.chars().next().filter(|c| !c.is_ascii());
    let varied = first.is_some_and(|first| known(&first.to_string()));
    text.graphemes(true).count() == 1 && (emojis::get(text).is_some() || varied)
}

fn check_variable(name: &Spanned<String>, findings: &mut Findings) {
    if VARIABLE.is(&name.value) {
        return;
    }
    let message = format!("`{}` is not a name of an environment variable", name.value);
    let found = findings.add(&ENV_NAME, name.span, message);
    found.hint("use letters, digits and `_`, not starting with a digit");
    let mended = name.value.replace(['-', ' ', '.'], "_");
    if is_variable(&mended) {
        found.fix(Fix::unsafe_(format!("write `{mended}`"), name.span, mended));
    }
}

/// Keeps unknown fields, and extensions of other programs.
fn extensions(agent: &mut Agent, record: &TableRecord<'_>) {
    for entry in record.unknown() {
        let kept =
            if is_extension(&entry.key.text) { &mut agent.extensions } else { &mut agent.unknown };
        keep(kept, entry.key.text.clone(), entry);
    }
    for entry in record.map("extensions").into_iter().flat_map(|map| &map.entries) {
        keep(&mut agent.extensions, entry.key.text.clone(), entry);
    }
    let blocks =
        [("recommended", &RECOMMENDED), ("required", &REQUIRED), ("abilities", &ABILITIES)];
    for (name, table) in blocks {
        for entry in record.record(name, table).iter().flat_map(TableRecord::unknown) {
            keep(&mut agent.unknown, format!("{name}.{}", entry.key.text), entry);
        }
    }
}

/// Keeps a value; the last one wins for a repeated name.
fn keep(kept: &mut Vec<(String, Spanned<Data>)>, name: String, entry: &TreeEntry) {
    let data = Spanned::new(entry.value.to_data(), entry.value.span);
    match kept.iter_mut().find(|(other, _)| *other == name) {
        Some((_, slot)) => *slot = data,
        None => kept.push((name, data)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_one_emoji;

    #[test]
    fn a_single_emoji_is_recognised() {
        let cases = [
            ("🤖", true),
            ("🧭", true),
            ("⚙️", true),
            ("⚙", true),
            ("👩🏽‍💻", true),
            ("🇫🇷", true),
            ("1️⃣", true),
            ("", false),
            ("A", false),
            ("1", false),
            ("🤖🤖", false),
            ("🤖 ", false),
            (":robot:", false),
            ("ðŸ¤–", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_one_emoji(text), expected, "{text:?}");
        }
    }
}
