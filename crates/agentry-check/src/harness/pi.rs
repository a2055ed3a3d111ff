//! AG7052 to AG7057: metadata that Pi reads otherwise than YAML does, and its `permission` block.

use agentry_targets::MetadataSyntax;
use agentry_text::{Findings, Fix, SourceFile, Span, TreeEntry, TreeNode, TreeValue, rules};

use super::agent::{AuthoredAgent, items};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        FLOW_LIST: "AG7052",
        QUOTED_ITEM: "AG7053",
        COMMENT_IN_VALUE: "AG7054",
        PERMISSION_OF_BASH: "AG7055",
        TWO_PERMISSIONS: "AG7056",
        PERMISSION_PATTERN: "AG7057",
    ]
}

/// Fields whose values are lists of names.
const LISTS: &[&str] =
    &["tools", "excludeTools", "skills", "skill", "extensions", "aliases", "fallbackModels"];

pub(super) fn check(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    if agent.facts.syntax != MetadataSyntax::Lines {
        return;
    }
    for entry in &agent.fields.entries {
        if LISTS.contains(&entry.key.text.as_str()) {
            list(agent.source, entry, findings);
        }
        comment(agent.source, &entry.value, findings);
    }
    permission(agent, findings);
}

fn list(source: &SourceFile, entry: &TreeEntry, findings: &mut Findings) {
    let written = source.slice(entry.value.span);
    if written.trim_start().starts_with('[') {
        let names: Vec<&str> = items(&entry.value).iter().map(|item| item.value).collect();
        // The line reader keeps the brackets.
        let names: Vec<&str> = names.iter().map(|name| name.trim_matches(['[', ']'])).collect();
        let message = format!("the brackets of `{}` become part of the names", entry.key.text);
        let plain = names.join(", ");
        let found = findings.add(&FLOW_LIST, entry.value.span, message);
        found.hint(format!("write `{plain}`"));
        if !written.contains('\n') {
            found.fix(Fix::safe("write the list with commas", entry.value.span, plain));
        }
        return;
    }
    let TreeValue::List(items) = &entry.value.value else { return };
    for item in items {
        let written = source.slice(item.span);
        if written.len() > 2 && written.starts_with(['"', '\'']) {
            let name = item.as_str().unwrap_or_default().to_owned();
            let found =
                findings.add(&QUOTED_ITEM, item.span, "these quotes become part of the name");
            found.hint(format!("write `{name}`"));
            found.fix(Fix::safe("remove the quotes", item.span, name));
        }
    }
}

/// Reports a comment behind a value on one line.
fn comment(source: &SourceFile, value: &TreeNode, findings: &mut Findings) {
    let is_scalar = !matches!(value.value, TreeValue::Map(_) | TreeValue::List(_));
    let end = value.span.range().end;
    let rest = source.text.get(end..).unwrap_or_default();
    let rest = rest.split('\n').next().unwrap_or_default();
    let sign = rest.find(" #").filter(|_| is_scalar);
    // The line reader keeps the comment in the value.
    let inner = source.slice(value.span).find(" #").filter(|_| is_scalar);
    let start = sign.map(|at| end + at).or(inner.map(|at| value.span.range().start + at));
    if let Some(start) = start {
        let line = source.text.get(start..).and_then(|text| text.split('\n').next());
        let length = line.unwrap_or_default().trim_end().len();
        let span = Span::new(value.span.file, start, start + length);
        findings
            .add(&COMMENT_IN_VALUE, span, "this comment becomes part of the value")
            .hint("write it on a line of its own")
            .fix(Fix::unsafe_("remove the comment", span, ""));
    }
}

fn permission(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    let entries = [agent.entry("permission"), agent.entry("permissions")];
    if let [Some(first), Some(second)] = entries {
        findings
            .add(&TWO_PERMISSIONS, second.key.span, "`permission` is written twice")
            .related(first.key.span, "also here")
            .hint("merge the two blocks");
    }
    for entry in entries.into_iter().flatten() {
        let Some(map) = entry.value.as_map() else { continue };
        for TreeEntry { key, value } in &map.entries {
            if key.text == "bash" {
                findings
                    .add(&PERMISSION_OF_BASH, key.span, "rules for `bash` make the agent invalid")
                    .hint("leave `bash` out of `tools` instead");
            } else if key.text.contains('*') || value.as_map().is_some() {
                let message = format!("`{}` matches no tool", key.text);
                findings.add(&PERMISSION_PATTERN, key.span, message).hint("name each tool");
            }
        }
    }
}
