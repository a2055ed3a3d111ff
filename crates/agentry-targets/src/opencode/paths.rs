//! What OpenCode's file patterns match, as regular expressions over paths.
//!
//! `edit` and `read` are compared with the path relative to the workspace, `external_directory` with the
//! directory of a file and `/*`. OpenCode treats a backslash in a file name as `/`. Such names are ignored
//! here, since no rule could distinguish them.

use agentry_policy::PathAnchors;

use super::ruleset::WILDCARDS;
use crate::encoding::MatchBounds;
use crate::model::{escape, regex_of_path};
use crate::wildcard::collapsed;
use crate::wildcard::{ANYTHING, NOTHING};

/// Expands `~` and `$HOME` at the start of any pattern.
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

/// The pattern for all files outside the workspace, in `edit` and `read`.
pub(super) const OUTSIDE: &str = "../*";

/// Returns what a file pattern matches, relative to the workspace; paths outside start with `../`.
pub(super) fn seen_from_workspace(pattern: &str) -> MatchBounds {
    let pattern = with_home(&pattern.replace('\\', "/"));
    if pattern == "*" {
        return MatchBounds::exactly(ANYTHING);
    }
    if pattern == OUTSIDE {
        return MatchBounds::exactly(format!("(?:{}{ANYTHING})?", other_places()));
    }
    // How such a path resolves depends on the location of the workspace, which is not known.
    if pattern.starts_with("..") {
        return MatchBounds { most: ANYTHING.to_owned(), least: NOTHING.to_owned() };
    }
    // Every segment is followed by `/`, including the last one.
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
    // A pattern that starts with a wildcard also matches paths outside.
    let anywhere = pattern.starts_with(['*', '?']);
    let most = if anywhere { format!("{plain}/|{inside}") } else { inside.clone() };
    let part = pattern.strip_suffix('*').and_then(end_of_name).map(escape);
    let name = part.map(|part| format!("{ANYTHING}{part}[^/]*/|{inside}"));
    MatchBounds { most, least: name.unwrap_or(inside) }
}

/// Returns the end of a file name that a pattern matches at any depth: `.md` for `*.md`.
pub(super) fn end_of_name(pattern: &str) -> Option<&str> {
    let end = pattern.strip_prefix('*')?.trim_start_matches('*');
    let plain = !end.contains(['*', '?', '/']) && end.chars().any(|c| c != '.');
    plain.then_some(end)
}

/// Returns the part of a pattern below any directory: `x/*` for `*/x/*`. Outside, `..` counts as a directory.
fn below_a_directory(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('*')?.trim_start_matches('*').strip_prefix('/')
}

/// Returns which paths outside the workspace match a pattern below some directory.
fn beyond(pattern: &str) -> MatchBounds {
    let others = other_places();
    let is_open = pattern.starts_with('*');
    let rest = pattern.trim_start_matches('*');
    let name = first_name(rest);
    let root = format!("{}/", root_name());
    let takes_root = if is_open { root.contains(&name) } else { root.starts_with(&name) };
    // Dots in a pattern may match the `..` of a path outside.
    if takes_root || name.chars().all(|c| matches!(c, '.' | '/')) {
        return MatchBounds { most: format!("{others}{ANYTHING}"), least: NOTHING.to_owned() };
    }
    let start = if is_open {
        format!("(?:{others}{ANYTHING}|[^/]*)")
    } else {
        format!("(?:{others}(?:{ANYTHING}/)?)?")
    };
    let most = format!("{start}{}/", WILDCARDS.whole(rest));
    // The file name is always visible; directories between it and the workspace may be hidden by `..`.
    let least = if rest.contains('/') {
        NOTHING.to_owned()
    } else {
        format!("{start}{}/", within_a_name(rest))
    };
    MatchBounds { most, least }
}

/// Returns the literal start of the first name in a pattern, with a `/` if it ends there.
fn first_name(pattern: &str) -> String {
    let known = pattern.split(['*', '?']).next().unwrap_or_default();
    match known.split_once('/') {
        Some((name, _)) => format!("{name}/"),
        None if known == pattern => format!("{known}/"),
        None => known.to_owned(),
    }
}

/// Converts a pattern whose wildcards do not match `/`.
fn within_a_name(pattern: &str) -> String {
    let each = |c: char| match c {
        '*' => "[^/]*".to_owned(),
        '?' => "[^/]".to_owned(),
        c => escape(c.encode_utf8(&mut [0; 4])),
    };
    pattern.chars().map(each).collect()
}

/// The first directory in the path of the workspace.
fn root_name() -> String {
    let workspace = PathAnchors::default().workspace;
    workspace.split('/').find(|part| !part.is_empty()).unwrap_or_default().to_owned()
}

/// A regular expression for the first directory of any path outside the workspace.
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

/// Returns what a pattern about directories outside matches, including everything below them.
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

/// Returns the nearest `edit` or `read` patterns for a source pattern.
pub(super) fn words_inside(pattern: &str) -> Vec<String> {
    // A file in any directory may also be inside the workspace.
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
            // The next part matches any number of directories itself.
            ("**", Some(next)) if next.starts_with('*') => {}
            // `**` also matches no directory, so there are two variants.
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

/// Returns the nearest `external_directory` patterns for a source pattern. OpenCode never asks about a single
/// file there, so an allow must cover everything below a directory.
pub(super) fn words_outside(pattern: &str, is_allow: bool) -> Vec<String> {
    if !is_rooted(pattern) || pattern.split('/').any(|part| part == "..") {
        return Vec::new();
    }
    let plain = plain(pattern.trim_end_matches('/')).replace('?', "*");
    match plain.strip_suffix("/**") {
        Some(dir) if !dir.contains("**") => vec![format!("{dir}/*")],
        _ if is_allow => Vec::new(),
        // A directory of this name at any depth.
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

/// Replaces characters that OpenCode would interpret by `?`, which matches any one character.
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
    fn path_patterns_are_written_for_opencode() {
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
