//! AG8301 to AG8306: texts for every session of a repository, and rules of Cursor.

use agentry_formats::PathPresence;
use agentry_text::{Findings, SourceFile, Span, Spanned, TreeValue, markdown, path, rules};

use super::HarnessSubject;
use super::document::HarnessDocument;
use super::links::links;

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        MISSING_IMPORT: "AG8301",
        BROKEN_LINK: "AG8302",
        CONTEXT_TOO_LARGE: "AG8303".make_bad(large_context),
        NOT_READ_BY_CLAUDE: "AG8304",
        RULE_NEVER_APPLIES: "AG8305",
        EMPTY_CONTEXT: "AG8306",
    ]
}

fn large_context() -> Vec<(String, Vec<u8>)> {
    let line = "Write short sentences.\n";
    CONTEXT_TOO_LARGE.good.replace(line, &line.repeat(1800))
}

/// The most bytes of `AGENTS.md` that Codex reads by default.
const CODEX_BYTES: usize = 32 * 1024;

pub(super) fn check(subject: &HarnessSubject<'_>, findings: &mut Findings) {
    let source = subject.source;
    let start = Span::start_of(source.id);
    if source.text.trim().is_empty() {
        findings.add(&EMPTY_CONTEXT, start, "the file is empty").hint("write it, or remove it");
        return;
    }
    references(subject, findings);
    let name = path::name(&source.path);
    let size = source.text.len();
    if name.starts_with("AGENTS") && size > CODEX_BYTES {
        let message = format!("the file has {size} bytes; Codex reads {CODEX_BYTES}");
        findings
            .add(&CONTEXT_TOO_LARGE, start, message)
            .hint("move parts of it into files that the text links to, or into nested `AGENTS.md`");
    }
    // Only beside a `.claude` directory: another repository may not use Claude Code.
    let is_missing = |path: &str| (subject.probe)(path) == PathPresence::Missing;
    // A text that Agentry rendered is for the harness that it was rendered for.
    let is_rendered = source.text.starts_with("<!-- begin agentry");
    let uses_claude = !is_rendered && !is_missing(".claude") && is_missing("CLAUDE.md");
    if name == "AGENTS.md" && uses_claude && is_missing(".claude/CLAUDE.md") {
        findings
            .add(&NOT_READ_BY_CLAUDE, start, "this file is not read by Claude Code")
            .hint("add a `CLAUDE.md` with the line `@AGENTS.md`");
    }
}

/// Reports links and imports that lead nowhere.
fn references(subject: &HarnessSubject<'_>, findings: &mut Findings) {
    let source = subject.source;
    let body = markdown::parts(source).body;
    let body = Span::new(source.id, body.start, body.end);
    let is_missing = |path: &str| (subject.probe)(path) == PathPresence::Missing;
    for link in links(source, body) {
        // In a nested file, many people write paths from the root of the repository.
        let is_lost = || (subject.probe_root)(&link.value) == PathPresence::Missing;
        if is_missing(&link.value) && is_lost() {
            findings
                .add(&BROKEN_LINK, link.span, format!("there is no `{}`", link.value))
                .hint("links are relative to the directory of this file");
        }
    }
    // Only Claude Code has imports.
    let has_imports = path::name(&source.path).starts_with("CLAUDE");
    let imports = if has_imports { imports(source, body) } else { Vec::new() };
    for import in imports.into_iter().filter(|import| is_missing(&import.value)) {
        findings
            .add(&MISSING_IMPORT, import.span, format!("there is no `{}`", import.value))
            .hint("imports are relative to the directory of this file");
    }
}

/// Checks a rule of Cursor.
pub(super) fn check_rule(subject: &HarnessSubject<'_>, findings: &mut Findings) {
    let source = subject.source;
    // Cursor writes globs without quotes, which is not always YAML, so problems of the language do not count.
    let document = HarnessDocument::markdown(source, None, &mut Findings::default());
    let fields = &document.fields;
    let is_set = |name: &str| {
        fields.get(name).is_some_and(|node| match &node.value {
            TreeValue::Null | TreeValue::Bool(false) => false,
            TreeValue::Str(text) => !text.trim().is_empty(),
            TreeValue::List(items) => !items.is_empty(),
            _ => true,
        })
    };
    let applies = ["alwaysApply", "globs", "description"].into_iter().any(is_set);
    let is_broken = document.has_metadata && fields.is_empty() && document.body.is_none();
    if document.has_metadata && !applies && !is_broken {
        let message = "nothing makes Cursor apply this rule";
        findings
            .add(&RULE_NEVER_APPLIES, document.start, message)
            .hint("set `alwaysApply: true`, `globs` or `description`");
    }
}

/// Returns the imports of a `CLAUDE.md`: words that start with `@` and name a file, outside code.
fn imports(source: &SourceFile, body: Span) -> Vec<Spanned<String>> {
    let fences = markdown::fences(source, body.range());
    let blocks: Vec<Span> = fences.iter().map(|fence| fence.block).collect();
    let mut out = Vec::new();
    for prose in markdown::outside(source, body.range(), &blocks) {
        let mut at = prose.range().start;
        for line in source.slice(prose).split_inclusive('\n') {
            let start = at;
            at += line.len();
            // Only a line that is an import, or an item of a list that is one, is certain.
            let text = line.trim().trim_start_matches(['-', '*']).trim_start();
            let Some(path) = text.strip_prefix('@') else { continue };
            let path = path.split_whitespace().next().unwrap_or_default();
            let rest = text.get(path.len() + 1..).unwrap_or_default();
            let is_file = path.contains('/')
                || path::name(path).rsplit_once('.').is_some_and(|(_, end)| end.len() <= 4);
            let is_plain = !path.contains(['$', '*', '{', '<', '@', ':', ',', '`', '(', '\\']);
            let is_scope = path.starts_with(|c: char| c.is_ascii_lowercase())
                && path.split('/').count() == 2
                && !path.contains('.');
            if is_file
                && is_plain
                && !is_scope
                && !path.starts_with(['~', '/'])
                && rest.trim().is_empty()
            {
                let offset = start + line.find('@').unwrap_or(0) + 1;
                let span = Span::new(source.id, offset, offset + path.len());
                out.push(Spanned::new(path.to_owned(), span));
            }
        }
    }
    out
}
