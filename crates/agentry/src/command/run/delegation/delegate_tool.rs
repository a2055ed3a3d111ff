//! `delegate`: lets another agent work, with a prompt, or with the input of a function that it exposes.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use agentry_compile::policy::{Action, Judge, PatternSubject, Section};
use agentry_runtime::event::CallClass;
use agentry_runtime::function::AgentFunction;
use agentry_runtime::tool::javascript::is_same;
use agentry_runtime::tool::{
    BoxedFuture, BuiltInTool, CallLocation, DeclaredKind, DeclaredTool, ToolHost, ToolOrigin,
    ToolOutput, ToolSpec, ToolTouch,
};
use serde_json::{Value, json};

use super::child_run::{self, DelegateJob, DelegateTask};
use super::delegate_list::{self, KnownDelegate};
use super::readiness::{DelegationTerms, obstacle};
use super::scope::DelegationScope;
use crate::command::run::declared_tools::MissingTool;
use crate::command::run::pipeline;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::output::{CliFailure, cut};

/// The most agents that the description lists.
const MOST_LISTED: usize = 50;
/// The most characters of the description of one agent.
const MOST_CHARACTERS: usize = 200;

/// Lets other agents work.
pub(crate) struct DelegateTool {
    known: Vec<KnownDelegate>,
    judge: Judge,
    origin: Option<ToolOrigin>,
    /// Set when the run begins.
    scope: OnceLock<Arc<DelegationScope>>,
}

/// The tool for the agents that a run can delegate to, and the declared ones that cannot be used.
pub(crate) fn gather(
    ground: &PreparedAgent,
    without: &[String],
) -> (Option<Arc<DelegateTool>>, Vec<MissingTool>) {
    let mut missing = Vec::new();
    let mut lacks = |name: &str, reason: String, is_optional: bool| {
        let (name, kind) = (name.to_owned(), DeclaredKind::Delegate);
        missing.push(MissingTool { name, kind, reason, is_optional });
    };
    let mut known = Vec::new();
    for delegate in delegate_list::declared(ground) {
        let is_out = without.iter().any(|out| is_same(out, &delegate.name));
        let problem = match &delegate.problem {
            None if is_out => Some("left out by `--without`".to_owned()),
            None => obstacle(ground, &delegate),
            problem => problem.clone(),
        };
        match problem {
            Some(why) => lacks(&delegate.name, why, is_out),
            None => known.push(delegate),
        }
    }
    let is_new = |it: &KnownDelegate| !known.iter().any(|other| other.name == it.name);
    let mut others: Vec<_> =
        delegate_list::of_workspace(ground).into_iter().filter(is_new).collect();
    for other in others.iter_mut().filter(|other| other.is_named) {
        other.problem = other.problem.take().or_else(|| obstacle(ground, other));
        if let Some(why) = &other.problem {
            // Only a rule names it: the run continues, and the prompt reports it as missing.
            lacks(&other.name, why.clone(), true);
        }
    }
    known.extend(others);
    let sources = &ground.compiled.sources;
    let origin = ground.agent.agents.iter().flatten().next().map(|first| ToolOrigin {
        path: sources.path(first.span).to_owned(),
        line: sources.start(first.span).line,
    });
    let judge = ground.judge.clone();
    let tool = DelegateTool { known, judge, origin, scope: OnceLock::new() };
    for (at, call) in pipeline::calls(&ground.agent).iter().enumerate() {
        if let Err(why) = tool.find(call) {
            lacks(call, format!("step {} of `pipeline`: {why}", at + 1), false);
        }
    }
    ((!tool.known.is_empty()).then(|| Arc::new(tool)), missing)
}

impl DelegateTool {
    /// Connects the tool with its run.
    pub(crate) fn attach(&self, scope: Arc<DelegationScope>) {
        let _ = self.scope.set(scope);
    }

    /// Refuses a run whose declared delegates could not start: before the first request to a model.
    pub(crate) fn check(
        &self,
        ground: &PreparedAgent,
        terms: &DelegationTerms,
    ) -> Result<(), CliFailure> {
        for delegate in self.needed(ground) {
            let Err(failure) = terms.check(ground, delegate) else { continue };
            let (path, name, why) = (ground.path(), &delegate.name, failure.message);
            let message = format!("`{path}` does not start: delegate `{name}` is not ready: {why}");
            let hint = format!("`--without {name}` runs it without that");
            return Err(CliFailure::new(message).details(failure.details).hint(hint).refused());
        }
        Ok(())
    }

    /// The declared delegates that could not start in a run, for a list of tools.
    pub(crate) fn unready(&self, ground: &PreparedAgent) -> Vec<MissingTool> {
        let missing = |(name, reason): (&str, String)| MissingTool {
            name: name.to_owned(),
            kind: DeclaredKind::Delegate,
            reason,
            is_optional: false,
        };
        DelegationTerms::unready(ground, self.needed(ground)).into_iter().map(missing).collect()
    }

    /// The agent with a name, and its function if the name has one: `helper`, `helper.find`.
    fn find(&self, name: &str) -> Result<(&KnownDelegate, Option<&AgentFunction>), String> {
        let agent = |name: &str| self.known.iter().find(|known| known.name == name);
        if let Some(found) = agent(name) {
            return Ok((found, None));
        }
        let (of, function) = name.rsplit_once('.').unwrap_or((name, ""));
        let Some(found) = agent(of) else {
            let names: Vec<_> = self.usable().map(|it| format!("`{}`", it.name)).collect();
            return Err(format!(
                "there is no agent `{}`; there are {}",
                cut(of, 100),
                names.join(", ")
            ));
        };
        match found.functions.iter().find(|it| it.name == function) {
            Some(function) => Ok((found, Some(function))),
            None => {
                Err(format!("`{of}` has no function `{}`; {}", cut(function, 100), offered(found)))
            }
        }
    }

