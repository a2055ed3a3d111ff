//! The bindings of a block: the value of each name that can be known without running the code.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use agentry_text::{Span, Spanned, limits};
use oxc_ast::ast::{Declaration, Expression, Program, Statement};
use oxc_parser::{Kind, Token};

/// A parsed block with its top-level bindings.
pub(super) struct BlockScope<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) tokens: &'a [Token],
    text: &'a str,
    place: Span,
    bindings: HashMap<&'a str, NameBinding<'a>>,
    /// The number of occurrences of each name, not counting members.
    uses: HashMap<&'a str, usize>,
    /// The number of values that may still be visited. It bounds names that double in size at each level.
    budget: Cell<usize>,
    /// The repeated keys of object literals, each with the span of the first occurrence.
    repeated: RefCell<Vec<(Spanned<String>, Span)>>,
}

/// The binding of a name.
#[derive(Clone, Copy)]
pub(super) enum NameBinding<'a> {
    /// A value that never changes.
    Value(&'a Expression<'a>),
    /// A function.
    Function,
    /// A value that only running the code would show.
    Unknown,
}

/// The longest chain of names that refer to names.
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

    /// Records that `key` repeats a key of the same object at `first`.
    pub(super) fn repeats(&self, key: &Spanned<String>, first: Span) {
        let mut repeated = self.repeated.borrow_mut();
        // One literal may be visited several times, through several names.
        if repeated.iter().all(|(known, _)| known.span != key.span) {
            repeated.push((key.clone(), first));
        }
    }

    /// Takes the repeated keys.
    pub(super) fn repeated(&self) -> Vec<(Spanned<String>, Span)> {
        self.repeated.take()
    }

    /// Binds the names of a statement, and records the positions of the declarations.
    fn declare(&mut self, statement: &'a Statement<'a>, declared: &mut HashSet<u32>) {
        match statement.as_declaration() {
            Some(Declaration::VariableDeclaration(declaration)) => {
                for declarator in &declaration.declarations {
                    // The values inside a pattern such as `{ a, b }` are not traced.
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

    /// Binds a name. The value of a name that is bound twice is unknown.
    fn bind(&mut self, name: &'a str, bound: NameBinding<'a>) {
        self.bindings
            .entry(name)
            .and_modify(|bound| *bound = NameBinding::Unknown)
            .or_insert(bound);
    }

    /// Marks every name as unknown that is assigned to, or whose members are.
    fn forget_changed(&mut self, declared: &HashSet<u32>) {
        let mut before = Kind::Eof;
        for (at, token) in self.tokens.iter().enumerate() {
            let is_member = matches!(before, Kind::Dot | Kind::QuestionDot);
            before = token.kind();
            if is_member {
                continue;
            }
            let name = self.token(token);
            // Operators and brackets are tokens as well.
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

    /// Whether the name at token `at` is changed there: `x =`, `x.y =`, `x[`, `assign(x`.
    fn changes(&self, at: usize) -> bool {
        let kind = |at: usize| self.tokens.get(at).map_or(Kind::Eof, Token::kind);
        let mut next = at + 1;
        // Skips members such as `.a.b`: two tokens each.
        while matches!(kind(next), Kind::Dot | Kind::QuestionDot) {
            next += 2;
        }
        // `x[` may assign to a computed member, so it counts as a change.
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

    /// Returns the text of a token.
    pub(super) fn token(&self, token: &Token) -> &'a str {
        self.text.get(token.start() as usize..token.end() as usize).unwrap_or("")
    }

    /// Converts a range of the block to a span of the file.
    pub(super) fn span(&self, span: oxc_span::Span) -> Span {
        Span::new(self.place.file, span.start as usize, span.end as usize)
            .shifted(self.place.range().start)
    }

    /// Returns the binding of `name`; `None` when nothing at the top level binds it.
    pub(super) fn bound(&self, name: &str) -> Option<NameBinding<'a>> {
        self.bindings.get(name).copied()
    }

    /// Returns every bound name, sorted.
    pub(super) fn names(&self) -> Vec<&'a str> {
        let mut names: Vec<_> = self.bindings.keys().copied().collect();
        names.sort_unstable();
        names
    }

    /// Whether `name` occurs exactly once in the whole block, so that nothing can have defined it.
    pub(super) fn is_lonely(&self, name: &str) -> bool {
        self.uses.get(name) == Some(&1)
    }

    /// Takes one value from the budget; `false` when it is used up.
    pub(super) fn spend(&self) -> bool {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(1));
        left > 0
    }

    /// Returns the expression behind parentheses, `Object.freeze` and names.
    pub(super) fn resolve(&self, expression: &'a Expression<'a>) -> &'a Expression<'a> {
        let mut found = expression;
        // Bounded, because names can form a cycle: `const a = b, b = a`.
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
