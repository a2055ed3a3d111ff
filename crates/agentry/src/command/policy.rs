//! `agentry policy`: shows, explains, compares and tests what an agent may do.

pub(crate) mod diff;
pub(crate) mod show;
mod since;
mod since_report;
pub(crate) mod test;
pub(crate) mod why;

use crate::args::{PolicyArguments, PolicyCommand};
use crate::output::CliOutcome;

pub(crate) fn run(args: &PolicyArguments) -> CliOutcome {
    match &args.command {
        PolicyCommand::Show(args) => show::run(args),
        PolicyCommand::Why(args) => why::run(args),
        PolicyCommand::Diff(args) => diff::run(args),
        PolicyCommand::Test(args) => test::run(args),
    }
}
