//! Trial renderings: an agent is rendered with its original grants and read back, to see which it may have.

use std::cell::OnceCell;

use crate::harness_files::{ChangedFiles, FileChange, FileRoot, HarnessPath};
use agentry_policy::{Action, PolicyContext, RuleList, Section};
use agentry_text::Data;

use super::{OriginalGrant, is_long, names};
use crate::Target;
use crate::fields::{FieldGrant, grants};
use crate::front_matter::list_items;
use crate::import::{HarnessAgent, HarnessImport};
use crate::import_rules::narrowed;
use crate::proof::{PolicyProof, within};
use crate::render::FutureFiles;
use crate::render_result::{ProjectRendering, RenderSettings};
use crate::subject::{PolicySlack, RenderSubject};

/// An agent under trial, with its target and settings.
pub(super) struct GrantTrial<'a> {
    target: &'a Target,
    import: &'a HarnessImport,
    rows: Vec<(&'static str, FieldGrant)>,
    subject: &'a RenderSubject,
    settings: &'a RenderSettings<'a>,
    /// The grants as the agent keeps them; `None` if it keeps none.
    all: Option<Vec<OriginalGrant>>,
    /// The agent without grants and with all of them, cached for several comparisons.
    plain: OnceCell<TrialRendering>,
    whole: OnceCell<TrialRendering>,
}

/// A trial rendering.
struct TrialRendering {
    rendering: ProjectRendering,
    /// The agent as it would be imported from these files.
    read: OnceCell<Option<HarnessAgent>>,
}

impl<'a> GrantTrial<'a> {
    pub(super) fn new(
        target: &'a Target,
        subject: &'a RenderSubject,
        settings: &'a RenderSettings<'a>,
    ) -> Option<Self> {
        let import = target.import.as_ref()?;
        let rows = grants(target.fields);
        if rows.is_empty() {
            return None;
        }
        let kept = super::kept(&subject.agent, target);
        let original = |kept: &Data, key| OriginalGrant { key, value: kept.get(key).cloned() };
        let all = kept.map(|kept| rows.iter().map(|(key, _)| original(kept, key)).collect());
        let (plain, whole) = (OnceCell::new(), OnceCell::new());
        Some(Self { target, import, rows, subject, settings, all, plain, whole })
    }

    /// Whether two sets of metadata have the same grants.
    pub(super) fn agree(&self, one: &Data, other: &Data) -> bool {
        let keys: Vec<&str> = self.rows.iter().map(|(key, _)| *key).collect();
        self.import.grants.agree(&keys, one, other)
    }

    /// Returns the grants to restore, if rendering without them would give another result.
    pub(super) fn useful(&self) -> Option<Vec<OriginalGrant>> {
        let plain = self.read(&[]).map(|read| read.metadata);
        self.granted().filter(|granted| {
            let read = self.read(granted).map(|read| read.metadata);
            match (&read, &plain) {
                (Some(read), Some(plain)) => !self.agree(read, plain),
                (read, plain) => read != plain,
            }
        })
    }

    /// Returns the grants to restore; `None` if the definition was changed since the import.
    pub(super) fn granted(&self) -> Option<Vec<OriginalGrant>> {
        let all = self.all.as_ref()?;
        let mut values = all.iter().filter_map(|grant| grant.value.as_ref());
        // Each item of a list costs a trial rendering.
        if values.any(is_long) {
            return None;
        }
        if !self.matches_import(self.read(all)?, self.read(&[])?) {
            return None;
        }
        let mut closed = all.clone();
        (self.import.grants.closed)(self.subject, &mut closed);
        let fits = |grants: &&Vec<OriginalGrant>| {
            grants.iter().all(|grant| self.fits(grant)) && self.holds(grants)
        };
        // Restoring all grants at once is the common case and needs only one proof.
        let whole = [all, &closed].into_iter().find(fits).cloned();
        Some(whole.unwrap_or_else(|| self.one_by_one(all)))
    }

    /// Returns the grants that hold, tried in order, each together with those before it. A grant that was
    /// accepted is never removed again.
    fn one_by_one(&self, all: &[OriginalGrant]) -> Vec<OriginalGrant> {
        let mut granted = Vec::new();
        for grant in all {
            let some = || self.some_of(grant, &granted);
            let more = if self.may_have(grant, &granted) { Some(grant.clone()) } else { some() };
            granted.extend(more);
        }
        granted
    }

    /// Whether a grant holds together with others.
    fn may_have(&self, grant: &OriginalGrant, others: &[OriginalGrant]) -> bool {
        self.fits(grant) && self.holds(&[others, std::slice::from_ref(grant)].concat())
    }

    fn fits(&self, grant: &OriginalGrant) -> bool {
        let row = self.rows.iter().find(|(key, _)| *key == grant.key);
        let fits = |value: &Data| row.is_some_and(|(_, row)| (row.fits)(self.subject, value));
        grant.value.as_ref().is_none_or(fits)
    }

