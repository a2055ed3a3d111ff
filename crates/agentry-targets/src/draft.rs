//! Builds an agent from the files of a harness: the parts that several importers share.

use std::collections::BTreeSet;

use agentry_model::{Agent, SkillRef};
use agentry_policy::{Action, PatternRule, Permissions, Section, SectionRules};
use agentry_text::{Data, FileId, Span, Spanned, TextPosition};

use crate::HarnessModel;
use crate::fields::{TargetField, is_known};
use crate::import::{HarnessAgent, PermittedBound};
use crate::import_loss::ImportLoss;
use crate::model::always;
use crate::original;
use crate::render_result::LossKind;
use crate::servers::{self, VariableStyle};

/// The loss detail for a field that no definition format has.
pub(crate) const PLACELESS: &str = "a definition has no place for it";

/// An agent while it is imported from a harness.
#[derive(Debug, Default)]
pub(crate) struct ImportDraft {
    pub(crate) agent: Agent,
    pub(crate) losses: BTreeSet<ImportLoss>,
    /// The name in the harness, if it is not a valid agent name.
    called: Option<String>,
}

/// A value without a position in a source file.
pub(crate) fn at<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::start_of(FileId::BUILT_IN))
}

/// The rules with one verdict for all files inside the workspace.
pub(crate) fn inside(action: Action) -> [PatternRule; 2] {
    ["**/*", "."].map(|text| PatternRule { pattern: text.to_owned(), action })
}

impl ImportDraft {
    /// Starts an agent with this prompt. A name that is not a valid agent name is changed, and reported.
    pub(crate) fn new(name: &str, prompt: &str) -> Self {
        let mut draft = Self::shown(name, prompt);
        if let Some(name) = draft.agent.identity.display_name.take() {
            let detail = format!("`{}` became `{}`", name.value, draft.agent.name());
            draft.lose("name", LossKind::Changed, detail);
            draft.called = Some(name.value);
        }
        draft
    }

    /// Starts an agent whose name is a display name, and keeps that display name.
    pub(crate) fn shown(name: &str, prompt: &str) -> Self {
        let mut draft = Self::default();
        // A name without any letter or digit has no slug and stays as it is.
        let slug = Some(agentry_model::slug(name)).filter(|slug| !slug.is_empty());
        let slug = slug.unwrap_or_else(|| name.to_owned());
        draft.agent.identity.display_name = (slug != name).then(|| at(name.to_owned()));
        draft.agent.identity.name = Some(at(slug));
        draft.agent.instructions.system = Some(at(prompt.trim().to_owned()));
        draft.agent.policy.permissions = Some(Permissions::default());
        draft
    }

    /// Finishes the import.
    pub(crate) fn read(self, bound: PermittedBound, metadata: Data) -> HarnessAgent {
        let Self { agent, losses, called } = self;
        HarnessAgent { agent, bound, losses, metadata, called }
    }

    /// Records a loss.
    pub(crate) fn lose(&mut self, field: &str, kind: LossKind, detail: impl Into<String>) {
        let (field, detail) = (field.to_owned(), detail.into());
        self.losses.insert(ImportLoss { field, kind, detail, at: None });
    }

    /// Records that the metadata was read leniently at a position.
    pub(crate) fn lenient_at(&mut self, kind: LossKind, detail: String, at: TextPosition) {
        self.losses.insert(ImportLoss { field: "metadata".to_owned(), kind, detail, at: Some(at) });
    }

    /// Records each place where the parser was lenient.
    pub(crate) fn lenient(&mut self, notes: Vec<(TextPosition, String)>) {
        for (at, note) in notes {
            self.lenient_at(LossKind::Changed, note, at);
        }
    }

    /// Reads metadata by the field table of its harness, and reports every field without a row.
    pub(crate) fn read_fields(&mut self, harness: &str, fields: &[TargetField], metadata: &Data) {
        self.read_known_fields(harness, fields, metadata);
        self.report_unknown(metadata, |name| is_known(fields, name));
    }

    /// Reads the fields that have a row, and keeps the preferences that only this harness understands.
    pub(crate) fn read_known_fields(
        &mut self,
        harness: &str,
        fields: &[TargetField],
        metadata: &Data,
    ) {
        for field in fields.iter().filter(|field| !field.name.is_empty()) {
            let value = metadata.get(field.name).filter(|value| **value != Data::Null);
            let Some(value) = value else { continue };
            if let Some(read) = field.read {
                read(value, self);
            }
            if let Some(note) = field.note {
                self.lose(field.name, LossKind::Dropped, note);
            }
            match field.preference {
                Some(fits) if fits(value) => {
                    original::set(&mut self.agent, harness, field.name, value.clone());
                }
                Some(_) => {
                    self.lose(field.name, LossKind::Dropped, "its value is not taken over");
                }
                None => {}
            }
        }
    }

    /// Reports every unknown field as dropped.
    pub(crate) fn report_unknown(&mut self, metadata: &Data, is_known: impl Fn(&str) -> bool) {
        let Data::Map(entries) = metadata else { return };
        for (key, value) in entries {
            // A null value sets nothing, so it is no loss.
            if *value != Data::Null && !is_known(key) {
                self.lose(key, LossKind::Dropped, PLACELESS);
            }
        }
    }

