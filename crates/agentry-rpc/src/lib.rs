//! JSON-RPC 2.0 on two byte streams, one message a line. Knows no protocol above it.
//!
//! ```text
//!  input ─▶ LineReader ─▶ PeerMessage ─┬─ request, notice ─▶ RpcService
//!                                      └─ answer ──────────▶ the request that waits for it
//!  output ◀─ one queue ◀─ RpcPeer: answers, notices, requests of this side
//! ```
//!
//! Both sides may ask. The other side is not trusted: a line has a limit, and so have the requests that are
//! open at once. A reader that does not read slows this side down; nothing piles up.

mod line_reader;
mod message;
mod peer;

pub use line_reader::{LineFailure, LineReader};
pub use message::{PeerMessage, RpcError, codes};
pub use peer::{RpcAnswer, RpcFuture, RpcPeer, RpcRequest, RpcService, serve};
