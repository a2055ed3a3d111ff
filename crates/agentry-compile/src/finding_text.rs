//! Cleans findings before they are shown: masks secrets, limits their number, reports hidden text.

use std::collections::BTreeMap;

use agentry_model::{Agent, tree};
use agentry_text::{
    Diagnostic, FileId, Findings, SourceFile, SourceFiles, TreeNode, TreeValue, hygiene,
};

use crate::secret_mask;

/// The most findings of one rule in one file. The last one states how many more there are.
const MOST: usize = 100;
/// Rules that report something missing. They are dropped where a syntax error may hide it.
const ABOUT_ABSENCE: &[&str] = &["no-description", "no-system-text"];

/// The findings in source order, with all secrets masked.
pub(crate) fn ready(sources: &mut SourceFiles, mut findings: Findings) -> Vec<Diagnostic> {
    let mut spans: Vec<_> = findings.secrets().collect();
    findings.absent(ABOUT_ABSENCE);
    let mut diagnostics = findings.into_sorted();
    if diagnostics.is_empty() {
        return diagnostics;
    }
    spans.extend(secret_mask::in_texts(sources));
    let secrets = secret_mask::texts(sources, spans.iter().copied());
    spans.into_iter().for_each(|span| sources.hide(span));
    for diagnostic in &mut diagnostics {
        mask(diagnostic, &secrets);
        // The text of a file that is not UTF-8 cannot be written back, so its fixes are not offered.
        let is_whole = |source: &SourceFile| !source.text.contains('\u{fffd}');
        diagnostic.fix.take_if(|_| !sources.get(diagnostic.span.file).is_some_and(is_whole));
        if let Some(fix) = &mut diagnostic.fix {
            fix.quote_words(|span| sources.slice(span));
        }
    }
    diagnostics
}

fn mask(diagnostic: &mut Diagnostic, secrets: &[String]) {
    let texts = [Some(&mut diagnostic.message), diagnostic.hint.as_mut()];
    let title = diagnostic.fix.as_mut().map(|fix| &mut fix.title);
    for text in texts.into_iter().flatten().chain(title) {
        secret_mask::replaced(text, secrets);
    }
}

/// Keeps at most [`MOST`] findings of a rule in a file.
pub(crate) fn capped(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if diagnostics.len() <= MOST {
        return diagnostics;
    }
    let mut counts: BTreeMap<(FileId, &str), usize> = BTreeMap::new();
    for found in &diagnostics {
        *counts.entry((found.span.file, found.rule.code)).or_default() += 1;
    }
    let mut seen: BTreeMap<(FileId, &str), usize> = BTreeMap::new();
    let keep = |mut found: Diagnostic| {
        let key = (found.span.file, found.rule.code);
        let (count, at) = (counts.get(&key).copied().unwrap_or(0), seen.entry(key).or_default());
        *at += 1;
        if *at == MOST && count > MOST {
            found.message = format!("{}, and {} more like this", found.message, count - MOST);
        }
        (*at <= MOST).then_some(found)
    };
    diagnostics.into_iter().filter_map(keep).collect()
}

/// Reports hidden characters that are written as escapes, and are therefore not visible in the file.
pub(crate) fn hidden_text(agent: &Agent, sources: &SourceFiles, findings: &mut Findings) {
    // Fast path: escapes start with a backslash in every format.
    if sources.iter().any(|source| source.text.contains('\\')) {
        walk(&tree::tree(agent), sources, findings);
    }
}

fn walk(node: &TreeNode, sources: &SourceFiles, findings: &mut Findings) {
    match &node.value {
        TreeValue::Str(text) => escaped(text, node, sources, findings),
        TreeValue::List(items) => items.iter().for_each(|item| walk(item, sources, findings)),
        TreeValue::Map(map) => {
            map.entries.iter().for_each(|entry| walk(&entry.value, sources, findings));
        }
        _ => {}
    }
}

fn escaped(text: &str, node: &TreeNode, sources: &SourceFiles, findings: &mut Findings) {
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    // Plain text hides nothing, and unescaped text was checked in its file.
    if text.bytes().all(plain) || sources.slice(node.span).contains(text) {
        return;
    }
    let mut inner = Findings::default();
    hygiene::check(&SourceFile::new(node.span.file, "", text), &mut inner);
    let raw = sources.slice(node.span);
    let mut reported: Vec<&str> = Vec::new();
    for found in inner.into_sorted() {
        let character = text.get(found.span.range()).unwrap_or("");
        // A character that the file has unescaped was already reported there.
        if !reported.contains(&found.rule.code) && !raw.contains(character) {
            reported.push(found.rule.code);
            findings.push(Diagnostic { span: node.span, fix: None, ..found });
        }
    }
}
