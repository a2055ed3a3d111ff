//! Finds agents of harnesses: by their path, else by their content.

use std::fs;
use std::path::Path;

use agentry_compile::checks::harness::is_plugin_agent;
use agentry_compile::targets::front_matter;
use agentry_compile::targets::import::{HarnessImport, SettingsAgents};
use agentry_compile::targets::{HarnessFiles, TARGETS, Target, claude_code};
use agentry_compile::text::limits;
use agentry_compile::text::path::{join, split};
use agentry_compile::text::source::position;
use agentry_compile::text::{FileId, SourceFile, TextPosition};
use agentry_compile::{DirectoryEntry, EntryKind, ReadError, World};
use rayon::prelude::*;

use crate::output::CliFailure;

use super::sources::{ImportFiles, text};

/// An agent of a harness.
#[derive(Debug)]
pub(super) struct FoundHarnessAgent {
    /// The path as the user would write it.
    pub(super) path: String,
    /// The project that it belongs to.
    pub(super) root: String,
    /// Its file, relative to the project.
    pub(super) file: String,
    /// Whether the user named this file.
    pub(super) is_named: bool,
    /// The harness that the agent is for.
    pub(super) harness: &'static Target,
}

impl FoundHarnessAgent {
    /// Where its file is not UTF-8, and where the first NUL is.
    pub(super) fn odd(
        &self,
        files: &dyn HarnessFiles,
    ) -> (Option<TextPosition>, Option<TextPosition>) {
        let text = files.text(&self.file).unwrap_or_default();
        let place = |character| text.find(character).map(|at| position(&text, at));
        let path = join(&self.root, &self.file);
        let is_odd = || fs::read(path).is_ok_and(|bytes| std::str::from_utf8(&bytes).is_err());
        let replaced = place('\u{fffd}').filter(|_| is_odd());
        (replaced, place('\0'))
    }
}

/// A file in a directory of agents that is not an agent.
#[derive(Debug)]
pub(super) struct SkippedFile {
    /// The path as the user would write it.
    pub(super) path: String,
    /// Why it is no agent.
    pub(super) reason: String,
}

/// What a search found.
#[derive(Debug, Default)]
pub(super) struct HarnessSearch {
    pub(super) agents: Vec<FoundHarnessAgent>,
    pub(super) skipped: Vec<SkippedFile>,
    /// Paths that cannot be read or listed.
    pub(super) failures: Vec<CliFailure>,
}

