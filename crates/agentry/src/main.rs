//! The program: arguments, the real world, printing, exit codes. The only crate that prints or exits.

mod args;
mod command;
mod command_report;
mod config_cache;
mod disk;
mod engine;
mod home;
mod model_query;
mod output;
mod progress;
mod registries;
mod revision_world;
mod save;
#[cfg(feature = "otel")]
mod telemetry;
mod workspace_cache;

use std::process::ExitCode;

use crate::args::CliCommand;

fn main() -> ExitCode {
    // The sandbox starts this program as its helper, which must run before a second thread exists.
    #[cfg(target_os = "linux")]
    match std::env::args_os().nth(1).as_deref().and_then(std::ffi::OsStr::to_str) {
        Some(agentry_sandbox::HELPER) => return agentry_sandbox::serve().into(),
        Some(agentry_javascript::WORKER) => return agentry_javascript::serve().into(),
        _ => {}
    }
    let args = args::parse();
    output::choose_color(args.color);
    output::choose_quiet(args.quiet);
    registries::require_signatures(args.require_signature);
    if let Some(failure) = args.start_directory.as_deref().and_then(enter_directory) {
        output::complain(&failure);
        return failure.exit.into();
    }
    let result = match args.command {
        CliCommand::Check(args) => command::check::run(&args),
        CliCommand::Show(args) => command::show::run(&args),
        CliCommand::Hash(args) => Ok(command::hash::run(&args)),
        CliCommand::Convert(args) => command::convert::run(&args),
        CliCommand::Render(args) => command::render::run(&args),
        CliCommand::Import(args) => command::import::run(&args),
        CliCommand::Guard(args) => return command::guard::run(&args),
        CliCommand::Policy(args) => command::policy::run(&args),
        CliCommand::Push(args) => command::push::run(&args),
        CliCommand::Pull(args) => command::pull::run(&args),
        CliCommand::Search(args) => command::search::run(&args),
        CliCommand::List(args) => command::list::run(&args),
        CliCommand::Gc(args) => command::gc::run(&args),
        CliCommand::Keygen(args) => command::keygen::run(&args),
        CliCommand::Sign(args) => command::sign::run(&args),
        CliCommand::Verify(args) => command::verify::run(&args),
        CliCommand::Install(args) => command::install::run(&args),
        CliCommand::Agents(args) => command::agents::run(&args),
        CliCommand::Uninstall(args) => command::uninstall::run(&args),
        CliCommand::Export(args) => command::export::run(&args),
        CliCommand::History(args) => command::history::run(&args),
        CliCommand::Diff(args) => command::history::run_diff(&args),
        CliCommand::Rollback(args) => command::history::run_rollback(&args),
        CliCommand::Proposals(args) => command::proposals::run(&args),
        CliCommand::Teach(args) => command::teach::run(&args),
        CliCommand::Lock(args) => command::lock::run(&args),
        CliCommand::Audit(args) => command::audit::run(&args),
        CliCommand::Resolve(args) => command::resolve::run(&args),
        CliCommand::Run(args) => command::run::run(&args),
        CliCommand::Resume(args) => command::resume::run(&args),
        CliCommand::Consent(args) => command::consent::run(&args),
        CliCommand::Tools(args) => command::tools::run(&args),
        CliCommand::Test(args) => Ok(command::test::run(&args)),
        CliCommand::Runs(args) => command::runs::run(&args),
        CliCommand::Memory(args) => command::memory::run(&args),
        CliCommand::Receipts(args) => command::receipts::run(&args),
        CliCommand::Schedule(args) => command::schedule::run(&args),
        CliCommand::Serve(args) => command::serve::run(&args),
        CliCommand::Acp(args) => command::acp::run(&args),
        CliCommand::ShowOutput(args) => command::acp::show_output(&args),
        CliCommand::Mcp(args) => command::mcp::run(&args),
        CliCommand::Sandbox(args) => command::sandbox::run(&args),
        CliCommand::Doctor(args) => command::doctor::run(&args),
        CliCommand::Models(args) => command::models::run(&args),
        CliCommand::Config(args) => command::config::run(&args),
        CliCommand::Init(args) => command::init::run(&args),
        CliCommand::New(args) => command::new::run(&args),
        CliCommand::Schema(args) => command::schema::run(&args),
        CliCommand::Rules(args) => command::rules::run(&args),
        CliCommand::Completions(args) => Ok(command::shell::completions(&args)),
        CliCommand::Man(args) => command::shell::man(&args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            output::complain(&failure);
            failure.exit.into()
        }
    }
}

/// Goes to the directory of `-C`. Returns why that failed.
fn enter_directory(path: &str) -> Option<output::CliFailure> {
    let error = std::env::set_current_dir(path).err()?;
    let why = output::error_text(&error);
    let failure = output::CliFailure::new(format!("`{path}` cannot be entered: {why}"));
    Some(failure.hint("`-C` takes the directory to start in").about(path))
}
