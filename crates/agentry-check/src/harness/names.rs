//! AG7021 to AG7026: names of agents, within a file and across the files of a repository.

use std::collections::HashMap;

use agentry_text::{Diagnostic, Findings, LintRule, RuleExample, Severity, Span, Spanned, path};

use super::agent::{AgentOrigin, AuthoredAgent};

pub(super) const RULES: &[&LintRule] = &[
    &REFUSED_NAME,
    &BUILT_IN_NAME,
    &NAME_CLASH,
    &RENAMED_AGENT,
    &MERGED_AGENT,
    &UNREAD_FILE,
];

pub(super) static REFUSED_NAME: LintRule = LintRule {
    code: "AG7021",
    name: "harness-refused-name",
    severity: Severity::Error,
    why: "Claude Code skips an agent whose name starts with `-` or contains `:`, without a message. Gemini \
          CLI rejects every name with other characters than lower-case letters, digits, `-` and `_`.",
    bad: RuleExample::File(
        ".gemini/agents/helper.md",
        "---\nname: Build Helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".gemini/agents/helper.md",
        "---\nname: build-helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
};

pub(super) static BUILT_IN_NAME: LintRule = LintRule {
    code: "AG7022",
    name: "harness-built-in-name",
    severity: Severity::Warning,
    why: "The harness has an agent of that name. OpenCode merges the file into it, Pi and Claude Code let \
          the file replace it; elsewhere it is not clear which one answers.",
    bad: RuleExample::File(
        ".codex/agents/explorer.toml",
        "name = \"explorer\"\ndescription = \"Answers questions about the build\"\ndeveloper_instructions = \"You answer questions.\"\n",
    ),
    good: RuleExample::File(
        ".codex/agents/build-explorer.toml",
        "name = \"build-explorer\"\ndescription = \"Answers questions about the build\"\ndeveloper_instructions = \"You answer questions.\"\n",
    ),
};

pub(super) static NAME_CLASH: LintRule = LintRule {
    code: "AG7023",
    name: "harness-name-clash",
    severity: Severity::Warning,
    why: "Of two agents of one name in a directory only one is loaded. In Claude Code the order of the \
          file system decides which one, so two machines may run different agents.",
    bad: RuleExample::Files(&[
        (
            ".claude/agents/a.md",
            "---\nname: helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
        ),
        (
            ".claude/agents/b.md",
            "---\nname: helper\ndescription: Answers questions about the tests\n---\nYou answer questions.\n",
        ),
    ]),
    good: RuleExample::Files(&[
        (
            ".claude/agents/a.md",
            "---\nname: build-helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
        ),
        (
            ".claude/agents/b.md",
            "---\nname: test-helper\ndescription: Answers questions about the tests\n---\nYou answer questions.\n",
        ),
    ]),
};

pub(super) static RENAMED_AGENT: LintRule = LintRule {
    code: "AG7024",
    name: "harness-renamed-agent",
    severity: Severity::Warning,
    why: "In OpenCode the name of the file is the name of the agent. A field `name` replaces it, so the \
          agent can no longer be started by the name of its file.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\nname: Build Helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
};

pub(super) static MERGED_AGENT: LintRule = LintRule {
    code: "AG7025",
    name: "harness-merged-agent",
    severity: Severity::Warning,
    why: "OpenCode merges an agent of `opencode.json` with the file of the same name instead of replacing \
          it, and keeps the old positions of keys. Since the last matching rule wins, the result is \
          neither of the two.",
    bad: RuleExample::Files(&[
        (
            ".opencode/agents/helper.md",
            "---\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
        ),
        (
            "opencode.json",
            "{\"agent\": {\"helper\": {\"description\": \"Answers questions about the tests\"}}}\n",
        ),
    ]),
    good: RuleExample::Files(&[
        (
            ".opencode/agents/helper.md",
            "---\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
        ),
        (
            "opencode.json",
            "{\"agent\": {\"tester\": {\"description\": \"Answers questions about the tests\"}}}\n",
        ),
    ]),
};

pub(super) static UNREAD_FILE: LintRule = LintRule {
    code: "AG7026",
    name: "harness-unread-file",
    severity: Severity::Warning,
    why: "The file looks like an agent and is in a place that the harness does not read: Gemini CLI does \
          not look into directories below `.gemini/agents`, and Codex reads only `*.toml`.",
    bad: RuleExample::File(
        ".codex/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".codex/agents/helper.toml",
        "name = \"helper\"\ndescription = \"Answers questions about the build\"\ndeveloper_instructions = \"You answer questions.\"\n",
    ),
};

pub(super) fn check(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    let name = agent.name();
    let title = agent.target.title;
    if let Some(rule) = agent.facts.name.filter(|rule| !(rule.fits)(&name.value)) {
        let message = format!("the name `{}` is not accepted by {title}", name.value);
        findings
            .add(&REFUSED_NAME, name.span, message)
            .hint(format!("use {}; {}", rule.form, rule.otherwise));
    }
    let is_own = |own: &&&str| own.eq_ignore_ascii_case(&name.value);
    // A settings file is the documented way to change a built-in agent.
    let is_file = agent.origin == AgentOrigin::File;
    if is_file && agent.target.built_in.iter().find(is_own).is_some() {
        let message = format!("`{}` is also the name of a built-in agent of {title}", name.value);
        let found = findings.add(&BUILT_IN_NAME, name.span, message);
        let overrides = agent.target.import.as_ref().is_some_and(|import| import.overrides);
        if overrides {
            found.severity = Severity::Note;
            found.hint("this file replaces or changes it; choose another name if that is not meant");
        } else {
            found.hint("choose another name");
        }
    }
    if agent.target.name == "opencode"
        && agent.origin == AgentOrigin::File
        && let Some(written) = agent.text("name").filter(|name| name.value != agent.id)
    {
        let message = format!("the agent is called `{}` and not `{}`", written.value, agent.id);
        findings
            .add(&RENAMED_AGENT, written.span, message)
            .hint("remove `name`, or give the file that name");
    }
}

/// Reports an agent file that its harness does not read.
pub(super) fn unread(title: &str, place: Span, path: &str, findings: &mut Findings) {
    let is_nested = !path.ends_with(".md") || path.contains(".gemini/");
    let (message, hint) = if is_nested {
        ("this directory is", "move the file to `.gemini/agents`")
    } else {
        ("a Markdown file here is", "write the agent as `*.toml`")
    };
    findings.add(&UNREAD_FILE, place, format!("{message} not read by {title}")).hint(hint);
}

/// An agent, as far as other agents of the repository matter to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSummary {
    /// The harness.
    pub harness: &'static str,
    /// The directory or file within which names must differ.
    pub scope: String,
    /// Whether it is in a settings file.
    pub in_settings: bool,
    /// The name, with its span.
    pub name: Spanned<String>,
    /// The description, with its span.
    pub description: Option<Spanned<String>>,
}

