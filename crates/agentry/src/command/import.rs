//! `agentry import`: converts agents of a harness to a definition format. A result never grants more than
//! the harness does.

mod search;
mod sources;

use agentry_compile::formats::{ConvertedAgent, OutputShape, convert, info};
use agentry_compile::model::Agent;
use agentry_compile::model::ConversionLossKind::Changed;
use agentry_compile::model::Format;
use agentry_compile::targets::import::{ImportError, ImportedAgent, import_from};
use agentry_compile::targets::original::{self, completed, place};
use agentry_compile::targets::{LossKind, TARGETS};
use agentry_compile::text::path::{is_portable, join};
use agentry_compile::text::report::{counted, visible};
use agentry_compile::{World, write_target};
use serde_json::{Value, json};

use crate::args::{ImportArguments, ResultFormat};
use crate::command::convert::{is_lost, sound};
use crate::disk::DiskWorld;
use crate::output::{
    CliFailure, CliOutcome, ExitKind, columns, complain, print, print_json, remark,
};
use crate::save::{FileSaving, ReplaceMode};

use search::{FoundHarnessAgent, holds_some, search};

pub(crate) fn run(args: &ImportArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let (found, wrong) = search(&disk, &args.paths, args.harness);
    let mut exit = ExitKind::Done;
    for failure in &wrong {
        complain(failure);
        exit = exit.max(failure.exit);
    }
    // Only a path that names one file means one agent; a directory may hold any number.
    let many = args.paths.len() > 1 || found.iter().any(|found| !found.is_named);
    let mut agents: Vec<ImportedFiles> = Vec::new();
    for found in &found {
        match one(&disk, args, found, many.then_some(agents.as_slice())) {
            Ok(Some(agent)) => agents.push(agent),
            Ok(None) => {}
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
    report(args, &agents, refused || failed);
    if failed && !agents.is_empty() {
        remark("nothing was written: all agents are, or none; name those that you want");
    }
    if refused {
        remark("error: something would be lost; nothing was written (`--strict`)");
    }
    Ok(if refused { exit.max(ExitKind::Findings) } else { exit })
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
    losses: Vec<ImportLoss>,
}

/// A loss of an import.
#[derive(Default)]
struct ImportLoss {
    field: String,
    kind: &'static str,
    detail: String,
    /// Whether something is missing, rather than added.
    missing: bool,
    /// Whether it was lost while reading, before the target format mattered.
    of_reading: bool,
}

/// Imports one agent; with `others`, the agents before it, into their common directory. Returns `None` if
/// one of them has the same content.
fn one(
    disk: &DiskWorld,
    args: &ImportArguments,
    found: &FoundHarnessAgent,
    others: Option<&[ImportedFiles]>,
) -> Result<Option<ImportedFiles>, CliFailure> {
    let path = &found.path;
    let (mut agent, losses) = read(disk, found).map_err(|why| refused(path, &why))?;
    let Some(others) = others else {
        return written((disk, args), found, &agent, losses, &args.output).map(Some);
    };
    let name = agent.name().to_owned();
    if !is_file_name(&name) {
        let message = format!("`{path}` is called `{name}`, which is not a name of a file");
        return Err(CliFailure::new(message).hint("import it alone, with a name in `--output`"));
    }
    let output = |name: &str| join(&args.output, &file_name(args.to, name));
    let whole = written((disk, args), found, &agent, losses, &output(&name))?;
    let Some(other) = others.iter().find(|other| other.is_called(&name)) else {
        return Ok(Some(whole));
    };
    if other.files == whole.files {
        remark(&format!("`{path}` says what `{}` says: imported once", other.source));
        return Ok(None);
    }
    let free = free_name(&format!("{name}-{}", found.harness.name), others);
    let detail =
        format!("`{}` is called `{name}` too: this one became `{free}`; keep one", other.source);
    if let Some(name) = &mut agent.identity.name {
        name.value.clone_from(&free);
    }
    let mut losses = whole.losses;
    // The agent is written again under its new name, which reports the losses of writing again.
    losses.retain(|loss| loss.of_reading);
    losses.push(ImportLoss {
        field: "name".to_owned(),
        kind: "changed",
        detail,
        ..ImportLoss::default()
    });
    written((disk, args), found, &agent, losses, &output(&free)).map(Some)
}

/// Reads one agent and reports the losses of reading.
fn read(
    disk: &DiskWorld,
    found: &FoundHarnessAgent,
) -> Result<(Agent, Vec<ImportLoss>), ImportError> {
    let (odd, nul) = found.odd(disk);
    if let Some(at) = nul {
        return Err(ImportError { message: "a definition cannot hold U+0000".to_owned(), at });
    }
    let imported = import_from(found.harness, &found.files(disk), &found.file, &disk.memo().render);
    let ImportedAgent { agent, losses } = imported?;
    let mut losses: Vec<ImportLoss> = losses.iter().map(ImportLoss::read).collect();
    if odd {
        let detail = "the file is not UTF-8: what cannot be read became U+FFFD".to_owned();
        let (field, of_reading) = ("file".to_owned(), true);
        losses.push(ImportLoss {
            field,
            kind: "changed",
            detail,
            of_reading,
            ..ImportLoss::default()
        });
    }
    Ok((agent, losses))
}

/// The failure for an agent that cannot be imported, with its position.
fn refused(path: &str, ImportError { message, at }: &ImportError) -> CliFailure {
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
    (disk, args): (&DiskWorld, &ImportArguments),
    found: &FoundHarnessAgent,
    agent: &Agent,
    mut losses: Vec<ImportLoss>,
    output: &str,
) -> Result<ImportedFiles, CliFailure> {
    let target = write_target(args.to, output, "");
    let harness = found.harness.name;
    let mut converted = convert(agent, args.to, &target);
    let around = found.files(disk);
    // Original grants count only if the result grants the same; otherwise they are dropped.
    let bare = original::forgotten(found.harness, agent, &converted.agent, &around);
    if let Some(bare) = &bare {
        let field = original::grants_place(found.harness);
        let words = losses.iter_mut().filter(|loss| loss.field == field);
        for loss in words {
            let detail =
                format!("not kept: {} has narrower rules, so that it would not come back", args.to);
            *loss = ImportLoss { kind: "dropped", detail, missing: true, ..std::mem::take(loss) };
        }
        converted = convert(bare, args.to, &target);
    }
    let agent = bare.as_ref().unwrap_or(agent);
    let completed = completed(agent, &converted.agent, harness);
    // Fields that the format has no place for are kept for the harness, so the agent is written again.
    if let Some((more, _)) = &completed {
        converted = convert(more, args.to, &target);
    }
    sound(&found.path, args.to, &converted)?;
    let names = completed.map(|(_, names)| names).unwrap_or_default();
    losses.extend(converted.losses.iter().map(|loss| ImportLoss::written(loss, &names, harness)));
    let files = files(output, target.shape, converted);
    let (name, source) = (agent.name().to_owned(), found.path.clone());
    Ok(ImportedFiles { name, harness, source, files, losses })
}

impl ImportedFiles {
    /// Whether an agent of that name would have the same paths as this one.
    fn is_called(&self, name: &str) -> bool {
        // Some file systems ignore case, so `A` and `a` would be one file.
        self.name.eq_ignore_ascii_case(name)
    }
}

impl ImportLoss {
    fn read(loss: &agentry_compile::targets::RenderLoss) -> Self {
        let missing = loss.kind != LossKind::Changed;
        let (field, detail) = (loss.field.clone(), loss.detail.clone());
        Self { field, kind: loss.kind.as_str(), detail, missing, of_reading: true }
    }

    /// The losses of writing in the format; a field in `kept` is not lost for the harness.
    fn written(
        loss: &agentry_compile::model::ConversionLoss,
        kept: &[&str],
        harness: &str,
    ) -> Self {
        let field = loss.field.clone();
        if kept.contains(&field.as_str()) {
            let is_read = TARGETS.iter().any(|target| target.name == harness);
            let who = if is_read { format!("only {harness} gets") } else { "nothing reads".into() };
            let kept = format!("kept in `{}`, which {who}", place(harness));
            let detail =
                if loss.kind == Changed { format!("{}; {kept}", loss.detail) } else { kept };
            return Self { field, kind: "changed", detail, ..Self::default() };
        }
        let detail = loss.detail.clone();
        let (kind, missing) = (loss.kind.as_str(), is_lost(loss));
        Self { field, kind, detail, missing, of_reading: false }
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

fn report(args: &ImportArguments, agents: &[ImportedFiles], refused: bool) {
    let planned = args.dry_run || refused;
    if args.format == ResultFormat::Json {
        print_json(&to_json(agents));
        return;
    }
    let verb = if planned { "would write" } else { "wrote" };
    let mut rows = Vec::new();
    for ImportedFiles { name, harness, source, files, losses } in agents {
        print(&format!("{} ({harness})\n", visible(source)));
        files.iter().for_each(|(path, _)| print(&format!("  {verb} {}\n", visible(path))));
        let row = |loss: &ImportLoss| {
            let cells = [name, loss.kind, loss.field.as_str(), loss.detail.as_str()];
            let mut row: Vec<String> = cells.map(|cell| visible(cell).into_owned()).into();
            row.first_mut().into_iter().for_each(|name| name.insert_str(0, "  "));
            row
        };
        rows.extend(losses.iter().map(row));
    }
    match (agents.is_empty(), rows.is_empty()) {
        (true, _) => {}
        (false, true) => print("nothing is lost\n"),
        (false, false) => print(&format!("lost or changed in {}:\n{}", args.to, columns(&rows))),
    }
    let verb = if planned { "would import" } else { "imported" };
    print(&format!("{verb} {}\n", counted(agents.len(), "agent")));
}

fn to_json(agents: &[ImportedFiles]) -> Value {
    let files = agents.iter().flat_map(|agent| {
        agent.files.iter().map(|(path, _)| {
            json!({"agent": agent.name, "harness": agent.harness, "source": agent.source, "path": path})
        })
    });
    let losses = agents.iter().flat_map(|agent| {
        agent.losses.iter().map(|ImportLoss { field, kind, detail, .. }| {
            json!({"agent": agent.name, "field": field, "kind": kind, "detail": detail})
        })
    });
    json!({"files": files.collect::<Value>(), "losses": losses.collect::<Value>()})
}
