//! Small checks and conversions of one text that several formats need.

/// Whether `name` can be the name of an environment variable.
pub(crate) fn is_variable(name: &str) -> bool {
    let sign = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(sign) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Joins the lines of `text` with single spaces; text without a line break stays as it is.
pub(crate) fn one_line(text: &str) -> String {
    if text.contains(['\n', '\r']) {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_names_are_recognised() {
        let cases = [("HOME", true), ("_x1", true), ("", false), ("1X", false), ("A-B", false)];
        for (name, expected) in cases {
            assert_eq!(is_variable(name), expected, "{name:?}");
        }
    }

    #[test]
    fn line_ends_are_joined_into_one_line() {
        let cases = [("a  b", "a  b"), ("a\n  b\r\n", "a b"), ("", ""), (" a ", " a ")];
        for (text, expected) in cases {
            assert_eq!(one_line(text), expected, "{text:?}");
        }
    }
}
