//! `agentry policy why`: the verdict on one call, and the rule behind each of its parts.

use agentry_compile::model::Agent;
use agentry_compile::policy::{Judge, Section, SectionCall, Verdict, VerdictReason};
use agentry_compile::render::{judged, searched};
use agentry_compile::targets::guard::FileSearch;
use agentry_compile::text::SourceFiles;
use agentry_compile::text::report::visible;
use agentry_compile::{FileTree as _, WorldLinks, inside, judge};
use serde_json::{Value, json};

use crate::args::{PolicyWhyArguments, ResultFormat};
use crate::command::guard::protected_paths;
use crate::command::{find_one, reported, usable, work_here};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, print, print_json};

pub(crate) fn run(args: &PolicyWhyArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let found = find_one(&disk, &args.agent, args.format_override)?;
    let mut compiled = usable(&disk, &found)?;
    work_here(&disk, &mut compiled);
    let judge = judge(&disk, &mut compiled).map_err(|findings| {
        reported(&findings, &compiled.sources, "the user's policy has errors")
    })?;
    let judge = match &args.inside {
        Some(name) => inside_of(&judge, compiled.whole(), name)?,
        None => judge,
    };
    let directory = match &args.directory {
        Some(directory) => disk.absolute(directory),
        None => judge.places().workspace.clone(),
    };
    let call = SectionCall { section: args.tool, subject: &args.subject, directory: &directory };
    let mut verdict = answer(&disk, &judge, &protected_paths(&disk, &compiled), call);
    if let Some(pattern) = &args.search {
        let reason = search(&disk, &judge, call, pattern)?;
        verdict.action = reason.iter().fold(verdict.action, |all, it| all.strictest(it.action));
        verdict.reasons.extend(reason);
    }
    match args.format {
        ResultFormat::Json => print_json(&to_json(&verdict, &compiled.sources)),
        ResultFormat::Human => print(&to_text(&verdict, &compiled.sources)),
    }
    Ok(ExitKind::Done)
}

/// The verdict that the guard and a run would give: part by part in the order of the call, then the
/// protected paths, if they decide.
fn answer(disk: &DiskWorld, judge: &Judge, protected: &[String], call: SectionCall<'_>) -> Verdict {
    let mut verdict = judge.judge(call, &WorldLinks(disk));
    // The same with protected names and paths, which no rule can allow.
    let all = judged(disk, judge, protected, call);
    if all.action == verdict.action {
        return verdict;
    }
    let new: Vec<VerdictReason> =
        all.reasons.into_iter().filter(|reason| !verdict.reasons.contains(reason)).collect();
    verdict.reasons.extend(new);
    Verdict { action: all.action, ..verdict }
}

/// The reason against a search through the directory of a call, as the guard would report it.
fn search(
    disk: &DiskWorld,
    judge: &Judge,
    call: SectionCall<'_>,
    pattern: &str,
) -> Result<Option<VerdictReason>, CliFailure> {
    if call.section != Section::Read {
        return Err(CliFailure::new("`--search` is about `read`: the directory that is searched"));
    }
    let searches = FileSearch::each(call.subject, call.directory, Some(pattern));
    Ok(searched(disk, judge, call.directory, &searches))
}

/// The judge for the calls inside a script or a skill.
fn inside_of(judge: &Judge, agent: &Agent, name: &str) -> Result<Judge, CliFailure> {
    match inside(agent, name, judge.places()) {
        Some(Some(layer)) => Ok(judge.narrowed(layer)),
        Some(None) => Ok(judge.clone()),
        None => Err(CliFailure::new(format!("the agent has no script and no skill `{name}`"))),
    }
}

fn to_json(verdict: &Verdict, sources: &SourceFiles) -> Value {
    let reason = |reason: &VerdictReason| {
        let place = reason.span.map(|span| (sources.path(span), sources.start(span).line));
        json!({
            "segment": reason.segment,
            "verdict": reason.action.as_str(),
            "decides": verdict.is_decided_by(reason),
            "rule": reason.rule,
            "path": place.map(|(path, _)| path),
            "line": place.map(|(_, line)| line),
            "layer": reason.layer.as_str(),
            "note": reason.note,
        })
    };
    let reasons: Vec<_> = verdict.reasons.iter().map(reason).collect();
    json!({"verdict": verdict.action.as_str(), "reasons": reasons})
}

/// The deciding part first, then the other parts in the order of the call.
fn to_text(verdict: &Verdict, sources: &SourceFiles) -> String {
    let (first, rest): (Vec<_>, Vec<_>) =
        verdict.reasons.iter().partition(|reason| verdict.is_decided_by(reason));
    let parted = !first.is_empty() && !rest.is_empty();
    let gap = parted.then(|| vec![String::new()]);
    let rows = first.iter().map(|reason| row(reason, sources));
    let rows = rows.chain(gap).chain(rest.iter().map(|reason| row(reason, sources)));
    let rows: Vec<_> = rows.collect();
    let notes = first.iter().chain(&rest).filter_map(|reason| {
        let note = reason.note.as_ref()?;
        Some(format!("\nnote: {}: {}\n", one_line(&visible(&reason.segment)), visible(note)))
    });
    let notes: String = notes.collect();
    format!("{}\n\n{}{notes}", verdict.action, columns(&rows))
}

fn row(reason: &VerdictReason, sources: &SourceFiles) -> Vec<String> {
    let place = reason.span.map_or_else(
        || format!("({})", reason.layer),
        |span| {
            let start = sources.start(span);
            let path = visible(sources.path(span));
            format!("{path}:{}:{} ({})", start.line, start.column, reason.layer)
        },
    );
    let segment = one_line(&visible(&reason.segment));
    vec![
        format!("  {segment}"),
        reason.action.to_string(),
        visible(&reason.rule).into_owned(),
        place,
    ]
}

/// A part of a command line, shortened to one line of at most 60 characters.
fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(60).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
