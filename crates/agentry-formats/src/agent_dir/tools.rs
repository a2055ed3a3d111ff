//! Reads `tools/*.md`: MCP servers and scripts.

use agentry_model::{Agent, McpServer, ScriptLimits, ScriptTool};
use agentry_text::suggestion::did_you_mean;
use agentry_text::table::{Coercion, validate};
use agentry_text::{Field, FieldKind, Findings, SourceFile, Span, Spanned, TableRecord, path};

use super::fields::{KINDS, LIMITS, MCP_TOOL, SCRIPT_TOOL};
use super::read::AgentDirReader;
use super::rules::{BUILT_IN_TOOL, DUPLICATE_TOOL, TOOL_KIND, TOOL_NAME};
use super::schedules::{name, unknown, with_metadata};
use crate::front_matter::FrontMatterFile;
use crate::script::{INPUTS_SCHEMA, SCRIPT_MISSING, SCRIPT_PATH, is_javascript, read_modules};
use crate::{PathBase, PathPresence, mcp, references, script};

/// The names of built-in tools, in Agentry and in the reference implementation.
const BUILT_IN: &[&str] = &[
    "agent",
    "ask_user",
    "bash",
    "batch",
    "bm25",
    "code_diagnostics",
    "code_navigation",
    "code_symbols",
    "delegate",
    "download",
    "dynamic_workflow",
    "edit",
    "generate_object",
    "git",
    "glob",
    "grep",
    "ls",
    "parallel_task",
    "patch",
    "program",
    "question",
    "read",
    "search",
    "search_skills",
    "skill",
    "task",
    "todo",
    "todoread",
    "todowrite",
    "update_plan",
    "verify",
    "web_fetch",
    "web_search",
    "webfetch",
    "websearch",
    "write",
];

/// Reads every tool of the directory.
pub(super) fn read(reader: &mut AgentDirReader<'_, '_>, agent: &mut Agent) {
    // Servers of `agent.acl` were read before and share the names.
    let servers = agent.tools.mcp.iter().flatten();
    let mut names =
        ToolNames(servers.map(|server| Spanned::new(server.name.clone(), server.span)).collect());
    for (stem, source) in reader.markdown_files("tools") {
        let Some(document) = with_metadata(source, reader.findings) else { continue };
        let Some(kind) = kind(&document, reader.findings) else { continue };
        if kind == "mcp" {
            let server = server(&stem, &document, &mut names, reader.findings);
            agent.tools.mcp.get_or_insert_default().push(server);
        } else {
            let record = document.record(&SCRIPT_TOOL, reader.findings);
            let name = name(&stem, record, &document.source);
            names.take(&name, reader.findings);
            unknown(&format!("tools.{}", name.value), record, agent);
            let script = script_tool(name, record, &document, reader);
            agent.tools.scripts.push(script);
        }
    }
}

/// Returns the kind of the tool; `None` if it is unknown, which is reported.
fn kind(document: &FrontMatterFile, findings: &mut Findings) -> Option<&'static str> {
    let place = Span::start_of(document.source.id);
    let Some(map) = document.metadata.as_map() else {
        // Reports that the front matter is not a map.
        validate(&SCRIPT_TOOL, &document.metadata, Coercion::Strict, findings);
        return None;
    };
    let Some(node) = map.get("kind") else {
        let place = map.entries.first().map_or(place, |entry| entry.key.span);
        findings
            .add(&TOOL_KIND, place, "the tool has no `kind`")
            .hint("add `kind: mcp` or `kind: script`")
            .absent();
        return None;
    };
    let written = node.as_str().unwrap_or("");
    let known = KINDS.iter().find(|kind| **kind == written).copied();
    if known.is_none() {
        let message = match node.as_str() {
            Some(text) => format!("there is no kind of tool `{text}`"),
            None => format!("`kind` is {}, expected a string", node.value.describe()),
        };
        let near = did_you_mean(written, KINDS.iter().copied());
        findings
            .add(&TOOL_KIND, node.span, message)
            .hint(near.unwrap_or_else(|| "write `mcp` or `script`".to_owned()));
    }
    known
}

fn server(
    stem: &str,
    document: &FrontMatterFile,
    names: &mut ToolNames,
    findings: &mut Findings,
) -> Spanned<McpServer> {
    let record = document.record(&MCP_TOOL, findings);
    let name = name(stem, record, &document.source);
    names.take(&name, findings);
    let server = mcp::read(record, &name, findings);
    Spanned::new(server, name.span)
}

fn script_tool(
    name: Spanned<String>,
    record: TableRecord<'_>,
    document: &FrontMatterFile,
    reader: &mut AgentDirReader<'_, '_>,
) -> Spanned<ScriptTool> {
    check_name(&name, reader.findings);
    let described = record.str("description").filter(|text| !text.trim().is_empty());
    let described = described.map(|text| text.map(|text| text.trim().to_owned()));
    // Windows separators are accepted.
    let path = record.str("path").map(|path| path.map(|path| path.replace('\\', "/")));
    let source = path.as_ref().and_then(|path| source(path, reader));
    let modules = match (&path, &source) {
        (Some(path), Some(source)) => read_modules(path, source, reader.package, reader.findings),
        _ => Vec::new(),
    };
    let inputs = record.data("inputs");
    if let Some(inputs) = &inputs {
        check_inputs(&inputs.value.to_json(), inputs.span, reader.findings);
        for reference in record.node("inputs").map(references::unresolved).unwrap_or_default() {
            let written = reference.as_str().unwrap_or("");
            let message = format!("`$ref` in `inputs` leads nowhere: `{written}`");
            reader
                .findings
                .add(&INPUTS_SCHEMA, reference.span, message)
                .hint("define it in `$defs`, and write `#/$defs/<name>`; nothing is fetched");
        }
    }
    let span = name.span;
    let script = ScriptTool {
        name: Some(name),
        description: described.or_else(|| document.text()),
        path,
        allowed_tools: record.list("allowed_tools").and(record.strings("allowed_tools")),
        limits: limits(record),
        inputs,
        source: source.map(|source| Spanned::new(source.text.to_string(), source.whole())),
        modules,
        ..ScriptTool::default()
    };
    Spanned::new(script, span)
}

