//! Compares the protected names after a command with the snapshot before it, and restores the snapshot.

use agentry_posix::unix::fs::MetadataExt as _;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agentry_compile::text::digest::sha256;
use agentry_compile::text::report::visible;
use agentry_sandbox::is_placeholder;

use super::held_name::{HeldPlace, open_up};
use super::report::{QuarantineAct, QuarantineReport};
use super::snapshot::{self, LONGEST, NameLooker, SeenThing, SeenThings};
use super::{git, leftover, recording};
use crate::commands::WriteReach;
use crate::protected_paths::walk::ChangeStamp;
use crate::protected_paths::{ProtectedKind, fold, why_protected};

/// The most bytes of images in one run.
const MOST_OF_IMAGES: u64 = 512 << 20;

/// The quarantine of one run.
pub(super) struct Quarantine {
    looker: NameLooker,
    workspace: PathBuf,
    reach: WriteReach,
    /// The snapshot: what is allowed to be there.
    seen: SeenThings,
    /// The directories around it, by device and inode, to recognise them after a rename.
    homes: HashMap<(u64, u64), PathBuf>,
    /// Directories that were unreadable before, with a stamp that shows changes.
    shut: BTreeMap<PathBuf, Option<ChangeStamp>>,
    /// The time of the snapshot.
    since: SystemTime,
    directory: PathBuf,
    note: leftover::QuarantineNote,
    images: HashSet<String>,
    /// How many bytes of images may still be stored.
    room: u64,
    /// How many items were moved to `taken`; the number of the next one.
    taken: usize,
    /// The first report about something that could not be restored.
    stuck: Option<QuarantineReport>,
}

impl Quarantine {
    /// Creates the quarantine of a run in `directory`.
    pub(super) fn new(workspace: &Path, directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        // A resumed run may have items there already.
        let taken = fs::read_dir(directory.join(TAKEN)).map_or(0, Iterator::count);
        Ok(Self {
            looker: NameLooker::default(),
            workspace: workspace.to_owned(),
            reach: WriteReach::default(),
            seen: SeenThings::new(),
            homes: HashMap::new(),
            shut: BTreeMap::new(),
            since: SystemTime::now(),
            directory: directory.to_owned(),
            note: leftover::QuarantineNote::new(workspace, directory)?,
            images: HashSet::new(),
            room: MOST_OF_IMAGES,
            taken,
            stuck: None,
        })
    }

    /// Takes the snapshot before a command starts.
    pub(super) fn open(&mut self, reach: WriteReach) -> io::Result<()> {
        self.reach = reach;
        self.since = SystemTime::now();
        self.seen = self.looker.look(&self.workspace, &self.reach);
        let shut = self.looker.shut().iter();
        self.shut = shut.map(|path| (path.clone(), stamp_of_own(path))).collect();
        // A path in a protected directory has the same home as that directory.
        let is_inside = |path: &Path| path.parent().is_some_and(|it| self.seen.contains_key(it));
        let outer = self.seen.keys().filter(|path| !is_inside(path));
        let homes = outer.filter_map(|path| self.home(path));
        self.homes = homes.filter_map(|home| Some((id(&home)?, home))).collect();
        for (path, thing) in &self.seen.clone() {
            self.keep_image(path, thing);
        }
        self.note.open(&self.reach, &self.seen)
    }

    /// Fails if an earlier command left something that could not be restored.
    pub(super) fn permits(&self) -> io::Result<()> {
        let refused = |reports: &QuarantineReport| {
            let path = visible(&reports.path);
            io::Error::other(format!(
                "this run starts no command any more, since an earlier one left `{path}` as it must not be"
            ))
        };
        self.stuck.as_ref().map_or(Ok(()), |reports| Err(refused(reports)))
    }

    /// Marks that no command runs any more.
    pub(super) fn close(&mut self) {
        self.note.close();
    }

    /// Simulates that the process was killed.
    #[cfg(test)]
    pub(super) fn forget_to_close(self) {
        let Self { note, .. } = self;
        note.unlock();
    }

