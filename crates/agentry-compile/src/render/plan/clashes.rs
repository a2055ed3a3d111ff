//! Detects wanted files that collide with each other, and user files that an agent replaces.

use std::collections::BTreeMap;

use super::{
    FilePlanner, PlannedChange, PlannedChangeKind, PresentFile, RefusedFile, ReplacedFile,
    WantedFile,
};

impl FilePlanner<'_> {
    /// The wanted files, without those that collide with an earlier one.
    pub(super) fn without_clashes<'f>(&mut self, wanted: &'f [WantedFile]) -> Vec<&'f WantedFile> {
        let mut owners: BTreeMap<String, usize> = BTreeMap::new();
        let mut out: Vec<&WantedFile> = Vec::new();
        for file in wanted {
            // Lower case, because the disk may ignore case.
            let key = file.path.to_lowercase();
            match owners.get(&key).and_then(|at| out.get_mut(*at)) {
                None => {
                    owners.insert(key, out.len());
                    out.push(file);
                }
                Some(other) if other.path == file.path && other.bytes == file.bytes => {}
                // The later text was built on the earlier one, so it has both.
                Some(other) if other.path == file.path && other.shared && file.shared => {
                    *other = file;
                }
                Some(other) => {
                    let message = format!("`{}` is written for {} too", other.path, other.target);
                    self.refuse(file, message, "render for one of the two only");
                }
            }
        }
        let below = |file: &WantedFile| {
            let mut above = file.path.match_indices('/').map(|(at, _)| file.path.get(..at));
            above.find_map(|dir| owners.get_key_value(&dir?.to_lowercase()))
        };
        for file in &out {
            if let Some((other, _)) = below(file) {
                let message = format!("`{other}` would be a file and a directory");
                self.refuse(file, message, "render for one of the two only");
            }
        }
        out
    }

    /// Removes a file of the user that an agent replaces.
    pub(super) fn replaced(&mut self, file: &ReplacedFile) {
        let ReplacedFile { path, target, agent } = file.clone();
        if !self.situation.force || self.is_blocked(&target, &agent) {
            return;
        }
        match (self.situation.present)(&path) {
            PresentFile::Nothing => {}
            PresentFile::File(bytes) => {
                let (kind, before) = (PlannedChangeKind::Remove, Some(bytes));
                let (after, forced) = (None, true);
                self.changes.push(PlannedChange {
                    path,
                    target,
                    agent,
                    kind,
                    before,
                    after,
                    forced,
                });
            }
            PresentFile::Blocked(why) => {
                let message = format!("`{path}` {why}");
                self.refused.push(RefusedFile {
                    path,
                    target,
                    agent,
                    message,
                    hint: "remove it by hand",
                    instead: None,
                });
            }
        }
    }
}
