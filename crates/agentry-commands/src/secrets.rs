//! Recognises files whose contents are secrets. The verdict for reading one is at least `ask`.
//!
//! The names are in `data/secrets.txt`. Case is ignored, because many file systems ignore it.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::data::blocks;
use crate::row::{DataRow, rows};

/// A kind of file that holds secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretFile {
    /// The last segments of its path, in lower case; a `*` in a segment matches any number of characters.
    pub path: &'static str,
    /// Whether the path starts at the root.
    pub rooted: bool,
    /// Whether everything below it is secret too.
    pub tree: bool,
}

impl SecretFile {
    /// One such file.
    pub fn example(self) -> String {
        let root = if self.rooted { "/" } else { "" };
        format!("{root}{}", self.path.replace('*', "x"))
    }
}

/// Iterates over every kind of file that is known to hold secrets.
pub fn all() -> impl Iterator<Item = SecretFile> {
    let SecretNames { names, places, rooted } = &*ROWS;
    let tables = [(names, false, false), (places, false, true), (rooted, true, true)];
    tables.into_iter().flat_map(|(table, rooted, tree)| {
        table.rows.iter().map(move |(path, _)| SecretFile { path, rooted, tree })
    })
}

/// Describes the secret in the file at `path`, if it is known to hold one. The path is absolute and
/// resolved; a directory of secrets counts as a secret itself.
pub fn is_secret(path: &str, home: Option<&str>) -> Option<&'static str> {
    let path = path.to_lowercase();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let name = original(segments.last()?);
    // A public file in `.ssh` is no secret; in other secret directories it still counts.
    let public = is_public(name);
    let counts = |what: &str| !public || what != SSH;
    let place = match shared(&segments) {
        None => by_place(&segments, counts),
        Some((above, below)) => by_place(above, counts).or_else(|| by_place(below, counts)),
    };
    let place = place.or_else(|| by_absolute_path(&segments, counts));
    let named = || by_name(name).or_else(|| in_home(&path, home, name));
    place.or_else(|| named().filter(|_| !public))
}

/// One segment of a path with wildcards: characters in lower case, and `None` for any text.
pub type NameGlob = Vec<Option<char>>;

/// Describes a secret that a path with wildcards can name. `None` in the list is any number of segments.
///
/// A wildcard can become any name, so what counts is the text around it: some of it has to belong to the name of
/// the secret. `i*` and `*_rsa` can be `id_rsa`; `README*` could be `README.key`, but nothing in it points there.
pub fn can_be_secret(segments: &[Option<NameGlob>]) -> Option<&'static str> {
    let SecretNames { names, places, rooted } = &*ROWS;
    let named = || {
        let glob = segments.last()?.as_ref().filter(|glob| is_wild(glob))?;
        let found = names.rows.iter().find(|(pattern, _)| can_be(glob, pattern));
        found.filter(|_| !is_public(&filled(glob))).map(|(_, what)| *what)
    };
    let follows = |place: &str, rest: &[Option<NameGlob>]| {
        let mut globs = rest.iter();
        let mut is_aimed = false;
        place.split('/').all(|pattern| {
            let Some(Some(glob)) = globs.next() else { return false };
            is_aimed |= is_wild(glob);
            if is_wild(glob) { can_be(glob, pattern) } else { fits(pattern, &filled(glob)) }
        }) && is_aimed
    };
    let placed = || {
        let starts = || (0..segments.len()).filter_map(|at| segments.get(at..));
        let places = &places.rows;
        let found = places.iter().find(|(place, _)| starts().any(|rest| follows(place, rest)));
        let found =
            found.or_else(|| rooted.rows.iter().find(|(place, _)| follows(place, segments)));
        found.map(|(_, what)| *what)
    };
    named().or_else(placed)
}

/// Splits a path with wildcards into segments.
pub fn segments(path: &str) -> Vec<Option<NameGlob>> {
    let segment = |name: &str| {
        let wild = |c: char| (!matches!(c, '*' | '?' | '[' | '\\')).then_some(c);
        (name != "**").then(|| name.to_lowercase().chars().map(wild).collect())
    };
    path.split('/').filter(|name| !name.is_empty()).map(segment).collect()
}

fn is_wild(glob: &[Option<char>]) -> bool {
    glob.contains(&None)
}

