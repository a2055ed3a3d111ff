//! `agentry convert`: writes an agent in another format and reports the losses.

use std::path::Path;

use agentry_compile::formats::{ConvertedAgent, OutputShape, WriteTarget, info};
use agentry_compile::model::{ConversionLoss, ConversionLossKind, Format};
use agentry_compile::text::report::visible;
use agentry_compile::text::{Diagnostic, Severity, SourceFile};
use agentry_compile::{
    CompiledAgent, ConversionRefusal, ConversionRequest, convert_agent, discover, is_moved, read,
    write_target,
};
use serde_json::{Value, json};

use crate::args::{ConvertArguments, ResultFormat};
use crate::command::{find_one, usable};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, print, print_json, remark};
use crate::save::{FileSaving, ReplaceMode};

pub(crate) fn run(args: &ConvertArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let found = find_one(&disk, &args.agent, args.format_override)?;
    let compiled = usable(&disk, &found)?;
    let target = write_target(args.to, &args.output, &compiled.dir);
    let request = ConversionRequest { to: args.to, output: &args.output, resolved: args.resolved };
    let converted = convert_agent(&disk, &compiled, request)
        .map_err(|why| refusal(&compiled.found.path, args, why))?;
    let refused = args.strict && converted.losses.iter().any(is_lost);
    let stale = stale(&disk, args, &compiled, &converted);
    if !refused && !args.dry_run {
        write(args, &target, &converted, &stale)?;
    }
    report(args, &target, &converted, &stale);
    let is_file = target.shape == OutputShape::File;
    let ending = info(args.to).files.ending.filter(|ending| !target.name.ends_with(ending));
    if let Some(ending) = ending.filter(|_| is_file) {
        let output = &args.output;
        remark(&format!("note: a search passes over `{output}`; its name lacks `{ending}`"));
    }
    if refused {
        remark("error: something would be lost; nothing was written (`--strict`)");
    }
    Ok(if refused { ExitKind::Findings } else { ExitKind::Done })
}

/// Explains why an agent cannot be converted.
fn refusal(path: &str, args: &ConvertArguments, refusal: ConversionRefusal) -> CliFailure {
    match refusal {
        ConversionRefusal::Moved(why) => {
            let message = format!("`{path}` cannot be moved to `{}`: {why}", args.output);
            CliFailure::new(message).hint("keep it in the same workspace").finding()
        }
        ConversionRefusal::Widened(why) => widened(path, args.to, &why),
        ConversionRefusal::Broken(defect) => broken(path, args.to, &defect),
    }
}

fn widened(path: &str, to: Format, why: &str) -> CliFailure {
    let message = format!("`{path}` cannot be written as {to} without widening it: {why}");
    CliFailure::new(message).hint("choose a format that can say it, such as agent-toml").finding()
}

fn broken(path: &str, to: Format, defect: &Diagnostic) -> CliFailure {
    let message = format!("`{path}` cannot be written as {to}: {}", defect.message);
    CliFailure::new(message).hint_opt(defect.hint.clone()).finding()
}

/// Refuses a result that is wider than its source, or broken.
pub(super) fn sound(path: &str, to: Format, converted: &ConvertedAgent) -> Result<(), CliFailure> {
    if let Some(why) = &converted.widened {
        return Err(widened(path, to, why));
    }
    let error = converted.findings.iter().find(|found| found.severity == Severity::Error);
    error.map_or(Ok(()), |defect| Err(broken(path, to, defect)))
}

/// Lists files of an older agent in the target that the result does not have.
/// Left there, they would become a part of the new agent.
fn stale(
    disk: &DiskWorld,
    args: &ConvertArguments,
    compiled: &CompiledAgent,
    converted: &ConvertedAgent,
) -> Vec<String> {
    let dir = args.output.trim_end_matches('/');
    // In the directory of the source itself nothing is removed: it may be the only copy.
    if !args.force || !is_moved(disk, dir, compiled) || !Path::new(dir).is_dir() {
        return Vec::new();
    }
    let found = discover(disk, &[dir.to_owned()], Some(args.to), &|_| false);
    let Some(old) = found.agents.iter().find(|found| found.dir == dir) else { return Vec::new() };
    let old = read(disk, old);
    let mut paths: Vec<_> = old.own_sources().filter_map(|file| part(dir, file)).collect();
    paths.retain(|path| converted.files.iter().all(|(new, _)| new != path));
    paths.sort();
    paths.dedup();
    paths
}

