//! Detects text that bash and other shells parse differently.
//!
//! `sh` is dash on one machine and bash on another. A text for it is understood only if all shells parse it
//! alike: `[[ a > b ]]` is a test in bash, and a command that writes `b` in dash.

/// Words that are keywords or builtins in some shells only.
const WORDS: &[&str] = &[
    "[[",
    "function",
    "select",
    "coproc",
    "declare",
    "typeset",
    "mapfile",
    "readarray",
    "pushd",
    "popd",
    "builtin",
    "source",
    "let",
    "shopt",
    "enable",
    "logout",
    "time",
];
/// Builtins whose arguments some shells split.
const SPLITTING: &[&str] = &["export", "readonly", "local"];
/// Operators and quotes that some shells do not have.
const MARKS: &[&str] =
    &["$'", "$\"", "+=", "<<<", "<(", ">(", "|&", "&>", ";&", ";;&", "~+", "~-", "$["];

/// Returns why some shell may parse `text` differently from bash, or `None` if all agree.
pub(super) fn foreign(text: &str) -> Option<&'static str> {
    const WHY: &str = "shells differ in how they read it";
    let bare = bare(text);
    let bare = bare.as_deref().unwrap_or(text);
    let words = || bare.split(|c: char| c.is_whitespace() || ";&|(){}`".contains(c));
    let expands = bare.contains(['$', '`']);
    let is_odd = MARKS.iter().any(|mark| bare.contains(mark))
        || bare.replace("$((", "").contains("((")
        || words().any(|word| WORDS.contains(&word))
        || (expands && words().any(|word| SPLITTING.contains(&word)))
        || has_braces(bare)
        || has_long_descriptor(bare);
    is_odd.then_some(WHY)
}

/// Returns the text without its quoted parts; `None` if that needs a real parser.
fn bare(text: &str) -> Option<String> {
    if text.contains("<<") || text.contains(['#', '`']) {
        return None;
    }
    let mut bare = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
                bare.push('_');
            }
            '\'' => {
                chars.by_ref().find(|c| *c == '\'')?;
                bare.push_str("''");
            }
            '"' => {
                skip_double(&mut chars)?;
                bare.push_str("\"\"");
            }
            c => bare.push(c),
        }
    }
    Some(bare)
}

/// Skips to the end of double quotes; `None` if something is nested inside.
fn skip_double(chars: &mut std::str::Chars<'_>) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' => drop(chars.next()),
            '$' if chars.as_str().starts_with(['(', '{', '[']) => return None,
            _ => {}
        }
    }
}

/// Finds `{a,b}` and `{1..3}`, which some shells read as text, and `{name}` before a redirection.
fn has_braces(bare: &str) -> bool {
    let mut before = ' ';
    let mut chars = bare.chars();
    while let Some(c) = chars.next() {
        let next = chars.as_str().chars().next();
        let opens = c == '{' && before != '$';
        if opens && next.is_some_and(|next| !next.is_whitespace() && next != '}') {
            return true;
        }
        before = c;
    }
    false
}

/// Finds `10> file`: some shells accept only descriptors of one digit.
fn has_long_descriptor(bare: &str) -> bool {
    let bytes = bare.as_bytes();
    bytes.windows(3).any(|three| match three {
        [first, second, operator] => {
            first.is_ascii_digit() && second.is_ascii_digit() && b"<>".contains(operator)
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_parsed_differently_by_shells_are_detected() {
        let cases = [
            ("git log -5 | head", false),
            ("grep 'foo$' x && grep \"foo$\" x", false),
            ("for x in a b; do ls \"$x\"; done 2>&1", false),
            ("f() { ls; }; f", false),
            ("find . -exec ls {} \\;", false),
            ("echo '[[' \"{a,b}\" 'function'", false),
            ("echo $((1 + 1))", false),
            ("ls ${x:-a}", false),
            ("echo $'a'", true),
            ("echo $\"a\"", true),
            ("[[ a > b ]]", true),
            ("function f { ls; }", true),
            ("ls {a,b}", true),
            ("x+=1", true),
            ("ls &> x", true),
            ("ls 10> x", true),
            ("ls {x}> y", true),
            ("declare x=1", true),
            ("export x=$y", true),
            ("((x > y))", true),
            ("cat <<E\n'\nE\necho $'a'", true),
            ("echo \"${x:-\"a\"}\" $'b'", true),
            ("ls # don't\necho $'b'", true),
        ];
        for (text, expected) in cases {
            assert_eq!(foreign(text).is_some(), expected, "{text}");
        }
    }
}
