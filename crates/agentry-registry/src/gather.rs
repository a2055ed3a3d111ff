//! Gathers the files to push: every file that was read while the agent was compiled, and everything
//! beside its `SKILL.md` files. The result is compiled once more on its own, which proves that another
//! machine gets the same agent.

use std::collections::{BTreeMap, BTreeSet};

use agentry_compile::policy::commands::secrets::is_secret;
use agentry_compile::text::credentials;
use agentry_compile::text::digest;
use agentry_compile::text::path::{absolute, join, split};
use agentry_compile::text::{Span, limits};
use agentry_compile::{
    AgentDigest, CompiledAgent, EntryKind, FoundAgent, World, hash, read, resolved,
};

use crate::error::StoreError;
use crate::manifest::{ObjectFile, ObjectManifest};
use crate::object_world::ObjectWorld;
use crate::path::below;
use crate::reference::{fits_name, fits_version};
use crate::watched_world::{UsageRecorder, WatchedReads};

/// The version of an agent whose format has no default version.
const NO_VERSION: &str = "0.0.0";
/// The most bytes of all files together.
pub(crate) const MOST_BYTES: usize = 64 * 1024 * 1024;
/// Directories of a home that hold data of users and runs.
const PRIVATE: &[&str] = &["users", "runs", "cache", "logs"];
/// Directories that are never taken along with a skill.
const NEVER: &[&str] = &[".git", "node_modules"];
/// The configuration file of a workspace.
const CONFIG: &str = "agentry.toml";

/// An agent ready to be pushed.
#[derive(Debug)]
pub struct GatheredObject {
    /// The manifest. `created` is empty until the push.
    pub manifest: ObjectManifest,
    /// Its files, in the order of the manifest.
    pub files: Vec<(String, Vec<u8>)>,
    /// The paths of files whose meaning is in the digest.
    pub(crate) covered: Vec<String>,
}

impl GatheredObject {
    /// The digest of the agent with its files moved to the paths that `place` returns. `None` if a file has no place.
    pub fn digest_at(
        &self,
        world: &dyn World,
        place: impl Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let files = self.files.iter().map(|(path, bytes)| Some((place(path)?, bytes.as_slice())));
        let files: Vec<_> = files.collect::<Option<_>>()?;
        let fetch = |reference: &_| world.services().fetch(reference);
        Some(
            ObjectWorld::new(files, &fetch)
                .digest(&place(&self.manifest.main)?, self.manifest.format),
        )
    }
}

/// Why an agent cannot be pushed.
#[derive(Debug)]
pub enum GatherError {
    /// It has errors.
    Unusable(Box<CompiledAgent>),
    /// It holds secrets.
    Secrets(Vec<FoundSecret>),
    /// The store cannot hold it.
    Refused(StoreError),
}

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundSecret {
    /// `path:line:column`, or only the path if the whole file is a secret.
    pub place: String,
    /// The kind of secret.
    pub kind: &'static str,
}

impl From<StoreError> for GatherError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

/// Gathers the files of an agent. `version` applies only if the definition declares none.
pub fn gather(
    world: &dyn World,
    found: &FoundAgent,
    version: Option<&str>,
) -> Result<GatheredObject, GatherError> {
    let recorder = UsageRecorder::new(world);
    let compiled = read(&recorder, found);
    if compiled.has_errors() {
        return Err(GatherError::Unusable(Box::new(compiled)));
    }
    let hashed = hash(&recorder, &compiled);
    let (name, version) = called(&compiled, version)?;
    let WatchedReads { files, bases } = recorder.asked();
    // `world`, not `recorder`: what is read from here on is not part of the digest.
    let mut gathering = ObjectGathering::new(world, &compiled);
    gathering.take(files)?;
    gathering.skills()?;
    gathering.private()?;
    gathering.secrets(&compiled)?;
    let (main, placed) = gathering.placed(&hashed)?;
    let read = placed.iter().filter(|(_, taken)| taken.was_read);
    let covered = read.map(|(path, _)| path.clone()).collect();
    let files: Vec<_> =
        placed.into_iter().map(|(path, taken)| (path, taken.bytes.clone())).collect();
    let file = |(path, bytes): &(String, Vec<u8>)| ObjectFile {
        path: path.clone(),
        size: bytes.len() as u64,
        sha256: digest::of(bytes),
    };
    let description = &compiled.agent.identity.description;
    let manifest = ObjectManifest {
        digest: hashed.full,
        short: hashed.short,
        name,
        version,
        description: description.as_ref().map_or(String::new(), |text| text.value.clone()),
        format: found.format,
        main,
        created: String::new(),
        bases: bases.into_iter().collect(),
        files: files.iter().map(file).collect(),
    };
    match manifest.problem() {
        Some(why) => {
            Err(StoreError::Unfit(format!("`{}` cannot be pushed: {why}", found.path)).into())
        }
        None => Ok(GatheredObject { manifest, files, covered }),
    }
}

