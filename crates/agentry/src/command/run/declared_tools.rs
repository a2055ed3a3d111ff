//! The tools that a definition declares: made ready before the first request to a model, or the reason why
//! they are not. One function gathers each kind.

use std::sync::Arc;
use std::time::Duration;

use agentry_compile::formats::agentry_block;
use agentry_compile::policy::Action;
use agentry_compile::text::{Data, Spanned};
use agentry_javascript::{CodePlace, ScriptBlock};
use agentry_runtime::commands::{CommandStarter, RefusedCommands};
use agentry_runtime::driver::interfaces::Approver;
use agentry_runtime::tool::javascript::{JavaScriptTool, ScriptProblem, ToolScript, is_same};
use agentry_runtime::tool::mcp::ServerPrompt;
use agentry_runtime::tool::{BuiltInTool, DeclaredKind, DeclaredTool, TIME, ToolOrigin};
use serde_json::{Value, json};

use super::delegation::{self, DelegateTool, DelegationTerms};
use super::home_tools::home_tools;
use super::mcp_servers::servers;
use super::memory;
use super::prepared_agent::{PreparedAgent, variable};
use super::script_tools::scripts;
use super::session::runtime;
use super::skills;
use super::tool_bench::{BenchOutcome, ToolBench, bench_directory};
use crate::command::sandbox::this_program;
use crate::command::suggestion::one_of;
use crate::output::CliFailure;

/// The longest time of a tool of the agent file, in milliseconds.
const MOST_TOOL_TIME: u64 = 600_000;
/// The time of a start-up tool.
const STARTUP: Duration = Duration::from_secs(10);

/// Everything that a definition declares for a run.
#[derive(Default)]
pub(crate) struct DeclaredTools {
    /// What is ready, in the order in which a model sees it.
    pub(crate) tools: Vec<Arc<dyn DeclaredTool>>,
    /// What is not.
    pub(crate) missing: Vec<MissingTool>,
    /// What the prompt says about them, beside what is missing.
    pub(crate) notes: Vec<String>,
    /// The prompts of servers, for conversations.
    pub(crate) prompts: Vec<Arc<ServerPrompt>>,
    /// The tool for other agents, which is one of the tools, until it is attached to a run.
    pub(crate) delegates: Option<Arc<DelegateTool>>,
}

/// What decides about the tools beside the definition.
pub(crate) struct GatherTerms<'a> {
    /// What the user does without, by name.
    pub(crate) without: &'a [String],
    /// Starts the programs of servers.
    pub(crate) commands: Arc<dyn CommandStarter>,
    /// Answers for the user.
    pub(crate) person: Arc<dyn Approver>,
    /// Whether a user is present.
    pub(crate) can_ask: bool,
    /// Whether the user accepted changes of servers on the command line.
    pub(crate) accepts_changes: bool,
}

/// Something that the definition declares and a run cannot use.
#[derive(Clone)]
pub(crate) struct MissingTool {
    pub(crate) name: String,
    pub(crate) kind: DeclaredKind,
    pub(crate) reason: String,
    /// Whether the definition says that a run can do without it.
    pub(crate) is_optional: bool,
}

impl DeclaredTools {
    /// Makes everything ready that the definition declares, except what the user does without. Called
    /// after consent, because it runs code of the agent.
    pub(crate) fn gather(
        ground: &PreparedAgent,
        terms: &GatherTerms<'_>,
    ) -> Result<Self, CliFailure> {
        let mut gathered = javascript(ground)?;
        gathered.join(scripts(ground)?);
        gathered.join(servers(ground, terms)?);
        gathered.join(delegates(ground, terms.without));
        gathered.join(home_tools(ground));
        gathered.join(memory::gather(ground, &gathered, terms.without));
        gathered.leave_out(terms.without);
        // Last: a skill needs tools of the other kinds.
        gathered.join(skills::gather(ground, gathered.names(), terms.without));
        gathered.refuse_clashes();
        gathered.do_without(terms.without);
        Ok(gathered)
    }

