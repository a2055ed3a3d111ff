//! Finds the shortest text for each pair of outputs of two machines.

use std::ops::ControlFlow;

use super::machine::{NONE, StateMachine, StatePairs};
use super::{MOST_STATES, MachineTooLarge};

/// Calls `found` with each pair of outputs when it is first reached, and with the shortest text that has it.
/// Among equally short texts, the most readable one is used.
pub(crate) fn outputs(
    left: &StateMachine,
    right: &StateMachine,
    found: impl FnMut(u32, u32, &dyn Fn() -> String) -> ControlFlow<()>,
) -> Result<(), MachineTooLarge> {
    follow(left, right, |next| next != (0, 0), found)
}

/// Like [`outputs`], for texts to which the left machine gives an output.
pub(crate) fn outputs_within(
    left: &StateMachine,
    right: &StateMachine,
    mut found: impl FnMut(u32, &dyn Fn() -> String) -> ControlFlow<()>,
) -> Result<(), MachineTooLarge> {
    follow(
        left,
        right,
        |next| next.0 != 0,
        |one, two, text| match one {
            NONE => ControlFlow::Continue(()),
            _ => found(two, text),
        },
    )
}

fn follow(
    left: &StateMachine,
    right: &StateMachine,
    matters: impl Fn((u32, u32)) -> bool,
    mut found: impl FnMut(u32, u32, &dyn Fn() -> String) -> ControlFlow<()>,
) -> Result<(), MachineTooLarge> {
    let (alphabet, letters) = left.alphabet.refine(&right.alphabet);
    let readable = alphabet.readable();
    let mut pairs = StatePairs::new(left.start, right.start);
    // The predecessor through which each pair was first reached.
    let mut from: Vec<(u32, char)> = vec![(0, '\0')];
    let mut at = 0;
    while let Some(&(a, b)) = pairs.list.get(at) {
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let (one, two) = (left.output(a), right.output(b));
        if one != NONE || two != NONE {
            let text = || spell(&from, number);
            if found(one, two, &text).is_break() {
                return Ok(());
            }
        }
        for (letter, c) in &readable {
            let (x, y) = letters[*letter];
            let next = (left.step(a, usize::from(x)), right.step(b, usize::from(y)));
            if matters(next) && pairs.number(next.0, next.1) as usize == from.len() {
                from.push((number, *c));
            }
        }
        at += 1;
        if at > 4 * MOST_STATES {
            return Err(MachineTooLarge);
        }
    }
    Ok(())
}

fn spell(from: &[(u32, char)], mut at: u32) -> String {
    let mut text = Vec::new();
    while let Some(&(before, c)) = from.get(at as usize).filter(|_| at != 0) {
        text.push(c);
        at = before;
    }
    text.into_iter().rev().collect()
}
