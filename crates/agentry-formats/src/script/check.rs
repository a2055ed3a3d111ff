//! Checks a script without running it: that it parses, and that it has a function `run`.

use agentry_text::{Findings, SourceFile, Span};
use oxc_allocator::Allocator;
use oxc_ast::ast::{Declaration, ExportDefaultDeclarationKind, Function, Program, Statement};
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

/// Whether a statement defines `run`: as a function, exported or not, or as the default export.
fn is_entry(statement: &Statement<'_>) -> bool {
    let is_run = |function: &Function<'_>| function.name().is_some_and(|name| name == "run");
    match statement {
        Statement::FunctionDeclaration(function) => is_run(function),
        Statement::ExportDeclaration(export) => match &export.declaration {
            Declaration::FunctionDeclaration(function) => is_run(function),
            _ => false,
        },
        // A default export is the entry under any name.
        Statement::ExportDefaultDeclaration(export) => matches!(
            export.declaration,
            ExportDefaultDeclarationKind::FunctionDeclaration(_)
                | ExportDefaultDeclarationKind::FunctionExpression(_)
                | ExportDefaultDeclarationKind::ArrowFunctionExpression(_)
        ),
        _ => false,
    }
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
