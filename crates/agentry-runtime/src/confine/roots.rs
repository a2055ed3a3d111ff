//! Finds directories that a policy opens as a whole, except for parts that can be named.
//!
//! Every result is proved: a root is open if a small policy that allows exactly this root is a refinement of
//! the agent's policy.

mod glob;

use std::fs;
use std::path::{Path, PathBuf};

use super::ConfinementInputs;
use agentry_compile::policy::compare::{RefinementAnswer, refines};
use agentry_compile::policy::path::{NoLinks, is_inside};
use agentry_compile::policy::{
    Action, HazardProtection, Judge, LayerSource, PathAnchors, Pattern, PatternSubject, PolicyRule,
    RuleList, Section, SectionCall,
};

/// The name of a file that no rule names.
const PROBE: &str = "a name that nobody uses";

/// Open directories, and the closed paths in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OpenRoots {
    pub(super) open: Vec<PathBuf>,
    pub(super) closed: Vec<PathBuf>,
}

/// Returns the roots that may be read.
pub(super) fn readable(
    judge: &Judge,
    surroundings: &ConfinementInputs,
    narrowed: &mut Vec<String>,
) -> OpenRoots {
    of(judge, Section::Read, surroundings, narrowed, |_, _| true)
}

/// Returns the roots that may be written. A mount that can be written can also be read, so a directory outside
/// `readable` stays closed.
pub(super) fn writable(
    judge: &Judge,
    surroundings: &ConfinementInputs,
    readable: &[PathBuf],
    narrowed: &mut Vec<String>,
) -> OpenRoots {
    of(judge, Section::Edit, surroundings, narrowed, |path, narrowed| {
        let is_readable = readable.iter().any(|root| path.starts_with(root));
        if !is_readable {
            let path = path.display();
            narrowed.push(format!("`{path}` may be written but not read: commands do neither"));
        }
        is_readable
    })
}

/// Returns the roots that `section`, edit or read, opens, and that `fits` accepts.
fn of(
    judge: &Judge,
    section: Section,
    surroundings: &ConfinementInputs,
    narrowed: &mut Vec<String>,
    fits: impl Fn(&Path, &mut Vec<String>) -> bool,
) -> OpenRoots {
    let mut roots = OpenRoots::default();
    for path in candidates(judge, section, surroundings, narrowed) {
        let is_open = roots.open.iter().any(|open| path.starts_with(open));
        // One verdict is much cheaper than a proof.
        if is_open || !is_granted(judge, section, &path) {
            continue;
        }
        let Some(closed) = opened(judge, section, &path) else {
            let path = path.display();
            let what = "rules deny parts of it that cannot be named beforehand";
            narrowed.push(format!("{section}: `{path}` is closed to commands: {what}"));
            continue;
        };
        // The proof is about this path; a link would lead to another one.
        if fs::canonicalize(&path).is_ok_and(|real| real == path) {
            if fits(&path, narrowed) {
                roots.open.push(path);
                roots.closed.extend(closed);
            }
        } else if path.exists() {
            let path = path.display();
            narrowed.push(format!("{section}: `{path}` leads through a link and is closed"));
        }
    }
    roots
}

/// Returns the paths that rules may open: the workspace, the home, and what rules about this section or about
/// directories outside the workspace name. Parents come before their children.
fn candidates(
    judge: &Judge,
    section: Section,
    surroundings: &ConfinementInputs,
    narrowed: &mut Vec<String>,
) -> Vec<PathBuf> {
    let places = judge.places();
    let mut candidates = vec![PathBuf::from(&places.workspace)];
    candidates.extend(surroundings.home.clone());
    for (_, rules) in judge.rules(section).chain(judge.rules(Section::ExternalDirectory)) {
        for rule in rules.all().filter(|rule| rule.action != Action::Deny) {
            let text = rule.pattern.text.trim_matches(' ');
            if rule.pattern.is_everything() || text == "/**" {
                candidates.extend(surroundings.top_level.iter().cloned());
                continue;
            }
            match glob::paths(text, places) {
                Some(paths) => candidates.extend(paths),
                None => narrowed.push(format!(
                    "{section}: `{text}` names too many paths to be opened to commands"
                )),
            }
        }
    }
    candidates.sort();
    candidates.dedup();
    // The root of the file system is never opened as a whole.
    candidates.retain(|path| path.parent().is_some());
    candidates
}

/// Returns whether the policy opens a path, apart from parts of it: in the workspace what is not denied,
/// elsewhere only what is allowed.
fn is_granted(judge: &Judge, section: Section, path: &Path) -> bool {
    let inside = is_inside(&path.to_string_lossy(), &judge.places().workspace);
    let worst = if inside { Action::Ask } else { Action::Allow };
    let probe = if path.is_file() { path.to_owned() } else { path.join(PROBE) };
    let section = if inside { section } else { outside(judge, section) };
    action(judge, section, &probe) <= worst
}

/// Returns the section that decides outside the workspace: without a rule about reading, what is said about
/// directories outside it.
fn outside(judge: &Judge, section: Section) -> Section {
    let is_silent =
        section == Section::Read && judge.rules(section).all(|(of, _)| of == LayerSource::Default);
    if is_silent { Section::ExternalDirectory } else { section }
}

