//! The page on this machine that a browser is sent back to. Only a request with the right state counts; all
//! others are answered and forgotten, so that another page cannot end a login.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::discovery::AuthorizationServer;
use crate::clean_text::clean_start;

/// The most connections during one login.
const MOST_CONNECTIONS: usize = 50;
/// The most bytes of the head of a request, and the time for it.
const MOST_HEAD: usize = 16 << 10;
const HEAD_TIME: Duration = Duration::from_secs(5);

/// The page that a browser is sent back to.
pub(super) struct LoopbackPage {
    listener: TcpListener,
    address: Url,
}

/// What a redirect says.
#[derive(Debug, PartialEq, Eq)]
enum RedirectOutcome {
    /// It belongs to another login, or to none.
    Foreign,
    Code(String),
    Refused(String),
}

impl LoopbackPage {
    /// Opens the page on a free port of the loopback device.
    pub(super) async fn bind() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("no page can be opened: {error}");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let address = format!("http://127.0.0.1:{port}/callback");
        let address = address.parse().map_err(|_| "no page can be opened".to_owned())?;
        Ok(Self { listener, address })
    }

    pub(super) fn address(&self) -> &Url {
        &self.address
    }

    /// Waits for the browser; returns the code.
    pub(super) async fn code(
        &self,
        state: &str,
        server: &AuthorizationServer,
    ) -> Result<String, String> {
        for _ in 0..MOST_CONNECTIONS {
            let Ok((mut stream, _)) = self.listener.accept().await else { continue };
            let head = tokio::time::timeout(HEAD_TIME, head(&mut stream)).await;
            let Some(target) = head.ok().flatten() else { continue };
            let outcome = self.outcome(&target, state, server);
            let (status, shown) = match &outcome {
                RedirectOutcome::Foreign => ("400 Bad Request", "This page belongs to no login."),
                RedirectOutcome::Code(_) => ("200 OK", "You are logged in. Close this page."),
                RedirectOutcome::Refused(_) => ("400 Bad Request", "The login failed."),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\
                 cache-control: no-store\r\nconnection: close\r\n\r\n{shown}",
                shown.len()
            );
            let _ = tokio::time::timeout(HEAD_TIME, stream.write_all(answer.as_bytes())).await;
            match outcome {
                RedirectOutcome::Foreign => {}
                RedirectOutcome::Code(code) => return Ok(code),
                RedirectOutcome::Refused(why) => return Err(why),
            }
        }
        Err("too many requests came to the page of the login".to_owned())
    }

    fn outcome(&self, target: &str, state: &str, server: &AuthorizationServer) -> RedirectOutcome {
        let Ok(url) = self.address.join(target) else { return RedirectOutcome::Foreign };
        let find = |wanted: &str| {
            let found: Vec<String> = url
                .query_pairs()
                .filter(|(name, _)| name == wanted)
                .map(|(_, value)| value.into_owned())
                .collect();
            // A value that is there twice could be read in two ways.
            <[String; 1]>::try_from(found).ok().map(|[value]| value)
        };
        if url.path() != self.address.path() || find("state").as_deref() != Some(state) {
            return RedirectOutcome::Foreign;
        }
        let issuer = find("iss");
        let is_named = url.query_pairs().any(|(name, _)| name == "iss");
        let is_other = is_named && issuer.as_deref() != Some(server.issuer.as_str());
        if is_other || (server.names_itself && !is_named) {
            let from = clean_start(&issuer.unwrap_or_default(), 200).text;
            let message = format!("the answer is not from `{}` but from `{from}`", server.issuer);
            return RedirectOutcome::Refused(message);
        }
        match (find("code"), find("error")) {
            (Some(code), None) if !code.is_empty() => RedirectOutcome::Code(code),
            (_, error) => {
                let error = clean_start(&error.unwrap_or_default(), 200).text;
                RedirectOutcome::Refused(format!("the login was refused: {error}"))
            }
        }
    }
}

/// The target of a request: `/callback?code=…`.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut piece = [0_u8; 1024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        head.extend_from_slice(piece.get(..count)?);
        if head.len() > MOST_HEAD {
            return None;
        }
    }
    let text = String::from_utf8(head).ok()?;
    let mut words = text.lines().next()?.split(' ');
    (words.next()? == "GET").then_some(())?;
    words.next().map(str::to_owned)
}
