//! `agentry import`: converts agents of a harness to a definition format. A result never grants more than
//! the harness does.

mod docker_agent;
mod report;
mod search;
mod sources;

use agentry_compile::formats::{ConvertedAgent, OutputShape, WriteTarget, convert, declared, info};
use agentry_compile::model::ConversionLossKind::{Added, Changed};
use agentry_compile::model::{Agent, ConversionLoss, Format};
use agentry_compile::targets::import::{ImportError, ImportedAgent, import_from};
use agentry_compile::targets::original::{self, completed, place, spare_fields};
use agentry_compile::targets::{ImportLoss, LossKind, RenderSubject, TARGETS};
use agentry_compile::text::TextPosition;
use agentry_compile::text::path::{is_portable, join};
use agentry_compile::{World, write_target};
use rayon::prelude::*;

use crate::args::ImportArguments;
use crate::command::convert::{is_lost, sound};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, complain, remark};
use crate::save::{FileSaving, ReplaceMode};

use report::print_report;
use search::{FoundHarnessAgent, HarnessSearch, SkippedFile, holds_some, search};
use sources::ImportProject;

pub(crate) fn run(args: &ImportArguments) -> CliOutcome {
    if docker_agent::is_meant(args) {
        return docker_agent::run(args);
    }
    let disk = DiskWorld::default();
    let HarnessSearch { agents: found, mut skipped, failures } =
        search(&disk, &args.paths, args.harness);
    let mut exit = ExitKind::Done;
    for failure in &failures {
        complain(failure);
        exit = exit.max(failure.exit);
    }
    // Only a path that names one file means one agent; a directory may hold any number.
    let many = args.paths.len() > 1 || found.iter().any(|found| !found.is_named);
    // Agents do not depend on each other, except on their names.
    let projects = ImportProject::of_each(&disk, &found);
    let all = found.par_iter().zip(&projects);
    let read: Vec<_> = all.map(|(found, it)| prepare((it, args), found, many)).collect();
    let mut agents: Vec<ImportedFiles> = Vec::new();
    for ((found, project), read) in found.iter().zip(&projects).zip(read) {
        match read.and_then(|read| named((project, args), found, read, (many, &agents))) {
            Ok(ImportOutcome::Written(agent)) => agents.push(*agent),
            Ok(ImportOutcome::Skipped(reason)) => {
                skipped.push(SkippedFile { path: found.path.clone(), reason });
            }
            Err(failure) => {
                complain(&failure);
                exit = exit.max(failure.exit);
            }
        }
    }
    let lost = agents.iter().any(|agent| agent.losses.iter().any(|loss| loss.missing));
    let refused = args.strict && lost;
    let failed = exit != ExitKind::Done;
    if !args.dry_run && !refused && !failed && !agents.is_empty() {
        write(args, &agents)?;
    }
    print_report(args, &agents, &skipped, refused || failed);
    if failed && !agents.is_empty() {
        remark("nothing was written: all agents are, or none; name those that you want");
    }
    if refused {
        remark("error: something would be lost; nothing was written (`--strict`)");
    }
    Ok(if refused { exit.max(ExitKind::Findings) } else { exit })
}

/// What became of one agent.
enum ImportOutcome {
    Written(Box<ImportedFiles>),
    /// It is not written, for this reason.
    Skipped(String),
}

/// A hint to import, if `path` is or holds agents of a harness where definitions are expected.
pub(super) fn hint(disk: &dyn World, path: &str) -> Option<String> {
    holds_some(disk, path)
        .then(|| format!("agents of a harness: `agentry import {path} --to agent-toml -o DIR`"))
}

/// An imported agent as files.
struct ImportedFiles {
    name: String,
    harness: &'static str,
    source: String,
    /// Paths as the user can open them, with their texts.
    files: Vec<(String, String)>,
    losses: Vec<ReportedLoss>,
}

/// A loss of an import, of reading or of writing.
#[derive(Default)]
struct ReportedLoss {
    field: String,
    kind: &'static str,
    detail: String,
    /// Whether something is missing, rather than added.
    missing: bool,
    /// Whether it was lost while reading, before the target format mattered.
    of_reading: bool,
    /// The position in the file of the agent.
    at: Option<TextPosition>,
}

/// An agent that was read and written, before other agents of its name are known.
enum PreparedImport {
    Read(Box<(ImportedAgent, ImportedFiles)>),
    Unused(String),
}

