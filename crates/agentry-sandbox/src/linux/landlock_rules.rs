//! Landlock rules: an allow list of readable and writable paths that no process can leave.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};

/// The newest version to request. An older kernel enforces the part that it supports.
const VERSION: ABI = ABI::V6;

/// Limits this process, and all that it starts, to reading `reads`, writing `writes`, and sending signals
/// to each other.
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

/// Grants access below `path`. A path that does not exist is skipped.
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
