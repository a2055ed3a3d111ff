//! `agentry models`: lists the language models that can be used here, and why others cannot.

use std::fmt::Write as _;

use agentry_compile::text::report::visible;
use agentry_compile::{
    CandidateOutcome, ModelCandidate, ModelLookup, ModelSurvey, ResolveSettings, survey_models,
};
use serde_json::{Value, json};

use super::resolve_report::{candidate_json, facts, section};
use crate::args::{ModelsArguments, ResultFormat};
use crate::command::reported;
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json};

pub(crate) fn run(args: &ModelsArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let settings = machine_settings(&disk)?;
    let ask = if args.live { ModelLookup::Live } else { ModelLookup::Local };
    let survey = survey_models(&disk, &settings, ask);
    match args.format {
        ResultFormat::Human => print(&human(&survey, &settings)),
        ResultFormat::Json => print_json(&to_json(&survey, &settings)),
    }
    Ok(ExitKind::Done)
}

/// The user's settings with the addresses of the environment.
pub(super) fn machine_settings(disk: &DiskWorld) -> Result<ResolveSettings, CliFailure> {
    let settings = ResolveSettings::read(disk).map_err(|(findings, sources)| {
        reported(&findings, &sources, "your configuration has errors")
    })?;
    Ok(settings.with_environment(&|name| std::env::var(name).ok()))
}

/// Whether a model can be used here.
pub(super) fn is_usable(model: &ModelCandidate) -> bool {
    !matches!(model.outcome, CandidateOutcome::Skipped(_))
}

/// Usable models one by one; the others by provider and reason.
fn human(survey: &ModelSurvey, settings: &ResolveSettings) -> String {
    let catalogue = &settings.catalogue;
    let mut out = format!("models, by catalogue {} of {}\n", catalogue.version, catalogue.date);
    let usable = survey.models.iter().filter(|model| is_usable(model));
    let usable: Vec<_> = usable.map(|model| vec![model.id.clone(), facts(model)]).collect();
    if usable.is_empty() {
        out.push_str("\nnone can be used\n");
    }
    section(&mut out, "can be used", usable);
    section(&mut out, "cannot be used", unusable(survey));
    let first = survey.models.iter().find(|model| is_usable(model));
    let example = first.map_or("PROVIDER/MODEL", |model| &model.id);
    let _ = writeln!(out, "\n`agentry run AGENT -m {}` uses one", visible(example));
    out
}

/// One row for each provider and reason.
fn unusable(survey: &ModelSurvey) -> Vec<Vec<String>> {
    let mut groups: Vec<(&str, &str, Vec<&ModelCandidate>)> = Vec::new();
    for model in &survey.models {
        let CandidateOutcome::Skipped(why) = &model.outcome else { continue };
        let same = |it: &&mut (&str, &str, Vec<_>)| it.0 == model.provider && it.1 == why;
        match groups.iter_mut().find(same) {
            Some((.., models)) => models.push(model),
            None => groups.push((&model.provider, why, vec![model])),
        }
    }
    let row = |(provider, why, models): (&str, &str, Vec<&ModelCandidate>)| {
        let name = match models.as_slice() {
            [one] => one.id.clone(),
            several => format!("{provider} ({} models)", several.len()),
        };
        vec![name, why.to_owned()]
    };
    let silent = survey.silent.iter().map(|(name, why)| vec![name.clone(), why.clone()]);
    groups.into_iter().map(row).chain(silent).collect()
}

fn to_json(survey: &ModelSurvey, settings: &ResolveSettings) -> Value {
    let catalogue = &settings.catalogue;
    let silent = survey.silent.iter().map(|(name, why)| json!({"provider": name, "reason": why}));
    json!({
        "catalogue": {"version": catalogue.version, "date": catalogue.date},
        "models": survey.models.iter().map(candidate_json).collect::<Vec<_>>(),
        "providers_without_models": silent.collect::<Vec<_>>(),
    })
}
