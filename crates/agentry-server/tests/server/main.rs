//! The server as its clients see it: real connections to a real address, with a host that plays a script.
#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod api;
mod attacks;
mod browser;
mod mcp;
mod openai_clients;
mod scripted_host;
mod stream;
mod tls;
