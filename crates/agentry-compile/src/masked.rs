//! What is shown of an agent, without its secrets. Digests are made of the agent itself, so they do
//! not change.

use agentry_check::Subject;
use agentry_formats::info;
use agentry_model::{Agent, Format};
use agentry_policy::memo::PolicyMemo;
use agentry_text::{Entry, Map, Node, Sources, Span, Value, credentials};

/// What stands for a secret.
const MASK: &str = "***";
/// A shorter text is too likely to stand elsewhere by chance.
const SHORTEST_SECRET: usize = 6;
/// So many secrets are looked for in every text.
const MOST: usize = 100;

/// Hides in `sources` what the checks take for a secret, and what looks like one anywhere.
pub(crate) fn hide(agent: &Agent, format: Format, sources: &mut Sources) {
    let memo = &PolicyMemo::default();
    let mut spans = agentry_check::secrets(&Subject { agent, format: info(format), memo });
    spans.extend(in_texts(sources));
    spans.into_iter().for_each(|span| sources.hide(span));
}

/// Where the texts hold keys and tokens of well-known services.
pub(crate) fn in_texts(sources: &Sources) -> Vec<Span> {
    let mut spans = Vec::new();
    for source in sources.iter() {
        let found = source.credentials().iter();
        spans.extend(found.map(|range| Span::new(source.id, range.start, range.end)));
    }
    spans
}

/// The secrets at `spans`, as far as they can be told from other text.
pub(crate) fn texts(sources: &Sources, spans: impl Iterator<Item = Span>) -> Vec<String> {
    let text = |span| sources.slice(span).trim_matches(['"', '\'', ' ']).to_owned();
    let mut secrets: Vec<String> =
        spans.map(text).filter(|text| text.len() >= SHORTEST_SECRET).collect();
    secrets.sort();
    secrets.dedup();
    secrets.truncate(MOST);
    secrets
}

/// `text` with every one of `secrets` masked.
pub(crate) fn replaced(text: &mut String, secrets: &[String]) {
    for secret in secrets {
        if text.contains(secret.as_str()) {
            *text = text.replace(secret.as_str(), MASK);
        }
    }
}

/// Takes the secrets of some files out of what is shown.
pub(crate) struct Mask {
    spans: Vec<Span>,
    secrets: Vec<String>,
}

impl Mask {
    /// The secrets that `sources` hide.
    pub(crate) fn new(sources: &Sources) -> Self {
        let spans: Vec<_> = sources.hidden().collect();
        Self { secrets: texts(sources, spans.iter().copied()), spans }
    }

    /// `text` without secrets: those that are known, and what looks like one.
    pub(crate) fn text(&self, mut text: String) -> String {
        replaced(&mut text, &self.secrets);
        let mut found = credentials::find(&text);
        found.sort_by_key(|(_, range)| std::cmp::Reverse(range.start));
        for (_, range) in found {
            if text.get(range.clone()).is_some() {
                text.replace_range(range, MASK);
            }
        }
        text
    }

    /// The tree without secrets.
    pub(crate) fn node(&self, node: Node) -> Node {
        let value = match node.value {
            Value::Str(_) if self.is_secret(node.span) => Value::Str(MASK.to_owned()),
            Value::Str(text) => Value::Str(self.text(text)),
            Value::Call(name, arguments) => Value::Call(name, self.nodes(arguments)),
            Value::List(items) => Value::List(self.nodes(items)),
            Value::Map(Map { entries, labelled }) => {
                let entry = |Entry { key, value }| Entry { key, value: self.node(value) };
                Value::Map(Map { entries: entries.into_iter().map(entry).collect(), labelled })
            }
            other => other,
        };
        Node { value, ..node }
    }

    fn nodes(&self, nodes: Vec<Node>) -> Vec<Node> {
        nodes.into_iter().map(|node| self.node(node)).collect()
    }

    /// Whether all that is written at `span` is a secret, however it is spelt there.
    fn is_secret(&self, span: Span) -> bool {
        let covers = |hidden: &Span| {
            hidden.file == span.file && hidden.start <= span.start && span.end <= hidden.end
        };
        span.start < span.end && self.spans.iter().any(covers)
    }
}
