//! What Agentry protects whatever the rules say, and a harness does not: files with secrets, addresses
//! of this machine and of private networks.
//!
//! Every kind of secret is tried, in each directory that the rules speak about and from the root. A
//! harness that answers one of them more mildly than the source has a gap; its rules are made stricter until
//! it has none, if somebody wishes so.

use std::sync::LazyLock;

use agentry_policy::commands::secrets;
use agentry_policy::compare::{ExampleSubject, decide};
use agentry_policy::path::NoLinks;
use agentry_policy::web::address;
use agentry_policy::{Action, HazardProtection, PathAnchors, RuleList, Section, SectionCall};

use crate::encoding::RuleEncoding;
use crate::model::HarnessModel;
use crate::subject::RenderSubject;

/// The sections in which something is protected.
pub const SECTIONS: &[Section] = &[Section::Read, Section::Edit, Section::Webfetch];

/// Addresses that lead inside.
const PRIVATE: &[&str] =
    &["http://localhost/", "http://169.254.169.254/", "https://127.0.0.1/", "http://10.0.0.1/"];

/// Addresses that lead inside, in the form that rules see.
static ADDRESSES: LazyLock<Vec<String>> = LazyLock::new(|| {
    PRIVATE.iter().filter_map(|text| address(text).ok()).map(|address| address.text).collect()
});

/// Secrets as seen from a directory, and from the root.
static SECRETS: LazyLock<[Vec<String>; 2]> = LazyLock::new(|| {
    [false, true].map(|rooted| {
        let mut kinds: Vec<_> = secrets::all().filter(|it| it.rooted == rooted).collect();
        // Names that people know make better examples.
        kinds.sort_by_key(|secret| secret.path.contains('*'));
        let paths = kinds.into_iter().flat_map(|secret| {
            let path = secret.example();
            let below = secret.tree.then(|| format!("{path}/x"));
            std::iter::once(path).chain(below)
        });
        paths.collect()
    })
});

/// Everything that is tried in a section, one after the other.
fn probes(subject: &RenderSubject, section: Section) -> Box<dyn Iterator<Item = String>> {
    match section {
        Section::Read | Section::Edit => {
            let [names, rooted] = &*SECRETS;
            let below = directories(subject, section)
                .into_iter()
                .flat_map(move |dir| names.iter().map(move |name| format!("{dir}/{name}")));
            Box::new(below.chain(rooted.iter().cloned()))
        }
        Section::Webfetch => Box::new(ADDRESSES.iter().cloned()),
        _ => Box::new(std::iter::empty()),
    }
}

/// The most directories that are looked at.
const MOST: usize = 20;

/// The workspace, the home directory, and each directory that a rule allows something in.
fn directories(subject: &RenderSubject, section: Section) -> Vec<String> {
    let PathAnchors { workspace, home, .. } = subject.judge.places();
    let home = home.as_deref().unwrap_or_default();
    let mut found = vec![workspace.clone(), home.to_owned()];
    let sections = [section, Section::ExternalDirectory].map(|it| subject.permissions.get(it));
    let rules = sections.into_iter().flatten().flat_map(|section| &section.rules);
    for rule in rules.filter(|rule| rule.action == Action::Allow) {
        let named = rule.pattern.split(['*', '?']).next().unwrap_or_default();
        let dir = named.rsplit_once('/').map_or("", |(dir, _)| dir);
        let dir = match dir.strip_prefix('~') {
            Some(rest) => format!("{home}{rest}"),
            None if named.starts_with('/') => dir.to_owned(),
            None => format!("{workspace}/{}", dir.trim_start_matches("./")),
        };
        let dir = dir.trim_end_matches('/').to_owned();
        if !found.contains(&dir) && found.len() < MOST {
            found.push(dir);
        }
    }
    found
}

/// A subject that the source protects and a harness does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnprotectedSubject {
    /// The section that the call belongs to.
    pub section: Section,
    /// The path or the address.
    pub text: String,
    /// What the source says of it.
    pub source: Action,
    /// What the harness would do.
    pub target: Action,
}