/// Returns the name with `x` in place of each wildcard.
fn filled(glob: &[Option<char>]) -> String {
    glob.iter().map(|c| c.unwrap_or('x')).collect()
}

/// Whether a name with wildcards can match the pattern of a secret, such that text of the name matches text of
/// the pattern. A shell wildcard at the start of a name does not match a dot.
fn can_be(glob: &[Option<char>], pattern: &str) -> bool {
    let text: Vec<Option<char>> = pattern.chars().map(|c| (c != '*').then_some(c)).collect();
    let first = glob.iter().position(Option::is_some);
    match first {
        // In `*.json` only the extension is known. It points to `*.pem`, but to no name such as `secrets.json`.
        Some(at) if at > 0 && glob.get(at) == Some(&Some('.')) => {
            let extension = glob.get(at..).unwrap_or_default();
            pattern.starts_with("*.") && meets(extension, text.get(1..).unwrap_or_default(), true)
        }
        Some(0) => meets(glob, &text, text.first() == Some(&None)),
        Some(_) => !pattern.starts_with('.') && meets(glob, &text, text.first() == Some(&None)),
        None => false,
    }
}

/// Whether some name matches both, with characters of `glob` in the place of the same ones of `pattern`: two of
/// them, or all of a text of `glob`. If the pattern is the end of a name, such as `*.pem`, one letter of it is
/// enough; `.json` in `*-service-account.json` is a common extension and does not count.
fn meets(glob: &[Option<char>], pattern: &[Option<char>], is_end: bool) -> bool {
    const ENOUGH: u8 = 2;
    let is_text = |at: Option<usize>| at.and_then(|at| glob.get(at)).is_some_and(Option::is_some);
    let dots = || pattern.iter().enumerate().filter(|(_, c)| **c == Some('.')).map(|(at, _)| at);
    let extension = match dots().next() {
        Some(0 | 1) => dots().nth(1),
        _ => dots().next_back(),
    };
    let names_secret =
        |other: usize, c: char| c.is_alphanumeric() && extension.is_none_or(|end| other < end);
    let weight = |at: usize, other: usize, c: char| match (is_end, names_secret(other, c)) {
        (true, false) => 0,
        (false, _) if is_text(at.checked_sub(1)) || is_text(Some(at + 1)) => 1,
        (true, true) | (false, _) => ENOUGH,
    };
    // Computed from the end: the most weight with which the remaining texts agree.
    let mut reached: Vec<Vec<Option<u8>>> = vec![vec![None; pattern.len() + 1]; glob.len() + 1];
    for at in (0..=glob.len()).rev() {
        for other in (0..=pattern.len()).rev() {
            let get = |at: usize, other: usize| {
                reached.get(at).and_then(|row| row.get(other)).copied().flatten()
            };
            let most = match (glob.get(at), pattern.get(other)) {
                (None, None) => Some(0),
                (Some(None), _) | (_, Some(None)) => get(at + 1, other).max(get(at, other + 1)),
                (Some(Some(a)), Some(Some(b))) if a == b => {
                    get(at + 1, other + 1).map(|most| ENOUGH.min(most + weight(at, other, *a)))
                }
                _ => None,
            };
            if let Some(place) = reached.get_mut(at).and_then(|row| row.get_mut(other)) {
                *place = most;
            }
        }
    }
    reached.first().and_then(|row| row.first()).copied().flatten() == Some(ENOUGH)
}

/// Splits the path at a directory that a project shares, although the same directory in a home holds
/// secrets: the ledger of rendered files, agents and skills.
fn shared<'a, 'p>(segments: &'a [&'p str]) -> Option<(&'a [&'p str], &'a [&'p str])> {
    const SHARED: &[&str] = &["agents", "agentry-policies", "skills"];
    let is_shared = |pair: &[&str]| match pair {
        [".agentry", name] => *name == "rendered.json",
        [".gemini", name] => SHARED.contains(name),
        _ => false,
    };
    let at = segments.windows(2).position(is_shared)?;
    Some((segments.get(..at)?, segments.get(at + 1..)?))
}