/// The name and version under which the agent is stored.
fn called(compiled: &CompiledAgent, given: Option<&str>) -> Result<(String, String), StoreError> {
    let identity = &compiled.agent.identity;
    let Some(name) = identity.name.as_ref().map(|name| name.value.clone()) else {
        return Err(StoreError::Unfit(format!("`{}` has no name", compiled.found.path)));
    };
    fits_name(&name)?;
    let declared = identity.version.as_ref().map(|version| version.value.as_str());
    if let (Some(declared), Some(given)) = (declared, given.filter(|given| declared != Some(given)))
    {
        return Err(StoreError::Unfit(format!(
            "`{}` is version `{declared}`, not `{given}`",
            compiled.found.path
        )));
    }
    // The same default that `show` prints.
    let default = || resolved(compiled).identity.version.map(|version| version.value);
    let version = declared.or(given).map(str::to_owned).or_else(default);
    let version = version.unwrap_or_else(|| NO_VERSION.to_owned());
    fits_version(&version)?;
    Ok((name, version))
}

/// The files of an object while they are gathered, by normalised absolute path.
struct ObjectGathering<'w> {
    world: &'w dyn World,
    found: &'w FoundAgent,
    /// The agent's directory and the root of its workspace, normalised and absolute.
    dir: String,
    root: String,
    files: BTreeMap<String, TakenFile>,
    /// The bytes of all files.
    total: usize,
}

/// Files with their paths in the object.
type ObjectPaths<'g> = Vec<(String, &'g TakenFile)>;

struct TakenFile {
    bytes: Vec<u8>,
    /// Whether the compiler read it, so that the digest depends on it.
    was_read: bool,
}

impl<'w> ObjectGathering<'w> {
    fn new(world: &'w dyn World, compiled: &'w CompiledAgent) -> Self {
        let full = |path: &str| absolute(&world.absolute(path));
        let (dir, root) = (full(&compiled.found.dir), full(&compiled.workspace));
        Self { world, found: &compiled.found, dir, root, files: BTreeMap::new(), total: 0 }
    }

    fn refuse(&self, why: &str) -> StoreError {
        StoreError::Unfit(format!("`{}` cannot be pushed: {why}", self.found.path))
    }

    /// Whether a file lies in the agent's directory or its workspace.
    fn is_inside(&self, path: &str) -> bool {
        below(&self.dir, path).or(below(&self.root, path)).is_some()
    }

