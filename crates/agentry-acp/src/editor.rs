//! The way back to the editor: updates of sessions, and questions for a permission.

use std::time::Duration;

use agentry_rpc::RpcPeer;
use serde_json::{Value, json};

use crate::update::{SessionUpdate, ToolCallReport};

/// The editor, as a session sees it.
#[derive(Debug, Clone)]
pub struct EditorPort {
    peer: RpcPeer,
    abilities: EditorAbilities,
}

/// What an editor said in `initialize` that it can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "an editor has each of them or not")]
pub(crate) struct EditorAbilities {
    /// Whether it shows notices.
    pub(crate) shows_notices: bool,
    /// Whether it puts questions with fields to the user.
    pub(crate) takes_questions: bool,
    /// Whether it returns the texts of files, also of those that are not saved.
    pub(crate) reads_files: bool,
    /// Whether it writes files.
    pub(crate) writes_files: bool,
    /// Whether it shows terminals.
    pub(crate) has_terminals: bool,
}

/// A question for a permission.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionQuestion {
    /// The exact call, with what it would change.
    pub call: ToolCallReport,
    /// The answers that are offered.
    pub choices: Vec<PermissionChoice>,
}

/// An answer that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionChoice {
    /// Its id, which the answer carries.
    pub id: &'static str,
    /// What the user reads.
    pub name: String,
    /// Whether it allows the call.
    pub allows: bool,
    /// Whether it holds for later calls as well.
    pub is_lasting: bool,
}

/// The answer of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionOutcome {
    /// The offered answer with this id.
    Chosen(&'static str),
    /// No answer: the turn was cancelled, the editor is gone, or it answered with something else.
    Unanswered,
}

impl PermissionChoice {
    fn to_json(&self) -> Value {
        let kind = match (self.allows, self.is_lasting) {
            (true, false) => "allow_once",
            (true, true) => "allow_always",
            (false, false) => "reject_once",
            (false, true) => "reject_always",
        };
        json!({"optionId": self.id, "name": self.name, "kind": kind})
    }
}

impl EditorPort {
    pub(crate) fn new(peer: RpcPeer, abilities: EditorAbilities) -> Self {
        Self { peer, abilities }
    }

    /// Shows an update of a session.
    pub async fn update(&self, session: &str, update: &SessionUpdate) {
        let params =
            json!({"sessionId": session, "update": update.to_json(self.abilities.shows_notices)});
        self.peer.notify("session/update", &params).await;
    }

    /// Whether the editor can put a question of the agent to the user.
    pub fn takes_questions(&self) -> bool {
        self.abilities.takes_questions
    }

