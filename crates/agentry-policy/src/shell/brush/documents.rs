//! Detects here-documents on which brush's tokenizer never returns: it collects tokens until memory is
//! exhausted if a bracket opens or closes between `<<` and the end of that line.

/// Characters that may open or close a construct.
const BRACKETS: &[char] = &['(', ')', '{', '}', '`'];

/// Whether the tokenizer might hang on `text`.
pub(super) fn may_hang(text: &str) -> bool {
    let size = text.len();
    let joined = text.replace("\\\n", "");
    let text = joined.as_str();
    let mut rest = text;
    while let Some(at) = rest.find("<<") {
        let (before, operator) = rest.split_at(at);
        let after = operator.trim_start_matches('<');
        // `<<<` is a here-string, which is safe.
        if operator.len() - after.len() == 3 && !before.ends_with('\\') {
            rest = after;
            continue;
        }
        let Some((line, below)) = after.split_once('\n') else { return true };
        let is_open = |quote: char| line.matches(quote).count() % 2 == 1;
        if line.contains(BRACKETS) || line.contains("$[") || is_open('\'') || is_open('"') {
            return true;
        }
        // The body may contain anything, but only if it certainly is one.
        let is_first = before.len() + operator.len() == text.len();
        let is_certain = is_first
            && !before.contains(['\'', '"', '`', '#', '$', '('])
            && !text.contains('\\')
            && joined.len() == size;
        rest = if is_certain { after_body(line, below) } else { after };
    }
    false
}

/// Returns the text after the body of the here-document that `line` opens; all of `below` if that is unclear.
fn after_body<'t>(line: &str, below: &'t str) -> &'t str {
    let word = line.strip_prefix('-').unwrap_or(line).trim_start_matches([' ', '\t']);
    let word = word.split([' ', '\t', ';', '&', '|', '<', '>']).next().unwrap_or_default();
    let bare = word.trim_matches(['\'', '"']);
    let is_plain = !bare.is_empty()
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !line.contains("<<");
    if !is_plain {
        return below;
    }
    let mut rest = below;
    while let Some((line, below)) = rest.split_once('\n') {
        rest = below;
        // Whether leading tabs count depends on `<<-`; ending earlier is the safer choice.
        if line.trim_start_matches('\t') == bare {
            return rest;
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn here_documents_that_would_hang_are_detected() {
        let cases = [
            ("cat <<E\na\nE\n", false),
            ("cat > x.cpp <<'E'\ncout << f(x);\nE\n", false),
            ("git commit -m \"$(cat <<'E'\nsubject\nE\n)\"", false),
            ("cat <<< $(ls)", false),
            ("cat <<E | head\n$(ls)\nE", false),
            ("cat <<E", true),
            ("cat <<- a$( ||) ", true),
            ("cat <<E $(ls)\nE", true),
            ("cat <\\\n<E \\\n$(ls)\nE", true),
            ("$(<<<<<E )\nE", true),
            ("\\<<<-'' ${", true),
            ("$( [[ <<-\"\n$(( ||$(", true),
            ("$(cat <<E)\nE", true),
            ("echo '<<E\n' $(cat <<a)", true),
            ("cat <<E\n<<a $(\nF\nE\n<<a $(\n", true),
        ];
        for (text, expected) in cases {
            assert_eq!(may_hang(text), expected, "{text:?}");
        }
    }
}
