//! Judges searches: a search reads the names and contents of all files below a directory, whatever the
//! verdict for the directory itself is.

use std::cell::Cell;
use std::collections::HashSet;

use agentry_policy::commands::secrets::{can_be_secret, segments};
use agentry_policy::path::{LinkResolver, absolute, with_home};
use agentry_policy::{Action, Judge, LayerSource, PolicyRule, Section, SectionCall, VerdictReason};
use agentry_targets::guard::FileSearch;

use super::gitignore::IgnoredFiles;
use crate::judge::WorldLinks;
use crate::world::{EntryKind, World};

/// How many names are checked. With more, the verdict is `ask`.
const NAMES: usize = 100_000;
/// How many files the policy judges.
const FILES: usize = 20_000;
/// Git's object store. Its names mean nothing, so it is skipped unless a rule has one of these words.
const STORED: &str = "/.git/objects";
const STORED_WORDS: &[&str] = &[".git", "objects", "pack", "info"];

/// Why searches from `directory` are denied, or why the user is asked; `None` if everything they read is
/// allowed. The guard and `policy why` both use this.
pub fn searched(
    world: &dyn World,
    judge: &Judge,
    directory: &str,
    searches: &[FileSearch],
) -> Option<VerdictReason> {
    let asker = FileSearcher { world, judge, directory, names: Cell::new(0), files: Cell::new(0) };
    let reasons = searches.iter().filter_map(|search| asker.reason(search));
    let reason = reasons.reduce(|worst, it| if it.action > worst.action { it } else { worst })?;
    // Show a path in the workspace as the user writes it.
    let root = judge.places().workspace.trim_end_matches('/');
    let below = reason.segment.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
    let segment = below.filter(|rest| !rest.is_empty()).unwrap_or(&reason.segment).to_owned();
    Some(VerdictReason { segment, ..reason })
}

/// Judges searches.
struct FileSearcher<'a> {
    world: &'a dyn World,
    judge: &'a Judge,
    /// The directory that relative paths start from.
    directory: &'a str,
    /// How many names and files all searches have checked.
    names: Cell<usize>,
    files: Cell<usize>,
}

impl FileSearcher<'_> {
    fn reason(&self, search: &FileSearch) -> Option<VerdictReason> {
        let Some(root) = self.start(&search.directory) else {
            return Some(asked(&search.directory, "its location is not known".to_owned()));
        };
        if self.world.kind(&root) == EntryKind::File {
            return None;
        }
        let filter = NameFilter::new(search.pattern.as_deref());
        let named = filter.samples().into_iter().filter_map(|name| self.named(&root, &name));
        let secret = |path: &String| {
            let path = format!("{root}/{}", path.trim_start_matches(['!', '/']));
            Some(asked(&path, format!("a secret: {}", can_be_secret(&segments(&path))?)))
        };
        let named = named.chain(filter.paths.iter().filter_map(secret));
        match named.max_by_key(|reason| reason.action) {
            // No file can make this verdict stricter, so the walk is skipped.
            Some(named) if named.action == Action::Deny || !self.may_deny() => Some(named),
            named => {
                let found = self.found(&root, &filter);
                found.into_iter().chain(named).max_by_key(|reason| reason.action)
            }
        }
    }

    /// The real path of the directory where a search starts.
    fn start(&self, directory: &str) -> Option<String> {
        let places = self.judge.places();
        let path = with_home(directory, places)?;
        WorldLinks(self.world).resolve(&absolute(&path, self.directory, places)?)
    }

    /// The objection to a name that a search matches, whether such a file exists or not.
    fn named(&self, root: &str, name: &str) -> Option<VerdictReason> {
        let path = format!("{}/{name}", root.trim_end_matches('/'));
        self.against(&path)
    }

    /// The objection to existing files: a denial, or else the first question.
    fn found(&self, root: &str, filter: &NameFilter) -> Option<VerdictReason> {
        // The walk ends at the strictest verdict that any rule can give.
        let worst = if self.may_deny() { Action::Deny } else { Action::Ask };
        let mut asked_about: Option<VerdictReason> = None;
        let mut open = vec![(root.to_owned(), self.ignored(root, filter))];
        let mut seen = HashSet::new();
        while let Some((directory, ignored)) = open.pop() {
            // A linked directory is visited once. With ignore files it is not, because the route matters.
            let real = self.world.real(&directory).filter(|_| ignored.is_none());
            if real.is_some_and(|real| !seen.insert(real)) {
                continue;
            }
            for entry in self.world.list("/", &directory).unwrap_or_default() {
                if self.is_too_much() {
                    let rule = "more files than can be looked at: some may be secrets";
                    return asked_about.or_else(|| Some(asked(root, rule.to_owned())));
                }
                let path = format!("{}/{}", directory.trim_end_matches('/'), entry.name);
                let is_ignored = || ignored.as_ref().is_some_and(|it| it.has(&path, &entry.name));
                if entry.kind == EntryKind::Directory {
                    if !is_ignored() && !self.is_stored(&path, filter) {
                        let below = ignored.as_ref().map(|it| it.below(self.world, &path));
                        open.push((path, below));
                    }
                } else if entry.kind == EntryKind::File && filter.takes(&entry.name) {
                    match self.against(&path) {
                        Some(reason) if reason.action == worst => return Some(reason),
                        reason => asked_about = asked_about.or(reason),
                    }
                }
            }
        }
        asked_about
    }

    /// Counts a name, and returns whether a limit is exceeded.
    fn is_too_much(&self) -> bool {
        self.names.set(self.names.get() + 1);
        self.names.get() > NAMES || self.files.get() > FILES
    }

    /// The ignore files of a search. `None` with a glob: it may select ignored files, and then some tools
    /// ignore nothing.
    fn ignored(&self, root: &str, filter: &NameFilter) -> Option<IgnoredFiles> {
        filter.paths.is_empty().then(|| IgnoredFiles::at(self.world, root))
    }

    /// Whether a directory below the start of the search is Git's object store.
    fn is_stored(&self, path: &str, filter: &NameFilter) -> bool {
        let has_word = |text: &str| STORED_WORDS.iter().any(|word| text.contains(word));
        let is_ruled = || self.rules().any(|it| it.action > Action::Allow && has_word(&it.text));
        path.ends_with(STORED) && !filter.paths.iter().any(|it| has_word(it)) && !is_ruled()
    }

    /// Every rule that may apply to reading a file.
    fn rules(&self) -> impl Iterator<Item = &PolicyRule> {
        let sections = [Section::Read, Section::ExternalDirectory].into_iter();
        sections.flat_map(|section| self.judge.rules(section)).flat_map(|(_, rules)| rules.all())
    }

    fn may_deny(&self) -> bool {
        self.rules().any(|rule| rule.action == Action::Deny)
    }

    fn against(&self, path: &str) -> Option<VerdictReason> {
        self.files.set(self.files.get() + 1);
        let call = SectionCall { section: Section::Read, subject: path, directory: self.directory };
        let verdict = self.judge.judge(call, &WorldLinks(self.world));
        let decides = |reason: &VerdictReason| reason.action == verdict.action;
        (verdict.action > Action::Allow).then(|| verdict.reasons.into_iter().find(decides))?
    }
}

