//! Plain scalars that YAML 1.1 and 1.2 read differently. A manifest is read as 1.1, as its reference
//! does; whoever reads it as 1.2 sees another agent.

use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{Data, Findings, Fix, Span, TreeNode, TreeValue};

use super::load::LoadedManifest;
use super::rules::YAML_VERSIONS;

/// Reports every scalar whose meaning depends on the version, unless it was refused already.
pub(super) fn check(loaded: &LoadedManifest, findings: &mut Findings) {
    let refused: Vec<Span> = findings
        .iter()
        .filter(|found| found.severity == agentry_text::Severity::Error)
        .map(|found| found.span)
        .collect();
    let mut places = Vec::new();
    collect(&loaded.node, &mut places);
    places.sort_unstable();
    places.dedup();
    for span in places.into_iter().filter(|span| !refused.contains(span)) {
        let text = loaded.source.slice(span);
        if yaml::ambiguous(text) {
            report(text, span, findings);
        }
    }
}

/// The places of all plain scalars, keys included. The tree is at most as deep as the limit.
fn collect(node: &TreeNode, places: &mut Vec<Span>) {
    match &node.value {
        TreeValue::List(items) => items.iter().for_each(|item| collect(item, places)),
        TreeValue::Map(map) => {
            for entry in &map.entries {
                // A key that is a string may be plain or quoted; the raw text tells.
                places.push(entry.key.span);
                collect(&entry.value, places);
            }
        }
        _ if node.plain => places.push(node.span),
        _ => {}
    }
}

fn report(text: &str, span: Span, findings: &mut Findings) {
    let old = yaml::resolve(text, YamlVersion::V1_1);
    let new = yaml::resolve(text, YamlVersion::V1_2);
    // A date that prints as it was written, and `=` as a key, are the same text to both.
    if old == new || matches!(&old, TreeValue::Date(date) if date == text) {
        return;
    }
    let written = written(&old);
    let message = format!("`{text}` is {} here, and {} to YAML 1.2", shown(&old), shown(&new));
    findings.add(&YAML_VERSIONS, span, message).hint(format!("write `{written}`")).fix(Fix::safe(
        "write it so that all readers agree",
        span,
        written,
    ));
}

/// The value as every reader reads it.
fn written(value: &TreeValue) -> String {
    let span = Span::start_of(agentry_text::FileId::BUILT_IN);
    let data = TreeNode::new(value.clone(), span).to_data();
    yaml::emit(&data).trim_end().to_owned()
}

fn shown(value: &TreeValue) -> String {
    match value {
        TreeValue::Str(_) => "text".to_owned(),
        TreeValue::Date(date) => format!("the date `{date}`"),
        TreeValue::Float(value) => format!("the number `{value}`"),
        TreeValue::Int(value) => format!("the number `{value}`"),
        TreeValue::Bool(value) => format!("`{value}`"),
        other => match TreeNode::new(other.clone(), Span::start_of(agentry_text::FileId::BUILT_IN))
            .to_data()
        {
            Data::Null => "nothing".to_owned(),
            data => format!("`{}`", data.to_json()),
        },
    }
}
