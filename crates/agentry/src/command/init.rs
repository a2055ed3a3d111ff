//! `agentry init`: sets Agentry up in a repository, after inspecting it. It never overwrites a
//! file.
//!
//! ```text
//! agents, files of harnesses, findings ─▶ SetupFile: agentry.toml, baseline, hook, workflow ─▶ shown, asked, written
//! ```

mod setup_file;

use std::io::{self, BufRead as _, IsTerminal as _};

use agentry_compile::text::path::join;
use agentry_compile::text::report::counted;
use agentry_compile::{
    AgentDiscovery, Baseline, EntryKind, FileTree as _, WorkspaceConfig, check, check_harness,
    discover_all, lock,
};
use serde_json::{Value, json};

use crate::args::{InitArguments, ResultFormat};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json};
use crate::save::{FileSaving, ReplaceMode};

use setup_file::{SetupFile, proposed};

/// What is in the repository.
#[expect(clippy::struct_excessive_bools, reason = "each is looked up on its own")]
#[derive(Debug)]
struct RepositoryContent {
    /// The root of the workspace; empty for the current directory.
    root: String,
    /// How many definitions there are.
    definitions: usize,
    /// The harnesses whose agents are there, by name.
    harnesses: Vec<&'static str>,
    /// How many agents of harnesses there are.
    harness_agents: usize,
    /// Today's findings.
    baseline: Baseline,
    findings: usize,
    /// Whether the repository has a directory for GitHub's settings, and a configuration of GitLab CI.
    is_on_github: bool,
    is_on_gitlab: bool,
    /// Whether agents are locked, and whether files were rendered.
    is_locked: bool,
    is_rendered: bool,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SetupState {
    Proposed,
    Exists,
    Written,
    Declined,
}

impl SetupState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Exists => "exists",
            Self::Written => "written",
            Self::Declined => "declined",
        }
    }
}

pub(crate) fn run(args: &InitArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let content = look(&disk);
    let files = proposed(&content);
    let exists = |file: &SetupFile| {
        // A link to nothing is something too.
        std::fs::symlink_metadata(join(&content.root, file.path)).is_ok()
    };
    let mut states: Vec<SetupState> = files
        .iter()
        .map(|file| if exists(file) { SetupState::Exists } else { SetupState::Proposed })
        .collect();
    if args.format == ResultFormat::Human {
        print(&format!("{}\n\n", describe(&content)));
    }
    if !args.dry_run {
        choose(args, &files, &mut states)?;
        write(&content, &files, &states)?;
    }
    match args.format {
        ResultFormat::Json => print_json(&to_json(&content, &files, &states)),
        ResultFormat::Human => print(&to_text(args, &content, &files, &states)),
    }
    Ok(ExitKind::Done)
}

/// Looks at the repository; nothing is executed.
fn look(disk: &DiskWorld) -> RepositoryContent {
    let root = disk.workspace("");
    let start = if root.is_empty() { ".".to_owned() } else { root.clone() };
    let config = WorkspaceConfig::read(disk, &start);
    let found =
        discover_all(disk, std::slice::from_ref(&start), None, &|path| config.excludes_path(path));
    let mut content = RepositoryContent {
        definitions: found.agents.len(),
        harnesses: Vec::new(),
        harness_agents: 0,
        baseline: Baseline::default(),
        findings: 0,
        is_on_github: disk.kind(&join(&root, ".github")) == EntryKind::Directory,
        is_on_gitlab: disk.kind(&join(&root, ".gitlab-ci.yml")) == EntryKind::File,
        is_locked: disk.kind(&join(&root, lock::FILE)) == EntryKind::File,
        is_rendered: false,
        root,
    };
    record(disk, &config, &found, &mut content);
    content
}

/// Checks everything, and records the findings as the baseline.
fn record(
    disk: &DiskWorld,
    config: &WorkspaceConfig,
    found: &AgentDiscovery,
    content: &mut RepositoryContent,
) {
    for agent in &found.agents {
        let checked = check(disk, agent, config);
        for finding in &checked.diagnostics {
            let path = config.from_root(checked.sources.path(finding.span));
            content.baseline.add(&path, finding);
            content.findings += 1;
        }
    }
    for file in &found.harness {
        let checked = check_harness(disk, file, config);
        // What Agentry rendered is checked as its definition.
        if checked.is_rendered {
            // Without a list of targets, `render --check` would not know what to check.
            content.is_rendered = config.render.targets.is_some();
            continue;
        }
        for finding in &checked.diagnostics {
            let path = config.from_root(checked.sources.path(finding.span));
            content.baseline.add(&path, finding);
            content.findings += 1;
        }
        if file.kind.is_agent() {
            content.harness_agents += 1;
            content.harnesses.push(file.kind.as_str());
        }
    }
    content.harnesses.sort_unstable();
    content.harnesses.dedup();
}

