//! Reads a script without running it: is it JavaScript, and does it have a `run` to be called?

use agentry_text::{Findings, Source, Span};
use oxc_allocator::Allocator;
use oxc_ast::ast::{Declaration, ExportDefaultDeclarationKind, Program, Statement};
use oxc_parser::Parser;
use oxc_span::{GetSpan as _, SourceType};

use super::nesting;
use super::rules::{SCRIPT_IMPORT, SCRIPT_SYNTAX, SCRIPT_TOO_DEEP, SCRIPT_WITHOUT_RUN};

/// The most syntax errors of one script that are reported.
const MOST_ERRORS: usize = 10;

/// Reports everything that would keep the script from being called.
pub(super) fn check(source: &Source, findings: &mut Findings) {
    if let Some(at) = nesting::too_deep(&source.text) {
        let place = Span::new(source.id, at, at + 1);
        findings
            .add(&SCRIPT_TOO_DEEP, place, "the script is nested too deep from here on")
            .hint("split it into functions");
        return;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &source.text, SourceType::mjs()).parse();
    for error in parsed.diagnostics.iter().take(MOST_ERRORS) {
        let place = error.labels.first().map_or(source.whole(), |label| {
            let start = label.offset() as usize;
            Span::new(source.id, start, start + label.len() as usize)
        });
        let message = format!("the script is not JavaScript: {}", lower(&error.message));
        findings.add(&SCRIPT_SYNTAX, place, message).hint_opt(error.help.as_deref().map(lower));
    }
    if parsed.diagnostics.is_empty() {
        imports(source, &parsed.program, findings);
        entry(source, &parsed.program, findings);
    }
}

fn imports(source: &Source, program: &Program<'_>, findings: &mut Findings) {
    for statement in &program.body {
        let from = match statement {
            Statement::ImportDeclaration(_) | Statement::ExportAllDeclaration(_) => true,
            Statement::ExportFromDeclaration(_) => true,
            _ => false,
        };
        if from {
            let range = statement.span();
            let place = Span::new(source.id, range.start as usize, range.end as usize);
            findings
                .add(&SCRIPT_IMPORT, place, "a script cannot import anything")
                .hint("put the code into the script, or call a tool through `ctx.tool`");
        }
    }
}

fn entry(source: &Source, program: &Program<'_>, findings: &mut Findings) {
    if !program.body.iter().any(is_entry) {
        findings
            .add(&SCRIPT_WITHOUT_RUN, Span::start_of(source.id), "the script has no function `run`")
            .hint("write `async function run(ctx, inputs) { … }`");
    }
}

/// Whether a statement defines `run`: as a function, exported or not, or as the default export.
fn is_entry(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::FunctionDeclaration(function) => function.name().is_some_and(|name| name == "run"),
        Statement::ExportNamedDeclaration(export) => match &export.declaration {
            Some(Declaration::FunctionDeclaration(function)) => {
                function.name().is_some_and(|name| name == "run")
            }
            _ => false,
        },
        Statement::ExportDefaultDeclaration(export) => matches!(
            export.declaration,
            ExportDefaultDeclarationKind::FunctionDeclaration(_)
                | ExportDefaultDeclarationKind::FunctionExpression(_)
                | ExportDefaultDeclarationKind::ArrowFunctionExpression(_)
        ),
        _ => false,
    }
}

/// A foreign message in the voice of ours: lower case, no full stop.
fn lower(message: &str) -> String {
    let message = message.trim_end_matches('.');
    let mut chars = message.chars();
    let first = chars.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + chars.as_str()
}
