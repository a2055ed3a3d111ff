//! Finds directories that a policy opens as a whole, except for parts that can be named.
//!
//! Every result is proved: a root is open if a small policy that allows exactly this root is a refinement of
//! the agent's policy.

use std::fs;
use std::path::{Path, PathBuf};

use agentry_compile::policy::compare::{RefinementAnswer, refines};
use agentry_compile::policy::path::{NoLinks, is_inside};
use agentry_compile::policy::{
    Action, HazardProtection, Judge, PathAnchors, Pattern, PolicyRule, RuleList, Section,
    SectionCall,
};

/// Open directories, and the closed paths in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OpenRoots {
    pub(super) open: Vec<PathBuf>,
    pub(super) closed: Vec<PathBuf>,
}

/// Returns the roots that `section`, edit or read, opens.
pub(super) fn of(
    judge: &Judge,
    section: Section,
    home: Option<&Path>,
    narrowed: &mut Vec<String>,
) -> OpenRoots {
    let places = judge.places();
    let mut candidates = vec![PathBuf::from(&places.workspace)];
    candidates.extend(home.map(Path::to_owned));
    let granting = judge.rules(section).flat_map(|(_, rules)| rules.all());
    let granting = granting.filter(|rule| rule.action != Action::Deny);
    candidates.extend(granting.filter_map(|rule| tree(&rule.pattern.text, places)));
    candidates.sort();
    candidates.dedup();
    let mut roots = OpenRoots::default();
    // The root of the file system is never opened as a whole.
    for path in candidates.into_iter().filter(|path| path.parent().is_some()) {
        if roots.open.iter().any(|open| path.starts_with(open)) {
            continue;
        }
        let Some(closed) = opened(judge, section, &path) else {
            let inside = is_inside(&path.to_string_lossy(), &places.workspace);
            if inside && !is_denied(judge, section, &path.join("a name that nobody uses")) {
                let path = path.display();
                let what = "rules deny parts of it that cannot be named beforehand";
                narrowed.push(format!("{section}: `{path}` is closed to commands: {what}"));
            }
            continue;
        };
        // The proof is about this path; a link would lead to another one.
        if fs::canonicalize(&path).is_ok_and(|real| real == path) {
            roots.open.push(path);
            roots.closed.extend(closed);
        } else if path.exists() {
            let path = path.display();
            narrowed.push(format!("{section}: `{path}` leads through a link and is closed"));
        }
    }
    roots
}

/// Returns whether the policy denies this path, with links ignored.
pub(super) fn is_denied(judge: &Judge, section: Section, path: &Path) -> bool {
    let subject = path.to_string_lossy();
    let directory = &judge.places().workspace;
    let verdict = judge.judge(SectionCall { section, subject: &subject, directory }, &NoLinks);
    verdict.action == Action::Deny
}

/// Returns what must be closed so that the rest below `path` is open; `None` if that cannot be expressed.
fn opened(judge: &Judge, section: Section, path: &Path) -> Option<Vec<PathBuf>> {
    let closed = exceptions(judge, section, path);
    let with_none = within(judge, section, path, &[]).then(Vec::new);
    let with_named = || within(judge, section, path, &closed).then_some(closed.clone());
    // Paths that a read rule denies by a wildcard are searched on disk. A file that does not exist yet has no
    // secret to read.
    let with_search = || {
        let probe = path.join("a name that nobody uses");
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
    let place = if inside && section == Section::Read { tree } else { prefix };
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
    holds(section) && (inside || holds(Section::ExternalDirectory))
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

/// Returns the directory or file that a pattern grants as a whole.
fn tree(pattern: &str, places: &PathAnchors) -> Option<PathBuf> {
    let whole = pattern.strip_suffix("/**").unwrap_or(pattern);
    (!whole.contains('*')).then(|| prefix(whole, places)).flatten()
}

/// Returns the longest path without a wildcard that is equal to or above everything a pattern matches.
fn prefix(pattern: &str, places: &PathAnchors) -> Option<PathBuf> {
    let pattern = pattern.trim_matches(' ');
    let (mut path, rest) = match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            (PathBuf::from(places.home.as_ref()?), rest)
        }
        _ if pattern.starts_with('/') => (PathBuf::from("/"), pattern),
        // A pattern for everything also matches outside the workspace.
        _ if pattern == "*" || pattern == "**" => return Some(PathBuf::from("/")),
        _ => (PathBuf::from(&places.workspace), pattern),
    };
    for part in rest.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => drop(path.pop()),
            part if part.contains('*') => break,
            part => path.push(part),
        }
    }
    Some(path)
}
