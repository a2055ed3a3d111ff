//! What «always for this run» covers. A rule that somebody wrote for some calls covers those calls;
//! where only a rule for everything asks, no more is covered than the like of what the person saw: the
//! same program, the same file, the same server.

use std::path::Path;

use agentry_compile::policy::argv::{self, Arg};
use agentry_compile::policy::hazard::hazards_in;
use agentry_compile::policy::shell::{Command, Context, Part, What, analyse};
use agentry_compile::policy::tables::global_options::global_options;
use agentry_compile::policy::{Judge, Reason, Section, is_interpreter, subcommand};
use url::Url;

use crate::tool::Touch;

/// What is covered by an approval of this part of a call, in words: who reads them knows all of it.
pub(crate) fn covered(judge: &Judge, touch: &Touch, reason: &Reason, directory: &Path) -> String {
    if is_written_for_some(judge, reason) {
        return format!("whatever `{}` ({}) asks about", reason.rule, reason.layer);
    }
    let here = directory.display();
    let subject = &touch.subject;
    match touch.section {
        Section::Bash => {
            let context = Context {
                home: judge.places().home.clone(),
                directory: Some(directory.to_string_lossy().into_owned()),
            };
            let parts = analyse(subject, &context);
            let part = parts.iter().find(|part| part.to_string() == reason.segment);
            let program = part.and_then(|part| program(part, reason));
            program.unwrap_or_else(|| format!("exactly `{}` in {here}", reason.segment))
        }
        Section::Webfetch => match Url::parse(subject) {
            Ok(url) => format!("requests to {}", url.origin().ascii_serialization()),
            Err(_) => format!("exactly `{subject}`"),
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

/// Whether the rule that asks was written for some calls and not for all of them.
fn is_written_for_some(judge: &Judge, reason: &Reason) -> bool {
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

/// The program of a command, as far as its name says what it does; nothing where it does not.
fn program(part: &Part, reason: &Reason) -> Option<String> {
    let What::Command(Command { argv, .. }) = &part.what else { return None };
    if reason.note.is_some() {
        return None;
    }
    let program = argv.first().and_then(Arg::literal)?;
    let is_hazard = argv::literal(argv).is_none_or(|words| hazards_in(&words).next().is_some());
    if is_interpreter(program) || is_hazard {
        return None;
    }
    let base = program.rsplit('/').next().unwrap_or(program);
    if global_options(base).is_empty() {
        return Some(format!("`{program}` with any arguments"));
    }
    Some(format!("`{program} {}` with any arguments", called(base, argv)?))
}

/// The subcommand behind a program: `push` of `git -C there push -f`. One that only names another program
/// comes with that name.
fn called(program: &str, argv: &[Arg]) -> Option<String> {
    let at = subcommand(program, argv)?;
    let word = argv.get(at)?.literal().filter(|word| !word.starts_with('-'))?;
    if !matches!(word, "run" | "run-script" | "exec" | "x" | "dlx" | "tool") {
        return Some(word.to_owned());
    }
    let named = argv.get(at + 1)?.literal().filter(|word| !word.starts_with('-'))?;
    Some(format!("{word} {named}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_compile::policy::Action;
    use agentry_compile::text::{FileId, Span};

    #[test]
    fn no_more_than_the_like_of_it_is_covered() {
        let cases = [
            ("ls -l", "ls -l", "`ls` with any arguments"),
            ("ls; rm -rf x", "rm -rf x", "`rm` with any arguments"),
            ("./ls", "./ls", "`./ls` with any arguments"),
            ("git --no-pager show x", "git --no-pager show x", "`git show` with any arguments"),
            ("git -C sub push", "git -C sub push", "exactly `git -C sub push` in /w"),
            ("npm run deploy", "npm run deploy", "`npm run deploy` with any arguments"),
            ("git", "git", "exactly `git` in /w"),
            ("python3 a.py", "python3 a.py", "exactly `python3 a.py` in /w"),
            ("bash a.sh", "bash a.sh", "exactly `bash a.sh` in /w"),
            ("find . -delete", "find . -delete", "exactly `find . -delete` in /w"),
            ("ls > out", "> out", "exactly `> out` in /w"),
        ];
        let judge = Judge::new(Vec::new(), agentry_compile::policy::Places::default());
        for (line, segment, expected) in cases {
            let touch = Touch { section: Section::Bash, subject: line.to_owned() };
            let reason = asks(segment);
            assert_eq!(covered(&judge, &touch, &reason, Path::new("/w")), expected, "{line}");
        }
        let cases = [
            (Section::Edit, "a/b", "changes of `/w/a/b`"),
            (Section::Webfetch, "https://a.example:8443/x?y", "requests to https://a.example:8443"),
            (Section::Mcp, "server/tool", "mcp `server/tool`"),
        ];
        for (section, subject, expected) in cases {
            let touch = Touch { section, subject: subject.to_owned() };
            let reason = asks(subject);
            assert_eq!(covered(&judge, &touch, &reason, Path::new("/w")), expected, "{subject}");
        }
    }

    fn asks(segment: &str) -> Reason {
        Reason {
            segment: segment.to_owned(),
            action: Action::Ask,
            rule: "bash = ask".to_owned(),
            span: Some(Span::start_of(FileId::BUILT_IN)),
            layer: agentry_compile::policy::Source::Default,
            note: None,
        }
    }
}
