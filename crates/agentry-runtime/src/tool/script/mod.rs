//! Script tools: a function `run(ctx, inputs)` in a file of the agent. It runs in the workers of
//! `agentry-javascript` and reaches nothing but other tools, through `ctx`.
//!
//! ```text
//! call ─▶ worker: run(ctx, inputs) ─ctx.tool(name, args)─▶ broker: allowed_tools, maxToolCalls
//!                                                             │
//!   result ◀── maxOutputBytes ◀── policy, user, journal ◀── host.call
//! ```

mod broker;
mod snapshot;
mod tool_list;

use std::sync::Arc;
use std::time::Duration;

use agentry_compile::policy::{Judge, PathAnchors};
use agentry_compile::text::Spanned;
use agentry_javascript::{JobFailure, JobLimits, ModuleFile, WorkerPool};
use serde_json::{Value, json};

use super::declared_tool::{self, CallFailure, DeclaredKind, DeclaredTool, ToolOrigin};
use super::javascript::own_touches;
use super::{
    BoxedFuture, BuiltInTool, CallBounds, CallLocation, ToolHost, ToolOutput, ToolSpec, ToolTouch,
};
use crate::event::CallClass;
use broker::ScriptBroker;
pub use snapshot::FileSnapshot;
use tool_list::ScriptToolList;

/// Tools that change nothing, whatever their arguments are.
const READS: &[&str] = &["read", "grep", "glob", "list", "webfetch"];

/// A script tool.
pub struct DirectoryScript {
    spec: ToolSpec,
    /// Whether the definition types its inputs.
    is_typed: bool,
    origin: ToolOrigin,
    modules: Vec<ModuleFile>,
    /// The directory of the modules, for messages.
    root: String,
    bounds: Arc<CallBounds>,
    limits: CallLimits,
    touches: Vec<ToolTouch>,
    snapshot: Option<FileSnapshot>,
    needs_confirmation: bool,
    workers: Arc<WorkerPool>,
}

/// What a definition says about a script tool.
pub struct ScriptParts<'a> {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its inputs, if there is one.
    pub inputs: Option<Value>,
    /// Where it is declared.
    pub origin: ToolOrigin,
    /// Its files; the first one has `run`.
    pub modules: Vec<ModuleFile>,
    /// The directory of the files, for messages.
    pub root: String,
    /// The tools that it may call.
    pub allowed_tools: &'a [Spanned<String>],
    /// Its limits.
    pub limits: CallLimits,
    /// The files that it gets and writes, if its arguments name some.
    pub snapshot: Option<FileSnapshot>,
    /// Whether the user confirms each call.
    pub needs_confirmation: bool,
}

/// The limits of one call of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// The time.
    pub time: Duration,
    /// The most calls of other tools.
    pub calls: usize,
    /// The most bytes of its result, and of the output of each call that it makes.
    pub output: usize,
}

impl DirectoryScript {
    /// Creates the tool. Fails if its inputs are no JSON Schema.
    pub fn new(
        parts: ScriptParts<'_>,
        judge: &Judge,
        workers: Arc<WorkerPool>,
    ) -> Result<Self, String> {
        let ScriptParts { name, description, inputs, origin, modules, root, .. } = parts;
        let is_typed = inputs.is_some();
        let schema = match inputs {
            Some(schema) => declared_schema(&schema)?,
            None => json!({"type": "object", "properties": {"inputs": {"type": "object"}}}),
        };
        let allowed = ScriptToolList::new(parts.allowed_tools);
        let bounds = bounds(&name, &allowed, judge.places(), parts.limits.output);
        let touches = own_touches(judge, &name);
        let spec = ToolSpec { name, description, schema };
        let (limits, snapshot, bounds) = (parts.limits, parts.snapshot, Arc::new(bounds));
        Ok(Self {
            spec,
            is_typed,
            origin,
            modules,
            root,
            bounds,
            limits,
            touches,
            snapshot,
            needs_confirmation: parts.needs_confirmation,
            workers,
        })
    }

