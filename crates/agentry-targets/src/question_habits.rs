//! When a harness asks: whether its ordinary interactive mode puts a call to the person. This table is the
//! only place for this knowledge. A row has the month in which the behaviour was seen or read, and a reason.
//!
//! What a source asks about is rendered as the harness' own question where a row says that it asks, or shows
//! the change for review. Where it never asks, an ask becomes a deny.

use agentry_policy::{Section, words};

use crate::Target;

words! {
    /// Whether the ordinary mode of a harness puts a call to the person.
    pub enum QuestionHabit {
        /// It asks before the call.
        Asks = "asks",
        /// It shows the result for review before applying it.
        Shows = "shows for review",
        /// It asks in no mode.
        Never = "never asks",
    }
}

/// The habit of a harness for some sections.
#[derive(Debug)]
pub struct HabitRow {
    /// The name of the target.
    pub harness: &'static str,
    /// The sections that the row is about.
    pub sections: &'static [Section],
    /// What the harness does.
    pub habit: QuestionHabit,
    /// The month in which that was seen or read.
    pub seen: &'static str,
    /// The reason, for a reader of the documentation.
    pub why: &'static str,
}

/// The modes of a harness that skip its questions.
#[derive(Debug)]
pub struct SilentModes {
    /// The name of the target.
    pub harness: &'static str,
    /// The modes, as they follow «not with».
    pub modes: &'static str,
    /// How a question is handled in an unattended run.
    pub headless: &'static str,
    /// Commands that the ordinary mode runs without a question although no rule allows them.
    pub unasked: &'static [&'static str],
    /// The month in which that was seen or read.
    pub seen: &'static str,
}

const fn row(
    harness: &'static str,
    sections: &'static [Section],
    habit: QuestionHabit,
    seen: &'static str,
    why: &'static str,
) -> HabitRow {
    HabitRow { harness, sections, habit, seen, why }
}

use QuestionHabit::{Asks, Never, Shows};
use Section::{Bash, Delegate, Edit, Mcp, Question, Read, Skill, Tool, Webfetch, Websearch};

/// Every row, by harness. A section without a row is never asked about.
pub const HABITS: &[HabitRow] = &[
    row(
        "opencode",
        &[Bash, Edit, Read, Webfetch, Websearch, Mcp, Skill, Delegate, Tool, Question],
        Asks,
        "2026-11",
        "`ask` is a rule of the agent's own file",
    ),
    row(
        "claude-code",
        &[Bash, Edit, Webfetch, Websearch, Mcp, Tool],
        Asks,
        "2026-11",
        "the mode `default` asks about every call of these tools that no rule allows",
    ),
    row(
        "claude-code",
        &[Read],
        Never,
        "2026-11",
        "files of the workspace are read without a question; others are asked about",
    ),
    row(
        "claude-code",
        &[Skill],
        Never,
        "2026-11",
        "after one question, the `allowed-tools` of a skill run without any",
    ),
    row("claude-code", &[Delegate], Never, "2026-11", "starting another agent is not asked about"),
    row(
        "pi",
        &[Bash, Edit, Read, Webfetch, Websearch, Mcp, Skill, Delegate, Tool],
        Never,
        "2026-11",
        "Pi has no questions; in pi-subagents a model would answer them",
    ),
    row(
        "codex",
        &[Bash],
        Never,
        "2026-11",
        "commands run in its sandbox at once; the approval policy that asked, `untrusted`, is no longer supported",
    ),
    row(
        "codex",
        &[Edit],
        Asks,
        "2026-11",
        "the approval policy `on-request` asks about changes that the sandbox does not permit",
    ),
    row(
        "codex",
        &[Read, Webfetch, Websearch, Mcp, Skill, Delegate, Tool],
        Never,
        "2026-11",
        "no approval policy covers them",
    ),
    row(
        "gemini",
        &[Bash, Webfetch, Mcp, Skill],
        Asks,
        "2026-11",
        "the mode `default` asks about every call of these tools",
    ),
    row("gemini", &[Edit], Asks, "2026-11", "the mode `default` shows the change and asks"),
    row(
        "gemini",
        &[Read, Websearch, Delegate, Tool],
        Never,
        "2026-11",
        "tools that change nothing run without a question",
    ),
    row(
        "copilot",
        &[Bash, Webfetch, Mcp],
        Asks,
        "2026-11",
        "VS Code and Copilot CLI ask before each command, address and tool of a server",
    ),
    row(
        "copilot",
        &[Edit],
        Shows,
        "2026-11",
        "VS Code shows each change for review, and Copilot CLI asks",
    ),
    row(
        "copilot",
        &[Read, Websearch, Delegate, Skill, Tool],
        Never,
        "2026-11",
        "tools that change nothing run without a question",
    ),
    row(
        "cursor",
        &[Bash, Webfetch, Mcp],
        Asks,
        "2026-11",
        "Cursor asks before each command, address and tool of a server that no list allows",
    ),
    row("cursor", &[Edit], Shows, "2026-11", "the editor shows each change for review"),
    row(
        "cursor",
        &[Read, Websearch, Delegate, Skill, Tool],
        Never,
        "2026-11",
        "tools that change nothing run without a question",
    ),
];