    /// Puts a question of the agent to the user; `None` if there is no answer.
    pub async fn inquire(&self, session: &str, text: &str, choices: &[String]) -> Option<String> {
        let described = match choices {
            [] => String::new(),
            choices => format!("for example: {}", choices.join(" · ")),
        };
        let field = json!({"type": "string", "title": "Answer", "description": described});
        let schema = json!({"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]});
        let params = json!({
            "sessionId": session, "mode": "form", "message": text, "requestedSchema": schema});
        let answer = self.peer.ask("elicitation/create", &params).await.ok()?;
        answer.get("action").filter(|action| *action == "accept")?;
        let text = answer.get("content")?.get(ANSWER)?.as_str()?;
        Some(text.to_owned())
    }

    /// Whether the editor returns the texts of files.
    pub fn reads_files(&self) -> bool {
        self.abilities.reads_files
    }

    /// Whether the editor writes files.
    pub fn writes_files(&self) -> bool {
        self.abilities.writes_files
    }

    /// Whether the editor shows terminals.
    pub fn has_terminals(&self) -> bool {
        self.abilities.has_terminals
    }

    /// Returns the text of a file as the editor has it.
    pub async fn read_file(&self, session: &str, path: &str) -> Result<String, String> {
        let params = json!({"sessionId": session, "path": path});
        let answer = self.peer.ask("fs/read_text_file", &params).await;
        let answer = answer.map_err(|error| error.message)?;
        let text = answer.get("content").and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| "the editor returned no text".to_owned())
    }

    /// Replaces the text of a file in the editor, and saves it.
    pub async fn write_file(&self, session: &str, path: &str, text: &str) -> Result<(), String> {
        let params = json!({"sessionId": session, "path": path, "content": text});
        let answer = self.peer.ask("fs/write_text_file", &params).await;
        answer.map(drop).map_err(|error| error.message)
    }

    /// Opens a terminal that shows what a program prints; returns its id.
    pub async fn open_terminal(
        &self,
        session: &str,
        (program, arguments): (&str, &[&str]),
        directory: &str,
    ) -> Option<String> {
        let params = json!({
            "sessionId": session, "command": program, "args": arguments, "env": [],
            "cwd": directory, "outputByteLimit": TERMINAL_BYTES});
        let answer = self.peer.ask("terminal/create", &params).await.ok()?;
        Some(answer.get("terminalId")?.as_str()?.to_owned())
    }

    /// Waits until the program of a terminal has ended, and gives the terminal back. The editor goes on to show it.
    pub async fn close_terminal(&self, session: &str, terminal: &str, most: Duration) {
        let params = json!({"sessionId": session, "terminalId": terminal});
        let ended = self.peer.ask("terminal/wait_for_exit", &params);
        let _ = tokio::time::timeout(most, ended).await;
        let released = self.peer.ask("terminal/release", &params);
        let _ = tokio::time::timeout(most, released).await;
    }

    /// Asks the user for a permission. Any answer that was not offered is a refusal.
    pub async fn ask(&self, session: &str, question: &PermissionQuestion) -> PermissionOutcome {
        let options: Vec<Value> = question.choices.iter().map(PermissionChoice::to_json).collect();
        let call = Value::Object(question.call.fields());
        let params = json!({"sessionId": session, "toolCall": call, "options": options});
        match self.peer.ask("session/request_permission", &params).await {
            Ok(answer) => outcome(&answer, &question.choices),
            Err(_) => PermissionOutcome::Unanswered,
        }
    }
}

/// The most bytes of output that an editor holds for a terminal.
const TERMINAL_BYTES: u64 = 1 << 20;
/// The field of a question.
const ANSWER: &str = "answer";

impl EditorAbilities {
    pub(crate) fn read(params: &Value) -> Self {
        let has = |path: &str| params.pointer(path).is_some_and(Value::is_object);
        let can = |path: &str| params.pointer(path).is_some_and(|it| *it == true);
        Self {
            shows_notices: has("/clientCapabilities/session/notices"),
            takes_questions: has("/clientCapabilities/elicitation/form"),
            reads_files: can("/clientCapabilities/fs/readTextFile"),
            writes_files: can("/clientCapabilities/fs/writeTextFile"),
            has_terminals: can("/clientCapabilities/terminal"),
        }
    }
}

fn outcome(answer: &Value, choices: &[PermissionChoice]) -> PermissionOutcome {
    let outcome = answer.get("outcome").unwrap_or(&Value::Null);
    let part = |name: &str| outcome.get(name).and_then(Value::as_str);
    let chosen = part("optionId").filter(|_| part("outcome") == Some("selected"));
    let chosen = chosen.and_then(|id| choices.iter().find(|choice| choice.id == id));
    chosen.map_or(PermissionOutcome::Unanswered, |choice| PermissionOutcome::Chosen(choice.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_offered_permission_choice_approves() {
        let choice =
            |id, allows| PermissionChoice { id, name: id.into(), allows, is_lasting: false };
        let choices = [choice("yes", true), choice("no", false)];
        let selected = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
        let cases = [
            (selected("yes"), PermissionOutcome::Chosen("yes")),
            (selected("no"), PermissionOutcome::Chosen("no")),
            // An answer that was not offered for this call.
            (selected("always"), PermissionOutcome::Unanswered),
            (json!({"outcome": {"outcome": "cancelled"}}), PermissionOutcome::Unanswered),
            (
                json!({"outcome": {"outcome": "cancelled", "optionId": "yes"}}),
                PermissionOutcome::Unanswered,
            ),
            (json!({"outcome": "yes"}), PermissionOutcome::Unanswered),
            (json!(null), PermissionOutcome::Unanswered),
        ];
        for (answer, expected) in cases {
            assert_eq!(outcome(&answer, &choices), expected, "{answer}");
        }
    }
}