fn asked(segment: &str, rule: String) -> VerdictReason {
    let segment = segment.to_owned();
    let (span, note) = (None, None);
    VerdictReason { segment, action: Action::Ask, rule, span, layer: LayerSource::BuiltIn, note }
}

/// The file names that a search matches.
struct NameFilter {
    /// Patterns of the last part of a path. An empty list matches all files.
    names: Vec<String>,
    /// The patterns, relative to the directory of the search.
    paths: Vec<String>,
}

impl NameFilter {
    fn new(pattern: Option<&str>) -> Self {
        let words = pattern.unwrap_or_default().split_whitespace();
        let paths: Vec<String> = words.flat_map(alternatives).collect();
        let last = |path: &String| {
            let name = path.rsplit('/').next().unwrap_or_default().trim_end_matches(',');
            // A negation or an alternation may match anything.
            let is_open = path.starts_with('!') || path.contains('(');
            if is_open { "*".to_owned() } else { name.replace('\\', "*") }
        };
        let names = paths.iter().map(last).collect();
        Self { names, paths }
    }

    /// Names below the directory that the patterns match: each wildcard replaced by nothing, and by a letter.
    fn samples(&self) -> Vec<String> {
        let of = |path: &str, filler: &str| {
            let path = path.trim_start_matches(['!', '/']).replace("**/", "");
            path.replace("**", filler).replace(['*', '?', '\\'], filler)
        };
        let each = self.paths.iter().flat_map(|path| [of(path, ""), of(path, "x")]);
        let all: Vec<String> = each.filter(|path| !path.is_empty()).collect();
        if all.is_empty() { vec!["x".to_owned()] } else { all }
    }

    /// Whether a search matches a file of this name.
    fn takes(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|pattern| fits(pattern, name))
    }
}

/// Expands the braces of a pattern. A character class becomes `*`.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut open = vec![pattern.to_owned()];
    let mut out = Vec::new();
    while let Some(pattern) = open.pop() {
        let close = pattern.find('}');
        let start = close.and_then(|close| pattern.get(..close)?.rfind('{'));
        let parts = start.zip(close).and_then(|(start, close)| {
            let inner = pattern.get(start + 1..close)?;
            Some((pattern.get(..start)?, inner, pattern.get(close + 1..)?))
        });
        match parts {
            // 64 alternatives are enough. A pattern with more is treated as `*`.
            Some((before, inner, after)) if open.len() + out.len() < 64 => {
                open.extend(inner.split(',').map(|part| format!("{before}{part}{after}")));
            }
            Some(_) => out.push("*".to_owned()),
            None => out.push(without_classes(&pattern)),
        }
    }
    out
}

pub(super) fn without_classes(pattern: &str) -> String {
    match (pattern.find('['), pattern.rfind(']')) {
        (Some(start), Some(end)) if start < end => {
            let (before, after) = (pattern.get(..start), pattern.get(end + 1..));
            format!("{}*{}", before.unwrap_or_default(), after.unwrap_or_default())
        }
        _ => pattern.to_owned(),
    }
}

/// Whether a name matches a pattern. Every wildcard matches any number of characters.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split(['*', '?']);
    let Some(mut rest) = parts.next().and_then(|start| name.strip_prefix(start)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_filters_match_as_search_globs() {
        let cases = [
            (None, ".env", true),
            (Some(".env"), ".env", true),
            (Some("*.rs"), ".env", false),
            (Some("**/*.{ts,env}"), "a.env", true),
            (Some("*.{ts,tsx}"), ".env", false),
            (Some("*.js .env"), ".env", true),
            (Some("!*.js"), ".env", true),
            (Some(".[e]nv"), ".env", true),
            (Some("src/**"), ".env", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(NameFilter::new(pattern).takes(name), expected, "{pattern:?} {name}");
        }
    }
}
