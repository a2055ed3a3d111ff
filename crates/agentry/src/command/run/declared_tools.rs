//! The tools that a definition declares: made ready before the first request to a model, or the reason why
//! they are not.

use std::sync::Arc;
use std::time::Duration;

use agentry_compile::policy::Action;
use agentry_javascript::{CodePlace, ScriptBlock};
use agentry_runtime::approval::Approvals;
use agentry_runtime::commands::{CommandStarter, RefusedCommands};
use agentry_runtime::driver::guarded_tools::GuardedTools;
use agentry_runtime::driver::interfaces::{
    ApprovalReply, ApprovalRequest, Approver, OutputSink, RunTools as _,
};
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::event::CallJudgement;
use agentry_runtime::tool::BuiltInTool;
use agentry_runtime::tool::javascript::{
    JavaScriptTool, ScriptProblem, ToolScript, is_same, place,
};
use agentry_runtime::undo::BeforeImages;
use agentry_runtime::{ToolCall, tool};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::prepared_agent::{PreparedAgent, RunSurroundings, variable};
use super::session::{runtime, search};
use crate::command::sandbox::this_program;
use crate::output::{CliFailure, remark, said};

/// The time of a start-up tool.
const STARTUP: Duration = Duration::from_secs(10);
/// The time of a tool that the user calls.
const CALL: Duration = Duration::from_secs(30);

/// Evaluates the code of an agent and runs its start-up tool. Called after consent, before any request to
/// a model.
pub(crate) fn ready(
    ground: &PreparedAgent,
    person: &Arc<dyn Approver>,
) -> Result<Vec<JavaScriptTool>, CliFailure> {
    let tools = load(ground)?.map_err(|problem| unready(ground, &problem))?;
    let Some(startup) = &ground.agent.requirements.startup else { return Ok(tools) };
    let commands = Arc::new(RefusedCommands("a start-up tool runs no commands".to_owned()));
    let bench = ToolBench::new(ground, &tools, Arc::clone(person), commands, bench_directory()?)?;
    let why = match bench.call(&startup.value, json!({}), STARTUP)? {
        None => Some("there is no such tool".to_owned()),
        Some(BenchOutcome::Returned(result)) => startup_failure(&result),
        Some(BenchOutcome::Refused(why)) => Some(why),
        Some(BenchOutcome::Failed { message, place }) => Some(placed(ground, &message, place)),
    };
    drop(bench);
    let Some(why) = why.map(|why| ground.redactor.text(&why)) else { return Ok(tools) };
    let (path, tool) = (ground.path(), &startup.value);
    let message = format!(
        "`{path}` does not start: `{tool}` must succeed before it starts, and failed: {why}"
    );
    Err(CliFailure::new(message).refused())
}

/// Why the result of a start-up tool is a failure: `{ ok: false }` is one.
fn startup_failure(result: &Value) -> Option<String> {
    let failed = result.get("ok").is_some_and(|ok| *ok == Value::Bool(false));
    failed.then(|| format!("it returned {result}"))
}

/// Evaluates the code of an agent.
pub(crate) fn load(
    ground: &PreparedAgent,
) -> Result<Result<Vec<JavaScriptTool>, ScriptProblem>, CliFailure> {
    let Some(script) = script(ground)? else { return Ok(Ok(Vec::new())) };
    Ok(runtime()?.block_on(script.tools(&ground.judge)))
}

fn script(ground: &PreparedAgent) -> Result<Option<Arc<ToolScript>>, CliFailure> {
    let sources = &ground.compiled.sources;
    let block = |code: &agentry_compile::text::Spanned<String>| {
        let start = sources.start(code.span);
        // The first line of an indented fence begins after its indentation.
        let indentation = " ".repeat(start.column.saturating_sub(1));
        let line = u32::try_from(start.line).unwrap_or(1);
        ScriptBlock { line, text: indentation + &code.value }
    };
    let blocks: Vec<ScriptBlock> = ground.agent.tools.source.iter().map(block).collect();
    let first = ground.agent.tools.source.first();
    let path = first.map(|code| sources.path(code.span).to_owned()).unwrap_or_default();
    Ok(ToolScript::new(path, blocks, environment(ground), this_program()?))
}

/// The variables that the tools get: those that the commands of the agent get.
fn environment(ground: &PreparedAgent) -> Vec<(String, String)> {
    // A required variable that is denied closes the gate of a run, and stays out of every other call.
    let granted = ground.granted.iter().filter(|name| ground.variable(name) != Action::Deny);
    granted.filter_map(|name| Some((name.clone(), variable(name)?))).collect()
}

