//! Patterns of the keys and tokens of well-known services.
//! Only unmistakable patterns are listed, so that prose never matches.

use std::ops::Range;

/// The pattern of one kind of token.
struct TokenShape {
    /// The name for messages.
    kind: &'static str,
    /// The text at its start.
    prefix: &'static str,
    /// The least number of characters after the prefix.
    least: usize,
    /// Characters that are allowed besides letters and digits.
    signs: &'static str,
}

impl TokenShape {
    fn starts(&self, text: &str) -> bool {
        // Comparing the first byte rules out nearly all shapes.
        text.as_bytes().first() == self.prefix.as_bytes().first() && text.starts_with(self.prefix)
    }
}

const fn shape(
    kind: &'static str,
    prefix: &'static str,
    least: usize,
    signs: &'static str,
) -> TokenShape {
    TokenShape { kind, prefix, least, signs }
}

/// Longer prefixes come before shorter ones that they start with.
const SHAPES: &[TokenShape] = &[
    shape("an Anthropic key", "sk-ant-", 24, "-_"),
    shape("an OpenAI key", "sk-", 24, "-_"),
    shape("a Stripe key", "sk_live_", 16, ""),
    shape("a Stripe key", "rk_live_", 16, ""),
    shape("an AWS access key", "AKIA", 16, ""),
    shape("an AWS access key", "ASIA", 16, ""),
    shape("a GitHub token", "github_pat_", 30, "_"),
    shape("a GitHub token", "ghp_", 30, ""),
    shape("a GitHub token", "gho_", 30, ""),
    shape("a GitHub token", "ghu_", 30, ""),
    shape("a GitHub token", "ghs_", 30, ""),
    shape("a GitHub token", "ghr_", 30, ""),
    shape("a GitLab token", "glpat-", 20, "-_"),
    shape("a Slack token", "xoxb-", 20, "-"),
    shape("a Slack token", "xoxa-", 20, "-"),
    shape("a Slack token", "xoxp-", 20, "-"),
    shape("a Slack token", "xoxr-", 20, "-"),
    shape("a Slack token", "xoxs-", 20, "-"),
    shape("a Google key", "AIza", 35, "-_"),
    shape("a Google access token", "ya29.", 30, "-_"),
    shape("a Hugging Face token", "hf_", 30, ""),
    shape("an npm token", "npm_", 36, ""),
    shape("a PyPI token", "pypi-", 60, "-_"),
    shape("a signed token (JWT)", "eyJ", 40, "-_."),
];

const KEY_OPENING: &str = "-----BEGIN ";
const KEY_CLOSING: &str = "PRIVATE KEY-----";
const KEY_END: &str = "-----END ";

/// The kind of a private key.
pub const PRIVATE_KEY: &str = "a private key";

/// The most bytes of a private key.
const LONGEST_KEY: usize = 20_000;

/// The least digits in one line of a private key.
const LEAST_KEY_LINE: usize = 16;

/// The class of a byte. Most of a text is skipped with one table lookup per byte.
#[derive(Clone, Copy)]
struct ByteClass {
    /// Whether a key or token may start with it.
    starts: bool,
    /// Whether it is an ASCII letter or digit.
    in_word: bool,
}

#[expect(clippy::indexing_slicing, reason = "evaluated when it is compiled")]
const CLASSES: [ByteClass; 256] = {
    let mut classes = [ByteClass { starts: false, in_word: false }; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize].in_word = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < SHAPES.len() {
        classes[SHAPES[at].prefix.as_bytes()[0] as usize].starts = true;
        at += 1;
    }
    classes[KEY_OPENING.as_bytes()[0] as usize].starts = true;
    classes
};

/// The possible second bytes of keys and tokens by their first, as a bit set. Two bytes exclude most words.
#[expect(clippy::indexing_slicing, reason = "evaluated when it is compiled")]
const SECONDS: [u128; 256] = {
    let mut seconds = [0; 256];
    let mut at = 0;
    while at < SHAPES.len() {
        let prefix = SHAPES[at].prefix.as_bytes();
        seconds[prefix[0] as usize] |= 1 << prefix[1];
        at += 1;
    }
    let opening = KEY_OPENING.as_bytes();
    seconds[opening[0] as usize] |= 1 << opening[1];
    seconds
};

/// The least characters after a prefix that make a value suspicious where no prose is expected.
const LEAST_OF_A_VALUE: usize = 12;