/// The names of the tools read so far.
struct ToolNames(Vec<Spanned<String>>);

impl ToolNames {
    /// Records a name; reports it if another tool has it.
    fn take(&mut self, name: &Spanned<String>, findings: &mut Findings) {
        match self.0.iter().find(|first| first.value == name.value) {
            Some(first) => {
                findings
                    .add(
                        &DUPLICATE_TOOL,
                        name.span,
                        format!("there are two tools `{}`", name.value),
                    )
                    .related(first.span, "the first one")
                    .hint("give each its own `name`");
            }
            None => self.0.push(name.clone()),
        }
    }
}

fn check_name(name: &Spanned<String>, findings: &mut Findings) {
    let sign = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if BUILT_IN.contains(&name.to_lowercase().as_str()) {
        findings
            .add(&BUILT_IN_TOOL, name.span, format!("`{}` is a built-in tool", name.value))
            .hint("choose another `name`");
    } else if name.len() > 64 || !name.chars().all(sign) {
        findings
            .add(&TOOL_NAME, name.span, format!("no model can call a tool `{}`", name.value))
            .hint("use at most 64 letters, digits, `_` and `-`");
    }
}

/// Returns the limits that are in range; others were already reported.
fn limits(record: TableRecord<'_>) -> ScriptLimits {
    let Some(limits) = record.record("limits", &LIMITS) else { return ScriptLimits::default() };
    let limit = |name: &str| {
        let fits = |field: &Field, value: i64| match field.kind {
            FieldKind::Int(least, most) => (least..=most).contains(&value),
            _ => true,
        };
        limits
            .int(name)
            .filter(|value| LIMITS.field(name).is_some_and(|field| fits(field, value.value)))
    };
    ScriptLimits {
        timeout_ms: limit("timeoutMs"),
        max_tool_calls: limit("maxToolCalls"),
        max_output_bytes: limit("maxOutputBytes"),
    }
}

/// Reads the script if it is in the agent's directory; for one in the workspace, only checks that it exists.
fn source(path: &Spanned<String>, reader: &mut AgentDirReader<'_, '_>) -> Option<SourceFile> {
    if let Some((message, hint)) = path_problem(path) {
        reader.findings.add(&SCRIPT_PATH, path.span, message).hint(hint);
        return None;
    }
    let plain = path::shortest(path);
    // The agent's directory wins over the workspace.
    match reader.package.files.probe(PathBase::Agent, &plain) {
        PathPresence::File => {
            let source = reader.package.read(&plain, reader.findings)?;
            script::check(&source, reader.findings);
            return Some(source);
        }
        PathPresence::Outside => return outside(path, reader.findings),
        PathPresence::Missing | PathPresence::Directory => {}
    }
    match reader.package.files.probe(PathBase::Workspace, &plain) {
        PathPresence::File => {}
        PathPresence::Outside => return outside(path, reader.findings),
        // A script of the workspace is not part of a writer's result.
        PathPresence::Missing if !reader.package.files.is_complete() => {}
        presence @ (PathPresence::Missing | PathPresence::Directory) => {
            let message = match presence {
                PathPresence::Directory => format!("`{}` is a directory, not a script", path.value),
                _ => format!("there is no script `{}`", path.value),
            };
            reader
                .findings
                .add(&SCRIPT_MISSING, path.span, message)
                .hint("the path is relative to the agent's directory, else to the workspace");
        }
    }
    None
}

fn outside(path: &Spanned<String>, findings: &mut Findings) -> Option<SourceFile> {
    findings
        .add(&SCRIPT_PATH, path.span, format!("`{}` leaves the workspace", path.value))
        .hint("keep the script inside the agent's directory or the workspace");
    None
}

/// Returns why a script must not be at `path`, and a hint.
pub(super) fn path_problem(path: &str) -> Option<(String, &'static str)> {
    // A Windows drive, such as `C:`.
    let drive = path.as_bytes().get(1) == Some(&b':');
    if path.trim().is_empty() {
        Some(("the path of the script is empty".to_owned(), "name a `.js` or `.mjs` file"))
    } else if path::is_rooted(path) || drive {
        let message = format!("`{path}` is not relative");
        Some((message, "write it relative to the agent's directory"))
    } else if path::climbs(path) {
        Some((format!("`{path}` leaves its directory"), "write a path without `..`"))
    } else if !is_javascript(path) {
        Some((format!("`{path}` is no JavaScript file"), "name a `.js` or `.mjs` file"))
    } else {
        None
    }
}

fn check_inputs(schema: &serde_json::Value, span: Span, findings: &mut Findings) {
    if let Err(error) = jsonschema::draft202012::meta::validate(schema) {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { String::new() } else { format!(" at `{place}`") };
        findings
            .add(&INPUTS_SCHEMA, span, format!("`inputs` is not a JSON Schema: {error}{place}"))
            .hint("write a JSON Schema of type `object`");
        return;
    }
    let kind = schema.get("type");
    if kind.is_some_and(|kind| kind != "object") {
        findings
            .add(&INPUTS_SCHEMA, span, "`inputs` describes something other than an object")
            .hint("write `type: object`: a call always passes an object");
    }
}
