//! Named abilities of `agent-md` definitions: a base word, and for `sh` a command.

use std::fmt;
use std::str::FromStr;

use crate::DeclaredList;

crate::words! {
    /// The base words of abilities.
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
    /// The base word.
    pub base: AbilityBase,
    /// The command, for `sh:<command>`.
    pub command: Option<String>,
}

/// The allowed and the denied abilities. An allow list denies everything else; without one, the default
/// policy decides about everything that is not denied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abilities {
    /// The allowed abilities.
    pub allow: DeclaredList<Ability>,
    /// The denied abilities, which win over the allowed ones.
    pub deny: DeclaredList<Ability>,
}

impl Ability {
    /// Whether `self` includes everything that `other` includes.
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

/// The reason why a text is no [`Ability`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidAbility {
    /// The word before the colon is unknown.
    Unknown(String),
    /// Only `sh` takes a command.
    Scoped(AbilityBase),
    /// `sh:` without a command, or with one that contains spaces or other special characters.
    Command(String),
}

impl FromStr for Ability {
    type Err = InvalidAbility;

    /// Parses an ability; case and surrounding white space are ignored.
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
    fn abilities_are_parsed() {
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