    /// Returns the items of a list that hold together with other grants, if the agent has less without them.
    fn some_of(&self, grant: &OriginalGrant, others: &[OriginalGrant]) -> Option<OriginalGrant> {
        let wanted = names(grant.value.as_ref()?)?;
        let is_text = matches!(grant.value, Some(Data::Str(_)));
        let of = |list: &[&String]| {
            let list: Vec<&str> = list.iter().map(|item| item.as_str()).collect();
            let value = if is_text { Data::str(list.join(", ")) } else { Data::strings(list) };
            OriginalGrant { key: grant.key, value: Some(value) }
        };
        let mut list: Vec<&String> = Vec::new();
        for item in &wanted {
            list.push(item);
            if !(self.fits(&of(&[item])) && self.holds(&[others, &[of(&list)]].concat())) {
                list.pop();
            }
        }
        let has = self.read(others)?.metadata.get(grant.key).and_then(list_items)?;
        list.iter().any(|item| !has.contains(item)).then(|| of(&list))
    }

    /// Renders the agent with these grants and looks at its files. Files outside the project and personal
    /// settings are hidden, so that a definition gives the same files on every machine. Other agents are
    /// hidden because they would be read once per trial.
    fn rendered<T>(
        &self,
        grants: &[OriginalGrant],
        look: impl Fn(&TrialRendering, &FutureFiles<'_>) -> T,
    ) -> T {
        let is_place = |path: &str| {
            let mut places = self.import.places.iter();
            places.any(|(place, _)| path.strip_suffix('/') == Some(place))
        };
        let change = |path: HarnessPath<'_>| {
            let personal = path.path.ends_with(".local.json");
            if path.root != FileRoot::Project || personal || is_place(path.path) {
                FileChange::Hidden
            } else {
                FileChange::None
            }
        };
        let existing = ChangedFiles { below: self.settings.existing, change: &change };
        let settings = RenderSettings { existing: &existing, ..*self.settings };
        let render = || {
            let subject = RenderSubject { grants: grants.to_vec(), ..self.subject.clone() };
            let rendering = (self.target.render)(&[subject], &settings);
            TrialRendering { rendering, read: OnceCell::new() }
        };
        let once;
        let tried = match &self.all {
            _ if grants.is_empty() => self.plain.get_or_init(render),
            Some(all) if all == grants => self.whole.get_or_init(render),
            _ => {
                once = render();
                &once
            }
        };
        look(tried, &FutureFiles::of(&tried.rendering, &settings))
    }

    /// Whether these grants permit nothing that the definition denies.
    fn holds(&self, grants: &[OriginalGrant]) -> bool {
        let model =
            self.rendered(grants, |_, written| written.model(self.target.model, self.subject));
        model.is_some_and(|model| {
            let mut ways = model.ways.iter();
            ways.all(|way| self.subject.within(way, PolicySlack::Questions) == PolicyProof::Holds)
        })
    }

    /// Returns the agent as it would be imported with these grants.
    pub(super) fn read(&self, grants: &[OriginalGrant]) -> Option<HarnessAgent> {
        self.rendered(grants, |tried, written| {
            let read = || {
                let mut own = tried.rendering.agents.iter().flat_map(|agent| &agent.files);
                let own = own.find(|file| self.is_agent(&file.path))?;
                (self.import.read)(written, &own.path).ok()
            };
            tried.read.get_or_init(read).clone()
        })
    }

    /// Whether a rendered file is one that is imported as an agent.
    fn is_agent(&self, path: &str) -> bool {
        let is_in = |dir: &str| path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
        let mut places = self.import.places.iter();
        places.any(|(dir, end)| is_in(dir) && path.ends_with(end))
    }

    /// Whether the definition still matches the agent as it was imported, in each section that the grants
    /// change (`plain` is without them). It may deny more: [`GrantTrial::holds`] checks that.
    fn matches_import(&self, read: HarnessAgent, plain: HarnessAgent) -> bool {
        let memo = &self.subject.memo;
        let [read, plain] = [read, plain]
            .map(|read| narrowed(self.target, read, memo).agent)
            .map(|agent| RenderSubject::of(agent, &PolicyContext::default(), memo));
        let holds =
            |one: &[RuleList], other: &[RuleList]| within(memo, one, other) == PolicyProof::Holds;
        // No harness has rules about environment variables.
        let mut sections = Section::ALL.iter().filter(|section| **section != Section::Env);
        sections.all(|section| {
            let [own, read, plain] =
                [self.subject, &read, &plain].map(|subject| subject.bounds(*section));
            let is_same = || holds(&read, &plain) && holds(&plain, &read);
            (holds(&own, &read) && holds(&read, &undenied(&own))) || is_same()
        })
    }
}

/// The same rules with each deny turned into an allow.
fn undenied(rules: &[RuleList]) -> Vec<RuleList> {
    let mut rules = rules.to_vec();
    for rule in rules.iter_mut().flat_map(RuleList::all_mut) {
        if rule.action == Action::Deny {
            rule.action = Action::Allow;
        }
    }
    rules
}
