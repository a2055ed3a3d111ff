//! What OpenCode's patterns about files match, over paths as the machines see them.
//!
//! `edit` and `read` are compared with the path as seen from the workspace, `external_directory` with
//! the directory of a file and `/*`. A backslash in the name of a file counts as `/` there; nobody has
//! such files, and no rule could tell them apart.

use agentry_policy::PathAnchors;

use super::ruleset::WILDCARDS;
use crate::encoding::MatchBounds;
use crate::model::{escape, regex_of_path};
use crate::wildcard::{ANYTHING, NOTHING};

/// `~` and `$HOME` at the start of a pattern are written out, whatever it is about.
pub(super) fn with_home(pattern: &str) -> String {
    let home = PathAnchors::default().home.unwrap_or_default();
    if let Some(rest) = pattern.strip_prefix("$HOME") {
        return format!("{home}{rest}");
    }
    match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => pattern.to_owned(),
    }
}

/// All files outside the workspace, for `edit` and `read`.
pub(super) const OUTSIDE: &str = "../*";

/// A pattern about files, seen from the workspace; those outside start with `../`.
pub(super) fn seen_from_workspace(pattern: &str) -> MatchBounds {
    let pattern = with_home(&pattern.replace('\\', "/"));
    if pattern == "*" {
        return MatchBounds::exactly(ANYTHING);
    }
    if pattern == OUTSIDE {
        return MatchBounds::exactly(format!("(?:{}{ANYTHING})?", other_places()));
    }
    if pattern.starts_with("..") {
        return MatchBounds { most: ANYTHING.to_owned(), least: NOTHING.to_owned() };
    }
    // Every segment is followed by `/`, the last one too.
    let root = regex_of_path(&PathAnchors::default().workspace);
    let plain = WILDCARDS.whole(&pattern);
    let inside = format!("{root}{plain}/");
    if let Some(name) = end_of_name(&pattern) {
        return MatchBounds::exactly(format!("{ANYTHING}{}/", escape(name)));
    }
    if let Some(rest) = below_a_directory(&pattern) {
        let MatchBounds { most, least } = beyond(rest);
        return MatchBounds {
            most: format!("{most}|{inside}"),
            least: format!("{least}|{inside}"),
        };
    }
    // What starts with a wildcard also takes paths outside.
    let anywhere = pattern.starts_with(['*', '?']);
    let most = if anywhere { format!("{plain}/|{inside}") } else { inside.clone() };
    let part = pattern.strip_suffix('*').and_then(end_of_name).map(escape);
    let name = part.map(|part| format!("{ANYTHING}{part}[^/]*/|{inside}"));
    MatchBounds { most, least: name.unwrap_or(inside) }
}

/// How the name of a file ends that a pattern takes at any depth: `.md` of `*.md`.
pub(super) fn end_of_name(pattern: &str) -> Option<&str> {
    let end = pattern.strip_prefix('*')?.trim_start_matches('*');
    let plain = !end.contains(['*', '?', '/']) && end.chars().any(|c| c != '.');
    plain.then_some(end)
}

/// What a pattern takes below some directory: `x/*` of `*/x/*`. Outside the workspace, `..` is one.
fn below_a_directory(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('*')?.trim_start_matches('*').strip_prefix('/')
}

/// Which paths outside the workspace have, below some directory, what a pattern says.
fn beyond(pattern: &str) -> MatchBounds {
    let others = other_places();
    let is_open = pattern.starts_with('*');
    let rest = pattern.trim_start_matches('*');
    let name = first_name(rest);
    let root = format!("{}/", root_name());
    let takes_root = if is_open { root.contains(&name) } else { root.starts_with(&name) };
    // The `..` by which such a path is seen may be what dots take.
    if takes_root || name.chars().all(|c| matches!(c, '.' | '/')) {
        return MatchBounds { most: format!("{others}{ANYTHING}"), least: NOTHING.to_owned() };
    }
    let start = if is_open {
        format!("(?:{others}{ANYTHING}|[^/]*)")
    } else {
        format!("(?:{others}(?:{ANYTHING}/)?)?")
    };
    let most = format!("{start}{}/", WILDCARDS.whole(rest));
    // However far up a file lies, its name is seen; the directories above it may not be.
    let least = if rest.contains('/') {
        NOTHING.to_owned()
    } else {
        format!("{start}{}/", within_a_name(rest))
    };
    MatchBounds { most, least }
}

