//! AG7001 to AG7009: the metadata of an agent file as a whole.

use agentry_targets::MetadataSyntax;
use agentry_text::{Findings, LintRule, RuleExample, Severity, SourceFile, Span, TreeValue, markdown};

use super::agent::{AgentOrigin, AuthoredAgent};
use super::document::HarnessDocument;

pub(super) const RULES: &[&LintRule] = &[
    &NO_METADATA,
    &BROKEN_METADATA,
    &UNQUOTED_VALUE,
    &NOT_FIELDS,
    &REPEATED_KEY,
    &BYTE_ORDER_MARK,
    &DASHES_IN_METADATA,
    &MISSING_FIELD,
    &NO_INSTRUCTIONS,
];

pub(super) static NO_METADATA: LintRule = LintRule {
    code: "AG7001",
    name: "harness-no-metadata",
    severity: Severity::Warning,
    why: "Claude Code and Pi load an agent only if its file starts with metadata between two lines of \
          `---`. They skip another file without a message, so the agent is never there.",
    bad: RuleExample::File(".claude/agents/helper.md", "You answer questions.\n"),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
};

pub(super) static BROKEN_METADATA: LintRule = LintRule {
    code: "AG7002",
    name: "harness-broken-metadata",
    severity: Severity::Error,
    why: "Metadata that cannot be parsed is read line by line (Claude Code), dropped together with its \
          rules (OpenCode), or the agent is ignored (Codex, Gemini CLI). None of them reports it where \
          the author would look.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: [Read\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: [Read]\n---\nYou answer questions.\n",
    ),
};

pub(super) static UNQUOTED_VALUE: LintRule = LintRule {
    code: "AG7003",
    name: "harness-unquoted-value",
    severity: Severity::Warning,
    why: "A plain value with `: ` in it is not YAML. Claude Code and OpenCode accept such a line; other \
          programs that read the same file refuse it. In quotes it means the same everywhere.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Use it for questions: builds and tests\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: \"Use it for questions: builds and tests\"\n---\nYou answer questions.\n",
    ),
};

pub(super) static NOT_FIELDS: LintRule = LintRule {
    code: "AG7004",
    name: "harness-metadata-not-fields",
    severity: Severity::Error,
    why: "The metadata of an agent is a map of fields. A list or a plain text has no name and no \
          description, so the harness does not find the agent.",
    bad: RuleExample::File(
        ".cursor/agents/helper.md",
        "---\n- name\n- description\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".cursor/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
};

pub(super) static REPEATED_KEY: LintRule = LintRule {
    code: "AG7005",
    name: "harness-repeated-key",
    severity: Severity::Error,
    why: "Programs disagree about a key that is written twice. OpenCode then drops the whole metadata \
          and still loads the agent, without any of its rules.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\nmode: primary\nmode: subagent\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\nmode: subagent\n---\nYou answer questions.\n",
    ),
};

pub(super) static BYTE_ORDER_MARK: LintRule = LintRule {
    code: "AG7006",
    name: "harness-byte-order-mark",
    severity: Severity::Error,
    why: "Pi looks for `---` at the first byte. With a byte order mark in front it sees no metadata and \
          does not load the agent.",
    bad: RuleExample::Made("an agent of Pi that starts with a byte order mark", || {
        let text = "\u{feff}---\nname: helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n";
        vec![(".pi/agents/helper.md".to_owned(), text.as_bytes().to_vec())]
    }),
    good: RuleExample::File(
        ".pi/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
};

pub(super) static DASHES_IN_METADATA: LintRule = LintRule {
    code: "AG7007",
    name: "harness-dashes-in-metadata",
    severity: Severity::Warning,
    why: "Claude Code ends the metadata at the first `---`, even inside a value. The fields after it, a \
          list of tools for example, become part of the prompt.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions --- about the build\ntools: Read\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions, about the build\ntools: Read\n---\nYou answer questions.\n",
    ),
};

pub(super) static MISSING_FIELD: LintRule = LintRule {
    code: "AG7008",
    name: "harness-missing-field",
    severity: Severity::Error,
    why: "Without these fields the agent does not exist: Claude Code and Pi skip the file without a \
          message, Gemini CLI rejects it, Codex ignores it with a warning at its start.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ntools: Read\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\ntools: Read\n---\nYou answer questions.\n",
    ),
};

pub(super) static NO_INSTRUCTIONS: LintRule = LintRule {
    code: "AG7009",
    name: "harness-no-instructions",
    severity: Severity::Warning,
    why: "The text below the metadata is the system prompt of the agent. Without it the model gets the \
          task and nothing about how to do it.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\n---\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
};

/// Reports a file that its harness does not load for want of metadata. Returns whether there is metadata.
pub(super) fn check_presence(
    agent: &AuthoredAgent<'_>,
    document: &HarnessDocument,
    findings: &mut Findings,
) -> bool {
    // The mark comes first, because Pi sees no metadata behind it.
    if agent.source.had_mark && agent.facts.syntax == MetadataSyntax::Lines {
        findings
            .add(&BYTE_ORDER_MARK, agent.start, "a byte order mark hides the metadata from Pi")
            .hint("save the file as UTF-8 without a byte order mark");
    }
    if document.has_metadata {
        dashes(agent, findings);
        return true;
    }
    let opened = agent.source.text.trim_start().starts_with("---");
    if let Some(effect) = agent.facts.without_metadata.filter(|_| !opened) {
        findings
            .add(&NO_METADATA, agent.start, "the file has no metadata")
            .hint(format!("start it with `---`, `name: …`, `description: …`, `---`; {effect}"));
    }
    false
}

/// Reports `---` inside the metadata of a Claude Code agent.
fn dashes(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    if agent.target.name != "claude-code" {
        return;
    }
    let Some(range) = markdown::parts(agent.source).metadata else { return };
    let text = agent.source.text.get(range.clone()).unwrap_or_default();
    // A comment of dashes alone is as bad as a value with them.
    if let Some(at) = text.find("---") {
        let span = Span::new(agent.source.id, range.start + at, range.start + at + 3);
        findings
            .add(&DASHES_IN_METADATA, span, "the metadata ends at these dashes")
            .hint("Claude Code ends it at the first `---`; write another sign, such as a comma");
    }
}

/// Reports fields that the harness needs, and instructions that are missing.
pub(super) fn check_required(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    for required in agent.facts.required {
        let node = agent.node(required);
        // An empty description has a finding of its own.
        let is_there = node.is_some_and(|node| node.value != TreeValue::Null);
        if is_there || (node.is_some() && *required == "description") {
            continue;
        }
        let span = agent.entry(required).map_or(agent.start, |entry| entry.key.span);
        let message = format!("`{required}` is missing");
        findings.add(&MISSING_FIELD, span, message).hint(agent.facts.without_required);
    }
    let is_toml = agent.facts.syntax == MetadataSyntax::Toml;
    if agent.prompt.is_none() && agent.origin != AgentOrigin::Settings && !is_toml {
        findings
            .add(&NO_INSTRUCTIONS, end_of(agent.source), "the agent has no instructions")
            .hint("write below the metadata what it is to do and how");
    }
}

fn end_of(source: &SourceFile) -> Span {
    let end = source.text.trim_end().len();
    Span::new(source.id, end.saturating_sub(3), end)
}
