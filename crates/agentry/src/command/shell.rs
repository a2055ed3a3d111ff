//! Completions and manual pages, from the one description of the arguments.

use agentry_compile::text::report::visible;
use clap::CommandFactory as _;

use crate::args::{Args, Completions, Man};
use crate::output::{Exit, Failure, Outcome, print, said};

pub(crate) fn completions(args: &Completions) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "agentry", &mut script);
    print(&String::from_utf8_lossy(&script));
    Exit::Done
}

pub(crate) fn man(args: &Man) -> Outcome {
    std::fs::create_dir_all(&args.output)
        .and_then(|()| clap_mangen::generate_to(Args::command(), &args.output))
        .map_err(|error| {
            Failure::new(format!("`{}` cannot be written: {}", args.output, said(&error)))
        })?;
    print(&format!("wrote the pages to {}\n", visible(&args.output)));
    Ok(Exit::Done)
}
