//! Landlock: what may be read and written, as an allow list that no process can leave.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};

/// The newest version that is asked for; an older system enforces what it knows.
const VERSION: ABI = ABI::V6;

/// Confines this process and all that it starts to reading `reads` and writing `writes`, and to sending
/// signals to each other only.
pub(crate) fn apply(reads: &[PathBuf], writes: &[PathBuf]) -> io::Result<()> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(VERSION))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(VERSION)))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)?;
    let ruleset = reads
        .iter()
        .try_fold(ruleset, |ruleset, path| allow(ruleset, path, AccessFs::from_read(VERSION)))?;
    let ruleset = writes
        .iter()
        .try_fold(ruleset, |ruleset, path| allow(ruleset, path, AccessFs::from_all(VERSION)))?;
    ruleset.restrict_self().map(drop).map_err(io::Error::other)
}

/// Grants access below `path`; what does not exist is not granted.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(ruleset) };
    let access = if metadata.is_dir() { access } else { access & AccessFs::from_file(VERSION) };
    let opened = PathFd::new(path).map_err(io::Error::other)?;
    ruleset.add_rule(PathBeneath::new(opened, access)).map_err(io::Error::other)
}
