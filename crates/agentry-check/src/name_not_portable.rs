//! AG9004: a name that harnesses do not accept as an identifier and file name.

use agentry_formats::ReaderReport;
use agentry_model::{slug, wrong_name};
use agentry_text::{Findings, LintRule, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// The most characters of a name that harnesses accept.
const LONGEST: usize = 64;

static RULE: LintRule = rule!("AG9004");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    let Some(name) = &subject.agent.identity.name else { return };
    let sign = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-');
    // The reader has reported a name with separators or control characters.
    if name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\')) {
        return;
    }
    let is_open = |what: ReaderReport| !subject.format.reports(what);
    let has_end_hyphen = name.starts_with('-') || name.ends_with('-');
    let has_odd_sign = !name.is_empty() && !name.chars().all(sign);
    // Only one problem is reported, and only one that the format's reader does not report itself.
    let problem = if has_odd_sign && is_open(ReaderReport::NameCharacters) {
        "has other signs than harnesses take"
    } else if name.chars().count() > LONGEST && is_open(ReaderReport::LongName) {
        "is longer than harnesses take"
    } else if has_end_hyphen && !is_open(ReaderReport::NameHyphens) {
        return;
    } else {
        let Some(why) = no_file(name) else { return };
        why
    };
    let slug: String = slug(name).chars().take(LONGEST).collect();
    let hint = match slug.trim_end_matches('-') {
        "" => "use lower-case letters, digits and hyphens".to_owned(),
        slug if wrong_name(slug).is_some() => format!("use another one, such as `{slug}-agent`"),
        slug => format!("use `{slug}`"),
    };
    let message = format!("the name `{}` {problem}", name.value);
    findings.add(&RULE, name.span, message).hint(hint);
}

/// Explains why a name of the usual characters, in either case, cannot be a file name.
fn no_file(name: &str) -> Option<&'static str> {
    let small = name.to_ascii_lowercase();
    let sign = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_');
    if small.is_empty() || !small.chars().all(sign) { None } else { wrong_name(&small) }
}

#[cfg(test)]
mod tests {
    use agentry_model::{Agent, Format};

    use super::*;
    use crate::testing::{found, text};

    #[test]
    fn unportable_names_are_reported() {
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
            (Format::AgentToml, "a--b", 1),
            (Format::AgentToml, "-x", 0),
            (Format::AgentToml, "--", 0),
            (Format::AgentDir, "-x", 1),
            (Format::AgentDir, "x-", 1),
            (Format::AgentDir, "--", 1),
            (Format::AgentToml, "con", 1),
            (Format::AgentToml, "comet", 0),
            (Format::Manifest, "a--b", 1),
            (Format::AgentDir, "CON", 1),
            (Format::AgentDir, "a-b_c", 0),
            (Format::AgentDir, "v1.2", 0),
            (Format::AgentFs, "lpt1", 1),
            (Format::AgentMd, "nul", 1),
        ];
        for (format, name, expected) in cases {
            let mut agent = Agent::default();
            agent.identity.name = Some(text(name));
            assert_eq!(found(&CHECK, &agent, format).len(), expected, "{format} {name}");
        }
    }
}
