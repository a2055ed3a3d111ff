//! What an approval «always for this run» covers. A command that may change something is covered only in
//! its exact form. A command that only reads, builds or tests is covered with other arguments too.
//! Other calls are covered by the rule that asked, if it is specific. If a rule for everything asked,
//! only what the user saw is covered: the same file, the same server.

use std::path::Path;

use agentry_compile::policy::argv;
use agentry_compile::policy::commands::effects;
use agentry_compile::policy::shell::{LinePart, PartEffect, ShellCommand, ShellContext, analyse};
use agentry_compile::policy::{Judge, Section, VerdictReason};
use url::Url;

use crate::tool::ToolTouch;

/// How much an approval of a part of a call may cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CoverBreadth {
    /// The like of it: only rules ask about it.
    TheLike,
    /// Only itself: more than rules asks about it, for example because it reads a secret.
    Exact,
}

/// A part of a call that the user is asked about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskedPart<'a> {
    /// What the call touches.
    pub(crate) touch: &'a ToolTouch,
    /// Why the user is asked.
    pub(crate) reason: &'a VerdictReason,
    /// How much an approval may cover.
    pub(crate) breadth: CoverBreadth,
}

/// Returns what an approval of this part of a call covers, as text for the user.
pub(crate) fn covered(judge: &Judge, part: &AskedPart<'_>, directory: &Path) -> String {
    let AskedPart { touch, reason, breadth } = *part;
    let may_be_wide = breadth == CoverBreadth::TheLike;
    if may_be_wide && touch.section != Section::Bash && is_written_for_some(judge, reason) {
        return format!("whatever `{}` ({}) asks about", reason.rule, reason.layer);
    }
    let here = directory.display();
    let subject = &touch.subject;
    match touch.section {
        Section::Bash => {
            let context = ShellContext {
                home: judge.places().home.clone(),
                directory: Some(directory.to_string_lossy().into_owned()),
            };
            let parts = analyse(subject, &context);
            let part = parts.iter().find(|part| part.to_string() == reason.segment);
            let program = part.filter(|_| may_be_wide).and_then(|part| program(part, reason));
            program.unwrap_or_else(|| {
                // After a `cd`, relative paths mean other files, so only the whole line can be covered.
                let is_plain = part.is_some_and(is_literal) && !parts.iter().any(goes_elsewhere);
                let what = if is_plain { &reason.segment } else { subject };
                format!("exactly `{what}` in {here}")
            })
        }
        Section::Webfetch => match Url::parse(subject) {
            Ok(url) if may_be_wide => format!("requests to {}", url.origin().ascii_serialization()),
            _ => format!("exactly `{subject}`"),
        },
        Section::Websearch => "searches of the web".to_owned(),
        Section::Edit => format!("changes of `{}`", directory.join(subject).display()),
        Section::Read | Section::ExternalDirectory => {
            format!("{} `{}`", touch.section, directory.join(subject).display())
        }
        Section::Question
        | Section::Mcp
        | Section::Tool
        | Section::Skill
        | Section::Delegate
        | Section::Env => format!("{} `{subject}`", touch.section),
    }
}

/// Returns whether the rule that asked is specific: its pattern has more than wildcards.
fn is_written_for_some(judge: &Judge, reason: &VerdictReason) -> bool {
    // A verdict without a span does not come from a rule in a file.
    let Some(span) = reason.span else { return false };
    let is_general = |text: &str| text.chars().all(|c| matches!(c, '*' | '/' | '?' | ' ' | '.'));
    let sections = Section::ALL.iter();
    let mut rules = sections.flat_map(|section| judge.rules(*section));
    rules.any(|(layer, rules)| {
        layer == reason.layer
            && rules.rules.iter().any(|rule| {
                rule.span == Some(span)
                    && rule.text == reason.rule
                    && !is_general(&rule.pattern.text)
            })
    })
}

/// Returns whether a part has no expansion: `rm a`, and not `rm $x`.
fn is_literal(part: &LinePart) -> bool {
    match &part.what {
        PartEffect::Command(ShellCommand { argv, .. }) => argv::literal(argv).is_some(),
        PartEffect::Read(word) | PartEffect::Write(word) | PartEffect::Set { value: word, .. } => {
            word.literal().is_some()
        }
        PartEffect::Enter(_) | PartEffect::Lasting { .. } | PartEffect::Unclear { .. } => false,
    }
}

/// Returns whether a part changes the directory for the parts after it.
fn goes_elsewhere(part: &LinePart) -> bool {
    matches!(part.what, PartEffect::Enter(_))
}

