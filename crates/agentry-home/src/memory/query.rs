//! Words: how texts are split for the index, and how a query becomes an expression of FTS5. A query has no syntax: each of
//! its words is quoted.

/// The most words of a query; the others are ignored.
const MOST_WORDS: usize = 32;
/// The longest word of a query, in bytes. A longer one is no word of a language.
const MOST_OF_WORD: usize = 128;
/// The longest part of a query that is used, in bytes.
const MOST_OF_QUERY: usize = 64 * 1024;

/// A text as the index gets it: words with single spaces between them. Scripts that are written without spaces become
/// single characters.
pub(super) fn indexed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for run in runs(text) {
        match run {
            WordRun::Word(word) => {
                out.push_str(word);
                out.push(' ');
            }
            WordRun::Characters(characters) => {
                for character in characters.chars() {
                    out.push(character);
                    out.push(' ');
                }
            }
        }
    }
    out
}

/// The quoted words of a query, without repetitions. A run of characters without spaces becomes pairs, which also match
/// where the run as a whole does not.
pub(super) fn terms(query: &str) -> Vec<String> {
    let mut end = query.len().min(MOST_OF_QUERY);
    while !query.is_char_boundary(end) {
        end -= 1;
    }
    let mut terms: Vec<String> = Vec::new();
    let mut add = |term: String| {
        if terms.len() < MOST_WORDS && term.len() <= MOST_OF_WORD && !terms.contains(&term) {
            terms.push(term);
        }
    };
    for run in runs(query.get(..end).unwrap_or_default()) {
        match run {
            WordRun::Word(word) => add(format!("\"{}\"", word.to_lowercase())),
            WordRun::Characters(characters) => {
                let characters: Vec<char> = characters.chars().take(MOST_WORDS + 1).collect();
                match characters.as_slice() {
                    [one] => add(format!("\"{one}\"")),
                    more => more.windows(2).for_each(|pair| {
                        let pair: Vec<String> = pair.iter().map(char::to_string).collect();
                        add(format!("\"{}\"", pair.join(" ")));
                    }),
                }
            }
        }
    }
    terms
}

/// A part of a text: a word, or characters of a script without spaces.
enum WordRun<'a> {
    Word(&'a str),
    Characters(&'a str),
}

/// The words of a text; everything that is neither a letter nor a digit separates them.
fn runs(text: &str) -> impl Iterator<Item = WordRun<'_>> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.flat_map(|word| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let is_spaceless = is_spaceless(first);
            let end = rest.find(|c| self::is_spaceless(c) != is_spaceless).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            rest = after;
            Some(if is_spaceless { WordRun::Characters(run) } else { WordRun::Word(run) })
        })
    })
}

/// Whether a character belongs to a script that is written without spaces between words.
fn is_spaceless(character: char) -> bool {
    matches!(
        u32::from(character),
        0x0e00..=0x0eff // Thai and Lao
        | 0x1000..=0x109f // Burmese
        | 0x1780..=0x17ff // Khmer
        | 0x3040..=0x30ff // Japanese syllables
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff // Chinese characters
        | 0x20000..=0x3ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_plain_words() {
        let table: [(&str, &[&str]); 12] = [
            ("Deploy on Friday", &["\"deploy\"", "\"on\"", "\"friday\""]),
            ("deploy DEPLOY", &["\"deploy\""]),
            ("a AND b OR NOT c", &["\"a\"", "\"and\"", "\"b\"", "\"or\"", "\"not\"", "\"c\""]),
            ("NEAR(x y, 2)", &["\"near\"", "\"x\"", "\"y\"", "\"2\""]),
            ("text: \"x\" * ^y -z {a}", &["\"text\"", "\"x\"", "\"y\"", "\"z\"", "\"a\""]),
            ("x\"; DROP TABLE files", &["\"x\"", "\"drop\"", "\"table\"", "\"files\""]),
            ("nul\0byte", &["\"nul\"", "\"byte\""]),
            ("!?*\"'()", &[]),
            ("", &[]),
            ("绝不做", &["\"绝 不\"", "\"不 做\""]),
            ("x做y", &["\"x\"", "\"做\"", "\"y\""]),
            ("naïve Über", &["\"naïve\"", "\"über\""]),
        ];
        for (query, expected) in table {
            assert_eq!(terms(query), expected, "{query:?}");
        }
    }

    #[test]
    fn a_long_query_is_cut() {
        let many: String = (0..100_000)
            .flat_map(|at| ["word".to_owned(), at.to_string(), " ".to_owned()])
            .collect();
        assert_eq!(terms(&many).len(), MOST_WORDS);
        assert_eq!(terms(&"x".repeat(1 << 20)), Vec::<String>::new());
        assert_eq!(terms(&"做".repeat(1 << 20)), ["\"做 做\""]);
    }

    #[test]
    fn a_text_is_split_like_its_queries() {
        assert_eq!(indexed("Never: push (to main)!"), "Never push to main ");
        assert_eq!(indexed("我们不做x"), "我 们 不 做 x ");
    }
}
