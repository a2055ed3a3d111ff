//! Puts the questions of a delegate to the user at the root, with the names of the agents that lead to it.

use std::sync::Arc;

use agentry_runtime::driver::interfaces::{ApprovalReply, ApprovalRequest, Approver};
use agentry_runtime::tool::{BoxedFuture, EditorFiles};

/// The user at the root, for one delegate.
pub(super) struct ChainApprover {
    pub(super) person: Arc<dyn Approver>,
    /// `lead › helper`
    pub(super) chain: String,
}

impl Approver for ChainApprover {
    fn decide<'a>(&'a self, asked: ApprovalRequest<'a>) -> BoxedFuture<'a, ApprovalReply> {
        Box::pin(async move {
            let asked = asked.plain();
            self.person.decide(ApprovalRequest::Of(&self.chain, &asked)).await
        })
    }

    fn answer<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxedFuture<'a, Option<String>> {
        Box::pin(async move {
            let question = format!("{} asks: {question}", self.chain);
            self.person.answer(&question, choices).await
        })
    }

    fn editor(&self) -> EditorFiles {
        self.person.editor()
    }
}