    /// Handles the end of a command: moves new files away, restores changed ones, and reports both.
    pub(super) fn settle(&mut self) -> Vec<QuarantineReport> {
        let (now, mut reports) = self.look_everywhere();
        let mut gone: Vec<&PathBuf> = Vec::new();
        let mut renamed: BTreeSet<PathBuf> = BTreeSet::new();
        for (path, thing) in &now {
            let before = self.seen.get(path).cloned();
            let is_same = before.as_ref() == Some(thing);
            // What is below a path that was moved away is gone with it.
            if is_same || gone.iter().any(|it| path.starts_with(it)) {
                continue;
            }
            if self.may_stay(path, thing, &now) {
                self.keep_image(path, thing);
                self.seen.insert(path.clone(), thing.clone());
                continue;
            }
            let old = self.old_place(path, thing).filter(|_| before.is_none());
            if let Some(old) = old {
                // A renamed directory takes its protected files along, and they keep their content.
                self.seen.remove(&old);
                self.seen.insert(path.clone(), thing.clone());
                renamed.extend(self.home(path));
                continue;
            }
            gone.push(path);
            reports.extend(self.undo(path, before));
        }
        reports.extend(
            renamed.iter().map(|home| self.report_of(home, QuarantineAct::Renamed, None, None)),
        );
        reports.extend(self.missing(&now));
        self.stuck =
            self.stuck.take().or_else(|| reports.iter().find(|it| it.failed.is_some()).cloned());
        reports
    }

    /// Looks at all names, and also opens directories that the command made unreadable.
    fn look_everywhere(&mut self) -> (SeenThings, Vec<QuarantineReport>) {
        let mut opened: BTreeMap<PathBuf, Option<io::Error>> = BTreeMap::new();
        let now = loop {
            let now = self.looker.look(&self.workspace, &self.reach);
            let shut = self.looker.shut();
            // An opened directory can have further unreadable ones, so look again after each round.
            let is_new = |path: &Path| {
                let is_known = self.shut.get(path).is_some_and(|it| *it == stamp_of_own(path));
                let has_failed = opened.get(path).is_some_and(Option::is_some);
                shut.contains(path) && !is_known && !has_failed
            };
            let is_inside = |path: &Path| path.ancestors().skip(1).any(is_new);
            let new = shut.iter().filter(|path| is_new(path) && !is_inside(path));
            let new: Vec<PathBuf> = new.cloned().collect();
            if new.is_empty() {
                break now;
            }
            for path in new {
                let still = opened.contains_key(&path).then(|| why_shut(&path));
                let failed = still.or_else(|| open_up(&self.workspace, &path).err());
                if failed.is_some() {
                    // It stays in the map, so that it is reported once.
                    self.shut.insert(path.clone(), stamp_of_own(&path));
                }
                opened.insert(path, failed);
            }
        };
        let reports = opened
            .into_iter()
            .map(|(path, failed)| self.report_of(&path, QuarantineAct::Shut, None, failed));
        (now, reports.collect())
    }

    /// Returns whether something new is harmless, or not from the command.
    fn may_stay(&self, path: &Path, thing: &SeenThing, now: &SeenThings) -> bool {
        match thing {
            // A directory without files has no effect. Another run may have created it as a placeholder.
            SeenThing::Directory => {
                let below = now.range(path.to_owned()..).take_while(|(it, _)| it.starts_with(path));
                !self.seen.contains_key(path) && below.into_iter().all(|(_, it)| *it == *thing)
            }
            SeenThing::File { digest, .. } => {
                snapshot::is_harmless(path, thing)
                    || recording::is_own(&self.directory, path, digest, self.since)
            }
            SeenThing::Long(_) | SeenThing::Unread(_) | SeenThing::Link(_) | SeenThing::Other => {
                false
            }
        }
    }

    /// Returns the path before its directory was renamed, if the content is the same.
    fn old_place(&self, path: &Path, thing: &SeenThing) -> Option<PathBuf> {
        let home = self.home(path)?;
        let old_home = self.homes.get(&id(&home)?)?;
        let old = old_home.join(path.strip_prefix(&home).ok()?);
        let is_it = !self.is_directory(old_home) && self.seen.get(&old) == Some(thing);
        is_it.then_some(old)
    }

