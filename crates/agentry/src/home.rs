//! Agentry's own directory: `$AGENTRY_HOME`, else `~/.agentry`.

use std::path::PathBuf;

/// The directory, whether it exists or not; nothing if there is no home at all.
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
