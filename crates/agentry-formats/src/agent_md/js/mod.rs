//! JavaScript, parsed but never run: finds the value of a block's top-level `return`. A part that only
//! running the code would show is reported as unknown, never guessed.

mod evaluate;
mod parameters;
mod return_value;
mod scheme;
mod scope;

use std::collections::HashSet;

use agentry_text::tree_rules::DUPLICATE_KEY;
use agentry_text::{Data, Findings, SourceFile, Span, Spanned};
use oxc_allocator::Allocator;
use oxc_ast::ast::Statement;
use oxc_parser::config::TokensParserConfig;
use oxc_parser::{Kind, ParseOptions, Parser, ParserReturn, Token};
use oxc_span::{GetSpan, SourceType};

use super::rules::{JAVASCRIPT_NESTING, JAVASCRIPT_SYNTAX};
use crate::javascript::{MOST_LEVELS, with_stack};
use crate::text_checks::is_variable;
use scope::BlockScope;

/// The content of one block.
#[derive(Debug, Default)]
pub(super) struct ToolBlock {
    /// The tools, in order.
    pub(super) tools: Vec<ScriptedTool>,
    /// Whether the list of tools is complete.
    pub(super) complete: bool,
    /// The environment variables that the code reads by name.
    pub(super) variables: Vec<Spanned<String>>,
}

/// A tool, as far as it can be read statically.
#[derive(Debug, Clone)]
pub(super) struct ScriptedTool {
    /// The key under which it is returned.
    pub(super) name: Spanned<String>,
    /// The description in its scheme.
    pub(super) description: Option<Spanned<String>>,
    /// The JSON Schema of its arguments.
    pub(super) parameters: Option<Spanned<Data>>,
}

/// The syntax errors of a block that are reported; the first usually causes the others.
const MOST_SYNTAX_ERRORS: usize = 3;

/// Reads the block at `code` of `source`.
pub(super) fn read(source: &SourceFile, code: Span, findings: &mut Findings) -> ToolBlock {
    match with_stack(source.slice(code), || parse(source, code, findings)) {
        Some(block) => block,
        None => {
            findings
                .add(
                    &JAVASCRIPT_NESTING,
                    Span { end: code.start, ..code },
                    "the code is nested too deeply to read",
                )
                .hint(format!("at most {MOST_LEVELS} levels are read"));
            ToolBlock::default()
        }
    }
}

/// Whether `text` parses as the code of a block.
pub(super) fn parses(text: &str) -> bool {
    let parse = || {
        let allocator = Allocator::default();
        parser(&allocator, text).parse().diagnostics.is_empty()
    };
    with_stack(text, parse).unwrap_or(false)
}

/// Parses code as the body of an asynchronous function in strict mode, as in a module.
fn parser<'a>(allocator: &'a Allocator, code: &'a str) -> Parser<'a> {
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    Parser::new(allocator, code, SourceType::mjs()).with_options(options)
}

fn parse(source: &SourceFile, code: Span, findings: &mut Findings) -> ToolBlock {
    let text = source.slice(code);
    let allocator = Allocator::default();
    if syntax_errors(&parser(&allocator, text).parse(), text, code, findings) {
        return ToolBlock::default();
    }
    // The parser's tokens are reliable only for code without errors, so the code is parsed a second time.
    let parsed = parser(&allocator, text).with_config(TokensParserConfig).parse();
    let scope = BlockScope::new(&parsed.program, &parsed.tokens, text, code);
    let mut block = return_value::read(&scope, findings);
    block.variables = variables(&scope);
    for (key, first) in scope.repeated() {
        findings
            .add(&DUPLICATE_KEY, key.span, format!("the key `{}` is here twice", key.value))
            .related(first, "it was first set here")
            .hint("keep one of them; JavaScript takes the last");
    }
    block
}

/// Reports the errors of the parser; returns whether there were any.
fn syntax_errors(
    parsed: &ParserReturn<'_>,
    text: &str,
    code: Span,
    findings: &mut Findings,
) -> bool {
    let place = |start: usize, end: usize| {
        // A label of the parser may point past the end of the code.
        let (start, end) = (start.min(text.len()), end.min(text.len()));
        Span::new(code.file, start, end).shifted(code.range().start)
    };
    for error in parsed.diagnostics.iter().take(MOST_SYNTAX_ERRORS) {
        let label = error.labels.first();
        let span = label.map_or(place(0, 0), |label| {
            let start = label.offset() as usize;
            place(start, start + label.len() as usize)
        });
        let message = format!(
            "the code does not parse: {}",
            lower_first(error.message.trim_end_matches('.'))
        );
        findings
            .add(&JAVASCRIPT_SYNTAX, span, message)
            .hint_opt(error.help.as_deref().map(lower_first));
    }
    // `mjs` allows `import` and `export`, but a block is the body of a function.
    let modules = parsed.program.body.iter().filter(|statement| is_module_declaration(statement));
    let mut found = !parsed.diagnostics.is_empty();
    for statement in modules {
        let span = statement.span();
        findings
            .add(
                &JAVASCRIPT_SYNTAX,
                place(span.start as usize, span.end as usize),
                "`import` and `export` cannot stand in a tools block",
            )
            .hint("a block is the body of a function: give the tools back with `return`");
        found = true;
    }
    found
}

fn is_module_declaration(statement: &Statement<'_>) -> bool {
    statement.is_module_declaration()
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}

/// Returns the names that the code reads from `env`, each once: `env.X`, `env?.X`, `env["X"]`.
fn variables(scope: &BlockScope<'_>) -> Vec<Spanned<String>> {
    let mut seen = HashSet::new();
    let read = |window: &[Token]| {
        let [object, sign, name] = window else { return None };
        let text = match (sign.kind(), name.kind()) {
            (Kind::LBrack, Kind::Str) => scope.token(name).trim_matches(['"', '\'']),
            (Kind::Dot | Kind::QuestionDot, _) => scope.token(name),
            _ => return None,
        };
        let is_read = scope.token(object) == "env" && is_constant(text) && seen.insert(text);
        is_read.then(|| Spanned::new(text.to_owned(), scope.span(name.span())))
    };
    scope.tokens.windows(3).filter_map(read).collect()
}

/// Whether `text` is spelt like an environment variable, not like a method.
fn is_constant(text: &str) -> bool {
    is_variable(text) && !text.contains(|c: char| c.is_ascii_lowercase())
}
