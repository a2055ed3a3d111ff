//! The home directory of Agentry: `$AGENTRY_HOME`, else `~/.agentry`.

use std::path::{Path, PathBuf};

use agentry_home::layout::identifier_of;

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

/// The current user: `$AGENTRY_USER`, else the login name, as an identifier.
pub(crate) fn current_user() -> String {
    let names = ["AGENTRY_USER", "USER", "LOGNAME"].into_iter();
    let mut names = names.filter_map(|name| std::env::var(name).ok());
    let login = || format!("uid-{}", rustix::process::getuid().as_raw());
    names.find_map(|name| identifier_of(&name)).unwrap_or_else(login)
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