    /// Adds the files that the compiler asked for.
    fn take(&mut self, asked: BTreeMap<String, Option<Vec<u8>>>) -> Result<(), StoreError> {
        let own = self
            .world
            .machine()
            .user_config
            .clone()
            .map(|path| absolute(&self.world.absolute(&path)));
        for (path, bytes) in asked {
            let full = absolute(&self.world.absolute(&path));
            // The user's configuration is read in every compilation but is not part of the agent.
            if own.as_ref() == Some(&full) {
                continue;
            }
            match bytes {
                Some(bytes) if self.is_inside(&full) => {
                    self.insert(full, TakenFile { bytes, was_read: true })?;
                }
                Some(_) => {
                    let why = format!(
                        "`{path}` lies outside its workspace `{}`; push the base first, and name it by \
                         `name@version`",
                        self.root
                    );
                    return Err(self.refuse(&why));
                }
                // Its existence was checked, but it was not read: it is taken along.
                None if self.is_inside(&full) => self.carry(&full)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Adds a file that the compiler did not read.
    fn carry(&mut self, full: &str) -> Result<(), StoreError> {
        if self.files.contains_key(full) {
            return Ok(());
        }
        let root = if below(&self.root, full).is_some() { &self.root } else { &self.dir };
        let bytes = self.world.read(root, full, limits::FILE_BYTES);
        let bytes = bytes.map_err(|error| self.refuse(&format!("`{full}`: {error}")))?;
        self.insert(full.to_owned(), TakenFile { bytes, was_read: false })
    }

    /// Adds a file, unless the object would become too large.
    fn insert(&mut self, full: String, taken: TakenFile) -> Result<(), StoreError> {
        self.total = self.total.saturating_add(taken.bytes.len());
        self.files.insert(full, taken);
        if self.files.len() > limits::FILES || self.total > MOST_BYTES {
            return Err(self.refuse(&format!(
                "it has more than {} files or {MOST_BYTES} bytes",
                limits::FILES
            )));
        }
        Ok(())
    }

    /// Adds everything beside each `SKILL.md`.
    fn skills(&mut self) -> Result<(), StoreError> {
        let is_skill = |path: &&String| path.ends_with("/SKILL.md");
        let dirs: Vec<String> =
            self.files.keys().filter(is_skill).map(|path| split(path).0.to_owned()).collect();
        let mut open: Vec<(String, usize)> = dirs.into_iter().map(|dir| (dir, 0)).collect();
        while let Some((dir, depth)) = open.pop() {
            let root = if below(&self.root, &dir).is_some() { &self.root } else { &self.dir };
            let entries = self.world.list(root, &dir);
            for entry in entries.map_err(|error| self.refuse(&format!("`{dir}`: {error}")))? {
                let full = format!("{dir}/{}", entry.name);
                match entry.kind {
                    EntryKind::Directory if NEVER.contains(&entry.name.as_str()) => {}
                    EntryKind::Directory if depth < limits::DEPTH => open.push((full, depth + 1)),
                    EntryKind::File => self.carry(&full)?,
                    EntryKind::Directory
                    | EntryKind::Loop
                    | EntryKind::Other
                    | EntryKind::Missing => {
                        return Err(
                            self.refuse(&format!("`{full}` is not a file that can be taken along"))
                        );
                    }
                }
            }
        }
        Ok(())
    }

    /// Refuses files of users and runs.
    fn private(&self) -> Result<(), StoreError> {
        let is_private = |path: &&String| {
            let rest = below(&self.dir, path).or(below(&self.root, path)).unwrap_or_default();
            let first = rest.split_once('/').map(|(first, _)| first.to_lowercase());
            first.is_some_and(|first| PRIVATE.contains(&first.as_str()))
        };
        match self.files.keys().find(is_private) {
            Some(path) => {
                let why =
                    format!("`{path}` lies among users, runs, caches or logs, which stay here");
                Err(self.refuse(&why))
            }
            None => Ok(()),
        }
    }

    /// Refuses secrets in any of the files.
    fn secrets(&self, compiled: &CompiledAgent) -> Result<(), GatherError> {
        let mut found = Vec::new();
        let hidden: Vec<_> = compiled.sources.hidden().collect();
        let is_whole = |span: &Span| {
            let within = |other: &Span| {
                other.file == span.file
                    && other != span
                    && span.start <= other.start
                    && other.end <= span.end
            };
            hidden.iter().any(within)
        };
        // Where a hidden value contains a recognised token, only the token is reported.
        for span in hidden.iter().copied().filter(|span| !is_whole(span)) {
            let at = compiled.sources.start(span);
            let place = format!("{}:{}:{}", compiled.sources.path(span), at.line, at.column);
            found.push(FoundSecret { place, kind: "a secret" });
        }
        let read: BTreeSet<String> = compiled
            .sources
            .iter()
            .map(|source| absolute(&self.world.absolute(&source.path)))
            .collect();
        for (path, taken) in &self.files {
            let shown = below(&self.root, path).unwrap_or(path);
            if let Some(kind) = is_secret(&format!("/{shown}"), None) {
                found.push(FoundSecret { place: shown.to_owned(), kind });
            }
            // The compiler already looked for credentials in the files it read.
            if read.contains(path) {
                continue;
            }
            let text = String::from_utf8_lossy(&taken.bytes);
            for (kind, range) in credentials::find(&text) {
                let at = agentry_compile::text::source::position(&text, range.start);
                let place = format!("{shown}:{}:{}", at.line, at.column);
                found.push(FoundSecret { place, kind });
            }
        }
        found.sort();
        found.dedup();
        if found.is_empty() { Ok(()) } else { Err(GatherError::Secrets(found)) }
    }

    /// The main file and all files with their paths in the object. Takes the first layout in which the
    /// agent keeps its digest; the shortest paths come first.
    fn placed(&self, hashed: &AgentDigest) -> Result<(String, ObjectPaths<'_>), StoreError> {
        // Some formats take the agent's name from its directory, so that layout is tried first.
        let named = self.dir.rsplit('/').next().unwrap_or_default();
        let is_file = [".agent", ".agent.md"].iter().any(|end| self.found.main.ends_with(end));
        let layouts = [
            (self.dir.as_str(), if is_file { "" } else { named }),
            (self.dir.as_str(), ""),
            (self.root.as_str(), ""),
        ];
        // `agentry.toml` is included only if the digest depends on it.
        for with_config in [false, true] {
            for (from, prefix) in layouts {
                let Some((main, files)) = self.layout(from, prefix, with_config) else { continue };
                let fetch = |reference: &_| self.world.services().fetch(reference);
                let bytes =
                    files.iter().map(|(path, taken)| (path.clone(), taken.bytes.as_slice()));
                let world = ObjectWorld::new(bytes, &fetch);
                if world.digest(&main, self.found.format) == hashed.full {
                    return Ok((main, files));
                }
            }
        }
        Err(self.refuse("taken out of its workspace it would be another agent"))
    }

    /// The main file and all files relative to `from`, below `prefix`. `None` if a file lies outside `from`.
    fn layout(
        &self,
        from: &str,
        prefix: &str,
        with_config: bool,
    ) -> Option<(String, ObjectPaths<'_>)> {
        let place = |path: &str| Some(join(prefix, below(from, path)?));
        let config = format!("{}/{CONFIG}", self.root.trim_end_matches('/'));
        let wanted = self.files.iter().filter(|(path, _)| with_config || **path != config);
        let mut files: ObjectPaths<'_> =
            wanted.map(|(path, taken)| Some((place(path)?, taken))).collect::<Option<_>>()?;
        files.sort_by(|left, right| left.0.cmp(&right.0));
        let dir = self.dir.trim_end_matches('/');
        Some((place(&format!("{dir}/{}", self.found.main))?, files))
    }
}
