//! `agentry tools`: lists the tools that an agent would be offered, and calls one of them.

use std::sync::Arc;

use agentry_compile::policy::{Action, Section};
use agentry_compile::text::Data;
use agentry_compile::text::report::visible;
use agentry_runtime::commands::RefusedCommands;
use agentry_runtime::driver::interfaces::RunTools as _;
use agentry_runtime::quarantine::QuarantineReport;
use agentry_runtime::tool::javascript::{JavaScriptTool, ScriptProblem, is_same};
use agentry_runtime::tool::{BuiltInTool as _, ToolSpec, section_of};
use serde_json::{Value, json};

use crate::args::{
    AskFallback, ResultFormat, RunFormat, ToolsArguments, ToolsCallArguments, ToolsCommand,
};
use crate::command::run::confinement::ConfinedCommands;
use crate::command::run::declared_tools::{
    BenchOutcome, ToolBench, bench_directory, code_path, load, placed,
};
use crate::command::run::first_consent::{ConsentTerms, consent, listing};
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::session::{RunObservers, now};
use crate::output::{
    CliFailure, CliOutcome, ExitKind, as_json, columns, cut, print, print_json, remark,
};

/// The most characters of a description in the list.
const MOST_CHARACTERS: usize = 70;

pub(crate) fn run(args: &ToolsArguments) -> CliOutcome {
    match (&args.command, &args.agent) {
        (Some(ToolsCommand::Call(args)), _) => call(args),
        (None, Some(agent)) => list(agent, args),
        (None, None) => Err(CliFailure::new("no agent is named")),
    }
}

/// One tool of the list.
struct ListedTool {
    spec: ToolSpec,
    kind: &'static str,
    verdict: Action,
    /// The path and the line of its code.
    at: Option<(String, usize)>,
}

/// Something that the definition declares and a run cannot use.
pub(crate) struct MissingTool {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) reason: String,
    /// Whether the definition says that a run can do without it.
    pub(crate) is_optional: bool,
}

fn list(agent: &str, args: &ToolsArguments) -> CliOutcome {
    let ground = PreparedAgent::read(agent, args.format_override)?;
    let mut missing = unsupported(&ground);
    let terms = ConsentTerms {
        unconfined: false,
        yes: args.yes,
        can_ask: args.format == ResultFormat::Human,
    };
    let scripted = scripted(&ground, terms)?.unwrap_or_else(|problem| {
        missing.splice(0..0, unusable(&ground, &problem));
        Vec::new()
    });
    let commands = Arc::new(RefusedCommands("nothing is executed".to_owned()));
    let person = RunObservers::new(RunFormat::Json, AskFallback::Deny).person;
    let bench = ToolBench::new(&ground, &scripted, person, commands, bench_directory()?)?;
    let listed = bench.guarded.specs().iter().map(|spec| listed(&ground, &scripted, spec));
    let listed: Vec<ListedTool> = listed.collect();
    match args.format {
        ResultFormat::Json => print_json(&to_json(&listed, &missing)),
        ResultFormat::Human => print(&to_text(&listed, &missing)),
    }
    Ok(ExitKind::Done)
}

/// Evaluates the code of an agent, with consent.
fn scripted(
    ground: &PreparedAgent,
    terms: ConsentTerms,
) -> Result<Result<Vec<JavaScriptTool>, ScriptProblem>, CliFailure> {
    if !ground.agent.tools.source.is_empty() {
        let sandbox = "only the code of its tools is run".to_owned();
        consent(ground, terms, now(), || listing(ground, sandbox, Vec::new()))?;
    }
    load(ground)
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
    let missing =
        |name| MissingTool { name, kind: "js", reason: reason.clone(), is_optional: false };
    names.into_iter().map(missing).collect()
}

