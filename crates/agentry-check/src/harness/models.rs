//! AG7061 and AG7062: the model of an agent.

use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, rules};

use super::agent::AuthoredAgent;

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        MISSPELT_MODEL: "AG7061",
        UNUSABLE_MODEL: "AG7062",
    ]
}

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
        let found = findings.add(
            &MISSPELT_MODEL,
            model.span,
            format!("`{name}` is not a model of {title}"),
        );
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
