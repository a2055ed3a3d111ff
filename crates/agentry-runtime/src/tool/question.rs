//! `question`: asks the person.

use agentry_compile::policy::Section;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Doing, Host, Output, Place, Tool, ToolSpec, Touch, arguments, cap};
use crate::event::Class;

/// Asks the person.
pub(super) struct Question;

#[derive(Deserialize)]
struct Arguments {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
}

impl Tool for Question {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "question".to_owned(),
            description: "Asks the person something that only they can decide, and waits for the \
                          answer. Give choices where there are some; they may answer otherwise."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "question": {"type": "string", "minLength": 1, "maxLength": 4_000},
                    "choices": {
                        "type": "array",
                        "maxItems": 10,
                        "items": {"type": "string", "minLength": 1, "maxLength": 500}
                    }
                },
                "required": ["question"],
                "additionalProperties": false
            }),
        }
    }

    /// A run that was killed asks again.
    fn class(&self, _: &Value) -> Class {
        Class::Read
    }

    fn touches(&self, given: &Value, _: &Place) -> Result<Vec<Touch>, String> {
        let Arguments { question, .. } = arguments(given)?;
        Ok(vec![Touch { section: Section::Question, subject: question }])
    }

    fn run<'a>(&'a self, given: Value, host: &'a dyn Host) -> Doing<'a, Output> {
        Box::pin(async move {
            let Arguments { question, choices } = match arguments(&given) {
                Ok(given) => given,
                Err(why) => return Output::failed(why),
            };
            match host.ask(&question, &choices).await {
                Some(answer) => Output::done(cap::text(&answer)),
                None => Output::failed("nobody is there to answer"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::World;
    use super::*;

    #[tokio::test]
    async fn a_person_answers_or_nobody_is_there() {
        let world = World::new();
        let arguments = json!({"question": "which?", "choices": ["a", "b"]});
        let mut host = world.host();
        let nobody = Output::failed("nobody is there to answer");
        assert_eq!(Question.run(arguments.clone(), &host).await, nobody);
        host.answer = Some("b".to_owned());
        assert_eq!(Question.run(arguments, &host).await, Output::done("b"));
    }
}
