//! Losses that a person has looked at: `--accept TARGET:FIELD`, and `accept` in `[render]`.

use std::fmt;
use std::str::FromStr;

use agentry_targets::{REQUIRED, TARGETS, Target, target};

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
                    format!("`{name}` is no target; known are {}", known.join(", "))
                })?;
                Ok(Self { target: Some(known.name), field: field.to_owned() })
            }
            _ => Err(format!(
                "`{text}` is not `TARGET:FIELD`, such as `pi:permissions.bash`, and not `{REQUIRED}`"
            )),
        }
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
    fn a_target_and_a_field_or_the_gates() {
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
        for wrong in ["", "bash", "pi", "pi:", "pie:permissions.bash", ":x"] {
            assert!(wrong.parse::<AcceptedLoss>().is_err(), "{wrong}");
        }
    }
}
