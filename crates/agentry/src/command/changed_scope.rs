//! Which agents changed since a commit. An agent is unchanged if every question that its check asks has the same answer at
//! that commit: so its prompt, skills, bases and configuration count, and files beside it do not.

use agentry_compile::text::limits;
use agentry_compile::text::path::join;
use agentry_compile::{
    BaseMemo, FileLayer, FileTree, MachineFacts, SessionMemo, World, WorldRecorder, WorldServices,
    is_unchanged,
};

use crate::disk::DiskWorld;
use crate::output::CliFailure;
use crate::revision_world::RevisionWorld;

/// Compares what is read today with a commit.
pub(crate) struct ChangedScope<'w> {
    today: UnmemoisedWorld<'w>,
    before: RevisionWorld<'w>,
}

impl<'w> ChangedScope<'w> {
    /// Everything since the current branch left `reference`.
    pub(crate) fn open(disk: &'w DiskWorld, reference: &str) -> Result<Self, CliFailure> {
        let before = RevisionWorld::open(disk, reference)?;
        Ok(Self { today: UnmemoisedWorld(disk), before })
    }

    /// Does some work on the files of today. Also returns whether one of its answers was another at the commit.
    pub(crate) fn watch<T>(&self, dir: &str, work: impl FnOnce(&dyn World) -> T) -> (T, bool) {
        let recorder = WorldRecorder::new(&self.today);
        let result = work(&recorder);
        // Severities and bases are read elsewhere, once for all agents.
        let root = FileTree::workspace(&self.today, dir);
        let _ = FileTree::read(&recorder, &root, &join(&root, "agentry.toml"), limits::FILE_BYTES);
        // The store and model servers belong to no commit.
        let others = |_: &[&str]| Some(Vec::new());
        let is_same =
            recorder.record().is_some_and(|record| is_unchanged(&self.before, &record, &others));
        (result, !is_same)
    }
}

/// The disk without memoised bases: each agent asks for its own, so that its record has them.
struct UnmemoisedWorld<'w>(&'w DiskWorld);

impl FileLayer for UnmemoisedWorld<'_> {
    fn below(&self) -> &dyn FileTree {
        self.0
    }
}

impl World for UnmemoisedWorld<'_> {
    fn machine(&self) -> &MachineFacts {
        self.0.machine()
    }

    fn services(&self) -> &dyn WorldServices {
        self.0.services()
    }

    fn memo(&self) -> &SessionMemo {
        self.0.memo()
    }

    fn bases(&self) -> Option<&BaseMemo> {
        None
    }
}
