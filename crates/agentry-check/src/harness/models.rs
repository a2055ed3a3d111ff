//! AG7061 and AG7062: the model of an agent.

use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, LintRule, RuleExample, Severity};

use super::agent::AuthoredAgent;

pub(super) const RULES: &[&LintRule] = &[&MISSPELT_MODEL, &UNUSABLE_MODEL];

pub(super) static MISSPELT_MODEL: LintRule = LintRule {
    code: "AG7061",
    name: "harness-misspelt-model",
    severity: Severity::Warning,
    why: "Claude Code sends an unknown model name as it is, and the request fails when the agent is \
          started, not when it is loaded.",
    bad: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\nmodel: sonet\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".claude/agents/helper.md",
        "---\nname: helper\ndescription: Answers questions about the build\nmodel: sonnet\n---\nYou answer questions.\n",
    ),
};

pub(super) static UNUSABLE_MODEL: LintRule = LintRule {
    code: "AG7062",
    name: "harness-unusable-model",
    severity: Severity::Warning,
    why: "OpenCode takes a model as `provider/model`, and Claude Code and Gemini CLI take models of their \
          own vendors. An agent that was copied from another harness names a model that is not there.",
    bad: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\nmodel: sonnet\n---\nYou answer questions.\n",
    ),
    good: RuleExample::File(
        ".opencode/agents/helper.md",
        "---\ndescription: Answers questions about the build\nmodel: anthropic/claude-sonnet-4-5\n---\nYou answer questions.\n",
    ),
};

/// How models of the large vendors start.
const VENDORS: &[&str] =
    &["gpt-", "o1", "o3", "o4", "gemini-", "claude-", "sonnet", "opus", "haiku", "codex-"];

pub(super) fn check(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    let (Some(facts), Some(model)) = (agent.facts.models, agent.text("model")) else { return };
    let name = model.value.trim();
    let title = agent.target.title;
    let is_alias = facts.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name));
    if name.is_empty() || is_alias || (facts.fits)(name) {
        return;
    }
    let near = nearest(name, facts.aliases.iter().copied()).filter(|_| name.len() > 3);
    if let Some(near) = near {
        let found =
            findings.add(&MISSPELT_MODEL, model.span, format!("`{name}` is not a model of {title}"));
        found.hint(format!("did you mean `{near}`?"));
        found.fix(Fix::unsafe_(format!("write `{near}`"), model.span, near));
        return;
    }
    // Behind a proxy any other name may exist.
    let lower = name.to_lowercase();
    let is_elsewhere = VENDORS.iter().any(|vendor| lower.starts_with(vendor));
    if is_elsewhere || facts.aliases.is_empty() {
        let message = format!("`{name}` is not a model of {title}");
        findings
            .add(&UNUSABLE_MODEL, model.span, message)
            .hint(format!("name a model as {}", facts.form));
    }
}
