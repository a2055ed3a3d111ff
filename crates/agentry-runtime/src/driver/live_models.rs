//! Real models: the plan of a run answers the requests of its driver.

use super::interfaces::{DeltaSink, ModelPrompt, RunModels};
use crate::conversation::TokenUsage;
use crate::event::{ModelFailure, ModelFailureKind, ModelTurn};
use crate::provider::plan::ModelPlan;
use crate::tool::BoxedFuture;

impl RunModels for ModelPlan {
    fn name(&self, model: usize) -> String {
        let entry = self.entries.get(model);
        entry.map_or_else(String::new, |entry| format!("{}/{}", entry.provider, entry.model))
    }

    fn estimate(&self, model: usize, reading: TokenUsage) -> TokenUsage {
        let cost = self.entries.get(model).and_then(|entry| entry.cost(&reading));
        TokenUsage { cost, ..reading }
    }

    fn ask<'a>(
        &'a self,
        prompt: ModelPrompt<'a>,
        show: DeltaSink<'a>,
    ) -> BoxedFuture<'a, Result<ModelTurn, ModelFailure>> {
        Box::pin(async move {
            let ModelPrompt { model, system, messages, tools } = prompt;
            let entry = self.entries.get(model).ok_or_else(|| {
                ModelFailure::new(ModelFailureKind::Permanent, "there is no such model in the plan")
            })?;
            let answered = entry.ask(system, messages, tools, show).await?;
            let crate::provider::ModelAnswer { message, usage, truncated, .. } = answered;
            Ok(ModelTurn { message, usage, truncated, model })
        })
    }
}