/// Asks about each file, unless everything was agreed to.
fn choose(
    args: &InitArguments,
    files: &[SetupFile],
    states: &mut [SetupState],
) -> Result<(), CliFailure> {
    let is_open = states.contains(&SetupState::Proposed);
    let can_ask = io::stdin().is_terminal() && args.format == ResultFormat::Human;
    if is_open && !args.yes && !can_ask {
        return Err(CliFailure::new("nothing was written, because nobody can be asked")
            .hint("`--dry-run` shows what would be written, `--yes` writes it"));
    }
    for (file, state) in files.iter().zip(states) {
        if *state != SetupState::Proposed {
            continue;
        }
        let is_agreed = args.yes || agrees(file)?;
        *state = if is_agreed { SetupState::Written } else { SetupState::Declined };
    }
    Ok(())
}

fn agrees(file: &SetupFile) -> Result<bool, CliFailure> {
    print(&format!("{}: {}\n{}\nwrite it? [y/N] ", file.path, file.reason, indented(&file.text)));
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|_| CliFailure::new("the answer cannot be read; nothing was written"))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Writes what was agreed to, all of it or nothing.
fn write(
    content: &RepositoryContent,
    files: &[SetupFile],
    states: &[SetupState],
) -> Result<(), CliFailure> {
    let agreed = files.iter().zip(states).filter(|(_, state)| **state == SetupState::Written);
    let files: Vec<(String, &str)> =
        agreed.map(|(file, _)| (file.path.to_owned(), file.text.as_str())).collect();
    if files.is_empty() {
        return Ok(());
    }
    let saving = FileSaving {
        dir: &content.root,
        files: &files,
        beside: &[],
        stale: &[],
        mode: ReplaceMode::Never,
        durable: true,
    };
    saving.save()
}

fn describe(content: &RepositoryContent) -> String {
    let definitions = counted(content.definitions, "definition");
    let harnesses = match content.harness_agents {
        0 => "no agents of harnesses".to_owned(),
        count => format!("{} of {}", counted(count, "agent"), content.harnesses.join(", ")),
    };
    format!("found {definitions}, {harnesses}, {}", counted(content.findings, "finding"))
}

fn to_text(
    args: &InitArguments,
    content: &RepositoryContent,
    files: &[SetupFile],
    states: &[SetupState],
) -> String {
    let line = |(file, state): (&SetupFile, &SetupState)| {
        let SetupFile { path, reason, text } = file;
        match state {
            SetupState::Proposed => format!("would write {path}: {reason}\n{}\n", indented(text)),
            SetupState::Written => format!("wrote {path}: {reason}\n"),
            SetupState::Exists => format!("{path} is there already, and stays as it is\n"),
            SetupState::Declined => format!("{path} was not written\n"),
        }
    };
    let mut lines: Vec<String> = files.iter().zip(states).map(line).collect();
    if args.dry_run {
        let next = "nothing was written; `agentry init` asks about each file, `--yes` writes all\n";
        lines.push(next.to_owned());
    } else if states.contains(&SetupState::Written) {
        lines.push(format!("next: {}\n", next_step(content)));
    }
    lines.concat()
}

/// What to do with what is there.
fn next_step(content: &RepositoryContent) -> &'static str {
    match (content.definitions, content.harness_agents) {
        (0, 0) => "commit these files; `agentry new agent-toml NAME` begins an agent",
        (0, _) => {
            "`agentry check`, then commit these files; `agentry import . --to agent-toml -o agents` makes definitions of the agents"
        }
        _ => "`agentry check`, then commit these files; `agentry lock` pins what you reviewed",
    }
}

fn to_json(content: &RepositoryContent, files: &[SetupFile], states: &[SetupState]) -> Value {
    let file = |(file, state): (&SetupFile, &SetupState)| {
        let SetupFile { path, reason, text } = file;
        json!({"path": path, "state": state.as_str(), "reason": reason, "text": text})
    };
    json!({
        "definitions": content.definitions,
        "harnesses": content.harnesses,
        "findings": content.findings,
        "files": files.iter().zip(states).map(file).collect::<Vec<_>>(),
    })
}

/// A text as a quotation. Long ones are cut; `--format json` has all of it.
fn indented(text: &str) -> String {
    const MOST_LINES: usize = 40;
    let lines: Vec<&str> = text.lines().collect();
    let line =
        |line: &&str| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") };
    let mut shown: Vec<String> = lines.iter().take(MOST_LINES).map(line).collect();
    if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        shown.push(format!("    … {}\n", counted(more, "more line")));
    }
    shown.concat()
}
