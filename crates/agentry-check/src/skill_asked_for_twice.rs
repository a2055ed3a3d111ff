//! AG9006: a skill that is listed twice.

use std::collections::HashMap;

use agentry_formats::ReaderReport;
use agentry_text::{Findings, LintRule, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

static RULE: LintRule = rule!("AG9006");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    // The reader of some formats reports this itself.
    if subject.format.reports(ReaderReport::RepeatedSkill) {
        return;
    }
    let mut seen = HashMap::new();
    for skill in subject.agent.skills.iter().flatten() {
        if let Some(first) = seen.get(&skill.name) {
            findings
                .add(&RULE, skill.span, format!("skill `{}` is asked for twice", skill.name))
                .related(*first, "first asked for here")
                .hint("remove one of them");
        } else {
            seen.insert(&skill.name, skill.span);
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_model::{Agent, Format, SkillRef};

    use super::*;
    use crate::testing::{at, found};

    #[test]
    fn each_repeated_skill_is_reported() {
        let skill = |name: &str| {
            at(SkillRef { name: name.to_owned(), optional: false, options: Vec::new() })
        };
        let skills = Some(vec![skill("a"), skill("b"), skill("a"), skill("B")]);
        let agent = Agent { skills, ..Agent::default() };
        let lines = found(&CHECK, &agent, Format::AgentToml);
        assert_eq!(lines, ["0..0 skill `a` is asked for twice"]);
        assert_eq!(found(&CHECK, &agent, Format::Manifest), Vec::<String>::new());
    }
}
