//! The instructions of a manifest: inline, or in the Markdown files of a directory, which win.

use agentry_model::{AgentInstructions, Declared};
use agentry_text::{Findings, SourceFile, Span, Spanned, TableRecord};

use super::load::{LoadedManifest, MAIN_FILES};
use super::rules::{EMPTY_TEXT, MISNAMED_FILE, TEXT_TWICE};
use super::{fields, read};
use crate::{AgentPackage, front_matter};

/// Reads the texts of a manifest.
pub(super) fn instructions(
    loaded: &LoadedManifest,
    root: &TableRecord<'_>,
    findings: &mut Findings,
) -> AgentInstructions {
    let behavior = read::block(root, "behavior", &fields::BEHAVIOR);
    AgentInstructions {
        system: text("soul", "SOUL.md", loaded.soul.as_ref(), root, findings),
        rules: text("rules", "RULES.md", loaded.rules.as_ref(), root, findings),
        system_override: behavior
            .and_then(|behavior| behavior.str("system_override"))
            .and_then(trimmed),
        traits: behavior.and_then(|behavior| read::texts(&behavior, "traits")),
        ..AgentInstructions::default()
    }
}

fn text(
    field: &str,
    file: &str,
    source: Option<&SourceFile>,
    root: &TableRecord<'_>,
    findings: &mut Findings,
) -> Declared<String> {
    let inline = root.str(field);
    // The inline text counts only without a file.
    let Some(source) = source else { return inline.and_then(trimmed) };
    if let Some(inline) = inline {
        findings
            .add(&TEXT_TWICE, inline.span, format!("`{field}` is not used: `{file}` wins"))
            .related(Span::start_of(source.id), "this is used")
            .hint(format!("remove `{field}`, or `{file}`"));
    }
    let text = front_matter::trimmed(source, source.whole());
    if text.is_none() {
        findings
            .add(&EMPTY_TEXT, Span::start_of(source.id), format!("`{file}` is empty"))
            .hint("write something, or remove the file");
    }
    // YAML normalises line breaks of inline texts; a file must give the same text.
    text.map(|text| text.map(|text| text.replace("\r\n", "\n")))
}

/// Returns the text without surrounding white space; `None` if nothing is left.
fn trimmed(text: Spanned<String>) -> Declared<String> {
    let kept = text.map(|text| text.trim().to_owned());
    (!kept.is_empty()).then_some(kept)
}

/// Reports files in the directory that are meant for the manifest but have a name that is not read.
pub(super) fn check_names(
    package: &mut AgentPackage<'_>,
    loaded: &LoadedManifest,
    findings: &mut Findings,
) {
    let read = [("SOUL.md", loaded.soul.is_some()), ("RULES.md", loaded.rules.is_some())];
    let at = Span::start_of(loaded.source.id);
    for listed in package.files.list("", findings).into_iter().filter(|listed| !listed.is_dir) {
        let name = listed.name;
        let meant = read.iter().find(|(file, _)| name != *file && name.eq_ignore_ascii_case(file));
        if let Some((file, exists)) = meant {
            let what = if *exists { "remove it" } else { "rename it" };
            findings
                .add(&MISNAMED_FILE, at, format!("`{name}` is not read, only `{file}` is"))
                .hint(what);
        }
        if name != package.main && MAIN_FILES.contains(&name.as_str()) {
            findings
                .add(&MISNAMED_FILE, at, format!("`{name}` is not read: `{}` wins", package.main))
                .hint(format!("remove `{name}`"));
        }
    }
}