/// Reports whether a value starts like the token of a well-known service. In prose that is not
/// enough; see [`find`].
pub fn starts_as_token(value: &str) -> bool {
    let is_longer = |prefix: &str| value.len() >= prefix.len() + LEAST_OF_A_VALUE;
    SHAPES.iter().any(|shape| shape.starts(value) && is_longer(shape.prefix))
}

/// Returns every key or token in `text`, with its kind and range. The first line of a private key counts only
/// with the key itself.
pub fn find(text: &str) -> Vec<(&'static str, Range<usize>)> {
    let whole = |(kind, range): (&'static str, Range<usize>)| {
        if kind != PRIVATE_KEY {
            return Some((kind, range));
        }
        let rest = key_body(text.get(range.end..)?)?;
        Some((kind, range.start..range.end + rest))
    };
    find_started(text).into_iter().filter_map(whole).collect()
}

/// Returns every key or token that starts in `text`. Of a private key it returns the first line, whatever
/// follows.
#[expect(clippy::indexing_slicing, reason = "the table has a row for every byte")]
pub fn find_started(text: &str) -> Vec<(&'static str, Range<usize>)> {
    let mut found = Vec::new();
    let mut end = 0;
    let mut in_word = false;
    for (start, byte) in text.bytes().enumerate() {
        let class = CLASSES[usize::from(byte)];
        let may_start = class.starts && !in_word;
        in_word = class.in_word;
        if !may_start || !goes_on(text.as_bytes(), start) {
            continue;
        }
        // The slower test with a `char` comes after the two table lookups.
        if start < end || !starts_word(text, start) {
            continue;
        }
        let rest = text.get(start..).unwrap_or("");
        if let Some((kind, len)) = private_key(rest).or_else(|| token(rest)) {
            end = start + len;
            found.push((kind, start..end));
        }
    }
    found
}

/// Reports whether the byte after `start` may be the second of a key or token.
#[expect(clippy::indexing_slicing, reason = "the table has a row for every byte")]
fn goes_on(text: &[u8], start: usize) -> bool {
    match (text.get(start), text.get(start + 1)) {
        (Some(first), Some(second)) => {
            second.is_ascii() && SECONDS[usize::from(*first)] >> second & 1 == 1
        }
        _ => false,
    }
}

/// Reports whether a token may start here. Inside a word it may not, so no text is read twice.
fn starts_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    !before.is_some_and(|c| c.is_alphanumeric() || "_-.".contains(c))
}

fn private_key(rest: &str) -> Option<(&'static str, usize)> {
    let line = rest.strip_prefix(KEY_OPENING)?.lines().next()?;
    let at = line.find(KEY_CLOSING)?;
    Some((PRIVATE_KEY, KEY_OPENING.len() + at + KEY_CLOSING.len()))
}

/// Returns the length of a key after its first line: up to its last line, or up to the end of its digits if
/// the last line is missing. `None` if no key follows.
fn key_body(rest: &str) -> Option<usize> {
    let end = rest.find(KEY_END).filter(|end| *end < LONGEST_KEY);
    let last = end.and_then(|end| {
        let line = rest.get(end..)?.lines().next()?;
        Some(end + line.find(KEY_CLOSING)? + KEY_CLOSING.len())
    });
    let body = rest.get(..end.unwrap_or(rest.len()).min(LONGEST_KEY))?;
    // A key in a string has its line ends as `\n`.
    let is_digit = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let mut digits_end = None;
    let mut start = 0;
    for run in body.split(|c: char| !is_digit(c)) {
        let digits = run.strip_prefix(['n', 'r']).unwrap_or(run);
        if digits.len() >= LEAST_KEY_LINE && is_random(digits) {
            digits_end = Some(start + run.len());
        }
        // Every separator is one character; its length follows from the text.
        start += run.len();
        start += body.get(start..).and_then(|it| it.chars().next()).map_or(0, char::len_utf8);
    }
    digits_end.map(|digits| last.unwrap_or(digits))
}

fn token(rest: &str) -> Option<(&'static str, usize)> {
    let TokenShape { kind, prefix, least, signs } =
        SHAPES.iter().find(|shape| shape.starts(rest))?;
    let body = rest.strip_prefix(prefix)?;
    let len = body.find(|c: char| !c.is_ascii_alphanumeric() && !signs.contains(c));
    let body = body.get(..len.unwrap_or(body.len()))?.trim_end_matches(['.', '-', '_']);
    // A JWT has three parts, of which the first two are encoded JSON and start with `eyJ`.
    let is_jwt = *prefix != "eyJ" || (body.split('.').count() == 3 && body.contains(".eyJ"));
    let fits = body.len() >= *least && is_random(body) && is_jwt;
    fits.then_some((*kind, prefix.len() + body.len()))
}

