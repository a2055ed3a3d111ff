//! The program: arguments, the real world, printing, exit codes. The only room that prints or exits.

mod args;
mod ask;
mod command;
mod configs;
mod disk;
mod home;
mod output;
mod progress;
mod save;
#[cfg(feature = "otel")]
mod telemetry;
mod workspaces;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    // The program starts itself once more to confine commands: before it has a second thread.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|first| first == agentry_sandbox::HELPER) {
        return agentry_sandbox::serve().into();
    }
    let args = Args::parse();
    let result = match args.command {
        Command::Check(args) => command::check::run(&args),
        Command::Show(args) => command::show::run(&args),
        Command::Hash(args) => Ok(command::hash::run(&args)),
        Command::Convert(args) => command::convert::run(&args),
        Command::Render(args) => command::render::run(&args),
        Command::Import(args) => command::import::run(&args),
        Command::Guard(args) => return command::guard::run(&args),
        Command::Policy(args) => command::policy::run(&args),
        Command::Push(args) => command::push::run(&args),
        Command::Pull(args) => command::pull::run(&args),
        Command::Search(args) => command::search::run(&args),
        Command::List(args) => command::list::run(&args),
        Command::Gc(args) => command::gc::run(&args),
        Command::Keygen(args) => command::keygen::run(&args),
        Command::Sign(args) => command::sign::run(&args),
        Command::Verify(args) => command::verify::run(&args),
        Command::Lock(args) => command::lock::run(&args),
        Command::Resolve(args) => command::resolve::run(&args),
        Command::Run(args) => command::run::run(&args),
        Command::Resume(args) => command::resume::run(&args),
        Command::Consent(args) => command::consent::run(&args),
        Command::Test(args) => Ok(command::test::run(&args)),
        Command::Runs(args) => command::runs::run(&args),
        Command::Sandbox(args) => command::sandbox::run(&args),
        Command::Doctor(args) => command::doctor::run(&args),
        Command::New(args) => command::new::run(&args),
        Command::Schema(args) => command::schema::run(&args),
        Command::Rules(args) => command::rules::run(&args),
        Command::Completions(args) => Ok(command::shell::completions(&args)),
        Command::Man(args) => command::shell::man(&args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::complain(&failure);
            failure.exit.into()
        }
    }
}
