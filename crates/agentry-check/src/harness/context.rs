//! AG8301 to AG8308: texts for every session of a repository, and rules of Cursor.

use agentry_formats::PathPresence;
use agentry_text::suggestion::nearest;
use agentry_text::{
    Findings, Fix, SourceFile, Span, Spanned, TreeEntry, TreeMap, TreeValue, markdown, path, rules,
};

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
        RULE_FIELD: "AG8307",
        RULE_VALUE: "AG8308",
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
    // Only Claude Code and Gemini CLI have imports.
    let name = path::name(&source.path);
    let has_imports = name.starts_with("CLAUDE") || name.starts_with("GEMINI");
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
    let is_misspelt = rule_fields(fields, findings);
    let applies = is_misspelt || RULE_FIELDS.into_iter().any(is_set);
    let is_broken = document.has_metadata && fields.is_empty() && document.body.is_none();
    if document.has_metadata && !applies && !is_broken {
        let message = "nothing makes Cursor apply this rule";
        findings
            .add(&RULE_NEVER_APPLIES, document.start, message)
            .hint("set `alwaysApply: true`, `globs` or `description`");
    }
}

/// The fields of a rule of Cursor.
const RULE_FIELDS: [&str; 3] = ["alwaysApply", "globs", "description"];

/// Reports fields and values of a rule that Cursor ignores. Returns whether there were any.
fn rule_fields(fields: &TreeMap, findings: &mut Findings) -> bool {
    let before = findings.iter().count();
    for TreeEntry { key, value } in &fields.entries {
        let name = key.text.as_str();
        let near = nearest(name, RULE_FIELDS).filter(|near| fields.get(near).is_none());
        if let Some(near) = near.filter(|_| !RULE_FIELDS.contains(&name)) {
            findings
                .add(&RULE_FIELD, key.span, format!("`{name}` is not a field of a rule"))
                .hint(format!("did you mean `{near}`? Cursor ignores another field"))
                .fix(Fix::word(format!("write `{near}`"), key.span, near));
        }
        let is_switch = matches!(value.value, TreeValue::Bool(_) | TreeValue::Null);
        if name == "alwaysApply" && !is_switch {
            findings
                .add(&RULE_VALUE, value.span, "`alwaysApply` is not `true` or `false`")
                .hint("Cursor does not apply the rule by another value");
        }
    }
    findings.iter().count() > before
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
            let paths = line_imports(line).into_iter();
            out.extend(paths.map(|(offset, path)| {
                let offset = start + offset;
                let span = Span::new(source.id, offset, offset + path.len());
                Spanned::new(path.to_owned(), span)
            }));
        }
    }
    out
}

/// Returns the imports of one line, each with its offset.
fn line_imports(line: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let mut in_code = false;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        in_code ^= c == '`';
        let starts = c == '@' && (before.is_whitespace() || before == '(');
        before = c;
        if in_code || !starts {
            continue;
        }
        let rest = line.get(at + 1..).unwrap_or_default();
        let word = rest.split(|c: char| c.is_whitespace() || c == ')').next().unwrap_or_default();
        let path = word.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '"', '*', '_']);
        let alone = line.trim().trim_start_matches(['-', '*']).trim_start();
        let is_alone = alone.strip_prefix('@') == Some(path);
        if is_import(path, is_alone) {
            out.push((at + 1, path));
        }
    }
    out
}

/// Whether a word behind `@` is a path. Inside a sentence it may also be a name or a package.
fn is_import(path: &str, is_alone: bool) -> bool {
    let ending = path::name(path).rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    let has_ending = ending.is_some_and(|(_, end)| (1..=4).contains(&end.len()));
    let is_page = ending.is_some_and(|(_, end)| matches!(end, "md" | "mdx" | "mdc" | "txt"));
    let is_plain = !path.contains(['$', '*', '{', '<', '@', ':', ',', '`', '(', '\\']);
    let is_scope = path.starts_with(|c: char| c.is_ascii_lowercase())
        && path.split('/').count() == 2
        && !path.contains('.');
    let is_file = if is_alone {
        (path.contains('/') || has_ending) && !is_scope
    } else {
        is_page || (has_ending && path.starts_with("./")) || path.starts_with("../")
    };
    is_file && is_plain && !path.starts_with(['~', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_in_a_line() {
        let cases: &[(&str, &[&str])] = &[
            ("@docs/a.md", &["docs/a.md"]),
            ("- @docs/a.md", &["docs/a.md"]),
            ("See @docs/a.md here", &["docs/a.md"]),
            ("See @docs/a.md, @b.md.", &["docs/a.md", "b.md"]),
            ("(@docs/a.md)", &["docs/a.md"]),
            ("Read **@a.md** first", &[]),
            ("See `@docs/a.md` here", &[]),
            ("Write to me@docs.md", &[]),
            ("Ask @octocat or use @types/node and @angular/core", &[]),
            ("@types/node", &[]),
            ("@src/main.rs", &["src/main.rs"]),
            ("Look at @src/main.rs now", &[]),
            ("Look at @./src/main.rs now", &["./src/main.rs"]),
            ("Home: @~/.claude/a.md", &[]),
        ];
        for (line, expected) in cases {
            let found: Vec<&str> = line_imports(line).into_iter().map(|(_, path)| path).collect();
            assert_eq!(found, *expected, "{line}");
        }
    }
}
