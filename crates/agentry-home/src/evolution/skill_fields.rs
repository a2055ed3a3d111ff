//! The front matter of a skill: what of it a proposal may change.

/// The fields that the front matter of a proposed skill may have. All others could permit something.
const SKILL_FIELDS: &[&str] = &["name", "description", "version", "author", "tags", "license"];

/// Refuses fields of a skill that could permit something. Those that are there already must stay as they are.
pub(super) fn compare_fields(old: &str, new: &str) -> Result<(), String> {
    let others = |text: &str| -> Vec<String> {
        let inside = text
            .trim_start()
            .strip_prefix("---")
            .and_then(|rest| rest.split_once("\n---"))
            .map_or("", |(front, _)| front);
        // A mapping that starts indented has no field that is known.
        let mut is_listed = false;
        let mut kept = Vec::new();
        for line in inside.lines().filter(|line| !line.trim().is_empty()) {
            let key = line.split(':').next().unwrap_or_default();
            if !line.starts_with([' ', '\t', '-']) {
                is_listed = SKILL_FIELDS.contains(&key);
            }
            if !is_listed {
                kept.push(line.to_owned());
            }
        }
        kept
    };
    if others(old) == others(new) {
        return Ok(());
    }
    Err(format!("a skill's front matter can be proposed only in {}", SKILL_FIELDS.join(", ")))
}