/// The agents that settings files below `root` define by name.
fn listed(
    disk: &dyn World,
    root: &str,
    settings: &str,
    (harness, several): (&'static Target, &SettingsAgents),
) -> Result<Vec<FoundHarnessAgent>, CliFailure> {
    let found = |name: &String| FoundHarnessAgent {
        path: join(root, &SettingsAgents::path(settings, name)),
        root: root.to_owned(),
        file: SettingsAgents::path(settings, name),
        is_named: false,
        harness,
    };
    let names = several.names_in(&ImportFiles { disk, root }, settings);
    let names = names.map_err(|wrong| {
        let path = join(root, settings);
        CliFailure::new(format!("agents in `{path}` cannot be imported: {}", wrong.message))
    })?;
    Ok(names.iter().map(found).collect())
}

/// The agents at and below `paths`.
pub(super) fn search(
    disk: &dyn World,
    paths: &[String],
    only: Option<&'static Target>,
) -> HarnessSearch {
    let mut out = HarnessSearch::default();
    for path in paths {
        let found = match disk.kind(path) {
            EntryKind::Missing => Err(CliFailure::new(format!("`{path}` does not exist"))),
            EntryKind::Directory => {
                if !inside_project(disk, path, only, &mut out) {
                    project(disk, path, only, &mut out);
                }
                continue;
            }
            EntryKind::File | EntryKind::Loop | EntryKind::Other => {
                settings(disk, path, only).unwrap_or_else(|| file(path, only).map(|it| vec![it]))
            }
        };
        match found {
            Ok(found) => out.agents.extend(found),
            Err(failure) => out.failures.push(failure),
        }
    }
    out.agents.sort_by(|a, b| key(a).cmp(&key(b)));
    // Paths may overlap, such as a project and a file in it.
    out.agents.dedup_by(|a, b| key(a) == key(b));
    out.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    out.skipped.dedup_by(|a, b| a.path == b.path);
    out
}

/// Whether a path is an agent of a harness, or a directory with some.
pub(super) fn holds_some(disk: &dyn World, path: &str) -> bool {
    if disk.kind(path) != EntryKind::Directory {
        return settings(disk, path, None).is_some_and(|it| it.is_ok()) || file(path, None).is_ok();
    }
    let whole = std::path::absolute(path).unwrap_or_default().to_string_lossy().into_owned();
    let is_place = |import: &HarnessImport| {
        let ends = import.places.iter().map(|(_, end)| *end);
        ends.into_iter().any(|end| placed(&format!("{whole}/x{end}"), import).is_some())
    };
    // A made-up file name tests whether this directory is itself one that a harness searches.
    let looked_at = readers(None).into_iter().any(|(_, import)| is_place(import));
    let holds_files = || below(disk, path, "", &mut Vec::new()).next().is_some();
    let holds_agents = || {
        let mut found = HarnessSearch::default();
        project(disk, path, None, &mut found);
        !found.agents.is_empty()
    };
    (looked_at && holds_files()) || holds_agents()
}

fn key(found: &FoundHarnessAgent) -> (&str, &str) {
    (&found.path, found.harness.name)
}

/// The harnesses whose agents can be imported.
fn readers(only: Option<&'static Target>) -> Vec<(&'static Target, &'static HarnessImport)> {
    let readable = |target: &'static Target| Some((target, target.import.as_ref()?));
    let all = TARGETS.iter().copied();
    let asked = all.filter(|it| only.is_none_or(|only| only.name == it.name));
    asked.filter_map(readable).collect()
}

/// The agents in one settings file, if it is one.
fn settings(
    disk: &dyn World,
    path: &str,
    only: Option<&'static Target>,
) -> Option<Result<Vec<FoundHarnessAgent>, CliFailure>> {
    let whole = std::path::absolute(path).unwrap_or_default().to_string_lossy().into_owned();
    let (harness, several, root, file) =
        readers(only).into_iter().find_map(|(harness, import)| {
            let several = import.several.as_ref()?;
            let known = several.files.iter().find(|file| whole.ends_with(&format!("/{file}")))?;
            let root = whole.strip_suffix(known)?.trim_end_matches('/');
            Some((harness, several, if root.is_empty() { "/" } else { root }, *known))
        })?;
    let mut found = match listed(disk, root, file, (harness, several)) {
        Ok(found) => found,
        Err(failure) => return Some(Err(failure)),
    };
    let is_named = found.len() == 1;
    for agent in &mut found {
        let name = agent.file.strip_prefix(file).unwrap_or_default();
        agent.path = format!("{path}{name}");
        agent.is_named = is_named;
    }
    Some(if found.is_empty() {
        let title = harness.title;
        Err(CliFailure::new(format!("`{path}` holds no agent of {title} that has no other file")))
    } else {
        Ok(found)
    })
}

/// The harness that one file belongs to.
fn file(path: &str, only: Option<&'static Target>) -> Result<FoundHarnessAgent, CliFailure> {
    let found = |harness, root: &str, file: &str| FoundHarnessAgent {
        path: path.to_owned(),
        root: root.to_owned(),
        file: file.to_owned(),
        is_named: true,
        harness,
    };
    let text = agent(path)?.ok_or_else(|| CliFailure::new(format!("`{path}` cannot be read")))?;
    let whole = std::path::absolute(path).unwrap_or_default().to_string_lossy().into_owned();
    let readers = readers(only);
    for (harness, import) in &readers {
        if let Some((root, file)) = placed(&whole, import) {
            return Ok(found(harness, root, file));
        }
    }
    let (dir, name) = split(path);
    let fits =
        |(_, import): &&(&Target, &HarnessImport)| only.is_some() || (import.is_one)(name, &text);
    let fitting: Vec<_> = readers.iter().filter(fits).collect();
    match fitting.as_slice() {
        [(harness, _)] => Ok(found(harness, if dir.is_empty() { "." } else { dir }, name)),
        [] => Err(unknown(path, only)),
        several => {
            let names: Vec<_> = several.iter().map(|(harness, _)| harness.name).collect();
            let message = format!("`{path}` may be an agent of {}", names.join(" or "));
            Err(CliFailure::new(message).hint("pass the harness with `--as`"))
        }
    }
}

fn unknown(path: &str, only: Option<&'static Target>) -> CliFailure {
    match only {
        Some(only) => CliFailure::new(format!("agents of {} cannot be imported", only.title)),
        None => {
            let names: Vec<_> = readers(None).iter().map(|(harness, _)| harness.name).collect();
            let hint = format!("pass the harness with `--as {}`", names.join("|"));
            CliFailure::new(format!("`{path}` is not an agent of a harness")).hint(hint)
        }
    }
}

/// The root and the path below it, if the file lies where the harness searches.
fn placed<'a>(whole: &'a str, import: &HarnessImport) -> Option<(&'a str, &'a str)> {
    import.places.iter().find_map(|(dir, end)| {
        // The innermost directory is used: a project may be inside another one.
        let at = whole.rfind(&format!("/{dir}/"))?;
        let (root, file) = (whole.get(..at)?, whole.get(at + 1..)?);
        file.ends_with(end).then_some((if root.is_empty() { "/" } else { root }, file))
    })
}

