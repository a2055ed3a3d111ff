//! A client of MCP servers, and the server side ([`serving`]). Knows no agents, no policy and no sandbox.
//!
//! ```text
//!  McpClient ── ProgramStarter ──▶ stdio wire            ┐
//!     │     └── HttpGate ────────▶ streamable HTTP wire  ├─ messages ─▶ Dispatcher ─▶ waiting requests
//!     │                        └─▶ HTTP+SSE wire         ┘                  └─▶ CallListener: progress,
//!     └─ connection: `server/discover` or `initialize`, then requests           questions to the user
//! ```
//!
//! Both eras of the protocol are spoken: sessions that begin with `initialize` (up to 2025-11-25), and
//! stateless requests that carry everything in `_meta` (2026-07-28). A server is treated as hostile:
//! everything that it sends has a limit ([`limits`]), text is cleaned before it is shown, and it gets
//! neither the model (sampling) nor the files of the user (roots).
//!
//! The wires run on a thread of their own ([`ClientRuntime`]), because servers live longer than the
//! runtimes of their callers.

mod catalogue;
mod clean_text;
mod client;
mod connection;
mod dispatch;
mod elicitation;
mod event_stream;
mod failure;
mod header_text;
mod http_wire;
pub mod limits;
mod login;
mod param_headers;
mod pins;
mod protocol_era;
mod resources;
pub mod serving;
mod sse_wire;
mod stdio_wire;

pub use catalogue::{AnnouncedTool, LeftOutTool, ToolCatalogue};
pub use clean_text::{CleanText, clean, clean_value};
pub use client::{ClientRuntime, HttpAddress, McpClient, ServerConfig, ServerEndpoint, StartPace};
pub use connection::{CallListener, ServerWelcome};
pub use elicitation::{
    ElicitationAnswer, ElicitationField, ElicitationRequest, FieldAnswer, FieldChoice,
};
pub use event_stream::{EventStream, EventTooLong, StreamEvent};
pub use failure::McpFailure;
pub use http_wire::HttpGate;
pub use login::{LoginBrowser, LoginStore, RegisteredClient, SavedLogin, SecretUse, ServerLogin};
pub use pins::{PinChange, PinnedTool, ServerPin, changes};
pub use protocol_era::ProtocolEra;
pub use resources::{AnnouncedPrompt, AnnouncedResource, ResourceCatalogue};
pub use stdio_wire::{ProgramStarter, ProgramStreams, StartedProgram};

use std::future::Future;
use std::pin::Pin;

/// A boxed future.
pub type ClientFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