/// Returns the name of the file that `name` is a backup or swap copy of.
fn original(name: &str) -> &str {
    const COPIES: &[&str] =
        &["~", ".bak", ".backup", ".old", ".orig", ".save", ".copy", ".tmp", ".swp", ".swo"];
    let mut original = name.trim_matches('#');
    // The copies of `x` are `.#x` and `.x.swp`; the dot in `.env` belongs to the name and stays.
    original = original.strip_prefix(".#").unwrap_or(original);
    // Repeated, because a copy may have been copied: `.npmrc.bak~`.
    while let Some(shorter) = COPIES.iter().find_map(|end| original.strip_suffix(end)) {
        let is_swap = fits("*.swp", original) || fits("*.swo", original);
        let below = shorter.strip_prefix('.').filter(|below| is_swap && by_name(below).is_some());
        original = below.unwrap_or(shorter);
    }
    if original.is_empty() { name } else { original }
}

/// Whether a file is an example or the public half of a key; other secret directories are not affected.
fn is_public(name: &str) -> bool {
    const EXAMPLES: &[&str] = &[".example", ".sample", ".template", ".dist"];
    let is_example = name.starts_with(".env.") && EXAMPLES.iter().any(|end| name.ends_with(end));
    is_example || fits("*.pub", name) || name == "known_hosts"
}

fn by_name(name: &str) -> Option<&'static str> {
    ROWS.names.first_of(name, |(pattern, _)| fits(pattern, name)).map(|(_, what)| what)
}

/// Finds an entry whose segments occur next to each other anywhere in the path; everything below it is
/// secret too. Of several entries the first one of the table counts.
fn by_place(segments: &[&str], counts: impl Fn(&str) -> bool) -> Option<&'static str> {
    let starts = (0..segments.len()).filter_map(|at| segments.get(at..));
    let found = starts.filter_map(|rest| first_at(&ROWS.places, rest, &counts));
    found.min().map(|(_, what)| what)
}

fn by_absolute_path(segments: &[&str], counts: impl Fn(&str) -> bool) -> Option<&'static str> {
    first_at(&ROWS.rooted, segments, &counts).map(|(_, what)| what)
}

/// The first entry of the table with which the segments start.
fn first_at(
    table: &SecretPatterns,
    segments: &[&str],
    counts: &impl Fn(&str) -> bool,
) -> Option<(usize, &'static str)> {
    table.first_of(segments.first()?, |(place, what)| counts(what) && agree(place, segments))
}

/// Finds credentials by name, because programs keep them in hidden directories of the home.
fn in_home(path: &str, home: Option<&str>, name: &str) -> Option<&'static str> {
    const SECRET_WORDS: &[&str] =
        &["credential", "token", "secret", "passwd", "password", "apikey"];
    let below = path.strip_prefix(&home?.to_lowercase())?.strip_prefix("/.")?;
    let has_secret_name =
        below.contains('/') && SECRET_WORDS.iter().any(|part| name.contains(part));
    has_secret_name.then_some("credentials of a program")
}

/// Whether the segments start with those of the entry `place`.
fn agree(place: &str, segments: &[&str]) -> bool {
    let mut names = segments.iter();
    place.split('/').all(|pattern| names.next().is_some_and(|name| fits(pattern, name)))
}

/// Whether `name` matches `pattern`, in which one `*` is any number of characters.
fn fits(pattern: &str, name: &str) -> bool {
    let first = pattern.bytes().next();
    if first != Some(b'*') && first != name.bytes().next() {
        return false;
    }
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => name.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
    }
}

/// The kind of secret from which public files are exempt.
const SSH: &str = "SSH keys and settings";

/// A pattern in lower case, and a description of what it names.
type SecretRow = (&'static str, &'static str);

/// A table of patterns with an index: the sandbox asks about each file of a disk, and only a few of the rows can
/// match its name.
#[derive(Debug, Default)]
struct SecretPatterns {
    rows: Vec<SecretRow>,
    /// The positions of the rows whose first segment has no wildcard, by that segment.
    literal: HashMap<&'static str, Vec<usize>>,
    /// The positions of the other rows.
    wild: Vec<usize>,
}

impl SecretPatterns {
    fn new(rows: Vec<SecretRow>) -> Self {
        let (mut literal, mut wild) = (HashMap::<_, Vec<usize>>::new(), Vec::new());
        for (at, (pattern, _)) in rows.iter().enumerate() {
            match pattern.split('/').next() {
                Some(first) if !first.contains('*') => literal.entry(first).or_default().push(at),
                _ => wild.push(at),
            }
        }
        Self { rows, literal, wild }
    }