/// What the definition declares and no run can use yet.
pub(crate) fn unsupported(ground: &PreparedAgent) -> Vec<MissingTool> {
    let agent = &ground.agent;
    let missing = |kind: &'static str| {
        let reason = "not supported yet".to_owned();
        let is_optional = false;
        move |name: String| MissingTool { name, kind, reason: reason.clone(), is_optional }
    };
    let text = |name: &Option<agentry_compile::text::Spanned<String>>| {
        name.as_ref().map(|name| name.value.clone()).unwrap_or_default()
    };
    let scripts = agent.tools.scripts.iter().map(|script| text(&script.value.name));
    let is_enabled =
        |on: &Option<agentry_compile::text::Spanned<bool>>| on.as_ref().is_none_or(|on| on.value);
    let servers = agent.tools.mcp.iter().flatten().map(|server| &server.value);
    let servers = servers.filter(|it| is_enabled(&it.enabled)).map(|server| {
        let is_optional = |(key, value): &(String, Data)| key == "optional" && *value == Data::Bool(true);
        let is_optional = server.options.iter().any(is_optional);
        MissingTool { is_optional, ..missing("mcp")(server.name.clone()) }
    });
    let skills = agent.skill_packs.iter().map(|skill| text(&skill.name));
    let agents = agent.agents.iter().flatten().map(|agent| agent.value.name.clone());
    let functions = agent.expose.iter().flatten().map(|function| text(&function.value.name));
    scripts
        .map(missing("script"))
        .chain(servers)
        .chain(skills.map(missing("skill")))
        .chain(agents.map(missing("delegate")))
        .chain(functions.map(missing("function")))
        .collect()
}

/// Refuses a run that lacks a tool of its definition, unless it is optional or the user does without it.
/// Returns what the prompt must say about the rest.
pub(crate) fn admit_missing(
    ground: &PreparedAgent,
    without: &[String],
) -> Result<Option<String>, CliFailure> {
    // Skills and functions of other agents change no call of this one.
    let is_called = |missing: &MissingTool| matches!(missing.kind, "script" | "mcp" | "delegate");
    let missing: Vec<_> = unsupported(ground).into_iter().filter(is_called).collect();
    let is_left_out = |it: &&MissingTool| {
        it.is_optional || without.iter().any(|name| is_same(name, &it.name))
    };
    if let Some(needed) = missing.iter().find(|it| !is_left_out(it)) {
        let MissingTool { name, kind, reason, .. } = needed;
        let path = ground.path();
        let message = format!("`{path}` does not start: {kind} `{name}` is not ready: {reason}");
        let hint = format!("`--without {name}` runs it without that");
        return Err(CliFailure::new(message).hint(hint).refused());
    }
    let names: Vec<_> = missing.iter().map(|it| format!("`{}`", it.name)).collect();
    let note = format!("These tools are not available in this run: {}.", names.join(", "));
    Ok((!names.is_empty()).then_some(note))
}

fn listed(ground: &PreparedAgent, scripted: &[JavaScriptTool], spec: &ToolSpec) -> ListedTool {
    let own = scripted.iter().find(|tool| tool.spec().name == spec.name);
    let Some(own) = own else {
        let verdict = section_of(&spec.name).map_or(Action::Allow, |it| usual(ground, it));
        return ListedTool { spec: spec.clone(), kind: "native", verdict, at: None };
    };
    let sources = &ground.compiled.sources;
    let functions = &ground.agent.tools.functions;
    let written = functions.iter().find(|it| is_same(&it.value.name, &spec.name));
    let at = match written {
        Some(written) => Some((sources.path(written.span), sources.start(written.span).line)),
        None => code_path(ground).map(|path| (path, own.line() as usize)),
    };
    let at = at.map(|(path, line)| (path.to_owned(), line));
    let verdict = own.policy_subjects().iter().map(|touch| {
        ground.verdict(touch.section, &touch.subject, &ground.workspace).action
    });
    let verdict = verdict.max().unwrap_or(Action::Allow);
    ListedTool { spec: spec.clone(), kind: "js", verdict, at }
}

/// The verdict on a call that no rule names: the strictest of all layers.
fn usual(ground: &PreparedAgent, section: Section) -> Action {
    let intents = ground.judge.rules(section).map(|(_, rules)| rules.intent.action);
    intents.max().unwrap_or(Action::Ask)
}

fn to_json(tools: &[ListedTool], missing: &[MissingTool]) -> Value {
    let tool = |tool: &ListedTool| {
        let ListedTool { spec: ToolSpec { name, description, schema }, kind, verdict, at } = tool;
        let (path, line) = at.clone().unzip();
        json!({
            "name": name, "kind": kind, "verdict": verdict.as_str(), "description": description,
            "parameters": schema, "path": path, "line": line,
        })
    };
    let missing = missing.iter().map(|MissingTool { name, kind, reason, .. }| {
        json!({ "name": name, "kind": kind, "reason": reason })
    });
    json!({
        "tools": tools.iter().map(tool).collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
    })
}

