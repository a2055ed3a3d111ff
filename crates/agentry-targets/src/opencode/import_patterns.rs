//! Translates patterns of OpenCode, in which `*` matches everything. A rule that makes something stricter
//! gets patterns that cover the original, and as little else as possible. Any other rule gets patterns that
//! match nothing else.

use agentry_policy::{Action, PatternKind, Section};

use super::files::OUTPUT;
use super::paths::end_of_name;
use crate::wildcard::collapsed;
use crate::wildcard::{around, is_special};

/// The most patterns that one pattern may expand to.
const MOST: usize = 16;

/// Whether a rule may match too much: a deny, or an ask where the intent is to allow.
pub(super) fn is_broad(action: Action, intent: Action) -> bool {
    action == Action::Deny || (action == Action::Ask && intent == Action::Allow)
}

/// Returns the nearest patterns for one of OpenCode.
pub(super) fn patterns(
    section: Section,
    pattern: &str,
    action: Action,
    intent: Action,
) -> Vec<String> {
    let broad = is_broad(action, intent);
    let special = section.kind() == PatternKind::Command && pattern.contains(is_special);
    if !broad && (pattern.contains('?') || special) {
        return Vec::new();
    }
    let pattern = pattern.replace('?', "*");
    match section.kind() {
        PatternKind::Command if broad => commands_around(&pattern),
        PatternKind::Command if pattern.trim().is_empty() => Vec::new(),
        PatternKind::Command if action == Action::Allow => vec![command(&pattern)],
        PatternKind::Path if section == Section::ExternalDirectory => {
            match collapsed(&pattern).strip_suffix("/*") {
                _ if pattern == OUTPUT => Vec::new(),
                Some(dir) => vec![format!("{dir}/**")],
                None => Vec::new(),
            }
        }
        // A pattern by file name matches wherever the file is.
        PatternKind::Path if broad || by_name(&pattern) => paths_around(&pattern),
        PatternKind::Path => paths(&pattern),
        PatternKind::Command | PatternKind::Name => vec![pattern],
        PatternKind::Web | PatternKind::Text => Vec::new(),
    }
}

fn by_name(pattern: &str) -> bool {
    let below = pattern.trim_start_matches('*').strip_prefix('/');
    end_of_name(pattern).is_some()
        || (pattern.starts_with('*') && below.is_some_and(|it| end_of_name(it).is_some()))
}

/// Translates a command pattern of an allow, in which `*` of the model stops at slashes and words.
fn command(pattern: &str) -> String {
    let is_path = |token: &str| token.contains('/') && token.contains('*');
    let wide = |token: &str| {
        if is_path(token) { collapsed(token).replace('*', "**") } else { token.to_owned() }
    };
    let tokens: Vec<&str> = pattern.split(' ').collect();
    let open = tokens.last().is_some_and(|last| is_path(last) && last.ends_with('*'));
    let text = tokens.into_iter().map(wide).collect::<Vec<_>>().join(" ");
    if open { format!("{text} *") } else { text }
}

/// Returns patterns that together cover every command which one of OpenCode matches.
fn commands_around(pattern: &str) -> Vec<String> {
    let nearest = around(pattern);
    let [near] = nearest.as_slice() else { return nearest };
    let Some(start) = near.strip_suffix('*').filter(|start| !start.ends_with(['*', ' '])) else {
        return nearest;
    };
    if start.is_empty() {
        return holding(pattern).map_or(nearest, |text| vec![text]);
    }
    // In the name of a program, only `**` matches a `/`.
    let star = if start.contains(' ') { "*" } else { "**" };
    let rest = pattern.strip_prefix(start).unwrap_or_default().trim_start_matches('*');
    // The last literal piece may be in the same word as the first, or at the end of another word.
    let open = if rest.ends_with('*') { "*" } else { "" };
    let last = rest.trim_end_matches('*').rsplit(['*', '~', ' ']).next().unwrap_or_default();
    if last.is_empty() || pattern.contains(is_special) {
        return vec![format!("{start}{star}")];
    }
    vec![format!("{start}{star}{last}{open}"), format!("{start}{star} ** *{last}{open}")]
}

/// Returns a pattern for all commands with a word that contains the longest piece of a pattern.
fn holding(pattern: &str) -> Option<String> {
    let pieces = pattern.split(['*', ' ', '~']).filter(|piece| !piece.contains(is_special));
    let longest = pieces.max_by_key(|piece| piece.len()).filter(|piece| piece.len() > 1)?;
    Some(format!("** **{longest}** **"))
}

/// Returns patterns that together match the same files: `*` matches any number of directories.
fn paths(pattern: &str) -> Vec<String> {
    let chars: Vec<char> = collapsed(pattern).chars().collect();
    let mut found = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        let inside = at.checked_sub(1).and_then(|at| chars.get(at)).is_some_and(|it| *it != '/');
        let ways: &[&str] = match (c, inside, chars.get(at + 1)) {
            ('*', false, None) => &["**"],
            ('*', _, Some('/')) => &["*/**"],
            ('*', false, Some(_)) => &["**/*"],
            ('*', true, None) => &["*", "*/**"],
            ('*', true, Some(_)) => &["*", "*/**/*"],
            (other, ..) => {
                found.iter_mut().for_each(|text| text.push(*other));
                continue;
            }
        };
        found = found
            .iter()
            .flat_map(|text| ways.iter().map(move |it| format!("{text}{it}")))
            .collect();
        if found.len() > MOST {
            return Vec::new();
        }
    }
    found.iter().map(|text| text.replace("**/**/", "**/")).collect()
}

