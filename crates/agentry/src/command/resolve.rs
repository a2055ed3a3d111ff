//! `agentry resolve`: shows which model, tools and skills an agent gets, and why.

use agentry_compile::{ModelLookup, ResolvedPlan, World as _, resolve};

use crate::args::{ResolveArguments, ResultFormat};
use crate::command::models::machine_settings;
use crate::command::resolve_report::{human, json};
use crate::command::{find_one, show, usable};
use crate::disk::DiskWorld;
use crate::output::{CliFailure, CliOutcome, ExitKind, print, print_json};

pub(crate) fn run(args: &ResolveArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let found = find_one(&disk, &args.agent, args.format_override)?;
    let compiled = usable(&disk, &found)?;
    let settings = machine_settings(&disk)?;
    let ask = if args.live { ModelLookup::Live } else { ModelLookup::Local };
    let plan = resolve(&disk, &compiled, &settings, ask);
    match args.format {
        ResultFormat::Human => print(&human(&compiled, &plan, &settings)),
        ResultFormat::Json => print_json(&json(&compiled, &plan, &settings)),
    }
    show(&plan.diagnostics, &plan.sources);
    show(&plan.problems(), &compiled.sources);
    if plan.is_usable() {
        return Ok(ExitKind::Done);
    }
    Err(match plan.chosen() {
        None => no_model(&disk, &found.path, &plan),
        Some(_) => CliFailure::new(format!("`{}` lacks skills that it needs", found.path)),
    }
    .finding())
}

/// The failure for «no model», with the variables that would help.
fn no_model(disk: &DiskWorld, path: &str, plan: &ResolvedPlan) -> CliFailure {
    let mut keys: Vec<&str> = Vec::new();
    for candidate in &plan.models {
        let first = candidate.keys.first().map(String::as_str);
        keys.extend(first.filter(|key| !keys.contains(key) && !disk.services().has_env(key)));
    }
    let names: Vec<_> = keys.iter().take(3).map(|key| format!("`{key}`")).collect();
    let hint = (!names.is_empty()).then(|| match names.as_slice() {
        [one] => format!("set {one}"),
        several => format!("set one of {}", several.join(", ")),
    });
    CliFailure::new(format!("no model can be used for `{path}`")).hint_opt(hint)
}