/// Returns the part of a path up to the directory of agents, within which names must differ.
pub(super) fn scope(path: &str) -> String {
    let dir = ["/agents/", "/agent/", "/modes/", "/mode/"]
        .iter()
        .find_map(|part| path.rfind(part).and_then(|at| path.get(..at + part.len())));
    dir.unwrap_or(path::split(path).0).to_owned()
}

/// Finds agents that share their name with an earlier one: the positions of both, and the finding.
pub(super) fn clashes(agents: &[(&str, &AgentSummary)]) -> Vec<(usize, Diagnostic)> {
    let mut out = Vec::new();
    let mut seen: HashMap<(&str, &str, &str), usize> = HashMap::new();
    let mut by_name: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, (_, agent)) in agents.iter().enumerate().filter(|(_, (_, it))| it.harness != "skill") {
        let key = (agent.harness, agent.scope.as_str(), agent.name.value.as_str());
        let path_of = |at: usize| agents.get(at).map_or("", |(path, _)| *path);
        let name = &agent.name.value;
        if let Some(first) = seen.insert(key, at) {
            let message = format!("the name `{name}` is taken by `{}`", path_of(first));
            let mut found = Diagnostic::new(&NAME_CLASH, agent.name.span, message);
            found.hint("give each agent its own name");
            out.push((at, found));
        }
        if agent.harness != "opencode" {
            continue;
        }
        let other = by_name.insert((agent.harness, name), at);
        let other = other.filter(|other| {
            agents.get(*other).is_some_and(|(_, it)| it.in_settings != agent.in_settings)
        });
        if let Some(first) = other {
            let message = format!("`{name}` is also defined in `{}`", path_of(first));
            let mut found = Diagnostic::new(&MERGED_AGENT, agent.name.span, message);
            found.hint("keep one definition");
            out.push((at, found));
        }
    }
    out
}