    /// The names of what is ready.
    pub(super) fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.spec().name).collect()
    }

    /// Adds the tools of another kind.
    pub(super) fn join(&mut self, other: Self) {
        let Self { tools, missing, notes, prompts, delegates } = other;
        self.tools.extend(tools);
        self.missing.extend(missing);
        self.notes.extend(notes);
        self.prompts.extend(prompts);
        self.delegates = self.delegates.take().or(delegates);
    }

    /// Drops the tools that the user does without.
    fn leave_out(&mut self, without: &[String]) {
        let is_out = |name: &str| without.iter().any(|out| is_same(out, name));
        let (out, kept): (Vec<_>, Vec<_>) =
            self.tools.drain(..).partition(|tool| is_out(&tool.spec().name));
        self.tools = kept;
        self.missing.extend(out.into_iter().map(|tool| MissingTool {
            name: tool.spec().name,
            kind: tool.kind(),
            reason: "left out by `--without`".to_owned(),
            is_optional: true,
        }));
    }

    /// Takes out tools of different kinds that have one name: a model could call only one of them, and a function of
    /// the author would stand for a server, a skill or the gates of one.
    fn refuse_clashes(&mut self) {
        let names: Vec<String> = self.names();
        let is_alone = |tool: &Arc<dyn DeclaredTool>| {
            let name = tool.spec().name;
            names.iter().filter(|other| is_same(other, &name)).count() == 1
        };
        let (alone, clashing): (Vec<_>, Vec<_>) = self.tools.drain(..).partition(is_alone);
        self.tools = alone;
        for (at, tool) in clashing.iter().enumerate() {
            let name = tool.spec().name;
            let earlier = clashing.iter().take(at).find(|it| is_same(&it.spec().name, &name));
            let Some(other) = earlier else { continue };
            let reason =
                format!("{} and {} would both be called `{name}`", titled(other), titled(tool));
            let kind = tool.kind();
            self.missing.push(MissingTool { name, kind, reason, is_optional: false });
        }
    }

    /// Marks what is missing and the user does without.
    fn do_without(&mut self, without: &[String]) {
        for missing in &mut self.missing {
            missing.is_optional |= without.iter().any(|out| is_same(out, &missing.name));
        }
    }

    /// The names of everything that is missing.
    pub(crate) fn missing_names(&self) -> Vec<String> {
        self.missing.iter().map(|it| it.name.clone()).collect()
    }

    /// What the prompt must say about the tools, and about those that are missing.
    pub(crate) fn note(&self) -> Option<String> {
        let names: Vec<_> = self.missing.iter().map(|it| format!("`{}`", it.name)).collect();
        let note = format!("These tools are not available in this run: {}.", names.join(", "));
        let missing = (!names.is_empty()).then_some(note);
        let notes: Vec<String> = self.notes.iter().cloned().chain(missing).collect();
        (!notes.is_empty()).then(|| notes.join("\n\n"))
    }
}

/// What a tool is, and where it is written, for messages.
fn titled(tool: &Arc<dyn DeclaredTool>) -> String {
    let at = tool.origin().map(|ToolOrigin { path, line }| format!(" ({path}:{line})"));
    let at = at.unwrap_or_default();
    match tool.kind() {
        DeclaredKind::JavaScript => format!("a function of the agent file{at}"),
        DeclaredKind::Script => format!("a script{at}"),
        DeclaredKind::Mcp => format!("a tool of an MCP server{at}"),
        DeclaredKind::Skill => "a tool for skills".to_owned(),
        DeclaredKind::Delegate => "the tool for other agents".to_owned(),
        DeclaredKind::Function | DeclaredKind::Home => "a tool of Agentry".to_owned(),
    }
}

