//! Reads and checks one agent, and applies severities to its findings.

use std::collections::HashMap;

use agentry_check::CheckSubject;
use agentry_formats::agent_dir::variables;
use agentry_formats::{AgentPackage, info, startup};
use agentry_model::Agent;
use agentry_policy::PolicyTest;
use agentry_text::path::{join, split};
use agentry_text::{Diagnostic, FileId, Findings, Severity, SourceFile, SourceFiles, Span};

use crate::config::WorkspaceConfig;
use crate::discover::FoundAgent;
use crate::files::WorldFiles;
use crate::finding_text;
use crate::inherit::{BaseAgent, inherit};
use crate::judge::tested;
use crate::resolve::files::too_large;
use crate::rules::{FAILED_POLICY_TEST, NAME_TAKEN, UNREADABLE, UNSET_VARIABLE};
use crate::secret_mask;
use crate::suppress::suppress;
use crate::world::{EntryKind, World};

/// An agent that was read, with its findings.
#[derive(Debug)]
pub struct CompiledAgent {
    /// Where it was found.
    pub found: FoundAgent,
    /// The root of its workspace.
    pub workspace: String,
    /// Its directory, relative to the workspace; absolute for one that works in another project.
    pub dir: String,
    /// What its own files declare.
    pub agent: Agent,
    /// The agent merged with its bases. `None` if it has no base, or none that can be used.
    pub whole: Option<Agent>,
    /// Its bases, the nearest first.
    pub bases: Vec<BaseAgent>,
    /// Context and rule files of bases in other workspaces or in the store.
    pub carried: Vec<CarriedFile>,
    /// The origins of single keys whose block comes from elsewhere, by field.
    pub origins: Vec<(String, Span)>,
    /// The directory that a relative path to its base starts from.
    pub base_dir: String,
    /// The files that were read, its own first, then those of its bases.
    pub sources: SourceFiles,
    /// How many of them are its own.
    pub own_files: usize,
    /// The findings, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

/// A context or rule file without a path from the agent, because its base lies in another workspace or in
/// the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedFile {
    /// Its kind: `context`, `rule file`.
    pub name: &'static str,
    /// Its path where it lies.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The workspace of an agent, and its directory as the workspace sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLocation {
    workspace: String,
    dir: String,
}

impl CompiledAgent {
    /// The agent merged with its bases, without the defaults of its format.
    pub fn whole(&self) -> &Agent {
        self.whole.as_ref().unwrap_or(&self.agent)
    }

    /// Its own files, without those of its bases.
    pub fn own_sources(&self) -> impl Iterator<Item = &SourceFile> {
        self.sources.iter().take(self.own_files)
    }

    /// Moves it to the project that it works in, which its relative paths and patterns are about. Its files
    /// and its digest must be read before. Returns where it was.
    pub fn work_in(&mut self, world: &dyn World, project: &str) -> AgentLocation {
        let real = |path: &str| {
            let path = world.absolute(path);
            world.real(&path).unwrap_or(path)
        };
        let (project, own) = (real(project), self.location());
        if project != real(&self.workspace) {
            let dir = real(&self.found.dir);
            self.return_to(AgentLocation { workspace: project, dir });
        }
        own
    }

    /// Whether it works where it did at `location`.
    pub fn works_in_place(&self, location: &AgentLocation) -> bool {
        self.workspace == location.workspace
    }

    /// Moves it back.
    pub fn return_to(&mut self, location: AgentLocation) {
        AgentLocation { workspace: self.workspace, dir: self.dir } = location;
    }

    fn location(&self) -> AgentLocation {
        AgentLocation { workspace: self.workspace.clone(), dir: self.dir.clone() }
    }

    /// Marks its secrets, so that they are masked in all output.
    pub(crate) fn hide_secrets(&mut self) {
        let whole = self.whole.as_ref().unwrap_or(&self.agent);
        secret_mask::hide(whole, self.found.format, &mut self.sources);
    }

    /// Whether it has errors and cannot be used.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|found| found.severity == Severity::Error)
    }
}

/// Reads an agent and marks its secrets. Reports only what its own files show; [`check`] reports more.
pub fn read(world: &dyn World, found: &FoundAgent) -> CompiledAgent {
    let mut compiled = read_openly(world, found);
    compiled.hide_secrets();
    compiled
}

/// Reads an agent for a caller that shows only findings. Other secrets are not marked, to save time.
pub(crate) fn read_openly(world: &dyn World, found: &FoundAgent) -> CompiledAgent {
    let (mut compiled, mut findings) = read_raw(world, found, SourceFiles::default());
    inherit(world, &mut compiled, &mut findings);
    let diagnostics = finding_text::ready(&mut compiled.sources, findings);
    CompiledAgent { diagnostics, ..compiled }
}

