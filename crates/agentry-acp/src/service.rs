//! The methods that an editor calls: initialise, sessions, prompts.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use agentry_rpc::{RpcAnswer, RpcError, RpcFuture, RpcPeer, RpcRequest, RpcService, codes};
use serde_json::{Value, json};

use crate::editor::{EditorAbilities, EditorPort};
use crate::prompt::read_prompt;
use crate::update::SessionUpdate;

/// The version of the protocol that is spoken.
const VERSION: u64 = 1;

/// What an editor brings to a session. None of it widens what an agent may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPlace {
    /// The directory that the editor works in; absolute.
    pub directory: PathBuf,
    /// Further directories that it names.
    pub more_directories: usize,
    /// The names of the MCP servers that it names.
    pub servers: Vec<String>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStop {
    /// The agent is done.
    EndTurn,
    /// The token limit is reached.
    MaxTokens,
    /// Another limit is reached.
    MaxTurnRequests,
    /// The turn was cancelled.
    Cancelled,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// Its id.
    pub id: String,
    /// The directory that it works in.
    pub directory: String,
    /// One line about it.
    pub title: Option<String>,
    /// When it began: an ISO 8601 date and time.
    pub began: String,
}

/// The program that has the agent.
pub trait SessionHost: Send + Sync + 'static {
    /// Begins a session, and returns its id.
    fn open(&self, place: SessionPlace, editor: EditorPort) -> RpcFuture<Result<String, RpcError>>;

    /// Opens a session again; an editor that is given is shown all of it.
    fn reopen(
        &self,
        id: String,
        place: SessionPlace,
        editor: Option<EditorPort>,
    ) -> RpcFuture<Result<(), RpcError>>;

    /// What the editor is shown of a session that was just begun, once.
    fn welcome(&self, id: &str) -> Vec<SessionUpdate>;

    /// Lists the sessions that can be opened again, the newest first.
    fn list(&self) -> RpcFuture<Result<Vec<ListedSession>, RpcError>>;

    /// Begins a turn; the future ends with it.
    fn prompt(
        &self,
        id: &str,
        text: String,
        editor: EditorPort,
    ) -> RpcFuture<Result<TurnStop, RpcError>>;

    /// Cancels the turn of a session.
    fn cancel(&self, id: &str);

    /// Closes a session; what it has under way is parked.
    fn close(&self, id: &str) -> RpcFuture<Result<(), RpcError>>;

    /// Closes all sessions.
    fn close_all(&self) -> RpcFuture<()>;
}

/// Answers an editor.
pub struct EditorService<H> {
    host: Arc<H>,
    /// Set by `initialize`.
    editor: OnceLock<EditorAbilities>,
}

impl<H: SessionHost> EditorService<H> {
    /// A service for one editor.
    pub fn new(host: Arc<H>) -> Self {
        Self { host, editor: OnceLock::new() }
    }

    fn initialize(&self, params: &Value) -> Value {
        let _ = self.editor.set(EditorAbilities::read(params));
        // Only this version is spoken; an editor that cannot speak it ends the connection.
        json!({
            "protocolVersion": VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
            },
            "agentInfo": {"name": "agentry", "title": "Agentry", "version": env!("CARGO_PKG_VERSION")},
            "authMethods": [],
        })
    }

    fn dispatch(
        &self,
        asked: RpcRequest,
        peer: &RpcPeer,
    ) -> Result<RpcFuture<RpcAnswer>, RpcError> {
        let RpcRequest { method, params, .. } = asked;
        if method == "initialize" {
            let answer = self.initialize(&params);
            return Ok(ready(answer));
        }
        let Some(abilities) = self.editor.get() else {
            let message = format!("`{method}` was called before `initialize`");
            return Err(RpcError::new(codes::INVALID_REQUEST, message));
        };
        let editor = EditorPort::new(peer.clone(), *abilities);
        match method.as_str() {
            "authenticate" => Err(RpcError::invalid("there is nothing to log in to")),
            "session/new" => {
                let opening = self.host.open(place(&params)?, editor);
                Ok(Box::pin(async move { Ok(json!({"sessionId": opening.await?})) }))
            }
            "session/load" | "session/resume" => {
                let replays = (method == "session/load").then_some(editor);
                let id = session(&params)?.to_owned();
                let opening = self.host.reopen(id, place(&params)?, replays);
                Ok(emptied(opening))
            }
            "session/list" => {
                let listing = self.host.list();
                let directory = params.get("cwd").and_then(Value::as_str).map(str::to_owned);
                Ok(Box::pin(async move { Ok(listed(&listing.await?, directory.as_deref())) }))
            }
            "session/prompt" => {
                let text = read_prompt(params.get("prompt").unwrap_or(&Value::Null))?;
                let turn = self.host.prompt(session(&params)?, text, editor);
                Ok(Box::pin(async move { Ok(json!({"stopReason": turn.await?.as_str()})) }))
            }
            "session/close" => Ok(emptied(self.host.close(session(&params)?))),
            other => Err(RpcError::no_method(other)),
        }
    }
}

