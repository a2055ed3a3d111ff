//! AG8301 to AG8306: texts for every session of a repository, and rules of Cursor.

use agentry_formats::PathPresence;
use agentry_text::{Findings, LintRule, RuleExample, Severity, SourceFile, Span, Spanned, TreeValue, markdown, path};

use super::HarnessSubject;
use super::document::HarnessDocument;
use super::links::links;

pub(super) const RULES: &[&LintRule] = &[
    &MISSING_IMPORT,
    &BROKEN_LINK,
    &CONTEXT_TOO_LARGE,
    &NOT_READ_BY_CLAUDE,
    &RULE_NEVER_APPLIES,
    &EMPTY_CONTEXT,
];

pub(super) static MISSING_IMPORT: LintRule = LintRule {
    code: "AG8301",
    name: "context-missing-import",
    severity: Severity::Warning,
    why: "A line `@path` in `CLAUDE.md` puts that file into the context of Claude Code. If there is no such \
          file, its text is missing and nothing says so.",
    bad: RuleExample::File("CLAUDE.md", "# Project\n\n@docs/style.md\n"),
    good: RuleExample::Files(&[
        ("CLAUDE.md", "# Project\n\n@docs/style.md\n"),
        ("docs/style.md", "Short sentences.\n"),
    ]),
};

pub(super) static BROKEN_LINK: LintRule = LintRule {
    code: "AG8302",
    name: "context-broken-link",
    severity: Severity::Warning,
    why: "The text is sent with every session, and the agent follows its links. A link that leads nowhere \
          costs a search each time.",
    bad: RuleExample::File("AGENTS.md", "# Project\n\nSee [the style](docs/style.md).\n"),
    good: RuleExample::Files(&[
        ("AGENTS.md", "# Project\n\nSee [the style](docs/style.md).\n"),
        ("docs/style.md", "Short sentences.\n"),
    ]),
};

pub(super) static CONTEXT_TOO_LARGE: LintRule = LintRule {
    code: "AG8303",
    name: "context-file-too-large",
    severity: Severity::Warning,
    why: "Codex reads at most 32 KiB of `AGENTS.md` files together, from the root of the repository down, and \
          cuts off the rest without a message. The instructions nearest to the code are lost first.",
    bad: RuleExample::Made("an `AGENTS.md` of 40 KiB", || {
        vec![("AGENTS.md".to_owned(), "Write short sentences.\n".repeat(1800).into_bytes())]
    }),
    good: RuleExample::File("AGENTS.md", "# Project\n\nWrite short sentences.\n"),
};

pub(super) static NOT_READ_BY_CLAUDE: LintRule = LintRule {
    code: "AG8304",
    name: "context-not-read-by-claude",
    severity: Severity::Note,
    why: "Claude Code reads `CLAUDE.md` and not `AGENTS.md`. A repository with agents for Claude Code and only \
          an `AGENTS.md` gives it no instructions; a `CLAUDE.md` with the line `@AGENTS.md` imports them.",
    bad: RuleExample::Files(&[
        ("AGENTS.md", "# Project\n\nWrite short sentences.\n"),
        (".claude/settings.json", "{\"model\": \"sonnet\"}\n"),
    ]),
    good: RuleExample::Files(&[
        ("AGENTS.md", "# Project\n\nWrite short sentences.\n"),
        ("CLAUDE.md", "@AGENTS.md\n"),
        (".claude/settings.json", "{\"model\": \"sonnet\"}\n"),
    ]),
};

pub(super) static RULE_NEVER_APPLIES: LintRule = LintRule {
    code: "AG8305",
    name: "cursor-rule-never-applies",
    severity: Severity::Note,
    why: "Cursor applies a rule always, to files that match its globs, or when its description fits. A rule \
          with none of the three is used only if a person names it.",
    bad: RuleExample::File(
        ".cursor/rules/style.mdc",
        "---\nalwaysApply: false\n---\n\nWrite short sentences.\n",
    ),
    good: RuleExample::File(
        ".cursor/rules/style.mdc",
        "---\nalwaysApply: true\n---\n\nWrite short sentences.\n",
    ),
};

pub(super) static EMPTY_CONTEXT: LintRule = LintRule {
    code: "AG8306",
    name: "context-empty",
    severity: Severity::Note,
    why: "The file has no text, so the harness gets no instructions from it. Codex takes the next file in its \
          place.",
    bad: RuleExample::File("AGENTS.md", "\n"),
    good: RuleExample::File("AGENTS.md", "# Project\n\nWrite short sentences.\n"),
};

/// The most bytes of `AGENTS.md` that Codex reads by default.
const CODEX_BYTES: usize = 32 * 1024;

pub(super) fn check(subject: &HarnessSubject<'_>, findings: &mut Findings) {
    let source = subject.source;
    let start = Span::start_of(source.id);
    if source.text.trim().is_empty() {
        findings.add(&EMPTY_CONTEXT, start, "the file is empty").hint("write it, or remove it");
        return;
    }
    let name = path::name(&source.path);
    let body = markdown::parts(source).body;
    let body = Span::new(source.id, body.start, body.end);
    for link in links(source, body) {
        if (subject.probe)(&link.value) == PathPresence::Missing {
            findings
                .add(&BROKEN_LINK, link.span, format!("there is no `{}`", link.value))
                .hint("links are relative to the directory of this file");
        }
    }
    if name.starts_with("CLAUDE") {
        for import in imports(source, body) {
            if (subject.probe)(&import.value) == PathPresence::Missing {
                findings
                    .add(&MISSING_IMPORT, import.span, format!("there is no `{}`", import.value))
                    .hint("imports are relative to the directory of this file");
            }
        }
    }
    let size = source.text.len();
    if name.starts_with("AGENTS") && size > CODEX_BYTES {
        let message = format!("the file has {size} bytes; Codex reads {CODEX_BYTES}");
        findings
            .add(&CONTEXT_TOO_LARGE, start, message)
            .hint("move parts of it into files that the text links to, or into nested `AGENTS.md`");
    }
    // Only beside a `.claude` directory: another repository may not use Claude Code.
    let is_missing = |path: &str| (subject.probe)(path) == PathPresence::Missing;
    let uses_claude = !is_missing(".claude") && is_missing("CLAUDE.md");
    if name == "AGENTS.md" && uses_claude && is_missing(".claude/CLAUDE.md") {
        findings
            .add(&NOT_READ_BY_CLAUDE, start, "this file is not read by Claude Code")
            .hint("add a `CLAUDE.md` with the line `@AGENTS.md`");
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
            let is_file = path.contains('/') || path::name(path).rsplit_once('.').is_some_and(|(_, end)| end.len() <= 4);
            let is_plain = !path.contains(['$', '*', '{', '<', '@', ':', ',', '`', '(', '\\']);
            let is_scope = path.starts_with(|c: char| c.is_ascii_lowercase()) && path.split('/').count() == 2 && !path.contains('.');
            if is_file && is_plain && !is_scope && !path.starts_with(['~', '/']) && rest.trim().is_empty() {
                let offset = start + line.find('@').unwrap_or(0) + 1;
                let span = Span::new(source.id, offset, offset + path.len());
                out.push(Spanned::new(path.to_owned(), span));
            }
        }
    }
    out
}
