//! Finds and checks the files of harnesses in a repository: agents, skills, servers, hooks, settings, texts.

use std::collections::{BTreeSet, HashSet};

use agentry_check::harness::{
    self, AgentSummary, HarnessFileKind, HarnessSubject, is_placed, is_plugin_agent, kind_of,
};
use agentry_check::hostile_texts;
use agentry_formats::PathPresence;
use agentry_targets::{TARGETS, Target, front_matter};
use agentry_text::path::{is_rooted, join, name, split};
use agentry_text::{Diagnostic, Findings, SourceFile, SourceFiles, limits};
use rayon::prelude::*;

use crate::config::WorkspaceConfig;
use crate::files::WorldFiles;
use crate::finding_text;
use crate::suppress::suppress;
use crate::world::{EntryKind, ReadError, World};

/// A file of a harness that was found.
#[derive(Debug, Clone)]
pub struct FoundHarnessFile {
    /// The path as shown to the user.
    pub path: String,
    /// What it is.
    pub kind: HarnessFileKind,
    /// Whether it belongs to a plugin of Claude Code.
    pub is_plugin: bool,
}

/// A file of a harness with its findings.
#[derive(Debug, Default)]
pub struct CheckedHarnessFile {
    /// The file.
    pub sources: SourceFiles,
    /// The findings, in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// Its agents.
    pub agents: Vec<AgentSummary>,
    /// Whether Agentry rendered the file from a definition, which is checked instead.
    pub is_rendered: bool,
}

/// The files of harnesses below one directory, before their contents are looked at.
#[derive(Debug, Default)]
pub(crate) struct HarnessCollection {
    files: Vec<(String, HarnessFileKind)>,
    /// Directories with a `.claude-plugin`.
    plugins: BTreeSet<String>,
}

impl HarnessCollection {
    /// Adds a file of the repository, if it is one of a harness.
    pub(crate) fn add(&mut self, path: &str) {
        if let Some(kind) = kind_of(path) {
            self.files.push((path.to_owned(), kind));
        } else if let Some(dir) = path.strip_suffix(".claude-plugin/plugin.json") {
            self.plugins.insert(dir.trim_end_matches('/').to_owned());
        }
    }

    /// The files whose contents confirm their paths, sorted.
    pub(crate) fn found(mut self, world: &dyn World) -> Vec<FoundHarnessFile> {
        self.files.sort_by(|one, other| one.0.cmp(&other.0));
        let Self { files, plugins } = self;
        let is_meant = |(path, kind): &(String, HarnessFileKind)| is_meant(world, path, *kind);
        let meant: Vec<bool> = files.par_iter().map(is_meant).collect();
        let files = files.into_iter().zip(meant).filter(|(_, meant)| *meant).map(|(it, _)| it);
        let found = files.map(|(path, kind)| {
            let is_plugin = in_plugin(&path, |dir| plugins.contains(dir));
            FoundHarnessFile { path, kind, is_plugin }
        });
        // `CLAUDE.md` is often a link to `AGENTS.md`; one text is checked once.
        let mut texts = HashSet::new();
        let mut found: Vec<FoundHarnessFile> = found.collect();
        found.retain(|found| {
            let is_text = matches!(found.kind, HarnessFileKind::Context);
            !is_text || texts.insert(real(world, &found.path))
        });
        found
    }
}

fn real(world: &dyn World, path: &str) -> String {
    let absolute = world.absolute(path);
    world.real(&absolute).unwrap_or(absolute)
}

/// The file of a harness at a path that the user names; `None` if no harness reads it.
pub(crate) fn at(
    world: &dyn World,
    path: &str,
    only: Option<&'static Target>,
) -> Option<FoundHarnessFile> {
    let kind = match only {
        Some(target) => Some(HarnessFileKind::Agent(target)),
        // The directories above the current one may show what the file is.
        None => kind_of(path).or_else(|| kind_of(world.absolute(path).trim_start_matches('/'))),
    }?;
    if only.is_none() && !is_meant(world, path, kind) {
        return None;
    }
    let has_manifest = |dir: &str| {
        let manifest = join(dir, ".claude-plugin/plugin.json");
        world.kind(&manifest) == EntryKind::File
    };
    let is_plugin = in_plugin(path, has_manifest);
    Some(FoundHarnessFile { path: path.to_owned(), kind, is_plugin })
}

