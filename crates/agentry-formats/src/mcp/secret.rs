//! Values that do not belong in a file: literal secrets, and references that only other tools expand.
//! A finding never repeats the value.

use agentry_text::{Findings, Fix, Spanned, credentials};

use super::rules::{FOREIGN_VARIABLE, LITERAL_SECRET};
use crate::text_checks::is_variable;

/// Words in a key that announce a secret.
const SECRET_WORDS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "authorization",
    "auth",
    "credential",
    "credentials",
    "bearer",
    "pat",
    "cookie",
];
/// Words that make a key with `key` announce a secret: `API_KEY`, `ACCESS_KEY`.
const KEY_WORDS: &[&str] = &["api", "access", "private", "signing", "encryption", "service"];

/// Whether `text` is exactly one reference to a variable: `${env:NAME}`.
pub fn is_reference(text: &str) -> bool {
    let name = text.strip_prefix("${env:").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(is_variable)
}

/// Whether the value of `key` looks like a literal secret.
pub fn looks_secret(key: &str, value: &str) -> bool {
    let value = value.trim();
    // A reference to a variable is not a secret, in whatever syntax.
    if value.is_empty() || value.contains("${") || value.starts_with('$') {
        return false;
    }
    let bare = ["Bearer ", "bearer ", "Basic ", "token "]
        .iter()
        .find_map(|scheme| value.strip_prefix(scheme))
        .unwrap_or(value);
    credentials::starts_as_token(bare) || (promises_secret(key) && is_opaque(bare))
}

/// Reports a literal secret, or a reference of another tool, in the value of `key`.
pub(super) fn check(key: &str, value: &Spanned<String>, findings: &mut Findings) {
    if looks_secret(key, value) {
        findings
            .add(&LITERAL_SECRET, value.span, format!("`{key}` looks like a secret written out"))
            .secret()
            .hint("keep it in an environment variable and write `${env:NAME}`");
    }
    variables(value, findings);
}

/// Reports references such as `${NAME}`, which reach the server unexpanded.
pub(super) fn variables(value: &Spanned<String>, findings: &mut Findings) {
    for part in value.split("${").skip(1) {
        let Some((inside, _)) = part.split_once('}') else { continue };
        if inside.strip_prefix("env:").is_some_and(is_variable) {
            continue;
        }
        let message = format!("`${{{inside}}}` is not expanded");
        let found = findings.add(&FOREIGN_VARIABLE, value.span, message);
        found.hint("write `${env:NAME}`");
        // Only a value that is one whole reference gets a fix: its span is exactly the text to replace.
        if is_variable(inside) && *value.value == format!("${{{inside}}}") {
            let text = format!("\"${{env:{inside}}}\"");
            found.fix(Fix::unsafe_(format!("write `${{env:{inside}}}`"), value.span, text));
        }
    }
}

fn promises_secret(key: &str) -> bool {
    let words = words(key);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    has(SECRET_WORDS) || (words.iter().any(|word| word == "key") && has(KEY_WORDS))
}

/// Splits a key into lower-case words, in any spelling: `apiKey`, `API_KEY`, `x-api-key`.
fn words(key: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![String::new()];
    let mut last_lower = false;
    for c in key.chars() {
        // `apiKey` splits before `K`, but `API_KEY` does not split between capitals.
        let starts = c.is_ascii_uppercase() && last_lower;
        if (starts || !c.is_alphanumeric()) && out.last().is_some_and(|word| !word.is_empty()) {
            out.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), out.last_mut()) {
            word.extend(c.to_lowercase());
        }
        last_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    out
}

/// Whether a text could be a secret: one long word that is not a path, address or placeholder.
fn is_opaque(text: &str) -> bool {
    let long = text.len() >= 8 && !text.contains(char::is_whitespace);
    let place = text.contains("://") || text.starts_with(['/', '.', '~', '<', '{']);
    long && !place
}
