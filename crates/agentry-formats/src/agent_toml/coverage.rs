//! Whether one rule covers another, decided exactly over the wildcard language of patterns.
//!
//! A subject is a row of tokens (words of a command, segments of a path), each closed by a mark. A
//! pattern is a row of [`Piece`]s that reads such a row. One pattern covers another when no row is
//! read by the other alone; the search for such a row visits pairs of states. What a pattern means
//! beyond its text (addresses, quotes) is not decided here: then nothing is said to be covered.

use std::collections::{BTreeSet, HashSet};

use agentry_policy::{Action, PatternRule, Section};

/// Closes every token of a subject.
const MARK: char = '\0';
/// Stands for every character that neither pattern names.
const OTHER: char = '\u{1}';
/// The most steps that are taken for the rules of one section.
const MOST_STEPS: usize = 400_000;
/// The longest pattern that is looked at.
const MOST_CHARS: usize = 256;

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// This character.
    Char(char),
    /// Any characters inside a path segment.
    Segment,
    /// Any characters inside a token.
    Token,
    /// Any number of whole tokens.
    Tokens,
}

/// Answers about the rules of one section, with a bound on all of them together.
#[derive(Debug)]
pub(super) struct Coverage {
    steps_left: usize,
}

impl Coverage {
    /// No question was asked yet.
    pub(super) fn new() -> Self {
        Self { steps_left: MOST_STEPS }
    }

    /// Whether everything that `late` matches is also matched by `early`. `false` when in doubt.
    pub(super) fn covers(
        &mut self,
        section: Section,
        early: &PatternRule,
        late: &PatternRule,
    ) -> bool {
        if matches!(early.pattern.as_str(), "*" | "**") {
            return true;
        }
        if section == Section::Webfetch || !same_start(&early.pattern, &late.pattern) {
            return false;
        }
        if section == Section::Bash {
            // Whether `*` crosses a slash in an argument does not matter if both answers agree.
            return [Piece::Segment, Piece::Token].into_iter().all(|star| {
                let pieces = command(early, star).zip(command(late, star));
                pieces.is_some_and(|(early, late)| self.included(&late, &early))
            });
        }
        let same_root = root(&early.pattern) == root(&late.pattern);
        let pieces = path(&early.pattern).zip(path(&late.pattern));
        same_root && pieces.is_some_and(|(early, late)| self.included(&late, &early))
    }

    /// Whether every row that `small` reads is also read by `large`.
    fn included(&mut self, small: &[Piece], large: &[Piece]) -> bool {
        let alphabet = alphabet(small, large);
        let start = reached(large, [(0, false)]);
        let starts = reached(small, [(0, false)]).into_iter().map(|state| (state, start.clone()));
        let mut open: Vec<(State, BTreeSet<State>)> = starts.collect();
        let mut seen: HashSet<_> = open.iter().cloned().collect();
        while let Some((state, states)) = open.pop() {
            if is_end(small, state) && !states.iter().any(|state| is_end(large, *state)) {
                return false;
            }
            for c in &alphabet {
                let next = reached(small, step(small, state, *c));
                let after = reached(large, states.iter().filter_map(|at| step(large, *at, *c)));
                let cost = next.len() * (after.len() + 1);
                // Every pattern can be read to its end, so one that reads on alone is not covered.
                if (!next.is_empty() && after.is_empty()) || !self.pay(cost) {
                    return false;
                }
                for state in next {
                    let pair = (state, after.clone());
                    if seen.insert(pair.clone()) {
                        open.push(pair);
                    }
                }
            }
        }
        true
    }

    fn pay(&mut self, cost: usize) -> bool {
        let left = self.steps_left.checked_sub(cost);
        self.steps_left = left.unwrap_or(0);
        left.is_some()
    }
}

/// Whether two patterns may begin alike: most pairs of rules are told apart here.
fn same_start(early: &str, late: &str) -> bool {
    let literal = |pattern: &str| pattern.bytes().take_while(|byte| *byte != b'*').collect();
    let (early, late): (Vec<u8>, Vec<u8>) = (literal(early), literal(late));
    early.iter().zip(&late).all(|(a, b)| a == b)
}

