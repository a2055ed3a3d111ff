//! The identity of an agent: names, description, status.

use agentry_policy::words;

use crate::{Declared, DeclaredList};

/// The identity of an agent, for people and for other programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentIdentity {
    /// The name for programs: `code-reviewer`.
    pub name: Declared<String>,
    /// The name for people: `Code Reviewer`.
    pub display_name: Declared<String>,
    /// Its purpose, in one sentence.
    pub description: Declared<String>,
    /// The version of the definition.
    pub version: Declared<String>,
    /// The group it belongs to.
    pub category: Declared<String>,
    /// The author.
    pub author: Declared<String>,
    /// The licence.
    pub license: Declared<String>,
    /// Labels for grouping.
    pub tags: DeclaredList<String>,
    /// One emoji.
    pub icon: Declared<String>,
    /// The address of a picture.
    pub avatar: Declared<String>,
    /// Whether it is in use.
    pub status: Declared<AgentStatus>,
    /// Whether people or other agents start it.
    pub mode: Declared<AgentMode>,
    /// Its role, in a word or two: `careful analyst`.
    pub role: Declared<String>,
    /// The first message to the user.
    pub greeting: Declared<String>,
    /// How much harm it could do.
    pub risk_level: Declared<RiskLevel>,
}

words! {
    /// The lifecycle of a definition.
    pub enum AgentStatus {
        /// In use.
        Active = "active",
        /// Still works; should not be used any more.
        Deprecated = "deprecated",
        /// Does not start.
        Disabled = "disabled",
    }
}

words! {
    /// What starts an agent.
    pub enum AgentMode {
        /// People.
        Primary = "primary",
        /// Other agents.
        Subagent = "subagent",
        /// Both.
        All = "all",
    }
}

words! {
    /// How much harm something could do.
    pub enum RiskLevel {
        /// Little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Very much.
        Critical = "critical",
    }
}

/// Converts any text to a lower-case name with hyphens: `Legal Advisor` → `legal-advisor`.
/// Empty if the text has no ASCII letter or digit.
pub fn slug(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

/// Device names of Windows, in any case.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul"];

/// Explains why a name cannot be a file name in every harness; `None` if it can.
pub fn wrong_name(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let device = |name: &str| {
        // `com0` to `com9` and `lpt0` to `lpt9`.
        let numbered = name.strip_prefix("com").or_else(|| name.strip_prefix("lpt"));
        DEVICES.contains(&name)
            || numbered
                .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|c| c.is_ascii_digit()))
    };
    if name.is_empty() {
        Some("is empty")
    } else if !name.chars().all(plain) {
        Some("holds more than small letters, digits and `-`")
    } else if name.starts_with(['-', '_']) || name.ends_with(['-', '_']) || name.contains("--") {
        Some("starts or ends with `-`, or has two in a row")
    } else if device(name) {
        Some("is the name of a device on some systems")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{slug, wrong_name};

    #[test]
    fn names_become_slugs() {
        let cases = [
            ("Legal Advisor", "legal-advisor"),
            ("  Chiron (Assistant) ", "chiron-assistant"),
            ("code-reviewer", "code-reviewer"),
            ("../../evil", "evil"),
            ("自我进化", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(slug(text), expected, "{text}");
        }
    }

    #[test]
    fn names_invalid_as_file_names_are_detected() {
        let cases = [
            ("chiron", true),
            ("chiron-forge", true),
            ("-x", false),
            ("--", false),
            ("x-", false),
            ("a--b", false),
            ("con", false),
            ("com1", false),
            ("comet", true),
            ("a/b", false),
            ("Upper", false),
            ("", false),
        ];
        for (name, good) in cases {
            assert_eq!(wrong_name(name).is_none(), good, "{name}");
        }
    }
}
