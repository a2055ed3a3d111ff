//! Checks arithmetic expressions: the shell evaluates variables in them again, and subscripts can run
//! commands.

use super::assign::is_name;
use super::state::{ShellState, VariableValue};

/// Whether an expression contains only numbers, operators and variables that are known to be numbers.
pub(super) fn is_harmless(text: &str, state: &ShellState) -> bool {
    !assigns(text) && has_numbers_only(text, state)
}

/// Whether every name and expansion is a number, and a word of its own: `x$n` is another name.
fn has_numbers_only(text: &str, state: &ShellState) -> bool {
    const OPERATORS: &[u8] = b"+-*/%()<>=!&|^~?:, \t";
    let mut rest = text;
    let mut is_behind_word = false;
    while let Some(first) = rest.bytes().next() {
        if OPERATORS.contains(&first) {
            is_behind_word = false;
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let Some(after) = number(rest, state).filter(|_| !is_behind_word) else { return false };
        is_behind_word = true;
        rest = after;
    }
    true
}

/// Removes a number, or an expansion to a number, from the start.
fn number<'t>(text: &'t str, state: &ShellState) -> Option<&'t str> {
    let Some(expansion) = text.strip_prefix('$') else {
        let (word, rest) = word(text);
        return (!word.is_empty() && (is_number(word) || is_known(word, state))).then_some(rest);
    };
    if let Some(rest) = expansion.strip_prefix(['#', '?', '$']) {
        return Some(rest);
    }
    if let Some(inside) = expansion.strip_prefix('{') {
        let (inside, rest) = inside.split_once('}')?;
        let length = inside.strip_prefix('#');
        let is_length = length.is_some_and(|name| name.is_empty() || is_name(name));
        let is_counter = matches!(inside, "?" | "$");
        return (is_length || is_counter || is_known(inside, state)).then_some(rest);
    }
    let (word, rest) = word(expansion);
    is_known(word, state).then_some(rest)
}

/// Splits off the letters and digits at the start.
fn word(text: &str) -> (&str, &str) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.split_at(text.bytes().take_while(is_part).count())
}

/// Whether the expression assigns a variable; assignments are not tracked.
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

fn is_known(word: &str, state: &ShellState) -> bool {
    is_name(word) && state.variable(word).is_some_and(VariableValue::is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::CurrentDirs;

    #[test]
    fn arithmetic_with_commands_is_detected() {
        let mut state = ShellState::new(CurrentDirs::default());
        state.set("n", VariableValue::Text("3".to_owned()));
        state.set("x", VariableValue::Text("a[$(rm x)]".to_owned()));
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
            ("$# + $? - $$ * ${#}", true),
            ("${#n} + ${n}", true),
            ("$1", false),
            ("${1}", false),
            ("${10}", false),
            ("$*", false),
            ("$@", false),
            ("$-", false),
            ("${-}", false),
            ("$_", false),
            ("$!", false),
            ("n$n", false),
            ("n$?", false),
            ("$n$n", false),
            ("1$n", false),
            ("$?n", false),
            ("${n}n", false),
            ("${#n[x]}", false),
            ("${n:-x}", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_harmless(text, &state), expected, "{text}");
        }
    }
}
