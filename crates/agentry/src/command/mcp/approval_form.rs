//! A question for an approval as a form that MCP clients show, and what its answer means.

use std::fmt::Write as _;

use agentry_mcp::ElicitationAnswer;
use serde_json::{Map, Value, json};

use crate::command::run::terminal::clean;
use crate::command::steered_run::SteeredApproval;

/// The field of the answer.
const ANSWER: &str = "answer";

/// The text and the fields of the question. The exact call comes first: some clients cut long texts.
pub(super) fn question(asked: &SteeredApproval) -> (String, Map<String, Value>) {
    let agent = asked.agent.as_ref().map_or(String::new(), |agent| format!("{agent}: "));
    let mut text = match &asked.call {
        Some(call) => format!("{agent}may `{}` run?\n{}\n", call.tool, call.arguments),
        None => format!("{agent}may the run go on?\n"),
    };
    if let Some(preview) = &asked.preview {
        let _ = writeln!(text, "\n{preview}");
    }
    let _ = writeln!(text, "\nwhy you are asked: {}", asked.reason);
    if !asked.places.is_empty() {
        let _ = writeln!(text, "written at: {}", asked.places.join(", "));
    }
    let choices: Vec<&String> = asked.choices.iter().filter(|word| *word != "later").collect();
    let mut meaning = "yes: this once; no: not".to_owned();
    if choices.iter().any(|word| *word == "always") {
        let _ = write!(
            meaning,
            "; always: for the rest of the run, {}; exact: exactly this call for the rest of the run",
            asked.rules.join("; ")
        );
    }
    let field = json!({"type": "string", "title": "Answer", "description": clean(&meaning), "enum": choices});
    let fields = [(ANSWER.to_owned(), field)].into_iter().collect();
    (clean(&text), fields)
}

/// The word that answers an approval. Only a choice that was offered allows anything; no answer at all parks
/// the run.
pub(super) fn answer<'a>(asked: &'a SteeredApproval, given: &ElicitationAnswer) -> &'a str {
    match given {
        ElicitationAnswer::Accept(content) => {
            let chosen = content.get(ANSWER).and_then(Value::as_str);
            let offered = asked.choices.iter().find(|word| Some(word.as_str()) == chosen);
            offered.map_or("no", String::as_str)
        }
        ElicitationAnswer::Decline => "no",
        ElicitationAnswer::Cancel => "later",
    }
}

/// A question of the agent as a form.
pub(super) fn inquiry(text: &str, choices: &[String]) -> (String, Map<String, Value>) {
    let described = match choices {
        [] => String::new(),
        choices => format!("for example: {}", choices.join(" · ")),
    };
    let field = json!({"type": "string", "title": "Answer", "description": clean(&described)});
    (clean(text), [(ANSWER.to_owned(), field)].into_iter().collect())
}

/// The text that answers a question of the agent.
pub(super) fn reply(given: &ElicitationAnswer) -> Option<String> {
    match given {
        ElicitationAnswer::Accept(content) => content.get(ANSWER)?.as_str().map(str::to_owned),
        ElicitationAnswer::Decline | ElicitationAnswer::Cancel => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_offered_choice_approves() {
        let asked: SteeredApproval = serde_json::from_value(json!({
            "question": 1, "kind": "call", "reason": "bash = ask", "places": ["a.toml:3"], "choices": ["yes", "no", "later"],
            "call": {"id": "c", "tool": "bash", "arguments": {"command": "make\u{1b}[2J"}},
        }))
        .unwrap();
        let (text, fields) = question(&asked);
        assert!(text.starts_with("may `bash` run?\n{\"command\":\"make"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert_eq!(fields["answer"]["enum"], json!(["yes", "no"]));
        let accept =
            |content: Value| ElicitationAnswer::Accept(content.as_object().unwrap().clone());
        let cases = [
            (accept(json!({"answer": "yes"})), "yes"),
            (accept(json!({"answer": "always"})), "no"),
            (accept(json!({"answer": true})), "no"),
            // A client that accepts without showing the form.
            (accept(json!({})), "no"),
            (ElicitationAnswer::Decline, "no"),
            (ElicitationAnswer::Cancel, "later"),
        ];
        for (given, expected) in cases {
            assert_eq!(answer(&asked, &given), expected, "{given:?}");
        }
    }
}
