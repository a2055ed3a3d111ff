//! Forwards data between a client and a server.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread;

use super::head::{DialTarget, RequestHead};
use super::refuse;

/// A tunnel: forwards everything in both directions until both are closed.
pub(super) fn both_ways(
    client: &Arc<TcpStream>,
    server: &Arc<TcpStream>,
    first: &[u8],
) -> io::Result<()> {
    (&**server).write_all(first)?;
    let (from, to) = (Arc::clone(client), Arc::clone(server));
    let there = thread::Builder::new().name("proxy".to_owned()).spawn(move || {
        let _ = io::copy(&mut &*from, &mut &*to);
        let _ = to.shutdown(Shutdown::Write);
    })?;
    let back = io::copy(&mut &**server, &mut &**client);
    let _ = client.shutdown(Shutdown::Write);
    let _ = there.join();
    back.map(drop)
}

/// Forwards one request with the host that was checked, and its response. Anything that the client
/// sends after it is ignored.
pub(super) fn one_request(
    client: &TcpStream,
    server: &TcpStream,
    head: &RequestHead,
) -> io::Result<()> {
    let named = |name: &'static str| {
        head.headers.iter().filter(move |(other, _)| other.eq_ignore_ascii_case(name))
    };
    // A chunked body has no length here, and two lengths could hide a second request.
    if named("transfer-encoding").next().is_some() {
        refuse(client, "411 Length Required", "the length of the body must be sent before it");
        return Ok(());
    }
    let lengths: Vec<&str> = named("content-length").map(|(_, value)| value.as_str()).collect();
    // A sign is no part of a length, and a number that does not fit would hide a second request.
    let length: Option<u64> = match lengths.as_slice() {
        [] => Some(0),
        [digits] if digits.bytes().all(|it| it.is_ascii_digit()) => digits.parse().ok(),
        _ => None,
    };
    let Some(length) = length else {
        refuse(client, "400 Bad Request", "the length of the body is not clear");
        return Ok(());
    };
    let mut server_side = server;
    server_side.write_all(request(head).as_bytes())?;
    let body = head.rest.as_slice().chain(client).take(length);
    io::copy(&mut { body }, &mut server_side)?;
    let mut client_side = client;
    io::copy(&mut server_side, &mut client_side)?;
    client.shutdown(Shutdown::Write)
}

/// The head to forward, without headers that are meant for the proxy or that would keep the connection
/// open for another request.
fn request(head: &RequestHead) -> String {
    const DROPPED: &[&str] = &[
        "connection",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
    ];
    let DialTarget { host, port, path, .. } = &head.target;
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let place = if *port == 80 { host } else { format!("{host}:{port}") };
    let kept = |(name, _): &&(String, String)| {
        !DROPPED.iter().any(|dropped| name.eq_ignore_ascii_case(dropped))
    };
    let headers = head.headers.iter().filter(kept);
    let headers: Vec<String> =
        headers.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.concat();
    format!(
        "{} {path} HTTP/1.1\r\nHost: {place}\r\n{headers}Connection: close\r\n\r\n",
        head.method
    )
}