/// Reads an agent, runs every check, and applies suppressions and severities.
pub fn check(world: &dyn World, found: &FoundAgent, config: &WorkspaceConfig) -> CompiledAgent {
    let mut compiled = examine(world, found);
    let diagnostics = std::mem::take(&mut compiled.diagnostics);
    let diagnostics = suppress(&compiled.sources, compiled.own_files, diagnostics);
    let diagnostics = config.weigh(finding_text::capped(diagnostics));
    CompiledAgent { diagnostics, ..compiled }
}

/// Reads an agent and runs every check. Suppressions do not count: they stand in the files that are examined.
pub fn examine(world: &dyn World, found: &FoundAgent) -> CompiledAgent {
    let (mut compiled, mut findings) = read_raw(world, found, SourceFiles::default());
    let base = inherit(world, &mut compiled, &mut findings);
    for secret in checks(world, &compiled, base.as_ref(), &mut findings) {
        compiled.sources.hide(secret);
    }
    failed_tests(world, &compiled, &mut findings);
    crate::resolve::check(world, &compiled, &mut findings);
    crate::delegates::check(world, &compiled, &mut findings);
    let diagnostics = finding_text::ready(&mut compiled.sources, findings);
    CompiledAgent { diagnostics, ..compiled }
}

/// Runs every check on the agent merged with its bases, and returns the spans of secrets. A finding in a
/// base is left to the base, unless only the merged agent shows it.
fn checks(
    world: &dyn World,
    compiled: &CompiledAgent,
    base: Option<&Agent>,
    findings: &mut Findings,
) -> Vec<Span> {
    let run = |agent: &Agent, findings: &mut Findings| {
        let (format, memo) = (info(compiled.found.format), &world.memo().render.policy);
        agentry_check::run(&CheckSubject { agent, format, memo }, findings);
        startup::check(agent, format, findings);
        unset_variables(world, agent, &compiled.sources, findings);
    };
    let (Some(base), Some(named)) = (base, &compiled.agent.inheritance.base) else {
        run(&compiled.agent, findings);
        return Vec::new();
    };
    let (mut known, mut all) = (Findings::default(), Findings::default());
    run(base, &mut known);
    run(compiled.whole(), &mut all);
    let secrets = all.secrets().collect();
    let is_own = |found: &Diagnostic| (found.span.file.0 as usize) < compiled.own_files;
    let is_known = |found: &Diagnostic| {
        known.iter().any(|other| other.rule == found.rule && other.span == found.span)
    };
    for mut found in all.into_sorted() {
        // The agent's own files come first in `sources`, so their numbers are below `own_files`.
        if is_own(&found) || found.span.file == FileId::BUILT_IN {
            findings.push(found);
        // Only the combination shows it, so it is reported where the base is named.
        } else if !is_known(&found) {
            let place = std::mem::replace(&mut found.span, named.span);
            found.fix = None;
            findings.push(found).related(place, "in what it is built on");
        }
    }
    secrets
}

/// Reads the files of one agent, and adds them to `sources`.
pub(crate) fn read_raw(
    world: &dyn World,
    found: &FoundAgent,
    sources: SourceFiles,
) -> (CompiledAgent, Findings) {
    let workspace = world.workspace(&found.dir);
    let mut findings = Findings::default();
    let mut files = WorldFiles::new(world, &found.dir, workspace.clone());
    files.sources = sources;
    let dir = relative(world, &workspace, &found.dir);
    let mut package = AgentPackage {
        main: found.main.clone(),
        dir_name: dir_name(&found.dir),
        dir: dir.clone(),
        files: &mut files,
    };
    let agent = agentry_formats::read(found.format, &mut package, &mut findings);
    let mut sources = std::mem::take(&mut files.sources);
    let main = join(&found.dir, &found.main);
    let was_read = sources.iter().any(|source| *source.path == *main);
    // The reader did not report the missing main file, so it is reported here.
    if !was_read && !findings.has_errors() && world.kind(&main) == EntryKind::Missing {
        let source = sources.add(&main, "");
        let message = format!("there is no `{}` to read", found.main);
        findings.add(&UNREADABLE, Span::start_of(source.id), message);
    }
    placed(&mut sources, found, &mut findings);
    finding_text::hidden_text(&agent, &sources, &mut findings);
    let compiled = CompiledAgent {
        found: found.clone(),
        workspace,
        dir,
        agent,
        whole: None,
        bases: Vec::new(),
        carried: Vec::new(),
        origins: Vec::new(),
        base_dir: found.dir.clone(),
        own_files: sources.iter().count(),
        sources,
        diagnostics: Vec::new(),
    };
    too_large(world, &compiled, &mut findings);
    (compiled, findings)
}

