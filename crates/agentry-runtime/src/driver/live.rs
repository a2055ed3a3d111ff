//! Real models: those of a plan.

use super::parts::{Models, Prompt, Show};
use crate::conversation::Usage;
use crate::event::{Failure, FailureKind, Turn};
use crate::provider::plan::Plan;
use crate::tool::Doing;

impl Models for Plan {
    fn name(&self, model: usize) -> String {
        let entry = self.entries.get(model);
        entry.map_or_else(String::new, |entry| format!("{}/{}", entry.provider, entry.model))
    }

    fn estimate(&self, model: usize, reading: Usage) -> Usage {
        let cost = self.entries.get(model).and_then(|entry| entry.cost(&reading));
        Usage { cost, ..reading }
    }

    fn ask<'a>(&'a self, prompt: Prompt<'a>, show: Show<'a>) -> Doing<'a, Result<Turn, Failure>> {
        Box::pin(async move {
            let Prompt { model, system, messages, tools } = prompt;
            let entry = self.entries.get(model).ok_or_else(|| {
                Failure::new(FailureKind::Permanent, "there is no such model in the plan")
            })?;
            let answered = entry.ask(system, messages, tools, show).await?;
            let crate::provider::Answered { message, usage, truncated, .. } = answered;
            Ok(Turn { message, usage, truncated, model })
        })
    }
}
