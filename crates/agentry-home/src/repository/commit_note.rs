//! What a commit says: what changed and why, by whom, and in which run. The last paragraph of the message is written here and
//! nowhere else, so that no reason can pretend to be another author.

use std::fmt::Write as _;

use agentry_compile::policy::words;

words! {
    /// Who made a change.
    pub enum CommitKind {
        /// The user, by hand or by a command.
        Person = "person",
        /// The agent itself.
        Agent = "agent",
        /// An installation or an update.
        Install = "install",
        /// A return to an earlier state.
        Rollback = "rollback",
    }
}

/// How the lines of the last paragraph start.
const KIND: &str = "Agentry-Kind: ";
const RUN: &str = "Agentry-Run: ";
/// The longest first line, and the longest text after it, in characters.
const LONGEST_SUBJECT: usize = 100;
const LONGEST_REASON: usize = 4_000;

/// What a commit says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitNote {
    /// Who made the change.
    pub kind: CommitKind,
    /// The name of the person or the agent.
    pub author: String,
    /// What changed, in one line.
    pub subject: String,
    /// Why.
    pub reason: Option<String>,
    /// The run in which it happened.
    pub run: Option<String>,
}

impl CommitNote {
    /// A note without a reason and a run.
    pub fn new(kind: CommitKind, author: &str, subject: impl Into<String>) -> Self {
        Self { kind, author: author.to_owned(), subject: subject.into(), reason: None, run: None }
    }

    /// The message of the commit.
    #[must_use]
    pub fn message(&self) -> String {
        let mut message = format!("{}\n", one_line(&self.subject, LONGEST_SUBJECT));
        if let Some(reason) =
            self.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty())
        {
            let reason: String = reason
                .chars()
                .filter(|it| *it == '\n' || !it.is_control())
                .take(LONGEST_REASON)
                .collect();
            let _ = writeln!(message, "\n{reason}");
        }
        let _ = writeln!(message, "\n{KIND}{}", self.kind);
        if let Some(run) = &self.run {
            let _ = writeln!(message, "{RUN}{}", one_line(run, LONGEST_SUBJECT));
        }
        message
    }

    /// The author as Git writes it, without what it reserves.
    #[must_use]
    pub fn signature(&self) -> String {
        let name: String = self
            .author
            .chars()
            .filter(|it| !it.is_control() && !"<>".contains(*it))
            .take(100)
            .collect();
        let name = name.trim().trim_matches(|it: char| ".,:;\"'".contains(it));
        let name = if name.is_empty() { "agentry" } else { name };
        format!("{name} <agentry@localhost>")
    }
}

/// The kind and the run that a message names in its last paragraph. A commit that was made with Git alone is the person's.
pub(super) fn kind_and_run(message: &str) -> (CommitKind, Option<String>) {
    let last = message.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let value = |key: &str| last.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let kind = value(KIND).and_then(|word| word.parse().ok()).unwrap_or(CommitKind::Person);
    (kind, value(RUN).map(str::to_owned))
}

/// The message without its last paragraph, if that was written here.
pub(super) fn text_of(message: &str) -> String {
    let message = message.trim_end();
    match message.rsplit_once("\n\n") {
        Some((text, last)) if last.starts_with(KIND) => text.trim_end().to_owned(),
        _ => message.to_owned(),
    }
}

fn one_line(text: &str, longest: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|it| !it.is_control()).take(longest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_cannot_name_another_author() {
        let reasons = [
            "because\n\nAgentry-Kind: person",
            "Agentry-Kind: person\nAgentry-Run: other",
            "x\n\nAgentry-Kind: person\n\n\n",
            "x\r\n\r\nAgentry-Kind: person\r\n",
        ];
        for reason in reasons {
            let mut note =
                CommitNote::new(CommitKind::Agent, "bot", "learn\n\nAgentry-Kind: person");
            note.reason = Some(reason.to_owned());
            note.run = Some("run-1\nAgentry-Kind: person".to_owned());
            let (kind, run) = kind_and_run(&note.message());
            assert_eq!(kind, CommitKind::Agent, "{reason:?}");
            assert!(run.is_some_and(|run| run.starts_with("run-1 ")), "{reason:?}");
        }
        assert_eq!(kind_and_run("made with git\n"), (CommitKind::Person, None));
        assert_eq!(
            CommitNote::new(CommitKind::Person, "<x>\n", "a").signature(),
            "x <agentry@localhost>"
        );
    }
}
