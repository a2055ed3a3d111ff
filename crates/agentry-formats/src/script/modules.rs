//! The files that a script imports. All of them are in the directory of the agent, and are read with it, so
//! that they are part of its digest.

use agentry_model::ScriptModule;
use agentry_text::{Findings, SourceFile, Span, Spanned, path};
use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

use super::is_javascript;
use super::rules::{SCRIPT_IMPORT, SCRIPT_SYNTAX};
use crate::javascript::with_stack;
use crate::{AgentPackage, PathBase, PathPresence};

/// The most files that one script imports.
const MOST_MODULES: usize = 100;
/// The most bytes of all of them.
const MOST_BYTES: usize = 1 << 20;

/// One import of a file.
struct ModuleImport {
    name: String,
    span: Span,
    /// Whether it is an expression, which may fail when it runs.
    is_dynamic: bool,
}

/// Reads the files that a script imports, and those that they import.
pub(crate) fn read_modules(
    entry: &str,
    source: &SourceFile,
    package: &mut AgentPackage<'_>,
    findings: &mut Findings,
) -> Vec<ScriptModule> {
    let mut modules: Vec<ScriptModule> = Vec::new();
    let mut open = vec![(path::shortest(entry).into_owned(), source.clone())];
    let mut bytes = 0;
    while let Some((importer, source)) = open.pop() {
        for import in imports(&source) {
            let path = match target(&importer, &import.name, package) {
                Ok(path) => path,
                Err(_) if import.is_dynamic => continue,
                Err(why) => {
                    let hint = "import only files of the agent's directory, as in `./lib.mjs`";
                    findings.add(&SCRIPT_IMPORT, import.span, why).hint(hint);
                    continue;
                }
            };
            let is_read = path == path::shortest(entry) || modules.iter().any(|it| it.path == path);
            if is_read {
                continue;
            }
            let Some(read) = package.read(&path, findings) else { continue };
            bytes += read.text.len();
            if modules.len() >= MOST_MODULES || bytes > MOST_BYTES {
                let message = format!(
                    "the script imports more than {MOST_MODULES} files or {MOST_BYTES} bytes"
                );
                findings.add(&SCRIPT_IMPORT, import.span, message).hint("import less");
                return modules;
            }
            check_syntax(&read, findings);
            let source = Spanned::new(read.text.to_string(), read.whole());
            modules.push(ScriptModule { path: path.clone(), source });
            open.push((path, read));
        }
    }
    modules.sort_by(|one, other| one.path.cmp(&other.path));
    modules
}

/// Returns the path of an imported file, or why it cannot be imported.
fn target(importer: &str, name: &str, package: &mut AgentPackage<'_>) -> Result<String, String> {
    if !name.starts_with("./") && !name.starts_with("../") {
        return Err(format!("a script cannot import `{name}`"));
    }
    let (directory, _) = path::split(importer);
    let joined = path::join(directory, name);
    let Some(path) = path::normal(&joined).filter(|path| !path::climbs(path)) else {
        return Err(format!("`{name}` leaves the agent's directory"));
    };
    if !is_javascript(&path) {
        return Err(format!("`{name}` is no JavaScript file"));
    }
    match package.files.probe(PathBase::Agent, &path) {
        PathPresence::File => Ok(path),
        PathPresence::Outside => Err(format!("`{name}` leaves the agent's directory")),
        PathPresence::Missing | PathPresence::Directory => {
            Err(format!("there is no file `{path}` to import"))
        }
    }
}

/// Lists the imports of a file, in order. None if it cannot be parsed, which is reported elsewhere.
fn imports(source: &SourceFile) -> Vec<ModuleImport> {
    let read = || {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, &source.text, SourceType::mjs()).parse();
        let record = &parsed.module_record;
        let mut found = Vec::new();
        for (name, requests) in &record.requested_modules {
            for request in requests {
                let span =
                    Span::new(source.id, request.span.start as usize, request.span.end as usize);
                found.push(ModuleImport { name: name.to_string(), span, is_dynamic: false });
            }
        }
        for import in &record.dynamic_imports {
            let (start, end) = (import.module_request.start, import.module_request.end);
            let span = Span::new(source.id, start as usize, end as usize);
            // Only a plain string is known before the code runs.
            let text = source.slice(span);
            let quoted = ['"', '\''].iter().find_map(|quote| {
                text.strip_prefix(*quote)?.strip_suffix(*quote).filter(|it| !it.contains('\\'))
            });
            if let Some(name) = quoted {
                found.push(ModuleImport { name: name.to_owned(), span, is_dynamic: true });
            }
        }
        found.sort_by_key(|import| import.span.range().start);
        found
    };
    with_stack(&source.text, read).unwrap_or_default()
}

fn check_syntax(source: &SourceFile, findings: &mut Findings) {
    let parse = || {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, &source.text, SourceType::mjs()).parse();
        let error = parsed.diagnostics.first()?;
        Some((
            error.labels.first().map_or(0, |label| label.offset() as usize),
            error.message.to_string(),
        ))
    };
    let found = with_stack(&source.text, parse)
        .unwrap_or_else(|| Some((0, "it is nested too deeply".to_owned())));
    if let Some((at, message)) = found {
        let at = at.min(source.text.len());
        let message = format!("the module is not JavaScript: {}", message.to_lowercase());
        let place = Span::new(source.id, at, at);
        findings.add(&SCRIPT_SYNTAX, place, message.trim_end_matches('.').to_owned());
    }
}
