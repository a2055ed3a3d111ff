//! A policy without rules of its own. What is left are the restrictions that no rule can remove: secrets,
//! private addresses, text that is not understood.
//!
//! An approval that covers more than one call must not cover these. If a rule asks as well, both ask, and the
//! reason names only one of them. So the verdict of this policy decides, and not that reason.

use agentry_compile::policy::{
    Action, Judge, LayerSource, PathAnchors, PatternRule, Permissions, Section, SectionRules, layer,
};
use agentry_compile::text::{FileId, Span, Spanned};

/// Returns a policy that allows these sections and denies every other one.
pub(crate) fn bare_policy(sections: &[Section], places: &PathAnchors) -> Judge {
    let spanned = Span::start_of(FileId::BUILT_IN);
    let rules_of = |section: &Section| {
        let patterns: &[&str] = if sections.contains(section) { &["**", "/**"] } else { &[] };
        let rule = |pattern: &&str| {
            let rule = PatternRule { pattern: (*pattern).to_owned(), action: Action::Allow };
            Spanned::new(rule, spanned)
        };
        SectionRules {
            section: Spanned::new(*section, spanned),
            // Never «everything is allowed»: then a command that may read any file would not ask.
            intent: Some(Spanned::new(Action::Deny, spanned)),
            rules: patterns.iter().map(rule).collect(),
        }
    };
    let permissions = Permissions { sections: Section::ALL.iter().map(rules_of).collect() };
    let layer = layer(LayerSource::Permissions, &permissions, places);
    Judge::new(vec![layer], places.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_compile::policy::SectionCall;
    use agentry_compile::policy::path::NoLinks;

    #[test]
    fn the_bare_policy_keeps_only_fixed_restrictions() {
        let places = PathAnchors {
            workspace: "/w".to_owned(),
            home: Some("/home/me".to_owned()),
            ..PathAnchors::default()
        };
        let judge = bare_policy(&[Section::Bash, Section::Edit, Section::Read], &places);
        let cases = [
            (Section::Bash, "cat a", Action::Allow),
            (Section::Bash, "cat .env", Action::Ask),
            (Section::Bash, "cat a .env", Action::Ask),
            (Section::Bash, "cat $x", Action::Ask),
            (Section::Bash, "rm -rf build", Action::Allow),
            (Section::Edit, "/w/a", Action::Allow),
            (Section::Edit, "/w/.env", Action::Ask),
            (Section::Edit, "/elsewhere/a", Action::Deny),
            (Section::Read, "/home/me/.ssh/id_ed25519", Action::Deny),
            (Section::Webfetch, "https://example.org", Action::Deny),
            (Section::Mcp, "server/tool", Action::Deny),
        ];
        for (section, subject, expected) in cases {
            let call = SectionCall { section, subject, directory: "/w" };
            let found = judge.judge(call, &NoLinks).action;
            // Stricter is fine: nothing is offered then.
            let fits =
                if expected == Action::Allow { found == expected } else { found >= expected };
            assert!(fits, "{section} {subject}: {found}");
        }
    }
}