    /// Sets the description.
    pub(crate) fn description(&mut self, text: Option<&str>) {
        self.agent.identity.description = text.map(|text| at(text.to_owned()));
    }

    /// Sets the preferred models, the first choice first.
    pub(crate) fn models<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let names: Vec<_> = names.map(|name| at(name.to_owned())).collect();
        self.agent.model.preferred = (!names.is_empty()).then_some(names);
    }

    /// Keeps the first model under its original name if rendering could not derive that name again.
    pub(crate) fn keep_model(&mut self, harness: &str, is_known: impl Fn(&str) -> bool) {
        let first = self.agent.model.preferred.as_ref().and_then(|names| names.first());
        let first = first.map(|name| name.value.clone()).filter(|name| !is_known(name));
        if let Some(name) = first {
            original::set(&mut self.agent, harness, original::MODEL, Data::str(name));
        }
    }

    /// Keeps the original tools of each group that differs from its `usual` tools.
    pub(crate) fn keep_tools(
        &mut self,
        harness: &str,
        groups: &[Vec<&str>],
        usual: impl Fn(&str) -> bool,
        has: impl Fn(&str) -> bool,
    ) {
        let some = groups.iter().filter(|group| !group.iter().all(|tool| has(tool) == usual(tool)));
        let tools: Vec<&str> = some.flatten().copied().filter(|tool| has(tool)).collect();
        if !tools.is_empty() {
            original::set(&mut self.agent, harness, original::TOOLS, Data::strings(tools));
        }
    }

    /// Sets the skills.
    pub(crate) fn skills(&mut self, names: Vec<String>) {
        let skill = |name| at(SkillRef { name, optional: false, options: Vec::new() });
        let skills: Vec<_> = names.into_iter().map(skill).collect();
        self.agent.skills = (!skills.is_empty()).then_some(skills);
    }

    /// Adds one verdict for a whole section.
    pub(crate) fn section(&mut self, section: Section, action: Action) {
        self.rules(section, Vec::new(), action);
    }

    /// Adds one verdict for files inside the workspace and one for files outside.
    pub(crate) fn files(&mut self, section: Section, inside: Action, outside: Action) {
        let rules = if inside == outside { vec![] } else { self::inside(inside).into() };
        self.rules(section, rules, outside);
    }

    /// Adds the rules of a section, in order.
    pub(crate) fn rules(&mut self, section: Section, rules: Vec<PatternRule>, intent: Action) {
        let permissions = self.agent.policy.permissions.get_or_insert_default();
        permissions.sections.push(SectionRules {
            section: at(section),
            intent: Some(at(intent)),
            rules: rules.into_iter().map(at).collect(),
        });
    }

    /// Replaces the rules of a section.
    pub(crate) fn replace(&mut self, section: Section, rules: Vec<PatternRule>, intent: Action) {
        let permissions = self.agent.policy.permissions.get_or_insert_default();
        permissions.sections.retain(|known| known.section.value != section);
        self.rules(section, rules, intent);
    }

    /// Turns a section to `ask` where `who` (a hook, a plugin) may deny calls that the rules allow.
    pub(crate) fn decided(
        &mut self,
        sections: &[Section],
        source_title: &str,
        model: &mut HarnessModel,
    ) {
        for section in sections.iter().copied() {
            // The harness has no tool for this section, so there is nothing to narrow.
            if !model.ways.iter().any(|way| way.section == section) {
                continue;
            }
            if self.allows(section) {
                let detail = format!("{source_title} decides about it; asks here");
                self.lose(&format!("permissions.{section}"), LossKind::Narrowed, detail);
            }
            model.add(section, source_title, vec![always(section, Action::Ask, source_title)]);
        }
    }

    /// Whether any rule of a section, or its intent, allows.
    fn allows(&self, section: Section) -> bool {
        let permissions = self.agent.policy.permissions.iter();
        let sections = permissions.flat_map(|it| &it.sections);
        let mut written = sections.filter(|it| it.section.value == section);
        written.any(|it| {
            let intent = it.intent.map(|intent| intent.value);
            let mut actions = it.rules.iter().map(|rule| rule.value.action).chain(intent);
            actions.any(|action| action == Action::Allow)
        })
    }

    /// Reads MCP servers from a map by name, as most harnesses write them.
    pub(crate) fn servers(&mut self, data: &Data) {
        self.servers_with(data, VariableStyle::Untouched);
    }

    /// Reads MCP servers for a harness with its own way to write variables.
    pub(crate) fn servers_with(&mut self, data: &Data, variables: VariableStyle) {
        let Data::Map(servers) = data else { return };
        let read = |(name, data): &(String, Data)| at(servers::read(name, data, variables));
        let servers: Vec<_> = servers.iter().map(read).collect();
        self.agent.tools.mcp = (!servers.is_empty()).then_some(servers);
    }
}

/// Returns the name of a file without its directory and its suffix.
pub(crate) fn stem<'a>(path: &'a str, ends: &[&str]) -> &'a str {
    let name = path.rsplit('/').next().unwrap_or(path);
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}
