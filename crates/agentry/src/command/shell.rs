//! Completions and manual pages, generated from the argument definitions.

use agentry_compile::text::report::visible;
use clap::CommandFactory as _;

use crate::args::{CliArguments, CompletionsArguments, ManArguments};
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, print};

pub(crate) fn completions(args: &CompletionsArguments) -> ExitKind {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CliArguments::command(), "agentry", &mut script);
    print(&String::from_utf8_lossy(&script));
    ExitKind::Done
}

pub(crate) fn man(args: &ManArguments) -> CliOutcome {
    std::fs::create_dir_all(&args.output)
        .and_then(|()| clap_mangen::generate_to(CliArguments::command(), &args.output))
        .map_err(|error| {
            CliFailure::new(format!("`{}` cannot be written: {}", args.output, error_text(&error)))
        })?;
    print(&format!("wrote the pages to {}\n", visible(&args.output)));
    Ok(ExitKind::Done)
}