    /// The agents without which the run does not start: those of `agents`, and those that a step of `pipeline` calls.
    fn needed(&self, ground: &PreparedAgent) -> impl Iterator<Item = &KnownDelegate> {
        let calls = pipeline::calls(&ground.agent);
        let called = calls.iter().filter_map(|call| Some(self.find(call).ok()?.0.name.clone()));
        let called: Vec<String> = called.collect();
        self.known.iter().filter(move |known| known.is_declared || called.contains(&known.name))
    }

    fn usable(&self) -> impl Iterator<Item = &KnownDelegate> {
        self.known.iter().filter(|known| known.problem.is_none()).take(MOST_LISTED)
    }

    /// What a call asks for.
    fn task(&self, given: &Value) -> Result<DelegateTask, String> {
        // The schema was checked before.
        let text = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
        let (prompt, input) = (text("prompt"), given.get("input").cloned());
        let (delegate, function) = self.find(&text("agent").unwrap_or_default())?;
        if let Some(why) = &delegate.problem {
            return Err(format!("`{}` cannot be used: {why}", delegate.name));
        }
        let only = || match delegate.functions.as_slice() {
            [only] => Ok(only),
            _ => Err(format!("`input` needs the name of a function: {}", offered(delegate))),
        };
        let job = match (function, prompt, input) {
            (None, Some(prompt), None) => DelegateJob::Prompt(prompt),
            (Some(function), Some(prompt), None) => {
                let input = function.input_of(&prompt).map_err(|why| misfit(function, &why))?;
                DelegateJob::Call(Box::new(function.clone()), input)
            }
            (function, None, Some(input)) => {
                let function = function.map_or_else(only, Ok)?;
                function.check_input(&input).map_err(|why| misfit(function, &why))?;
                DelegateJob::Call(Box::new(function.clone()), input)
            }
            (_, None, None) | (_, Some(_), Some(_)) => {
                return Err("pass either `prompt`, or `input` for a function".to_owned());
            }
        };
        Ok(DelegateTask { delegate: delegate.clone(), job })
    }

    /// What the policy is asked about an agent: its name here, and its own name where a rule names that.
    fn subjects(&self, delegate: &KnownDelegate) -> Vec<ToolTouch> {
        let own = delegate.own_name.as_str();
        let is_restricted = self.judge.rules(Section::Delegate).any(|(_, rules)| {
            let rule = rules.rules.iter().find(|it| it.pattern.matches(PatternSubject::Text(own)));
            rule.is_some_and(|rule| rule.action != Action::Allow)
        });
        let own = (is_restricted && own != delegate.name).then_some(own);
        let names = [delegate.name.as_str()].into_iter().chain(own);
        let touch = |name: &str| ToolTouch { section: Section::Delegate, subject: name.to_owned() };
        names.map(touch).collect()
    }
}

fn misfit(function: &AgentFunction, why: &str) -> String {
    format!("the input of `{}` does not fit: {why}", function.signature)
}

/// The functions of an agent, in a few words.
fn offered(delegate: &KnownDelegate) -> String {
    let names: Vec<_> = delegate.functions.iter().map(|it| format!("`{}`", it.signature)).collect();
    if names.is_empty() {
        "it exposes none".to_owned()
    } else {
        format!("it exposes {}", names.join(", "))
    }
}

impl BuiltInTool for DelegateTool {
    fn spec(&self) -> ToolSpec {
        let mut description = "Lets another agent work, and returns its answer. It knows nothing of this \
            conversation, so say everything that it needs. Several calls in one answer run in parallel. \
            For a function, name it as `agent.function` and pass `input`.\n\nAgents:"
            .to_owned();
        for known in self.usable() {
            let role = known.role.map_or(String::new(), |role| format!(" ({role})"));
            let about = cut(&known.description, MOST_CHARACTERS);
            let _ = write!(description, "\n- {}{role}: {about}", known.name);
            for function in &known.functions {
                let about = function.description.as_deref().unwrap_or_default();
                let about = cut(about, MOST_CHARACTERS);
                let _ = write!(description, "\n  - {}.{}: {about}", known.name, function.signature);
            }
        }
        ToolSpec {
            name: "delegate".to_owned(),
            description,
            schema: json!({
                "type": "object",
                "properties": {
                    "agent": { "type": "string", "minLength": 1, "maxLength": 200 },
                    "prompt": { "type": "string", "minLength": 1, "maxLength": 200_000 },
                    "input": { "type": "object" },
                },
                "required": ["agent"],
                "additionalProperties": false,
            }),
        }
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Delegate
    }

    fn touches(&self, given: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let DelegateTask { delegate, .. } = self.task(given)?;
        // A circle is refused before the user is asked about it.
        match self.scope.get().and_then(|scope| scope.refusal(&delegate)) {
            Some(why) => Err(why),
            None => Ok(self.subjects(&delegate)),
        }
    }

    fn run<'a>(&'a self, given: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move {
            let task = match self.task(&given) {
                Ok(task) => task,
                Err(why) => return ToolOutput::failed(why),
            };
            let (Some(scope), Some(call)) = (self.scope.get(), host.call_id()) else {
                return ToolOutput::failed("agents work only in a run");
            };
            child_run::work(scope, &task, call).await
        })
    }
}

impl DeclaredTool for DelegateTool {
    fn kind(&self) -> DeclaredKind {
        DeclaredKind::Delegate
    }

    fn origin(&self) -> Option<ToolOrigin> {
        self.origin.clone()
    }

    fn policy_subjects(&self) -> Vec<ToolTouch> {
        self.usable().flat_map(|known| self.subjects(known)).collect()
    }
}
