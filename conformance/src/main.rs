//! Tests offline how the real clients treat rendered agents.
//!
//! A client is installed ([`install`]) and started in its own project ([`scratch`]) with the files that
//! were rendered for it ([`rendering`]). Its model is a server on loopback that plays a script
//! ([`server`], [`script`]), so that it makes exactly the tool calls that the suite tests ([`session`]).
//! The results of the client are compared with the policy of the source ([`sheet`], [`suite`]).
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for people at a terminal")]

mod calls;
mod client;
mod clients;
mod install;
mod mcp;
mod process;
mod race;
mod rendering;
mod report;
mod scratch;
mod script;
mod server;
mod serving;
mod session;
mod sheet;
mod source;
mod suite;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use client::Client;
use suite::{End, House};

const USAGE: &str = "\
usage: agentry-conformance COMMAND

  run [--installed] [CLIENT...]   asks the clients; installs them first, or takes those that are there
  mcp                             tests the MCP client with its conformance suite and with real servers
  serving                         drives agents with the official clients of ACP and MCP
  race                            measures Agentry beside the clients; a line of JSON each
  installed                       says which clients are installed; fails if none is

Exit codes: 0 all is well, 1 a client is milder or different, 2 bad usage, 3 no client could be asked.
Where `CI` is set, a client that cannot be installed is a defect as well: 1.
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match house().and_then(|house| dispatch(&house, &words)) {
        Ok(End::Well) => ExitCode::SUCCESS,
        Ok(End::Defects) => ExitCode::FAILURE,
        Ok(End::Skipped) => ExitCode::from(3),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(house: &House, words: &[&str]) -> Result<End, String> {
    match words {
        ["run", "--installed", names @ ..] => suite::run(&house.installed_only(), &clients(names)?),
        ["run", names @ ..] => suite::run(house, &clients(names)?),
        ["mcp"] => Ok(mcp::run(house)),
        ["serving"] => Ok(serving::run(house)),
        ["race"] => race::run(house),
        ["installed"] => {
            let found = Client::ALL.map(|client| install::find(client, &house.target));
            let names: Vec<_> = found.iter().flatten().map(|it| it.client.name()).collect();
            println!("{}", names.join(" "));
            Ok(if names.is_empty() { End::Skipped } else { End::Well })
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// The clients with these names; all if there are none.
fn clients(names: &[&str]) -> Result<Vec<Client>, String> {
    if names.is_empty() {
        return Ok(Client::ALL.to_vec());
    }
    let known = || Client::ALL.map(Client::name).join(", ");
    let find = |name: &&str| {
        Client::named(name).ok_or_else(|| format!("`{name}` is no client; there are {}", known()))
    };
    names.iter().map(find).collect()
}

/// The program under test lies beside this one; both are in the build directory.
fn house() -> Result<House, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let directory = own.parent().unwrap_or(Path::new("."));
    let target = directory.parent().unwrap_or(directory).to_owned();
    let agentry = directory.join(format!("agentry{}", std::env::consts::EXE_SUFFIX));
    if !agentry.is_file() {
        return Err(format!(
            "`{}` is not built; `cargo xtask conformance` builds it",
            agentry.display()
        ));
    }
    let home = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    // With `CI` set, every client must be tested.
    let required = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    Ok(House { agentry, target, home, install: true, required })
}