fn to_text(tools: &[ListedTool], missing: &[MissingTool]) -> String {
    let row = |tool: &ListedTool| {
        let ListedTool { spec, kind, verdict, at } = tool;
        let first = spec.description.lines().next().unwrap_or_default();
        let at = at.as_ref().map_or(String::new(), |(path, line)| format!(" ({path}:{line})"));
        let cells = [&spec.name, *kind, verdict.as_str(), &(cut(first, MOST_CHARACTERS) + &at)];
        cells.map(|cell| visible(cell).into_owned()).to_vec()
    };
    let mut out = columns(&tools.iter().map(row).collect::<Vec<_>>());
    if !missing.is_empty() {
        out.push_str("\nnot ready:\n");
        let row = |MissingTool { name, kind, reason, .. }: &MissingTool| {
            vec![format!("  {}", visible(name)), (*kind).to_owned(), visible(reason).into_owned()]
        };
        out.push_str(&columns(&missing.iter().map(row).collect::<Vec<_>>()));
    }
    out
}

fn call(args: &ToolsCallArguments) -> CliOutcome {
    let arguments: Value = serde_json::from_str(&args.json).map_err(|error| {
        CliFailure::new(format!("the arguments are not JSON: {error}"))
            .hint("pass an object, like '{\"name\": \"value\"}'")
    })?;
    let ground = PreparedAgent::read(&args.agent, args.format_override)?;
    let can_ask = args.format == ResultFormat::Human;
    let commands = ConfinedCommands::new(&ground, false);
    let terms = ConsentTerms { unconfined: false, yes: args.yes, can_ask };
    consent(&ground, terms, now(), || listing(&ground, commands.words(), Vec::new()))?;
    let tools = load(&ground)?.map_err(|problem| {
        let missing = unusable(&ground, &problem).into_iter().next();
        let reason = missing.map(|missing| missing.reason).unwrap_or_default();
        CliFailure::new(format!("the tools of `{}` are not ready: {reason}", ground.path()))
            .refused()
    })?;
    let format = if can_ask { RunFormat::Human } else { RunFormat::Json };
    let person = RunObservers::new(format, AskFallback::Deny).person;
    let directory = bench_directory()?;
    let told = |report: &QuarantineReport| remark(&format!("warning: {report}"));
    let commands = commands.of_run(&ground, directory.path(), Box::new(told));
    let bench = ToolBench::new(&ground, &tools, person, commands, directory)?;
    match bench.call_by_user(&args.name, arguments)? {
        Some(outcome) => Ok(reported(&ground, outcome, args.format)),
        None => Err(unknown(&ground, &bench, &args.name)),
    }
}

/// The failure for a name that no tool has.
fn unknown(ground: &PreparedAgent, bench: &ToolBench<'_>, name: &str) -> CliFailure {
    let missing = unsupported(ground);
    if let Some(found) = missing.iter().find(|missing| is_same(&missing.name, name)) {
        let message = format!("`{name}` is not ready: {}", found.reason);
        return CliFailure::new(message).refused();
    }
    let names: Vec<_> = bench.guarded.specs().iter().map(|it| format!("`{}`", it.name)).collect();
    CliFailure::new(format!("`{}` has no tool `{name}`", ground.path()))
        .hint(format!("there are {}", names.join(", ")))
}

fn reported(ground: &PreparedAgent, outcome: BenchOutcome, format: ResultFormat) -> ExitKind {
    let (value, text, exit) = match outcome {
        BenchOutcome::Returned(result) => {
            let text = match &result {
                Value::String(text) => text.clone(),
                other => format!("{other:#}"),
            };
            (json!({ "ok": true, "result": result }), text, ExitKind::Done)
        }
        BenchOutcome::Failed { message, place } => {
            let path = place.and_then(|_| code_path(ground));
            let (line, column) = place.map(|place| (place.line, place.column)).unzip();
            let error = json!({ "message": message, "path": path, "line": line, "column": column });
            let text = format!("error: {}", placed(ground, &message, place));
            (json!({ "ok": false, "error": error }), text, ExitKind::Findings)
        }
        BenchOutcome::Refused(why) => {
            let error = json!({ "message": why, "path": null, "line": null, "column": null });
            (json!({ "ok": false, "error": error }), format!("error: {why}"), ExitKind::Refused)
        }
    };
    match (format, exit) {
        (ResultFormat::Json, _) => print(&ground.redactor.text(&as_json(&value))),
        (ResultFormat::Human, ExitKind::Done) => {
            ground
                .redactor
                .text(&text)
                .lines()
                .for_each(|line| print(&format!("{}\n", visible(line))));
        }
        (ResultFormat::Human, _) => remark(&ground.redactor.text(&text)),
    }
    exit
}
