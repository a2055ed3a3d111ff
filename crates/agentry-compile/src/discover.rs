//! Finds the agents under the paths that a user names.

use std::collections::BTreeMap;

use agentry_formats::{DetectedFile, info};
use agentry_model::Format;
use agentry_text::path::{join, split};
use agentry_text::{Diagnostic, SourceFiles, Span, limits};
use rayon::prelude::*;

use crate::detect::{by_name, is_main_file, is_sign, main_files, sign_above};
use crate::home::{self, HomeReceipt};
use crate::rules::{AMBIGUOUS_DIRECTORY, UNREADABLE};
use crate::world::{EntryKind, WalkedPath, World};

/// An agent that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundAgent {
    /// What a person would call it: the file, or the directory.
    pub path: String,
    /// The agent's directory.
    pub dir: String,
    /// Its main file, relative to the directory.
    pub main: String,
    /// Its format.
    pub format: Format,
}

/// What a search gave.
#[derive(Debug, Default)]
pub struct AgentDiscovery {
    /// The agents, sorted by path.
    pub agents: Vec<FoundAgent>,
    /// The receipts in homes of AgentFS that were searched, sorted by path.
    pub receipts: Vec<HomeReceipt>,
    /// What could not be decided or looked at.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that the diagnostics are about.
    pub sources: SourceFiles,
    /// Named paths that do not exist.
    pub missing: Vec<String>,
    /// Named files that are no agents.
    pub no_agents: Vec<String>,
    /// Named directories that hold none.
    pub empty: Vec<String>,
}

/// Finds the agents at and below `paths`. A file or directory that is named itself counts as an
/// agent on weaker signs than one that is only met; `format` overrides both. `exclude` tells which
/// paths a search passes over.
pub fn discover(
    world: &dyn World,
    paths: &[String],
    format: Option<Format>,
    exclude: &(dyn Fn(&str) -> bool + Sync),
) -> AgentDiscovery {
    let mut search = AgentSearch { world, format, exclude, out: AgentDiscovery::default() };
    for path in paths {
        match world.kind(path) {
            EntryKind::Missing => search.out.missing.push(path.clone()),
            EntryKind::File | EntryKind::Loop | EntryKind::Other => search.named_file(path),
            EntryKind::Directory => search.directory(path),
        }
    }
    search.out.agents.sort();
    search.out.agents.dedup();
    let receipts = std::mem::take(&mut search.out.receipts);
    search.out.receipts = home::of_homes(receipts, &search.out.agents);
    search.out
}

/// The one agent at `path`, without searching below it; else why there is none.
pub fn at(world: &dyn World, path: &str) -> Result<FoundAgent, String> {
    let mut search =
        AgentSearch { world, format: None, exclude: &|_| false, out: AgentDiscovery::default() };
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

struct AgentSearch<'w> {
    world: &'w dyn World,
    format: Option<Format>,
    exclude: &'w (dyn Fn(&str) -> bool + Sync),
    out: AgentDiscovery,
}

