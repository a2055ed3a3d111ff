//! Builds the regular expressions of harmless arguments from the named pieces in `data/arguments.txt`.

const TEXT: &str = include_str!("../data/arguments.txt");

/// How deep pieces may be nested; a piece that refers to itself stops here.
const MAX_DEPTH: usize = 16;

/// Returns the regular expression with this name, or `None` if one of its pieces is missing.
pub(crate) fn regex(name: &str) -> Option<String> {
    expand(&body(name)?, &[], 0)
}

/// Returns the lines below a name, joined without separators.
fn body(name: &str) -> Option<String> {
    let mut lines = TEXT.lines().skip_while(|line| *line != name);
    lines.next()?;
    let text: String = lines.map_while(|line| line.strip_prefix("  ")).collect();
    (!text.is_empty()).then_some(text)
}

/// Replaces each `{{…}}` in a text.
fn expand(text: &str, arguments: &[String], depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        out.push_str(rest.get(..at)?);
        let inside = rest.get(at + 2..)?;
        let end = end_of_call(inside)?;
        let mut words = words(inside.get(..end)?);
        let name = words.next()?;
        // `{{1}}` is an argument of the call; any other name is a piece.
        match name.parse::<usize>() {
            Ok(number) => out.push_str(arguments.get(number.checked_sub(1)?)?),
            Err(_) => {
                let own: Option<Vec<String>> =
                    words.map(|word| expand(word, arguments, depth + 1)).collect();
                out.push_str(&expand(&body(name)?, &own?, depth + 1)?);
            }
        }
        rest = inside.get(end + 2..)?;
    }
    out.push_str(rest);
    Some(out)
}

/// Returns the offset of the `}}` that ends a call; `text` starts after its `{{`.
fn end_of_call(text: &str) -> Option<usize> {
    let mut depth = 1;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("{{") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("}}") {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
            at += 2;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// Splits a call into words; a space inside a nested call does not separate words.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut at = 0;
        while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
            if tail.starts_with(' ') {
                break;
            }
            // A nested call is skipped as a whole, with its four braces.
            at += match tail.strip_prefix("{{").and_then(end_of_call) {
                Some(end) => end + 4,
                None => tail.chars().next().map_or(1, char::len_utf8),
            };
        }
        let (word, after) = rest.split_at_checked(at)?;
        rest = after.trim_start_matches(' ');
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_expressions_are_expanded() {
        assert_eq!(regex("no_bang").as_deref(), Some("[^!]*"));
        assert_eq!(
            regex("hostname").map(|text| text.starts_with(r"(?:(?:-[aAdfiIsyV]+|--(?:alias")),
            Some(true)
        );
        assert_eq!(
            expand("a{{words x|y}}b", &[], 0).as_deref(),
            Some(r"a(?:(?:x|y)(?:\x00(?:x|y))*)?b")
        );
        assert_eq!(regex("missing"), None);
        assert_eq!(expand("{{open", &[], 0), None);
    }
}
