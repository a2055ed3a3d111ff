//! Converts wildcards to the regular expressions of Gemini's rules, and back.
//!
//! `git log*` matches a text that starts with it, `ls *` matches `ls` or `ls` with a space, and `git * main`
//! must match to the end. An allow must not match past the end of the command into other arguments, so its
//! wildcard excludes quotes. The wildcards of other verdicts may match anything.

use agentry_policy::Action;

use crate::model::escape;

/// The longest expression that Gemini accepts, including the prefix that it adds.
const LONGEST: usize = 2_000;
/// The wildcard of an allow.
const INSIDE: &str = "[^\"]*";
/// The wildcard of an ask or a deny.
const ACROSS: &str = r"[\s\S]*";
/// The end of the text, or a space.
const END_OR_SPACE: &str = "[ \"]";

/// Converts wildcards to an expression; `None` if it would be too long for Gemini.
pub(super) fn write(pattern: &str, action: Action) -> Option<String> {
    let wildcard = if action == Action::Allow { INSIDE } else { ACROSS };
    let (head, end) = if pattern == "*" {
        ("*", "")
    } else if let Some(head) = pattern.strip_suffix(" *") {
        (head, END_OR_SPACE)
    } else if let Some(head) = pattern.strip_suffix('*') {
        (head, "")
    } else {
        (pattern, "\"")
    };
    let each = |c: char| match c {
        '*' => wildcard.to_owned(),
        ' ' => " ".to_owned(),
        c => escape(c.encode_utf8(&mut [0; 4])),
    };
    let text: String = head.chars().map(each).chain([end.to_owned()]).collect();
    (text.len() <= LONGEST).then_some(text)
}

/// Converts an expression that [`write()`] made back to wildcards; `None` for any other.
pub(super) fn read(regex: &str) -> Option<String> {
    let (middle, end) = if let Some(head) = regex.strip_suffix(END_OR_SPACE) {
        (head, " *")
    } else if regex.ends_with(INSIDE) || regex.ends_with(ACROSS) {
        (regex, "")
    } else if let Some(head) = regex.strip_suffix('"') {
        (head, "")
    } else {
        (regex, "*")
    };
    let mut out = String::new();
    let mut rest = middle;
    while !rest.is_empty() {
        let wildcard = [INSIDE, ACROSS].into_iter().find_map(|it| rest.strip_prefix(it));
        if let Some(after) = wildcard {
            out.push('*');
            rest = after;
            continue;
        }
        let mut chars = rest.chars();
        match (chars.next()?, chars.clone().next()) {
            ('\\', Some(c)) if c.is_ascii_punctuation() => {
                out.push(c);
                chars.next();
            }
            (c, _) if c.is_ascii_punctuation() && !matches!(c, '_' | '<' | '>') => return None,
            (c, _) => out.push(c),
        }
        rest = chars.as_str();
    }
    Some(out + end)
}

/// The wildcard inside one part of a name: for an allow, and for other verdicts.
const PARTS: [&str; 2] = ["[^\"/]*", "[^/]*"];

/// Converts a pattern about names to an expression, in which `*` stays inside one part; `None` if it would be
/// too long for Gemini.
pub(super) fn write_name(pattern: &str, action: Action) -> Option<String> {
    let [part, all] = if action == Action::Allow { [PARTS[0], INSIDE] } else { [PARTS[1], ACROSS] };
    let pieces = pattern.split("**").map(|piece| {
        let parts: Vec<String> = piece.split('*').map(escape).collect();
        parts.join(part)
    });
    let text = pieces.collect::<Vec<_>>().join(all) + "\"";
    (text.len() <= LONGEST).then_some(text)
}

/// Converts an expression that [`write_name`] made back to a pattern; `None` for any other.
pub(super) fn read_name(regex: &str) -> Option<String> {
    let [mine, others] = PARTS;
    // Control characters stand for wildcards while the rest of the text is checked.
    let plain = regex.replace(mine, "\0").replace(others, "\0").replace(['\u{1}'], "");
    let plain = plain.replace(INSIDE, "\u{1}").replace(ACROSS, "\u{1}");
    let mut out = String::new();
    let mut chars = plain.strip_suffix('"')?.chars();
    while let Some(c) = chars.next() {
        match c {
            '\0' => out.push('*'),
            '\u{1}' => out.push_str("**"),
            '\\' => out.push(chars.next().filter(char::is_ascii_punctuation)?),
            c if c.is_ascii_punctuation() && !matches!(c, '_' | '<' | '>') => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_convert_to_regex_and_back() {
        let cases = [
            ("git log*", Action::Allow, "git log"),
            ("ls *", Action::Deny, "ls[ \"]"),
            ("make", Action::Allow, "make\""),
            ("git * main", Action::Allow, "git [^\"]* main\""),
            ("git * main", Action::Deny, r#"git [\s\S]* main""#),
            ("npm run a:b", Action::Ask, r#"npm run a\:b""#),
            ("a.b+c_d", Action::Ask, r#"a\.b\+c_d""#),
            ("*", Action::Ask, r"[\s\S]*"),
        ];
        for (pattern, action, expected) in cases {
            let regex = write(pattern, action).expect("short");
            assert_eq!(regex, expected, "{pattern}");
            assert_eq!(read(&regex).as_deref(), Some(pattern), "{pattern}");
        }
        let names = [
            ("pdf", Action::Deny, "pdf\""),
            ("git-*", Action::Allow, "git\\-[^\"/]*\""),
            ("git-*", Action::Ask, "git\\-[^/]*\""),
            ("a b/** c", Action::Ask, r#"a b\/[\s\S]* c""#),
        ];
        for (pattern, action, expected) in names {
            let regex = write_name(pattern, action).expect("short");
            assert_eq!(regex, expected, "{pattern}");
            assert_eq!(read_name(&regex).as_deref(), Some(pattern), "{pattern}");
        }
        assert_eq!(write(&"x".repeat(3_000), Action::Ask), None);
        for foreign in ["^git", "(?:a|b)", "a+", "[a-z]", "a|b", "\\s"] {
            assert_eq!(read(foreign), None, "{foreign}");
        }
    }
}
