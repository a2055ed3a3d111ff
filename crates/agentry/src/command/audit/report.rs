//! The report of an audit, for a person and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agentry_compile::text::report::{counted, visible};
use serde_json::json;

use super::AuditResult;
use super::audit_finding::AuditFinding;
use super::workspace_part::WorkspacePart;
use crate::args::{AuditArguments, ResultFormat};
use crate::output::{columns, print as print_text, print_json};

pub(super) fn print(args: &AuditArguments, result: &AuditResult) {
    match args.format {
        ResultFormat::Human => print_text(&human(args, result)),
        ResultFormat::Json => print_json(&json!({
            "parts": result.parts.iter().map(WorkspacePart::to_json).collect::<Vec<_>>(),
            "findings": result.findings.iter().map(AuditFinding::to_json).collect::<Vec<_>>(),
        })),
    }
}

fn human(args: &AuditArguments, result: &AuditResult) -> String {
    let is_shown = |part: &&WorkspacePart| args.verbose || part.kind != "rule";
    let rows: Vec<Vec<String>> = result.parts.iter().filter(is_shown).map(row).collect();
    let mut out = columns(&rows);
    if !rows.is_empty() {
        out.push('\n');
    }
    for finding in &result.findings {
        let _ = writeln!(out, "{}", visible(&finding.to_text()));
    }
    if !result.findings.is_empty() {
        out.push('\n');
    }
    let _ = writeln!(out, "{}", summary(result));
    out
}

fn row(part: &WorkspacePart) -> Vec<String> {
    let WorkspacePart { kind, name, path, digest, origin, signers, agent, .. } = part;
    let indent = if agent.is_some() { "  " } else { "" };
    let digest = digest.as_deref().map_or("", |it| it.get(..19).unwrap_or(it)).to_owned();
    let origin = match signers {
        Some(keys) if keys.is_empty() => format!("{origin}, not signed"),
        Some(keys) => format!("{origin}, signed by {}", keys.join(", ")),
        None => origin.clone().into_owned(),
    };
    let text = |text: &str| visible(text).into_owned();
    vec![format!("{indent}{kind}"), text(name), text(path), digest, text(&origin)]
}

fn summary(result: &AuditResult) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    result.parts.iter().for_each(|part| *counts.entry(part.kind).or_default() += 1);
    let kinds: Vec<String> = counts.iter().map(|(kind, count)| counted(*count, kind)).collect();
    let nothing = "no agent and no file of a harness";
    let parts = if kinds.is_empty() { nothing.to_owned() } else { kinds.join(", ") };
    let errors = result.findings.iter().filter(|it| it.is_error()).count();
    let warnings = result.findings.iter().filter(|it| it.is_warning()).count();
    match (errors, warnings) {
        (0, 0) if result.parts.is_empty() => format!("nothing to audit: {parts}"),
        (0, 0) => format!("{parts}: nothing suspicious"),
        _ => format!("{parts}: {}, {}", counted(errors, "error"), counted(warnings, "warning")),
    }
}
