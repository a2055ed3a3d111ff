//! The part of a Markdown file that Agentry owns, between two marks. The rest of the file stays unchanged.

/// Why the part cannot be merged into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkError {
    /// A mark is missing, in the wrong order, or duplicated.
    Marks,
}

impl std::fmt::Display for MarkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Marks => f.write_str("its marks are not one beginning and one end"),
        }
    }
}

/// The opening mark of the part of that name.
pub fn begin(name: &str) -> String {
    format!("<!-- begin agentry {name}: rendered, edit the agents instead -->")
}

/// The closing mark of the part of that name.
pub fn end(name: &str) -> String {
    format!("<!-- end agentry {name} -->")
}

/// Returns the text between the marks; `None` if there are no marks.
pub fn part<'a>(text: &'a str, name: &str) -> Result<Option<&'a str>, MarkError> {
    let found = range(text, name)?;
    Ok(found.and_then(|(from, to)| {
        text.get(from..to)?.strip_prefix(&begin(name))?.strip_suffix(&end(name)).map(str::trim)
    }))
}

/// Returns the whole file with `part` between the marks, or without the marks if there is no part. Nothing
/// else changes.
pub fn merged(text: &str, name: &str, part: Option<&str>) -> Result<String, MarkError> {
    let block = part.map(|part| format!("{}\n{}\n{}", begin(name), part.trim(), end(name)));
    let (before, after) = match range(text, name)? {
        Some((from, to)) => (text.get(..from).unwrap_or(""), text.get(to..).unwrap_or("")),
        None => (text, ""),
    };
    let Some(block) = block else {
        let before = before.trim_end_matches('\n');
        let after = after.trim_start_matches('\n');
        let space = if before.is_empty() {
            ""
        } else if after.is_empty() {
            "\n"
        } else {
            "\n\n"
        };
        return Ok(format!("{before}{space}{after}"));
    };
    // The text around an existing part keeps its spacing.
    if !after.is_empty() {
        return Ok(format!("{before}{block}{after}"));
    }
    let space = match before {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    Ok(format!("{before}{space}{block}\n"))
}

/// Returns the byte range of the marks and the text between them.
fn range(text: &str, name: &str) -> Result<Option<(usize, usize)>, MarkError> {
    let (begin, end) = (begin(name), end(name));
    let starts: Vec<usize> = text.match_indices(&begin).map(|(at, _)| at).collect();
    let ends: Vec<usize> = text.match_indices(&end).map(|(at, _)| at).collect();
    match (starts.as_slice(), ends.as_slice()) {
        ([], []) => Ok(None),
        ([from], [to]) if from < to => Ok(Some((*from, to + end.len()))),
        _ => Err(MarkError::Marks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_outside_the_marks_is_kept() {
        let (begin, end) = (begin("x"), end("x"));
        let block = format!("{begin}\nnew\n{end}");
        let cases = [
            (String::new(), Some("new"), Ok(format!("{block}\n"))),
            ("# Mine".to_owned(), Some("new"), Ok(format!("# Mine\n\n{block}\n"))),
            ("# Mine\n".to_owned(), Some("new"), Ok(format!("# Mine\n\n{block}\n"))),
            (
                format!("# Mine\r\n\r\n{begin}\nold\n{end}\nrest  \n"),
                Some("new"),
                Ok(format!("# Mine\r\n\r\n{block}\nrest  \n")),
            ),
            (format!("a\n\n{begin}\nold\n{end}\n\nb\n"), None, Ok("a\n\nb\n".to_owned())),
            (format!("{begin}\nold\n{end}\n"), None, Ok(String::new())),
            ("a\n".to_owned(), None, Ok("a\n".to_owned())),
            (format!("{begin}\nold\n"), Some("new"), Err(MarkError::Marks)),
            (format!("{end}\n{begin}\n"), Some("new"), Err(MarkError::Marks)),
            (format!("{block}\n{block}\n"), Some("new"), Err(MarkError::Marks)),
        ];
        for (text, part, expected) in cases {
            assert_eq!(merged(&text, "x", part), expected, "{text}");
        }
        assert_eq!(super::part(&block, "x"), Ok(Some("new")));
    }

    #[test]
    fn merging_twice_changes_nothing() {
        for text in ["", "# Mine", "# Mine\n\n", "a\r\nb"] {
            let once = merged(text, "x", Some("new")).expect("whole marks");
            assert_eq!(merged(&once, "x", Some("new")), Ok(once.clone()), "{text}");
        }
    }
}
