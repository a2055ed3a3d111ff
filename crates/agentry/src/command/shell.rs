//! Completions and manual pages, generated from the argument definitions.

use agentry_compile::text::report::visible;
use clap::CommandFactory as _;

use crate::args::{CliArguments, CompletionsArguments, ManArguments};
use crate::command::suggestion::one_of;
use crate::output::{CliFailure, CliOutcome, ExitKind, error_text, print};

pub(crate) fn completions(args: &CompletionsArguments) -> ExitKind {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CliArguments::command(), "agentry", &mut script);
    print(&String::from_utf8_lossy(&script));
    ExitKind::Done
}

pub(crate) fn man(args: &ManArguments) -> CliOutcome {
    match &args.output {
        Some(directory) => write_pages(directory),
        None => print_page(&args.command),
    }
}

fn write_pages(directory: &str) -> CliOutcome {
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(program(), directory))
        .map_err(|error| {
            CliFailure::new(format!("`{directory}` cannot be written: {}", error_text(&error)))
        })?;
    print(&format!("wrote the pages to {}\n", visible(directory)));
    Ok(ExitKind::Done)
}

/// Prints the page of a command as it is, for `man -l -`.
fn print_page(names: &[String]) -> CliOutcome {
    let mut program = program();
    // The full names of commands (`agentry policy why`) exist once the command is built.
    program.build();
    let mut page = &program;
    for name in names {
        page = page.find_subcommand(name).ok_or_else(|| {
            let known = page.get_subcommands().map(clap::Command::get_name);
            CliFailure::new(format!("`{}` has no command `{}`", page.get_name(), visible(name)))
                .hint(one_of(name, known, "`agentry --help` lists them"))
        })?;
    }
    let mut text = Vec::new();
    let rendered = clap_mangen::Man::new(page.clone()).render(&mut text);
    rendered.map_err(|error| CliFailure::new(error_text(&error)))?;
    print(&String::from_utf8_lossy(&text));
    Ok(ExitKind::Done)
}

/// The program without `help`, which would have a page for every command once more.
fn program() -> clap::Command {
    CliArguments::command().disable_help_subcommand(true)
}