/// Returns whether the policy denies this path, with links ignored.
pub(super) fn is_denied(judge: &Judge, section: Section, path: &Path) -> bool {
    action(judge, section, path) == Action::Deny
}

/// Returns whether a rule of the definition or of the user denies to read this path by name. A rule for
/// everything does not name it, and neither does the trust that an agent has as a whole.
pub(super) fn is_named_by_deny(judge: &Judge, path: &Path) -> bool {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let names = |rule: &PolicyRule| {
        let paths = [path, &real].map(Path::to_string_lossy);
        let matches = |text: &str| rule.pattern.matches(PatternSubject::Text(text));
        let inside = |text: &str| matches(text) || matches(&format!("{text}/{PROBE}"));
        rule.action == Action::Deny
            && !rule.pattern.is_everything()
            && rule.pattern.text.trim() != "/**"
            && paths.iter().any(|text| inside(text))
    };
    let rules = judge.rules(Section::Read).filter(|(of, _)| {
        !matches!(of, LayerSource::Trust | LayerSource::Abilities | LayerSource::Default)
    });
    rules.into_iter().flat_map(|(_, rules)| rules.all()).any(names)
}

fn action(judge: &Judge, section: Section, path: &Path) -> Action {
    let subject = path.to_string_lossy();
    let directory = &judge.places().workspace;
    judge.judge(SectionCall { section, subject: &subject, directory }, &NoLinks).action
}

/// Returns what must be closed so that the rest below `path` is open; `None` if that cannot be expressed.
fn opened(judge: &Judge, section: Section, path: &Path) -> Option<Vec<PathBuf>> {
    let closed = exceptions(judge, section, path);
    let with_none = within(judge, section, path, &[]).then(Vec::new);
    let with_named = || within(judge, section, path, &closed).then_some(closed.clone());
    // Paths that a read rule denies by a wildcard are searched on disk. A file that does not exist yet has no
    // secret to read.
    let with_search = || {
        let probe = path.join(PROBE);
        let searched =
            section == Section::Read && is_inside(path.to_str()?, &judge.places().workspace);
        (searched && !is_denied(judge, section, &probe)).then_some(closed.clone())
    };
    with_none.or_else(with_named).or_else(with_search)
}

/// Returns the paths below `path` that rules deny. For reads, files that match a wildcard are searched later;
/// for writes, every directory in which they could be created is closed.
fn exceptions(judge: &Judge, section: Section, path: &Path) -> Vec<PathBuf> {
    let places = judge.places();
    let inside = is_inside(&path.to_string_lossy(), &places.workspace);
    let sections = if inside { vec![section] } else { vec![section, Section::ExternalDirectory] };
    let rules = sections.into_iter().flat_map(|section| judge.rules(section));
    let rules = rules.flat_map(|(_, rules)| rules.rules.iter());
    let mildest = if inside { Action::Deny } else { Action::Ask };
    let against = rules.filter(|rule| rule.action >= mildest);
    let place = if inside && section == Section::Read { glob::tree } else { glob::prefix };
    let named = against.filter_map(|rule| place(&rule.pattern.text, places));
    named.filter(|named| named.starts_with(path) && named != path).collect()
}

/// Returns whether everything below `path` except `closed` is open: in the workspace what is not denied,
/// elsewhere only what is allowed.
fn within(judge: &Judge, section: Section, path: &Path, closed: &[PathBuf]) -> bool {
    let places = judge.places();
    let Some(text) = literal(path) else { return false };
    let inside = is_inside(text, &places.workspace);
    let action = if inside { Action::Ask } else { Action::Allow };
    let claim = |section: Section| {
        let mut rules = Vec::new();
        for path in closed {
            let text = literal(path)?;
            rules.push(rule(section, text, Action::Deny, places));
            rules.push(rule(section, &format!("{text}/**"), Action::Deny, places));
        }
        let whole = if path.is_file() { text.to_owned() } else { format!("{text}/**") };
        rules.push(rule(section, &whole, action, places));
        Some(RuleList { section, rules, intent: rule(section, "**", Action::Deny, places) })
    };
    let holds = |section: Section| {
        let Some(claim) = claim(section) else { return false };
        let policy: Vec<&RuleList> = judge.rules(section).map(|(_, rules)| rules).collect();
        matches!(
            refines(judge.memo(), &[&claim], &policy, HazardProtection::On),
            RefinementAnswer::Yes
        )
    };
    if inside {
        holds(section)
    } else {
        holds(outside(judge, section)) && holds(Section::ExternalDirectory)
    }
}

fn rule(section: Section, text: &str, action: Action, places: &PathAnchors) -> PolicyRule {
    let pattern = Pattern::new(section.kind(), text, action, places);
    PolicyRule { pattern, action, text: String::new(), span: None }
}

/// Returns a path as a pattern that matches only it.
fn literal(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let plain =
        text.starts_with('/') && text.trim_matches(' ') == text && !text.contains(['*', '\0']);
    plain.then_some(text)
}
