//! The home directory of Agentry: `$AGENTRY_HOME`, else `~/.agentry`.

use std::path::{Path, PathBuf};

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

/// The name of the current user: `$AGENTRY_USER`, else the login name.
pub(crate) fn current_user() -> String {
    let given = ["AGENTRY_USER", "LOGNAME", "USER"].into_iter();
    let mut given = given.filter_map(|name| std::env::var(name).ok());
    given.find(|name| !name.trim().is_empty()).unwrap_or_else(|| "user".to_owned())
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
