//! The entry point for every task of a contributor: `cargo xtask ci` is what CI runs.
//!
//! Each command is a file. It needs only Rust; the absence of a further tool is reported.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for people at a terminal")]

mod bench;
mod catalogue;
mod ci;
mod conformance;
mod deny;
mod dist;
mod docs;
mod files;
mod fuzz;
mod generate;
mod install;
mod policies;
mod process;
mod step;
mod targets;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use step::Outcome;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci [--fast]                      everything that CI checks; --fast leaves out rustdoc and other systems
  test [ARGUMENTS]                 the tests, as CI runs them
  tidy                             arrows between crates, sizes, left-over words, the code map
  generate [--check]               rewrites the generated files, or says that one is stale
  catalogue PRICES.json            the catalogue of models, from a public price list
  docs [--check]                   rustdoc and the links of the pages; --check: the links only
  deny                             licences, bans and sources of the dependencies
  fuzz [TARGET] [--seconds N]      fuzzes one reader, or each in turn (60 seconds)
  policies [COUNT]                 renders generated policies for every target (10,000), proved
  conformance [CLIENT...]          asks the real clients about rendered agents; installs them
  mcp                              the MCP client, by its conformance suite and real servers
  serving                          agents for editors and programs, by the official clients of ACP and MCP
  bench [ARGUMENTS]                the benchmarks
  dist [--all | --binary PATH]     the packages, each installed in an empty place; --all: also the static ones
  dist --static ARCH               the packages of the static program for x86_64 or aarch64
  dist --twice                     whether the static program has the same bytes if it is built twice
  dist --empty-root PATH           the tests of the command line, with a static program in an empty root
  targets [TRIPLE...]              whether the code compiles for musl, macOS and Windows
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match enter_root().and_then(|()| dispatch(&words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[&str]) -> Result<(), String> {
    match words {
        ["ci"] => ci::run(ci::Extent::Full),
        ["ci", "--fast"] => ci::run(ci::Extent::Fast),
        ["test", arguments @ ..] => process::run(&mut ci::tests(arguments)),
        ["tidy"] => tidy::run(),
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["catalogue", prices] => catalogue::run(prices),
        ["docs"] => process::run(&mut docs::rustdoc()).and_then(|()| docs::check_links()),
        ["docs", "--check"] => docs::check_links(),
        ["deny"] => deny::run(),
        ["fuzz", arguments @ ..] => fuzz::run(&fuzz::Request::parse(arguments)?),
        ["policies", arguments @ ..] => policies::run(policies::count(arguments)?),
        ["conformance", arguments @ ..] => conformance::run(arguments),
        ["mcp"] => finished(conformance::mcp()?),
        ["serving"] => finished(conformance::serving()?),
        ["bench", arguments @ ..] => bench::run(arguments),
        ["dist", arguments @ ..] => dist::run(&dist::DistRequest::parse(arguments)?),
        ["targets", triples @ ..] => finished(targets::run(triples)?),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("`cargo xtask {}` is not a command\n\n{USAGE}", words.join(" "))),
    }
}

/// A command that the user typed fails if it was skipped.
fn finished(outcome: Outcome) -> Result<(), String> {
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::Skipped(why) => Err(why),
    }
}

/// Changes to the root of the repository, so that every path below is relative to it.
fn enter_root() -> Result<(), String> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = manifest.parent().unwrap_or(&manifest);
    std::env::set_current_dir(root).map_err(|error| format!("cannot enter the repository: {error}"))
}
