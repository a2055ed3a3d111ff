//! Agent Skills, the open standard: an agent as a skill that any client may load. `fields.rs` has the field
//! table.

mod fields;
mod tools;
mod write;

use crate::{HarnessPlace, Target};

/// The target for Agent Skills.
pub static TARGET: Target = Target {
    name: "agent-skills",
    title: "Agent Skills",
    built_in: &[],
    places: &[HarnessPlace::rendered(".agents/skills/")],
    fields: fields::FIELDS,
    shared: &[],
    authoring: None,
    one_primary: false,
    render: write::render,
    model: tools::model,
    personal: None,
    blind: &[],
    guard: None,
    import: None,
};

/// The directory of skills, below a project or the home directory.
const PLACE: &str = ".agents/skills";

/// The path of the skill of that name.
fn path(name: &str) -> String {
    format!("{PLACE}/{name}/SKILL.md")
}

/// Why a name is not valid for a skill.
fn wrong_name(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.chars().count() > 64 {
        Some("has not 1 to 64 characters")
    } else if !name.chars().all(plain) {
        Some("holds more than small letters, digits and `-`")
    } else if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        Some("starts or ends with `-`, or has two in a row")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::wrong_name;

    #[test]
    fn skill_names_follow_the_standard() {
        let long = "a".repeat(65);
        let cases = [
            ("pdf-2", true),
            ("a_b", false),
            ("-a", false),
            ("a-", false),
            ("a--b", false),
            ("A", false),
            ("", false),
            (long.as_str(), false),
        ];
        for (name, good) in cases {
            assert_eq!(wrong_name(name).is_none(), good, "{name}");
        }
    }
}