impl<H: SessionHost> RpcService for EditorService<H> {
    fn request(&self, asked: RpcRequest, peer: &RpcPeer) -> RpcFuture<RpcAnswer> {
        self.dispatch(asked, peer).unwrap_or_else(|error| Box::pin(async move { Err(error) }))
    }

    fn notice(&self, method: &str, params: Value) {
        // Other notices are not known, and a notice has no answer.
        if let ("session/cancel", Ok(id)) = (method, session(&params)) {
            self.host.cancel(id);
        }
    }

    /// An editor knows a session only after the answer, so what greets it comes then.
    fn follow(&self, answer: &Value, peer: &RpcPeer) -> Option<RpcFuture<()>> {
        let id = answer.get("sessionId")?.as_str()?.to_owned();
        let updates = self.host.welcome(&id);
        let editor = EditorPort::new(peer.clone(), *self.editor.get()?);
        Some(Box::pin(async move {
            for update in &updates {
                editor.update(&id, update).await;
            }
        }))
    }

    fn close(&self) -> RpcFuture<()> {
        self.host.close_all()
    }
}

impl TurnStop {
    fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Cancelled => "cancelled",
        }
    }
}

fn ready(answer: Value) -> RpcFuture<RpcAnswer> {
    Box::pin(async move { Ok(answer) })
}

fn emptied(done: RpcFuture<Result<(), RpcError>>) -> RpcFuture<RpcAnswer> {
    Box::pin(async move { done.await.map(|()| json!({})) })
}

fn session(params: &Value) -> Result<&str, RpcError> {
    let id = params.get("sessionId").and_then(Value::as_str);
    id.ok_or_else(|| RpcError::invalid("`sessionId` is missing"))
}

fn place(params: &Value) -> Result<SessionPlace, RpcError> {
    let directory = params.get("cwd").and_then(Value::as_str).map(Path::new);
    let directory = directory.ok_or_else(|| RpcError::invalid("`cwd` is missing"))?;
    if !directory.is_absolute() {
        let message = format!("`cwd` is `{}`, which is no absolute path", directory.display());
        return Err(RpcError::invalid(message));
    }
    let list = |name: &str| params.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |server: &Value| {
        server.get("name").and_then(Value::as_str).unwrap_or("a server without a name").to_owned()
    };
    Ok(SessionPlace {
        directory: directory.to_owned(),
        more_directories: list("additionalDirectories").len(),
        servers: list("mcpServers").iter().map(name).collect(),
    })
}

fn listed(sessions: &[ListedSession], directory: Option<&str>) -> Value {
    let wanted = |session: &&ListedSession| directory.is_none_or(|it| it == session.directory);
    let entry = |session: &ListedSession| {
        let ListedSession { id, directory, title, began } = session;
        json!({"sessionId": id, "cwd": directory, "title": title, "updatedAt": began})
    };
    json!({"sessions": sessions.iter().filter(wanted).map(entry).collect::<Vec<_>>()})
}