/// The characters that either pattern names, and one for all others.
fn alphabet(small: &[Piece], large: &[Piece]) -> BTreeSet<char> {
    let named = small.iter().chain(large).filter_map(|piece| match piece {
        Piece::Char(c) => Some(*c),
        Piece::Segment | Piece::Token | Piece::Tokens => None,
    });
    named.chain([MARK, OTHER, '/']).collect()
}

/// A subject that `pattern` matches, for a person.
pub(super) fn example(section: Section, pattern: &str) -> String {
    let separator = if section == Section::Bash { ' ' } else { '/' };
    let token = |token: &str| match token {
        "*" | "**" => "x".to_owned(),
        token => token.replace('*', ""),
    };
    let tokens: Vec<_> = pattern.split(separator).map(token).collect();
    tokens.join(&separator.to_string())
}

/// The steps of a command pattern, in which `*` inside an argument is `star`.
fn command(rule: &PatternRule, star: Piece) -> Option<Vec<Piece>> {
    let tokens: Vec<&str> = rule.pattern.split(' ').filter(|token| !token.is_empty()).collect();
    let last = tokens.len().checked_sub(1)?;
    let quoted = rule.pattern.contains(['"', '\'', '\\']);
    if quoted || rule.pattern.len() > MOST_CHARS || tokens.first()?.starts_with('*') {
        return None;
    }
    let mut pieces = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let star = if at == 0 { Piece::Segment } else { star };
        let open = at == last && token.ends_with('*');
        let stays = rule.action == Action::Allow && token.contains('/');
        match *token {
            "**" => pieces.push(Piece::Tokens),
            "*" if open => pieces.push(Piece::Tokens),
            token if token.contains("**") => return None,
            token if open && !stays => {
                let rest = if at == 0 { Piece::Segment } else { Piece::Token };
                pieces.extend(characters(token.trim_end_matches('*'), star));
                pieces.extend([rest, Piece::Char(MARK), Piece::Tokens]);
            }
            token => {
                let star = if open { Piece::Segment } else { star };
                pieces.extend(characters(token, star));
                pieces.push(Piece::Char(MARK));
            }
        }
    }
    Some(pieces)
}

/// The steps of a path pattern. `**` at its end needs at least one segment, elsewhere none.
fn path(pattern: &str) -> Option<Vec<Piece>> {
    let segments: Vec<&str> = pattern.split('/').collect();
    let last = segments.len().checked_sub(1)?;
    if pattern.len() > MOST_CHARS || segments.last()?.is_empty() {
        return None;
    }
    let mut pieces = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        match *segment {
            "**" if at == last => {
                pieces.extend([Piece::Segment, Piece::Char(MARK), Piece::Tokens]);
            }
            "**" => pieces.push(Piece::Tokens),
            "." | ".." => return None,
            segment if segment.contains("**") => return None,
            segment => {
                pieces.extend(characters(segment, Piece::Segment));
                pieces.push(Piece::Char(MARK));
            }
        }
    }
    Some(pieces)
}

fn characters(token: &str, star: Piece) -> impl Iterator<Item = Piece> {
    token.chars().map(move |c| if c == '*' { star } else { Piece::Char(c) })
}

/// What a path pattern starts from; patterns of different roots are never compared.
fn root(pattern: &str) -> &str {
    let first = pattern.split('/').next().unwrap_or("");
    if pattern.starts_with('/') {
        "/"
    } else if first.starts_with('~') {
        first
    } else {
        ""
    }
}

/// A place in a pattern: the piece that comes next, and whether it has begun to read a token.
type State = (usize, bool);

fn is_end(pieces: &[Piece], (at, begun): State) -> bool {
    at == pieces.len() && !begun
}

/// These states, and those that follow when a wildcard reads nothing more.
fn reached(pieces: &[Piece], states: impl IntoIterator<Item = State>) -> BTreeSet<State> {
    let mut out = BTreeSet::new();
    for (mut at, begun) in states {
        out.insert((at, begun));
        let skips = |at: usize| {
            matches!(pieces.get(at), Some(Piece::Segment | Piece::Token | Piece::Tokens))
        };
        while !begun && skips(at) {
            at += 1;
            out.insert((at, false));
        }
    }
    out
}