/// The path below `dir` of a file that was read as a part of its agent; none for files of runs.
fn part(dir: &str, file: &SourceFile) -> Option<String> {
    let path = file.path.strip_prefix(dir)?.strip_prefix('/')?;
    let metadata = std::fs::symlink_metadata(&*file.path).ok()?;
    // An empty text of a file with bytes means that the file was listed and not read.
    let was_read = metadata.is_file() && (!file.text.is_empty() || metadata.len() == 0);
    (was_read && !path.starts_with("runs/")).then(|| path.to_owned())
}

fn write(
    args: &ConvertArguments,
    target: &WriteTarget,
    converted: &ConvertedAgent,
    stale: &[String],
) -> Result<(), CliFailure> {
    let mode = if args.force { ReplaceMode::Force } else { ReplaceMode::Refuse };
    match target.shape {
        OutputShape::Directory => FileSaving {
            dir: &args.output,
            files: &converted.files,
            beside: &[],
            stale,
            mode,
            durable: true,
        }
        .save(),
        OutputShape::File => {
            let text = converted.files.first().map_or(String::new(), |(_, text)| text.clone());
            let files = [(args.output.clone(), text)];
            FileSaving { dir: "", files: &files, beside: &[], stale: &[], mode, durable: true }
                .save()
        }
    }
}

fn report(
    args: &ConvertArguments,
    target: &WriteTarget,
    converted: &ConvertedAgent,
    stale: &[String],
) {
    let below = |file: &String| format!("{}/{file}", args.output.trim_end_matches('/'));
    let path = |file: &String| match target.shape {
        OutputShape::Directory => below(file),
        OutputShape::File => args.output.clone(),
    };
    let files: Vec<_> = converted.files.iter().map(|(file, _)| path(file)).collect();
    let removed: Vec<_> = stale.iter().map(below).collect();
    match args.format {
        ResultFormat::Json => {
            let losses: Vec<Value> = converted.losses.iter().map(loss).collect();
            print_json(&json!({"files": files, "removed": removed, "losses": losses}));
        }
        ResultFormat::Human => {
            let refused = args.strict && converted.losses.iter().any(is_lost);
            let planned = args.dry_run || refused;
            let verb = if planned { "would write" } else { "wrote" };
            files.iter().for_each(|file| print(&format!("{verb} {}\n", visible(file))));
            let verb = if planned { "would remove" } else { "removed" };
            removed.iter().for_each(|file| print(&format!("{verb} {}\n", visible(file))));
            let (lost, added): (Vec<_>, Vec<_>) =
                converted.losses.iter().partition(|loss| is_lost(loss));
            if lost.is_empty() {
                print("nothing is lost\n");
            } else {
                let rows: Vec<_> = lost.into_iter().map(row).collect();
                print(&format!("lost in {}:\n{}", args.to, columns(&rows)));
            }
            if !added.is_empty() {
                let rows: Vec<_> = added.into_iter().map(row).collect();
                print(&format!("added in {}:\n{}", args.to, columns(&rows)));
            }
        }
    }
}

/// Whether a part of the source is missing or changed, rather than something added.
pub(super) fn is_lost(loss: &ConversionLoss) -> bool {
    loss.kind != ConversionLossKind::Added
}

/// A row of the list of losses.
fn row(loss: &ConversionLoss) -> Vec<String> {
    let field = format!("  {}", visible(&loss.field));
    let detail = visible(&loss.detail).into_owned();
    if is_lost(loss) { vec![field, loss.kind.to_string(), detail] } else { vec![field, detail] }
}

fn loss(loss: &ConversionLoss) -> Value {
    json!({"field": loss.field, "kind": loss.kind.as_str(), "detail": loss.detail})
}