/// The skill that a file belongs to: the nearest directory above it with a `SKILL.md`.
pub(crate) fn skill_above(world: &dyn World, path: &str) -> Option<FoundHarnessFile> {
    let mut dir = split(path).0;
    // Skills are not nested deeper than this.
    for _ in 0..8 {
        let file = join(dir, "SKILL.md");
        if world.kind(&file) == EntryKind::File {
            let kind = HarnessFileKind::Skill;
            return Some(FoundHarnessFile { path: file, kind, is_plugin: false });
        }
        if dir.is_empty() || dir == "/" {
            return None;
        }
        dir = split(dir).0;
    }
    None
}

/// Whether a path is below a directory of a harness, where nothing else is checked.
pub(crate) fn is_beside(path: &str) -> bool {
    let whole = format!("/{path}");
    let all = TARGETS.iter().flat_map(|target| target.places);
    let dirs = all.map(|place| place.path).filter(|place| place.ends_with('/'));
    dirs.into_iter().any(|dir| dir.starts_with('.') && whole.contains(&format!("/{dir}")))
}

/// Whether the files in a directory have the endings of a harness' agents.
pub(crate) fn is_named_as(target: &Target, path: &str) -> bool {
    let places = target.import.as_ref().map_or(&[][..], |import| import.places);
    let is_prose = name(path).eq_ignore_ascii_case("readme.md");
    !is_prose && places.iter().any(|(_, end)| path.ends_with(end))
}

