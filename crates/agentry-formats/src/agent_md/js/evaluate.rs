//! Evaluates literals: the value of an expression, if it is known without running the code.

use std::collections::HashMap;

use agentry_text::{Span, Spanned, TreeEntry, TreeKey, TreeMap, TreeNode, TreeValue, limits};
use oxc_ast::ast::{
    ArrayExpressionElement, BinaryOperator, Expression, ObjectExpression, ObjectProperty,
    ObjectPropertyKind, PropertyKind, UnaryOperator,
};
use oxc_span::GetSpan;

use super::scope::BlockScope;

/// The most levels of nested spreads.
const MOST_DEPTH: usize = 16;

/// One property of an object literal.
#[derive(Clone)]
pub(super) struct LiteralProperty<'a> {
    /// Its key.
    pub(super) key: Spanned<String>,
    /// Its value; a method counts as a function.
    pub(super) value: &'a Expression<'a>,
    /// The span of the whole property.
    pub(super) span: Span,
}

/// The properties of an object literal, and the position of the first one that is not static.
#[derive(Default)]
pub(super) struct LiteralProperties<'a> {
    /// In order; for a repeated key, the last value.
    pub(super) list: Vec<LiteralProperty<'a>>,
    /// The first property that only running the code would show.
    pub(super) unknown: Option<Span>,
    places: HashMap<String, usize>,
}

impl<'a> LiteralProperties<'a> {
    /// Returns the property with that key.
    pub(super) fn get(&self, key: &str) -> Option<&LiteralProperty<'a>> {
        self.list.get(*self.places.get(key)?)
    }

    fn set(&mut self, property: LiteralProperty<'a>) {
        let next = self.list.len();
        let place = *self.places.entry(property.key.value.clone()).or_insert(next);
        match self.list.get_mut(place) {
            Some(other) => *other = property,
            None => self.list.push(property),
        }
    }
}

impl<'a> BlockScope<'a> {
    /// Returns the properties of an object, including those of spread literals.
    pub(super) fn properties(&self, object: &'a ObjectExpression<'a>) -> LiteralProperties<'a> {
        let mut found = LiteralProperties::default();
        self.collect(object, &mut found, 0);
        found
    }

    fn collect(
        &self,
        object: &'a ObjectExpression<'a>,
        found: &mut LiteralProperties<'a>,
        depth: usize,
    ) {
        let mut own: HashMap<String, Span> = HashMap::new();
        for property in &object.properties {
            let place = self.span(property.span());
            // Marked as unknown instead of dropped, so that the list does not count as complete.
            if depth > MOST_DEPTH || !self.spend() {
                found.unknown.get_or_insert(place);
                return;
            }
            match property {
                ObjectPropertyKind::ObjectProperty(property) => match self.property(property) {
                    Some(property) => {
                        let key = &property.key;
                        // Only keys of the same literal: a key that overrides a spread one is intended.
                        match own.get(&key.value) {
                            Some(first) => self.repeats(key, *first),
                            None => drop(own.insert(key.value.clone(), key.span)),
                        }
                        found.set(property);
                    }
                    None => drop(found.unknown.get_or_insert(place)),
                },
                ObjectPropertyKind::SpreadProperty(spread) => {
                    match self.resolve(&spread.argument) {
                        Expression::ObjectExpression(inner) => {
                            self.collect(inner, found, depth + 1);
                        }
                        _ => drop(found.unknown.get_or_insert(place)),
                    }
                }
            }
        }
    }

    fn property(&self, property: &'a ObjectProperty<'a>) -> Option<LiteralProperty<'a>> {
        // Getters, setters and computed keys are known only by running the code.
        let key = (!property.computed && property.kind == PropertyKind::Init)
            .then(|| property.key.static_name())
            .flatten()?;
        let key = Spanned::new(key.into_owned(), self.span(property.key.span()));
        Some(LiteralProperty { key, value: &property.value, span: self.span(property.span) })
    }

    /// Returns the value of `expression`; `None` if only running the code would show it.
    pub(super) fn evaluate(&self, expression: &'a Expression<'a>) -> Option<TreeNode> {
        self.value(expression, 0)
    }

    fn value(&self, expression: &'a Expression<'a>, depth: usize) -> Option<TreeNode> {
        if depth > limits::DEPTH || !self.spend() {
            return None;
        }
        let resolved = self.resolve(expression);
        let span = self.span(resolved.span());
        let value = match resolved {
            Expression::BooleanLiteral(literal) => TreeValue::Bool(literal.value),
            Expression::NullLiteral(_) => TreeValue::Null,
            Expression::NumericLiteral(literal) => number(literal.value),
            // A lone surrogate has no form in UTF-8.
            Expression::StringLiteral(literal) if !literal.lone_surrogates => {
                TreeValue::Str(literal.value.to_string())
            }
            Expression::TemplateLiteral(template) => {
                TreeValue::Str(template.single_quasi()?.to_string())
            }
            Expression::ArrayExpression(array) => {
                let items = array.elements.iter().map(|element| self.element(element, depth + 1));
                TreeValue::List(items.collect::<Option<_>>()?)
            }
            Expression::ObjectExpression(object) => self.map(object, depth + 1)?,
            Expression::UnaryExpression(unary)
                if unary.operator == UnaryOperator::UnaryNegation =>
            {
                negated(&self.value(&unary.argument, depth + 1)?.value)?
            }
            Expression::BinaryExpression(binary) if binary.operator == BinaryOperator::Addition => {
                let (left, right) =
                    (self.value(&binary.left, depth + 1)?, self.value(&binary.right, depth + 1)?);
                TreeValue::Str(format!("{}{}", left.as_str()?, right.as_str()?))
            }
            Expression::StaticMemberExpression(member) => {
                let object = self.value(&member.object, depth + 1)?;
                return object.as_map()?.get(member.property.name.as_str()).cloned();
            }
            _ => return None,
        };
        Some(TreeNode::new(value, span))
    }

    fn element(&self, element: &'a ArrayExpressionElement<'a>, depth: usize) -> Option<TreeNode> {
        self.value(element.as_expression()?, depth)
    }

    fn map(&self, object: &'a ObjectExpression<'a>, depth: usize) -> Option<TreeValue> {
        let properties = self.properties(object);
        if properties.unknown.is_some() {
            return None;
        }
        let entry = |property: &LiteralProperty<'a>| {
            let key = TreeKey::string(property.key.value.clone(), property.key.span);
            Some(TreeEntry { key, value: self.value(property.value, depth)? })
        };
        let entries: Option<Vec<_>> = properties.list.iter().map(entry).collect();
        Some(TreeValue::Map(TreeMap::from(entries?)))
    }
}

/// Converts a number of JavaScript; whole ones up to 2^53 become integers.
#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
fn number(value: f64) -> TreeValue {
    if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 {
        TreeValue::Int(value as i64)
    } else {
        TreeValue::Float(value)
    }
}

fn negated(value: &TreeValue) -> Option<TreeValue> {
    match value {
        TreeValue::Int(value) => Some(TreeValue::Int(-value)),
        TreeValue::Float(value) => Some(TreeValue::Float(-value)),
        _ => None,
    }
}