/// Reports whether a text looks random: digits and letters mixed, and no placeholder.
fn is_random(body: &str) -> bool {
    let digits = body.chars().filter(char::is_ascii_digit).count();
    let letters = body.chars().filter(char::is_ascii_alphabetic).count();
    let mut distinct: Vec<char> = body.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let placeholder = ["example", "your", "xxxx", "placeholder", "redacted"];
    let lower = body.to_lowercase();
    digits >= 2
        && letters >= 2
        && distinct.len() >= 8
        && !placeholder.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

    #[test]
    fn well_known_tokens_are_recognised() {
        let cases = [
            (format!("sk-ant-{BODY}"), Some("an Anthropic key")),
            (format!("key=sk-proj-{BODY}."), Some("an OpenAI key")),
            (format!("use ghp_{BODY} for"), Some("a GitHub token")),
            (format!("AKIA{}", "Q3EGRIVW2K7PZXLM"), Some("an AWS access key")),
            (format!("AKIA{}", "IOSFODNN7EXAMPLE"), None),
            (format!("{KEY_OPENING}RSA {KEY_CLOSING}\n{BODY}\n"), Some("a private key")),
            (format!("{KEY_OPENING}{KEY_CLOSING}\\n{BODY}\\n"), Some("a private key")),
            (format!("{KEY_OPENING}RSA {KEY_CLOSING}"), None),
            (format!("grep '{KEY_OPENING}{KEY_CLOSING}' for keys in the 16 files here"), None),
            (format!("{KEY_OPENING}{KEY_CLOSING} to {KEY_END}{KEY_CLOSING}"), None),
            (format!("{KEY_OPENING}PUBLIC KEY-----"), None),
            (format!("eyJ{BODY}.eyJ{BODY}.{BODY}"), Some("a signed token (JWT)")),
            (format!("eyJ{BODY}"), None),
            ("sk-learn-is-a-library-for-machines".to_owned(), None),
            ("sk-your-key-goes-here-1234567890".to_owned(), None),
            (format!("sk-{}", "0".repeat(40)), None),
            (format!("task-{BODY}"), None),
            (format!("ya29.{BODY}"), Some("a Google access token")),
            (format!("pypi-{BODY}{BODY}"), Some("a PyPI token")),
            ("pypi-publish and ya29.example".to_owned(), None),
            ("ghp_short1".to_owned(), None),
        ];
        for (text, expected) in cases {
            let found = find(&text);
            assert_eq!(found.first().map(|(kind, _)| *kind), expected, "{text}");
        }
    }

    #[test]
    fn a_private_key_is_found_with_all_its_lines() {
        let key = format!("{KEY_OPENING}{KEY_CLOSING}\n{BODY}\n{BODY}==\n{KEY_END}{KEY_CLOSING}");
        let cut = format!("{KEY_OPENING}{KEY_CLOSING}\n{BODY}");
        for text in [format!("x {key} y"), format!("x {cut}\nand so on"), format!("x {cut}")] {
            let secret = if text.contains(KEY_END) { &key } else { &cut };
            let found = find(&text);
            let found: Vec<&str> =
                found.iter().filter_map(|(_, range)| text.get(range.clone())).collect();
            assert_eq!(found, [secret.as_str()], "{text}");
        }
        assert_eq!(find_started(&format!("{KEY_OPENING}{KEY_CLOSING}")).len(), 1);
    }

    #[test]
    fn token_prefixes_suffice_in_values() {
        let cases = [
            ("ghr_a1B2c3D4e5F6", true),
            ("pypi-a1B2c3D4e5F6", true),
            ("ghr_a1B2c3D4e5F", false),
            ("a ghr_a1B2c3D4e5F6", false),
        ];
        for (value, expected) in cases {
            assert_eq!(starts_as_token(value), expected, "{value}");
        }
    }

    #[test]
    fn the_range_of_a_token_is_exact() {
        let text = format!("use ghp_{BODY}, please");
        let range = find(&text).first().map(|(_, range)| range.clone());
        assert_eq!(range, Some(4..8 + BODY.len()));
    }
}
