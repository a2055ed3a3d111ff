//! `agentry convert`: writes an agent in another format and reports the losses.

use std::path::Path;

use agentry_compile::formats::{ConvertedAgent, OutputShape, WriteTarget, convert, info};
use agentry_compile::model::{Agent, ConversionLoss, ConversionLossKind, Format};
use agentry_compile::policy::PolicyContext;
use agentry_compile::text::report::visible;
use agentry_compile::text::{Severity, SourceFile};
use agentry_compile::{CompiledAgent, convertible, discover, read, relocate};
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
    let target = target(args.to, &args.output, compiled.dir.clone());
    let converted = converted(&disk, args, &compiled, &target)?;
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

/// Converts the agent; fails if the result would be wider than the source, or broken.
fn converted(
    disk: &DiskWorld,
    args: &ConvertArguments,
    compiled: &CompiledAgent,
    target: &WriteTarget,
) -> Result<ConvertedAgent, CliFailure> {
    let (path, to) = (&compiled.found.path, args.to);
    let format = info(to);
    let has_base = !args.resolved && !compiled.bases.is_empty();
    // Otherwise the inherited values are written into the result.
    let keep_base = has_base && format.can_express("base");
    let mut agent = convertible(compiled, to, keep_base);
    let dir = directory(args, target);
    let moved =
        format.can_express("trust") && is_moved(&dir, compiled) && leave_scope_behind(&mut agent);
    let relocated = relocate(disk, compiled, &mut agent, (to, &dir));
    if let Some(why) = relocated.refused {
        let message = format!("`{path}` cannot be moved to `{}`: {why}", args.output);
        return Err(CliFailure::new(message).hint("keep it in the same workspace").finding());
    }
    let mut converted = convert(&agent, to, target);
    converted.losses.extend(relocated.losses);
    // An agent without a policy asks the user; a format that denies instead narrows it.
    let was_asked = compiled.whole().policy.is_empty()
        && info(compiled.found.format).denies_without_policy.is_none();
    if let Some(why) = format.denies_without_policy.filter(|_| was_asked && !keep_base) {
        let detail = format!("what was asked about is denied: {why}");
        converted.losses.push(narrowed("permissions", &detail));
    }
    if moved {
        let detail = "paths relative to the old place would mean others in the new one";
        converted.losses.push(narrowed("trust.scope", detail));
    }
    converted.losses.sort();
    sound(path, to, &converted)?;
    Ok(converted)
}

/// Refuses a result that is wider than its source, or broken.
pub(super) fn sound(path: &str, to: Format, converted: &ConvertedAgent) -> Result<(), CliFailure> {
    if let Some(widened) = &converted.widened {
        let message = format!("`{path}` cannot be written as {to} without widening it: {widened}");
        let hint = "choose a format that can say it, such as agent-toml";
        return Err(CliFailure::new(message).hint(hint).finding());
    }
    let error = converted.findings.iter().find(|found| found.severity == Severity::Error);
    if let Some(defect) = error {
        let message = format!("`{path}` cannot be written as {to}: {}", defect.message);
        return Err(CliFailure::new(message).hint_opt(defect.hint.clone()).finding());
    }
    Ok(())
}

fn narrowed(field: &str, detail: &str) -> ConversionLoss {
    ConversionLoss {
        field: field.to_owned(),
        kind: ConversionLossKind::Narrowed,
        detail: detail.to_owned(),
    }
}

/// The directory that the relative paths of the result start from.
fn directory(args: &ConvertArguments, target: &WriteTarget) -> String {
    match target.shape {
        OutputShape::Directory => args.output.clone(),
        OutputShape::File => {
            let parent = Path::new(&args.output).parent();
            parent.map_or(String::new(), |parent| parent.to_string_lossy().into_owned())
        }
    }
}

/// Whether the result lies in another directory than its source.
fn is_moved(dir: &str, compiled: &CompiledAgent) -> bool {
    let absolute = |path: &str| std::path::absolute(if path.is_empty() { "." } else { path }).ok();
    absolute(dir) != absolute(&compiled.found.dir)
}

/// Removes the relative paths from the scope, and returns whether there were any.
fn leave_scope_behind(agent: &mut Agent) -> bool {
    let Some(scope) = agent.policy.trust.as_mut().and_then(|trust| trust.scope.as_mut()) else {
        return false;
    };
    let before = scope.len();
    // Only these mean the same directory from anywhere.
    scope.retain(|path| path.starts_with('/') || path.starts_with("~/"));
    scope.len() < before
}

/// The target at `output`: a file for some formats, a directory for the others.
pub(super) fn target(to: Format, output: &str, dir: String) -> WriteTarget {
    let output = Path::new(output);
    let name = output.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let shape = info(to).files.shape(&name);
    WriteTarget { name, shape, place: PolicyContext { dir, ..PolicyContext::default() } }
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
    if !args.force || !is_moved(dir, compiled) || !Path::new(dir).is_dir() {
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