/// Moves findings without a file to the main file, which may not exist.
fn placed(sources: &mut SourceFiles, found: &FoundAgent, findings: &mut Findings) {
    if findings.iter().any(|finding| finding.span.file == FileId::BUILT_IN) {
        let source = sources.add(&join(&found.dir, &found.main), "");
        findings.place(FileId::BUILT_IN, Span::start_of(source.id));
    }
}

/// Reports variables that the definition names but the environment does not have.
fn unset_variables(
    world: &dyn World,
    agent: &Agent,
    sources: &SourceFiles,
    findings: &mut Findings,
) {
    for (_, block) in &agent.settings {
        let Some(source) = sources.get(block.span.file) else { continue };
        for name in variables(&block.value, source, block.span) {
            if !world.services().has_env(&name.value) {
                let message = format!("the variable `{}` is not set", name.value);
                findings
                    .add(&UNSET_VARIABLE, name.span, message)
                    .hint("set it before the agent runs");
            }
        }
    }
}

/// Reports policy tests whose verdict is not the expected one.
fn failed_tests(world: &dyn World, compiled: &CompiledAgent, findings: &mut Findings) {
    for (test, verdict) in tested(world, compiled) {
        if test.expected.holds(verdict.action) {
            continue;
        }
        let PolicyTest { section, subject, expected } = &test.value;
        let message = format!("{section} `{subject}` is {}, not {expected}", verdict.action);
        let decided = verdict.reasons.iter().find(|reason| reason.action == verdict.action);
        let found = findings.add(&FAILED_POLICY_TEST, test.span, message);
        if let Some(reason) = decided {
            found.hint(format!("`{}` decides about `{}`", reason.rule, reason.segment));
            if let Some(span) = reason.span {
                found.related(span, "this decides");
            }
        }
    }
}

/// The name of a directory. Empty for `.` and `..`, whose names only the file system has.
fn dir_name(dir: &str) -> String {
    let (_, name) = split(dir.trim_end_matches('/'));
    if matches!(name, "." | "..") { String::new() } else { name.to_owned() }
}

/// `path` relative to `root`; empty if it does not lie below it.
pub(crate) fn relative(world: &dyn World, root: &str, path: &str) -> String {
    let (root, path) = (world.absolute(root), world.absolute(path));
    let below = path.strip_prefix(root.trim_end_matches('/')).unwrap_or("");
    below.trim_matches('/').to_owned()
}

/// Two agents with the same name, by their positions in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicateName {
    /// The first agent with the name.
    pub first: usize,
    /// The later agent with the same name.
    pub second: usize,
}

/// Finds agents with the name of an earlier agent of the same workspace, in any format. Each item is a
/// workspace and a name.
pub fn duplicate_names<'a>(agents: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<DuplicateName> {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    let mut taken = Vec::new();
    for (second, agent) in agents.enumerate() {
        match seen.get(&agent) {
            Some(first) => taken.push(DuplicateName { first: *first, second }),
            None => drop(seen.insert(agent, second)),
        }
    }
    taken
}

impl CompiledAgent {
    /// Adds the finding that `first` already has this agent's name.
    pub fn name_taken(&mut self, first: &FoundAgent, config: &WorkspaceConfig) {
        let Some(name) = &self.agent.identity.name else { return };
        let (path, format) = (&first.path, first.format);
        let is_same = format == self.found.format;
        let other = if is_same { String::new() } else { format!(", which is {format}") };
        let message = format!("the name `{}` is taken by `{path}`{other}", name.value);
        let mut found = Diagnostic::new(&NAME_TAKEN, name.span, message);
        // Only a warning: during a migration, one agent may exist in two formats.
        if !is_same || !info(format).needs_unique_names {
            found.severity = Severity::Warning;
        }
        found.hint(if is_same {
            "give each agent of the workspace its own name"
        } else {
            "keep one of the two definitions, or give each agent of the workspace its own name"
        });
        let weighed = config.weigh(suppress(&self.sources, self.own_files, vec![found]));
        self.diagnostics.extend(weighed.into_iter().filter(|found| *found.rule == NAME_TAKEN));
        self.diagnostics.sort_by_key(|found| found.span);
    }
}
