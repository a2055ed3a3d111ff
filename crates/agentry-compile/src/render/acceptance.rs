//! Losses that the user has accepted: `--accept TARGET:FIELD`, and `accept` in `[render]`.

use std::fmt;
use std::str::FromStr;

use agentry_formats::FORMATS;
use agentry_policy::Section;
use agentry_targets::{REQUIRED, TARGETS, Target, target};
use agentry_text::suggestion::did_you_mean;

/// A field of a target whose losses are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedLoss {
    /// The target; `None` for all of them.
    target: Option<&'static str>,
    /// The field of the losses, such as `permissions.bash`.
    field: String,
}

impl AcceptedLoss {
    /// The field, if it counts for a target.
    pub fn field_for(&self, target: &Target) -> Option<&str> {
        self.target.is_none_or(|name| name == target.name).then_some(self.field.as_str())
    }
}

impl FromStr for AcceptedLoss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == REQUIRED => Ok(Self { target: None, field: text.to_owned() }),
            Some((name, field)) if !field.trim().is_empty() => {
                let known = target(name).ok_or_else(|| {
                    let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                    let near = did_you_mean(name, known.iter().copied());
                    let near = near.unwrap_or_else(|| format!("known are {}", known.join(", ")));
                    format!("`{name}` is no target; {near}")
                })?;
                check_field(field.trim())?;
                Ok(Self { target: Some(known.name), field: field.trim().to_owned() })
            }
            _ => Err(format!(
                "`{text}` is not `TARGET:FIELD`, such as `pi:permissions.bash`, and not `{REQUIRED}`"
            )),
        }
    }
}

/// Fields of losses that no format carries.
const OTHER_FIELDS: &[&str] = &[
    "permissions",
    "tools",
    "tools.functions",
    "hooks",
    "guard",
    "metadata",
    "instructions",
    "model",
    "sandbox_mode",
    "approval_policy",
];

/// Refuses a field that is misspelt: accepting it would accept nothing.
fn check_field(field: &str) -> Result<(), String> {
    let sections = || Section::ALL.iter().map(|section| format!("permissions.{section}"));
    let carried = FORMATS.iter().flat_map(|format| format.carries.iter().copied());
    let known: Vec<String> =
        carried.chain(OTHER_FIELDS.iter().copied()).map(str::to_owned).chain(sections()).collect();
    if known.iter().any(|name| name == field) {
        return Ok(());
    }
    let near = did_you_mean(field, known.iter().map(String::as_str));
    match near {
        Some(near) => Err(format!("no loss has the field `{field}`; {near}")),
        None if field.starts_with("permissions.") => {
            let sections: Vec<String> = sections().collect();
            Err(format!("no loss has the field `{field}`; known are {}", sections.join(", ")))
        }
        // A target may have fields of its own.
        None => Ok(()),
    }
}

impl fmt::Display for AcceptedLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            Some(target) => write!(f, "{target}:{}", self.field),
            None => f.write_str(&self.field),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_losses_parse_as_target_and_field() {
        let cases = [
            ("pi:permissions.bash", Some(("pi", true)), Some(("codex", false))),
            ("required", Some(("pi", true)), Some(("codex", true))),
            ("codex:required", Some(("codex", true)), Some(("pi", false))),
        ];
        for (text, one, other) in cases {
            let accepted: AcceptedLoss = text.parse().expect(text);
            assert_eq!(accepted.to_string(), text);
            for (name, counts) in [one, other].into_iter().flatten() {
                let target = target(name).expect(name);
                assert_eq!(accepted.field_for(target).is_some(), counts, "{text} {name}");
            }
        }
        for wrong in ["", "bash", "pi", "pi:", "pie:permissions.bash", ":x", "pi:permissions.shell"]
        {
            assert!(wrong.parse::<AcceptedLoss>().is_err(), "{wrong}");
        }
        let misspelt = [
            ("pi:permissions.bsh", "did you mean `permissions.bash`?"),
            ("pi:permisions.bash", "did you mean `permissions.bash`?"),
            ("pi:permission.edit", "did you mean `permissions.edit`?"),
            ("pi:max_turn", "did you mean `max_turns`?"),
            ("codx:permissions.bash", "did you mean `codex`?"),
        ];
        for (text, hint) in misspelt {
            let why = text.parse::<AcceptedLoss>().expect_err(text);
            assert!(why.contains(hint), "{text}: {why}");
        }
    }
}
