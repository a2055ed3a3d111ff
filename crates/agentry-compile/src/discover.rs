//! Finds agents under the paths that the user names.

use std::collections::{BTreeMap, HashSet};

use agentry_formats::{DetectedFile, info};
use agentry_model::Format;
use agentry_targets::Target;
use agentry_text::path::{join, split};
use agentry_text::{Diagnostic, SourceFiles, Span, limits};
use rayon::prelude::*;

use crate::detect::{by_name, is_main_file, is_sign, is_single_file, main_files, sign_above};
use crate::harness::{self, FoundHarnessFile, HarnessCollection};
use crate::home::{self, HomeReceipt};
use crate::owner::{owner_above, owners};
use crate::rules::{AMBIGUOUS_DIRECTORY, UNREADABLE};
use crate::world::{EntryKind, WalkedPath, World};

/// An agent that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundAgent {
    /// The path as shown to the user: the file or the directory.
    pub path: String,
    /// The agent's directory.
    pub dir: String,
    /// Its main file, relative to the directory.
    pub main: String,
    /// Its format.
    pub format: Format,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct AgentDiscovery {
    /// The agents, sorted by path.
    pub agents: Vec<FoundAgent>,
    /// The files of harnesses, sorted by path; only [`discover_all`] looks for them.
    pub harness: Vec<FoundHarnessFile>,
    /// The receipts in AgentFS homes, sorted by path.
    pub receipts: Vec<HomeReceipt>,
    /// Findings about paths that were ambiguous or could not be read.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that the findings refer to.
    pub sources: SourceFiles,
    /// Named paths that do not exist.
    pub missing: Vec<String>,
    /// Named files that are not agents.
    pub no_agents: Vec<String>,
    /// Named directories without agents.
    pub empty: Vec<String>,
    /// Named files of a harness in which nothing is checked.
    pub unchecked: Vec<String>,
}

/// How the files of a search are read, whatever their names are.
#[derive(Debug, Clone, Copy)]
pub enum SearchAs {
    /// As definitions of a format.
    Format(Format),
    /// As agents of a harness.
    Harness(&'static Target),
}

/// Finds the agents at and below `paths`. A path that is named counts as an agent on weaker signs than
/// one that is found by the search; `format` overrides both. The search skips paths for which
/// `exclude` is true.
pub fn discover(
    world: &dyn World,
    paths: &[String],
    format: Option<Format>,
    exclude: &(dyn Fn(&str) -> bool + Sync),
) -> AgentDiscovery {
    let reads = SearchReads { format, harness: None, is_whole: false };
    run(AgentSearch { world, reads, exclude, out: AgentDiscovery::default() }, paths)
}

/// Finds agents as [`discover`] does, and the files of harnesses. A named file may be any file of an agent.
pub fn discover_all(
    world: &dyn World,
    paths: &[String],
    reads: Option<SearchAs>,
    exclude: &(dyn Fn(&str) -> bool + Sync),
) -> AgentDiscovery {
    let (format, harness) = match reads {
        None => (None, None),
        Some(SearchAs::Format(format)) => (Some(format), None),
        Some(SearchAs::Harness(target)) => (None, Some(target)),
    };
    let reads = SearchReads { format, harness, is_whole: true };
    run(AgentSearch { world, reads, exclude, out: AgentDiscovery::default() }, paths)
}

fn run(mut search: AgentSearch<'_>, paths: &[String]) -> AgentDiscovery {
    let world = search.world;
    for path in paths {
        match world.kind(path) {
            EntryKind::Missing => search.out.missing.push(path.clone()),
            EntryKind::File | EntryKind::Loop | EntryKind::Other => search.named_file(path),
            EntryKind::Directory => search.directory(path),
        }
    }
    search.out.agents.sort();
    search.out.agents.dedup();
    search.out.harness.sort_by(|one, other| one.path.cmp(&other.path));
    search.out.harness.dedup_by(|one, other| one.path == other.path);
    search.out.without_owned_skills();
    let receipts = std::mem::take(&mut search.out.receipts);
    search.out.receipts = home::of_homes(receipts, &search.out.agents);
    search.out
}

/// The agent at `path`, without a search below it, or why there is none.
pub fn at(world: &dyn World, path: &str) -> Result<FoundAgent, String> {
    let reads = SearchReads { format: None, harness: None, is_whole: false };
    let mut search =
        AgentSearch { world, reads, exclude: &|_| false, out: AgentDiscovery::default() };
    match world.kind(path) {
        EntryKind::Missing => return Err("does not exist".to_owned()),
        EntryKind::File | EntryKind::Loop | EntryKind::Other => search.named_file(path),
        EntryKind::Directory => drop(search.named_directory(path.trim_end_matches('/'))),
    }
    let AgentDiscovery { mut agents, diagnostics, .. } = search.out;
    match (agents.pop(), diagnostics.into_iter().next(), world.kind(path)) {
        (Some(found), ..) => Ok(found),
        (None, Some(diagnostic), _) => Err(format!("cannot be used: {}", diagnostic.message)),
        (None, None, EntryKind::Directory) => Err("is a directory without an agent".to_owned()),
        (None, None, _) => Err("is not an agent definition by its name".to_owned()),
    }
}

/// What a search looks for.
#[derive(Clone, Copy)]
struct SearchReads {
    /// The only format.
    format: Option<Format>,
    /// The only harness.
    harness: Option<&'static Target>,
    /// Whether files of harnesses count, and a named file may belong to an agent.
    is_whole: bool,
}

impl AgentDiscovery {
    /// Leaves out skills that are checked with the agent that they belong to.
    fn without_owned_skills(&mut self) {
        let whole = self.agents.iter().filter(|found| !is_single_file(found.format, &found.main));
        let dirs: HashSet<String> = whole.map(|found| format!("{}/skills", found.dir)).collect();
        let is_owned = |path: &str| {
            let mut dir = split(path).0;
            while !dir.is_empty() && dir != "/" {
                if dirs.contains(dir) || (dir == "skills" && dirs.contains("/skills")) {
                    return true;
                }
                dir = split(dir).0;
            }
            false
        };
        self.harness.retain(|found| {
            !matches!(found.kind, agentry_check::harness::HarnessFileKind::Skill)
                || !is_owned(&found.path)
        });
    }
}

struct AgentSearch<'w> {
    world: &'w dyn World,
    reads: SearchReads,
    exclude: &'w (dyn Fn(&str) -> bool + Sync),
    out: AgentDiscovery,
}

