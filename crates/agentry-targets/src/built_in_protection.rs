//! What Agentry protects whatever the rules say, and a harness does not: files with secrets, addresses
//! of this machine and of private networks.
//!
//! Every kind of secret is tried from the root and in each directory that the rules name. A harness has a
//! gap where its answer is milder than the source's. On request, its rules are made stricter until there is
//! no gap.

use std::sync::LazyLock;

use agentry_policy::commands::secrets;
use agentry_policy::compare::{ExampleSubject, decide};
use agentry_policy::path::NoLinks;
use agentry_policy::web::address;
use agentry_policy::{Action, HazardProtection, PathAnchors, RuleList, Section, SectionCall};

use crate::encoding::RuleEncoding;
use crate::model::HarnessModel;
use crate::subject::RenderSubject;

/// The sections in which Agentry protects something.
pub const SECTIONS: &[Section] = &[Section::Read, Section::Edit, Section::Webfetch];

/// Addresses of this machine and of private networks.
const PRIVATE: &[&str] =
    &["http://localhost/", "http://169.254.169.254/", "https://127.0.0.1/", "http://10.0.0.1/"];

/// The same addresses in the normalised form that rules are matched against.
static ADDRESSES: LazyLock<Vec<String>> = LazyLock::new(|| {
    PRIVATE.iter().filter_map(|text| address(text).ok()).map(|address| address.text).collect()
});

/// Paths of secrets below any directory, and paths of secrets from the root.
static SECRETS: LazyLock<[Vec<String>; 2]> = LazyLock::new(|| {
    [false, true].map(|rooted| {
        let mut kinds: Vec<_> = secrets::all().filter(|it| it.rooted == rooted).collect();
        // Exact names make better examples than globs.
        kinds.sort_by_key(|secret| secret.path.contains('*'));
        let paths = kinds.into_iter().flat_map(|secret| {
            let path = secret.example();
            let below = secret.tree.then(|| format!("{path}/x"));
            std::iter::once(path).chain(below)
        });
        paths.collect()
    })
});

/// Returns everything that is tried in a section.
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

/// The most directories in which secrets are tried; each costs one verdict per kind of secret.
const MOST: usize = 20;

/// Returns the workspace, the home directory, and each directory in which a rule allows something.
fn directories(subject: &RenderSubject, section: Section) -> Vec<String> {
    let PathAnchors { workspace, home, .. } = subject.judge.places();
    let home = home.as_deref().unwrap_or_default();
    let mut found = vec![workspace.clone(), home.to_owned()];
    let sections = [section, Section::ExternalDirectory].map(|it| subject.permissions.get(it));
    let rules = sections.into_iter().flatten().flat_map(|section| &section.rules);
    for rule in rules.filter(|rule| rule.action == Action::Allow) {
        // Only the literal start of a pattern names a directory.
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
    /// The verdict of the source.
    pub source: Action,
    /// The verdict of the harness.
    pub target: Action,
}

impl UnprotectedSubject {
    /// Describes the gap for the user; `title` is the name of the harness.
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

/// Returns, per section, the first subject that the source protects and the harness does not.
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

/// Whether these rules protect everything in a section that the source protects.
pub(crate) fn protects(subject: &RenderSubject, section: Section, layers: &[RuleList]) -> bool {
    first(subject, section, layers).is_none()
}

/// Returns the first subject that the source protects and these rules do not.
pub(crate) fn first(
    subject: &RenderSubject,
    section: Section,
    layers: &[RuleList],
) -> Option<UnprotectedSubject> {
    // A layer that is never milder than the built-in protection needs no probes.
    if layers.iter().any(|rules| rules.all().all(|rule| rule.action >= strictest(section))) {
        return None;
    }
    probes(subject, section).find_map(|text| milder(subject, section, layers, text))
}

/// The strictest verdict that the built-in protection gives in a section.
fn strictest(section: Section) -> Action {
    if section == Section::Webfetch { Action::Deny } else { Action::Ask }
}

/// Returns the subject if these rules answer it more mildly than the source.
fn milder(
    subject: &RenderSubject,
    section: Section,
    layers: &[RuleList],
    text: String,
) -> Option<UnprotectedSubject> {
    let mut target = Action::Allow;
    // The last layers are the shortest, and mostly settle paths outside the workspace: they go first.
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

/// The verdict of the source about a path or an address.
fn answer(subject: &RenderSubject, section: Section, text: &str) -> Action {
    let directory = &subject.judge.places().workspace;
    subject.judge.judge(SectionCall { section, subject: text, directory }, &NoLinks).action
}

/// Makes the deciding rules stricter until they protect everything that the source protects. `others` are
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
        // Rules only become stricter, so a probe that passed once still passes.
        while let Some(found) = found(&readings) {
            let example = ExampleSubject::Text(found.text);
            if !encoding.raise(&example, found.source) {
                // The deciding rule is not known exactly, so all rules become stricter.
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
