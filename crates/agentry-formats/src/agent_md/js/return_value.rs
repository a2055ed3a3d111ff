//! The object that a block returns: `{ toolName: { fn, scheme } }`.

use agentry_text::suggestion::did_you_mean;
use agentry_text::{Findings, Span};
use oxc_ast::ast::{Expression, Statement};
use oxc_span::GetSpan;

use super::evaluate::{LiteralProperties, LiteralProperty};
use super::scope::{BlockScope, NameBinding};
use super::{ScriptedTool, ToolBlock, scheme};
use crate::agent_md::rules::{NO_RETURN, NOT_STATIC, TOOL_FUNCTION, TOOL_SHAPE};

/// The most levels of nested statements that are searched for a `return`.
const DEEPEST_RETURN: usize = 32;

/// Reads the value of a block's top-level `return`.
pub(super) fn read(scope: &BlockScope<'_>, findings: &mut Findings) -> ToolBlock {
    let body = &scope.program.body;
    let top = body.iter().position(|statement| matches!(statement, Statement::ReturnStatement(_)));
    // Statements after the top-level `return` never run.
    let before = body.iter().take(top.unwrap_or(body.len()));
    if let Some(inner) = before.into_iter().find(|statement| may_return(statement, 0)) {
        not_static(
            scope.span(inner.span()),
            "what the block returns depends on a condition",
            findings,
        );
        return ToolBlock::default();
    }
    let argument = top.and_then(|at| body.get(at)).and_then(|statement| match statement {
        Statement::ReturnStatement(statement) => statement.argument.as_ref(),
        _ => None,
    });
    match argument {
        Some(value) => object(scope, value, findings),
        None => {
            let span = scope.span(scope.program.span);
            findings
                .add(&NO_RETURN, Span { end: span.start, ..span }, "the block returns no tools")
                .hint("end it with `return { toolName: { fn, scheme } };`");
            ToolBlock::default()
        }
    }
}

fn not_static(span: Span, message: &str, findings: &mut Findings) {
    findings
        .add(&NOT_STATIC, span, message)
        .hint("return an object literal with the tools written out");
}

/// Whether a statement may contain a `return`, except inside functions.
fn may_return(statement: &Statement<'_>, depth: usize) -> bool {
    if depth > DEEPEST_RETURN {
        // Assumes the worst, so that the block counts as not static.
        return true;
    }
    let any = |list: &[Statement<'_>]| list.iter().any(|inner| may_return(inner, depth + 1));
    let one = |inner: &Statement<'_>| may_return(inner, depth + 1);
    match statement {
        Statement::ReturnStatement(_) => true,
        Statement::BlockStatement(block) => any(&block.body),
        Statement::IfStatement(statement) => {
            one(&statement.consequent) || statement.alternate.as_ref().is_some_and(one)
        }
        Statement::TryStatement(statement) => {
            any(&statement.block.body)
                || statement.handler.as_ref().is_some_and(|handler| any(&handler.body.body))
                || statement.finalizer.as_ref().is_some_and(|last| any(&last.body))
        }
        Statement::SwitchStatement(statement) => {
            statement.cases.iter().any(|case| any(&case.consequent))
        }
        Statement::ForStatement(statement) => one(&statement.body),
        Statement::ForInStatement(statement) => one(&statement.body),
        Statement::ForOfStatement(statement) => one(&statement.body),
        Statement::WhileStatement(statement) => one(&statement.body),
        Statement::DoWhileStatement(statement) => one(&statement.body),
        Statement::LabeledStatement(statement) => one(&statement.body),
        _ => false,
    }
}

fn object<'a>(
    scope: &BlockScope<'a>,
    value: &'a Expression<'a>,
    findings: &mut Findings,
) -> ToolBlock {
    let resolved = scope.resolve(value);
    let span = scope.span(value.span());
    match resolved {
        Expression::ObjectExpression(object) => {
            let LiteralProperties { list, unknown, .. } = scope.properties(object);
            if let Some(place) = unknown {
                not_static(place, "this tool can only be known by running the code", findings);
            }
            let tools =
                list.iter().filter_map(|property| tool(scope, property, findings)).collect();
            ToolBlock { tools, complete: unknown.is_none(), variables: Vec::new() }
        }
        other if is_plain(other) => {
            findings
                .add(&NO_RETURN, span, "the block returns no object of tools")
                .hint("end it with `return { toolName: { fn, scheme } };`");
            ToolBlock::default()
        }
        _ => {
            not_static(span, "what the block returns can only be known by running it", findings);
            ToolBlock::default()
        }
    }
}

