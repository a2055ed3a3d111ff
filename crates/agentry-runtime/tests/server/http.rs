//! A minimal HTTP server for a model: one thread for each connection, keep-alive, chunked answers.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use serde_json::{Value, json};

use super::{Asked, Break, Protocol, Reply, State, Turn};

/// The longest request.
const MOST_BYTES: usize = 256 << 20;

/// Answers the requests of one connection until either side is tired of it.
pub(super) fn serve(stream: TcpStream, state: &State) {
    let _ = stream.set_nodelay(true);
    let Ok(reading) = stream.try_clone() else { return };
    let mut connection = Connection { reader: BufReader::new(reading), stream };
    while let Ok(Some(request)) = connection.request() {
        match connection.answer(request, state) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => {
                state.one_is_gone();
                break;
            }
        }
    }
    let _ = connection.stream.shutdown(Shutdown::Both);
}

struct Connection {
    reader: BufReader<TcpStream>,
    stream: TcpStream,
}

struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Connection {
    /// The next request; nothing if the client has closed.
    fn request(&mut self) -> io::Result<Option<Request>> {
        let first = self.line()?;
        let mut words = first.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
        let (method, path) = (method.to_owned(), path.to_owned());
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse::<usize>().ok()).unwrap_or(0);
        let mut body = vec![0; length.min(MOST_BYTES)];
        self.reader.read_exact(&mut body)?;
        Ok(Some(Request { method, path, headers, body }))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Answers a request; whether the connection stays open. An error means that the client is gone.
    fn answer(&mut self, request: Request, state: &State) -> io::Result<bool> {
        let Request { method, path, headers, body } = request;
        let plain = path.split('?').next().unwrap_or_default();
        let protocol = Protocol::of(plain);
        let Some(protocol) = protocol.filter(|_| method == "POST") else {
            return self.beside(plain);
        };
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let asked = Asked { protocol: Some(protocol), path, headers, ..protocol.read(body) };
        let (asked, reply) = state.reply(asked);
        match reply {
            Reply::Turn(turn) => self.turn(protocol, &turn, asked.number),
            Reply::Status(code, headers, body) => {
                self.whole(code, "application/json", &headers, body.as_bytes())?;
                Ok(true)
            }
            Reply::Raw(kind, body) => {
                self.whole(200, kind, &[], &body)?;
                Ok(true)
            }
            Reply::Drop => Ok(false),
            Reply::Silent => self.silence(),
        }
    }

    /// Answers what is no request to a model: which models there are.
    fn beside(&mut self, path: &str) -> io::Result<bool> {
        let is_list = path.ends_with("/models") || path.ends_with("/api/tags");
        let models = json!({
            "object": "list",
            "data": [{ "id": "scripted" }],
            "models": [{ "name": "scripted", "model": "scripted" }],
        });
        let code = if is_list { 200 } else { 404 };
        self.whole(code, "application/json", &[], models.to_string().as_bytes())?;
        Ok(true)
    }

    fn whole(
        &mut self,
        code: u16,
        kind: &str,
        headers: &[(&str, String)],
        body: &[u8],
    ) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {code} Scripted\r\ncontent-type: {kind}\r\n");
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "content-length: {}\r\n\r\n", body.len());
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(body)
    }

    fn turn(&mut self, protocol: Protocol, turn: &Turn, number: usize) -> io::Result<bool> {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\n",
            protocol.content_type()
        );
        self.stream.write_all(head.as_bytes())?;
        let events = protocol.events(turn, number);
        for (at, event) in events.iter().enumerate() {
            match turn.broken {
                Some(Break::Truncated(after)) if at >= after => break,
                Some(Break::Dropped(after)) if at >= after => return Ok(false),
                Some(Break::Stalled(after)) if at >= after => return self.silence(),
                Some(Break::Garbage(after)) if at == after => {
                    self.chunk(&protocol.frame("", "{\"half\": "))?;
                }
                Some(Break::Busy(after)) if at == after => {
                    self.chunk(&protocol.busy())?;
                    break;
                }
                Some(Break::Repeated) => self.chunk(event)?,
                Some(Break::Unknown) => self.chunk(&protocol.unknown())?,
                _ => {}
            }
            self.chunk(event)?;
        }
        match turn.broken {
            Some(Break::Dropped(_)) => return Ok(false),
            Some(Break::Stalled(_)) => return self.silence(),
            _ => self.stream.write_all(b"0\r\n\r\n")?,
        }
        Ok(true)
    }

    fn chunk(&mut self, text: &str) -> io::Result<()> {
        let head = format!("{:x}\r\n", text.len());
        self.stream.write_all(&[head.as_bytes(), text.as_bytes(), b"\r\n"].concat())
    }

    /// Waits until the client goes.
    fn silence(&mut self) -> io::Result<bool> {
        let mut rest = [0; 1024];
        while self.reader.read(&mut rest)? > 0 {}
        Err(io::ErrorKind::BrokenPipe.into())
    }
}
