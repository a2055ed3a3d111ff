//! The script tools of a definition: those of an agent directory, and those of `TOOL.md` files.

use std::sync::Arc;
use std::time::Duration;

use agentry_compile::FileTree as _;
use agentry_compile::formats::script::entry_problem;
use agentry_compile::model::ScriptTool;
use agentry_compile::text::path::{join, shortest};
use agentry_compile::text::{Data, Spanned, limits};
use agentry_javascript::{ModuleFile, WorkerPool};
use agentry_runtime::tool::javascript::is_same;
use agentry_runtime::tool::script::{CallLimits, DirectoryScript, FileSnapshot, ScriptParts};
use agentry_runtime::tool::{DeclaredKind, DeclaredTool, TIME, ToolOrigin};

use super::declared_tools::{DeclaredTools, MissingTool};
use super::prepared_agent::PreparedAgent;
use crate::command::sandbox::this_program;
use crate::output::CliFailure;

/// The most calls of other tools, unless the definition has another limit.
const MOST_CALLS: usize = 20;
/// The most bytes of a result, unless the definition has another limit.
const MOST_OUTPUT: usize = 65_536;
/// The most bytes of one file of a snapshot, of all of them, and of a written one, unless the definition has
/// other limits.
const MOST_INPUT: u64 = 1 << 20;
const MOST_TOTAL: u64 = 4 << 20;
/// The names of runtimes that are JavaScript.
const JAVASCRIPT: &[&str] = &["node", "nodejs", "javascript", "js", "quickjs", "deno", "bun"];

/// Makes the script tools ready.
pub(super) fn scripts(ground: &PreparedAgent) -> Result<DeclaredTools, CliFailure> {
    let mut gathered = DeclaredTools::default();
    if ground.agent.tools.scripts.is_empty() {
        return Ok(gathered);
    }
    // One pool: the tools of one agent share their workers, and no other agent has them.
    let workers = WorkerPool::new(this_program()?);
    for script in &ground.agent.tools.scripts {
        let name = script.name.as_ref().map(|name| name.value.clone()).unwrap_or_default();
        let is_known = |tool: &Arc<dyn DeclaredTool>| is_same(&tool.spec().name, &name);
        let made = if gathered.tools.iter().any(is_known) {
            Err(format!("there are two tools `{name}`"))
        } else {
            made(ground, script, &name, &workers)
        };
        match made {
            Ok(tool) => gathered.tools.push(Arc::new(tool)),
            Err(reason) => gathered.missing.push(MissingTool {
                name,
                kind: DeclaredKind::Script,
                reason,
                is_optional: false,
            }),
        }
    }
    Ok(gathered)
}

fn made(
    ground: &PreparedAgent,
    script: &Spanned<ScriptTool>,
    name: &str,
    workers: &Arc<WorkerPool>,
) -> Result<DirectoryScript, String> {
    check_runtime(script)?;
    let (modules, root) = modules(ground, script)?;
    if let Some(problem) = modules.first().and_then(|entry| entry_problem(&entry.text)) {
        return Err(problem);
    }
    let parts = parts(ground, script, name, modules, root);
    DirectoryScript::new(parts, &ground.judge, Arc::clone(workers))
}

/// Fails for a tool that is no JavaScript.
fn check_runtime(script: &ScriptTool) -> Result<(), String> {
    if let Some(executor) = script.executor.as_ref().filter(|it| it.value != "script") {
        return Err(format!("its executor is `{}`; only `script` is run", executor.value));
    }
    match &script.runtime {
        Some(runtime) if !JAVASCRIPT.contains(&runtime.to_lowercase().as_str()) => {
            Err(format!("its runtime is `{}`; only JavaScript is run", runtime.value))
        }
        _ => Ok(()),
    }
}

/// What the definition says about a script, without its files.
pub(super) fn parts<'a>(
    ground: &PreparedAgent,
    script: &'a Spanned<ScriptTool>,
    name: &str,
    modules: Vec<ModuleFile>,
    root: String,
) -> ScriptParts<'a> {
    let sources = &ground.compiled.sources;
    let at = script.name.as_ref().map_or(script.span, |name| name.span);
    let (path, line) = (sources.path(at).to_owned(), sources.start(at).line);
    let description = script.description.as_ref().map(|it| it.value.clone()).unwrap_or_default();
    ScriptParts {
        name: name.to_owned(),
        description,
        inputs: script.inputs.as_ref().map(|inputs| inputs.value.to_json()),
        origin: ToolOrigin { path, line },
        modules,
        root,
        allowed_tools: script.allowed_tools.as_deref().unwrap_or_default(),
        limits: call_limits(script),
        snapshot: snapshot(script),
        needs_confirmation: script.confirms.as_ref().is_some_and(|confirms| confirms.value),
    }
}

fn call_limits(script: &ScriptTool) -> CallLimits {
    let whole =
        |limit: &Option<Spanned<i64>>| limit.as_ref().and_then(|it| usize::try_from(it.value).ok());
    let time = script.limits.timeout_ms.as_ref().and_then(|it| u64::try_from(it.value).ok());
    CallLimits {
        time: time.map_or(TIME, Duration::from_millis),
        calls: whole(&script.limits.max_tool_calls).unwrap_or(MOST_CALLS),
        output: whole(&script.limits.max_output_bytes).unwrap_or(MOST_OUTPUT),
    }
}

/// The files of a tool of AgentFS. Its script always gets a snapshot, which may have none.
fn snapshot(script: &ScriptTool) -> Option<FileSnapshot> {
    let io = &script.files.as_ref()?.value;
    let field = |name: &str| io.get(name);
    let number = |name: &str| match field(name) {
        Some(Data::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    let texts = match field("input_path_params") {
        Some(Data::List(list)) => list.iter().filter_map(Data::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Some(FileSnapshot {
        input_params: texts,
        output_param: field("output_path_param").and_then(Data::as_str).map(str::to_owned),
        most_input: number("max_input_bytes").unwrap_or(MOST_INPUT),
        most_total: number("max_total_input_bytes").unwrap_or(MOST_TOTAL),
        most_output: number("max_output_bytes").unwrap_or(MOST_OUTPUT as u64),
    })
}

/// The files of a script with the directory that their paths start from, for messages.
fn modules(
    ground: &PreparedAgent,
    script: &ScriptTool,
) -> Result<(Vec<ModuleFile>, String), String> {
    let Some(path) = &script.path else {
        return Err("it names no script in the agent's directory".to_owned());
    };
    let path = shortest(path).into_owned();
    let Some(source) = &script.source else {
        // A script of the workspace is one file.
        let text = workspace_text(ground, &path)?;
        return Ok((vec![ModuleFile { path, text }], String::new()));
    };
    let shown = ground.compiled.sources.path(source.span);
    let root = shown.strip_suffix(path.as_str()).unwrap_or_default().to_owned();
    let entry = ModuleFile { path, text: source.value.clone() };
    let imported = script
        .modules
        .iter()
        .map(|module| ModuleFile { path: module.path.clone(), text: module.source.value.clone() });
    Ok(([entry].into_iter().chain(imported).collect(), root))
}

fn workspace_text(ground: &PreparedAgent, path: &str) -> Result<String, String> {
    let workspace = &ground.compiled.workspace;
    let full = join(workspace, path);
    let read = ground.disk.read(workspace, &full, limits::FILE_BYTES);
    let bytes = read.map_err(|_| format!("there is no script `{path}` that can be read"))?;
    String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8"))
}
