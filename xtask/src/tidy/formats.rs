//! Checks that only the crates of the model and of the formats name a single format. All other code uses
//! the table of formats, so that a new format needs only its directory, its variant and its row.

use crate::files::File;

/// The crates that may name a format.
const HOMES: &[&str] = &["crates/agentry-model/", "crates/agentry-formats/"];

/// Every line outside of tests that names a variant of `Format`.
pub(super) fn check(files: &[File]) -> Vec<String> {
    let is_outside = |file: &&File| {
        let is_code = file.path.starts_with("crates/") && file.path.contains("/src/");
        is_code && file.is_rust() && !HOMES.iter().any(|home| file.path.starts_with(home))
    };
    files.iter().filter(is_outside).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let complain = |(number, line): (usize, &str)| {
        let path = &file.path;
        names_format(line).then(|| {
            format!("{path}:{number}: a format is named here; ask its row (`FormatInfo`) instead")
        })
    };
    file.statements().filter_map(complain).collect()
}

/// Whether a line has `Format::` with a variant after it: an upper-case letter, then a lower-case one.
fn names_format(line: &str) -> bool {
    line.match_indices("Format::").any(|(at, start)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        // `ResultFormat::Json` is another type.
        let is_whole = before.is_none_or(|sign| !sign.is_alphanumeric() && sign != '_');
        let mut behind = line.get(at + start.len()..).unwrap_or_default().chars();
        // `Format::ALL` is a constant.
        let is_variant = behind.next().is_some_and(char::is_uppercase)
            && behind.next().is_some_and(char::is_lowercase);
        is_whole && is_variant
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::file;

    #[test]
    fn single_formats_named_elsewhere_are_reported() {
        let lines = [
            ("if found.format == Format::AgentToml {", 1),
            ("    model::Format::Manifest => 1,", 1),
            ("    Choice(Format::WORDS)", 0),
            ("    ResultFormat::Json => 1,", 0),
            ("// Format::AgentToml", 0),
            ("#[cfg(test)]\nmod tests {\n    const A: Format = Format::AgentToml;\n}", 0),
        ];
        for (line, count) in lines {
            let text = format!("\n{line}\n");
            let found = |path: &str| check(&[file(path, &text)]).len();
            assert_eq!(found("crates/agentry-compile/src/a.rs"), count, "{line}");
            assert_eq!(found("crates/agentry-formats/src/a.rs"), 0, "{line}");
            assert_eq!(found("crates/agentry-compile/tests/a.rs"), 0, "{line}");
        }
    }
}
