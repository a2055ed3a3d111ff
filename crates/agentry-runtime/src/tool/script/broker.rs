//! Answers the requests of a running script: calls of other tools, and nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agentry_javascript::{BrokerFuture, FetchHead, FetchRequest, InnerOutput, JobBroker, LogLevel};
use serde_json::Value;

use super::super::{CallBounds, InnerCall, ToolHost, ToolOutput, declared_tool, output_cap};
use super::CallLimits;

/// Answers for one call in a run.
pub(super) struct ScriptBroker<'a> {
    host: &'a dyn ToolHost,
    bounds: &'a Arc<CallBounds>,
    limits: CallLimits,
    calls: AtomicUsize,
}

impl<'a> ScriptBroker<'a> {
    pub(super) fn new(
        host: &'a dyn ToolHost,
        bounds: &'a Arc<CallBounds>,
        limits: CallLimits,
    ) -> Self {
        Self { host, bounds, limits, calls: AtomicUsize::new(0) }
    }

    async fn make(&self, tool: String, arguments: Value) -> Result<InnerOutput, String> {
        let most = self.limits.calls;
        if self.calls.fetch_add(1, Ordering::Relaxed) >= most {
            return Err(format!("refused: it makes at most {most} calls (`maxToolCalls`)"));
        }
        let call = InnerCall { tool: tool.clone(), arguments, bounds: self.bounds };
        let ToolOutput { text, failed, .. } = self.host.call(call).await?;
        let output = output_cap::start(&text, self.limits.output).to_owned();
        let is_cut = output.len() < text.len();
        Ok(InnerOutput { name: tool, output, failed, is_cut })
    }
}

impl JobBroker for ScriptBroker<'_> {
    fn fetch(&self, _: FetchRequest, _: Vec<u8>) -> BrokerFuture<'_, Result<FetchHead, String>> {
        let refused = "refused: a script fetches nothing itself; call `webfetch`";
        Box::pin(std::future::ready(Err(refused.to_owned())))
    }

    fn read(&self, _: u64) -> BrokerFuture<'_, Result<Option<Vec<u8>>, String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn close(&self, _: u64) {}

    fn call(
        &self,
        tool: String,
        arguments: Value,
    ) -> BrokerFuture<'_, Result<InnerOutput, String>> {
        Box::pin(self.make(tool, arguments))
    }

    fn log(&self, level: LogLevel, text: &str) {
        declared_tool::show_log(self.host, level, text);
    }

    fn paused(&self) -> Duration {
        self.host.waited()
    }
}