/// Adds the agents below a directory of a harness, such as `.claude` or `.claude/agents`. Returns whether there were some.
fn inside_project(
    disk: &dyn World,
    path: &str,
    only: Option<&'static Target>,
    out: &mut HarnessSearch,
) -> bool {
    let whole = std::path::absolute(path).unwrap_or_default();
    let is_place = |below: &Path| {
        let dirs = readers(only).into_iter().flat_map(|(_, import)| import.places);
        let mut dirs = dirs.map(|(dir, _)| Path::new(dir));
        dirs.any(|dir| dir.starts_with(below) || below.starts_with(dir))
    };
    for root in whole.ancestors().skip(1) {
        let Ok(below) = whole.strip_prefix(root) else { continue };
        if !is_place(below) {
            continue;
        }
        let mut found = HarnessSearch::default();
        project(disk, &root.to_string_lossy(), only, &mut found);
        let is_inside = |file: &str| Path::new(file).starts_with(&whole);
        found.agents.retain(|agent| is_inside(&agent.path));
        found.skipped.retain(|file| is_inside(&file.path));
        if found.agents.is_empty() {
            continue;
        }
        let as_written = |file: &str| {
            let rest = Path::new(file).strip_prefix(&whole).unwrap_or(Path::new(file));
            join(path, &rest.to_string_lossy())
        };
        found.agents.iter_mut().for_each(|agent| agent.path = as_written(&agent.path));
        found.skipped.iter_mut().for_each(|file| file.path = as_written(&file.path));
        out.agents.extend(found.agents);
        out.skipped.extend(found.skipped);
        return true;
    }
    false
}

/// Adds the agents of a project or a home, and the other files in directories of agents.
fn project(disk: &dyn World, root: &str, only: Option<&'static Target>, out: &mut HarnessSearch) {
    if let Err(failure) = entries(disk, root) {
        out.failures.push(failure);
        return;
    }
    let before = (out.agents.len(), out.failures.len());
    for (harness, import) in readers(only) {
        if let Some(several) = &import.several {
            for file in several.files {
                match listed(disk, root, file, (harness, several)) {
                    Ok(found) => out.agents.extend(found),
                    Err(failure) => out.failures.push(failure),
                }
            }
        }
        for (dir, end) in import.places {
            let files: Vec<String> = below(disk, root, dir, &mut out.failures).collect();
            let looked =
                files.into_par_iter().map(|file| place((harness, import), root, file, end));
            for placed in looked.collect::<Vec<PlacedFile>>() {
                match placed {
                    PlacedFile::Agent(found) => out.agents.push(found),
                    PlacedFile::Other(file) => out.skipped.push(file),
                    PlacedFile::Failed(failure) => out.failures.push(failure),
                    PlacedFile::Missing => {}
                }
            }
        }
    }
    if only.is_none_or(|only| only.name == claude_code::TARGET.name) {
        plugin_agents(disk, root, out);
    }
    if only.is_none_or(|only| only.name == "cursor") {
        let rules = below(disk, root, ".cursor/rules", &mut out.failures);
        out.skipped.extend(
            rules.filter(|file| Path::new(file).extension().is_some_and(|it| it == "mdc")).map(
                |file| SkippedFile {
                    path: join(root, &file),
                    reason: "it is a rule of Cursor; name the file to import it as an agent"
                        .to_owned(),
                },
            ),
        );
    }
    // With other failures, «no agent found» would only hide them.
    if before == (out.agents.len(), out.failures.len()) {
        out.failures.push(none(root, only));
    }
}

/// Adds agents of Claude Code that a plugin brings along: `agents/*.md`, here or in `plugins/*`.
fn plugin_agents(disk: &dyn World, root: &str, out: &mut HarnessSearch) {
    let plugins = entries(disk, &join(root, "plugins")).unwrap_or_default();
    let plugins = plugins.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
    let dirs = plugins.map(|entry| format!("plugins/{}/agents", entry.name));
    for dir in std::iter::once("agents".to_owned()).chain(dirs) {
        for file in below(disk, root, &dir, &mut out.failures) {
            // A definition has the same ending, and needs no import.
            let is_markdown = Path::new(&file).extension().is_some_and(|it| it == "md");
            if !is_markdown || file.ends_with(".agent.md") {
                continue;
            }
            let path = join(root, &file);
            let text = agent(&path).ok().flatten().unwrap_or_default();
            if is_plugin_agent(&SourceFile::new(FileId::BUILT_IN, &path, &text)) {
                let root = root.to_owned();
                let harness = &claude_code::TARGET;
                out.agents.push(FoundHarnessAgent { path, root, file, is_named: false, harness });
            }
        }
    }
}

