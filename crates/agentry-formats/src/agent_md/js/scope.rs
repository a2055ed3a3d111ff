//! What the names of a block stand for.

use std::cell::Cell;

use agentry_text::{Span, limits};
use oxc_ast::ast::{Declaration, Expression, Program, Statement};
use oxc_parser::{Kind, Token};

/// A parsed block with the names that it binds at its top level.
pub(super) struct Scope<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) tokens: &'a [Token],
    text: &'a str,
    place: Span,
    bindings: Vec<(&'a str, Bound<'a>)>,
    /// Values that may still be looked at, so that names which double each time come to an end.
    budget: Cell<usize>,
}

/// What a name stands for.
#[derive(Clone, Copy)]
pub(super) enum Bound<'a> {
    /// This value, for good.
    Value(&'a Expression<'a>),
    /// A function.
    Function,
    /// Something that only running the code would tell.
    Unknown,
}

/// Names that lead to names that lead to names.
const LONGEST_CHAIN: usize = 32;

impl<'a> Scope<'a> {
    pub(super) fn new(
        program: &'a Program<'a>,
        tokens: &'a [Token],
        text: &'a str,
        place: Span,
    ) -> Self {
        let budget = Cell::new(limits::NODES);
        let mut scope = Self { program, tokens, text, place, bindings: Vec::new(), budget };
        for statement in &program.body {
            scope.declare(statement);
        }
        scope
    }

    fn declare(&mut self, statement: &'a Statement<'a>) {
        match statement.as_declaration() {
            Some(Declaration::VariableDeclaration(declaration)) => {
                for declarator in &declaration.declarations {
                    match (declarator.id.get_binding_identifier(), &declarator.init) {
                        (Some(name), Some(value)) => {
                            self.bind(name.name.as_str(), Bound::Value(value));
                        }
                        _ => {
                            for name in declarator.id.get_binding_identifiers() {
                                self.bind(name.name.as_str(), Bound::Unknown);
                            }
                        }
                    }
                }
            }
            Some(Declaration::FunctionDeclaration(function)) => {
                if let Some(name) = &function.id {
                    self.bind(name.name.as_str(), Bound::Function);
                }
            }
            _ => {}
        }
    }

    /// A name that is bound twice, or whose value is changed later, says nothing.
    fn bind(&mut self, name: &'a str, bound: Bound<'a>) {
        let bound = if self.is_changed(name) { Bound::Unknown } else { bound };
        match self.bindings.iter_mut().find(|(other, _)| *other == name) {
            Some((_, other)) => *other = Bound::Unknown,
            None => self.bindings.push((name, bound)),
        }
    }

    /// Whether the code assigns to `name`, or to something in it, after its declaration.
    fn is_changed(&self, name: &str) -> bool {
        let mut declared = false;
        self.tokens.iter().enumerate().any(|(at, token)| {
            let before = at.checked_sub(1).and_then(|at| self.tokens.get(at));
            let is_member =
                before.is_some_and(|token| matches!(token.kind(), Kind::Dot | Kind::QuestionDot));
            if self.token(token) != name || is_member {
                return false;
            }
            if !declared {
                declared = true;
                return false;
            }
            self.changes(at)
        })
    }

    /// Whether the name at token `at` is assigned to there: `x =`, `x.y =`, `x[`, `assign(x`.
    fn changes(&self, at: usize) -> bool {
        let kind = |at: usize| self.tokens.get(at).map_or(Kind::Eof, Token::kind);
        let mut next = at + 1;
        while matches!(kind(next), Kind::Dot | Kind::QuestionDot) {
            next += 2;
        }
        let is_assigned = kind(next).is_assignment_operator()
            || matches!(kind(next), Kind::LBrack | Kind::Plus2 | Kind::Minus2);
        let counted = |at: usize| matches!(kind(at), Kind::Plus2 | Kind::Minus2 | Kind::Delete);
        let caller = at
            .checked_sub(2)
            .and_then(|at| self.tokens.get(at))
            .map_or("", |token| self.token(token));
        let is_filled = matches!(caller, "assign" | "defineProperty" | "defineProperties");
        is_assigned || is_filled || at.checked_sub(1).is_some_and(counted)
    }

    /// The text of a token.
    pub(super) fn token(&self, token: &Token) -> &'a str {
        self.text.get(token.start() as usize..token.end() as usize).unwrap_or("")
    }

    /// A range of the block as a span of the file.
    pub(super) fn span(&self, span: oxc_span::Span) -> Span {
        Span::new(self.place.file, span.start as usize, span.end as usize)
            .shifted(self.place.range().start)
    }

    /// What `name` stands for; `None` when nothing at the top level binds it.
    pub(super) fn bound(&self, name: &str) -> Option<Bound<'a>> {
        self.bindings.iter().find(|(other, _)| *other == name).map(|(_, bound)| *bound)
    }

    /// Every name that is bound.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.bindings.iter().map(|(name, _)| *name)
    }

    /// Whether `name` occurs only once in the whole block, so that nothing can have defined it.
    pub(super) fn is_lonely(&self, name: &str) -> bool {
        self.tokens.iter().filter(|token| self.token(token) == name).count() == 1
    }

    /// Takes one value from the budget.
    pub(super) fn spend(&self) -> bool {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(1));
        left > 0
    }

    /// The expression behind parentheses, `Object.freeze` and names.
    pub(super) fn resolve(&self, expression: &'a Expression<'a>) -> &'a Expression<'a> {
        let mut found = expression;
        for _ in 0..LONGEST_CHAIN {
            found = match found {
                Expression::ParenthesizedExpression(inner) => &inner.expression,
                Expression::Identifier(name) => match self.bound(name.name.as_str()) {
                    Some(Bound::Value(value)) => value,
                    _ => return found,
                },
                Expression::CallExpression(call)
                    if call.callee.is_specific_member_access("Object", "freeze") =>
                {
                    match call.arguments.first().and_then(|argument| argument.as_expression()) {
                        Some(frozen) => frozen,
                        None => return found,
                    }
                }
                _ => return found,
            };
        }
        found
    }
}
