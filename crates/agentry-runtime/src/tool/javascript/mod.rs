//! The JavaScript tools of a definition. Their code runs in the workers of `agentry-javascript`; what they
//! ask for is judged here, as a call of a built-in tool is.

mod broker;
pub(super) mod scheme;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentry_compile::model::{Agent, JavaScriptFunction};
use agentry_compile::native_tool;
use agentry_compile::policy::{Action, Judge, LayerSource, PatternSubject, Section};
use agentry_javascript::{
    CodePlace, DescribedTool, JobFailure, JobLimits, ScriptBlock, ToolJob, WorkerPool,
};
use serde_json::Value;

use super::declared_tool::{CallFailure, DeclaredKind, DeclaredTool, ToolOrigin, for_model};
use super::{
    BoxedFuture, BuiltInTool, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch, output_cap,
};
use crate::event::CallClass;
use broker::{RunBroker, SilentBroker};
pub(super) use scheme::expanded;

/// The time to evaluate the code.
const EVALUATION: Duration = Duration::from_secs(10);
/// The most tools that the code may return.
const MOST_TOOLS: usize = 128;

/// The code of a definition, and what its tools get.
pub struct ToolScript {
    /// The path of the file that has the code, as the user wrote it.
    pub path: String,
    /// The code, block by block, with its lines in the file.
    pub blocks: Vec<ScriptBlock>,
    /// The variables that the tools may read.
    pub env: Vec<(String, String)>,
    /// The time of a call.
    pub time: Duration,
    /// The workers of this agent.
    pub workers: Arc<WorkerPool>,
}

/// A tool of a definition.
#[derive(Clone)]
pub struct JavaScriptTool {
    script: Arc<ToolScript>,
    spec: ToolSpec,
    /// The line of its block.
    line: u32,
    /// What the policy is asked about a call; nothing if no layer has rules for tools.
    touches: Vec<ToolTouch>,
}

/// Why the tools of a definition cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProblem {
    /// The tool, if it is about one.
    pub tool: Option<String>,
    /// What is wrong.
    pub message: String,
    /// Where in the file.
    pub place: Option<CodePlace>,
}

impl ToolScript {
    /// Creates the script of an agent. Returns `None` if it has no code.
    pub fn new(
        path: String,
        blocks: Vec<ScriptBlock>,
        env: Vec<(String, String)>,
        time: Duration,
        program: PathBuf,
    ) -> Option<Arc<Self>> {
        let workers = WorkerPool::new(program);
        (!blocks.is_empty()).then(|| Arc::new(Self { path, blocks, env, time, workers }))
    }

    /// Evaluates the code and returns the tools that it returns, and what is wrong with the others. Fails if there
    /// are no tools at all, because the code itself fails.
    pub async fn tools(
        self: &Arc<Self>,
        judge: &Judge,
    ) -> Result<(Vec<JavaScriptTool>, Vec<ScriptProblem>), ScriptProblem> {
        let limits = JobLimits { time: EVALUATION, ..JobLimits::default() };
        let described = self.workers.describe(&self.blocks, limits, &SilentBroker).await;
        let described = described.map_err(|failure| ScriptProblem {
            tool: None,
            place: place(&failure),
            message: failure.to_string(),
        })?;
        if described.len() > MOST_TOOLS {
            let message =
                format!("{} tools are returned; at most {MOST_TOOLS} are", described.len());
            return Err(ScriptProblem { tool: None, message, place: None });
        }
        let mut tools: Vec<JavaScriptTool> = Vec::new();
        let mut problems = Vec::new();
        for described in &described {
            let line = self.blocks.get(described.block).map_or(1, |block| block.line);
            let problem = |message| ScriptProblem {
                tool: Some(described.key.clone()),
                message,
                place: Some(CodePlace { line, column: 1 }),
            };
            let other = tools.iter().find(|tool| is_same(&tool.spec.name, &described.key));
            if other.is_some() {
                // Either of the two could be the tool, so the whole code is refused.
                return Err(problem(format!("there are two tools `{}`", described.key)));
            }
            match specification(described) {
                Ok(spec) => {
                    let touches = own_touches(judge, &spec.name);
                    tools.push(JavaScriptTool { script: Arc::clone(self), spec, line, touches });
                }
                Err(message) => problems.push(problem(message)),
            }
        }
        Ok((tools, problems))
    }
}

/// Returns whether two names of tools are equal: their case does not count.
pub fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Returns the tools as far as they are known without running any code, for replays. They cannot be run.
pub fn replayed_tools(agent: &Agent, judge: &Judge) -> Vec<Arc<dyn BuiltInTool>> {
    let tool = |function: &JavaScriptFunction| -> Arc<dyn BuiltInTool> {
        let JavaScriptFunction { name, description, parameters } = function;
        let description = description.as_ref().map(|it| it.value.clone()).unwrap_or_default();
        let schema = parameters.as_ref().map(|it| it.value.to_json()).unwrap_or_default();
        let schema = scheme::expanded(&schema).unwrap_or(schema);
        let spec = ToolSpec { name: name.clone(), description, schema };
        Arc::new(ReplayedTool { touches: own_touches(judge, name), spec })
    };
    agent.tools.functions.iter().map(|function| tool(&function.value)).collect()
}

