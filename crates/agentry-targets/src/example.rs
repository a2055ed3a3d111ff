//! Examples that a user understands. A prover finds a shortest call about which two rule lists differ, such
//! as `x`. A call from the agent's own rules, or an everyday one, explains more.
//!
//! Each example is only proposed here: the caller decides it by both lists.

use agentry_policy::compare::ExampleSubject;
use agentry_policy::path::with_home;
use agentry_policy::web::address;
use agentry_policy::{PathAnchors, Pattern, PatternKind, RuleList, Section};

/// What replaces a wildcard.
const ANY: &str = "example";

/// What replaces a wildcard that stands for a file.
const FILE: &str = "example.txt";

/// The most patterns that examples are made from.
const MOST: usize = 100;

/// Returns the first example for which `shows` holds: from the patterns of these rules in their order, then
/// from everyday calls, then from lists that also contain rules in a harness' syntax.
pub(crate) fn first_example<'r>(
    section: Section,
    rules: impl Iterator<Item = &'r RuleList>,
    shows: impl Fn(&ExampleSubject) -> bool,
) -> Option<ExampleSubject> {
    let is_mixed = |rules: &&RuleList| rules.rules.iter().any(|rule| rule.pattern.is_foreign());
    let (mixed, own): (Vec<&RuleList>, Vec<&RuleList>) = rules.partition(is_mixed);
    let usual = everyday(section).iter().filter_map(|text| read(section.kind(), text));
    examples(own).chain(usual).chain(examples(mixed)).find(shows)
}

/// Returns examples made from the patterns of some rules.
fn examples(rules: Vec<&RuleList>) -> impl Iterator<Item = ExampleSubject> {
    let is_own = |pattern: &&Pattern| {
        !(pattern.is_foreign() || pattern.is_everything() || pattern.problem().is_some())
    };
    let patterns = rules.into_iter().flat_map(|rules| &rules.rules).map(|rule| &rule.pattern);
    patterns.filter(is_own).take(MOST).flat_map(made)
}

/// Everyday calls of a section.
const fn everyday(section: Section) -> &'static [&'static str] {
    match section {
        Section::Bash => &["git status", "npm test", "make build", "date"],
        Section::Edit | Section::Read => {
            &["src/main.rs", "README.md", "docs/index.md", "/tmp/example.txt", "/etc/hosts"]
        }
        Section::ExternalDirectory => &["/tmp/example.txt", "/etc/hosts", "~/notes.txt"],
        Section::Webfetch => &["https://example.com/", "https://docs.rs/", "http://example.com/"],
        Section::Websearch => &["how to write a changelog"],
        Section::Question => &["which branch?"],
        Section::Mcp => &["github/list_issues", "github"],
        Section::Tool => &["deploy"],
        Section::Skill => &["code-review"],
        Section::Delegate => &["reviewer"],
        Section::Env => &["LANG", "HOME"],
    }
}

/// Makes examples from a pattern: with its wildcards left empty, and with its wildcards filled.
fn made(pattern: &Pattern) -> Vec<ExampleSubject> {
    let kind = pattern.kind();
    let text = pattern.text.trim_matches(' ');
    let texts = match kind {
        PatternKind::Command => vec![command(text, ""), command(text, ANY)],
        PatternKind::Path => vec![path(text)],
        PatternKind::Web => vec![web(text)],
        PatternKind::Name => vec![filled(text, ANY)],
        PatternKind::Text => vec![filled(text, ""), filled(text, ANY)],
    };
    texts.iter().filter_map(|text| read(kind, text)).collect()
}

/// Parses an example from text; `None` if the text is not a plain subject.
fn read(kind: PatternKind, text: &str) -> Option<ExampleSubject> {
    // An example must be readable in a message.
    if text.trim().is_empty() || text.contains(char::is_control) {
        return None;
    }
    let text = match kind {
        PatternKind::Command => {
            return Some(ExampleSubject::Command(text.split(' ').map(str::to_owned).collect()));
        }
        PatternKind::Path => absolute(text)?,
        PatternKind::Web => address(text).ok().filter(|it| it.doubt.is_none())?.text,
        PatternKind::Name | PatternKind::Text => text.to_owned(),
    };
    Some(ExampleSubject::Text(text))
}

/// Returns the absolute path that rules are matched against.
fn absolute(text: &str) -> Option<String> {
    let places = PathAnchors::default();
    let text = with_home(text, &places)?;
    let is_absolute = text.starts_with('/');
    let start = if is_absolute { String::new() } else { places.workspace };
    let segments = text.split('/').filter(|segment| !matches!(*segment, "" | "."));
    let segments: Vec<&str> = segments.collect();
    (!segments.contains(&"..")).then(|| format!("{start}/{}", segments.join("/")))
}

/// Replaces each wildcard.
fn filled(text: &str, with: &str) -> String {
    text.replace("**", "*").replace('*', with)
}