/// What a file in a directory with agents is.
enum PlacedFile {
    Agent(FoundHarnessAgent),
    Other(SkippedFile),
    Failed(CliFailure),
    /// It is not there any more.
    Missing,
}

/// Looks at one file of a directory with agents.
fn place(
    (harness, import): (&'static Target, &HarnessImport),
    root: &str,
    file: String,
    end: &str,
) -> PlacedFile {
    let path = join(root, &file);
    if !file.ends_with(end) {
        let reason = format!("its name does not end with `{end}`");
        return PlacedFile::Other(SkippedFile { path, reason });
    }
    match agent(&path) {
        Ok(Some(text)) if (import.is_one)(&file, &text) => {
            let root = root.to_owned();
            PlacedFile::Agent(FoundHarnessAgent { path, root, file, is_named: false, harness })
        }
        Ok(Some(text)) => {
            let reason = skip_reason(harness, &text);
            PlacedFile::Other(SkippedFile { path, reason })
        }
        Ok(None) => PlacedFile::Missing,
        Err(failure) => PlacedFile::Failed(failure),
    }
}

/// Why a file in a directory of agents is not an agent, such as a README.
fn skip_reason(harness: &Target, text: &str) -> String {
    let title = harness.title;
    let what = match front_matter::read(text) {
        Some((metadata, _)) if metadata.get("name").is_none() => "its metadata has no `name`",
        Some(_) => "its metadata is not that of an agent",
        None => "it has no metadata",
    };
    format!("{what}: no agent for {title}")
}

/// The failure for «no agent», with the paths that were searched.
fn none(root: &str, only: Option<&'static Target>) -> CliFailure {
    let places = readers(only).into_iter().flat_map(|(_, import)| import.places);
    let places: Vec<String> = places.map(|(dir, end)| format!("`{dir}/*{end}`")).collect();
    let hint = format!("looked for {}", places.join(", "));
    CliFailure::new(format!("no agent of a harness found in `{root}`")).hint(hint)
}

/// The limit of entries that are visited in one directory tree: a link may lead to a whole disk.
const MOST: usize = 10_000;

/// The files below a directory of a project, a few levels deep.
fn below(
    disk: &dyn World,
    root: &str,
    dir: &str,
    wrong: &mut Vec<CliFailure>,
) -> impl Iterator<Item = String> + use<> {
    let mut out = Vec::new();
    let (place, mut seen) = (join(root, dir), 0);
    let mut open = vec![(dir.to_owned(), 0)];
    while let Some((dir, depth)) = open.pop() {
        let found = entries(disk, &join(root, &dir)).unwrap_or_else(|failure| {
            wrong.push(failure);
            Vec::new()
        });
        seen += found.len();
        if seen > MOST {
            let message = format!("`{place}` holds more than {MOST} files and directories");
            wrong.push(CliFailure::new(message).hint("name the agents that you want"));
            return Vec::new().into_iter();
        }
        for entry in found {
            let inner = join(&dir, &entry.name);
            match entry.kind {
                EntryKind::File => out.push(inner),
                // `Other` may be a link to a directory; a loop of links ends at the depth limit.
                EntryKind::Directory | EntryKind::Other if depth < 4 => {
                    open.push((inner, depth + 1));
                }
                _ => {}
            }
        }
    }
    out.into_iter()
}

/// The entries of a directory, links followed as a harness does; empty if the directory does not exist.
/// A directory that cannot be listed is an error, not empty.
fn entries(disk: &dyn World, path: &str) -> Result<Vec<DirectoryEntry>, CliFailure> {
    let why = match disk.list(path, path) {
        Ok(entries) => return Ok(entries),
        Err(ReadError::Missing) if !is_there(disk, path) => return Ok(Vec::new()),
        Err(ReadError::Missing) => "it is not a directory".to_owned(),
        Err(why) => why.to_string(),
    };
    let hint =
        "make it a directory that you can read, or remove it; or name the agents that you want";
    Err(CliFailure::new(format!("agents in `{path}` cannot be listed: {why}")).hint(hint))
}

/// Whether a path exists; a file in the middle of the path means that it does not.
fn is_there(disk: &dyn World, path: &str) -> bool {
    disk.kind(path) != EntryKind::Missing && fs::metadata(path).is_ok()
}

/// The text of a possible agent.
fn agent(path: &str) -> Result<Option<String>, CliFailure> {
    let wrong = |why| CliFailure::new(format!("`{path}` cannot be read: {why}"));
    text(path, limits::FILE_BYTES).map_err(wrong)
}
