//! `agentry policy show`: lists every rule that decides about an agent's calls, section by section.

use std::fmt::Write as _;

use agentry_compile::judge;
use agentry_compile::policy::{Judge, LayerSource, PolicyRule, Section};
use agentry_compile::targets::original;
use agentry_compile::text::SourceFiles;
use agentry_compile::text::report::visible;
use serde_json::{Value, json};

use crate::args::{PolicyShowArguments, ResultFormat};
use crate::command::{find_one, reported, usable, work_here};
use crate::disk::DiskWorld;
use crate::output::{CliOutcome, ExitKind, columns, print, print_json};

/// Explains how the rules are applied.
const ORDER: &str = "in a layer, the first rule that matches decides; of several layers, the strictest\n\
    built-in rules only make it stricter: `agentry policy why` shows them for a call\n";

pub(crate) fn run(args: &PolicyShowArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let found = find_one(&disk, &args.agent, args.format_override)?;
    let mut compiled = usable(&disk, &found)?;
    work_here(&disk, &mut compiled);
    let judge = judge(&disk, &mut compiled).map_err(|findings| {
        reported(&findings, &compiled.sources, "the user's policy has errors")
    })?;
    let agent = compiled.whole.as_ref().unwrap_or(&compiled.agent);
    let words = original::all(agent).into_iter();
    let unasked: Vec<&str> = words.map(|(target, _)| target.name).collect();
    match args.format {
        ResultFormat::Json => print_json(&to_json(&judge, &unasked, &compiled.sources)),
        ResultFormat::Human => print(&to_text(&judge, &unasked, &compiled.sources)),
    }
    Ok(ExitKind::Done)
}

/// `unasked` are the harnesses that may ask less, because the agent has original grants for them.
fn to_json(judge: &Judge, unasked: &[&str], sources: &SourceFiles) -> Value {
    let rule = |rule: &PolicyRule| {
        let place = rule.span.map(|span| (sources.path(span), sources.start(span).line));
        json!({
            "verdict": rule.action.as_str(),
            "pattern": rule.pattern.text,
            "rule": rule.text,
            "path": place.map(|(path, _)| path),
            "line": place.map(|(_, line)| line),
        })
    };
    let section = |section: &Section| {
        let layers = judge.rules(*section).map(|(layer, rules)| {
            json!({
                "layer": layer.as_str(),
                "rules": rules.rules.iter().map(rule).collect::<Vec<_>>(),
                "otherwise": rule(&rules.intent),
            })
        });
        json!({"section": section.as_str(), "layers": layers.collect::<Vec<_>>()})
    };
    json!({
        "sections": Section::ALL.iter().map(section).collect::<Vec<_>>(),
        "unasked": unasked,
    })
}

fn to_text(judge: &Judge, unasked: &[&str], sources: &SourceFiles) -> String {
    let sections = Section::ALL.iter().map(|section| (section, rows(judge, *section, sources)));
    let sections: Vec<_> = sections.collect();
    // All sections are aligned together.
    let all: Vec<_> = sections.iter().flat_map(|(_, rows)| rows.clone()).collect();
    let table = columns(&all);
    let mut lines = table.lines();
    let mut out = String::new();
    for (section, rows) in &sections {
        let _ = writeln!(out, "{section}");
        for line in lines.by_ref().take(rows.len()) {
            let _ = writeln!(out, "{line}");
        }
    }
    out.push('\n');
    for harness in unasked {
        let _ = writeln!(
            out,
            "rendered for {harness}, what is asked about may run without a question, by \
             `x-harness.{harness}.as-written`"
        );
    }
    format!("{out}{ORDER}")
}

/// A line for each rule about a section.
fn rows(judge: &Judge, section: Section, sources: &SourceFiles) -> Vec<Vec<String>> {
    let row = |layer: LayerSource, rule: &PolicyRule| {
        let place = rule.span.map_or_else(String::new, |span| {
            let start = sources.start(span);
            format!("{}:{}:{} ", visible(sources.path(span)), start.line, start.column)
        });
        let action = format!("  {}", rule.action);
        vec![action, visible(&rule.text).into_owned(), format!("{place}({layer})")]
    };
    let of_layer = judge.rules(section).flat_map(|(layer, rules)| {
        rules.rules.iter().chain([&rules.intent]).map(move |rule| row(layer, rule))
    });
    let mut rows: Vec<_> = of_layer.collect();
    rows.dedup();
    rows
}
