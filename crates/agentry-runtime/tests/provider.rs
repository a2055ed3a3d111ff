//! Providers against a scripted model on loopback.

mod server;

use server::{Protocol, Server, Turn};

#[test]
fn it_listens() {
    let server = Server::playing([Turn::text("hello").into()]);
    assert!(server.base(Protocol::Chat).ends_with("/v1"));
}
