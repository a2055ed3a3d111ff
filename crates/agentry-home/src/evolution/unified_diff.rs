//! Applies a unified diff of one file. Nothing is searched for: a hunk that does not fit exactly where it says is refused.

/// The text after the diff, or why it does not fit.
pub(super) fn apply(old: &str, diff: &str) -> Result<String, String> {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut out, mut at, mut hunks) = (String::new(), 0, 0);
    let mut diff = diff.lines().peekable();
    while let Some(line) = diff.next() {
        if line.starts_with("--- ") || line.starts_with("+++ ") || line.trim().is_empty() {
            continue;
        }
        let start =
            hunk_start(line).ok_or_else(|| format!("`{line}` is not the start of a hunk"))?;
        hunks += 1;
        let start = start.saturating_sub(1);
        let before = lines
            .get(at..start)
            .ok_or("the hunks are out of order or start after the end of the file")?;
        out.extend(before.iter().copied());
        at = start;
        while let Some(change) = diff.next_if(|next| !next.starts_with("@@ ")) {
            let (mark, text) = change.split_at_checked(1).unwrap_or((" ", ""));
            match mark {
                " " | "-" => {
                    let present = lines.get(at).copied().unwrap_or_default();
                    if present.trim_end_matches(['\n', '\r']) != text.trim_end_matches('\r')
                        || at >= lines.len()
                    {
                        return Err(format!("line {} of the file is not `{text}`", at + 1));
                    }
                    if mark == " " {
                        out.push_str(present);
                    }
                    at += 1;
                }
                "+" => {
                    if !out.is_empty() && !out.ends_with('\n') {
                        out.push('\n');
                    }
                    out.push_str(text);
                    out.push('\n');
                }
                "\\" => {}
                _ => return Err(format!("`{change}` is not a line of a diff")),
            }
        }
    }
    if hunks == 0 {
        return Err("the diff has no hunk".to_owned());
    }
    out.extend(lines.get(at..).unwrap_or_default().iter().copied());
    Ok(out)
}

/// The first old line of `@@ -3,2 +3,4 @@`.
fn hunk_start(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("@@ -")?;
    rest.split([',', ' ']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exactly_matching_diff_applies() {
        let old = "a\nb\nc\n";
        let cases = [
            ("@@ -2,1 +2,1 @@\n-b\n+B\n", Ok("a\nB\nc\n")),
            ("--- a/x\n+++ b/x\n@@ -3,1 +3,2 @@\n c\n+d\n", Ok("a\nb\nc\nd\n")),
            ("@@ -0,0 +1 @@\n+z\n", Ok("z\na\nb\nc\n")),
            ("@@ -1,1 +1,1 @@\n-b\n+B\n", Err(())),
            ("@@ -9,1 +9,1 @@\n-b\n+B\n", Err(())),
            ("@@ -3 +3 @@\n-c\n@@ -1 +1 @@\n-a\n", Err(())),
            ("nothing", Err(())),
            ("", Err(())),
        ];
        for (diff, expected) in cases {
            assert_eq!(apply(old, diff).map_err(drop).as_deref(), expected.as_deref(), "{diff}");
        }
    }
}
