//! AG7071 to AG7077: the `permission` block of OpenCode.

use agentry_policy::Action;
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, TreeEntry, TreeMap, TreeNode, TreeValue, rules};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        UNKNOWN_ACTION: "AG7071",
        MAP_NOT_TAKEN: "AG7072",
        WRITE_PERMISSION: "AG7073",
        STAR_NOT_FIRST: "AG7074",
        NUMBER_KEY: "AG7075",
        ABSOLUTE_PATH: "AG7076",
        MISSPELT_PERMISSION: "AG7077",
    ]
}

/// The keys that take a map of patterns.
const WITH_PATTERNS: &[&str] =
    &["read", "edit", "glob", "grep", "list", "bash", "task", "external_directory", "lsp", "skill"];

/// The keys that take one action.
const ONE_ACTION: &[&str] = &["todowrite", "question", "webfetch", "websearch", "doom_loop"];

/// Checks a `permission` block.
pub(super) fn check(node: &TreeNode, findings: &mut Findings) {
    match &node.value {
        TreeValue::Map(map) => block(map, findings),
        TreeValue::Null => {}
        _ => action(node, findings),
    }
}

fn block(map: &TreeMap, findings: &mut Findings) {
    star_first(map, findings);
    for TreeEntry { key, value } in &map.entries {
        let name = key.text.as_str();
        known(name, key.span, findings);
        let TreeValue::Map(patterns) = &value.value else {
            action(value, findings);
            continue;
        };
        if ONE_ACTION.contains(&name) {
            let message = format!("`{name}` takes one action and no patterns");
            findings
                .add(&MAP_NOT_TAKEN, value.span, message)
                .hint("write `allow`, `ask` or `deny`; OpenCode does not start with a map here");
            continue;
        }
        star_first(patterns, findings);
        for rule in &patterns.entries {
            action(&rule.value, findings);
            pattern(name, rule, findings);
        }
    }
}

/// Reports a catch-all behind other rules.
fn star_first(map: &TreeMap, findings: &mut Findings) {
    let at = map.entries.iter().rposition(|entry| entry.key.text == "*");
    let Some((at, star)) = at.and_then(|at| Some((at, map.entries.get(at)?))) else { return };
    // A rule with the same action loses nothing.
    let differs = |entry: &&TreeEntry| entry.value.value != star.value.value;
    if let Some(before) = map.entries.iter().take(at).find(differs) {
        let message = format!("`*` overrides `{}` and every other rule before it", before.key.text);
        findings
            .add(&STAR_NOT_FIRST, star.key.span, message)
            .related(before.key.span, "this rule never decides")
            .hint("move `*` to the first place");
    }
}

fn known(name: &str, span: agentry_text::Span, findings: &mut Findings) {
    if name == "write" {
        findings
            .add(&WRITE_PERMISSION, span, "`write` has no effect")
            .hint("use `edit`, which covers every change of a file");
        return;
    }
    let keys = || WITH_PATTERNS.iter().chain(ONE_ACTION).copied();
    let is_name = name.contains(['*', '_', '?']) || keys().any(|key| key == name);
    // Tools of servers have a `_` in their names, and very short names are near to anything.
    if is_name || name.len() < 3 {
        return;
    }
    if let Some(near) = nearest(name, keys()) {
        findings
            .add(&MISSPELT_PERMISSION, span, format!("`{name}` is not a permission of OpenCode"))
            .hint(format!("did you mean `{near}`?"))
            .fix(Fix::word(format!("write `{near}`"), span, near));
    }
}

fn action(node: &TreeNode, findings: &mut Findings) {
    let word = match &node.value {
        TreeValue::Str(word) => word.as_str(),
        TreeValue::Null => return,
        other => {
            let message = format!("a rule is an action and not {}", other.describe());
            findings
                .add(&UNKNOWN_ACTION, node.span, message)
                .hint("write `allow`, `ask` or `deny`");
            return;
        }
    };
    if word.parse::<Action>().is_err() {
        let words = ["allow", "ask", "deny"];
        let found =
            findings.add(&UNKNOWN_ACTION, node.span, format!("there is no action `{word}`"));
        match nearest(word, words) {
            Some(near) => {
                found.hint(format!("did you mean `{near}`?"));
                found.fix(Fix::word(format!("write `{near}`"), node.span, near));
            }
            None => drop(found.hint("write `allow`, `ask` or `deny`")),
        }
    }
}

fn pattern(key: &str, rule: &TreeEntry, findings: &mut Findings) {
    let text = rule.key.text.as_str();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && (text == "0" || !text.starts_with('0')) {
        findings
            .add(&NUMBER_KEY, rule.key.span, format!("`{text}` is moved before all other rules"))
            .hint("write a pattern that does not look like a number");
    }
    if matches!(key, "edit" | "read") && text.starts_with('/') {
        findings
            .add(&ABSOLUTE_PATH, rule.key.span, format!("`{text}` never matches"))
            .hint("write the path relative to the repository, or use `external_directory`");
    }
}