/// A tool in a replay.
struct ReplayedTool {
    spec: ToolSpec,
    touches: Vec<ToolTouch>,
}

impl BuiltInTool for ReplayedTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::External
    }

    fn touches(&self, _: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        Ok(self.touches.clone())
    }

    fn run<'a>(&'a self, _: Value, _: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(ToolOutput::failed("nothing is executed in a replay")))
    }
}

/// Checks what the code returned for one tool.
fn specification(described: &DescribedTool) -> Result<ToolSpec, String> {
    let DescribedTool { key, has_function, scheme, .. } = described;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if key.is_empty() || key.len() > 64 || !key.chars().all(is_name) {
        return Err("a name has 1 to 64 letters, digits, `_` and `-`".to_owned());
    }
    // An alias of a built-in tool is a free name.
    if let Some(native) = native_tool(key).filter(|native| is_same(native, key)) {
        return Err(format!("`{native}` is the name of a built-in tool"));
    }
    if !has_function {
        return Err("`fn` is not a function".to_owned());
    }
    let scheme = scheme.as_object().ok_or("`scheme` is not an object")?;
    let name = scheme.get("name").and_then(Value::as_str).ok_or("`scheme.name` is missing")?;
    if !is_same(name, key) {
        return Err(format!("`scheme.name` is `{}`", output_cap::start(name, 100)));
    }
    let description = scheme.get("description").and_then(Value::as_str);
    let description = description.ok_or("`scheme.description` is missing")?;
    let parameters = scheme.get("parameters").ok_or("`scheme.parameters` is missing")?;
    let mut parameters_schema =
        scheme::expanded(parameters).map_err(|why| format!("`scheme.parameters`: {why}"))?;
    // Both may be computed, so that no check of the file has seen them.
    let description = agentry_mcp::clean(output_cap::start(description, 4_000)).text;
    agentry_mcp::clean_value(&mut parameters_schema)
        .map_err(|why| format!("`scheme.parameters`: {why}"))?;
    Ok(ToolSpec { name: key.clone(), description, schema: parameters_schema })
}

/// Returns what the policy is asked about a call. A definition's own tools are allowed where no layer has
/// rules for tools: they can only do what the other sections permit.
pub fn own_touches(judge: &Judge, name: &str) -> Vec<ToolTouch> {
    let spoken = judge.rules(Section::Tool).any(|(source, _)| source != LayerSource::Default);
    if !spoken {
        return Vec::new();
    }
    let folded = name.to_lowercase();
    // The case of a name does not count, so a rule against another spelling of it holds too.
    let is_restricted = judge.rules(Section::Tool).any(|(_, rules)| {
        let rule =
            rules.rules.iter().find(|rule| rule.pattern.matches(PatternSubject::Text(&folded)));
        rule.is_some_and(|rule| rule.action != Action::Allow)
    });
    let names =
        [name.to_owned()].into_iter().chain((is_restricted && folded != name).then_some(folded));
    names.map(|subject| ToolTouch { section: Section::Tool, subject }).collect()
}

impl JavaScriptTool {
    /// Sets the line that `agentry tools` shows; the line of the block, if none is set.
    pub fn set_line(&mut self, line: u32) {
        self.line = line;
    }

    async fn result(
        &self,
        arguments: &Value,
        time: Duration,
        host: &dyn ToolHost,
    ) -> Result<Value, CallFailure> {
        let script = &self.script;
        let broker = RunBroker::new(host, &self.spec.name, time);
        let job = ToolJob { tool: &self.spec.name, arguments, env: &script.env };
        let limits = JobLimits { time, ..JobLimits::default() };
        let result = script.workers.call(&script.blocks, &job, limits, &broker).await;
        result.map_err(|failure| CallFailure {
            message: failure.to_string(),
            at: place(&failure).map(|place| (script.path.clone(), place)),
        })
    }
}

impl BuiltInTool for JavaScriptTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    /// Its requests may change anything.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::External
    }

    fn touches(&self, _: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        Ok(self.touches.clone())
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(
            async move { for_model(self.result(&arguments, self.script.time, host).await, host) },
        )
    }
}

impl DeclaredTool for JavaScriptTool {
    fn kind(&self) -> DeclaredKind {
        DeclaredKind::JavaScript
    }

    fn origin(&self) -> Option<ToolOrigin> {
        let line = usize::try_from(self.line).unwrap_or(1);
        Some(ToolOrigin { path: self.script.path.clone(), line })
    }

    fn policy_subjects(&self) -> Vec<ToolTouch> {
        self.touches.clone()
    }

    fn time(&self) -> Duration {
        self.script.time
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Value,
        time: Duration,
        host: &'a dyn ToolHost,
    ) -> BoxedFuture<'a, Result<Value, CallFailure>> {
        Box::pin(self.result(arguments, time, host))
    }
}

/// Returns where a failure happened.
fn place(failure: &JobFailure) -> Option<CodePlace> {
    match failure {
        JobFailure::Threw { place, .. } => *place,
        JobFailure::TimedOut(_) | JobFailure::Crashed(_) | JobFailure::Unavailable(_) => None,
    }
}

#[cfg(test)]
mod tests;
