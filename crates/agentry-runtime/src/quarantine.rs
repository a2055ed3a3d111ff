//! What commands must not make, and what no mount can keep them from making: a file inside of a
//! directory that must stay open, or below one that is made while they run.
//!
//! ```text
//! before the first command ─▶ look ─▶ what is there, with before-images    before.json, images/
//! after each command       ─▶ look ─▶ new: moved here, and the model is told      taken/
//!                                     changed or removed: put back
//! ```
//!
//! Between the two there is a window. `before.json` is locked as long as its run lives; what a killed
//! run left is settled by [`sweep`].

mod git;
mod hold;
mod look;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::commands::{Commands, Confining, Refused};
use crate::tool::{Started, Streams};
use hold::Held;
use look::{Looking, Seen, Thing};

/// The longest file of which a before-image is kept.
const MOST_OF_IMAGE: u64 = 4 << 20;

/// Commands after each of which is looked at what they made.
pub struct Quarantined {
    inner: Arc<dyn Commands>,
    looking: Looking,
    directory: PathBuf,
    quarantine: Mutex<Option<Quarantine>>,
    tell: Tell,
}

/// Tells the person what was taken away or put back.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

impl Quarantined {
    /// Looks after `inner` in a workspace, for an agent that is a file or a directory there. What it
    /// takes away goes to `directory`.
    pub fn new(
        inner: Arc<dyn Commands>,
        workspace: PathBuf,
        agent: PathBuf,
        directory: PathBuf,
        tell: Tell,
    ) -> Self {
        let looking = Looking { workspace, agent, closed: Vec::new() };
        Self { inner, looking, directory, quarantine: Mutex::new(None), tell }
    }
}

impl Commands for Quarantined {
    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: Streams,
    ) -> io::Result<Started> {
        let mut quarantine = self.quarantine.lock().unwrap_or_else(PoisonError::into_inner);
        if quarantine.is_none() {
            let looking = Looking { closed: self.inner.closed(), ..self.looking.clone() };
            *quarantine = Some(Quarantine::begin(looking, &self.directory)?);
        }
        self.inner.start(argv, directory, streams)
    }

    fn confined_by(&self) -> Confining {
        self.inner.confined_by()
    }

    fn closed(&self) -> Vec<PathBuf> {
        self.inner.closed()
    }

    fn settle(&self) -> Vec<String> {
        let mut quarantine = self.quarantine.lock().unwrap_or_else(PoisonError::into_inner);
        let said = quarantine.as_mut().map(Quarantine::settle).unwrap_or_default();
        drop(quarantine);
        said.iter().for_each(|line| (self.tell)(line));
        said
    }
}

impl Drop for Quarantined {
    fn drop(&mut self) {
        // What still runs ends first, so that nothing is made after the last look.
        self.inner = Arc::new(Refused("the run is over".to_owned()));
        let quarantine = self.quarantine.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut quarantine) = quarantine.take() {
            quarantine.settle().iter().for_each(|line| (self.tell)(line));
            quarantine.end();
        }
    }
}

/// Settles what killed runs left. `runs` has a directory for each.
pub fn sweep(runs: &Path) -> Vec<String> {
    let entries = fs::read_dir(runs).into_iter().flatten().filter_map(Result::ok);
    let mut said = Vec::new();
    for directory in entries.map(|entry| entry.path().join(DIRECTORY)) {
        if let Ok(Some(mut quarantine)) = Quarantine::left(&directory) {
            said.extend(quarantine.settle());
            quarantine.end();
        }
    }
    said
}

/// The directory in that of a run.
pub const DIRECTORY: &str = "quarantine";
const BEFORE: &str = "before.json";

/// What is compared with what.
struct Quarantine {
    state: Before,
    directory: PathBuf,
    /// Locked as long as this lives.
    file: File,
}

/// What was there, on the disk.
#[derive(Serialize, Deserialize)]
struct Before {
    looking: Looking,
    seen: Seen,
}

