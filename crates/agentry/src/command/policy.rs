//! `agentry policy`: which rule decides, what a change allows, whether the examples hold.

//DIFF pub(crate) mod diff;
pub(crate) mod test;
pub(crate) mod why;

use crate::args::{Policy, PolicyCommand};
use crate::output::Outcome;

pub(crate) fn run(args: &Policy) -> Outcome {
    match &args.command {
        PolicyCommand::Why(args) => why::run(args),
        PolicyCommand::Diff(_) => Err(crate::output::Failure::new("not yet")),
        PolicyCommand::Test(args) => test::run(args),
    }
}