/// How the first name in a pattern starts, as far as that is known, with a `/` where it ends.
fn first_name(pattern: &str) -> String {
    let known = pattern.split(['*', '?']).next().unwrap_or_default();
    match known.split_once('/') {
        Some((name, _)) => format!("{name}/"),
        None if known == pattern => format!("{known}/"),
        None => known.to_owned(),
    }
}

/// A pattern of which the wildcards take no `/`.
fn within_a_name(pattern: &str) -> String {
    let each = |c: char| match c {
        '*' => "[^/]*".to_owned(),
        '?' => "[^/]".to_owned(),
        c => escape(c.encode_utf8(&mut [0; 4])),
    };
    pattern.chars().map(each).collect()
}

/// The first directory on the way to the workspace.
fn root_name() -> String {
    let workspace = PathAnchors::default().workspace;
    workspace.split('/').find(|part| !part.is_empty()).unwrap_or_default().to_owned()
}

/// The first directory of all paths but those in the workspace.
fn other_places() -> String {
    let root = root_name();
    let known = root.char_indices().map(|(at, c)| {
        let start = escape(root.get(..at).unwrap_or_default());
        let whole = if start.is_empty() { String::new() } else { format!("{start}|") };
        format!("{whole}{start}[^/{c}][^/]*")
    });
    let others: Vec<String> = known.chain([format!("{}[^/]+", escape(&root))]).collect();
    format!("(?:{})/", others.join("|"))
}

/// One `*` for several in a row: each of them takes everything.
pub(super) fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '*' || !out.ends_with('*') {
            out.push(c);
        }
    }
    out
}

/// A pattern about directories outside. What is said of a directory holds for what is below it.
pub(super) fn directory(pattern: &str) -> MatchBounds {
    let pattern = with_home(&collapsed(pattern).replace('\\', "/"));
    if pattern == "*" {
        return MatchBounds::exactly(ANYTHING);
    }
    match pattern.strip_suffix("/*").filter(|dir| dir.is_empty() || dir.starts_with('/')) {
        Some(dir) => {
            let dir = dir.trim_start_matches('/');
            let start = if dir.is_empty() { String::new() } else { WILDCARDS.plain(dir) + "/" };
            MatchBounds::exactly(format!("{start}{ANYTHING}[^/]+/"))
        }
        None => {
            let start: String = pattern.chars().take_while(|c| !matches!(c, '*' | '?')).collect();
            let start = escape(start.trim_start_matches('/'));
            MatchBounds { most: format!("{start}{ANYTHING}"), least: NOTHING.to_owned() }
        }
    }
}

/// The patterns of `edit` or `read` that come nearest to one of a source.
pub(super) fn words_inside(pattern: &str) -> Vec<String> {
    // What lies anywhere may lie inside.
    let pattern = pattern.strip_prefix('/').filter(|it| it.starts_with("**/")).unwrap_or(pattern);
    if is_rooted(pattern) || pattern.split('/').any(|part| part == "..") {
        return Vec::new();
    }
    let plain = plain(pattern);
    let parts = plain.split('/').filter(|part| !part.is_empty() && *part != ".");
    let parts: Vec<&str> = parts.collect();
    let mut found = vec![String::new()];
    for (at, part) in parts.iter().enumerate() {
        let next = parts.get(at + 1);
        match (*part, next) {
            // What follows takes any number of directories by itself.
            ("**", Some(next)) if next.starts_with('*') => {}
            // With a directory between, and without.
            ("**", Some(_)) => {
                let flat = found.iter().filter(|text| !text.ends_with("*/"));
                let deeper: Vec<_> = flat.map(|text| format!("{text}*/")).collect();
                found.extend(deeper);
            }
            _ => {
                let end = if next.is_some() { "/" } else { "" };
                let add = |text: &String| format!("{text}{part}{end}");
                found = found.iter().map(add).collect();
            }
        }
    }
    found.retain(|text| !text.is_empty());
    found.iter().map(|text| text.replace("**", "*")).collect()
}

