//! Checks a script without running it: that it parses, and that it has a function `run`.

use agentry_text::{Findings, SourceFile, Span};
use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Declaration, ExportDefaultDeclarationKind, ExportSpecifier, Expression, Function, Program,
    Statement, VariableDeclaration,
};
use oxc_parser::Parser;
use oxc_span::SourceType;

use super::rules::{SCRIPT_SYNTAX, SCRIPT_TOO_DEEP, SCRIPT_WITHOUT_RUN};
use crate::javascript::{MOST_LEVELS, with_stack};

/// The most syntax errors that are reported for one script.
const MOST_ERRORS: usize = 3;

/// Reports every problem that would keep the script from being called.
pub(crate) fn check(source: &SourceFile, findings: &mut Findings) {
    if with_stack(&source.text, || parse(source, findings)).is_none() {
        findings
            .add(
                &SCRIPT_TOO_DEEP,
                Span::start_of(source.id),
                "the script is nested too deeply to read",
            )
            .hint(format!("at most {MOST_LEVELS} levels are read"));
    }
}

fn parse(source: &SourceFile, findings: &mut Findings) {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &source.text, SourceType::mjs()).parse();
    for error in parsed.diagnostics.iter().take(MOST_ERRORS) {
        let place = error.labels.first().map_or(source.whole(), |label| {
            let start = (label.offset() as usize).min(source.text.len());
            let end = (start + label.len() as usize).min(source.text.len());
            Span::new(source.id, start, end)
        });
        let message = format!("the script is not JavaScript: {}", lower(&error.message));
        findings.add(&SCRIPT_SYNTAX, place, message).hint_opt(error.help.as_deref().map(lower));
    }
    // The program is incomplete after a syntax error, so nothing else is checked.
    if parsed.diagnostics.is_empty() {
        entry(source, &parsed.program, findings);
    }
}

fn entry(source: &SourceFile, program: &Program<'_>, findings: &mut Findings) {
    if !program.body.iter().any(is_entry) {
        findings
            .add(&SCRIPT_WITHOUT_RUN, Span::start_of(source.id), "the script has no function `run`")
            .hint("write `async function run(ctx, inputs) { … }`");
    }
}

/// Returns why a script cannot be called: it does not parse, or has no function `run`.
pub fn entry_problem(text: &str) -> Option<String> {
    let read = || {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, text, SourceType::mjs()).parse();
        match parsed.diagnostics.first() {
            Some(error) => Some(format!("the script is not JavaScript: {}", lower(&error.message))),
            None if parsed.program.body.iter().any(is_entry) => None,
            None => Some("the script has no function `run(ctx, inputs)`".to_owned()),
        }
    };
    let too_deep = || Some("the script is nested too deeply to read".to_owned());
    with_stack(text, read).unwrap_or_else(too_deep)
}

/// Whether a statement defines `run`: as a function or a variable, exported or not, or as the default export. What
/// a variable, an import or a call holds is known only when the script runs.
fn is_entry(statement: &Statement<'_>) -> bool {
    let is_run = |function: &Function<'_>| function.name().is_some_and(|name| name == "run");
    match statement {
        Statement::FunctionDeclaration(function) => is_run(function),
        Statement::VariableDeclaration(variables) => declares_run(variables),
        Statement::ExportDeclaration(export) => match &export.declaration {
            Declaration::FunctionDeclaration(function) => is_run(function),
            Declaration::VariableDeclaration(variables) => declares_run(variables),
            _ => false,
        },
        // A default export is the entry under any name.
        Statement::ExportDefaultDeclaration(export) => match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(_) => true,
            other => other.as_expression().is_some_and(can_be_function),
        },
        Statement::ExportNamedDeclaration(export) => exports_entry(&export.specifiers),
        Statement::ExportFromDeclaration(export) => exports_entry(&export.specifiers),
        Statement::ExportAllDeclaration(export) => export.exported.is_none(),
        Statement::ImportDeclaration(import) => {
            let names = import.specifiers.iter().flatten();
            names.map(|it| it.local().name).any(|name| name == "run")
        }
        _ => false,
    }
}

fn declares_run(variables: &VariableDeclaration<'_>) -> bool {
    variables.declarations.iter().any(|variable| {
        let names = variable.id.get_binding_identifiers();
        let is_whole = variable.id.get_binding_identifier().is_some();
        let fits = variable.init.as_ref().is_none_or(can_be_function) || !is_whole;
        fits && names.iter().any(|it| it.name == "run")
    })
}