impl AgentSearch<'_> {
    fn named_file(&mut self, path: &str) {
        let by_name = self.reads.harness.is_none().then(|| by_name(path)).flatten();
        let Some(format) = self.reads.format.or(by_name) else {
            return self.other_file(path);
        };
        // Some endings are shared with files of other programs, so the content decides.
        let is_doubtful = self.reads.format.is_none() && info(format).files.shares_ending;
        if is_doubtful && !is_agent(self.world, path, format, false) {
            return self.other_file(path);
        }
        let (dir, name) = split(path);
        self.add(path, dir, name, format);
    }

    /// A named file that is no definition by itself: a file of a harness, or a part of an agent.
    fn other_file(&mut self, path: &str) {
        if !self.reads.is_whole {
            return self.out.no_agents.push(path.to_owned());
        }
        let world = self.world;
        let is_any = self.reads.harness.is_none();
        // A skill in the directory of an agent is a part of that agent.
        if let Some(found) = is_any.then(|| owner_above(world, path)).flatten() {
            return self.out.agents.push(found);
        }
        let of_harness = harness::at(world, path, self.reads.harness);
        if let Some(found) = of_harness.or_else(|| harness::skill_above(world, path)) {
            return self.out.harness.push(found);
        }
        let owners = owners(world, path);
        match (owners.is_empty(), harness::is_beside(path)) {
            (false, _) => self.out.agents.extend(owners),
            (true, true) => self.out.unchecked.push(path.to_owned()),
            (true, false) => self.out.no_agents.push(path.to_owned()),
        }
    }

    fn directory(&mut self, path: &str) {
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        let before = self.count();
        if let Some(target) = self.reads.harness {
            self.all_of_harness(path, target);
        } else if !self.named_directory(path) {
            self.search(path);
        } else if self.looks_for_harnesses() {
            self.harnesses_below(path);
        }
        if let Some(format) = self.reads.format.filter(|_| before == self.count()) {
            self.all_of_format(path, format);
        }
        // With `--as`, a directory without a main file is an agent too: its reader reports what is missing.
        if let Some(format) = self.reads.format.filter(|_| before == self.count())
            && let Some(main) = info(format).files.mains.first()
        {
            self.add(path, path, main, format);
        }
        if before == self.count() {
            self.out.empty.push(path.to_owned());
        }
    }

    fn looks_for_harnesses(&self) -> bool {
        self.reads.is_whole && self.reads.format.is_none()
    }

    /// Adds the files of harnesses in the directory of an agent.
    fn harnesses_below(&mut self, dir: &str) {
        let mut found = HarnessCollection::default();
        self.files_below(dir, &|_| true).iter().for_each(|path| found.add(path));
        self.out.harness.extend(found.found(self.world));
    }

    /// With `--as HARNESS`, every file below a directory with the ending of its agents is one.
    fn all_of_harness(&mut self, dir: &str, target: &'static Target) {
        for path in self.files_below(dir, &|path| harness::is_named_as(target, path)) {
            self.out.harness.extend(harness::at(self.world, &path, Some(target)));
        }
    }

    /// With `--as FORMAT`, every file below a directory with an extension of the format is an agent, if no
    /// file has a name of the format.
    fn all_of_format(&mut self, dir: &str, format: Format) {
        let files = &info(format).files;
        let Some(ending) = files.ending else { return };
        let extension = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
        let known: Vec<&str> = files.mains.iter().copied().chain([ending]).map(extension).collect();
        let fits = |path: &str| {
            path.rsplit_once('.').is_some_and(|(_, it)| known.contains(&it))
                && !path.ends_with("README.md")
        };
        for path in self.files_below(dir, &fits) {
            let (dir, name) = split(&path);
            self.add(&path, dir, name, format);
        }
    }

    /// The files below a directory that fit, sorted.
    fn files_below(&self, dir: &str, fits: &(dyn Fn(&str) -> bool + Sync)) -> Vec<String> {
        let mut found = Vec::new();
        let exclude = self.exclude;
        self.world.walk(dir, &mut |walked| match walked {
            WalkedPath::File(path) if !exclude(path) && fits(path) => found.push(path.to_owned()),
            WalkedPath::File(_) | WalkedPath::Unnamed(_) | WalkedPath::Failed(..) => {}
        });
        found.sort();
        found
    }

    /// The number of results so far.
    fn count(&self) -> usize {
        self.out.agents.len() + self.out.diagnostics.len() + self.out.harness.len()
    }

    /// Adds the directory itself as an agent, if it has a main file. Returns whether the search ends here.
    fn named_directory(&mut self, path: &str) -> bool {
        let names = self.names(path);
        let mains = |(main, _): &(&str, Format)| names.iter().any(|name| name == main);
        let wanted =
            |(_, format): &(&str, Format)| self.reads.format.is_none_or(|only| only == *format);
        let here: Vec<_> = main_files().filter(mains).filter(wanted).collect();
        let Some((main, format)) = self.only(path, &here) else { return !here.is_empty() };
        // The root of a workspace may have an unrelated `agent.json` or `agent.toml`.
        let files = &info(format).files;
        let has_sign = files.has_sign(&names);
        let is_sure = has_sign || files.needs_sign;
        if self.reads.format.is_none() && !is_agent(self.world, &join(path, main), format, is_sure)
        {
            return false;
        }
        self.add(path, path, main, format);
        // A main file without a sign may lie above directories of agents, so the search continues.
        has_sign || !files.needs_sign
    }

    /// The main file of a directory. Reports a directory with main files of two formats.
    fn only(
        &mut self,
        path: &str,
        here: &[(&'static str, Format)],
    ) -> Option<(&'static str, Format)> {
        let (first, format) = here.first().copied()?;
        if here.iter().all(|(_, other)| *other == format) {
            return Some((first, format));
        }
        let names: Vec<_> = here.iter().map(|(name, _)| format!("`{name}`")).collect();
        let source = self.out.sources.add(path, "");
        let message =
            format!("this directory has {}: it could be any of them", names.join(" and "));
        let mut found = Diagnostic::new(&AMBIGUOUS_DIRECTORY, Span::start_of(source.id), message);
        found.hint("keep one, or pass the format with `--as`");
        self.out.diagnostics.push(found);
        None
    }

    fn search(&mut self, root: &str) {
        let mut met = MetFiles::default();
        let mut failed = Vec::new();
        let mut receipts = Vec::new();
        let mut of_harnesses = HarnessCollection::default();
        let with_harnesses = self.looks_for_harnesses();
        let exclude = self.exclude;
        self.world.walk(root, &mut |walked| match walked {
            WalkedPath::Failed(path, why) => failed.push((path.to_owned(), why)),
            // It looks like an agent but has no usable path, so it is reported.
            WalkedPath::Unnamed(path) if by_name(path).is_some() && !exclude(path) => {
                failed.push((path.to_owned(), "its name is not UTF-8".to_owned()));
            }
            WalkedPath::Unnamed(_) => {}
            WalkedPath::File(path) if exclude(path) => {}
            WalkedPath::File(path) => {
                receipts.extend(home::receipt(path));
                if with_harnesses {
                    of_harnesses.add(path);
                }
                met.add(path);
            }
        });
        self.out.receipts.append(&mut receipts);
        // A walk has no fixed order, but the report must have one.
        failed.sort();
        failed.into_iter().for_each(|(path, why)| self.failed(&path, &why));
        self.met_directories(met.directories);
        self.met_files(&met.single);
        self.out.harness.extend(of_harnesses.found(self.world));
    }

    fn failed(&mut self, path: &str, why: &str) {
        let source = self.out.sources.add(path, "");
        let message = format!("this cannot be looked into: {why}");
        let found = Diagnostic::new(&UNREADABLE, Span::start_of(source.id), message);
        self.out.diagnostics.push(found);
    }

    fn met_files(&mut self, paths: &[String]) {
        let (world, wanted) = (self.world, self.reads.format);
        let formats = each(paths, |path| {
            let format = by_name(path).filter(|format| wanted.is_none_or(|only| only == *format));
            format.filter(|format| is_agent(world, path, *format, false))
        });
        for (path, format) in paths.iter().zip(formats) {
            let (dir, name) = split(path);
            format.into_iter().for_each(|format| self.add(path, dir, name, format));
        }
    }

    fn met_directories(&mut self, directories: BTreeMap<String, Vec<String>>) {
        let (world, wanted) = (self.world, self.reads.format);
        let directories: Vec<_> = directories.into_iter().collect();
        let mains = each(&directories, |(dir, names)| {
            let is_main = |(main, format): &(&str, Format)| {
                let has_sign = info(*format).files.has_sign(names);
                names.iter().any(|name| name == main)
                    && wanted.is_none_or(|only| only == *format)
                    && is_agent(world, &join(dir, main), *format, has_sign)
            };
            main_files().filter(is_main).collect::<Vec<_>>()
        });
        for ((dir, _), here) in directories.iter().zip(mains) {
            if let Some((main, format)) = self.only(dir, &here) {
                self.add(if dir.is_empty() { "." } else { dir }, dir, main, format);
            }
        }
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let entries = self.world.list(dir, dir).unwrap_or_default();
        entries.into_iter().map(|entry| entry.name).collect()
    }

    fn add(&mut self, path: &str, dir: &str, main: &str, format: Format) {
        let (path, dir, main) = (path.to_owned(), dir.to_owned(), main.to_owned());
        self.out.agents.push(FoundAgent { path, dir, main, format });
    }
}

/// Whether the content of a file confirms the format of its name. An unreadable file counts as an agent,
/// so that its reader reports the problem.
pub(crate) fn is_agent(world: &dyn World, path: &str, format: Format, has_sign: bool) -> bool {
    let load = || {
        let bytes = world.peek(split(path).0, path, limits::FILE_BYTES).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?;
        Some(SourceFiles::default().add(path, text.trim_start_matches('\u{feff}')))
    };
    (info(format).files.is_agent)(&DetectedFile { path, has_sign, load: &load })
}

/// The results of `look` for all items, in parallel if there are many.
fn each<T: Sync, U: Send>(items: &[T], look: impl Fn(&T) -> U + Send + Sync) -> Vec<U> {
    // For a few items, threads cost more than they save.
    const FEW: usize = 8;
    if items.len() < FEW {
        items.iter().map(look).collect()
    } else {
        items.par_iter().map(look).collect()
    }
}

/// The files that a walk met, as far as they matter.
#[derive(Default)]
struct MetFiles {
    /// Directories with their main files and signs.
    directories: BTreeMap<String, Vec<String>>,
    /// Files that may be agents by themselves.
    single: Vec<String>,
    /// Directories whose files lie below no sign, or whose sign is noted. Most directories have many files.
    noted: HashSet<String>,
}

impl MetFiles {
    /// Sorts a file: an agent by itself, or a part of a directory.
    fn add(&mut self, path: &str) {
        let (dir, name) = split(path);
        if is_main_file(name) || is_sign(name) {
            self.directories.entry(dir.to_owned()).or_default().push(name.to_owned());
        } else if by_name(path).is_some() {
            self.single.push(path.to_owned());
        }
        if self.noted.contains(dir) {
            return;
        }
        self.noted.insert(dir.to_owned());
        if let Some((above, sign)) = sign_above(dir) {
            let names = self.directories.entry(above.to_owned()).or_default();
            if !names.iter().any(|name| name == sign) {
                names.push(sign.to_owned());
            }
        }
    }
}
