//! Both sides of a rendering: what the source says of a section, and what the harness makes of the
//! files that were written for it.

use agentry_policy::{PolicyRule, RuleList, Section};
use agentry_targets::{HarnessModel, LossKind, RenderSubject, RenderedAgent};

/// One section on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedSection {
    /// What it is about.
    pub section: Section,
    /// The rules of the source, layer by layer.
    pub source: Vec<ExplainedRules>,
    /// The rules of the harness, tool by tool.
    pub harness: Vec<ExplainedRules>,
    /// What was told of the section: where the two do not say the same.
    pub differences: Vec<String>,
}

/// One list of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedRules {
    /// The layer, or the tools of the harness.
    pub name: String,
    /// The rules in the order in which they are asked; the answer to everything else comes last.
    pub rules: Vec<String>,
}

/// Every section that the harness has a tool for, as `model` has it.
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

/// What the tools of a section are told; those that are told the same together.
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

/// Rules as lines, what is the same once.
fn lines(rules: &RuleList, line: impl Fn(&PolicyRule) -> String) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for rule in rules.all() {
        let line = line(rule);
        // What nothing is called has no words.
        if !line.starts_with(": ") && out.last() != Some(&line) {
            out.push(line);
        }
        // Nothing behind a rule for everything is ever asked.
        if rule.text.starts_with("*: ") {
            break;
        }
    }
    out
}

/// A rule of a harness with its answer.
fn with_answer(rule: &PolicyRule) -> String {
    let answer = rule.action.as_str();
    if rule.text.ends_with(answer) { rule.text.clone() } else { format!("{}: {answer}", rule.text) }
}

/// What was told of the rules of a section. What the harness does not look at is no matter of rules, unless
/// they rely on something else.
fn differences(rendered: &RenderedAgent, section: Section) -> Vec<String> {
    let field = format!("permissions.{section}");
    let relies = rendered.unasked.contains(&section) || rendered.guarded.contains(&section);
    let counts = |kind: LossKind| relies || kind != LossKind::Gap;
    let told = rendered.losses.iter().filter(|loss| loss.field == field && counts(loss.kind));
    told.map(|loss| format!("{} {}", loss.kind, loss.detail)).collect()
}