/// Returns patterns that together cover every path which one of OpenCode matches, also outside the workspace.
fn paths_around(pattern: &str) -> Vec<String> {
    let mut found = paths(pattern);
    if found.is_empty() {
        let start = pattern.split('*').next().unwrap_or_default();
        found = paths(&format!("{start}*"));
    }
    let Some(rest) = pattern.strip_prefix('*') else { return found };
    // OpenCode sees paths outside as relative paths, which all start with `..`.
    let rest = rest.trim_start_matches('*');
    let dots = rest.trim_start_matches('.');
    let is_up = rest.chars().all(|c| matches!(c, '.' | '/' | '*'))
        || dots.len() < rest.len() && dots.starts_with('/');
    let outside: Vec<String> = if is_up {
        vec!["/**".to_owned()]
    } else {
        let deep = |text: &String| format!("/{}", text.strip_prefix("*/").unwrap_or(text));
        found.iter().map(deep).collect()
    };
    found.into_iter().chain(outside).collect()
}

/// Returns the names of tools that a key matches. OpenCode joins server and tool with `_`, and replaces each
/// character other than a letter, a digit or `-` by `_`.
pub(super) fn names(section: Section, key: &str, broad: bool) -> Vec<String> {
    if key.contains('?') && !broad {
        return Vec::new();
    }
    let key = collapsed(&key.replace('?', "*"));
    if section != Section::Mcp {
        return vec![key];
    }
    let tool =
        |text: &str| if broad { collapsed(&text.replace('_', "*")) } else { text.to_owned() };
    let split = |(at, c): (usize, char)| {
        let (server, rest) = (key.get(..at)?, key.get(at + c.len_utf8()..)?);
        match c {
            '_' => Some(format!("{server}/{}", tool(rest))),
            // Servers with `_` in their names are rare, and keys that name them distinguish them.
            '*' if !server.contains('_') => {
                Some(format!("{server}*/{}", tool(&format!("*{rest}"))))
            }
            _ => None,
        }
    };
    key.char_indices().filter_map(split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opencode_patterns_are_translated() {
        use Action::{Allow, Ask, Deny};
        use Section::{Bash, Edit, ExternalDirectory};
        let cases = [
            (Bash, "git *", Allow, &["git *"][..]),
            (Bash, "git * main", Allow, &["git * main"]),
            (Bash, "git add tests/*", Allow, &["git add tests/** *"]),
            (Bash, "cp a/* b", Allow, &["cp a/** b"]),
            (Bash, "cat a/*", Ask, &["cat a/*"]),
            (Bash, "git * main", Deny, &["git ** *main"]),
            (Bash, "rm*", Deny, &["rm**"]),
            (Bash, "git push*", Deny, &["git push*"]),
            (Bash, "git push*--force*", Deny, &["git push*--force*", "git push* ** *--force*"]),
            (Bash, "git push* --force", Deny, &["git push*--force", "git push* ** *--force"]),
            (Bash, "a*b", Deny, &["a**b", "a** ** *b"]),
            (Bash, "rm -rf $HOME*", Deny, &["rm -rf *"]),
            (Bash, "echo \"x\"", Allow, &[]),
            (Bash, "a?b", Allow, &[]),
            (Edit, "src/*", Allow, &["src/**"]),
            (Edit, "*.rs", Deny, &["**/*.rs", "/**/*.rs"]),
            (Edit, "*.md", Allow, &["**/*.md", "/**/*.md"]),
            (Edit, "**/*.key", Deny, &["*/**/*.key", "/**/*.key"]),
            (Edit, "*/x", Deny, &["*/**/x", "/**/x"]),
            (Edit, "**/node_modules/**", Deny, &["*/**/node_modules/**", "/**/node_modules/**"]),
            (Edit, "src/a*b", Deny, &["src/a*b", "src/a*/**/*b"]),
            (Edit, "src/*x*", Deny, &["src/**/*x*", "src/**/*x*/**"]),
            (Edit, "*./x", Deny, &["**/*./x", "/**"]),
            (Edit, "a*b*c*d*e*f", Deny, &["a*", "a*/**"]),
            (Edit, "src/*", Deny, &["src/**"]),
            (Edit, "docs/*.md", Allow, &["docs/**/*.md"]),
            (ExternalDirectory, "~/p/*", Allow, &["~/p/**"]),
            (ExternalDirectory, "~/p/**", Allow, &["~/p/**"]),
            (ExternalDirectory, "~/p", Allow, &[]),
        ];
        for (section, pattern, action, expected) in cases {
            assert_eq!(patterns(section, pattern, action, Ask), expected, "{pattern}");
        }
    }

    #[test]
    fn tool_keys_become_server_patterns() {
        let cases = [
            ("github_*", true, &["github/*"][..]),
            ("github*", true, &["github*/*"]),
            ("github_get_issue", true, &["github/get*issue", "github_get/issue"]),
            ("github_get_issue", false, &["github/get_issue", "github_get/issue"]),
            ("*_search", true, &["*/*search", "*/search"]),
            ("todowrite", true, &[]),
        ];
        for (key, broad, expected) in cases {
            assert_eq!(names(Section::Mcp, key, broad), expected, "{key}");
            assert_eq!(names(Section::Tool, key, broad), [key], "{key}");
        }
    }
}
