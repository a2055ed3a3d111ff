//! The commands and events of a run that another program steers, beside the events that every run has.
//! `docs/reference/events.md` documents both.

use agentry_runtime::driver::interfaces::ApprovalReply;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A command to the run.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ControlCommand {
    /// A message to the agent. It waits for the end of the turn.
    Message { text: String },
    /// The answer to an approval.
    Answer {
        question: u64,
        answer: AnswerWord,
        #[serde(default)]
        reason: Option<String>,
    },
    /// The answer to a question of the agent; without a text, it gets none.
    Reply {
        question: u64,
        #[serde(default)]
        text: Option<String>,
    },
    /// The program has an editor, and says what that can do.
    Editor(EditorOffer),
    /// The answer to a `file_read` or `file_write`: the text, or why there is none.
    File {
        request: u64,
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        error: Option<String>,
    },
    /// Stops the turn.
    Cancel,
    /// Stops the run.
    Stop,
    /// Parks the run at the open question, or at the next one.
    Park,
    /// There will be no further message: the run ends after the turn.
    End,
}

/// What the editor of the program can do with files that are open in it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditorOffer {
    /// It returns their texts.
    pub(super) reads: bool,
    /// It replaces their texts and saves them.
    pub(super) writes: bool,
}

/// An answer to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerWord {
    Yes,
    No,
    Always,
    Exact,
    Later,
}

impl AnswerWord {
    /// The answers to a call that an approval for the run can cover.
    pub(super) const ALL: [Self; 5] = [Self::Yes, Self::No, Self::Always, Self::Exact, Self::Later];
    /// The answers to everything else.
    pub(super) const ONCE: [Self; 3] = [Self::Yes, Self::No, Self::Later];

    pub(super) fn into_reply(self, reason: Option<String>) -> ApprovalReply {
        match self {
            Self::Yes => ApprovalReply::Yes,
            Self::No => ApprovalReply::No(reason.filter(|it| !it.trim().is_empty())),
            Self::Always => ApprovalReply::AlwaysRules,
            Self::Exact => ApprovalReply::AlwaysExact,
            Self::Later => ApprovalReply::Park,
        }
    }
}

/// What a run reports only to a program that steers it.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ControlEvent<'a> {
    /// The run did not begin.
    Refused { message: &'a str, details: &'a [String], hint: Option<&'a str> },
    /// An approval is needed.
    Approval {
        question: u64,
        #[serde(flatten)]
        about: ApprovalEvent,
    },
    /// The agent asks.
    Question { question: u64, text: String, choices: Vec<String> },
    /// The run does not wait for an answer any more.
    Withdrawn { question: u64 },
    /// A command was not understood or came too late.
    Rejected { why: &'a str },
    /// The text of a file is needed, as the editor has it.
    FileRead { request: u64, path: &'a str },
    /// A file with changes that are not saved is to get this text.
    FileWrite { request: u64, path: &'a str, text: &'a str },
    /// The output of a function.
    Output { output: &'a Value },
}

/// What an approval is about.
#[derive(Debug, Serialize)]
pub(super) struct ApprovalEvent {
    /// `call`, `unfinished`, `failed`, `limit` or `models`.
    pub(super) kind: &'static str,
    /// The chain of agents, if a delegate asks.
    pub(super) agent: Option<String>,
    /// The call; `None` for a limit and for models.
    pub(super) call: Option<Value>,
    /// Why it is asked.
    pub(super) reason: String,
    /// File and line of the deciding rules.
    pub(super) places: Vec<String>,
    /// What `always` would cover.
    pub(super) rules: Vec<String>,
    /// What the call would change.
    pub(super) preview: Option<String>,
    /// The possible answers.
    pub(super) choices: &'static [AnswerWord],
}
