//! What can be typed to serve agents.

use std::net::SocketAddr;
use std::path::PathBuf;

use agentry_server::TokenScope;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::{AskFallback, ResultFormat};

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// Agents, or directories that are searched [default: the current directory]
    pub(crate) agents: Vec<String>,
    /// The address of the page and of the API
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7654", value_parser = listen_address)]
    pub(crate) listen: SocketAddr,
    /// Open the page in a browser
    #[arg(long, conflicts_with = "schedules")]
    pub(crate) open: bool,
    /// A further address by which it is reached, like `https://agents.example`
    #[arg(long, value_name = "URL", value_parser = public_url)]
    pub(crate) host: Vec<String>,
    /// The certificate, as a PEM file; other machines reach the server only with one
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of the certificate, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Share runs with other machines by this database, like `postgres://user@host/database` [env: `AGENTRY_ENGINE`]
    #[arg(long, value_name = "URL")]
    pub(crate) engine: Option<String>,
    /// Also carry out runs that are queued in the engine
    #[arg(long, conflicts_with = "schedules")]
    pub(crate) worker: bool,
    /// The name of the workspace: workers with the same label have the same directory at the same place [default: the
    /// machine and its directory]
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Vec<String>,
    /// Also carry out runs of a Git commit; each gets a fresh directory below this one
    #[arg(long, value_name = "DIRECTORY", requires = "worker")]
    pub(crate) checkouts: Option<PathBuf>,
    /// How many runs of the engine it carries out at once
    #[arg(long, value_name = "N", default_value = "4", requires = "worker")]
    pub(crate) at_once: usize,
    /// Only fire the schedules of the agents, without the page and the API
    #[arg(long)]
    pub(crate) schedules: bool,
    /// What happens if a call of a scheduled run needs an approval [default: park, so that it is answered on the
    /// page; deny with `--schedules`]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) on_ask: Option<AskFallback>,
    /// What happens to the runs of the server when it is stopped
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        default_value = "finish",
        conflicts_with = "schedules"
    )]
    pub(crate) on_stop: RunsAtStop,
}

/// What becomes of the runs of a server that is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunsAtStop {
    /// They go on: each ends its turn, or is parked at its next question
    Finish,
    /// They are parked at their question or stopped; `agentry resume` goes on with them
    Park,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Give another device or a program its own token
    Pair(PairArguments),
    /// Create the tables of an engine, or upgrade them to the version of this program
    Migrate {
        /// The database [env: `AGENTRY_ENGINE`]
        #[arg(long, value_name = "URL")]
        engine: Option<String>,
    },
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PairArguments {
    #[command(subcommand)]
    pub(crate) command: Option<PairCommand>,
    /// Where the device reaches the server, like `https://agents.example`
    #[arg(long, value_name = "URL", value_parser = public_url)]
    pub(crate) public_url: Option<String>,
    /// Print a token for a program of this name instead
    #[arg(long, value_name = "NAME", conflicts_with = "public_url")]
    pub(crate) program: Option<String>,
    /// What the token may be used for: read, approve, run or admin
    #[arg(long, value_name = "SCOPE", default_value = "approve")]
    pub(crate) scope: TokenScope,
    /// The name of the device in the list
    #[arg(long, value_name = "NAME", default_value = "device")]
    pub(crate) name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PairCommand {
    /// List the paired devices and programs
    List {
        /// How to report
        #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
        format: ResultFormat,
    },
    /// Revoke the token of a device or a program
    Revoke {
        /// Its id
        id: String,
    },
}

/// The address to listen on. The parser of the standard library does not say what it expects.
fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "an address and a port like `127.0.0.1:7654` are expected".to_owned())
}

/// An address with its scheme and nothing behind the host.
fn public_url(text: &str) -> Result<String, String> {
    let wrong = || "an address like `https://agents.example` is expected".to_owned();
    let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
    let host = rest.strip_suffix('/').unwrap_or(rest);
    let is_plain =
        !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c));
    if !matches!(scheme, "http" | "https") || !is_plain {
        return Err(wrong());
    }
    Ok(format!("{scheme}://{}", host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_urls_need_a_scheme_and_a_host() {
        let cases = [
            ("https://Agents.example/", Some("https://agents.example")),
            ("http://10.0.0.1:8080", Some("http://10.0.0.1:8080")),
            ("agents.example", None),
            ("https://agents.example/path", None),
            ("https://user@agents.example", None),
            ("ftp://agents.example", None),
            ("https://", None),
        ];
        for (text, expected) in cases {
            assert_eq!(public_url(text).ok().as_deref(), expected, "{text}");
        }
    }
}