    /// Returns the directory that has the first part of a protected name.
    fn home(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.workspace).ok()?;
        let way: Vec<&Path> = below.ancestors().collect();
        let first = way.into_iter().rev().find(|it| why_protected(it).is_some()).unwrap_or(below);
        let is_whole = why_protected(Path::new(first.file_name()?)).is_some();
        let home = if is_whole { first.parent()? } else { first.parent()?.parent()? };
        Some(self.workspace.join(home))
    }

    /// Moves away what is at a path, and restores the original.
    fn undo(&mut self, path: &Path, before: Option<SeenThing>) -> Option<QuarantineReport> {
        let (kept, failed) = match self.take_away(path) {
            // Another run of the same workspace removed it first.
            Err(error) if error.kind() == io::ErrorKind::NotFound && before.is_none() => {
                return None;
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => (None, Some(error)),
            taken => {
                let put_back = before.as_ref().map(|before| self.put_back(path, before));
                (taken.ok(), put_back.and_then(Result::err))
            }
        };
        let Some(before) = before else {
            return Some(self.report_of(path, QuarantineAct::Made, kept, failed));
        };
        let was = failed.as_ref().and_then(|_| self.keep(path, &[(path.to_owned(), before)]));
        Some(QuarantineReport { was, ..self.report_of(path, QuarantineAct::Changed, kept, failed) })
    }

    /// Restores what is missing, unless it went with its directory.
    fn missing(&mut self, now: &SeenThings) -> Vec<QuarantineReport> {
        let lost = self.seen.iter().filter(|(path, _)| !now.contains_key(*path));
        let lost = lost.filter(|(path, _)| !self.is_there(path) || is_placeholder(path));
        let lost: Vec<(PathBuf, SeenThing)> =
            lost.map(|(path, thing)| (path.clone(), thing.clone())).collect();
        let mut reports = Vec::new();
        let mut went: BTreeMap<PathBuf, Vec<(PathBuf, SeenThing)>> = BTreeMap::new();
        for (path, thing) in lost {
            if self.is_there(&path) {
                reports.extend(self.undo(&path, Some(thing)));
            } else if self.around(&path).is_some_and(|around| !self.is_directory(&around)) {
                self.seen.remove(&path);
                went.entry(self.outermost(&path)).or_default().push((path, thing));
            } else if thing != SeenThing::Directory {
                // A directory is restored together with its files.
                let failed = self.put_back(&path, &thing).err();
                let lost = [(path, thing)];
                let [(path, _)] = &lost;
                let was = failed.as_ref().and_then(|_| self.keep(path, &lost));
                reports.push(QuarantineReport {
                    was,
                    ..self.report_of(path, QuarantineAct::Removed, None, failed)
                });
            }
        }
        reports.extend(went.into_iter().filter_map(|(top, lost)| self.went(&top, lost)));
        reports
    }

    /// Reports what went with a directory, which a command is allowed to remove or rename.
    fn went(&self, top: &Path, mut lost: Vec<(PathBuf, SeenThing)>) -> Option<QuarantineReport> {
        lost.retain(|(path, thing)| match thing {
            SeenThing::Directory => false,
            // Git creates these files again itself.
            SeenThing::File { digest, .. } => {
                let image = fs::read(self.directory.join(IMAGES).join(digest));
                !image.is_ok_and(|bytes| git::is_harmless(path, &bytes))
            }
            _ => true,
        });
        let (first, _) = lost.first()?;
        let why = self.report_of(first, QuarantineAct::Gone, None, None).why;
        let was = self.keep(top, &lost);
        Some(QuarantineReport { why, was, ..self.report_of(top, QuarantineAct::Gone, None, None) })
    }

    /// Keeps a copy of the original at or below a path, for the user who reads the report.
    fn keep(&self, top: &Path, things: &[(PathBuf, SeenThing)]) -> Option<PathBuf> {
        leftover::keep(&self.directory, top, things)
    }

    /// Returns whether something is at a path, with no link on the way.
    fn is_there(&self, path: &Path) -> bool {
        let way = path.ancestors().skip(1);
        let mut way = way.take_while(|it| it.starts_with(&self.workspace));
        let is_directory = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
        fs::symlink_metadata(path).is_ok() && way.all(is_directory)
    }

    /// Returns whether a directory is at a path, with no link on the way.
    fn is_directory(&self, path: &Path) -> bool {
        self.is_there(path) && fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())
    }

    /// Returns the outermost missing directory around a path.
    fn outermost(&self, path: &Path) -> PathBuf {
        let way = path.ancestors().skip(1).take_while(|it| *it != self.workspace);
        let gone = way.filter(|it| !self.is_directory(it));
        gone.last().unwrap_or(path).to_owned()
    }

    /// Returns the directory that must exist for a path to count as missing: the one around the outermost
    /// protected name, or the git directory for files of a repository.
    fn around(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.workspace).ok()?;
        let is_git = |path: &Path| path.file_name().is_some_and(|name| fold(name) == ".git");
        let mut way: Vec<&Path> = below.ancestors().collect();
        way.reverse();
        let mut protected = way.into_iter().filter(|it| why_protected(it).is_some());
        let first = protected.find(|it| !is_git(it)).unwrap_or(below);
        Some(self.workspace.join(first.parent()?))
    }

    fn report_of(
        &self,
        path: &Path,
        did: QuarantineAct,
        kept: Option<PathBuf>,
        failed: Option<io::Error>,
    ) -> QuarantineReport {
        let below = path.strip_prefix(&self.workspace).unwrap_or(path);
        let why = match did {
            QuarantineAct::Shut => "its content could not be read",
            QuarantineAct::Renamed => "they decide in their new place",
            _ => why_protected(below).unwrap_or(ProtectedKind::Repository.why()),
        };
        let here = below.as_os_str().is_empty();
        let path = if here { ".".to_owned() } else { below.display().to_string() };
        let failed = failed.map(|error| error.to_string());
        QuarantineReport { path, did, why, kept, was: None, failed }
    }

    /// Stores the content of a file, so that it can be restored.
    fn keep_image(&mut self, path: &Path, thing: &SeenThing) {
        let SeenThing::File { digest, .. } = thing else { return };
        if self.images.contains(digest) {
            return;
        }
        let images = self.directory.join(IMAGES);
        let kept =
            fs::create_dir_all(&images).and_then(|()| snapshot::bytes(path)).and_then(|bytes| {
                // The file was changed after its digest was taken, so the image would be wrong.
                if sha256(&bytes) != *digest {
                    return Err(io::Error::other("another process writes to it"));
                }
                let length = bytes.len() as u64;
                let left = self.room.checked_sub(length);
                self.room = left.ok_or_else(|| io::Error::other("there are too many of them"))?;
                fs::write(images.join(digest), bytes)
            });
        if kept.is_ok() {
            self.images.insert(digest.clone());
        }
    }

    /// Moves what is at a path to `taken`.
    fn take_away(&mut self, path: &Path) -> io::Result<PathBuf> {
        let taken = self.directory.join(TAKEN);
        fs::create_dir_all(&taken)?;
        let to = taken.join(numbered(self.taken, path));
        self.taken += 1;
        HeldPlace::new(&self.workspace, path)?.move_to(&to)?;
        Ok(to)
    }

    /// Restores the original of a path.
    fn put_back(&self, path: &Path, before: &SeenThing) -> io::Result<()> {
        let held = || HeldPlace::made(&self.workspace, path);
        match before {
            SeenThing::File { digest, mode } => {
                held()?.write(&fs::read(self.directory.join(IMAGES).join(digest))?, *mode)
            }
            SeenThing::Directory => held()?.directory(),
            SeenThing::Link(target) => held()?.link(Path::new(target)),
            SeenThing::Long(_) => {
                Err(io::Error::other(format!("it has more than {} MiB", LONGEST >> 20)))
            }
            SeenThing::Unread(_) => Err(io::Error::other("it could not be read")),
            SeenThing::Other => Err(io::Error::other("it was no file")),
        }
    }
}

