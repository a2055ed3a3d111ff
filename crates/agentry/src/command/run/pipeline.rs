//! `pipeline` of a manifest: its steps in order, without a model. The prompt is the input of the first step, and
//! each output the input of the next one. The steps are calls of `delegate` like any other, so that they are
//! judged, journaled and resumed in the same way.

use std::sync::Arc;

use agentry_compile::model::{Agent, ErrorReaction};
use agentry_runtime::driver::interfaces::{DeltaSink, ModelPrompt, RunModels};
use agentry_runtime::provider::AnswerDelta;
use agentry_runtime::tool::BoxedFuture;
use agentry_runtime::{
    Message, MessageBlock, MessageRole, ModelFailure, ModelFailureKind, ModelTurn, TokenUsage,
    ToolCall,
};
use serde_json::json;

use super::assembly::RunEngine;

/// The steps of a pipeline, in place of a model.
struct PipelineSteps {
    calls: Vec<String>,
    on_error: ErrorReaction,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
enum PipelineMove {
    /// Call this agent or function with this input.
    Call(String, String),
    /// All steps are done; this is the output of the last one.
    Done(String),
    /// A step failed.
    Failed(String),
}

/// The names that the steps of a pipeline call; empty if there is none.
pub(crate) fn calls(agent: &Agent) -> Vec<String> {
    let stages = agent.pipeline.iter().flatten();
    stages.map(|stage| stage.call.as_ref().map(|it| it.value.clone()).unwrap_or_default()).collect()
}

/// The engine of an agent with a pipeline.
pub(crate) fn engine(agent: &Agent) -> Option<RunEngine> {
    let calls = calls(agent);
    let on_error = agent.behaviour.on_error.as_ref().map_or(ErrorReaction::Ask, |it| it.value);
    (!calls.is_empty()).then(|| RunEngine {
        models: Arc::new(PipelineSteps { calls, on_error }),
        names: vec!["pipeline".to_owned()],
        window: None,
        notes: Vec::new(),
    })
}

impl PipelineSteps {
    /// The next step after these messages.
    fn next(&self, messages: &[Arc<Message>]) -> PipelineMove {
        let begins =
            |message: &Arc<Message>| message.role == MessageRole::User && !message.has_results();
        let start = messages.iter().rposition(begins).unwrap_or(0);
        let mut input = messages.get(start).map(|it| it.text()).unwrap_or_default();
        let (mut at, mut is_retry) = (0, false);
        let blocks = messages.iter().skip(start).flat_map(|message| &message.blocks);
        for block in blocks {
            let MessageBlock::Result { text, failed, .. } = block else { continue };
            if !failed {
                (at, is_retry) = (at + 1, false);
                input.clone_from(text);
                continue;
            }
            match self.on_error {
                ErrorReaction::Retry if !is_retry => is_retry = true,
                ErrorReaction::Skip => at += 1,
                ErrorReaction::Ask | ErrorReaction::Retry | ErrorReaction::Fail => {
                    let call = self.calls.get(at).map(String::as_str).unwrap_or_default();
                    return PipelineMove::Failed(format!("step {} (`{call}`): {text}", at + 1));
                }
            }
        }
        match self.calls.get(at) {
            Some(call) => PipelineMove::Call(call.clone(), input),
            None => PipelineMove::Done(input),
        }
    }
}

impl RunModels for PipelineSteps {
    fn name(&self, _: usize) -> String {
        "pipeline".to_owned()
    }

    fn estimate(&self, _: usize, _: TokenUsage) -> TokenUsage {
        TokenUsage::default()
    }

    fn ask<'a>(
        &'a self,
        prompt: ModelPrompt<'a>,
        show: DeltaSink<'a>,
    ) -> BoxedFuture<'a, Result<ModelTurn, ModelFailure>> {
        let block = match self.next(prompt.messages) {
            PipelineMove::Call(agent, input) => {
                let arguments = json!({ "agent": agent, "prompt": input });
                let (id, tool) = (String::new(), "delegate".to_owned());
                MessageBlock::Call(ToolCall { id, tool, arguments, opaque: None })
            }
            PipelineMove::Done(text) => {
                show(AnswerDelta::Text(text.clone()));
                MessageBlock::Text { text }
            }
            PipelineMove::Failed(why) => {
                let failure = ModelFailure::new(ModelFailureKind::Final, why);
                return Box::pin(std::future::ready(Err(failure)));
            }
        };
        let message = Message { role: MessageRole::Assistant, blocks: vec![block] };
        let usage = TokenUsage::default();
        let turn = ModelTurn { message, usage, truncated: false, model: 0 };
        Box::pin(std::future::ready(Ok(turn)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(text: &str, failed: bool) -> Arc<Message> {
        let block = MessageBlock::Result { id: "c".to_owned(), text: text.to_owned(), failed };
        Arc::new(Message { role: MessageRole::User, blocks: vec![block] })
    }

    #[test]
    fn pipeline_steps_run_in_order_until_an_error() {
        let call = |name: &str, input: &str| PipelineMove::Call(name.to_owned(), input.to_owned());
        let failed = |why: &str| PipelineMove::Failed(why.to_owned());
        let (ok, bad) = (|text| result(text, false), |text| result(text, true));
        let cases = [
            (ErrorReaction::Ask, vec![], call("a", "go")),
            (ErrorReaction::Ask, vec![ok("one")], call("b.do", "one")),
            (ErrorReaction::Ask, vec![ok("one"), ok("two")], PipelineMove::Done("two".to_owned())),
            (ErrorReaction::Ask, vec![bad("no")], failed("step 1 (`a`): no")),
            (ErrorReaction::Fail, vec![ok("one"), bad("no")], failed("step 2 (`b.do`): no")),
            (ErrorReaction::Skip, vec![bad("no")], call("b.do", "go")),
            (ErrorReaction::Skip, vec![ok("one"), bad("no")], PipelineMove::Done("one".to_owned())),
            (ErrorReaction::Retry, vec![bad("no")], call("a", "go")),
            (ErrorReaction::Retry, vec![bad("no"), ok("one")], call("b.do", "one")),
            (ErrorReaction::Retry, vec![bad("no"), bad("no")], failed("step 1 (`a`): no")),
        ];
        for (on_error, results, expected) in cases {
            let steps = PipelineSteps { calls: vec!["a".to_owned(), "b.do".to_owned()], on_error };
            let old = [Arc::new(Message::user("old")), ok("x"), ok("y"), ok("z")];
            let messages: Vec<_> =
                old.into_iter().chain([Arc::new(Message::user("go"))]).chain(results).collect();
            assert_eq!(steps.next(&messages), expected, "{on_error:?} {}", messages.len());
        }
    }
}
