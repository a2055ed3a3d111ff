//! The signs of the screen in ASCII, for a locale without UTF-8.

/// Whether the locale names another character set than UTF-8. Where there is no locale, as in most containers, the
/// terminal is taken to know UTF-8.
pub(in crate::command::run) fn needs_plain_signs(
    variable: &dyn Fn(&str) -> Option<String>,
) -> bool {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    let locale = locale.map(|locale| locale.to_lowercase().replace('-', ""));
    locale.is_some_and(|locale| !locale.contains("utf8"))
}

/// The text with signs of ASCII that take as many columns. Text of other scripts stays.
pub(in crate::command::run) fn with_plain_signs(text: &str) -> String {
    text.chars().map(plain_sign).collect()
}

const fn plain_sign(char: char) -> char {
    // The signs of Braille are the frames of the sign of life.
    match char {
        '✓' | '┼' => '+',
        '✗' => 'x',
        '›' | '❯' => '>',
        '█' => '_',
        '·' | '−' | '–' | '—' | '─' | '⠹' | '⠦' | '⠇' => '-',
        '…' => '~',
        '▎' | '│' | '⠋' | '⠼' | '⠏' => '|',
        '•' => '*',
        '⋮' => ':',
        '⏎' | '⠸' | '⠧' => '\\',
        '↑' => '^',
        '↓' => 'v',
        '⠙' | '⠴' => '/',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_plain_where_the_locale_is() {
        let cases = [
            (vec![], false),
            (vec![("LANG", "")], false),
            (vec![("LANG", "C")], true),
            (vec![("LANG", "C.UTF-8")], false),
            (vec![("LANG", "en_US.utf8")], false),
            (vec![("LANG", "de_DE.ISO-8859-1")], true),
            (vec![("LANG", "C"), ("LC_CTYPE", "en_US.UTF-8")], false),
            (vec![("LANG", "en_US.UTF-8"), ("LC_ALL", "POSIX")], true),
        ];
        for (set, expected) in cases {
            let variable = |name: &str| {
                set.iter().find(|it| it.0 == name).map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(needs_plain_signs(&variable), expected, "{set:?}");
        }
        assert_eq!(with_plain_signs("✓ a · b… 日本 ❯█"), "+ a - b~ 日本 >_");
    }
}
