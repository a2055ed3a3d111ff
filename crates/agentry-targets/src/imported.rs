//! Building an agent from the files of a harness: what the readers of several harnesses share.

use std::collections::BTreeSet;

use agentry_model::Agent;
use agentry_policy::{Action, PatternRule, Permissions, Section, SectionRules};
use agentry_text::{Data, FileId, Span, Spanned};

use crate::rendering::{Loss, LossKind};
use crate::servers::{self, Variables};

/// An agent on its way from a harness.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) agent: Agent,
    pub(crate) losses: BTreeSet<Loss>,
}

/// A value that no file of ours holds.
pub(crate) fn at<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::start_of(FileId::BUILT_IN))
}

impl Draft {
    /// An agent with this name and this prompt.
    pub(crate) fn new(name: &str, prompt: &str) -> Self {
        let mut draft = Self::default();
        draft.agent.identity.name = Some(at(name.to_owned()));
        draft.agent.instructions.system = Some(at(format!("{}\n", prompt.trim())));
        draft.agent.policy.permissions = Some(Permissions::default());
        draft
    }

    /// Notes what has no place in the model.
    pub(crate) fn lose(&mut self, field: &str, kind: LossKind, detail: impl Into<String>) {
        self.losses.insert(Loss { field: field.to_owned(), kind, detail: detail.into() });
    }

    /// Notes where the reader was lenient.
    pub(crate) fn lenient(&mut self, notes: Vec<String>) {
        for note in notes {
            self.lose("metadata", LossKind::Changed, note);
        }
    }

    /// Notes every key that is none of `known`.
    pub(crate) fn unknown(&mut self, metadata: &Data, known: &[&str]) {
        let Data::Map(entries) = metadata else { return };
        for (key, _) in entries.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            self.lose(key, LossKind::Dropped, "the model has no place for it");
        }
    }

    /// What is said about a section as a whole.
    pub(crate) fn section(&mut self, section: Section, action: Action) {
        self.rules(section, Vec::new(), action);
    }

    /// What is said about files: inside the workspace, and outside.
    pub(crate) fn files(&mut self, section: Section, inside: Action, outside: Action) {
        let rule = |text: &str| PatternRule { pattern: text.to_owned(), action: inside };
        let rules = if inside == outside { vec![] } else { vec![rule("**/*"), rule(".")] };
        self.rules(section, rules, outside);
    }

    /// The rules of a section, in order.
    pub(crate) fn rules(&mut self, section: Section, rules: Vec<PatternRule>, intent: Action) {
        let permissions = self.agent.policy.permissions.get_or_insert_default();
        permissions.sections.push(SectionRules {
            section: at(section),
            intent: Some(at(intent)),
            rules: rules.into_iter().map(at).collect(),
        });
    }

    /// The servers of a map by name, as most harnesses write them.
    pub(crate) fn servers(&mut self, data: Option<&Data>) {
        let Some(Data::Map(servers)) = data else { return };
        let servers: Vec<_> = servers
            .iter()
            .map(|(name, data)| at(servers::read(name, data, Variables::Untouched)))
            .collect();
        self.agent.tools.mcp = (!servers.is_empty()).then_some(servers);
    }
}

/// The name of a file without its directory and the ends that harnesses give it.
pub(crate) fn stem<'a>(path: &'a str, ends: &[&str]) -> &'a str {
    let name = path.rsplit('/').next().unwrap_or(path);
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}
