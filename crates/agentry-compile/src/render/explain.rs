//! Compares both sides of a rendering: the rules of the source, and the rules that the harness reads from
//! the rendered files.

use agentry_policy::{PolicyRule, RuleList, Section};
use agentry_targets::{HarnessModel, LossKind, RenderSubject, RenderedAgent};

/// One section on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedSection {
    /// The section.
    pub section: Section,
    /// The rules of the source, layer by layer.
    pub source: Vec<ExplainedRules>,
    /// The rules of the harness, tool by tool.
    pub harness: Vec<ExplainedRules>,
    /// The losses reported for the section.
    pub differences: Vec<String>,
}

/// One list of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedRules {
    /// The layer, or the tools of the harness.
    pub name: String,
    /// The rules in order of evaluation. The verdict for everything else comes last.
    pub rules: Vec<String>,
}

/// Explains every section that the harness has a tool for, according to `model`.
pub(super) fn explain(
    subject: &RenderSubject,
    rendered: &RenderedAgent,
    model: &HarnessModel,
) -> Vec<ExplainedSection> {
    let section = |section: &Section| {
        let harness = harness(model, *section);
        let source = subject.judge.rules(*section);
        (!harness.is_empty()).then(|| ExplainedSection {
            section: *section,
            source: source
                .map(|(layer, rules)| ExplainedRules {
                    name: layer.as_str().to_owned(),
                    rules: lines(rules, |rule| rule.text.clone()),
                })
                .collect(),
            harness,
            differences: differences(rendered, *section),
        })
    };
    Section::ALL.iter().filter_map(section).collect()
}

/// The rules of a section's tools. Tools with the same rules are grouped.
fn harness(model: &HarnessModel, section: Section) -> Vec<ExplainedRules> {
    let mut found: Vec<(Vec<&str>, Vec<Vec<String>>)> = Vec::new();
    for way in model.ways.iter().filter(|way| way.section == section) {
        let layers: Vec<_> = way.layers.iter().map(|rules| lines(rules, with_answer)).collect();
        let tool = way.tool.as_str();
        match found.iter_mut().find(|(_, known)| *known == layers) {
            Some((tools, _)) if tools.contains(&tool) => {}
            Some((tools, _)) => tools.push(tool),
            None => found.push((vec![tool], layers)),
        }
    }
    let sides = found.into_iter().flat_map(|(tools, layers)| {
        let name = tools.join(", ");
        layers.into_iter().map(move |rules| ExplainedRules { name: name.clone(), rules })
    });
    sides.collect()
}

/// Rules as lines, without repeated ones.
fn lines(rules: &RuleList, line: impl Fn(&PolicyRule) -> String) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for rule in rules.all() {
        let line = line(rule);
        // A rule without a pattern has no text.
        if !line.starts_with(": ") && out.last() != Some(&line) {
            out.push(line);
        }
        // Rules after one that matches everything are never evaluated.
        if rule.text.starts_with("*: ") {
            break;
        }
    }
    out
}

/// A rule of a harness with its verdict.
fn with_answer(rule: &PolicyRule) -> String {
    let answer = rule.action.as_str();
    if rule.text.ends_with(answer) { rule.text.clone() } else { format!("{}: {answer}", rule.text) }
}

/// The losses reported for the rules of a section. Gaps are left out, unless the section relies on a guard
/// or on another check.
fn differences(rendered: &RenderedAgent, section: Section) -> Vec<String> {
    let field = format!("permissions.{section}");
    let relies = rendered.unasked.contains(&section) || rendered.guarded.contains(&section);
    let counts = |kind: LossKind| relies || kind != LossKind::Gap;
    let reported = rendered.losses.iter().filter(|loss| loss.field == field && counts(loss.kind));
    reported.map(|loss| format!("{} {}", loss.kind, loss.detail)).collect()
}
