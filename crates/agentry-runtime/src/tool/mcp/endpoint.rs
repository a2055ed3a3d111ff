//! How the servers of a run are reached: programs in its sandbox, addresses under its policy.

use std::io;
use std::sync::Arc;

use agentry_mcp::{ClientFuture, HttpGate, ProgramStarter, ProgramStreams, StartedProgram};
use url::Url;

use super::super::web_client::{WebClient, parse, touch};
use super::super::{CommandStreams, StartedCommand, ToolTouch};
use crate::commands::{CommandStarter, ProgramLaunch};
use crate::event::CallJudgement;

/// The program of a server, started like a command of the run, with an environment of its own.
pub struct ServerProgram {
    /// Starts it.
    pub commands: Arc<dyn CommandStarter>,
    /// The program, with an environment and files of its own.
    pub launch: ProgramLaunch,
}

impl ProgramStarter for ServerProgram {
    fn start(&self, streams: ProgramStreams) -> io::Result<StartedProgram> {
        let ProgramStreams { input, output, errors } = streams;
        let streams = CommandStreams { input, output, errors };
        let started = self.commands.start_program(self.launch.clone(), streams)?;
        let StartedCommand { ended, guard } = started;
        Ok(StartedProgram { ended, guard })
    }
}

/// Judges what a connection touches; returns the verdict and its reason.
pub type AddressVerdict = Arc<dyn Fn(&ToolTouch) -> (CallJudgement, String) + Send + Sync>;

/// Connects to addresses that the policy allows, as `webfetch` does.
pub struct JudgedGate {
    judge: AddressVerdict,
    client: WebClient,
    /// Whether the user agreed to an address about which the policy asks.
    is_approved: bool,
}

impl JudgedGate {
    /// Creates the gate. `is_approved` says that the user agreed to the address of the server.
    pub fn new(judge: AddressVerdict, is_approved: bool) -> Self {
        Self { judge, client: WebClient::default(), is_approved }
    }
}

impl HttpGate for JudgedGate {
    fn client<'a>(&'a self, url: &'a Url) -> ClientFuture<'a, Result<reqwest::Client, String>> {
        Box::pin(async move {
            let url = parse(url.as_str())?;
            let (verdict, reason) = (self.judge)(&touch(&url));
            match verdict {
                CallJudgement::Allow => {}
                CallJudgement::Ask if self.is_approved => {}
                CallJudgement::Ask | CallJudgement::Deny => {
                    return Err(format!("refused: {reason}"));
                }
            }
            // A stream of events has no end, so the requests are bounded one by one.
            self.client.pinned(&url, &|touch| (self.judge)(touch), None).await
        })
    }
}

/// What a connection to this address touches.
pub fn address_touch(url: &Url) -> ToolTouch {
    touch(url)
}
