//! The tools of an agent under its policy, without a run: for start-up tools and for `agentry tools`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentry_runtime::ToolCall;
use agentry_runtime::approval::Approvals;
use agentry_runtime::commands::CommandStarter;
use agentry_runtime::driver::guarded_tools::GuardedTools;
use agentry_runtime::driver::interfaces::{
    ApprovalReply, ApprovalRequest, Approver, OutputSink, RunTools as _,
};
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::event::CallJudgement;
use agentry_runtime::tool::javascript::is_same;
use agentry_runtime::tool::{CallFailure, DeclaredTool, TIME, ToolOutput};
use agentry_runtime::undo::BeforeImages;
use serde_json::Value;
use tempfile::TempDir;

use super::declared_tools::built_in;
use super::prepared_agent::{PreparedAgent, RunSurroundings};
use super::session::{runtime, search};
use crate::output::{CliFailure, error_text, remark};

/// The tools of an agent under its policy, without a run.
pub(crate) struct ToolBench {
    tools: Vec<Arc<dyn DeclaredTool>>,
    pub(crate) guarded: GuardedTools,
    person: Arc<dyn Approver>,
    /// Long outputs and before-images; removed on drop.
    directory: TempDir,
}

/// Where a run keeps what results refer to, in its directory.
const OUTPUTS: &str = "outputs";

/// The result of a call.
pub(crate) enum BenchOutcome {
    Returned(Value),
    Failed(CallFailure),
    Refused(String),
}

impl ToolBench {
    pub(crate) fn new(
        ground: &PreparedAgent,
        tools: &[Arc<dyn DeclaredTool>],
        person: Arc<dyn Approver>,
        commands: Arc<dyn CommandStarter>,
        directory: TempDir,
    ) -> Result<Self, CliFailure> {
        let images = BeforeImages::new(directory.path().join("images"));
        let images = images.map_err(|error| CliFailure::new(error_text(&error)))?;
        let guarded = ground.tools(RunSurroundings {
            approvals: Arc::<Approvals>::default(),
            commands,
            person: Arc::clone(&person),
            output: log_sink(),
            images: Some(images),
            directory: directory.path().to_owned(),
            can_ask: false,
            search: search(),
            declared: built_in(tools),
        });
        Ok(Self { tools: tools.to_vec(), guarded, person, directory })
    }

    /// Calls a tool by its name, in any case. Returns `None` if there is no such tool.
    pub(crate) fn call(
        &self,
        name: &str,
        arguments: Value,
        time: Duration,
    ) -> Result<Option<BenchOutcome>, CliFailure> {
        let spec = self.guarded.specs().iter().find(|spec| is_same(&spec.name, name));
        let Some(spec) = spec else { return Ok(None) };
        let (id, tool) = ("call".to_owned(), spec.name.clone());
        let call = ToolCall { id, tool, arguments, opaque: None };
        Ok(Some(runtime()?.block_on(self.judged(&call, time))))
    }

    /// Calls a tool with its own time.
    pub(crate) fn call_by_user(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<Option<BenchOutcome>, CliFailure> {
        let own = self.tools.iter().find(|tool| is_same(&tool.spec().name, name));
        self.call(name, arguments, own.map_or(TIME, |tool| tool.time()))
    }

    /// Keeps the files that a result refers to, such as pictures; returns their directory if there are any.
    pub(crate) fn keep_outputs(self) -> Option<PathBuf> {
        let outputs = self.directory.path().join(OUTPUTS);
        outputs.is_dir().then(|| {
            let _ = self.directory.keep();
            outputs
        })
    }

    async fn judged(&self, call: &ToolCall, time: Duration) -> BenchOutcome {
        if let Err(message) = self.guarded.fits(call) {
            return BenchOutcome::Failed(CallFailure::new(message));
        }
        // Nothing is remembered here, so nothing wider is offered.
        let decision = Approvals::default().weighed(self.guarded.judge(call));
        if decision.verdict == CallJudgement::Deny {
            return BenchOutcome::Refused(decision.reason);
        }
        if decision.verdict == CallJudgement::Ask {
            let asked = ApprovalRequest::Call { call, decision: &decision, preview: None };
            match self.person.decide(asked).await {
                ApprovalReply::No(_) | ApprovalReply::Park => {
                    let why = format!("it needs an approval: {}", decision.reason);
                    return BenchOutcome::Refused(why);
                }
                _ => {}
            }
        }
        self.perform(call, time).await
    }

    async fn perform(&self, call: &ToolCall, time: Duration) -> BenchOutcome {
        let Some(tool) = self.tools.iter().find(|tool| tool.spec().name == call.tool) else {
            let ToolOutput { text, failed, .. } = self.guarded.run(call).await;
            return if failed {
                BenchOutcome::Failed(CallFailure::new(text))
            } else {
                BenchOutcome::Returned(Value::String(text))
            };
        };
        let host = match self.guarded.host(call) {
            Ok(host) => host,
            Err(why) => return BenchOutcome::Refused(why),
        };
        let result = tool.call(&call.arguments, time, &host).await;
        result.map_or_else(BenchOutcome::Failed, BenchOutcome::Returned)
    }
}

/// The directory of a bench, for what a run keeps in its own.
pub(crate) fn bench_directory() -> Result<TempDir, CliFailure> {
    tempfile::tempdir().map_err(|error| CliFailure::new(error_text(&error)))
}

/// Shows the log lines of tools.
fn log_sink() -> OutputSink {
    Arc::new(|output: RunOutput| {
        if let RunOutput::Piece { text, .. } = output {
            text.lines().for_each(remark);
        }
    })
}