/// Returns what is covered of a command that only reads, builds or tests; nothing for other commands.
fn program(part: &LinePart, reason: &VerdictReason) -> Option<String> {
    let PartEffect::Command(ShellCommand { argv, .. }) = &part.what else { return None };
    // A note explains why this call is stricter than it looks, so the user must see each one.
    if reason.note.is_some() {
        return None;
    }
    let name = effects(argv).approval()?;
    Some(format!("`{name}` with any arguments that do no more than read, build or test"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_compile::policy::Action;
    use agentry_compile::text::{FileId, Span};

    #[test]
    fn an_always_approval_covers_only_similar_commands() {
        let cases = [
            ("ls -l", "ls -l", Some("ls")),
            ("ls; rm a", "rm a", None),
            ("./ls", "./ls", None),
            ("git --no-pager show x", "git --no-pager show x", Some("git show")),
            ("git -C sub push", "git -C sub push", None),
            ("git push", "git push", None),
            ("git", "git", None),
            ("git diff --output=x", "git diff --output=x", None),
            ("git grep -Oless x", "git grep -Oless x", None),
            ("cargo test one", "cargo test one", Some("cargo test")),
            ("cargo publish", "cargo publish", None),
            ("go test -exec x", "go test -exec x", None),
            ("npm run deploy", "npm run deploy", None),
            ("mv a b", "mv a b", None),
            ("kill 1", "kill 1", None),
            ("unheard-of a", "unheard-of a", None),
            ("python3 a.py", "python3 a.py", None),
            ("bash a.sh", "bash a.sh", None),
            ("find . -delete", "find . -delete", None),
            ("sort -o a b", "sort -o a b", None),
            ("tree -o a", "tree -o a", None),
            ("rg --pre a b", "rg --pre a b", None),
            ("file -C -m a", "file -C -m a", None),
            ("ls > out", "> out", None),
        ];
        // A part with an expansion, or after a `cd`, is covered only with the whole line.
        let whole = ["rm $x", "rm *", "cat list | xargs rm", "cd sub && rm a"];
        let judge = Judge::new(Vec::new(), agentry_compile::policy::PathAnchors::default());
        for (line, segment, expected) in cases {
            let touch = ToolTouch { section: Section::Bash, subject: line.to_owned() };
            let reason = asks(segment);
            let expected = match expected {
                Some(name) => {
                    let most = "any arguments that do no more than read, build or test";
                    format!("`{name}` with {most}")
                }
                None => format!("exactly `{segment}` in /w"),
            };
            let breadth = CoverBreadth::TheLike;
            let part = AskedPart { touch: &touch, reason: &reason, breadth };
            assert_eq!(covered(&judge, &part, Path::new("/w")), expected, "{line}");
            let part = AskedPart { breadth: CoverBreadth::Exact, ..part };
            let exact = format!("exactly `{segment}` in /w");
            assert_eq!(covered(&judge, &part, Path::new("/w")), exact, "{line}");
        }
        for line in whole {
            let touch = ToolTouch { section: Section::Bash, subject: line.to_owned() };
            let parts =
                analyse(line, &ShellContext { home: None, directory: Some("/w".to_owned()) });
            let last = parts.last().map(ToString::to_string).unwrap_or_default();
            let (reason, breadth) = (asks(&last), CoverBreadth::TheLike);
            let part = AskedPart { touch: &touch, reason: &reason, breadth };
            let found = covered(&judge, &part, Path::new("/w"));
            assert_eq!(found, format!("exactly `{line}` in /w"), "{last}");
        }
        let cases = [
            (Section::Edit, "a/b", "changes of `/w/a/b`"),
            (Section::Webfetch, "https://a.example:8443/x?y", "requests to https://a.example:8443"),
            (Section::Mcp, "server/tool", "mcp `server/tool`"),
        ];
        for (section, subject, expected) in cases {
            let touch = ToolTouch { section, subject: subject.to_owned() };
            let reason = asks(subject);
            let breadth = CoverBreadth::TheLike;
            let part = AskedPart { touch: &touch, reason: &reason, breadth };
            assert_eq!(covered(&judge, &part, Path::new("/w")), expected, "{subject}");
        }
    }

    fn asks(segment: &str) -> VerdictReason {
        VerdictReason {
            segment: segment.to_owned(),
            action: Action::Ask,
            rule: "bash = ask".to_owned(),
            span: Some(Span::start_of(FileId::BUILT_IN)),
            layer: agentry_compile::policy::LayerSource::Default,
            note: None,
        }
    }
}
