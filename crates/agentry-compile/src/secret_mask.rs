//! Masks secrets in everything that is shown of an agent. Digests use the unmasked agent, so masking does
//! not change them.

use agentry_check::CheckSubject;
use agentry_formats::info;
use agentry_model::{Agent, Format};
use agentry_policy::memo::PolicyMemo;
use agentry_text::{SourceFiles, Span, TreeEntry, TreeMap, TreeNode, TreeValue, credentials};

/// The replacement for a secret.
const MASK: &str = "***";
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
    pub(crate) fn text(&self, mut text: String) -> String {
        replaced(&mut text, &self.secrets);
        let mut found = credentials::find(&text);
        // From the end, so that earlier ranges stay valid.
        found.sort_by_key(|(_, range)| std::cmp::Reverse(range.start));
        for (_, range) in found {
            if text.get(range.clone()).is_some() {
                text.replace_range(range, MASK);
            }
        }
        text
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
