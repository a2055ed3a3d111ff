//! What this machine can enforce.

use std::path::{Path, PathBuf};

use crate::landlock_fit::with_targets;
use crate::{BackEnd, Confinement, NetworkAccess};

/// What this machine can enforce, with reasons for what it cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each was found out on its own")]
pub struct SandboxSupport {
    /// The version of Landlock, or `None` if the kernel has none.
    pub landlock: Option<u32>,
    /// Whether namespaces work, or why not.
    pub namespaces: Result<(), String>,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether this process can create control groups that limit the number of processes.
    pub control_groups: bool,
    /// Whether this user is root, which has no user limits.
    pub administrator: bool,
    /// Whether a process namespace has its own range of process ids, which limits root too.
    pub own_numbers: bool,
}

/// Finds out what this machine can enforce. `program` is started as the helper.
pub fn support(program: &Path) -> SandboxSupport {
    #[cfg(target_os = "linux")]
    return crate::linux::support::support(program);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = program;
        SandboxSupport {
            landlock: None,
            namespaces: Err("only Linux has them".to_owned()),
            seccomp: false,
            control_groups: false,
            administrator: false,
            own_numbers: false,
        }
    }
}

/// The version of Landlock that also restricts signals and abstract sockets.
const LANDLOCK: u32 = 6;

impl SandboxSupport {
    /// The first back end that can enforce `confinement`, or why there is none.
    pub fn back_end(&self, confinement: &Confinement) -> Result<BackEnd, String> {
        if cfg!(not(target_os = "linux")) {
            return Err(format!("{} has no sandbox so far, only Linux has", std::env::consts::OS));
        }
        if !self.seccomp {
            return Err("system calls cannot be filtered".to_owned());
        }
        let Some(namespaces) = self.without_namespaces() else { return Ok(BackEnd::Namespaces) };
        match self.without_landlock(confinement) {
            None => Ok(BackEnd::Landlock),
            Some(landlock) => Err(format!("namespaces: {namespaces}; {landlock}")),
        }
    }

    /// The first back end that can enforce `confinement` or something narrower, with the confinement
    /// that it enforces; or why there is none.
    pub fn choose(&self, confinement: &Confinement) -> Result<(BackEnd, Confinement), String> {
        match self.back_end(confinement) {
            Ok(back_end) => Ok((back_end, confinement.clone())),
            Err(why) => {
                let plain = confinement.plain().ok_or(why)?;
                Ok((self.back_end(&plain)?, plain))
            }
        }
    }

    /// Why namespaces cannot be used here.
    pub fn without_namespaces(&self) -> Option<String> {
        let unlimited = self.administrator && !self.control_groups && !self.own_numbers;
        match &self.namespaces {
            Err(why) => Some(why.clone()),
            Ok(()) if unlimited => Some(UNLIMITED.to_owned()),
            Ok(()) => None,
        }
    }

    /// Why Landlock alone cannot enforce `confinement`.
    pub fn without_landlock(&self, confinement: &Confinement) -> Option<String> {
        match self.landlock {
            None => Some("there is no Landlock".to_owned()),
            Some(version) if version < LANDLOCK => Some(format!(
                "Landlock {version} does not keep signals inside, which takes version {LANDLOCK}"
            )),
            Some(_) if self.administrator && !self.control_groups => Some(UNLIMITED.to_owned()),
            Some(_) => beyond_landlock(confinement).map(|what| format!("Landlock cannot {what}")),
        }
    }
}

pub(crate) const UNLIMITED: &str =
    "nothing limits the number of the administrator's processes: no control groups";

/// What a confinement requires that Landlock alone cannot do: it grants directories, without exceptions.
fn beyond_landlock(confinement: &Confinement) -> Option<String> {
    let Confinement { reads, writes, read_only, hidden, network, .. } = confinement;
    let below = |roots: &[PathBuf], path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
    let (read_only, hidden) = (with_targets(read_only), with_targets(hidden));
    if let Some(path) = hidden.iter().find(|path| below(reads, path) || below(writes, path)) {
        return Some(format!("hide `{}` inside what may be read", path.display()));
    }
    if let Some(path) = read_only.iter().find(|path| below(writes, path)) {
        return Some(format!("protect `{}` inside what may be written", path.display()));
    }
    matches!(network, NetworkAccess::Proxy(_)).then(|| "let some hosts through".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confinement() -> Confinement {
        Confinement {
            reads: vec!["/usr".into()],
            writes: vec!["/w".into()],
            ..Confinement::default()
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_back_end_must_support_the_whole_confinement() {
        let all = SandboxSupport {
            landlock: Some(6),
            namespaces: Ok(()),
            seccomp: true,
            control_groups: true,
            administrator: true,
            own_numbers: true,
        };
        let no = SandboxSupport { namespaces: Err("not here".to_owned()), ..all.clone() };
        let plain = confinement();
        let read_only = Confinement { read_only: vec!["/w/x".into()], ..confinement() };
        let hidden = Confinement { hidden: vec!["/usr/x".into()], ..confinement() };
        let proxy = Confinement { network: NetworkAccess::Proxy(1), ..confinement() };
        let refused = |what: &str| Err(format!("namespaces: not here; {what}"));
        let unlimited = format!("namespaces: {UNLIMITED}; {UNLIMITED}");
        let cases = [
            (all.clone(), &read_only, Ok(BackEnd::Namespaces)),
            (no.clone(), &plain, Ok(BackEnd::Landlock)),
            (
                no.clone(),
                &read_only,
                refused("Landlock cannot protect `/w/x` inside what may be written"),
            ),
            (no.clone(), &hidden, refused("Landlock cannot hide `/usr/x` inside what may be read")),
            (no.clone(), &proxy, refused("Landlock cannot let some hosts through")),
            (
                SandboxSupport { landlock: None, ..no.clone() },
                &plain,
                refused("there is no Landlock"),
            ),
            (
                SandboxSupport { landlock: Some(5), ..no },
                &plain,
                refused("Landlock 5 does not keep signals inside, which takes version 6"),
            ),
            (
                SandboxSupport { control_groups: false, own_numbers: false, ..all.clone() },
                &plain,
                Err(unlimited),
            ),
            (
                SandboxSupport { seccomp: false, ..all },
                &plain,
                Err("system calls cannot be filtered".to_owned()),
            ),
        ];
        for (support, confinement, expected) in cases {
            assert_eq!(support.back_end(confinement), expected, "{support:?}");
        }
    }
}
