//! Applies the workspaces around that of an agent: a nested `agentry.toml` makes a workspace of its own,
//! but it cannot weaken the locks and limits of the outer ones.

use agentry_posix::unix::fs::MetadataExt as _;
use std::fs;
use std::path::Path;

use agentry_compile::text::Severity;
use agentry_compile::{CompiledAgent, SpendingCaps, WorkspaceConfig};

use crate::command::render::lock_check::{RenderLocks, UnlockedAgent};
use crate::command::reported;
use crate::disk::DiskWorld;
use crate::output::CliFailure;

/// The workspaces above a workspace, nearest first. A directory that every user can write to, such as
/// `/tmp`, is left out: any user could place a file there.
pub(super) fn above(workspace: &str) -> Vec<String> {
    let decides = |dir: &&Path| {
        let open = fs::metadata(dir).is_ok_and(|found| found.mode() & 0o002 != 0);
        !open && ["agentry.toml", "agentry.lock"].iter().any(|name| dir.join(name).is_file())
    };
    let above = Path::new(workspace).ancestors().skip(1).filter(decides);
    above.filter_map(|dir| dir.to_str().map(str::to_owned)).collect()
}

/// Refuses an agent that differs from the lock of an outer workspace. Most outer locks do not list it.
pub(super) fn admit(
    disk: &DiskWorld,
    compiled: &mut CompiledAgent,
    outer: &[String],
) -> Result<(), CliFailure> {
    let own = compiled.workspace.clone();
    let locks = RenderLocks::default();
    let admitted = outer.iter().try_for_each(|root| {
        // A lock lists agents relative to its own workspace.
        compiled.workspace.clone_from(root);
        locks.admit(disk, compiled, UnlockedAgent::Passes)
    });
    compiled.workspace = own;
    admitted
}

/// The spending caps of outer workspaces. A configuration that cannot be read is an error.
pub(super) fn caps(disk: &DiskWorld, outer: &[String]) -> Result<SpendingCaps, CliFailure> {
    let mut caps = SpendingCaps::default();
    for root in outer {
        let config = WorkspaceConfig::read(disk, root);
        if config.diagnostics.iter().any(|found| found.severity == Severity::Error) {
            let message = format!("`{root}/agentry.toml` has errors");
            return Err(reported(&config.diagnostics, &config.sources, &message).refused());
        }
        caps = caps.narrowed(config.run);
    }
    Ok(caps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_outer_workspace_limit_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::write(root.join("agentry.toml"), "[run]\nmax_turns = 2\nmax_steps = 9\n").unwrap();
        fs::write(root.join("a/agentry.toml"), "[run]\nmax_turns = 5\nmax_steps = 3\n").unwrap();
        fs::write(root.join("a/b/agentry.lock"), "").unwrap();
        let outer = above(root.join("a/b/c").to_str().unwrap());
        let expected = ["a/b", "a", ""].map(|name| root.join(name).to_str().unwrap().to_owned());
        let expected = expected.map(|it| it.trim_end_matches('/').to_owned());
        assert_eq!(outer.get(..3), Some(expected.as_slice()));
        let found = caps(&DiskWorld::default(), &outer).unwrap_or_default();
        assert_eq!((found.turns, found.steps), (Some(2), Some(3)));
        fs::write(root.join("agentry.toml"), "[run]\nmax_turns = x\n").unwrap();
        assert!(
            caps(&DiskWorld::default(), &outer).is_err(),
            "what cannot be read is not passed over"
        );
    }
}
