//! `agentry tools`: lists the tools that an agent would be offered, and calls one of them.

use std::sync::Arc;

use agentry_compile::policy::{Action, Section};
use agentry_compile::text::report::visible;
use agentry_runtime::commands::RefusedCommands;
use agentry_runtime::driver::interfaces::RunTools as _;
use agentry_runtime::quarantine::QuarantineReport;
use agentry_runtime::tool::javascript::is_same;
use agentry_runtime::tool::mcp::offered_name;
use agentry_runtime::tool::{DeclaredTool, ToolOrigin, ToolSpec, ToolTouch, section_of};
use serde_json::{Value, json};

use crate::args::{
    AskFallback, ResultFormat, RunFormat, ToolsArguments, ToolsCallArguments, ToolsCommand,
};
use crate::command::run::confinement::ConfinedCommands;
use crate::command::run::declared_tools::{DeclaredTools, GatherTerms, MissingTool};
use crate::command::run::delegation::reach::reachable;
use crate::command::run::first_consent::{ConsentTerms, consent, listing};
use crate::command::run::mcp_servers::enabled;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::run_observers::RunObservers;
use crate::command::run::server_login;
use crate::command::run::session::now;
use crate::command::run::tool_bench::{BenchOutcome, ToolBench, bench_directory};
use crate::output::{
    CliFailure, CliOutcome, ExitKind, as_json, columns, cut, print, print_json, remark,
};

/// The most characters of a description in the list.
const MOST_CHARACTERS: usize = 70;

pub(crate) fn run(args: &ToolsArguments) -> CliOutcome {
    match (&args.command, &args.agent) {
        (Some(ToolsCommand::Call(args)), _) => call(args),
        (Some(ToolsCommand::Login(args)), _) => server_login::run(args),
        (None, Some(agent)) => list(agent, args),
        (None, None) => Err(CliFailure::new("no agent is named")),
    }
}

/// One tool of the list.
struct ListedTool {
    spec: ToolSpec,
    kind: &'static str,
    verdict: Action,
    /// Where it is written.
    at: Option<ToolOrigin>,
}

fn list(agent: &str, args: &ToolsArguments) -> CliOutcome {
    let ground = PreparedAgent::read(agent, args.format_override)?;
    let terms = ConsentTerms {
        unconfined: false,
        yes: args.yes,
        can_ask: args.format == ResultFormat::Human,
        accepts_changes: args.accept_changes,
    };
    let runs_code = runs_code(&ground);
    // A user who consents on the command line is not asked again by the next command.
    if runs_code || args.yes {
        let sandbox = "only the code of its tools is run".to_owned();
        consent(&ground, terms, now(), || listing(&ground, sandbox, Vec::new()))?;
    }
    let directory = bench_directory()?;
    let commands = if runs_code {
        let warn = |report: &QuarantineReport| remark(&format!("warning: {report}"));
        ConfinedCommands::new(&ground, false).of_run(&ground, directory.path(), Box::new(warn))
    } else {
        Arc::new(RefusedCommands("nothing is executed".to_owned()))
    };
    let person = RunObservers::new(RunFormat::Json, AskFallback::Deny).person;
    let terms = GatherTerms {
        without: &[],
        commands: Arc::clone(&commands),
        person: Arc::clone(&person),
        can_ask: false,
        accepts_changes: args.accept_changes,
    };
    let declared = DeclaredTools::gather(&ground, &terms)?;
    let DeclaredTools { tools, mut missing, delegates, .. } = declared;
    missing.extend(delegates.iter().flat_map(|delegates| delegates.unready(&ground)));
    let bench = ToolBench::new(&ground, &tools, person, commands, directory)?;
    let listed = bench.guarded.specs().iter().map(|spec| listed(&ground, &tools, spec));
    let listed: Vec<ListedTool> = listed.collect();
    match args.format {
        ResultFormat::Json => print_json(&to_json(&listed, &missing)),
        ResultFormat::Human => print(&to_text(&listed, &missing)),
    }
    Ok(ExitKind::Done)
}

/// Whether a list of the tools runs code of the agent, which needs consent.
fn runs_code(ground: &PreparedAgent) -> bool {
    // The code of a delegate is read too, its servers are not started.
    let has_code = |ground: &PreparedAgent| !ground.agent.tools.source.is_empty();
    let has_own = has_code(ground) || enabled(ground).next().is_some();
    has_own || reachable(ground).iter().any(|delegate| has_code(&delegate.ground))
}

