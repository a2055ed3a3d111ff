//! Titles in the form in which they are compared: a character that looks like a letter is replaced
//! by that letter.

/// Letters of other scripts that look like Latin ones, after lower case.
const LOOK_ALIKES: &[(char, char)] = &[
    ('а', 'a'),
    ('ɑ', 'a'),
    ('α', 'a'),
    ('ь', 'b'),
    ('с', 'c'),
    ('ϲ', 'c'),
    ('ԁ', 'd'),
    ('ɗ', 'd'),
    ('е', 'e'),
    ('ё', 'e'),
    ('ε', 'e'),
    ('є', 'e'),
    ('һ', 'h'),
    ('і', 'i'),
    ('ı', 'i'),
    ('ι', 'i'),
    ('ј', 'j'),
    ('κ', 'k'),
    ('к', 'k'),
    ('ӏ', 'l'),
    ('ⅼ', 'l'),
    ('м', 'm'),
    ('ⅿ', 'm'),
    ('ո', 'n'),
    ('ո', 'n'),
    ('п', 'n'),
    ('η', 'n'),
    ('ν', 'v'),
    ('ѵ', 'v'),
    ('ⅴ', 'v'),
    ('о', 'o'),
    ('ο', 'o'),
    ('օ', 'o'),
    ('ᴏ', 'o'),
    ('σ', 'o'),
    ('р', 'p'),
    ('ρ', 'p'),
    ('г', 'r'),
    ('ѕ', 's'),
    ('ꜱ', 's'),
    ('т', 't'),
    ('τ', 't'),
    ('υ', 'u'),
    ('ս', 'u'),
    ('ц', 'u'),
    ('м', 'm'),
    ('ԝ', 'w'),
    ('х', 'x'),
    ('у', 'y'),
    ('ᴠ', 'v'),
    ('ᴇ', 'e'),
    ('ʀ', 'r'),
    ('ɴ', 'n'),
    ('ᴅ', 'd'),
    ('ᴍ', 'm'),
    ('ᴜ', 'u'),
    ('ᴛ', 't'),
];

/// The words of a title in lower case with one space between them. Look-alike letters are Latin, marks and signs are gone.
pub(super) fn folded(title: &str) -> String {
    let mut words = String::new();
    for letter in title.chars().filter_map(plain).flat_map(char::to_lowercase).map(latin) {
        if letter.is_alphanumeric() {
            words.push(letter);
        } else if !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
    }
    words.trim_end().to_owned()
}

/// A letter without its width and style; `None` for what only decorates the letter before.
fn plain(letter: char) -> Option<char> {
    let code = u32::from(letter);
    let ascii = |from: u32, to: char| char::from_u32(u32::from(to) + from);
    match code {
        // Combining marks, zero-width characters and variation selectors.
        0x300..=0x36f
        | 0x200b..=0x200f
        | 0x2060..=0x206f
        | 0xfe00..=0xfe0f
        | 0xad
        | 0x1ab0..=0x1aff
        | 0x20d0..=0x20ff => None,
        // Full width.
        0xff01..=0xff5e => ascii(code - 0xff01, '!'),
        // Circled and parenthesised letters.
        0x24b6..=0x24cf => ascii(code - 0x24b6, 'a'),
        0x24d0..=0x24e9 => ascii(code - 0x24d0, 'a'),
        // Mathematical letters: alphabets of 26 upper-case and 26 lower-case letters, then digits.
        0x1d400..=0x1d6a3 => ascii((code - 0x1d400) % 26, 'a'),
        0x1d7ce..=0x1d7ff => ascii((code - 0x1d7ce) % 10, '0'),
        0x1f130..=0x1f149 => ascii(code - 0x1f130, 'a'),
        _ => Some(without_accent(letter)),
    }
}

fn latin(letter: char) -> char {
    LOOK_ALIKES.iter().find(|(other, _)| *other == letter).map_or(letter, |(_, latin)| *latin)
}

/// A Latin letter without its accent.
fn without_accent(letter: char) -> char {
    match letter {
        'à'..='å' | 'À'..='Å' | 'ā' | 'ă' | 'ą' => 'a',
        'è'..='ë' | 'È'..='Ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' | 'Ē' | 'Ě' | 'ẽ' => 'e',
        'ò'..='ö' | 'ø' | 'Ò'..='Ö' | 'Ø' | 'ō' | 'ő' => 'o',
        'ù'..='ü' | 'Ù'..='Ü' | 'ū' | 'ů' => 'u',
        'ñ' | 'Ñ' | 'ń' | 'ň' => 'n',
        'ŕ' | 'ř' => 'r',
        'ď' | 'đ' => 'd',
        'ṽ' | 'ṿ' => 'v',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alike_titles_fold_to_the_same_text() {
        let never = [
            "Never Do",
            "NEVER  do:",
            "Nеvеr Dо",
            "Ｎｅｖｅｒ　Ｄｏ",
            "𝐍𝐞𝐯𝐞𝐫 𝐃𝐨",
            "Nev\u{200b}er D\u{301}o",
            "🚫 Never — Do!",
            "Ⓝⓔⓥⓔⓡ ⓓⓞ",
            "Nëver Dö",
        ];
        for title in never {
            assert_eq!(folded(title), "never do", "{title}");
        }
        assert_eq!(folded("L0 — 核心身份"), "l0 核心身份");
        assert_eq!(folded("Ｌ０"), "l0");
        assert_eq!(folded(" "), "");
    }
}
