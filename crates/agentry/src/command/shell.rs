//! Completions and manual pages, from the one description of the arguments.

use clap::CommandFactory as _;

use crate::args::{Args, Completions, Man};
use crate::output::{Exit, Outcome, print};

pub(crate) fn completions(args: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "agentry", &mut script);
    print(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}

pub(crate) fn man(args: &Man) -> Outcome {
    std::fs::create_dir_all(&args.output)?;
    clap_mangen::generate_to(Args::command(), &args.output)?;
    print(&format!("wrote the pages to {}\n", args.output));
    Ok(Exit::Done)
}
