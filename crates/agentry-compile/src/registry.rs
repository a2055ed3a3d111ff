//! The list of all rules of all crates, for the reference, `agentry rules`, suppressions and severities.

use std::sync::OnceLock;

use agentry_formats::{FORMATS, agentry_block, front_matter, mcp, script, skill};
use agentry_text::{LintRule, acl, hygiene, json, table, toml, tree_rules, yaml};

/// Every rule, in code order.
pub fn registry() -> &'static [&'static LintRule] {
    static REGISTRY: OnceLock<Vec<&'static LintRule>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut rules: Vec<&'static LintRule> = Vec::new();
        rules.extend(crate::rules::RULES);
        rules.extend(crate::config::RULES);
        rules.extend(crate::inherit::rules::RULES);
        rules.extend(crate::resolve::rules::RULES);
        rules.extend(hygiene::RULES);
        rules.extend(tree_rules::RULES);
        rules.extend(yaml::RULES);
        rules.extend(toml::RULES);
        rules.extend(json::RULES);
        rules.extend(acl::RULES);
        rules.extend(table::rules::RULES);
        rules.extend(front_matter::RULES);
        rules.extend(mcp::RULES);
        rules.extend(agentry_block::RULES);
        rules.extend(skill::RULES);
        rules.extend(script::RULES);
        FORMATS.iter().for_each(|format| rules.extend(format.rules));
        agentry_check::harness::RULES.iter().for_each(|topic| rules.extend(*topic));
        rules.extend(agentry_check::CHECKS.iter().map(|check| check.rule));
        rules.sort_by_key(|rule| rule.code);
        rules
    })
}

/// The rule with this name or code.
pub fn rule(name: &str) -> Option<&'static LintRule> {
    registry().iter().copied().find(|rule| rule.name == name || rule.code == name)
}
