//! What a search tool is asked for: directories, and a glob that selects files below them.
//!
//! Every guard, and the code that explains a guard's answer, reads a glob with [`FileSearch::each`].

use agentry_text::path::is_inside;

use super::{by_names, literal};

/// The most globs of one list that are read; a longer list counts as a search of everything.
const MOST: usize = 64;

/// A search through the files below a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSearch {
    /// The directory.
    pub directory: String,
    /// The glob that selects its files.
    pub pattern: Option<String>,
}

impl FileSearch {
    /// Returns every search that a tool may make from a path and a glob; `directory` is the current one. A
    /// glob may be several globs, and may start from the path, the current directory, or a parent of either.
    pub fn each(path: &str, directory: &str, pattern: Option<&str>) -> Vec<Self> {
        let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else {
            return vec![Self { directory: path.to_owned(), pattern: None }];
        };
        let mut globs = words(pattern);
        // A longer list may select anything.
        if globs.len() > MOST {
            return vec![Self { directory: "/".to_owned(), pattern: Some("**".to_owned()) }];
        }
        // The text may also be one glob that contains a space or a comma.
        if globs.len() != 1 {
            globs.push(pattern);
        }
        let mut out = Vec::new();
        for search in globs.iter().flat_map(|glob| one(path, directory, glob)) {
            if !out.contains(&search) {
                out.push(search);
            }
        }
        out
    }

    /// A search for what a glob selects below a directory. The names before its first wildcard lead further
    /// down, or to another directory.
    fn glob(directory: &str, pattern: &str) -> Self {
        let (led, rest) = parts(pattern);
        let led = if led.len() > 1 { led.trim_end_matches('/') } else { led };
        let directory = match led {
            "" => directory.to_owned(),
            led if led.starts_with(['/', '~']) => led.to_owned(),
            led => format!("{}/{led}", directory.trim_end_matches('/')),
        };
        // A glob that selects everything differs from no glob.
        let rest = if rest.is_empty() { "**" } else { rest };
        Self { directory, pattern: Some(rest.to_owned()) }
    }
}

/// Splits a glob into its literal directories and the rest.
fn parts(pattern: &str) -> (&str, &str) {
    // A negated glob selects files below the directory itself.
    let known = if pattern.starts_with('!') { "" } else { literal(pattern) };
    let split = known.rfind('/').and_then(|at| pattern.split_at_checked(at + 1));
    split.unwrap_or(("", pattern))
}

/// Returns the searches that one glob may mean.
fn one(path: &str, directory: &str, glob: &str) -> Vec<FileSearch> {
    let (led, _) = parts(glob);
    if led.is_empty() || climbs(led) || led.starts_with('~') {
        return vec![FileSearch::glob(path, glob)];
    }
    let mut out = Vec::new();
    if led.starts_with('/') {
        out.push(FileSearch::glob(path, glob));
    }
    // Without the real location of `path`, the directories of the glob may be above it.
    if climbs(path) || path.starts_with('~') {
        out.push(FileSearch { directory: path.to_owned(), pattern: Some(glob.to_owned()) });
        return out;
    }
    let (start, current) = (by_names(path, directory), by_names(directory, "/"));
    // A tool may resolve the glob from the path or from any directory above: each is a possible search.
    for above in ancestors(&start).chain(ancestors(&current)) {
        let found = FileSearch::glob(above, glob.trim_start_matches('/'));
        let led = by_names(&found.directory, "/");
        if is_inside(&led, &start) {
            out.push(FileSearch { directory: led, ..found });
        } else if is_inside(&start, &led) {
            out.push(FileSearch { directory: start.clone(), ..found });
        }
    }
    out
}

fn climbs(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// Returns a directory and all directories above it.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    let mut all: Vec<&str> = ends.filter_map(|at| path.get(..at)).collect();
    all.extend(["/", path]);
    all.into_iter().rev()
}

/// Splits a list of globs: some tools separate them by spaces, or by commas outside braces.
fn words(pattern: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = pattern.split(|c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c.is_whitespace() || (c == ',' && depth == 0)
    });
    parts.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str, directory: &str, pattern: Option<&str>) -> String {
        let each = FileSearch::each(path, directory, pattern).into_iter();
        let text = |it: FileSearch| format!("{} {}", it.directory, it.pattern.unwrap_or_default());
        each.map(text).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn globs_split_into_directory_and_pattern() {
        let cases = [
            ("*.rs", "/w *.rs"),
            ("a/b/*.rs", "/w/a/b *.rs"),
            ("a/b", "/w/a b"),
            ("a/", "/w/a **"),
            ("../b/*", "/w/../b *"),
            ("/etc/x/*.d", "/etc/x *.d, /w/etc/x *.d"),
            ("~/.ssh/id_*", "~/.ssh id_*"),
            ("!a/*", "/w !a/*"),
            ("a\\b/*", "/w a\\b/*"),
            ("a/@(b|c)/*", "/w/a @(b|c)/*"),
            ("{a,b}/*", "/w {a,b}/*"),
            ("w/*", "/w/w *, /w *"),
            ("*.js,.env", "/w *.js, /w .env, /w *.js,.env"),
            ("a/* b/*.{c,d}", "/w/a *, /w/b *.{c,d}, /w/a * b/*.{c,d}"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(shown("/w", "/w", Some(pattern)), expected, "{pattern}");
        }
    }

    #[test]
    fn a_glob_is_applied_to_path_and_workspace() {
        let cases = [
            ("a", None, "a "),
            ("a", Some(""), "a "),
            ("a", Some("*.rs"), "a *.rs"),
            ("a", Some("b/*"), "/w/a/b *"),
            ("a", Some("a/*"), "/w/a/a *, /w/a *"),
            ("a/b", Some("a/*.md"), "/w/a/b/a *.md, /w/a/b *.md"),
            ("a", Some("a/b/*"), "/w/a/a/b *, /w/a/b *"),
            ("/", Some("a/*"), "/a *, /w/a *"),
            ("a/../b", Some("a/*"), "a/../b a/*"),
            ("~/x", Some("a/*"), "~/x a/*"),
        ];
        for (path, pattern, expected) in cases {
            assert_eq!(shown(path, "/w", pattern), expected, "{path} {pattern:?}");
        }
        assert_eq!(shown("a", "/w", Some(&"b ".repeat(65))), "/ **");
    }
}