fn exports_entry(specifiers: &[ExportSpecifier<'_>]) -> bool {
    specifiers.iter().any(|it| matches!(it.exported.name().as_str(), "run" | "default"))
}

/// Whether an expression may be a function, as far as that can be seen without running it.
fn can_be_function(expression: &Expression<'_>) -> bool {
    !expression.is_literal()
        && !matches!(
            expression,
            Expression::ArrayExpression(_)
                | Expression::ClassExpression(_)
                | Expression::ObjectExpression(_)
                | Expression::TemplateLiteral(_)
        )
}

/// Converts a message of the parser to our style: lower case, no full stop.
fn lower(message: &str) -> String {
    let message = message.trim_end_matches('.');
    let mut chars = message.chars();
    let first = chars.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + chars.as_str()
}

#[cfg(test)]
mod tests {
    use agentry_text::FileId;
    use proptest::prelude::*;

    use super::*;

    const PIECES: &[&str] = &[
        "[",
        "(",
        "{",
        "!",
        "~",
        "- ",
        "+ ",
        "a=>",
        "a=",
        "a?",
        "a:",
        "if(a)",
        "if(a){}else ",
        "new ",
        "typeof ",
        "await ",
        "`${",
        "a?b:",
        "for(;;)",
        "f(function(){",
        "a**",
        "x=\n",
        "if(a)\n",
        "do ",
        "while(a)",
        "a,",
        "a.",
        "a\n",
        "async ",
        "class{",
        "...",
        "get ",
        "case a:",
        "<",
        "/",
        "1+",
        "a??",
        "yield ",
        "import(",
        "super.",
        "x`",
        "a&&",
        "a||",
        "({a:",
        "[a=",
        "return ",
        "throw ",
        "switch(a){",
        "try{",
        "label:",
        "else ",
        "async x=>",
        "function*f(){",
        "a?.",
        "a[",
        "delete ",
        "void ",
        "in ",
        "=",
        ";",
        "}",
        ")",
        "]",
        "let ",
        "var ",
        "a",
        "'",
        "\"",
        "\\",
        "//",
        "/*",
        "`",
        "}",
        ")",
        "]",
        "export ",
        "default ",
        "import ",
        "from ",
        "with(a)",
        "a instanceof ",
        "&&=",
        "0x",
        "#a",
        "@a ",
    ];

    /// The forms that a worker finds, and those that it does not.
    #[test]
    fn every_form_of_run_is_an_entry() {
        let entries = [
            "function run() {}",
            "export async function run() {}",
            "export default function start() {}",
            "export default () => 1;",
            "const run = () => 1;",
            "export const run = async (ctx) => 1;",
            "import { x } from './x.mjs'; export let run; run = x;",
            "var other = 1, run = other ? f : g;",
            "const { run } = { run: () => 1 };",
            "const add = () => 1; export { add as run };",
            "const add = () => 1; export { add as default };",
            "const add = () => 1; export default add;",
            "export default wrap(() => 1);",
            "export { start as run } from './a.mjs';",
            "export * from './a.mjs';",
            "import run from './a.mjs';",
            "import { start as run } from './a.mjs';",
        ];
        for text in entries {
            assert_eq!(entry_problem(text), None, "{text}");
        }
        let others = [
            "function start() {}",
            "export const start = () => 1;",
            "const run = 5;",
            "export const run = {};",
            "export default { run: () => 1 };",
            "export default class { run() {} }",
            "export { run as start } from './a.mjs';",
            "export * as run from './a.mjs';",
            "module.exports = { run() {} };",
            "{ function run() {} }",
        ];
        for text in others {
            let expected = "the script has no function `run(ctx, inputs)`";
            assert_eq!(entry_problem(text).as_deref(), Some(expected), "{text}");
        }
    }

    fn survives(text: &str) {
        let mut findings = Findings::default();
        check(&SourceFile::new(FileId(0), "run.js", text), &mut findings);
    }

    /// Code within the nesting limit must not overflow the stack of a thread.
    #[test]
    fn repeated_code_pieces_do_not_overflow_the_stack() {
        for piece in PIECES {
            for times in [100, 9_000] {
                survives(&piece.repeat(times));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_code_is_checked_without_a_panic(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..500)) {
            survives(&pieces.concat());
        }

        #[test]
        fn long_repeated_code_does_not_overflow_the_stack(
            pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..5),
            times in 1..2_000_usize,
        ) {
            survives(&pieces.concat().repeat(times));
        }
    }
}