/// Whether the content of a file confirms what its path says, where the path is not certain.
fn is_meant(world: &dyn World, path: &str, kind: HarnessFileKind) -> bool {
    let text = || {
        let bytes = world.peek(split(path).0, path, limits::FILE_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(text.trim_start_matches('\u{feff}').to_owned())
    };
    match kind {
        HarnessFileKind::PluginAgent => {
            text().is_some_and(|text| is_plugin_agent(&SourceFiles::default().add(path, &text)))
        }
        HarnessFileKind::Agent(Target { import: Some(import), .. })
            if !is_placed(&world.absolute(path)) =>
        {
            text().is_some_and(|text| (import.is_one)(path, &text))
        }
        _ => true,
    }
}

/// Whether a directory above a file is a plugin, by its place or by its manifest.
fn in_plugin(path: &str, has_manifest: impl Fn(&str) -> bool) -> bool {
    let Some(at) = format!("/{path}").rfind("/agents/") else { return false };
    let dir = path.get(..at.saturating_sub(1)).unwrap_or_default();
    let above = split(dir).0;
    name(above) == "plugins" || has_manifest(dir)
}

/// Reads and checks one file of a harness.
pub fn check_harness(
    world: &dyn World,
    found: &FoundHarnessFile,
    config: &WorkspaceConfig,
) -> CheckedHarnessFile {
    let HarnessReading { mut sources, source, mut findings } = HarnessReading::of(world, found);
    let mut agents = Vec::new();
    if let Some(source) = &source {
        if is_rendered(found, &source.text) {
            return CheckedHarnessFile { is_rendered: true, ..CheckedHarnessFile::default() };
        }
        agents = checked(world, found, source, &mut findings);
    }
    let diagnostics = finding_text::ready(&mut sources, findings);
    let diagnostics = suppress(&sources, 1, diagnostics);
    let diagnostics = config.weigh(finding_text::capped(diagnostics));
    CheckedHarnessFile { sources, diagnostics, agents, is_rendered: false }
}

/// The same for an audit, with texts that attack the agent. Suppressions do not count, and a file is also checked if it says
/// that Agentry wrote it: both stand in what is audited.
pub fn examine_harness(world: &dyn World, found: &FoundHarnessFile) -> CheckedHarnessFile {
    let HarnessReading { mut sources, source, mut findings } = HarnessReading::of(world, found);
    let mut out = CheckedHarnessFile::default();
    if let Some(source) = &source {
        out.is_rendered = is_rendered(found, &source.text);
        out.agents = checked(world, found, source, &mut findings);
        hostile_texts(source, &mut findings);
    }
    out.diagnostics = finding_text::ready(&mut sources, findings);
    CheckedHarnessFile { sources, ..out }
}

/// A file of a harness, and what was found while it was read.
struct HarnessReading {
    sources: SourceFiles,
    source: Option<SourceFile>,
    findings: Findings,
}

impl HarnessReading {
    fn of(world: &dyn World, found: &FoundHarnessFile) -> Self {
        let dir = split(&found.path).0;
        let workspace = world.workspace(dir);
        let mut findings = Findings::default();
        let mut files = WorldFiles::new(world, dir, workspace.clone());
        let source = read(world, &mut files, &found.path, &workspace, &mut findings);
        Self { sources: std::mem::take(&mut files.sources), source, findings }
    }
}

/// Checks what was read.
fn checked(
    world: &dyn World,
    found: &FoundHarnessFile,
    source: &SourceFile,
    findings: &mut Findings,
) -> Vec<AgentSummary> {
    let dir = split(&found.path).0;
    let workspace = world.workspace(dir);
    let probe = |path: &str| presence(world, dir, &workspace, path);
    let probe_root = |path: &str| presence(world, &workspace, &workspace, path);
    let subject = HarnessSubject {
        kind: found.kind,
        source,
        is_plugin: found.is_plugin,
        is_personal: is_personal(world, &found.path),
        probe: &probe,
        probe_root: &probe_root,
        memo: &world.memo().render.policy,
    };
    harness::check(&subject, findings)
}

/// Checks the agents of a repository against each other. Each result has the findings of one file, which is
/// read again for its spans.
pub fn check_harness_together(
    world: &dyn World,
    agents: &[(FoundHarnessFile, AgentSummary)],
    config_of: &dyn Fn(&str) -> std::sync::Arc<WorkspaceConfig>,
) -> Vec<CheckedHarnessFile> {
    let all: Vec<(&str, &AgentSummary)> =
        agents.iter().map(|(found, summary)| (found.path.as_str(), summary)).collect();
    let mut out = Vec::new();
    for (at, found) in harness::check_together(&all) {
        let Some((file, _)) = agents.get(at) else { continue };
        let config = config_of(split(&file.path).0);
        let mut checked = check_harness(world, file, &config);
        let rule = found.rule;
        checked.diagnostics = config.weigh(suppress(&checked.sources, 1, vec![found]));
        // An unused suppression was reported with the file itself.
        checked.diagnostics.retain(|it| it.rule == rule);
        out.push(checked);
    }
    out
}

/// Reads a file. A link may lead to another file of the workspace, and nowhere else.
fn read(
    world: &dyn World,
    files: &mut WorldFiles<'_>,
    path: &str,
    workspace: &str,
    findings: &mut Findings,
) -> Option<SourceFile> {
    let bytes = world.read(split(path).0, path, limits::FILE_BYTES);
    let bytes = match bytes {
        Err(ReadError::Escapes) if world.inside(workspace, path) => {
            let real = real(world, path);
            world.read(split(&real).0, &real, limits::FILE_BYTES)
        }
        other => other,
    };
    match bytes {
        Ok(bytes) => Some(files.decode(path, &bytes, findings)),
        Err(error) => {
            files.refuse(path, &error, findings);
            None
        }
    }
}

/// Whether a file is in a hidden directory of the user's home, and not in a project.
fn is_personal(world: &dyn World, path: &str) -> bool {
    let absolute = world.absolute(path);
    let home = world.machine().home.as_deref();
    let rest = home.and_then(|home| absolute.strip_prefix(home));
    rest.is_some_and(|rest| rest.starts_with("/."))
}

/// Whether a file says that Agentry wrote it as a whole.
fn is_rendered(found: &FoundHarnessFile, text: &str) -> bool {
    found.kind.is_render_target()
        && text.lines().take(3).any(|line| line.starts_with(front_matter::MARK))
}

/// What is at a path that a file in `dir` names.
fn presence(world: &dyn World, dir: &str, workspace: &str, path: &str) -> PathPresence {
    if is_rooted(path) {
        return PathPresence::Outside;
    }
    let full = join(dir, path);
    match world.kind(&full) {
        EntryKind::Missing => PathPresence::Missing,
        _ if !world.inside(workspace, &full) => PathPresence::Outside,
        EntryKind::Directory => PathPresence::Directory,
        EntryKind::File | EntryKind::Loop | EntryKind::Other => PathPresence::File,
    }
}