/// The patterns of `external_directory` that come nearest to one of a source: it is never asked about
/// a single file, so that an allow must be about all that is below a directory.
pub(super) fn words_outside(pattern: &str, is_allow: bool) -> Vec<String> {
    if !is_rooted(pattern) || pattern.split('/').any(|part| part == "..") {
        return Vec::new();
    }
    let plain = plain(pattern.trim_end_matches('/')).replace('?', "*");
    match plain.strip_suffix("/**") {
        Some(dir) if !dir.contains("**") => vec![format!("{dir}/*")],
        _ if is_allow => Vec::new(),
        // A directory at any depth.
        Some(dir) if dir.strip_prefix("/**/").is_some_and(|name| !name.contains("**")) => {
            let name = dir.trim_start_matches("/**/");
            vec![format!("/{name}/*"), format!("/*/{name}/*")]
        }
        _ => {
            let known = plain.split('*').next().unwrap_or_default();
            known.rsplit_once('/').map(|(dir, _)| format!("{dir}/*")).into_iter().collect()
        }
    }
}

/// Whether a pattern starts at the root or at the home directory.
fn is_rooted(pattern: &str) -> bool {
    pattern.starts_with('/') || pattern == "~" || pattern.starts_with("~/")
}

/// What OpenCode would take for something else stands for any one character.
fn plain(pattern: &str) -> String {
    let pattern = pattern.replace('\\', "?");
    match pattern.strip_prefix('$') {
        Some(rest) => format!("?{rest}"),
        None => pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_in_the_words_of_opencode() {
        type Words = &'static [&'static str];
        let cases: &[(&str, Words, Words, Words)] = &[
            ("src/**", &["src/*"], &[], &[]),
            ("./src//a", &["src/a"], &[], &[]),
            ("**/*.rs", &["*.rs"], &[], &[]),
            ("**/x", &["x", "*/x"], &[], &[]),
            ("**/*", &["*"], &[], &[]),
            ("docs/**/*.md", &["docs/*.md"], &[], &[]),
            ("a/**/b", &["a/b", "a/*/b"], &[], &[]),
            (".", &[], &[], &[]),
            ("../x", &[], &[], &[]),
            ("~root/x", &["~root/x"], &[], &[]),
            ("$HOME/x", &["?HOME/x"], &[], &[]),
            ("~/p/**", &[], &["~/p/*"], &["~/p/*"]),
            ("/tmp/*", &[], &[], &["/tmp/*"]),
            ("/etc/passwd", &[], &[], &["/etc/*"]),
            ("/a/**/b", &[], &[], &["/a/*"]),
            ("*/**/x/**", &["*/x/*"], &[], &[]),
            ("/**/*x*/**", &["*x*/*"], &[], &["/*x*/*", "/*/*x*/*"]),
            ("/**/x/**", &["x/*", "*/x/*"], &[], &["/x/*", "/*/x/*"]),
        ];
        for (pattern, inside, allow, deny) in cases {
            assert_eq!(words_inside(pattern), *inside, "{pattern}");
            assert_eq!(words_outside(pattern, true), *allow, "{pattern}");
            assert_eq!(words_outside(pattern, false), *deny, "{pattern}");
        }
    }
}