impl AgentSearch<'_> {
    fn named_file(&mut self, path: &str) {
        let Some(format) = self.format.or_else(|| by_name(path)) else {
            self.out.no_agents.push(path.to_owned());
            return;
        };
        let is_doubtful = self.format.is_none() && info(format).files.shares_ending;
        if is_doubtful && !is_agent(self.world, path, format, false) {
            self.out.no_agents.push(path.to_owned());
            return;
        }
        let (dir, name) = split(path);
        self.add(path, dir, name, format);
    }

    fn directory(&mut self, path: &str) {
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        let before = self.count();
        if !self.named_directory(path) {
            self.search(path);
        }
        // `--as` says what a directory without a main file should be: its reader says what is missing.
        if let Some(format) = self.format.filter(|_| before == self.count())
            && let Some(main) = info(format).files.mains.first()
        {
            self.add(path, path, main, format);
        }
        if before == self.count() {
            self.out.empty.push(path.to_owned());
        }
    }

    /// How much was found so far.
    fn count(&self) -> usize {
        self.out.agents.len() + self.out.diagnostics.len()
    }

    /// Takes the directory itself for an agent, if it has the main file of one.
    fn named_directory(&mut self, path: &str) -> bool {
        let names = self.names(path);
        let mains = |(main, _): &(&str, Format)| names.iter().any(|name| name == main);
        let wanted = |(_, format): &(&str, Format)| self.format.is_none_or(|only| only == *format);
        let here: Vec<_> = main_files().filter(mains).filter(wanted).collect();
        let Some((main, format)) = self.only(path, &here) else { return !here.is_empty() };
        // A workspace may keep an `agent.json` or `agent.toml` of something else at its root.
        let files = &info(format).files;
        let has_sign = files.has_sign(&names);
        let is_sure = has_sign || files.needs_sign;
        if self.format.is_none() && !is_agent(self.world, &join(path, main), format, is_sure) {
            return false;
        }
        self.add(path, path, main, format);
        // A main file that has no sign beside it may stand above the directories of agents.
        has_sign || !files.needs_sign
    }

    /// The one main file of a directory; two formats at once are reported.
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
        let mut directories: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut single = Vec::new();
        let mut failed = Vec::new();
        let mut receipts = Vec::new();
        let exclude = self.exclude;
        self.world.walk(root, &mut |walked| match walked {
            WalkedPath::Failed(path, why) => failed.push((path.to_owned(), why)),
            WalkedPath::Unnamed(path) if by_name(path).is_some() && !exclude(path) => {
                failed.push((path.to_owned(), "its name is not UTF-8".to_owned()));
            }
            WalkedPath::Unnamed(_) => {}
            WalkedPath::File(path) if exclude(path) => {}
            WalkedPath::File(path) => {
                receipts.extend(home::receipt(path));
                collect(path, &mut directories, &mut single);
            }
        });
        self.out.receipts.append(&mut receipts);
        failed.sort();
        failed.into_iter().for_each(|(path, why)| self.failed(&path, &why));
        self.met_directories(directories);
        self.met_files(&single);
    }

    fn failed(&mut self, path: &str, why: &str) {
        let source = self.out.sources.add(path, "");
        let message = format!("this cannot be looked into: {why}");
        let found = Diagnostic::new(&UNREADABLE, Span::start_of(source.id), message);
        self.out.diagnostics.push(found);
    }

    fn met_files(&mut self, paths: &[String]) {
        let (world, wanted) = (self.world, self.format);
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
        let (world, wanted) = (self.world, self.format);
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

/// Whether the content of a file agrees with its name. A file that cannot be read is an agent,
/// so that the reader says what is wrong with it.
fn is_agent(world: &dyn World, path: &str, format: Format, has_sign: bool) -> bool {
    let load = || {
        let bytes = world.peek(split(path).0, path, limits::FILE_BYTES).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?;
        Some(SourceFiles::default().add(path, text.trim_start_matches('\u{feff}')))
    };
    (info(format).files.is_agent)(&DetectedFile { path, has_sign, load: &load })
}

/// What `look` says of every item; of many items side by side.
fn each<T: Sync, U: Send>(items: &[T], look: impl Fn(&T) -> U + Send + Sync) -> Vec<U> {
    const FEW: usize = 8;
    if items.len() < FEW {
        items.iter().map(look).collect()
    } else {
        items.par_iter().map(look).collect()
    }
}

/// Sorts a file that was met into what it may be: an agent by itself, or a part of a directory.
fn collect(path: &str, directories: &mut BTreeMap<String, Vec<String>>, single: &mut Vec<String>) {
    let (dir, name) = split(path);
    if is_main_file(name) || is_sign(name) {
        directories.entry(dir.to_owned()).or_default().push(name.to_owned());
    } else if by_name(path).is_some() {
        single.push(path.to_owned());
    }
    if let Some((above, sign)) = sign_above(dir) {
        let names = directories.entry(above.to_owned()).or_default();
        if !names.iter().any(|name| name == sign) {
            names.push(sign.to_owned());
        }
    }
}