/// Where `state` leads by reading `c`.
fn step(pieces: &[Piece], (at, _): State, c: char) -> Option<State> {
    match *pieces.get(at)? {
        Piece::Char(wanted) => (wanted == c).then_some((at + 1, false)),
        Piece::Segment => (c != MARK && c != '/').then_some((at, false)),
        Piece::Token => (c != MARK).then_some((at, false)),
        Piece::Tokens => Some((at, c != MARK)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> PatternRule {
        text.parse().expect("a rule")
    }

    #[test]
    fn commands() {
        let cases = [
            ("git push*:ask", "git push --force*:deny", true),
            ("git push*:ask", "git push -f *:deny", true),
            ("git *:allow", "git push --force*:deny", true),
            ("ls *:allow", "ls:deny", true),
            ("ls *:allow", "lsof:deny", false),
            ("ls*:deny", "lsof -i:deny", true),
            ("ls*:deny", "ls/x:deny", false),
            ("*:allow", "rm -rf *:deny", true),
            ("**:allow", "rm -rf *:deny", true),
            ("git push --force*:deny", "git push*:ask", false),
            ("git ** --force:deny", "git push --force:deny", true),
            ("git ** --force:deny", "git --force:deny", true),
            ("git ** --force:deny", "git push --force-with-lease:deny", false),
            ("git ** --force*:deny", "git push origin --force-with-lease x:deny", true),
            ("cat src/*:allow", "cat src/a:deny", true),
            ("cat src/*:allow", "cat src/a/b:deny", false),
            ("cat src/*:deny", "cat src/a/b c:deny", true),
            ("npm run *:allow", "npm run test:unit:deny", true),
            ("npm run a*c:allow", "npm run abc:deny", true),
            ("npm run a*c:allow", "npm run ab/c:deny", false),
            ("npm run a*c:allow", "npm run a*:deny", false),
            ("git commit -m \"a b\":allow", "git commit -m \"a b\" x:deny", false),
            ("git push**:ask", "git push x:deny", false),
        ];
        for (early, late, expected) in cases {
            let found = Coverage::new().covers(Section::Bash, &rule(early), &rule(late));
            assert_eq!(found, expected, "{early} before {late}");
        }
    }

    #[test]
    fn paths_and_names() {
        let cases = [
            (Section::Edit, "src/**:allow", "src/a/b.rs:deny", true),
            (Section::Edit, "src/**:allow", "src:deny", false),
            (Section::Edit, "src/*:allow", "src/a/b:deny", false),
            (Section::Edit, "**/*.lock:deny", "Cargo.lock:allow", true),
            (Section::Edit, "**/*.lock:deny", "a/*/Cargo.lock:allow", true),
            (Section::Edit, "*.lock:deny", "a/Cargo.lock:allow", false),
            (Section::Edit, "**/*.env:deny", "~/x.env:allow", false),
            (Section::Edit, "~/p/**:allow", "~/p/q/**:deny", true),
            (Section::Edit, "/**:deny", "/tmp/**:allow", true),
            (Section::Edit, "/tmp/**:allow", "tmp/a:deny", false),
            (Section::Edit, "a/../**:allow", "a/b:deny", false),
            (Section::Mcp, "github/*:allow", "github/delete_repo:deny", true),
            (Section::Tool, "browser_*:allow", "browser_click:deny", true),
            (Section::Webfetch, "docs.rs:allow", "docs.rs/x:deny", false),
            (Section::Webfetch, "**:allow", "docs.rs/x:deny", true),
        ];
        for (section, early, late, expected) in cases {
            let found = Coverage::new().covers(section, &rule(early), &rule(late));
            assert_eq!(found, expected, "{early} before {late}");
        }
    }

    #[test]
    fn a_long_search_ends_without_an_answer() {
        let many = "a*".repeat(60);
        let (early, late) = (format!("x {many}b:allow"), format!("x {many}ab:deny"));
        let mut coverage = Coverage { steps_left: 1000 };
        assert!(!coverage.covers(Section::Bash, &rule(&early), &rule(&late)));
        assert_eq!(coverage.steps_left, 0);
    }

    #[test]
    fn examples() {
        let cases = [
            (Section::Bash, "git push --force*", "git push --force"),
            (Section::Bash, "rm -rf *", "rm -rf x"),
            (Section::Edit, "src/**/*.rs", "src/x/.rs"),
        ];
        for (section, pattern, expected) in cases {
            assert_eq!(example(section, pattern), expected, "{pattern}");
        }
    }
}