/// The failure for code that has no usable tools.
fn unready(ground: &PreparedAgent, problem: &ScriptProblem) -> CliFailure {
    let ScriptProblem { tool, message, place } = problem;
    let whose = tool.as_ref().map_or(String::new(), |tool| format!("the tool `{tool}`: "));
    let why = placed(ground, &format!("{whose}{message}"), *place);
    CliFailure::new(format!("`{}` does not start: {why}", ground.path())).refused()
}

/// A message with its place in the file.
pub(crate) fn placed(ground: &PreparedAgent, message: &str, place: Option<CodePlace>) -> String {
    match (place, code_path(ground)) {
        (Some(CodePlace { line, column }), Some(path)) => {
            format!("{message} ({path}:{line}:{column})")
        }
        _ => message.to_owned(),
    }
}

/// The path of the file with the code.
pub(crate) fn code_path(ground: &PreparedAgent) -> Option<&str> {
    let first = ground.agent.tools.source.first()?;
    Some(ground.compiled.sources.path(first.span))
}

/// The tools for a toolbox.
pub(crate) fn boxed(tools: Vec<JavaScriptTool>) -> Vec<Box<dyn BuiltInTool>> {
    tools.into_iter().map(|tool| -> Box<dyn BuiltInTool> { Box::new(tool) }).collect()
}

/// The tools of an agent under its policy, without a run.
pub(crate) struct ToolBench<'a> {
    tools: &'a [JavaScriptTool],
    pub(crate) guarded: GuardedTools,
    person: Arc<dyn Approver>,
    /// Long outputs and before-images; removed on drop.
    _directory: TempDir,
}

/// The result of a call.
pub(crate) enum BenchOutcome {
    Returned(Value),
    Failed { message: String, place: Option<CodePlace> },
    Refused(String),
}

impl<'a> ToolBench<'a> {
    pub(crate) fn new(
        ground: &PreparedAgent,
        tools: &'a [JavaScriptTool],
        person: Arc<dyn Approver>,
        commands: Arc<dyn CommandStarter>,
        directory: TempDir,
    ) -> Result<Self, CliFailure> {
        let images = BeforeImages::new(directory.path().join("images"));
        let images = images.map_err(|error| CliFailure::new(said(&error)))?;
        let guarded = ground.tools(RunSurroundings {
            approvals: Arc::<Approvals>::default(),
            commands,
            person: Arc::clone(&person),
            output: log_sink(),
            images: Some(images),
            directory: directory.path().to_owned(),
            can_ask: false,
            search: search(),
            declared: boxed(tools.to_vec()),
        });
        Ok(Self { tools, guarded, person, _directory: directory })
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

    /// Calls a tool with the usual time.
    pub(crate) fn call_by_user(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<Option<BenchOutcome>, CliFailure> {
        self.call(name, arguments, CALL)
    }

    async fn judged(&self, call: &ToolCall, time: Duration) -> BenchOutcome {
        if let Err(message) = self.guarded.fits(call) {
            return BenchOutcome::Failed { message, place: None };
        }
        let decision = self.guarded.judge(call);
        if decision.verdict == CallJudgement::Deny {
            return BenchOutcome::Refused(decision.reason);
        }
        if decision.verdict == CallJudgement::Ask {
            let asked = ApprovalRequest::Call { call, decision: &decision, preview: None };
            match self.person.decide(asked).await {
                ApprovalReply::Yes | ApprovalReply::AlwaysRules | ApprovalReply::AlwaysExact => {}
                ApprovalReply::No(_) | ApprovalReply::Park => {
                    let why = format!("it needs an approval: {}", decision.reason);
                    return BenchOutcome::Refused(why);
                }
            }
        }
        self.perform(call, time).await
    }

    async fn perform(&self, call: &ToolCall, time: Duration) -> BenchOutcome {
        let Some(tool) = self.tools.iter().find(|tool| tool.spec().name == call.tool) else {
            let tool::ToolOutput { text, failed } = self.guarded.run(call).await;
            return if failed {
                BenchOutcome::Failed { message: text, place: None }
            } else {
                BenchOutcome::Returned(Value::String(text))
            };
        };
        let host = match self.guarded.host(call) {
            Ok(host) => host,
            Err(why) => return BenchOutcome::Refused(why),
        };
        match tool.call(&call.arguments, time, &host).await {
            Ok(result) => BenchOutcome::Returned(result),
            Err(failure) => {
                BenchOutcome::Failed { message: failure.to_string(), place: place(&failure) }
            }
        }
    }
}

/// The directory of a bench, for what a run keeps in its own.
pub(crate) fn bench_directory() -> Result<TempDir, CliFailure> {
    tempfile::tempdir().map_err(|error| CliFailure::new(said(&error)))
}

/// Shows the log lines of tools.
fn log_sink() -> OutputSink {
    Arc::new(|output: RunOutput| {
        if let RunOutput::Piece { text, .. } = output {
            text.lines().for_each(remark);
        }
    })
}
