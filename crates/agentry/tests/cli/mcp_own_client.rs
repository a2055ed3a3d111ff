//! Agentry's own MCP client calls agents that Agentry serves, in both eras of the protocol.
#![cfg(target_os = "linux")]

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentry_mcp::{
    CallListener, ClientFuture, ClientRuntime, ElicitationAnswer, ElicitationRequest, McpClient,
    ProgramStarter, ProgramStreams, ProtocolEra, ServerConfig, ServerEndpoint, StartPace,
    StartedProgram,
};
use serde_json::json;

use crate::run::{keyed, with, write, writer};
use crate::server::{Server, Turn};

/// Starts `agentry mcp`, once.
struct ServedWriter(Mutex<Option<Command>>);

struct EndedChild(Arc<Mutex<Child>>);

impl Drop for EndedChild {
    fn drop(&mut self) {
        let mut child = self.0.lock().expect("no panic");
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl ProgramStarter for ServedWriter {
    fn start(&self, streams: ProgramStreams) -> io::Result<StartedProgram> {
        let command = self.0.lock().expect("no panic").take();
        let mut command = command.ok_or_else(|| io::Error::other("it is started once"))?;
        let ProgramStreams { input, output, errors } = streams;
        command.stdin(Stdio::from(input)).stdout(output).stderr(errors);
        let child = Arc::new(Mutex::new(command.spawn()?));
        // The command holds the streams of the child; they must be closed here.
        drop(command);
        let guard = Box::new(EndedChild(Arc::clone(&child)));
        let waiting = tokio::task::spawn_blocking(move || {
            loop {
                if let Some(status) = child.lock().expect("no panic").try_wait()? {
                    return Ok(status.code());
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let ended = Box::pin(async move { waiting.await.map_err(io::Error::other)? });
        Ok(StartedProgram { ended, guard })
    }
}

/// Says yes to every question.
#[derive(Default)]
struct AgreeingUser(Mutex<Vec<String>>);

impl CallListener for AgreeingUser {
    fn progress(&self, text: &str) {
        self.0.lock().expect("no panic").push(text.to_owned());
    }

    fn ask(&self, asked: ElicitationRequest) -> ClientFuture<'_, ElicitationAnswer> {
        assert_eq!(asked.fields[0].choices.len(), 4, "{asked:?}");
        self.0.lock().expect("no panic").push(asked.message);
        let content = [("answer".to_owned(), json!("yes"))].into_iter().collect();
        Box::pin(std::future::ready(ElicitationAnswer::Accept(content)))
    }
}

#[test]
fn agentrys_client_calls_served_agents_in_both_eras() {
    for era in [ProtocolEra::Stateless, ProtocolEra::Initialized] {
        let server = Server::playing([
            Turn::text("Hello.").into(),
            write("a.txt").into(),
            Turn::text("All done.").into(),
        ]);
        let test = writer();
        with(&test, &server, &["run", "writer", "hi", "--yes"]).exits(0);
        let command = keyed(&test, &server, &["mcp", "writer"]);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let done = runtime.block_on(async {
            let clients = ClientRuntime::new().expect("a runtime");
            let config = ServerConfig {
                name: "agents".to_owned(),
                endpoint: ServerEndpoint::Program(Arc::new(ServedWriter(Mutex::new(Some(
                    command,
                ))))),
                can_ask: true,
                era: Some(era),
                pace: StartPace::default(),
            };
            let client = McpClient::connect(&clients, config).await.expect("a connection");
            assert_eq!(client.welcome().await.version, era.version());
            let tools = client.catalogue().await.expect("a list");
            assert_eq!(tools.tools.len(), 1);
            let (user, most) = (AgreeingUser::default(), Duration::from_mins(2));
            let done = client.call("writer", &json!({"prompt": "write"}), most, &user).await;
            let received = user.0.into_inner().expect("no panic").join("\n");
            assert!(received.contains("may `write` run?"), "{received}");
            done.expect("a result")
        });
        assert_eq!(done["content"][0]["text"], "All done.", "{era}: {done}");
        assert!(test.has("a.txt"), "{era}");
    }
}