/// Whether an expression is certainly not an object of tools: a literal, a list or a function.
fn is_plain(expression: &Expression<'_>) -> bool {
    expression.is_literal()
        || expression.is_function()
        || matches!(expression, Expression::ArrayExpression(_) | Expression::TemplateLiteral(_))
}

fn tool<'a>(
    scope: &BlockScope<'a>,
    property: &LiteralProperty<'a>,
    findings: &mut Findings,
) -> Option<ScriptedTool> {
    let key = &property.key;
    let unread = ScriptedTool { name: key.clone(), description: None, parameters: None };
    let parts = match scope.resolve(property.value) {
        Expression::ObjectExpression(object) => scope.properties(object),
        other if is_plain(other) => {
            findings
                .add(
                    &TOOL_SHAPE,
                    key.span,
                    format!("`{}` is not an object with `fn` and `scheme`", key.value),
                )
                .hint("write `{ fn, scheme }`");
            return None;
        }
        _ => {
            let message = format!("`{}` can only be known by running the code", key.value);
            not_static(property.span, &message, findings);
            // The tool exists, so its name counts for duplicates and for `required.startup`.
            return Some(unread);
        }
    };
    function(scope, key.value.as_str(), &parts, property, findings);
    match parts.get("scheme") {
        Some(found) => Some(scheme::read(scope, key, found, findings)),
        None => {
            missing("scheme", property, &parts, findings);
            Some(unread)
        }
    }
}

/// Reports a missing part of a tool, unless an unknown property may provide it.
fn missing(
    part: &str,
    tool: &LiteralProperty<'_>,
    parts: &LiteralProperties<'_>,
    findings: &mut Findings,
) {
    let name = &tool.key.value;
    if let Some(place) = parts.unknown {
        let message =
            format!("whether `{name}` has a `{part}` can only be known by running the code");
        return not_static(place, &message, findings);
    }
    let hint = match part {
        "fn" => "add `fn`, the function that is called",
        _ => "add `scheme` with `name`, `description` and `parameters`",
    };
    findings.add(&TOOL_SHAPE, tool.key.span, format!("tool `{name}` has no `{part}`")).hint(hint);
}

fn function<'a>(
    scope: &BlockScope<'a>,
    tool: &str,
    parts: &LiteralProperties<'a>,
    property: &LiteralProperty<'a>,
    findings: &mut Findings,
) {
    let Some(found) = parts.get("fn") else { return missing("fn", property, parts, findings) };
    let resolved = scope.resolve(found.value);
    let span = scope.span(found.value.span());
    match resolved {
        Expression::Identifier(name)
            // A name that occurs once can neither be defined nor assigned anywhere in the block.
            if scope.bound(name.name.as_str()).is_none() && scope.is_lonely(name.name.as_str()) =>
        {
            let name = name.name.as_str();
            findings
                .add(
                    &TOOL_FUNCTION,
                    span,
                    format!("`fn` of tool `{tool}` is `{name}`, which the block does not define"),
                )
                .hint_opt(did_you_mean(name, scope.functions()));
        }
        other
            if !other.is_function()
                && (is_plain(other) || matches!(other, Expression::ObjectExpression(_))) =>
        {
            findings
                .add(&TOOL_FUNCTION, span, format!("`fn` of tool `{tool}` is not a function"))
                .hint("give it a function: `fn: async (args, { env, fetch }) => …`");
        }
        // A call or a member may well give a function.
        _ => {}
    }
}

impl<'a> BlockScope<'a> {
    /// Returns the names of functions, for «did you mean».
    fn functions(&self) -> impl Iterator<Item = &'a str> {
        self.names().into_iter().filter(|name| match self.bound(name) {
            Some(NameBinding::Function) => true,
            Some(NameBinding::Value(value)) => value.is_function(),
            _ => false,
        })
    }
}