    /// The first row that fits, with its position. `first` is the segment that its first segment has to match.
    fn first_of(
        &self,
        first: &str,
        fits: impl Fn(&SecretRow) -> bool,
    ) -> Option<(usize, &'static str)> {
        let find = |positions: &[usize]| {
            let mut rows = positions.iter().filter_map(|at| Some((*at, self.rows.get(*at)?)));
            rows.find(|(_, row)| fits(row)).map(|(at, (_, what))| (at, *what))
        };
        let literal = self.literal.get(first).and_then(|positions| find(positions));
        literal.into_iter().chain(find(&self.wild)).min()
    }
}

/// The parsed rows of the data file.
#[derive(Debug, Default)]
struct SecretNames {
    /// Patterns of the last segment.
    names: SecretPatterns,
    /// Segments that occur next to each other; everything below counts.
    places: SecretPatterns,
    /// Segments from the root; everything below counts.
    rooted: SecretPatterns,
}

static ROWS: LazyLock<SecretNames> = LazyLock::new(|| parse().0);

/// Reads the data file: its tables, and the rows that belong to none of them.
fn parse() -> (SecretNames, Vec<&'static str>) {
    let (mut names, mut places, mut rooted) = (Vec::new(), Vec::new(), Vec::new());
    let mut malformed = Vec::new();
    for row in blocks(include_str!("../data/secrets.txt")).flat_map(rows) {
        let (key, list) = match row {
            Ok(DataRow { key, values, .. }) => (key, values.0),
            Err(text) => (text, ""),
        };
        let table = match key.split_once(' ') {
            Some(("name", _)) => &mut names,
            Some(("place", _)) => &mut places,
            Some(("root", _)) => &mut rooted,
            _ => {
                malformed.push(key);
                continue;
            }
        };
        let what = key.split_once(' ').map_or("", |(_, what)| what);
        table.extend(list.split(',').map(|pattern| (pattern.trim(), what)));
    }
    let [names, places, rooted] = [names, places, rooted].map(SecretPatterns::new);
    (SecretNames { names, places, rooted }, malformed)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn entries_are_unique_and_in_lower_case() {
        assert_eq!(parse().1, [""; 0]);
        for SecretPatterns { rows: table, .. } in [&ROWS.names, &ROWS.places, &ROWS.rooted] {
            assert!(table.len() > 20, "{}", table.len());
            let mut seen = HashSet::new();
            for (pattern, _) in table {
                assert!(seen.insert(pattern), "{pattern}");
                assert_eq!(*pattern, pattern.to_lowercase());
                let stars = pattern.split('/').map(|segment| segment.matches('*').count());
                assert!(stars.max() <= Some(1), "{pattern}");
            }
        }
    }

    #[test]
    fn secret_pattern_examples_are_recognised() {
        for secret in all() {
            let root = if secret.rooted { "" } else { "/workspace/" };
            let path = format!("{root}{}", secret.example());
            assert!(is_secret(&path, None).is_some(), "{path}");
            assert!(!secret.tree || is_secret(&format!("{path}/x"), None).is_some(), "{path}");
        }
    }

    #[test]
    fn secret_files_are_recognised() {
        let secret = "/workspace/.env /workspace/.env.local /workspace/a/.ENV /workspace/.env.production \
                      /workspace/.envrc /workspace/prod.env /workspace/server.key /workspace/tls/cert.pem \
                      /workspace/x.p12 /workspace/x.pfx /workspace/x.jks /workspace/x.keystore /x/y.kdbx \
                      /home/user/.ssh /home/user/.ssh/id_rsa /home/user/.ssh/config /home/user/.SSH/ID_ED25519 \
                      /home/user/.aws/credentials /home/user/.aws/config /home/user/.azure/x \
                      /home/user/.config/gcloud/credentials.db /home/user/.kube/config \
                      /home/user/.docker/config.json /home/user/.netrc /home/user/.npmrc /workspace/.npmrc \
                      /home/user/.pypirc /home/user/.cargo/credentials /home/user/.cargo/credentials.toml \
                      /home/user/.gem/credentials /home/user/.git-credentials /home/user/.gnupg/secring.gpg \
                      /home/user/.password-store/a/b.gpg /home/user/.mozilla/firefox/x/logins.json \
                      /home/user/.config/google-chrome/Default/Cookies /home/user/.bash_history \
                      /home/user/.zsh_history /home/user/.local/share/fish/fish_history /etc/shadow /etc/shadow- \
                      /etc/gshadow /proc/1/environ /proc/self/environ /proc/1234/mem /home/user/.agentry \
                      /home/user/.agentry/runs/x /home/user/.config/agentry/config.toml \
                      /workspace/service-account-prod.json /workspace/config/secrets.yml \
                      /home/user/.config/gh/hosts.yml /home/user/.someprogram/api-token \
                      /workspace/.env~ /workspace/.env.bak /workspace/#.env# /workspace/.#.env \
                      /workspace/server.key~ /workspace/server.key.old /workspace/.server.key.swp \
                      /workspace/id_rsa.bak /workspace/prod.env.orig /workspace/.npmrc.bak~ \
                      /home/user/.aws/x.pub /home/user/.aws/known_hosts /home/user/.agentry/x.pub \
                      /home/user/.agentry/.env.example /home/user/.ssh/.aws/x.pub \
                      /workspace/.agentry /workspace/.agentry/x /workspace/.gemini/settings.json \
                      /home/user/.agentry/x/.agentry/rendered.json /workspace/.gemini/agents/.ssh/x \
                      /workspace/.gemini/skills/x/.env /home/user/.gemini/oauth.json \
                      /workspace/id_rsa /workspace/terraform.tfstate /run/secrets/db";
        let plain = "/workspace/.env.example /workspace/.env.sample /workspace/.env.template \
                     /workspace/.env.dist /workspace/src/main.rs /workspace/README.md /home/user/.ssh/known_hosts \
                     /home/user/.ssh/id_rsa.pub /home/user/.ssh/known_hosts.old \
                     /home/user/.ssh/known_hosts~ /workspace/.env.example~ /workspace/main.rs~ \
                     /workspace/notes.bak /workspace/# /workspace/~ /etc/ssh/ssh_host_rsa_key.pub \
                     /etc/passwd /etc/hosts /proc/cpuinfo /proc/1/status /workspace \
                     / /workspace/environment.rs /workspace/keys.rs /workspace/token.rs /home/user/.cargo/config.toml \
                     /home/user/.gitconfig /workspace/.github/workflows/ci.yml /workspace/package.json \
                     /workspace/tokens.json /home/user/tokens.txt /workspace/src/secrets.rs \
                     /workspace/.agentry/rendered.json /workspace/.gemini/agents/x.md \
                     /workspace/.gemini/skills/pdf/SKILL.md";
        for (paths, expected) in [(secret, true), (plain, false)] {
            for path in paths.split_whitespace() {
                assert_eq!(is_secret(path, Some("/home/user")).is_some(), expected, "{path}");
            }
        }
        assert_eq!(is_secret("/home/user/.x/api-token", None), None);
    }

    #[test]
    fn globs_that_may_match_secrets_are_recognised() {
        let secret = ".e?v .?nv .en? .e* .* .[nv .env? .env* id_rs? id_* i* *_rsa ?d_rsa *_ed25519 *.ke? *.p* \
                      *.e* prod.e?v prod.en? *.tfst* serv*.json service-*.json credential? cred*.toml secr*.yml \
                      *ecrets.y?ml .netr? .n* .p?pass .bash_hist* .s?h/config .ss?/id .a*/x .kub?/config a/.en? \
                      **/.en? **/.s*h/x .config/g? .config/g*/hosts.yml *config* prod.e* /etc/sha?ow /etc/s*/x /proc/1/m?m";
        let plain = "* ?? *.rs *.json *.toml *.y* *.js* src/* */* **/*.md README* README.* test_* *test* \
                     src/lib* main.* *.tsx? [A-Z]* Cargo.lo* x/*/y .github/wo* .github/*/x id_*.pub *.pub \
                     .env.*.example */config *.lock package*.json docs/*.html";
        for (globs, expected) in [(secret, true), (plain, false)] {
            for glob in globs.split_whitespace() {
                assert_eq!(can_be_secret(&segments(glob)).is_some(), expected, "{glob}");
            }
        }
    }
}
