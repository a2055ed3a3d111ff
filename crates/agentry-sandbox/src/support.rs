//! What this machine can enforce.

use std::path::{Path, PathBuf};

use crate::{BackEnd, Confinement, Network};

/// What this machine can enforce, and why not where it cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock; none if there is none.
    pub landlock: Option<u32>,
    /// Why there are no namespaces.
    pub namespaces: Result<(), String>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether control groups can be made.
    pub control_groups: bool,
}

/// Finds out what this machine can enforce. `program` is the one that can be the helper.
pub fn support(program: &Path) -> Support {
    #[cfg(target_os = "linux")]
    return crate::linux::support::support(program);
    #[cfg(not(target_os = "linux"))]
    Support {
        landlock: None,
        namespaces: Err("only Linux has them".to_owned()),
        seccomp: false,
        control_groups: false,
    }
}

impl Support {
    /// The first back end that can enforce `confinement`; why there is none otherwise.
    pub fn back_end(&self, confinement: &Confinement) -> Result<BackEnd, String> {
        if !self.seccomp {
            return Err("system calls cannot be filtered".to_owned());
        }
        let namespaces = match &self.namespaces {
            Ok(()) => return Ok(BackEnd::Namespaces),
            Err(why) => why,
        };
        let missing = match self.landlock {
            None => Some("there is no Landlock either".to_owned()),
            Some(version) if version < 3 => Some(format!("Landlock {version} is too old")),
            Some(_) => beyond_landlock(confinement).map(|what| format!("Landlock cannot {what}")),
        };
        match missing {
            None => Ok(BackEnd::Landlock),
            Some(missing) => Err(format!("namespaces: {namespaces}; {missing}")),
        }
    }
}

/// What a confinement asks that Landlock alone cannot do: it only grants, and never inside out.
fn beyond_landlock(confinement: &Confinement) -> Option<String> {
    let Confinement { reads, writes, read_only, hidden, network, limits: _ } = confinement;
    let below = |roots: &[PathBuf], path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
    if let Some(path) = hidden.iter().find(|path| below(reads, path) || below(writes, path)) {
        return Some(format!("hide `{}` inside what may be read", path.display()));
    }
    if let Some(path) = read_only.iter().find(|path| below(writes, path)) {
        return Some(format!("protect `{}` inside what may be written", path.display()));
    }
    matches!(network, Network::Proxy(_)).then(|| "let some hosts through".to_owned())
}
