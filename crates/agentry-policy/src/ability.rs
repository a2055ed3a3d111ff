//! Named abilities: a base word, and for `sh` a command.

use std::fmt;
use std::str::FromStr;

use crate::DeclaredList;

crate::words! {
    /// The words that an ability may start with.
    pub enum AbilityBase {
        /// Files.
        Fs = "fs",
        /// The network.
        Network = "network",
        /// The shell.
        Sh = "sh",
        /// Tools.
        Tool = "tool",
        /// MCP servers.
        Mcp = "mcp",
        /// A browser.
        Browser = "browser",
        /// Environment variables.
        Env = "env",
    }
}

/// One ability: `fs`, or `sh:git`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ability {
    /// What it is about.
    pub base: AbilityBase,
    /// The one command, for `sh:<command>`.
    pub command: Option<String>,
}

/// What is allowed and what is denied. When given at all, everything else is denied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Allowed.
    pub allow: DeclaredList<Ability>,
    /// Denied; beats allow.
    pub deny: DeclaredList<Ability>,
}

impl Ability {
    /// Whether everything that `other` names is also named by `self`.
    pub fn covers(&self, other: &Self) -> bool {
        self.base == other.base && (self.command.is_none() || self.command == other.command)
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(command) => write!(f, "{}:{command}", self.base),
            None => write!(f, "{}", self.base),
        }
    }
}

/// Why some text is no [`Ability`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidAbility {
    /// The word before the colon is not known.
    Unknown(String),
    /// Only `sh` takes a command.
    Scoped(AbilityBase),
    /// `sh:` without a command, or one with spaces or other signs.
    Command(String),
}

impl FromStr for Ability {
    type Err = InvalidAbility;

    /// Without regard to case and surrounding space.
    fn from_str(text: &str) -> Result<Self, InvalidAbility> {
        let text = text.trim().to_lowercase();
        let (base, command) = match text.split_once(':') {
            Some((base, command)) => (base, Some(command)),
            None => (text.as_str(), None),
        };
        let base: AbilityBase =
            base.parse().map_err(|()| InvalidAbility::Unknown(base.to_owned()))?;
        match command {
            None => Ok(Self { base, command: None }),
            Some(_) if base != AbilityBase::Sh => Err(InvalidAbility::Scoped(base)),
            Some(command) if is_command(command) => {
                Ok(Self { base, command: Some(command.to_owned()) })
            }
            Some(command) => Err(InvalidAbility::Command(command.to_owned())),
        }
    }
}

fn is_command(text: &str) -> bool {
    let sign = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    !text.is_empty() && text.chars().all(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abilities() {
        let of =
            |base, command: Option<&str>| Ok(Ability { base, command: command.map(str::to_owned) });
        let cases = [
            ("fs", of(AbilityBase::Fs, None)),
            (" SH:Git ", of(AbilityBase::Sh, Some("git"))),
            ("sh:apt-get", of(AbilityBase::Sh, Some("apt-get"))),
            ("disk", Err(InvalidAbility::Unknown("disk".to_owned()))),
            ("fs:src", Err(InvalidAbility::Scoped(AbilityBase::Fs))),
            ("sh:", Err(InvalidAbility::Command(String::new()))),
            ("sh:git push", Err(InvalidAbility::Command("git push".to_owned()))),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Ability>(), expected, "{text:?}");
        }
    }
}