/// Makes everything ready and runs the start-up tool, or refuses the run.
pub(crate) fn ready(
    ground: &PreparedAgent,
    terms: &GatherTerms<'_>,
    delegation: &DelegationTerms,
) -> Result<DeclaredTools, CliFailure> {
    let declared = DeclaredTools::gather(ground, terms)?;
    check_left_out(&declared, terms.without)?;
    if let Some(needed) = declared.missing.iter().find(|it| !it.is_optional) {
        let MissingTool { name, kind, reason, .. } = needed;
        let (path, kind) = (ground.path(), kind.as_str());
        let message = format!("`{path}` does not start: {kind} `{name}` is not ready: {reason}");
        let hint = format!("`--without {name}` runs it without that");
        return Err(CliFailure::new(ground.redactor.text(&message)).hint(hint).refused());
    }
    if let Some(delegates) = &declared.delegates {
        delegates.check(ground, delegation)?;
    }
    start_up(ground, &declared, &terms.person)?;
    Ok(declared)
}

/// Refuses a name of `--without` that the definition does not declare: a misspelt one would leave in what the user
/// wants to be without.
fn check_left_out(declared: &DeclaredTools, without: &[String]) -> Result<(), CliFailure> {
    let missing = declared.missing_names();
    let is_unknown = |name: &&String| !missing.iter().any(|known| is_same(known, name));
    let Some(unknown) = without.iter().find(is_unknown) else { return Ok(()) };
    let tools = declared.tools.iter().map(|tool| tool.spec().name);
    let known: Vec<String> = tools.chain(missing.iter().cloned()).collect();
    let known = known.iter().map(String::as_str);
    let message = format!("`--without {unknown}`: the agent declares no tool of this name");
    Err(CliFailure::new(message).hint(one_of(unknown, known, "`agentry tools` lists them")))
}

