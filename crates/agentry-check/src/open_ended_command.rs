use agentry_policy::Action;
use agentry_text::{Findings, Fix, Rule, Severity};

use crate::commands::rules;
use crate::places::within;
use crate::{Check, Subject, examples};

pub(super) const CHECK: Check = Check { rule: &RULE, check };

/// Commands whose name goes on in a well-known other one.
const LONGER: &[(&str, &str)] = &[
    ("ls", "lsof"),
    ("cat", "catchsegv"),
    ("git", "git-shell"),
    ("make", "makepkg"),
    ("go", "google-chrome"),
    ("node", "nodemon"),
    ("npm", "npm-check"),
    ("cd", "cdrecord"),
];

static RULE: Rule = Rule {
    code: "AG9013",
    name: "open-ended-command",
    severity: Severity::Note,
    why: "`ls*` allows every program whose name starts with `ls`, `lsof` and `lsblk` included. \
          `ls *` allows `ls` with any arguments, or none.",
    bad: examples::bash!("intent = \"ask\"\nrules = [\"ls*:allow\"]\n"),
    good: examples::bash!("intent = \"ask\"\nrules = [\"ls *:allow\"]\n"),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for rule in rules(subject.agent).iter().filter(|rule| rule.action == Action::Allow) {
        let Some(name) = rule.pattern.strip_suffix('*') else { continue };
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
        if !plain {
            continue;
        }
        let known = LONGER.iter().find(|(short, _)| *short == name);
        let other = known.map_or_else(|| format!("{name}x"), |(_, long)| (*long).to_owned());
        let message = format!("rule `{}` also allows `{other}`", rule.value);
        let found = findings.add(&RULE, rule.span, message);
        found.hint(format!("write `{name} *`"));
        let width = rule.to_string().len();
        let star = within(rule.span, width, name.len(), 0);
        if star != rule.span {
            found.fix(Fix::unsafe_(format!("write `{name} *`"), star, " "));
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_policy::Section;

    use super::*;
    use crate::testing::{found, permissions};

    #[test]
    fn rules_without_a_space() {
        let cases = [
            ("ls*:allow", Some("0..9 rule `ls*:allow` also allows `lsof`")),
            ("cargo*:allow", Some("0..12 rule `cargo*:allow` also allows `cargox`")),
            ("ls *:allow", None),
            ("ls*:deny", None),
            ("git log*:allow", None),
            ("docker-*:allow", None),
            ("./run*:allow", None),
            ("*:allow", None),
            ("**:allow", None),
        ];
        for (rule, expected) in cases {
            let agent = permissions(Section::Bash, &["ask", rule]);
            let lines = found(&CHECK, &agent, agentry_model::Format::AgentToml);
            assert_eq!(lines.first().map(String::as_str), expected, "{rule}");
        }
    }
}