fn listed(
    ground: &PreparedAgent,
    declared: &[Arc<dyn DeclaredTool>],
    spec: &ToolSpec,
) -> ListedTool {
    let own = declared.iter().find(|tool| tool.spec().name == spec.name);
    let Some(own) = own else {
        let verdict = section_of(&spec.name).map_or(Action::Allow, |it| usual(ground, it));
        return ListedTool { spec: spec.clone(), kind: "native", verdict, at: None };
    };
    let verdict = own.policy_subjects().into_iter().map(|ToolTouch { section, subject }| {
        ground.verdict(section, &subject, &ground.workspace).action
    });
    let verdict = verdict.max().unwrap_or(Action::Allow);
    ListedTool { spec: spec.clone(), kind: own.kind().as_str(), verdict, at: own.origin() }
}

/// The verdict on a call that no rule names: the strictest of all layers.
fn usual(ground: &PreparedAgent, section: Section) -> Action {
    let intents = ground.judge.rules(section).map(|(_, rules)| rules.intent.action);
    intents.max().unwrap_or(Action::Ask)
}

fn to_json(tools: &[ListedTool], missing: &[MissingTool]) -> Value {
    let tool = |tool: &ListedTool| {
        let ListedTool { spec: ToolSpec { name, description, schema }, kind, verdict, at } = tool;
        let (path, line) = at.as_ref().map(|ToolOrigin { path, line }| (path, line)).unzip();
        json!({
            "name": name, "kind": kind, "verdict": verdict.as_str(), "description": description,
            "parameters": schema, "path": path, "line": line,
        })
    };
    let missing = missing.iter().map(|MissingTool { name, kind, reason, .. }| {
        json!({ "name": name, "kind": kind.as_str(), "reason": reason })
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
        let at = at.as_ref();
        let at = at.map_or(String::new(), |ToolOrigin { path, line }| format!(" ({path}:{line})"));
        let cells = [&spec.name, *kind, verdict.as_str(), &(cut(first, MOST_CHARACTERS) + &at)];
        cells.map(|cell| visible(cell).into_owned()).to_vec()
    };
    let mut out = columns(&tools.iter().map(row).collect::<Vec<_>>());
    if !missing.is_empty() {
        out.push_str("\nnot ready:\n");
        let row = |MissingTool { name, kind, reason, .. }: &MissingTool| {
            vec![
                format!("  {}", visible(name)),
                kind.as_str().to_owned(),
                visible(reason).into_owned(),
            ]
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
    let accepts_changes = args.accept_changes;
    let terms = ConsentTerms { unconfined: false, yes: args.yes, can_ask, accepts_changes };
    consent(&ground, terms, now(), || listing(&ground, commands.words(), Vec::new()))?;
    let format = if can_ask { RunFormat::Human } else { RunFormat::Json };
    let RunObservers { person, attendant, .. } = RunObservers::new(format, AskFallback::Deny);
    attendant.iter().for_each(|attendant| attendant.work_in(&ground.workspace, ground.notify));
    let directory = bench_directory()?;
    let warn = |report: &QuarantineReport| remark(&format!("warning: {report}"));
    let commands = commands.of_run(&ground, directory.path(), Box::new(warn));
    let terms = GatherTerms {
        without: &[],
        commands: Arc::clone(&commands),
        person: Arc::clone(&person),
        can_ask: attendant.is_some(),
        accepts_changes: args.accept_changes,
    };
    let DeclaredTools { tools, missing, .. } = DeclaredTools::gather(&ground, &terms)?;
    let bench = ToolBench::new(&ground, &tools, person, commands, directory)?;
    let Some(outcome) = bench.call_by_user(&args.name, arguments)? else {
        return Err(unknown(&ground, &bench, &missing, &args.name));
    };
    let exit = reported(&ground, outcome, args.format);
    if let Some(outputs) = bench.keep_outputs() {
        remark(&format!("note: files of the result are in `{}`", outputs.display()));
    }
    Ok(exit)
}

/// The failure for a name that no tool has.
fn unknown(
    ground: &PreparedAgent,
    bench: &ToolBench,
    missing: &[MissingTool],
    name: &str,
) -> CliFailure {
    // The tools of a server that is not ready are not known.
    let is_of = |server: &str| {
        let start = offered_name(server, "");
        name.get(..start.len()).is_some_and(|it| is_same(it, &start))
    };
    let is_meant = |it: &&MissingTool| is_same(&it.name, name) || is_of(&it.name);
    if let Some(found) = missing.iter().find(is_meant) {
        let message = format!("`{}` is not ready: {}", found.name, found.reason);
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
        BenchOutcome::Failed(failure) => {
            let (path, place) = failure.at.clone().unzip();
            let (line, column) = place.map(|place| (place.line, place.column)).unzip();
            let message = &failure.message;
            let error = json!({ "message": message, "path": path, "line": line, "column": column });
            let text = format!("error: {}", failure.with_place());
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