    async fn perform(
        &self,
        arguments: &Value,
        time: Duration,
        host: &dyn ToolHost,
    ) -> Result<Value, CallFailure> {
        let inputs = match &self.snapshot {
            Some(snapshot) => snapshot.taken(arguments, host).map_err(CallFailure::new)?,
            None => self.inputs(arguments).clone(),
        };
        let broker = ScriptBroker::new(host, &self.bounds, self.limits);
        let limits = JobLimits { time, most_output: self.limits.output };
        let ran = self.workers.run_script(&self.modules, &inputs, limits, &broker).await;
        let result = ran.map_err(|failure| self.placed(&failure))?;
        match &self.snapshot {
            Some(snapshot) => {
                snapshot.kept(arguments, result, host).await.map_err(CallFailure::new)
            }
            None => Ok(result),
        }
    }

    /// Returns the inputs of a call. Without a schema they may stand in a field of their own, as scripts of
    /// the format are called elsewhere.
    fn inputs<'a>(&self, arguments: &'a Value) -> &'a Value {
        let only = arguments.as_object().filter(|fields| fields.len() == 1 && !self.is_typed);
        let inputs = only.and_then(|fields| fields.get("inputs")).filter(|it| it.is_object());
        inputs.unwrap_or(arguments)
    }

    fn placed(&self, failure: &JobFailure) -> CallFailure {
        let message = failure.to_string();
        let at = match failure {
            JobFailure::Threw { place, file, .. } => file.as_ref().zip(*place),
            JobFailure::TimedOut(_) | JobFailure::Crashed(_) | JobFailure::Unavailable(_) => None,
        };
        let at = at.map(|(file, place)| (format!("{}{file}", self.root), place));
        CallFailure { message, at }
    }
}

/// The schema that a model gets.
fn declared_schema(schema: &Value) -> Result<Value, String> {
    super::javascript::expanded(schema).map_err(|why| format!("its inputs: {why}"))
}

fn bounds(
    name: &str,
    allowed: &ScriptToolList,
    places: &PathAnchors,
    most_output: usize,
) -> CallBounds {
    let (tools, layer) = (allowed.names.clone(), allowed.layer(places));
    CallBounds { of: name.to_owned(), tools, layer, most_output }
}

impl BuiltInTool for DirectoryScript {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    /// A script changes only what the tools that it calls change.
    fn class(&self, arguments: &Value) -> CallClass {
        if self.snapshot.as_ref().is_some_and(|snapshot| snapshot.writes(arguments)) {
            return CallClass::Write;
        }
        let is_read = |name: &String| READS.contains(&name.as_str());
        if self.bounds.tools.iter().all(is_read) { CallClass::Read } else { CallClass::External }
    }

    fn touches(&self, arguments: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let mut touches = self.touches.clone();
        if let Some(snapshot) = &self.snapshot {
            touches.extend(snapshot.touches(arguments, place)?);
        }
        Ok(touches)
    }

    fn needs_confirmation(&self) -> bool {
        self.needs_confirmation
    }

    fn run<'a>(&'a self, arguments: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move {
            declared_tool::for_model(self.perform(&arguments, self.limits.time, host).await, host)
        })
    }
}

impl DeclaredTool for DirectoryScript {
    fn kind(&self) -> DeclaredKind {
        DeclaredKind::Script
    }

    fn origin(&self) -> Option<ToolOrigin> {
        Some(self.origin.clone())
    }

    fn policy_subjects(&self) -> Vec<ToolTouch> {
        self.touches.clone()
    }

    fn time(&self) -> Duration {
        self.limits.time
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Value,
        time: Duration,
        host: &'a dyn ToolHost,
    ) -> BoxedFuture<'a, Result<Value, CallFailure>> {
        Box::pin(self.perform(arguments, time.min(self.limits.time), host))
    }
}
