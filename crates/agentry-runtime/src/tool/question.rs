//! `question`: asks the user.

use agentry_compile::policy::Section;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, arguments,
    output_cap,
};
use crate::event::CallClass;

/// Asks the user.
pub(super) struct QuestionTool;

#[derive(Deserialize)]
struct QuestionInput {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
}

impl BuiltInTool for QuestionTool {
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

    /// A question changes nothing, so a resumed run asks it again.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, given: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let QuestionInput { question, .. } = arguments(given)?;
        Ok(vec![ToolTouch { section: Section::Question, subject: question }])
    }

    fn run<'a>(&'a self, given: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move {
            let QuestionInput { question, choices } = match arguments(&given) {
                Ok(given) => given,
                Err(why) => return ToolOutput::failed(why),
            };
            match host.ask(&question, &choices).await {
                Some(answer) => ToolOutput::done(output_cap::text(&answer)),
                None => ToolOutput::failed("no user is present to answer"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::TestWorkspace;
    use super::*;

    #[tokio::test]
    async fn a_question_without_a_user_fails() {
        let world = TestWorkspace::new();
        let arguments = json!({"question": "which?", "choices": ["a", "b"]});
        let mut host = world.host();
        let no_user = ToolOutput::failed("no user is present to answer");
        assert_eq!(QuestionTool.run(arguments.clone(), &host).await, no_user);
        host.answer = Some("b".to_owned());
        assert_eq!(QuestionTool.run(arguments, &host).await, ToolOutput::done("b"));
    }
}