/// The modes that skip questions, by harness.
pub const SILENT_MODES: &[SilentModes] = &[
    SilentModes {
        harness: "opencode",
        modes: "`opencode --auto`",
        headless: "refuses what is asked about",
        unasked: &[],
        seen: "2026-11",
    },
    SilentModes {
        harness: "claude-code",
        modes: "the modes `auto`, `acceptEdits` or `bypassPermissions`",
        headless: "refuses what is asked about",
        unasked: &["ls", "echo hi", "git status"],
        seen: "2026-11",
    },
    SilentModes {
        harness: "codex",
        modes: "`--full-auto`, `--yolo` or in the cloud",
        headless: "runs commands in its sandbox without a question",
        unasked: &[],
        seen: "2026-11",
    },
    SilentModes {
        harness: "gemini",
        modes: "`--yolo` or the mode `auto_edit`",
        headless: "refuses what is asked about",
        unasked: &["ls", "cat x", "git status"],
        seen: "2026-11",
    },
    SilentModes {
        harness: "copilot",
        modes: "`--allow-all-tools`, auto-approval in VS Code or in the cloud",
        headless: "refuses what is asked about",
        unasked: &[],
        seen: "2026-11",
    },
    SilentModes {
        harness: "cursor",
        modes: "auto-run in the editor, `--force` or in the cloud",
        headless: "refuses what is asked about",
        unasked: &[],
        seen: "2026-11",
    },
];

/// Returns what the ordinary mode of a harness does about a section; `None` for a section without a row.
pub fn habit(harness: &str, section: Section) -> Option<QuestionHabit> {
    let is_it = |row: &&HabitRow| row.harness == harness && row.sections.contains(&section);
    HABITS.iter().find(is_it).map(|row| row.habit)
}

/// Whether the ordinary mode of a harness puts calls of a section to the person.
pub fn is_asked(harness: &str, section: Section) -> bool {
    habit(harness, section).is_some_and(|habit| habit != Never)
}

/// Returns the modes of a harness that skip its questions.
pub fn silent_modes(target: &Target) -> Option<&'static SilentModes> {
    SILENT_MODES.iter().find(|row| row.harness == target.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;

    #[test]
    fn each_target_section_has_one_question_row() {
        for row in HABITS {
            assert!(target(row.harness).is_some(), "{}", row.harness);
            for section in row.sections {
                let same =
                    |it: &&HabitRow| it.harness == row.harness && it.sections.contains(section);
                assert_eq!(HABITS.iter().filter(same).count(), 1, "{} {section}", row.harness);
            }
        }
    }

    #[test]
    fn every_asking_harness_lists_its_silent_modes() {
        for row in HABITS.iter().filter(|row| row.habit != Never) {
            let known = SILENT_MODES.iter().any(|modes| modes.harness == row.harness);
            assert!(known, "{}", row.harness);
        }
    }
}
