//! The report of `agentry resolve`, as text and as JSON.

use std::fmt::Write as _;

use agentry_compile::model::ModelTier;
use agentry_compile::text::digest;
use agentry_compile::text::report::visible;
use agentry_compile::{
    CandidateOrigin, CandidateOutcome, CompiledAgent, ModelCandidate, PlannedSkill, PlannedTool,
    ResolveSettings, ResolvedPlan, SkillResolution, TokenPrice,
};
use serde_json::{Value, json};

use crate::output::columns;

/// The plan as text: the chosen model first, then every candidate with its reason.
pub(crate) fn human(
    compiled: &CompiledAgent,
    plan: &ResolvedPlan,
    settings: &ResolveSettings,
) -> String {
    let found = &compiled.found;
    let mut out = format!("{} ({})\n\n", visible(&found.path), found.format);
    match plan.chosen() {
        Some(model) => {
            let _ = writeln!(out, "model  {}\n       {}", visible(&model.id), facts(model));
        }
        None => out.push_str("model  none can be used\n"),
    }
    let catalogue = &settings.catalogue;
    let title = format!("candidates, by catalogue {} of {}", catalogue.version, catalogue.date);
    section(&mut out, &title, candidates(&plan.models));
    section(&mut out, "skills", plan.skills.iter().map(skill).collect());
    section(&mut out, "tools", plan.tools.iter().map(tool).collect());
    let file =
        |file: &agentry_compile::PlannedFile| vec![digest::short(&file.digest), file.path.clone()];
    section(&mut out, "files", plan.files.iter().map(file).collect());
    out
}