impl Quarantine {
    /// Looks at what is there now.
    fn begin(looking: Looking, directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let path = directory.join(BEFORE);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path)?;
        file.lock()?;
        let seen = looking.look(&BTreeSet::new());
        let mut quarantine = Self {
            state: Before { looking, seen: Seen::new() },
            directory: directory.to_owned(),
            file,
        };
        for (path, thing) in seen {
            quarantine.accept(&path, thing);
        }
        quarantine.write()?;
        Ok(quarantine)
    }

    /// That of a run that was killed, if this is one.
    fn left(directory: &Path) -> io::Result<Option<Self>> {
        let path = directory.join(BEFORE);
        let mut file = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        if file.try_lock().is_err() {
            return Ok(None);
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let state = serde_json::from_str(&text).map_err(io::Error::other)?;
        Ok(Some(Self { state, directory: directory.to_owned(), file }))
    }

    /// Takes away what is new, puts back what is not as it was, and says so.
    fn settle(&mut self) -> Vec<String> {
        let known: BTreeSet<PathBuf> = self.state.seen.keys().cloned().collect();
        let now = self.state.looking.look(&known);
        let mut said = Vec::new();
        let mut changed = false;
        let mut gone: Vec<PathBuf> = Vec::new();
        for (path, thing) in &now {
            let before = self.state.seen.get(path).cloned();
            if before.as_ref() == Some(thing) || gone.iter().any(|it| path.starts_with(it)) {
                continue;
            }
            changed = true;
            if look::is_harmless(path, thing) {
                self.accept(path, thing.clone());
                continue;
            }
            gone.push(path.clone());
            said.push(match (self.take_away(path), before) {
                (Err(error), _) => format!("`{}` must not be there: {error}", path.display()),
                (Ok(to), None) => {
                    let (path, to) = (path.display(), to.display());
                    format!("`{path}` was moved to `{to}`: commands must not make it")
                }
                (Ok(_), Some(before)) => self.put_back(path, &before),
            });
        }
        let missing = known.iter().filter(|path| !now.contains_key(*path));
        for path in missing {
            let Some(before) = self.state.seen.get(path).cloned() else { continue };
            changed = true;
            if matches!(before, Thing::Directory) || !path.parent().is_some_and(Path::is_dir) {
                self.state.seen.remove(path);
            } else {
                said.push(self.put_back(path, &before));
            }
        }
        if changed && let Err(error) = self.write() {
            said.push(format!("what was there was not written down: {error}"));
        }
        said
    }

    /// Takes what is at a path as what belongs there.
    fn accept(&mut self, path: &Path, thing: Thing) {
        if let Thing::File { digest } = &thing
            && let Ok(bytes) = look::bytes(path, MOST_OF_IMAGE)
        {
            let images = self.directory.join("images");
            let _ =
                fs::create_dir_all(&images).and_then(|()| fs::write(images.join(digest), bytes));
        }
        self.state.seen.insert(path.to_owned(), thing);
    }

    /// Moves what is at a path to where nobody reads it.
    fn take_away(&self, path: &Path) -> io::Result<PathBuf> {
        let taken = self.directory.join("taken");
        fs::create_dir_all(&taken)?;
        let number = fs::read_dir(&taken)?.count();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = taken.join(format!("{number}-{name}"));
        Held::new(&self.state.looking.workspace, path)?.move_to(&to)?;
        Ok(to)
    }

    /// Puts back what was at a path.
    fn put_back(&self, path: &Path, before: &Thing) -> String {
        let done = Held::new(&self.state.looking.workspace, path).and_then(|held| match before {
            Thing::File { digest } => {
                held.write(&fs::read(self.directory.join("images").join(digest))?)
            }
            Thing::Link(target) => held.link(target),
            Thing::Directory | Thing::Other => Err(io::Error::other("it was no file")),
        });
        let path = path.display();
        match done {
            Ok(()) => format!("`{path}` was put back as it was: commands must not change it"),
            Err(error) => format!("`{path}` was changed and cannot be put back: {error}"),
        }
    }

    /// Writes down what is there.
    fn write(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        serde_json::to_writer(&self.file, &self.state)?;
        self.file.flush()
    }

    /// There is nothing to be settled any more. What was taken away stays.
    fn end(self) {
        let _ = fs::remove_file(self.directory.join(BEFORE));
        let _ = fs::remove_dir_all(self.directory.join("images"));
        let _ = fs::remove_dir(&self.directory);
    }
}

#[cfg(test)]
mod tests;