/// Runs the start-up tool.
fn start_up(
    ground: &PreparedAgent,
    declared: &DeclaredTools,
    person: &Arc<dyn Approver>,
) -> Result<(), CliFailure> {
    let Some(startup) = &ground.agent.requirements.startup else { return Ok(()) };
    let commands = Arc::new(RefusedCommands("a start-up tool runs no commands".to_owned()));
    let person = Arc::clone(person);
    let bench = ToolBench::new(ground, &declared.tools, person, commands, bench_directory()?)?;
    let why = match bench.call(&startup.value, json!({}), STARTUP)? {
        None => Some("there is no such tool".to_owned()),
        Some(BenchOutcome::Returned(result)) => startup_failure(&result),
        Some(BenchOutcome::Refused(why)) => Some(why),
        Some(BenchOutcome::Failed(failure)) => Some(failure.with_place()),
    };
    let Some(why) = why.map(|why| ground.redactor.text(&why)) else { return Ok(()) };
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

/// The JavaScript tools of the agent file.
pub(super) fn javascript(ground: &PreparedAgent) -> Result<DeclaredTools, CliFailure> {
    let Some(script) = script(ground)? else { return Ok(DeclaredTools::default()) };
    match runtime()?.block_on(script.tools(&ground.judge)) {
        Ok((tools, problems)) => {
            let tools = tools.into_iter().map(|tool| at_its_line(ground, tool)).collect();
            let missing = problems.into_iter().map(|it| misdescribed(ground, it)).collect();
            Ok(DeclaredTools { tools, missing, ..DeclaredTools::default() })
        }
        Err(problem) => {
            Ok(DeclaredTools { missing: unusable(ground, &problem), ..DeclaredTools::default() })
        }
    }
}

/// A tool whose line is that of its name in the file, where the definition could be read without running it.
fn at_its_line(ground: &PreparedAgent, mut tool: JavaScriptTool) -> Arc<dyn DeclaredTool> {
    if let Some(CodePlace { line, .. }) = function_place(ground, &tool.spec().name) {
        tool.set_line(line);
    }
    Arc::new(tool)
}

/// Where the file names a tool, as far as that can be read without running it.
fn function_place(ground: &PreparedAgent, name: &str) -> Option<CodePlace> {
    let functions = &ground.agent.tools.functions;
    let written = functions.iter().find(|it| is_same(&it.value.name, name))?;
    let start = ground.compiled.sources.start(written.span);
    let number = |number: usize| u32::try_from(number).unwrap_or(1);
    Some(CodePlace { line: number(start.line), column: number(start.column) })
}

/// One tool that cannot be used, beside others that can.
fn misdescribed(ground: &PreparedAgent, problem: ScriptProblem) -> MissingTool {
    let ScriptProblem { tool, message, place } = problem;
    let name = tool.unwrap_or_default();
    let place = function_place(ground, &name).or(place);
    let reason = placed(ground, &message, place);
    MissingTool { name, kind: DeclaredKind::JavaScript, reason, is_optional: false }
}

/// The tools of code that cannot be used.
fn unusable(ground: &PreparedAgent, problem: &ScriptProblem) -> Vec<MissingTool> {
    let ScriptProblem { tool, message, place } = problem;
    let functions = ground.agent.tools.functions.iter().map(|it| it.value.name.clone());
    let mut names: Vec<String> = functions.collect();
    names.extend(tool.clone().filter(|tool| !names.iter().any(|name| is_same(name, tool))));
    if names.is_empty() {
        names.extend(code_path(ground).map(str::to_owned));
    }
    let whose = tool.as_ref().map_or(String::new(), |tool| format!("`{tool}`: "));
    let reason = placed(ground, &format!("{whose}{message}"), *place);
    let kind = DeclaredKind::JavaScript;
    let missing = |name| MissingTool { name, kind, reason: reason.clone(), is_optional: false };
    names.into_iter().map(missing).collect()
}

fn script(ground: &PreparedAgent) -> Result<Option<Arc<ToolScript>>, CliFailure> {
    let sources = &ground.compiled.sources;
    let block = |code: &Spanned<String>| {
        let start = sources.start(code.span);
        // The first line of an indented fence begins after its indentation.
        let indentation = " ".repeat(start.column.saturating_sub(1));
        let line = u32::try_from(start.line).unwrap_or(1);
        ScriptBlock { line, text: indentation + &code.value }
    };
    let blocks: Vec<ScriptBlock> = ground.agent.tools.source.iter().map(block).collect();
    let path = code_path(ground).unwrap_or_default().to_owned();
    Ok(ToolScript::new(path, blocks, environment(ground), tool_time(ground), this_program()?))
}

/// The time of a tool of the agent file: `tool_timeout_ms` of `x-agentry`, if it is there.
fn tool_time(ground: &PreparedAgent) -> Duration {
    let block = ground.agent.extension(agentry_block::KEY);
    let written = block.and_then(|block| block.get("tool_timeout_ms"));
    let written = written.or_else(|| block.and_then(|block| block.get("toolTimeoutMs")));
    match written {
        Some(Data::Int(time)) => {
            Duration::from_millis(u64::try_from(*time).unwrap_or(1).clamp(1, MOST_TOOL_TIME))
        }
        _ => TIME,
    }
}

/// The variables that the tools get: those that the commands of the agent get.
fn environment(ground: &PreparedAgent) -> Vec<(String, String)> {
    // A required variable that is denied closes the gate of a run, and stays out of every other call.
    let granted = ground.granted.iter().filter(|name| ground.variable(name) != Action::Deny);
    granted.filter_map(|name| Some((name.clone(), variable(name)?))).collect()
}

/// A message with its place in the file.
fn placed(ground: &PreparedAgent, message: &str, place: Option<CodePlace>) -> String {
    match (place, code_path(ground)) {
        (Some(CodePlace { line, column }), Some(path)) => {
            format!("{message} ({path}:{line}:{column})")
        }
        _ => message.to_owned(),
    }
}

/// The path of the file with the code.
fn code_path(ground: &PreparedAgent) -> Option<&str> {
    let first = ground.agent.tools.source.first()?;
    Some(ground.compiled.sources.path(first.span))
}

/// The other agents, behind one tool.
pub(super) fn delegates(ground: &PreparedAgent, without: &[String]) -> DeclaredTools {
    let (tool, missing) = delegation::gather(ground, without);
    let tools = tool.iter().map(|tool| Arc::clone(tool) as Arc<dyn DeclaredTool>).collect();
    DeclaredTools { tools, missing, delegates: tool, ..DeclaredTools::default() }
}

/// The tools for a toolbox.
pub(crate) fn built_in(tools: &[Arc<dyn DeclaredTool>]) -> Vec<Arc<dyn BuiltInTool>> {
    tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn BuiltInTool>).collect()
}
