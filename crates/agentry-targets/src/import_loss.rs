//! What an import leaves out, changes or reads leniently, with its position in the file of the agent.

use std::collections::BTreeSet;

use agentry_text::TextPosition;

use crate::render_result::LossKind;

/// Something that a definition has in another form than the file of the harness, or not at all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportLoss {
    /// The field of the file, or of the model, such as `tools` or `permissions.bash`.
    pub field: String,
    /// What happened to the value.
    pub kind: LossKind,
    /// The explanation for the user.
    pub detail: String,
    /// The position in the file of the agent, if one place is the cause.
    pub at: Option<TextPosition>,
}

/// Adds the position to each loss about a field of the file: that of the word which the detail quotes, else
/// that of the field.
pub(crate) fn locate(losses: BTreeSet<ImportLoss>, text: &str) -> BTreeSet<ImportLoss> {
    let lines = head(text);
    let located = |loss: ImportLoss| {
        let at = loss.at.or_else(|| position(&lines, &loss.field, &loss.detail));
        ImportLoss { at, ..loss }
    };
    losses.into_iter().map(located).collect()
}

/// The numbered lines of the metadata; all lines of a file without a `---`.
fn head(text: &str) -> Vec<(usize, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = (1..).zip(text.lines()).peekable();
    let is_fence = |line: &str| line.starts_with("---");
    match lines.next_if(|(_, line)| is_fence(line)) {
        Some(_) => lines.take_while(|(_, line)| !is_fence(line)).collect(),
        None => lines.collect(),
    }
}

fn position(lines: &[(usize, &str)], field: &str, detail: &str) -> Option<TextPosition> {
    // `permission.bash` is the entry `bash` of the field `permission`.
    if let Some((field, entry)) = field.split_once('.') {
        return position(lines, field, &format!("`{entry}`"));
    }
    let mut rest = lines.iter().skip_while(|(_, line)| !names(line, field));
    let first = rest.next()?;
    // Indented lines and list items belong to the field above them, and all lines of a table to the table.
    let is_table = first.1.starts_with('[');
    let is_next = |line: &str| {
        if is_table { line.starts_with('[') } else { line.starts_with(char::is_alphanumeric) }
    };
    let below = rest.take_while(|(_, line)| !is_next(line));
    let word = detail.split('`').nth(1).filter(|word| !word.is_empty() && *word != field);
    let column = |line: &str, word: &str| Some(line.get(..line.find(word)?)?.chars().count() + 1);
    let mut own = std::iter::once(first).chain(below);
    let found = own.find_map(|(line, text)| Some((*line, column(text, word?)?)));
    let (line, column) = found.unwrap_or((first.0, 1));
    Some(TextPosition { line, column })
}

/// Whether a line starts a top-level field: `key:`, `key =` or `[key]`.
fn names(line: &str, field: &str) -> bool {
    let after = line.strip_prefix(field).map(str::trim_start);
    after.is_some_and(|rest| rest.starts_with([':', '='])) || line.trim() == format!("[{field}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_point_at_their_cause() {
        let yaml = "\u{feff}---\nname: x\ntools:\n  - Read\n  - Foo\nmodel: gpt\n---\nmore: 1\n";
        let toml = "name = \"x\"\n[features]\nshell = 1\n";
        let cases = [
            (yaml, "tools", "`Foo` is not a tool", Some((5, 5))),
            (yaml, "tools", "it is not a list", Some((3, 1))),
            (yaml, "tools", "`gpt` is not a tool", Some((3, 1))),
            (yaml, "model", "`gpt` is not a model", Some((6, 8))),
            (yaml, "more", "it is not metadata", None),
            (yaml, "permissions.bash", "narrower", None),
            (yaml, "tools.Foo", "narrower", Some((5, 5))),
            (toml, "features", "`shell` is not known", Some((3, 1))),
            (toml, "name", "`x` became `y`", Some((1, 9))),
        ];
        for (text, field, detail, expected) in cases {
            let found = position(&head(text), field, detail);
            assert_eq!(found.map(|at| (at.line, at.column)), expected, "{field} {detail}");
        }
    }
}
