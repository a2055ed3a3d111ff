use agentry_model::{Format, slug};
use agentry_text::{Example, Findings, Rule, Severity};

use crate::{Check, Subject};

pub(super) const CHECK: Check = Check { rule: &RULE, check };

/// The most characters of a name that harnesses take.
const LONGEST: usize = 64;

static RULE: Rule = Rule {
    code: "AG9004",
    name: "name-not-portable",
    severity: Severity::Warning,
    why: "Harnesses use the name as an identifier and as a file name: lower-case letters, digits and \
          hyphens, at most 64. An agent with another name cannot be rendered for them.",
    bad: Example::File("helper.agent", "name: Code Reviewer\ndescription: Reviews code\n"),
    good: Example::File("helper.agent", "name: code-reviewer\ndescription: Reviews code\n"),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(name) = &subject.agent.identity.name else { return };
    let sign = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-');
    // A name that is no name at all was reported by the reader.
    if name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\')) {
        return;
    }
    // The other formats take the name from a file or a directory, or have a rule of their own.
    let problem = match subject.format {
        Format::Manifest if !name.is_empty() && !name.chars().all(sign) => "has other signs than",
        Format::Manifest | Format::AgentToml if name.chars().count() > LONGEST => "is longer than",
        _ => return,
    };
    let slug: String = slug(name).chars().take(LONGEST).collect();
    let hint = if slug.is_empty() {
        "use lower-case letters, digits and hyphens".to_owned()
    } else {
        format!("use `{}`", slug.trim_end_matches('-'))
    };
    let message = format!("the name `{}` {problem} harnesses take", name.value);
    findings.add(&RULE, name.span, message).hint(hint);
}

#[cfg(test)]
mod tests {
    use agentry_model::Agent;

    use super::*;
    use crate::testing::{found, text};

    #[test]
    fn names() {
        let long = "a".repeat(65);
        let cases = [
            (Format::Manifest, "code-reviewer", 0),
            (Format::Manifest, "code_reviewer", 1),
            (Format::Manifest, "Prüfer", 1),
            (Format::Manifest, "", 0),
            (Format::Manifest, "../x", 0),
            (Format::Manifest, &long, 1),
            (Format::AgentToml, &long, 1),
            (Format::AgentToml, "Code Reviewer", 0),
            (Format::AgentFs, "Code Reviewer", 0),
        ];
        for (format, name, expected) in cases {
            let mut agent = Agent::default();
            agent.identity.name = Some(text(name));
            assert_eq!(found(&CHECK, &agent, format).len(), expected, "{format} {name}");
        }
    }
}
