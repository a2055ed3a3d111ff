//! Links of a Markdown text to files of the repository.

use agentry_text::{SourceFile, Span, Spanned, markdown};

/// Returns the relative links of a text with their spans: `[x](path)`, without anchors, outside code.
pub(super) fn links(source: &SourceFile, body: Span) -> Vec<Spanned<String>> {
    let fences = markdown::fences(source, body.range());
    let blocks: Vec<Span> = fences.iter().map(|fence| fence.block).collect();
    let mut out = Vec::new();
    for prose in markdown::outside(source, body.range(), &blocks) {
        let text = source.slice(prose);
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find("](")) {
            let start = from + at + 2;
            from = start;
            let Some(rest) = text.get(start..) else { break };
            let line = rest.split('\n').next().unwrap_or_default();
            let Some((target, _)) = line.split_once(')') else { continue };
            if in_code(text, start) {
                continue;
            }
            // A title may follow the path: `(path "title")`.
            let path = target.split_whitespace().next().unwrap_or_default();
            let path = path.split(['#', '?']).next().unwrap_or_default();
            if is_relative(path) {
                let at = prose.range().start + start;
                let span = Span::new(source.id, at, at + path.len());
                out.push(Spanned::new(path.to_owned(), span));
            }
        }
    }
    out
}

/// Whether a place is inside a code span of its line.
fn in_code(text: &str, at: usize) -> bool {
    let line = text.get(..at).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.matches('`').count() % 2 == 1
}

/// Whether a link names a file beside the text, and not an address, an anchor or a placeholder.
fn is_relative(path: &str) -> bool {
    let odd = ['<', '>', '{', '}', '$', '*', '|', '\\', '@', '%', '…', '"', '\''];
    let has_name =
        path.rsplit('/').next().is_some_and(|name| name.contains('.') || path.contains('/'));
    !path.is_empty()
        && has_name
        && !path.contains(':')
        && !path.starts_with(['/', '#', '~'])
        && !path.contains(odd)
        && !path.contains("...")
}
