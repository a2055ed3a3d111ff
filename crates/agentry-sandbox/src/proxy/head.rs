//! Parses the head of a request to the proxy.

use std::io::Read as _;
use std::net::TcpStream;

/// The most bytes of the head, and the most headers.
const LONGEST: usize = 64 << 10;
const MOST_HEADERS: usize = 100;

/// The request line and the headers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) method: String,
    pub(super) target: DialTarget,
    pub(super) headers: Vec<(String, String)>,
    /// Bytes of the body that were read with the head.
    pub(super) rest: Vec<u8>,
}

/// The host to connect to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DialTarget {
    pub(super) scheme: &'static str,
    /// In lower case, without brackets and without a final dot.
    pub(super) host: String,
    pub(super) port: u16,
    /// The path and query of a plain request.
    pub(super) path: String,
}

impl RequestHead {
    /// Reads the head of a request.
    pub(super) fn read(mut client: &TcpStream) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            if let Some(end) = find(&bytes, b"\r\n\r\n") {
                let rest = bytes.split_off(end + 4);
                return Self::parse(&bytes, rest);
            }
            if bytes.len() > LONGEST {
                return Err("the request is too long".to_owned());
            }
            match client.read(&mut buffer) {
                Ok(0) | Err(_) => return Err("the request was cut off".to_owned()),
                Ok(count) => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            }
        }
    }

    /// Whether the client requests a tunnel.
    pub(super) fn is_tunnel(&self) -> bool {
        self.method == "CONNECT"
    }

    fn parse(bytes: &[u8], rest: Vec<u8>) -> Result<Self, String> {
        let wrong = || "the request is no HTTP".to_owned();
        let text = std::str::from_utf8(bytes).map_err(|_| wrong())?;
        // A bare CR or LF could be read as a line end by the server but not here.
        if text
            .bytes()
            .any(|byte| byte.is_ascii_control() && !matches!(byte, b'\r' | b'\n' | b'\t'))
            || text.replace("\r\n", "").contains(['\r', '\n'])
        {
            return Err(wrong());
        }
        let mut lines = text.split("\r\n");
        let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, "HTTP/1.1" | "HTTP/1.0"] = first.as_slice() else {
            return Err(wrong());
        };
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(wrong());
        }
        let headers: Vec<(String, String)> = lines
            .filter(|line| !line.is_empty())
            .map(header)
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        if headers.len() > MOST_HEADERS {
            return Err("the request has too many headers".to_owned());
        }
        let target = if *method == "CONNECT" { tunnel(target) } else { plain(target) };
        let target = target.ok_or_else(|| "the request names no host".to_owned())?;
        Ok(Self { method: (*method).to_owned(), target, headers, rest })
    }
}

/// Parses `Name: value`. A continuation line is refused.
fn header(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let is_token = |c: char| c.is_ascii_alphanumeric() || "-_.!#$%&'*+^`|~".contains(c);
    let named = !name.is_empty() && name.chars().all(is_token);
    named.then(|| (name.to_owned(), value.trim().to_owned()))
}

/// Parses `host:port`.
fn tunnel(text: &str) -> Option<DialTarget> {
    let (host, port) = authority(text, None)?;
    // A tunnel has no scheme, so the port decides.
    let scheme = if port == 80 { "http" } else { "https" };
    Some(DialTarget { scheme, host, port, path: String::new() })
}

/// Parses `http://host[:port]/path`.
fn plain(text: &str) -> Option<DialTarget> {
    let rest = text.get(..7).filter(|start| start.eq_ignore_ascii_case("http://"));
    let rest = rest.and_then(|_| text.get(7..))?;
    let (place, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = authority(place, Some(80))?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Some(DialTarget { scheme: "http", host, port, path })
}

/// Parses a host with its port. Refuses user names, and anything that programs parse differently.
fn authority(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            let address: std::net::Ipv6Addr = host.parse().ok()?;
            (address.to_string(), port.strip_prefix(':').or(port.is_empty().then_some("")))
        }
        None => {
            let (host, port) = text.split_once(':').unwrap_or((text, ""));
            (host.to_ascii_lowercase(), Some(port))
        }
    };
    let port = match port? {
        "" => default?,
        digits if digits.bytes().all(|digit| digit.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    // `example.org.` is the same host as `example.org`.
    let host = host.strip_suffix('.').map_or(host.clone(), str::to_owned);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    (!host.is_empty() && host.len() < 256 && host.chars().all(is_part)).then_some((host, port))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_request_heads_are_refused() {
        let cases = [
            ("CONNECT example.org:443 HTTP/1.1", Some(("https", "example.org", 443, ""))),
            ("CONNECT Example.ORG.:8443 HTTP/1.1", Some(("https", "example.org", 8443, ""))),
            ("CONNECT [::1]:443 HTTP/1.1", Some(("https", "::1", 443, ""))),
            ("CONNECT example.org HTTP/1.1", None),
            ("CONNECT a@example.org:443 HTTP/1.1", None),
            ("CONNECT example.org:443:80 HTTP/1.1", None),
            ("CONNECT example.org:+443 HTTP/1.1", None),
            ("CONNECT exa%6dple.org:443 HTTP/1.1", None),
            ("GET http://example.org/a?b HTTP/1.1", Some(("http", "example.org", 80, "/a?b"))),
            ("GET http://example.org?b HTTP/1.1", Some(("http", "example.org", 80, "/?b"))),
            ("GET HTTP://example.org:81 HTTP/1.0", Some(("http", "example.org", 81, "/"))),
            ("GET https://example.org/ HTTP/1.1", None),
            ("GET /a HTTP/1.1", None),
            ("GET http://good.org@evil.org/ HTTP/1.1", None),
            ("GET http://example.org/ HTTP/2", None),
            ("GET http://exämple.org/ HTTP/1.1", None),
        ];
        for (line, expected) in cases {
            let head =
                RequestHead::parse(format!("{line}\r\nHost: other\r\n\r\n").as_bytes(), Vec::new());
            let found = head.ok().map(|head| head.target);
            let expected = expected.map(|(scheme, host, port, path)| DialTarget {
                scheme,
                host: host.to_owned(),
                port,
                path: path.to_owned(),
            });
            assert_eq!(found, expected, "{line}");
        }
    }
}
