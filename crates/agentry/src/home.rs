//! The home directory of Agentry: `$AGENTRY_HOME`, else `~/.agentry`.

use std::path::{Path, PathBuf};

use agentry_home::user::UserName;

use crate::output::CliFailure;

/// What to do if the home cannot be written to.
pub(crate) const UNWRITABLE_HOME: &str = "consents and runs are kept in the home of Agentry: make it \
    writable, or set `AGENTRY_HOME` to a directory that is";

/// The directory, whether or not it exists; `None` if the user has no home.
pub(crate) fn agentry_home() -> Option<PathBuf> {
    let given = std::env::var_os("AGENTRY_HOME").filter(|path| !path.is_empty());
    match given {
        Some(path) => std::path::absolute(path).ok(),
        None => {
            let home = std::env::home_dir().filter(|home| home.is_absolute())?;
            Some(home.join(".agentry"))
        }
    }
}

/// The directory, or a failure if the user has no home.
pub(crate) fn home() -> Result<PathBuf, CliFailure> {
    agentry_home().ok_or_else(|| {
        CliFailure::new("there is no home directory").hint("set `AGENTRY_HOME` to a directory")
    })
}

/// The user's state directory, which is no part of the home: `$XDG_STATE_HOME/agentry`, else `~/.local/state/agentry`.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let given = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let base = given.filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(std::env::home_dir()?.join(".local/state")))?;
    base.is_absolute().then(|| base.join("agentry"))
}

/// The current user: `$AGENTRY_USER`, else the login name.
pub(crate) fn current_user() -> Result<UserName, CliFailure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    UserName::current(variable).map_err(|error| {
        CliFailure::new(error.to_string()).hint("set `AGENTRY_USER` to such a name")
    })
}

/// The name of the current user for records; `unknown` if `$AGENTRY_USER` is not a name.
pub(crate) fn recorded_user() -> String {
    current_user().map_or_else(|_| "unknown".to_owned(), |user| user.as_str().to_owned())
}

/// The directory that lists what a run leaves on the machine while it lasts.
pub(crate) fn leavings(home: &Path) -> PathBuf {
    home.join("leavings")
}

/// Removes what killed runs left. A failed removal is tried again the next time.
pub(crate) fn sweep() {
    if let Some(home) = agentry_home() {
        let _ = agentry_sandbox::sweep(&leavings(&home));
    }
}