/// Reads one agent and writes it in memory; if it is one of `many`, into their common directory.
fn prepare(
    (project, args): (&ImportProject<'_>, &ImportArguments),
    found: &FoundHarnessAgent,
    many: bool,
) -> Result<PreparedImport, CliFailure> {
    let path = &found.path;
    let (imported, losses) = match read(project, found) {
        Err(why) if why.is_unused && !found.is_named => {
            return Ok(PreparedImport::Unused(why.message));
        }
        read => read.map_err(|why| refused(path, &why))?,
    };
    let name = imported.agent.name();
    if many && !is_file_name(name) {
        let message = format!("`{path}` is called `{name}`, which is not a name of a file");
        return Err(CliFailure::new(message).hint("import it alone, with a name in `--output`"));
    }
    let output = if many { output(args, name) } else { args.output.clone() };
    let files = written((project, args), found, &imported, losses, &output)?;
    Ok(PreparedImport::Read(Box::new((imported, files))))
}

/// The path of an agent in the common directory.
fn output(args: &ImportArguments, name: &str) -> String {
    join(&args.output, &file_name(args.to, name))
}

/// Gives an agent a name that none of the `others` has. One with the same content as another is skipped.
fn named(
    (project, args): (&ImportProject<'_>, &ImportArguments),
    found: &FoundHarnessAgent,
    read: PreparedImport,
    (many, others): (bool, &[ImportedFiles]),
) -> Result<ImportOutcome, CliFailure> {
    let (mut imported, whole) = match read {
        PreparedImport::Unused(reason) => return Ok(ImportOutcome::Skipped(reason)),
        PreparedImport::Read(both) => *both,
    };
    let name = imported.agent.name().to_owned();
    let done = |files: ImportedFiles| ImportOutcome::Written(Box::new(files));
    let Some(other) = others.iter().find(|other| many && other.is_called(&name)) else {
        return Ok(done(whole));
    };
    if other.files == whole.files {
        return Ok(ImportOutcome::Skipped(format!("it says what `{}` says", other.source)));
    }
    let free = free_name(&format!("{name}-{}", found.harness.name), others);
    let detail =
        format!("`{}` is called `{name}` too: this one became `{free}`; keep one", other.source);
    if let Some(name) = &mut imported.agent.identity.name {
        name.value.clone_from(&free);
    }
    let mut losses = whole.losses;
    // The agent is written again under its new name, which reports the losses of writing again.
    losses.retain(|loss| loss.of_reading);
    losses.push(ReportedLoss {
        field: "name".to_owned(),
        kind: "changed",
        detail,
        ..ReportedLoss::default()
    });
    written((project, args), found, &imported, losses, &output(args, &free)).map(done)
}

/// Reads one agent and reports the losses of reading.
fn read(
    project: &ImportProject<'_>,
    found: &FoundHarnessAgent,
) -> Result<(ImportedAgent, Vec<ReportedLoss>), ImportError> {
    let ImportProject { files, memo } = project;
    let (odd, nul) = found.odd(files);
    if let Some(at) = nul {
        return Err(ImportError::at("a definition cannot hold U+0000".to_owned(), at));
    }
    let imported = import_from(found.harness, files, &found.file, memo)?;
    let mut losses: Vec<ReportedLoss> = imported.losses.iter().map(ReportedLoss::read).collect();
    if let Some(at) = odd {
        losses.push(ReportedLoss {
            field: "file".to_owned(),
            kind: "changed",
            detail: "the file is not UTF-8: what cannot be read became U+FFFD".to_owned(),
            of_reading: true,
            at: Some(at),
            missing: false,
        });
    }
    Ok((imported, losses))
}

/// The failure for an agent that cannot be imported, with its position.
fn refused(path: &str, ImportError { message, at, .. }: &ImportError) -> CliFailure {
    let place = format!("{path}:{}:{}", at.line, at.column);
    CliFailure::new(format!("`{place}` cannot be imported: {message}"))
}

/// A name that no other imported agent has.
fn free_name(name: &str, others: &[ImportedFiles]) -> String {
    let is_free = |name: &String| !others.iter().any(|other| other.is_called(name));
    let more = (2..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(more).find(is_free).unwrap_or_default()
}

/// The files of an agent at `output`, with the losses of reading and writing.
fn written(
    (project, args): (&ImportProject<'_>, &ImportArguments),
    found: &FoundHarnessAgent,
    imported: &ImportedAgent,
    mut losses: Vec<ReportedLoss>,
    output: &str,
) -> Result<ImportedFiles, CliFailure> {
    let agent = &imported.agent;
    let target = write_target(args.to, output, "");
    let harness = found.harness.name;
    let ImportProject { files: around, memo } = project;
    let (mut converted, mut kept) = completely(agent, (args.to, &target), harness);
    // Original grants count only if the result grants the same; otherwise they are dropped.
    let definition = |converted: &ConvertedAgent| {
        RenderSubject::of(converted.agent.clone(), &target.place, memo)
    };
    let mut subject = definition(&converted);
    let bare = original::forgotten(found.harness, agent, &subject, around);
    if let Some(bare) = &bare {
        let field = original::grants_place(found.harness);
        let words = losses.iter_mut().filter(|loss| loss.field == field);
        for loss in words {
            let detail =
                format!("not kept: {} has narrower rules, so that it would not come back", args.to);
            *loss = ReportedLoss { kind: "dropped", detail, missing: true, ..std::mem::take(loss) };
        }
        (converted, kept) = completely(bare, (args.to, &target), harness);
        subject = definition(&converted);
    }
    sound(&found.path, args.to, &converted)?;
    if let Some(excess) = imported.excess(&subject) {
        let message = format!(
            "`{}` cannot be written as {} without permitting more than {}: {excess}",
            found.path, args.to, found.harness.title
        );
        let hint = "choose a format that can say it, such as agent-toml";
        return Err(CliFailure::new(message).hint(hint).finding());
    }
    let is_invented = |loss: &ConversionLoss| loss.field == "description" && loss.kind == Added;
    if converted.losses.iter().any(is_invented) {
        // The loss of writing shows the text that stands for it.
        losses.retain(|loss| loss.field != "description");
    }
    losses.extend(converted.losses.iter().map(|loss| ReportedLoss::written(loss, &kept, harness)));
    let files = files(output, target.shape, converted);
    let (name, source) = (agent.name().to_owned(), found.path.clone());
    Ok(ImportedFiles { name, harness, source, files, losses })
}

/// Writes an agent with all fields that the format has no place for, which are kept for the harness. Also returns the
/// places of these fields in the model.
fn completely(
    agent: &Agent,
    (to, target): (Format, &WriteTarget),
    harness: &str,
) -> (ConvertedAgent, Vec<&'static str>) {
    let write = |completed: Option<(Agent, Vec<&'static str>)>| {
        let (more, places) = completed.map_or((None, Vec::new()), |(more, it)| (Some(more), it));
        (convert(more.as_ref().unwrap_or(agent), to, target), places)
    };
    // The fields alone mostly show what is missing, so that the whole agent is written once.
    let missing = |result: &Agent| completed(agent, result, harness);
    let (converted, places) = write(missing(&declared(&spare_fields(agent), to, target)));
    let really = missing(&converted.agent);
    if really.as_ref().map_or(&[][..], |(_, places)| places) == places {
        return (converted, places);
    }
    write(really)
}

impl ImportedFiles {
    /// Whether an agent of that name would have the same paths as this one.
    fn is_called(&self, name: &str) -> bool {
        // Some file systems ignore case, so `A` and `a` would be one file.
        self.name.eq_ignore_ascii_case(name)
    }
}

impl ReportedLoss {
    fn read(loss: &ImportLoss) -> Self {
        let missing = loss.kind != LossKind::Changed;
        let (field, detail) = (loss.field.clone(), loss.detail.clone());
        Self { field, kind: loss.kind.as_str(), detail, missing, of_reading: true, at: loss.at }
    }

    /// The losses of writing in the format; a field in `kept` is not lost for the harness.
    fn written(loss: &ConversionLoss, kept: &[&str], harness: &str) -> Self {
        let field = loss.field.clone();
        if kept.contains(&field.as_str()) {
            let is_read = TARGETS.iter().any(|target| target.name == harness);
            let reader_text =
                if is_read { format!("only {harness} gets") } else { "nothing reads".into() };
            let kept = format!("kept in `{}`, which {reader_text}", place(harness));
            let detail =
                if loss.kind == Changed { format!("{}; {kept}", loss.detail) } else { kept };
            return Self { field, kind: "changed", detail, ..Self::default() };
        }
        let detail = match (loss.kind, field.as_str()) {
            (Added, "description") => {
                let text = loss.detail.split('`').nth(1).unwrap_or_default();
                format!("there is none: `{text}` was made from the prompt")
            }
            _ => loss.detail.clone(),
        };
        let (kind, missing) = (loss.kind.as_str(), is_lost(loss));
        Self { field, kind, detail, missing, of_reading: false, at: None }
    }
}

fn files(output: &str, shape: OutputShape, converted: ConvertedAgent) -> Vec<(String, String)> {
    match shape {
        OutputShape::Directory => {
            let below = |(path, text): (String, String)| (join(output, &path), text);
            converted.files.into_iter().map(below).collect()
        }
        OutputShape::File => {
            let text = converted.files.into_iter().next().map_or(String::new(), |(_, text)| text);
            vec![(output.to_owned(), text)]
        }
    }
}

/// Whether a name is a valid file name in any directory.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && is_portable(name) && !name.contains('/') && !name.starts_with('.')
}

/// The file name of an agent in the common directory.
fn file_name(to: Format, name: &str) -> String {
    format!("{name}{}", info(to).files.ending.unwrap_or_default())
}

/// Writes all agents, or none.
fn write(args: &ImportArguments, agents: &[ImportedFiles]) -> Result<(), CliFailure> {
    let mode = if args.force { ReplaceMode::Force } else { ReplaceMode::Refuse };
    let all: Vec<(String, String)> = agents.iter().flat_map(|it| it.files.clone()).collect();
    let dir = args.output.trim_end_matches('/');
    let below = |(path, text): &(String, String)| {
        let rest = path.strip_prefix(&args.output)?.trim_start_matches('/');
        (!rest.is_empty()).then(|| (rest.to_owned(), text.clone()))
    };
    let relative: Option<Vec<(String, String)>> = all.iter().map(below).collect();
    let (dir, files) = match relative {
        Some(files) => (if dir.is_empty() { "/" } else { dir }, files),
        // A single agent may be written to the output path itself, which is then a file.
        None => ("", all),
    };
    FileSaving { dir, files: &files, beside: &[], stale: &[], mode, durable: true }.save()
}
