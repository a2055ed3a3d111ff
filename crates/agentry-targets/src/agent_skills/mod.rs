//! Agent Skills, the open standard: an agent as a skill that any client may load.
//!
//! | model | Agent Skills |
//! | --- | --- |
//! | `name` | `name` and the directory: at most 64 small letters, digits and single `-` |
//! | `description` | `description`, at most 1024 characters |
//! | `license` | `license` |
//! | `display_name`, `version`, `author`, `tags` | `metadata` |
//! | prompt, `context`, `rules` | the body, in this order |
//! | `skills` | skills beside it, copied unless they are there already |
//! | `permissions` | `allowed-tools` for a tool that may do everything, and a list in words at the end; nobody makes sure, which is reported |
//! | everything else | dropped |

mod tools;
mod write;

use crate::{HarnessPlace, Support, Target};

/// Agent Skills.
pub static TARGET: Target = Target {
    name: "agent-skills",
    title: "Agent Skills",
    built_in: &[],
    places: &[HarnessPlace::rendered(".agents/skills/")],
    supports: SUPPORTS,
    one_primary: false,
    render: write::render,
    model: tools::model,
    personal: None,
    blind: &[],
    guard: None,
    import: None,
};

/// Where skills are, below a project or the home directory.
const PLACE: &str = ".agents/skills";

/// Where the skill of that name is.
fn path(name: &str) -> String {
    format!("{PLACE}/{name}/SKILL.md")
}

/// Why a name is none of a skill.
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

const SUPPORTS: &[(&str, Support)] = &[
    ("name", Support::Yes("`name`")),
    ("description", Support::Yes("`description`")),
    ("display_name", Support::Yes("`metadata`")),
    ("mode", Support::No("no place")),
    ("tags", Support::Yes("`metadata`")),
    ("max_turns", Support::No("no place")),
    ("temperature", Support::No("no place")),
    ("model", Support::No("no place")),
    ("skills", Support::Yes("beside it")),
    ("context", Support::Prompt),
    ("rules", Support::Prompt),
    ("tools.mcp", Support::No("no place")),
    ("permissions.bash", Support::Partly("`allowed-tools` where everything is allowed")),
    ("permissions.edit", Support::Partly("`allowed-tools` where everything is allowed")),
    ("permissions.read", Support::Partly("`allowed-tools` where everything is allowed")),
    ("permissions.webfetch", Support::Partly("`allowed-tools` where everything is allowed")),
    ("permissions.websearch", Support::Partly("`allowed-tools` where everything is allowed")),
    ("permissions.question", Support::Prompt),
    ("permissions.external_directory", Support::Prompt),
    ("permissions.mcp", Support::Prompt),
    ("permissions.tool", Support::Prompt),
    ("permissions.skill", Support::Prompt),
    ("permissions.delegate", Support::Prompt),
    ("permissions.env", Support::Prompt),
];

#[cfg(test)]
mod tests {
    use super::wrong_name;

    #[test]
    fn names_of_the_standard() {
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
