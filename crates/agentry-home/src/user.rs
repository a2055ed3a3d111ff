//! Whose run it is: `$AGENTRY_USER`, else the login name.

use sha2::{Digest as _, Sha256};

use crate::layout::{identifier_of, is_identifier};

/// The variable that names the user.
pub const VARIABLE: &str = "AGENTRY_USER";
/// The file with the login names of a machine.
const ACCOUNTS: &str = "/etc/passwd";

/// The name of a user, which is a valid identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserName(String);

/// Why a text cannot name a user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` cannot name a user: a name has 1 to 64 lower-case letters, digits, `-`, `_` and `.`, and starts with a \
     letter or a digit"
)]
pub struct InvalidUser {
    /// The text.
    pub name: String,
}

impl UserName {
    /// Checks a name that a person wrote. Nothing is changed in it: two names must never become the same user.
    pub fn new(name: &str) -> Result<Self, InvalidUser> {
        if is_identifier(name) {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidUser { name: name.to_owned() })
        }
    }

    /// The user of this process; `variable` looks up the environment.
    pub fn current(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidUser> {
        match variable(VARIABLE) {
            Some(name) => Self::new(&name),
            None => Ok(Self::of_login(&login_name(&variable))),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The user with this login name. A name that is not an identifier gets one with a hash, so that `Ann` and `ann` stay
    /// two users.
    fn of_login(login: &str) -> Self {
        if is_identifier(login) {
            return Self(login.to_owned());
        }
        let digest: [u8; 32] = Sha256::digest(login.as_bytes()).into();
        let [first, second, third, fourth, ..] = digest;
        let hash = u32::from_be_bytes([first, second, third, fourth]);
        let slug = identifier_of(login).unwrap_or_else(|| "user".to_owned());
        let slug: String = slug.chars().take(50).collect();
        Self(format!("{slug}-{hash:08x}"))
    }
}

/// The login name of the process' user. The accounts of the machine come first, because a variable is easily changed by
/// accident.
fn login_name(variable: &impl Fn(&str) -> Option<String>) -> String {
    let id = agentry_posix::process::getuid().as_raw();
    let accounts = std::fs::read_to_string(ACCOUNTS).unwrap_or_default();
    account(&accounts, id)
        .or_else(|| variable("LOGNAME"))
        .or_else(|| variable("USER"))
        .unwrap_or_else(|| format!("uid-{id}"))
}

/// The name of the account with this number, in the form of `/etc/passwd`.
fn account(accounts: &str, id: u32) -> Option<String> {
    let named = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let number: u32 = fields.nth(1)?.parse().ok()?;
        (number == id).then(|| name.to_owned())
    };
    accounts.lines().find_map(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_variable_must_be_a_valid_name() {
        let current = |name: &str| {
            UserName::current(|variable| (variable == VARIABLE).then(|| name.to_owned()))
        };
        assert_eq!(current("ann.b").map(|user| user.as_str().to_owned()), Ok("ann.b".to_owned()));
        for bad in ["Ann", "../bob", "a/b", "", ".", "a b", "ann\0"] {
            assert_eq!(current(bad), Err(InvalidUser { name: bad.to_owned() }), "{bad}");
        }
    }

    #[test]
    fn different_logins_get_different_user_names() {
        let user = |login| UserName::of_login(login).as_str().to_owned();
        assert_eq!(user("ann"), "ann");
        assert_eq!(user("Ann"), "ann-17239b6e");
        let logins = ["ann", "Ann", "ANN", "ann ", "DOMAIN\\ann", "安", "é", "..", "a/b", "a-b"];
        let mut users: Vec<String> = logins.into_iter().map(user).collect();
        assert!(users.iter().all(|user| is_identifier(user)), "{users:?}");
        users.sort();
        users.dedup();
        assert_eq!(users.len(), logins.len(), "{users:?}");
    }

    #[test]
    fn account_names_are_found_by_uid() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\n:x:7:7::/:\nbroken\nann:x:1000:1000::/:\n";
        let table = [(0, Some("root")), (1000, Some("ann")), (7, None), (5, None)];
        for (id, name) in table {
            assert_eq!(account(accounts, id).as_deref(), name, "{id}");
        }
    }
}
