//! Arithmetic evaluates its variables again, and their subscripts can run commands.

use super::state::{State, Value};

/// Whether an expression contains only numbers, operators and variables that are known numbers.
pub(super) fn is_harmless(text: &str, state: &State) -> bool {
    let allowed = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '+' | '-' | '*' | '/' | '%' | '(' | ')' | '<' | '>' | '=' | '!')
            || matches!(c, '&' | '|' | '^' | '~' | '?' | ':' | ' ' | '\t' | ',' | '$' | '{' | '}')
    };
    if !text.chars().all(allowed) || text.contains("$(") || assigns(text) {
        return false;
    }
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty()).all(|word| is_number(word) || is_known(word, state))
}

/// An assignment changes what is known; it is not followed.
fn assigns(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_assignment = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let compares = matches!(before, Some(b'=' | b'!' | b'<' | b'>'));
        !compares && bytes.get(at + 1) != Some(&b'=')
    };
    let has = bytes.iter().enumerate().any(|(at, byte)| *byte == b'=' && is_assignment(at));
    has || text.contains("++")
        || text.contains("--")
        || text.contains("<<=")
        || text.contains(">>=")
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
        || word
            .strip_prefix("0x")
            .is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_known(word: &str, state: &State) -> bool {
    match state.variable(word) {
        Some(Value::Text(text)) => !text.is_empty() && text.len() < 20 && is_number(text),
        Some(Value::Number) => true,
        Some(Value::Unknown) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::Bases;

    #[test]
    fn expressions() {
        let mut state = State::new(Bases::default());
        state.set("n", Value::Text("3".to_owned()));
        state.set("x", Value::Text("a[$(rm x)]".to_owned()));
        let cases = [
            ("1 + 2 * (3)", true),
            ("n + 1", true),
            ("$n << 2", true),
            ("n == 3 ? 1 : 0", true),
            ("0x1f", true),
            ("i + 1", false),
            ("x", false),
            ("n = 4", false),
            ("n++", false),
            ("n <<= 1", false),
            ("a[1]", false),
            ("$(rm x)", false),
            ("`rm x`", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_harmless(text, &state), expected, "{text}");
        }
    }
}