/// Makes a command from a pattern: `any` replaces each word that is only a wildcard; others lose their `*`.
pub(crate) fn command(text: &str, any: &str) -> String {
    let word = |word: &str| {
        let is_any = word.bytes().all(|byte| byte == b'*');
        filled(word, if is_any { any } else { "" })
    };
    let words = text.split(' ').map(word).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Makes a path from a pattern: `src/**/*.rs` becomes `src/example.rs`.
fn path(text: &str) -> String {
    let last = text.split('/').count() - 1;
    let segment = |(at, segment): (usize, &str)| match segment {
        "*" | "**" if at == last => Some(FILE.to_owned()),
        "**" => None,
        _ => Some(match segment.strip_prefix('*') {
            Some(rest) => format!("{ANY}{}", filled(rest, "")),
            None => filled(segment, ""),
        }),
    };
    text.split('/').enumerate().filter_map(segment).collect::<Vec<_>>().join("/")
}

/// Makes an address from a pattern: `*.example.org/**` becomes `example.example.org/`.
fn web(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    let end = text.get(start..).and_then(|rest| rest.find(['/', '?']));
    let (host, rest) = text.split_at(end.map_or(text.len(), |end| start + end));
    format!("{}{}", filled(&host.replace(":*", ""), ANY), filled(rest, ""))
}

/// Shortens examples for the user. Paths become relative to the workspace or the home directory, which are
/// placeholders in examples. The default port of an address is left out.
pub fn plain(text: &str) -> String {
    let PathAnchors { workspace, home, .. } = PathAnchors::default();
    let text = text.replace(&format!("`{workspace}/`"), "`.`");
    let mut text = text.replace(&format!("`{workspace}/"), "`");
    if let Some(home) = home {
        text = text.replace(&format!("`{home}/"), "`~/");
    }
    without_port(&text, "`https://", ":443")
}

/// Removes a port from the addresses that start with `start`.
fn without_port(text: &str, start: &str, port: &str) -> String {
    let mut parts = text.split(start);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (host, rest) = part.split_at(part.find(['/', '`']).unwrap_or(part.len()));
        out.extend([start, host.strip_suffix(port).unwrap_or(host), rest]);
    }
    out
}

#[cfg(test)]
mod tests {
    use agentry_policy::Action;

    use super::*;

    #[test]
    fn examples_are_derived_from_patterns() {
        let cases: [(Section, &str, &[&str]); 16] = [
            (Section::Bash, "git push*", &["git push", "git push"]),
            (Section::Bash, "git push **", &["git push", "git push example"]),
            (Section::Bash, "npm run test:* --silent", &["npm run test: --silent"; 2]),
            (Section::Edit, "src/**/*.rs", &["/workspace/src/example.rs"]),
            (Section::Edit, "docs/**", &["/workspace/docs/example.txt"]),
            (Section::Edit, "/tmp/*", &["/tmp/example.txt"]),
            (Section::Edit, "/**", &["/example.txt"]),
            (Section::Read, "~/.ssh/id*", &["/home/user/.ssh/id"]),
            (Section::Read, "./notes.md", &["/workspace/notes.md"]),
            (Section::Read, "../other/**", &[]),
            (Section::Webfetch, "*.rust-lang.org/**", &["https://example.rust-lang.org:443/"]),
            (Section::Webfetch, "http://docs.rs:*/a*", &["http://docs.rs:80/a"]),
            (Section::Webfetch, "docs.rs", &["https://docs.rs:443/"]),
            (Section::Mcp, "github/*", &["github/example"]),
            (Section::Websearch, "rust **", &["rust ", "rust example"]),
            (Section::Delegate, "reviewer", &["reviewer"]),
        ];
        for (section, text, expected) in cases {
            let pattern =
                Pattern::new(section.kind(), text, Action::Allow, &PathAnchors::default());
            let made: Vec<String> = made(&pattern).iter().map(ExampleSubject::to_string).collect();
            assert_eq!(made, expected, "{section} {text}");
        }
    }

    #[test]
    fn example_paths_are_shown_relative() {
        let cases = [
            ("`/workspace/` is ask", "`.` is ask"),
            ("`/workspace/a/b` is ask", "`a/b` is ask"),
            ("`/home/user/a` is ask", "`~/a` is ask"),
            ("`https://docs.rs:443/` is ask", "`https://docs.rs/` is ask"),
        ];
        for (text, expected) in cases {
            assert_eq!(plain(text), expected);
        }
    }

    /// An example that is no valid subject would never be shown.
    #[test]
    fn everyday_examples_are_valid_subjects() {
        for section in Section::ALL {
            for text in everyday(*section) {
                assert!(read(section.kind(), text).is_some(), "{section} {text}");
            }
        }
    }

    #[test]
    fn examples_are_shown_in_short_form() {
        let cases = [
            ("`/workspace/src/main.rs` is ask", "`src/main.rs` is ask"),
            ("`/home/user/x` and `/workspace/y`", "`~/x` and `y`"),
            ("`https://example.com:443/` is ask", "`https://example.com/` is ask"),
            ("`https://a.b:8443/` `http://a.b:443/x`", "`https://a.b:8443/` `http://a.b:443/x`"),
        ];
        for (text, expected) in cases {
            assert_eq!(plain(text), expected, "{text}");
        }
    }
}
