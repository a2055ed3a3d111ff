//! Checks `[[ … ]]`: string and file tests are harmless, arithmetic ones evaluate their operands.

use brush_parser::ast::{BinaryPredicate, ExtendedTestExpr, UnaryPredicate};

use super::arithmetic;
use super::state::ShellState;

/// Reports an operand that is evaluated as an expression.
pub(super) fn check(expression: &ExtendedTestExpr, state: &ShellState) -> Result<(), &'static str> {
    match expression {
        ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
            check(left, state)?;
            check(right, state)
        }
        ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => {
            check(inner, state)
        }
        ExtendedTestExpr::UnaryTest(
            UnaryPredicate::ShellVariableIsSetAndAssigned
            | UnaryPredicate::ShellVariableIsSetAndNameRef
            | UnaryPredicate::ShellOptionEnabled,
            _,
        ) => Err("`-v` can run commands"),
        ExtendedTestExpr::BinaryTest(predicate, left, right) if is_arithmetic(predicate) => {
            let is_harmless = |raw: &str| {
                let quoted = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                arithmetic::is_harmless(quoted.unwrap_or(raw), state)
            };
            if is_harmless(&left.value) && is_harmless(&right.value) {
                Ok(())
            } else {
                Err("arithmetic on something unknown can run commands")
            }
        }
        ExtendedTestExpr::UnaryTest(..) | ExtendedTestExpr::BinaryTest(..) => Ok(()),
    }
}

fn is_arithmetic(predicate: &BinaryPredicate) -> bool {
    matches!(
        predicate,
        BinaryPredicate::ArithmeticEqualTo
            | BinaryPredicate::ArithmeticNotEqualTo
            | BinaryPredicate::ArithmeticLessThan
            | BinaryPredicate::ArithmeticLessThanOrEqualTo
            | BinaryPredicate::ArithmeticGreaterThan
            | BinaryPredicate::ArithmeticGreaterThanOrEqualTo
    )
}

/// One token of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TestToken<'a> {
    /// An operator: `-f`, `==`, `&&`.
    Operator(String),
    /// A raw operand.
    Operand(&'a str),
}

/// Lists the operators and operands in their order.
pub(super) fn tokens(expression: &ExtendedTestExpr) -> Vec<TestToken<'_>> {
    let joined = |left, operator: &str, right| {
        let mut all = tokens(left);
        all.push(TestToken::Operator(operator.to_owned()));
        all.extend(tokens(right));
        all
    };
    match expression {
        ExtendedTestExpr::And(left, right) => joined(left, "&&", right),
        ExtendedTestExpr::Or(left, right) => joined(left, "||", right),
        ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => tokens(inner),
        ExtendedTestExpr::UnaryTest(predicate, word) => {
            vec![TestToken::Operator(predicate.to_string()), TestToken::Operand(&word.value)]
        }
        ExtendedTestExpr::BinaryTest(predicate, left, right) => vec![
            TestToken::Operand(&left.value),
            TestToken::Operator(predicate.to_string()),
            TestToken::Operand(&right.value),
        ],
    }
}