pub(super) fn section(out: &mut String, title: &str, rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let cells = |row: Vec<String>| row.iter().map(|cell| visible(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.into_iter().map(cells).collect();
    let _ = writeln!(out, "\n{title}");
    for line in columns(&rows).lines() {
        let _ = writeln!(out, "  {line}");
    }
}

/// The facts about a model in one line.
pub(super) fn facts(model: &ModelCandidate) -> String {
    let tier = model.tier.map(|tier| tier.as_str().to_owned());
    let context = model.context.map(|size| format!("{size} tokens"));
    let price = model.price.map(|TokenPrice { input, output }| match (input, output) {
        (0.0, 0.0) => "free".to_owned(),
        _ => format!("${input} in and ${output} out for a million"),
    });
    let unknown = model.tier.is_none().then(|| "not in the catalogue".to_owned());
    let key = model.keys.first().map(|key| format!("key in {key}"));
    let parts = [tier, context, price, unknown, key];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The candidates, one in a row; candidates of a tier with the same result at the same provider share one.
fn candidates(models: &[ModelCandidate]) -> Vec<Vec<String>> {
    let same = |a: &ModelCandidate, b: &ModelCandidate| {
        matches!(a.wish, CandidateOrigin::Fallback | CandidateOrigin::Capability)
            && (a.wish, &a.provider, &a.outcome) == (b.wish, &b.provider, &b.outcome)
    };
    let row = |group: &[ModelCandidate]| {
        let first = group.first()?;
        let name = match group.len() {
            1 => named(first),
            count => format!("{} ({count} models)", first.provider),
        };
        let (outcome, why) = outcome(&first.outcome);
        Some(vec![first.wish.as_str().to_owned(), name, outcome.to_owned(), why.to_owned()])
    };
    // Only neighbours are grouped, so that the order of preference stays visible.
    models.chunk_by(same).filter_map(row).collect()
}

fn named(candidate: &ModelCandidate) -> String {
    match &candidate.written {
        Some(written) if *written != candidate.id => format!("{} ({written})", candidate.id),
        _ => candidate.id.clone(),
    }
}

fn outcome(outcome: &CandidateOutcome) -> (&'static str, &str) {
    match outcome {
        CandidateOutcome::Chosen => ("chosen", ""),
        CandidateOutcome::Usable => ("usable", ""),
        CandidateOutcome::Skipped(why) => ("skipped", why),
    }
}

fn skill(skill: &PlannedSkill) -> Vec<String> {
    let (kind, detail) = found(&skill.found);
    let kind = if skill.optional && kind == "missing" { "left out" } else { kind };
    vec![skill.name.clone(), kind.to_owned(), with_denial(detail, skill.denied.as_deref())]
}

fn found(found: &SkillResolution) -> (&'static str, &str) {
    match found {
        SkillResolution::Pack(path) => ("pack", path),
        SkillResolution::Native(tool) => ("native", tool),
        SkillResolution::Mcp(server) => ("mcp", server),
        SkillResolution::Model => ("model", ""),
        SkillResolution::Missing(why) => ("missing", why),
    }
}

fn tool(tool: &PlannedTool) -> Vec<String> {
    let detail = tool.missing.as_ref().map_or(tool.detail.clone(), |why| format!("missing: {why}"));
    let detail = with_denial(&detail, tool.denied.as_deref());
    vec![tool.name.clone(), tool.kind.as_str().to_owned(), detail]
}

/// The detail of a tool, and whether the policy denies all its calls.
fn with_denial(detail: &str, denied: Option<&str>) -> String {
    match denied {
        None => detail.to_owned(),
        Some(why) if detail.is_empty() => format!("every call is denied: {why}"),
        Some(why) => format!("{detail}; every call is denied: {why}"),
    }
}

/// The plan as JSON.
pub(crate) fn json(
    compiled: &CompiledAgent,
    plan: &ResolvedPlan,
    settings: &ResolveSettings,
) -> Value {
    let found = &compiled.found;
    let catalogue = &settings.catalogue;
    let list = |values: Vec<Value>| Value::Array(values);
    json!({
        "path": found.path,
        "format": found.format.as_str(),
        "name": compiled.agent.name(),
        "catalogue": {"version": catalogue.version, "date": catalogue.date},
        "model": plan.chosen().map(|model| &model.id),
        "models": list(plan.models.iter().map(candidate_json).collect()),
        "skills": list(plan.skills.iter().map(skill_json).collect()),
        "tools": list(plan.tools.iter().map(tool_json).collect()),
        "files": list(plan.files.iter().map(|file| {
            json!({"path": file.path, "sha256": file.digest})
        }).collect()),
        "candidates": list(plan.candidates().iter().map(|it| json!(it.id)).collect()),
        "usable": plan.is_usable(),
    })
}

pub(super) fn candidate_json(candidate: &ModelCandidate) -> Value {
    let (outcome, why) = outcome(&candidate.outcome);
    json!({
        "id": candidate.id,
        "written": candidate.written,
        "provider": candidate.provider,
        "wish": candidate.wish.as_str(),
        "tier": candidate.tier.map(ModelTier::as_str),
        "context": candidate.context,
        "price": candidate.price.map(|price| json!({"input": price.input, "output": price.output})),
        "tools": candidate.tools,
        "keys": candidate.keys,
        "outcome": outcome,
        "reason": Some(why).filter(|why| !why.is_empty()),
    })
}

fn skill_json(skill: &PlannedSkill) -> Value {
    let (kind, detail) = found(&skill.found);
    let reason = Some(detail).filter(|_| kind == "missing");
    let resolved = Some(detail).filter(|detail| kind != "missing" && !detail.is_empty());
    json!({
        "name": skill.name,
        "optional": skill.optional,
        "kind": kind,
        "resolved": resolved,
        "reason": reason,
        "denied": skill.denied,
    })
}

fn tool_json(tool: &PlannedTool) -> Value {
    json!({
        "name": tool.name,
        "kind": tool.kind.as_str(),
        "detail": Some(&tool.detail).filter(|detail| !detail.is_empty()),
        "reason": tool.missing,
        "denied": tool.denied,
    })
}
