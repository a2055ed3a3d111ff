//! Rules about files: patterns as in `.gitignore`, anchored by their start.
//!
//! `//x` is absolute, `~/x` is below the home directory, `/x` below the directory of the settings, and `x`
//! below the working directory. An ask or a deny of `x/y` applies at any depth, and so does every name
//! without `/`.

use agentry_policy::{Action, PathAnchors};

use crate::encoding::MatchBounds;
use crate::model::{escape, regex_of_path};
use crate::render_result::RenderScope;
use crate::wildcard::NOTHING;

/// Any number of directories.
const DEEP: &str = "(?:[^/]+/)*";

/// Returns what a pattern about files matches.
pub(super) fn matches(pattern: &str, action: Action) -> MatchBounds {
    let places = PathAnchors::default();
    let workspace = regex_of_path(&places.workspace);
    let home = regex_of_path(&places.home.unwrap_or_default());
    let (anchor, anywhere, rest) = if let Some(rest) = pattern.strip_prefix("//") {
        (String::new(), false, rest)
    } else if let Some(rest) = pattern.strip_prefix("~/") {
        (home, false, rest)
    } else if let Some(rest) = pattern.strip_prefix('/') {
        (workspace, false, rest)
    } else {
        let rest = pattern.strip_prefix("./").unwrap_or(pattern);
        let name = rest != "**" && !rest.trim_end_matches('/').contains('/');
        (
            if name { format!("{workspace}{DEEP}") } else { workspace },
            name || action > Action::Allow,
            rest,
        )
    };
    let (most, least) = segments(rest);
    // A matching directory includes everything below it.
    let most =
        if anywhere { format!("{DEEP}{most}{DEEP}") } else { format!("{anchor}{most}{DEEP}") };
    MatchBounds { most, least: format!("{anchor}{least}") }
}

/// Returns the upper and the lower bound of what the segments of a pattern match.
fn segments(pattern: &str) -> (String, String) {
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let mut most = String::new();
    let mut least = String::new();
    for (at, part) in parts.iter().enumerate() {
        let is_last = at + 1 == parts.len();
        let (wide, narrow) = match *part {
            "**" if is_last => ("(?:[^/]+/)+".to_owned(), "(?:[^/]+/)+".to_owned()),
            "**" => (DEEP.to_owned(), DEEP.to_owned()),
            part => segment(part),
        };
        most.push_str(&wide);
        least.push_str(&narrow);
    }
    (most, least)
}

fn segment(part: &str) -> (String, String) {
    // The exact meaning of these characters is not modelled: the part matches any name, or none.
    if part.contains(['[', '\\', '!']) {
        return ("[^/]+/".to_owned(), NOTHING.to_owned());
    }
    let each = |c: char| match c {
        '*' => "[^/]*".to_owned(),
        '?' => "[^/]".to_owned(),
        c => escape(c.encode_utf8(&mut [0; 4])),
    };
    let regex: String = part.chars().map(each).collect();
    let regex = if regex == "[^/]*" { "[^/]+/".to_owned() } else { regex + "/" };
    (regex.clone(), regex)
}

/// Translates a source pattern for settings of that scope. An ask or a deny may match more, an allow must
/// not. `None` if it cannot be expressed.
pub(super) fn written(pattern: &str, action: Action, scope: RenderScope) -> Option<String> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let climbs = pattern.split('/').any(|part| part == ".." || part == ".");
    if climbs || pattern.is_empty() || pattern.ends_with('/') || pattern.contains("//") {
        return None;
    }
    let special = |c: char| c.is_control() || "?[]\\(){}!#,".contains(c);
    if action == Action::Allow && pattern.contains(special) {
        return None;
    }
    // `?` matches at least the special character that it replaces.
    let pattern: String = pattern.chars().map(|c| if special(c) { '?' } else { c }).collect();
    let pattern = pattern.trim_end_matches(' ');
    match pattern.chars().next()? {
        '/' => Some(format!("/{pattern}")),
        '~' if pattern.starts_with("~/") => Some(pattern.to_owned()),
        '~' => None,
        _ if scope == RenderScope::Project => Some(format!("/{pattern}")),
        // This is below the working directory; a name without `/` would apply at any depth.
        _ if action == Action::Allow && !pattern.contains('/') => None,
        _ => Some(pattern.to_owned()),
    }
}

/// The pattern for everything below the working directory of an agent.
pub(super) fn inside(scope: RenderScope) -> &'static str {
    match scope {
        RenderScope::Project => "/**",
        RenderScope::User => "**",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_patterns_are_written_for_claude_code() {
        let (project, user) = (RenderScope::Project, RenderScope::User);
        let cases = [
            ("/run/agenix/**", Action::Deny, project, Some("//run/agenix/**")),
            ("secrets/**", Action::Deny, project, Some("/secrets/**")),
            ("secrets/**", Action::Allow, user, Some("secrets/**")),
            ("~/p/**", Action::Allow, user, Some("~/p/**")),
            ("*.lock", Action::Deny, project, Some("/*.lock")),
            ("*.lock", Action::Allow, user, None),
            ("a[x](y)", Action::Deny, project, Some("/a?x??y?")),
            ("a[x]", Action::Allow, project, None),
            ("../x", Action::Deny, project, None),
        ];
        for (pattern, action, scope, expected) in cases {
            assert_eq!(written(pattern, action, scope).as_deref(), expected, "{pattern}");
        }
    }
}
