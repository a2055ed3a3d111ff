//! The names of skills that the Agent Skills standard allows.

/// The longest name, in characters.
const LONGEST: usize = 64;
/// Names that the standard reserves.
const RESERVED: &[&str] = &["anthropic", "claude"];

/// Returns why the standard does not allow `name`, as the end of a sentence that starts with the name.
pub(super) fn broken(name: &str) -> Option<String> {
    let outside = |c: &char| !matches!(c, 'a'..='z' | '0'..='9' | '-');
    let length = name.chars().count();
    if length > LONGEST {
        return Some(format!("has {length} characters; at most {LONGEST} are allowed"));
    }
    if let Some(c) = name.chars().find(outside) {
        return Some(format!("holds `{c}`; only `a-z`, `0-9` and `-` are allowed"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        return Some("starts or ends with a hyphen".to_owned());
    }
    if name.contains("--") {
        return Some("has two hyphens in a row".to_owned());
    }
    RESERVED.contains(&name).then(|| "is reserved".to_owned())
}

/// Returns the name that a path implies: that of the folder for `x/SKILL.md`, of the file for `x.md`.
pub(super) fn of_path(path: &str) -> &str {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    if file == "SKILL.md" {
        folder.rsplit('/').next().unwrap_or(folder)
    } else {
        file.strip_suffix(".md").unwrap_or(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_skill_names_are_reported() {
        let long = "a".repeat(65);
        let cases = [
            ("contract-review", None),
            ("a", None),
            ("2nd-try", None),
            ("Contract", Some("holds `C`; only `a-z`, `0-9` and `-` are allowed")),
            ("contract review", Some("holds ` `; only `a-z`, `0-9` and `-` are allowed")),
            ("自我进化", Some("holds `自`; only `a-z`, `0-9` and `-` are allowed")),
            ("-a", Some("starts or ends with a hyphen")),
            ("a-", Some("starts or ends with a hyphen")),
            ("a--b", Some("has two hyphens in a row")),
            ("claude", Some("is reserved")),
            ("anthropic", Some("is reserved")),
            ("claude-code", None),
            (&long, Some("has 65 characters; at most 64 are allowed")),
        ];
        for (name, expected) in cases {
            assert_eq!(broken(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn skill_names_are_derived_from_paths() {
        let cases = [
            ("review/SKILL.md", "review"),
            ("legal/review/SKILL.md", "review"),
            ("review.md", "review"),
            ("legal/review.md", "review"),
            ("SKILL.md", ""),
        ];
        for (path, expected) in cases {
            assert_eq!(of_path(path), expected, "{path}");
        }
    }
}
