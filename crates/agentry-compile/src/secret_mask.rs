//! Masks secrets in everything that is shown of an agent. Digests use the unmasked agent, so masking does
//! not change them.

use std::ops::Range;

use agentry_check::CheckSubject;
use agentry_formats::info;
use agentry_model::{Agent, Format};
use agentry_policy::memo::PolicyMemo;
use agentry_text::{SourceFiles, Span, TreeEntry, TreeMap, TreeNode, TreeValue, credentials};

/// The replacement for a secret.
pub(crate) const MASK: &str = "***";
/// The shortest secret that is masked. A shorter text could also occur elsewhere by chance.
const SHORTEST_SECRET: usize = 6;
/// How many secrets are searched for in every text.
const MOST: usize = 100;

/// Marks in `sources` what the checks report as a secret, and everything that looks like one.
pub(crate) fn hide(agent: &Agent, format: Format, sources: &mut SourceFiles) {
    let memo = &PolicyMemo::default();
    let mut spans = agentry_check::secrets(&CheckSubject { agent, format: info(format), memo });
    spans.extend(in_texts(sources));
    spans.into_iter().for_each(|span| sources.hide(span));
}

/// The spans of keys and tokens of well-known services.
pub(crate) fn in_texts(sources: &SourceFiles) -> Vec<Span> {
    let mut spans = Vec::new();
    for source in sources.iter() {
        let found = source.credentials().iter();
        spans.extend(found.map(|range| Span::new(source.id, range.start, range.end)));
    }
    spans
}

/// The texts of the secrets at `spans`, if they are long enough.
pub(crate) fn texts(sources: &SourceFiles, spans: impl Iterator<Item = Span>) -> Vec<String> {
    let text = |span| sources.slice(span).trim_matches(['"', '\'', ' ']).to_owned();
    let mut secrets: Vec<String> =
        spans.map(text).filter(|text| text.len() >= SHORTEST_SECRET).collect();
    secrets.sort();
    secrets.dedup();
    secrets.truncate(MOST);
    secrets
}

/// Masks every one of `secrets` in `text`.
pub(crate) fn replaced(text: &mut String, secrets: &[String]) {
    for secret in secrets {
        if text.contains(secret.as_str()) {
            *text = text.replace(secret.as_str(), MASK);
        }
    }
}

/// `text` with a mask in place of each of `ranges`.
pub(crate) fn masked(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = text.to_owned();
    // From the end, so that earlier ranges stay valid.
    for range in ranges.iter().rev().filter(|range| text.get((*range).clone()).is_some()) {
        out.replace_range(range.clone(), MASK);
    }
    out
}

/// Masks the secrets of some files.
pub(crate) struct SecretMask {
    spans: Vec<Span>,
    secrets: Vec<String>,
}

impl SecretMask {
    /// The mask for the secrets marked in `sources`.
    pub(crate) fn new(sources: &SourceFiles) -> Self {
        let spans: Vec<_> = sources.hidden().collect();
        Self { secrets: texts(sources, spans.iter().copied()), spans }
    }

    /// `text` with secrets masked: marked ones, and anything that looks like one.
    pub(crate) fn text(&self, text: String) -> String {
        let ranges = self.ranges(&text);
        if ranges.is_empty() { text } else { masked(&text, &ranges) }
    }

    /// The secrets in `text`, in order and apart from each other.
    pub(crate) fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let marked = self.secrets.iter().flat_map(|secret| text.match_indices(secret.as_str()));
        let marked = marked.map(|(at, secret)| at..at + secret.len());
        let found = credentials::find(text).into_iter().map(|(_, range)| range);
        let mut ranges: Vec<Range<usize>> = marked.chain(found).collect();
        ranges.sort_by_key(|range| range.start);
        let mut apart: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match apart.last_mut().filter(|last| range.start < last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => apart.push(range),
            }
        }
        apart
    }

    /// The tree with secrets masked.
    pub(crate) fn node(&self, node: TreeNode) -> TreeNode {
        let value = match node.value {
            TreeValue::Str(_) if self.is_secret(node.span) => TreeValue::Str(MASK.to_owned()),
            TreeValue::Str(text) => TreeValue::Str(self.text(text)),
            TreeValue::Call(name, arguments) => TreeValue::Call(name, self.nodes(arguments)),
            TreeValue::List(items) => TreeValue::List(self.nodes(items)),
            TreeValue::Map(TreeMap { entries, labelled }) => {
                let entry = |TreeEntry { key, value }| TreeEntry { key, value: self.node(value) };
                TreeValue::Map(TreeMap {
                    entries: entries.into_iter().map(entry).collect(),
                    labelled,
                })
            }
            other => other,
        };
        TreeNode { value, ..node }
    }

    fn nodes(&self, nodes: Vec<TreeNode>) -> Vec<TreeNode> {
        nodes.into_iter().map(|node| self.node(node)).collect()
    }

    /// Whether a marked secret covers `span`, however it is spelt there.
    fn is_secret(&self, span: Span) -> bool {
        let covers = |hidden: &Span| {
            hidden.file == span.file && hidden.start <= span.start && span.end <= hidden.end
        };
        span.start < span.end && self.spans.iter().any(covers)
    }
}
