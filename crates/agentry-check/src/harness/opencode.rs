//! AG7071 to AG7077: the `permission` block of OpenCode.

use agentry_policy::Action;
use agentry_text::suggestion::nearest;
use agentry_text::{
    Findings, Fix, LintRule, RuleExample, Severity, TreeEntry, TreeMap, TreeNode, TreeValue,
};

pub(super) const RULES: &[&LintRule] = &[
    &UNKNOWN_ACTION,
    &MAP_NOT_TAKEN,
    &WRITE_PERMISSION,
    &STAR_NOT_FIRST,
    &NUMBER_KEY,
    &ABSOLUTE_PATH,
    &MISSPELT_PERMISSION,
];

pub(super) static UNKNOWN_ACTION: LintRule = LintRule {
    code: "AG7071",
    name: "opencode-unknown-action",
    severity: Severity::Error,
    why: "A rule says `allow`, `ask` or `deny`. With another word OpenCode does not start, for any agent.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  bash: never\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  bash: deny\n---\nYou answer questions.\n",
    ),
};

pub(super) static MAP_NOT_TAKEN: LintRule = LintRule {
    code: "AG7072",
    name: "opencode-map-not-taken",
    severity: Severity::Error,
    why: "`todowrite`, `question`, `webfetch`, `websearch` and `doom_loop` take one action. With a map of \
          patterns OpenCode does not start, for any agent.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  webfetch:\n    \"https://example.org/*\": allow\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  webfetch: ask\n---\nYou answer questions.\n",
    ),
};

pub(super) static WRITE_PERMISSION: LintRule = LintRule {
    code: "AG7073",
    name: "opencode-write-permission",
    severity: Severity::Warning,
    why: "OpenCode asks the key `edit` before every change of a file. A rule for `write` has no effect: \
          with `write: deny` the agent still writes files.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  write: deny\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  edit: deny\n---\nYou answer questions.\n",
    ),
};

pub(super) static STAR_NOT_FIRST: LintRule = LintRule {
    code: "AG7074",
    name: "opencode-star-not-first",
    severity: Severity::Warning,
    why: "In OpenCode the last matching rule wins. A `\"*\"` behind other rules overrides all of them.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  bash:\n    \"git log *\": allow\n    \"*\": deny\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  bash:\n    \"*\": deny\n    \"git log *\": allow\n---\nYou answer questions.\n",
    ),
};

pub(super) static NUMBER_KEY: LintRule = LintRule {
    code: "AG7075",
    name: "opencode-number-key",
    severity: Severity::Warning,
    why: "JavaScript moves keys that look like whole numbers to the front of a map. The rule no longer \
          stands where it was written, and a `\"*\"` overrides it.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  bash:\n    \"*\": ask\n    \"10\": allow\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  bash:\n    \"*\": ask\n    \"run 10\": allow\n---\nYou answer questions.\n",
    ),
};

pub(super) static ABSOLUTE_PATH: LintRule = LintRule {
    code: "AG7076",
    name: "opencode-absolute-path",
    severity: Severity::Warning,
    why: "OpenCode matches `edit` and `read` against the path relative to the worktree. An absolute path \
          never matches; files outside are decided by `external_directory`.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  edit:\n    \"/etc/**\": deny\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  external_directory:\n    \"/etc/**\": deny\n---\nYou answer questions.\n",
    ),
};

pub(super) static MISSPELT_PERMISSION: LintRule = LintRule {
    code: "AG7077",
    name: "opencode-misspelt-permission",
    severity: Severity::Warning,
    why: "OpenCode takes an unknown key for the name of a tool, without a message. A misspelt key decides \
          about nothing.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  webfecth: deny\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\npermission:\n  webfetch: deny\n---\nYou answer questions.\n",
    ),
};

/// The keys that take a map of patterns.
const WITH_PATTERNS: &[&str] = &[
    "read",
    "edit",
    "glob",
    "grep",
    "list",
    "bash",
    "task",
    "external_directory",
    "lsp",
    "skill",
];

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
        let patterns = match &value.value {
            TreeValue::Map(patterns) => patterns,
            _ => {
                action(value, findings);
                continue;
            }
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
    // Tools of servers have a `_` in their names, and short names are near to anything.
    if is_name || name.len() < 4 {
        return;
    }
    if let Some(near) = nearest(name, keys()) {
        findings
            .add(&MISSPELT_PERMISSION, span, format!("`{name}` is not a permission of OpenCode"))
            .hint(format!("did you mean `{near}`?"))
            .fix(Fix::unsafe_(format!("write `{near}`"), span, near));
    }
}

fn action(node: &TreeNode, findings: &mut Findings) {
    let word = match &node.value {
        TreeValue::Str(word) => word.as_str(),
        TreeValue::Null => return,
        other => {
            let message = format!("a rule is an action and not {}", other.describe());
            findings.add(&UNKNOWN_ACTION, node.span, message).hint("write `allow`, `ask` or `deny`");
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
                found.fix(Fix::unsafe_(format!("write `{near}`"), node.span, near));
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
