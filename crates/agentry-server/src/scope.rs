//! What a token may be used for.

use std::fmt;
use std::str::FromStr;

/// The scope of a token. Each includes reading; only `Admin` includes all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenScope {
    /// Reads everything.
    Read,
    /// Also answers approvals and gives consent. It starts nothing.
    Approve,
    /// Also starts, continues, cancels and undoes runs. It approves of nothing.
    Run,
    /// Does everything.
    Admin,
}

impl TokenScope {
    /// All scopes, by their names.
    pub const ALL: [Self; 4] = [Self::Read, Self::Approve, Self::Run, Self::Admin];

    /// The name of the scope.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Approve => "approve",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }

    /// Whether a token of this scope may do what needs `needed`. Who starts a run must not be able to approve of
    /// its calls, so `Run` and `Approve` do not include each other.
    pub fn covers(self, needed: Self) -> bool {
        self == Self::Admin || needed == Self::Read || self == needed
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TokenScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| "known are read, approve, run, admin".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_cover_only_their_listed_scopes() {
        use TokenScope::{Admin, Approve, Read, Run};
        let cases = [
            (Read, [true, false, false, false]),
            (Approve, [true, true, false, false]),
            (Run, [true, false, true, false]),
            (Admin, [true, true, true, true]),
        ];
        for (scope, expected) in cases {
            assert_eq!(TokenScope::ALL.map(|needed| scope.covers(needed)), expected, "{scope}");
            assert_eq!(scope.as_str().parse(), Ok(scope));
        }
    }
}
