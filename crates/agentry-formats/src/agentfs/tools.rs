//! Tools: `tools/*/TOOL.md` with a script beside it.
//!
//! | field of the file | field of [`ScriptTool`] |
//! | --- | --- |
//! | `name`, `description` | the same |
//! | `command` | `path`, relative to the agent's directory |
//! | `input_schema` | `inputs` |
//! | `script.runtime`, `executor` | `runtime`, `executor` |
//! | `script.timeout_ms`, `script.io.max_output_bytes` | `limits` |
//! | `script.io` | `files` |
//! | `requires_confirmation` | `confirms` |

use agentry_model::{Agent, ScriptLimits, ScriptTool, slug};
use agentry_text::data::MapBuilder;
use agentry_text::{Data, Findings, Spanned, TableRecord, path};

use super::fields::{TOOL, TOOL_IO, TOOL_SCRIPT};
use crate::front_matter::{self, FrontMatterFile};
use crate::script::{is_javascript, read_modules};
use crate::{AgentPackage, ListedName, PathBase, PathPresence};

/// The name of the file of a tool.
const FILE: &str = "TOOL.md";
/// The most bytes of a result that a definition can ask for.
const MOST_OUTPUT: i64 = 16_777_216;

/// Reads every tool of the agent.
pub(super) fn read(package: &mut AgentPackage<'_>, agent: &mut Agent, findings: &mut Findings) {
    for ListedName { name, is_dir } in package.files.list("tools", findings) {
        let directory = format!("tools/{name}");
        let file = format!("{directory}/{FILE}");
        if !is_dir || package.files.probe(PathBase::Agent, &file) != PathPresence::File {
            continue;
        }
        let Some(source) = package.read(&file, findings) else { continue };
        let document = FrontMatterFile::read(source, findings);
        let tool = tool(&directory, &name, &document, package, findings);
        agent.tools.scripts.push(tool);
    }
}

fn tool(
    directory: &str,
    folder: &str,
    document: &FrontMatterFile,
    package: &mut AgentPackage<'_>,
    findings: &mut Findings,
) -> Spanned<ScriptTool> {
    let record = document.record(&TOOL, findings);
    let start = agentry_text::Span::start_of(document.source.id);
    let name = record.str("name").unwrap_or_else(|| Spanned::new(folder.to_owned(), start));
    let script = record.record("script", &TOOL_SCRIPT);
    let io = script.and_then(|script| script.record("io", &TOOL_IO));
    let path = record.str("command").and_then(|command| {
        let joined = path::normal(&path::join(directory, &command))?;
        (!path::climbs(&joined) && !path::is_rooted(&command)).then(|| command.map(|_| joined))
    });
    let known = path.as_ref().filter(|path| is_javascript(path));
    let is_file =
        known.is_some_and(|it| package.files.probe(PathBase::Agent, it) == PathPresence::File);
    let source = known.filter(|_| is_file).and_then(|path| package.read(path, findings));
    let modules = match (&path, &source) {
        (Some(path), Some(source)) => read_modules(path, source, package, findings),
        _ => Vec::new(),
    };
    let span = name.span;
    let tool = ScriptTool {
        description: record.str("description").or_else(|| document.text()),
        path,
        limits: limits(script, io),
        inputs: record.data("input_schema"),
        source: source.map(|source| Spanned::new(source.text.to_string(), source.whole())),
        modules,
        runtime: script.and_then(|script| script.str("runtime")),
        executor: record.str("executor"),
        confirms: record.bool("requires_confirmation"),
        // A script without files still gets a snapshot.
        files: script
            .and_then(|script| script.data("io"))
            .or_else(|| Some(Spanned::new(Data::Map(Vec::new()), span))),
        name: Some(name),
        ..ScriptTool::default()
    };
    Spanned::new(tool, span)
}

fn limits(script: Option<TableRecord<'_>>, io: Option<TableRecord<'_>>) -> ScriptLimits {
    let output = io.and_then(|io| io.int("max_output_bytes"));
    ScriptLimits {
        timeout_ms: script.and_then(|script| script.int("timeout_ms")),
        max_output_bytes: output.filter(|most| (1..=MOST_OUTPUT).contains(&most.value)),
        ..ScriptLimits::default()
    }
}

/// Writes the tools that get a snapshot, if the text of their script is known. A script of another format gets
/// other inputs, so it would not work here.
pub(super) fn write(agent: &Agent, files: &mut Vec<(String, String)>) {
    let is_whole =
        |script: &&Spanned<ScriptTool>| script.files.is_some() && script.source.is_some();
    for script in agent.tools.scripts.iter().filter(is_whole) {
        let Some(path) = script.path.as_ref().filter(|path| path::is_plain(path)) else { continue };
        let name = script.name.as_ref().map_or("", |name| name.value.as_str());
        // A script that lies in a folder of its own stays there.
        let own = path.strip_prefix("tools/").and_then(|rest| rest.split_once('/'));
        let (folder, command) = match own {
            Some((folder, command)) => (folder.to_owned(), command.to_owned()),
            None => (slug(name), format!("../../{}", path.value)),
        };
        let file = format!("tools/{folder}/{FILE}");
        if folder.is_empty() || files.iter().any(|(taken, _)| *taken == file) {
            continue;
        }
        files.push((file, front_matter::write(&tool_data(script, &command), "")));
        let source = script.source.iter().map(|source| (&path.value, &source.value));
        let modules = script.modules.iter().map(|module| (&module.path, &module.source.value));
        for (path, text) in source.chain(modules) {
            // Two scripts may import the same file.
            if !files.iter().any(|(taken, _)| taken == path) {
                files.push((path.clone(), text.clone()));
            }
        }
    }
}

/// The metadata of a tool.
fn tool_data(tool: &ScriptTool, command: &str) -> Data {
    let ScriptTool {
        name,
        description,
        limits,
        inputs,
        runtime,
        executor,
        confirms,
        files,
        // Written beside it, or not known to the format.
        path: _,
        allowed_tools: _,
        source: _,
        modules: _,
    } = tool;
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    let mut script = MapBuilder::new();
    script.str_opt("runtime", text(runtime));
    script.set_opt("timeout_ms", limits.timeout_ms.as_ref().map(|time| Data::Int(time.value)));
    script.set_full("io", files.as_ref().map_or(Data::Map(Vec::new()), |io| io.value.clone()));
    let mut out = MapBuilder::new();
    out.str_opt("name", text(name));
    out.str_opt("description", text(description));
    out.set_opt("requires_confirmation", confirms.as_ref().map(|it| Data::Bool(it.value)));
    out.str_opt("executor", text(executor));
    out.set("command", Data::str(command));
    out.set_full("script", script.build());
    out.set_opt("input_schema", inputs.as_ref().map(|inputs| inputs.value.clone()));
    out.build()
}
