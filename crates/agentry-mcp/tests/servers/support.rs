//! Starts scripted servers, and hears what they do during calls.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentry_mcp::{
    CallListener, ClientFuture, ClientRuntime, ElicitationAnswer, ElicitationRequest, McpClient,
    McpFailure, ProgramStarter, ProgramStreams, ProtocolEra, ServerConfig, ServerEndpoint,
    StartPace, StartedProgram,
};
use serde_json::{Map, Value, json};

/// Starts the scripted server with these arguments.
pub(crate) struct Scripted(pub(crate) Vec<String>);

struct KilledChild(Arc<Mutex<std::process::Child>>);

impl Drop for KilledChild {
    fn drop(&mut self) {
        let mut child = self.0.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl ProgramStarter for Scripted {
    fn start(&self, streams: ProgramStreams) -> io::Result<StartedProgram> {
        let ProgramStreams { input, output, errors } = streams;
        let mut command = Command::new(env!("CARGO_BIN_EXE_scripted-server"));
        command.args(&self.0).env_clear().env("GRANTED", "1");
        command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::from(errors));
        let child = command.spawn()?;
        // The command holds the streams of the child; they must be closed here.
        drop(command);
        let child = Arc::new(Mutex::new(child));
        let guard = Box::new(KilledChild(Arc::clone(&child)));
        let ended = Box::pin(async move {
            loop {
                if let Some(status) = child.lock().unwrap().try_wait()? {
                    return Ok(status.code());
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        Ok(StartedProgram { ended, guard })
    }
}

/// Hears progress, and answers questions.
#[derive(Default)]
pub(crate) struct Listener {
    pub(crate) heard: Mutex<Vec<String>>,
}

impl CallListener for Listener {
    fn progress(&self, text: &str) {
        self.heard.lock().unwrap().push(text.to_owned());
    }

    fn ask(&self, asked: ElicitationRequest) -> ClientFuture<'_, ElicitationAnswer> {
        self.heard.lock().unwrap().push(asked.message.clone());
        let mut content: Map<String, Value> = asked.defaults();
        content.insert("seen".to_owned(), json!(true));
        Box::pin(std::future::ready(ElicitationAnswer::Accept(content)))
    }
}

pub(crate) fn scripted(behaviour: &str, file: Option<&Path>) -> ServerEndpoint {
    let mut arguments = vec![behaviour.to_owned()];
    arguments.extend(file.map(|file| file.display().to_string()));
    ServerEndpoint::Program(Arc::new(Scripted(arguments)))
}

pub(crate) async fn connect(
    endpoint: ServerEndpoint,
    era: Option<ProtocolEra>,
    can_ask: bool,
) -> Result<Arc<McpClient>, McpFailure> {
    let pace = StartPace { first_pause: Duration::from_millis(1), ..StartPace::default() };
    paced(ServerConfig { name: "s".to_owned(), endpoint, can_ask, era, pace }).await
}

/// Connects with a pace of its own.
pub(crate) async fn paced(config: ServerConfig) -> Result<Arc<McpClient>, McpFailure> {
    McpClient::connect(&ClientRuntime::new().unwrap(), config).await
}

/// Connects to a scripted server.
pub(crate) async fn connected(behaviour: &str) -> Result<Arc<McpClient>, McpFailure> {
    connect(scripted(behaviour, None), None, true).await
}

/// Calls the tool `a`.
pub(crate) async fn call(client: &McpClient, arguments: Value) -> Result<String, McpFailure> {
    let time = Duration::from_secs(20);
    let found = client.call("a", &arguments, time, &Listener::default()).await?;
    Ok(found["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}

pub(crate) async fn names(client: &McpClient) -> String {
    let catalogue = client.catalogue().await.unwrap();
    catalogue.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ")
}
