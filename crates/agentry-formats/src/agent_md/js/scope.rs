//! What the names of a block stand for.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use agentry_text::{Span, Spanned, limits};
use oxc_ast::ast::{Declaration, Expression, Program, Statement};
use oxc_parser::{Kind, Token};

/// A parsed block with the names that it binds at its top level.
pub(super) struct BlockScope<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) tokens: &'a [Token],
    text: &'a str,
    place: Span,
    bindings: HashMap<&'a str, NameBinding<'a>>,
    /// How often each name occurs, members aside.
    uses: HashMap<&'a str, usize>,
    /// Values that may still be looked at, so that names which double each time come to an end.
    budget: Cell<usize>,
    /// Keys that an object literal has before, each with the place where it was first.
    repeated: RefCell<Vec<(Spanned<String>, Span)>>,
}

/// What a name stands for.
#[derive(Clone, Copy)]
pub(super) enum NameBinding<'a> {
    /// This value, for good.
    Value(&'a Expression<'a>),
    /// A function.
    Function,
    /// Something that only running the code would tell.
    Unknown,
}

/// Names that lead to names that lead to names.
const LONGEST_CHAIN: usize = 32;

impl<'a> BlockScope<'a> {
    pub(super) fn new(
        program: &'a Program<'a>,
        tokens: &'a [Token],
        text: &'a str,
        place: Span,
    ) -> Self {
        let budget = Cell::new(limits::NODES);
        let (bindings, uses) = (HashMap::new(), HashMap::new());
        let repeated = RefCell::default();
        let mut scope = Self { program, tokens, text, place, bindings, uses, budget, repeated };
        let mut declared = HashSet::new();
        for statement in &program.body {
            scope.declare(statement, &mut declared);
        }
        scope.forget_changed(&declared);
        scope
    }

    /// Remembers that `key` was in its object before, at `first`.
    pub(super) fn repeats(&self, key: &Spanned<String>, first: Span) {
        let mut repeated = self.repeated.borrow_mut();
        if repeated.iter().all(|(known, _)| known.span != key.span) {
            repeated.push((key.clone(), first));
        }
    }

    /// The keys that were in their object before.
    pub(super) fn repeated(&self) -> Vec<(Spanned<String>, Span)> {
        self.repeated.take()
    }

    /// Binds the names of a statement, and marks where they are declared.
    fn declare(&mut self, statement: &'a Statement<'a>, declared: &mut HashSet<u32>) {
        match statement.as_declaration() {
            Some(Declaration::VariableDeclaration(declaration)) => {
                for declarator in &declaration.declarations {
                    let whole = declarator.id.get_binding_identifier();
                    let bound = match (whole, &declarator.init) {
                        (Some(_), Some(value)) => NameBinding::Value(value),
                        _ => NameBinding::Unknown,
                    };
                    for name in declarator.id.get_binding_identifiers() {
                        declared.insert(name.span.start);
                        self.bind(name.name.as_str(), bound);
                    }
                }
            }
            Some(Declaration::FunctionDeclaration(function)) => {
                if let Some(name) = &function.id {
                    self.bind(name.name.as_str(), NameBinding::Function);
                }
            }
            _ => {}
        }
    }

    /// A name that is bound twice says nothing.
    fn bind(&mut self, name: &'a str, bound: NameBinding<'a>) {
        self.bindings
            .entry(name)
            .and_modify(|bound| *bound = NameBinding::Unknown)
            .or_insert(bound);
    }

    /// A name that is assigned to, or that something in it is, says nothing either.
    fn forget_changed(&mut self, declared: &HashSet<u32>) {
        let mut before = Kind::Eof;
        for (at, token) in self.tokens.iter().enumerate() {
            let is_member = matches!(before, Kind::Dot | Kind::QuestionDot);
            before = token.kind();
            if is_member {
                continue;
            }
            let name = self.token(token);
            if name.starts_with(|c: char| c.is_ascii_punctuation() && !matches!(c, '_' | '$')) {
                continue;
            }
            *self.uses.entry(name).or_default() += 1;
            if self.bindings.contains_key(name)
                && !declared.contains(&token.start())
                && self.changes(at)
            {
                self.bindings.insert(name, NameBinding::Unknown);
            }
        }
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
    pub(super) fn bound(&self, name: &str) -> Option<NameBinding<'a>> {
        self.bindings.get(name).copied()
    }

    /// Every name that is bound, sorted.
    pub(super) fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<_> = self.bindings.keys().copied().collect();
        names.sort_unstable();
        names
    }

    /// Whether `name` occurs only once in the whole block, so that nothing can have defined it.
    pub(super) fn is_lonely(&self, name: &str) -> bool {
        self.uses.get(name) == Some(&1)
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
                    Some(NameBinding::Value(value)) => value,
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
