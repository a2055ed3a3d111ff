//! `agentry show`: prints an agent as Agentry reads it.

use agentry_compile::text::report::visible;
use agentry_compile::{
    CandidateOutcome, CompiledAgent, ModelCandidate, ModelLookup, PromptPart, ResolveSettings,
    RunPrompt, WorkspaceConfig, declared, judge, loadable_skills, resolve, resolved, rows,
    skill_list,
};
use serde_json::{Value, json};

use crate::args::{ResultFormat, ShowArguments};
use crate::command::run::memory::{self, MemoryAccess};
use crate::command::run::prepared_agent::facts;
use crate::command::run::skills::offered;
use crate::command::{find_one, mask_note, reported, usable, work_here};
use crate::disk::DiskWorld;
use crate::home::agentry_home;
use crate::output::{CliFailure, CliOutcome, ExitKind, columns, cut, print, print_json, remark};

/// The start of the line above each part of a prompt.
const HEADING: &str = "──";

pub(crate) fn run(args: &ShowArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let found = find_one(&disk, &args.agent, args.format_override)?;
    let compiled = usable(&disk, &found)?;
    if args.prompt {
        show_prompt(&prompt_parts(&disk, compiled)?, args.format);
        return Ok(ExitKind::Done);
    }
    let agent = if args.declared { compiled.agent.clone() } else { resolved(&compiled) };
    match args.format {
        ResultFormat::Json => print_json(&declared(&agent, &compiled.sources).to_json()),
        ResultFormat::Human => {
            let head = format!("{} ({})\n\n", visible(&found.path), found.format);
            let rows = rows(&agent, &compiled);
            let cell = |text: &str| cut(&visible(text), 72);
            let table: Vec<_> = rows
                .iter()
                .map(|row| {
                    vec![cell(&row.field), cell(&row.value), visible(&row.origin).into_owned()]
                })
                .collect();
            print(&format!("{head}{}", columns(&table)));
        }
    }
    Ok(ExitKind::Done)
}

/// The parts of the system prompt of a run, in order.
fn prompt_parts(
    disk: &DiskWorld,
    mut compiled: CompiledAgent,
) -> Result<Vec<PromptPart>, CliFailure> {
    let prompt = RunPrompt::read(disk, &compiled);
    let settings = ResolveSettings::read(disk).map_err(|(findings, sources)| {
        reported(&findings, &sources, "your configuration has errors")
    })?;
    let skills = loadable_skills(disk, &compiled, &settings);
    work_here(disk, &mut compiled);
    let judge = judge(disk, &mut compiled).map_err(|findings| {
        reported(&findings, &compiled.sources, "the user's policy has errors").refused()
    })?;
    let skills = offered(disk, skills, &judge);
    let switches = WorkspaceConfig::read(disk, &compiled.workspace).prompt;
    let memory = memory_part(disk, &compiled, &settings, switches.memory)?;
    let prompt = prompt.in_workspace(disk, &compiled.workspace, switches, &facts());
    prompt.remarks.iter().for_each(|line| remark(&format!("warning: {}", visible(line))));
    let listed = skills.iter().filter(|skill| !skill.needs.is_for_people);
    let machine: Vec<PromptPart> = prompt.machine.iter().cloned().chain(memory).collect();
    Ok(prompt.with(skill_list(listed), &machine))
}

/// What the agent remembers, as in a run whose prompt is not known yet.
fn memory_part(
    disk: &DiskWorld,
    compiled: &CompiledAgent,
    settings: &ResolveSettings,
    is_in_prompt: bool,
) -> Result<Option<PromptPart>, CliFailure> {
    let Some(home) = agentry_home() else { return Ok(None) };
    let access = MemoryAccess::of(disk, compiled, &home, is_in_prompt)?;
    let Some(open) = access.open(&[]) else { return Ok(None) };
    let plan = resolve(disk, compiled, settings, ModelLookup::Offline);
    let is_usable =
        |model: &&ModelCandidate| !matches!(model.outcome, CandidateOutcome::Skipped(_));
    let window = plan.models.iter().filter(is_usable).filter_map(|model| model.context).min();
    Ok(open.in_prompt(None, window).map(memory::part))
}

fn show_prompt(parts: &[PromptPart], format: ResultFormat) {
    for place in parts.iter().flat_map(PromptPart::masked_places) {
        remark(&format!("note: {}", mask_note(&place)));
    }
    match format {
        ResultFormat::Json => {
            let parts: Vec<Value> = parts
                .iter()
                .map(|part| {
                    json!({
                        "name": part.name,
                        "origin": part.origin,
                        "text": part.text,
                        "masked": part.is_masked(),
                    })
                })
                .collect();
            print_json(&Value::Array(parts));
        }
        ResultFormat::Human => {
            for part in parts {
                let lines: Vec<_> = part.text.lines().map(|line| apart(&visible(line))).collect();
                print(&format!(
                    "{HEADING} {} ({})\n{}\n\n",
                    part.name,
                    visible(&part.origin),
                    lines.join("\n")
                ));
            }
        }
    }
}

/// A line of a part that cannot be taken for the heading of another part.
fn apart(line: &str) -> String {
    if line.starts_with(HEADING) { format!(" {line}") } else { line.to_owned() }
}