/// Returns what identifies a directory across a rename.
fn id(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Returns a stamp of a directory, if it belongs to the user: commands cannot open any other.
fn stamp_of_own(path: &Path) -> Option<ChangeStamp> {
    let found = fs::symlink_metadata(path).ok()?;
    let is_own = found.uid() == agentry_posix::process::geteuid().as_raw();
    is_own.then(|| ChangeStamp::of(&found))
}

/// Returns why a directory cannot be read.
fn why_shut(path: &Path) -> io::Error {
    let found = fs::read_dir(path).and_then(|_| fs::symlink_metadata(path.join(".")));
    found.err().unwrap_or_else(|| io::Error::other("it is shut again and again"))
}

/// The longest name of a stored item, in bytes.
const LONGEST_NAME: usize = 100;

/// Returns a name for a stored item: a number, and as much of its original name as fits.
pub(super) fn numbered(number: usize, path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut out = format!("{number}-");
    for char in name.chars().map(|char| if char.is_control() { '_' } else { char }) {
        if out.len() + char.len_utf8() > LONGEST_NAME {
            break;
        }
        out.push(char);
    }
    out
}

/// The directory of the images, in that of a quarantine.
pub(super) const IMAGES: &str = "images";
/// The directory of the items that were moved away.
pub(super) const TAKEN: &str = "taken";
