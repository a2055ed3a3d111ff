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

/// Lists all operands.
pub(super) fn words(expression: &ExtendedTestExpr) -> Vec<&str> {
    match expression {
        ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => {
            let mut all = words(left);
            all.extend(words(right));
            all
        }
        ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => words(inner),
        ExtendedTestExpr::UnaryTest(_, word) => vec![&word.value],
        ExtendedTestExpr::BinaryTest(_, left, right) => vec![&left.value, &right.value],
    }
}