impl UnprotectedSubject {
    /// For a person; `title` is the harness.
    pub fn detail(&self, title: &str) -> String {
        let Self { section, text, source, target } = self;
        let what = match section {
            Section::Webfetch => "private addresses",
            _ => "secrets",
        };
        format!(
            "{what}: {title} does not check them; `{text}` is {source} in the source and {target} \
             there"
        )
    }
}

/// The first thing of each section that an agent is kept from in the source and not in the harness.
pub fn unprotected(subject: &RenderSubject, model: &HarnessModel) -> Vec<UnprotectedSubject> {
    let first = |section: &Section| {
        let mut ways = model.ways.iter().filter(|way| way.section == *section);
        ways.find_map(|way| {
            let question = (subject.kind(), *section, way.key());
            subject.memo.unprotected.get(question, || first(subject, *section, &way.layers))
        })
    };
    SECTIONS.iter().filter_map(first).collect()
}

/// Whether rules about a section protect all that the source does.
pub(crate) fn protects(subject: &RenderSubject, section: Section, layers: &[RuleList]) -> bool {
    first(subject, section, layers).is_none()
}

/// The first thing that the source protects and these rules do not.
pub(crate) fn first(
    subject: &RenderSubject,
    section: Section,
    layers: &[RuleList],
) -> Option<UnprotectedSubject> {
    // A list that is never milder needs no look.
    if layers.iter().any(|rules| rules.all().all(|rule| rule.action >= strictest(section))) {
        return None;
    }
    probes(subject, section).find_map(|text| milder(subject, section, layers, text))
}

/// The strictest answer that is built in.
fn strictest(section: Section) -> Action {
    if section == Section::Webfetch { Action::Deny } else { Action::Ask }
}

/// A path or an address, if these rules answer it more mildly than the source does.
fn milder(
    subject: &RenderSubject,
    section: Section,
    layers: &[RuleList],
    text: String,
) -> Option<UnprotectedSubject> {
    let mut target = Action::Allow;
    // The last lists are the shortest: what is outside the workspace is mostly settled there.
    for rules in layers.iter().rev() {
        let decision =
            decide(&[rules], agentry_policy::PatternSubject::Text(&text), HazardProtection::Off);
        target = decision.map_or(target, |decision| decision.action.strictest(target));
        if target >= strictest(section) {
            return None;
        }
    }
    let source = answer(subject, section, &text);
    (target < source).then_some(UnprotectedSubject { section, text, source, target })
}

/// What the source says of a path or an address.
fn answer(subject: &RenderSubject, section: Section, text: &str) -> Action {
    let directory = &subject.judge.places().workspace;
    subject.judge.judge(SectionCall { section, subject: text, directory }, &NoLinks).action
}

/// Makes the rules that decide stricter until all is protected that the source protects. `others` are
/// the layers beside them.
pub(crate) fn close(subject: &RenderSubject, encoding: &mut RuleEncoding, others: &[RuleList]) {
    let section = encoding.section;
    let layers = |encoding: &RuleEncoding| -> Vec<Vec<RuleList>> {
        let readings = encoding.readings().into_iter();
        readings.map(|rules| [std::slice::from_ref(&rules), others].concat()).collect()
    };
    let mut readings = layers(encoding);
    for text in probes(subject, section) {
        let found = |readings: &[Vec<RuleList>]| {
            readings.iter().find_map(|layers| milder(subject, section, layers, text.clone()))
        };
        // Rules only become stricter: what was tried before stays protected.
        while let Some(found) = found(&readings) {
            let example = ExampleSubject::Text(found.text);
            if !encoding.raise(&example, found.source) {
                // Nobody knows which rule decides: all of them are stricter.
                raise_all(encoding, found.source);
            }
            readings = layers(encoding);
        }
    }
}

fn raise_all(encoding: &mut RuleEncoding, action: Action) {
    encoding.default = encoding.default.strictest(action);
    for entry in &mut encoding.entries {
        entry.action = entry.action.strictest(action);
    }
}
