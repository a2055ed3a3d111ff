//! Plain scalars that YAML 1.1 and 1.2 read differently. A manifest is read as 1.1, like the reference;
//! a tool that reads it as 1.2 gets other values.

use agentry_text::yaml::{self, YamlVersion};
use agentry_text::{Data, Findings, Fix, Span, TreeNode, TreeValue};

use super::load::LoadedManifest;
use super::rules::YAML_VERSIONS;

/// Reports every scalar whose value depends on the version, unless an error was reported there.
pub(super) fn check(loaded: &LoadedManifest, findings: &mut Findings) {
    let refused: Vec<Span> = findings
        .iter()
        .filter(|found| found.severity == agentry_text::Severity::Error)
        .map(|found| found.span)
        .collect();
    let mut places = Vec::new();
    collect(&loaded.node, &mut places);
    // An alias repeats the nodes of its anchor, with their spans.
    places.sort_unstable();
    places.dedup();
    for span in places.into_iter().filter(|span| !refused.contains(span)) {
        let text = loaded.source.slice(span);
        if yaml::ambiguous(text) {
            report(text, span, findings);
        }
    }
}

/// Collects the spans of all plain scalars and keys. The reader limits the depth of the tree.
fn collect(node: &TreeNode, places: &mut Vec<Span>) {
    match &node.value {
        TreeValue::List(items) => items.iter().for_each(|item| collect(item, places)),
        TreeValue::Map(map) => {
            for entry in &map.entries {
                // The key does not record whether it was quoted; the source text shows it.
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
    // A date that prints as written, and `=` as a key, give the same text in both versions.
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

/// Writes the value in a form that every reader understands the same way.
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
