//! Patterns about web addresses: `[scheme://]host[:port][/path]`, matched against an address in canonical
//! form, `scheme://host:port/path?query`, with an explicit port.

use std::fmt::Write as _;

use super::glob::{GlobPart, GlobPattern};
use super::sequence::{self, PatternElement};
use crate::Action;

/// A pattern about web addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebPattern {
    /// The scheme in lower case.
    pub(crate) scheme: &'static str,
    /// One element per label.
    pub(crate) host: Vec<PatternElement>,
    /// The port; `None` for any.
    pub(crate) port: Option<u16>,
    /// The path and the query; `None` for any.
    pub(crate) path: Option<GlobPattern>,
    /// Whether the pattern is also matched against the address without its query.
    pub(crate) without_query: bool,
}

/// The schemes of web addresses, with their default ports.
pub(crate) const SCHEMES: &[(&str, u16)] =
    &[("https", 443), ("http", 80), ("wss", 443), ("ws", 80), ("ftp", 21)];

impl WebPattern {
    /// Parses `text`, or explains why nothing can match it.
    pub(crate) fn new(text: &str, action: Action) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
        let known = |(name, _): &&(&str, u16)| name.eq_ignore_ascii_case(scheme);
        let (scheme, default) = SCHEMES
            .iter()
            .find(known)
            .ok_or_else(|| format!("`{scheme}` is not a scheme of the web"))?;
        if rest.contains('#') {
            return Err("an address is never sent with a `#`".to_owned());
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err("an address with a user name in it never matches".to_owned());
        }
        let (host, port) = split_port(authority, *default)?;
        Ok(Self {
            scheme,
            host: read_host(host)?,
            port,
            path: if path.is_empty() { None } else { Some(read_path(path)?) },
            // A deny or ask rule for a path also applies to it with any query.
            without_query: action != Action::Allow,
        })
    }

    /// Whether `address` matches; `None` if it is not in canonical form.
    pub(crate) fn matches(&self, address: &str) -> Option<bool> {
        let AddressParts { scheme, host, port, path } = AddressParts::of(address)?;
        if scheme != self.scheme || self.port.is_some_and(|only| only != port) {
            return Some(false);
        }
        let labels: Vec<&str> = host.split('.').collect();
        let item = |at: usize| labels.get(at).copied().unwrap_or_default();
        if !sequence::matches(&self.host, labels.len(), item) {
            return Some(false);
        }
        let Some(glob) = &self.path else { return Some(true) };
        let plain = path.split_once('?').map_or(path, |(plain, _)| plain);
        Some(glob.matches(path) || (self.without_query && glob.matches(plain)))
    }

    /// Whether the host contains no wildcard.
    pub(crate) fn names_host(&self) -> bool {
        self.host.iter().all(|label| label.as_literal().is_some())
    }
}

/// The parts of an address in canonical form.
struct AddressParts<'a> {
    scheme: &'a str,
    host: &'a str,
    port: u16,
    path: &'a str,
}

impl<'a> AddressParts<'a> {
    fn of(address: &'a str) -> Option<Self> {
        let (scheme, rest) = address.split_once("://")?;
        let (authority, path) = rest.split_at(rest.find('/')?);
        let (host, port) = authority.rsplit_once(':')?;
        let port = port.parse().ok()?;
        (!host.is_empty()).then_some(Self { scheme, host, port, path })
    }
}

fn split_port(authority: &str, default: u16) -> Result<(&str, Option<u16>), String> {
    // The colons inside `[::1]` do not start a port.
    let bracket = authority.rfind(']').unwrap_or(0);
    let (host, port) = match authority.rfind(':').filter(|colon| *colon > bracket) {
        Some(colon) => (&authority[..colon], &authority[colon + 1..]),
        None => return Ok((authority, Some(default))),
    };
    match port {
        "*" => Ok((host, None)),
        // `parse` would accept a leading `+`.
        _ if port.starts_with('+') => Err(format!("`{port}` is not a port")),
        _ => match port.parse() {
            Ok(port) => Ok((host, Some(port))),
            Err(_) => Err(format!("`{port}` is not a port")),
        },
    }
}

/// Parses a host into labels, normalised as in a browser.
fn read_host(host: &str) -> Result<Vec<PatternElement>, String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let wrong = || format!("`{host}` is not a host");
    if !host.contains('*') {
        let host = url::Host::parse(host).map_err(|_| wrong())?.to_string();
        return Ok(host
            .split('.')
            .map(|label| PatternElement::one(GlobPattern::literal(label)))
            .collect());
    }
    let mut elements = Vec::new();
    for label in host.split('.') {
        match label {
            "" => return Err(wrong()),
            // `**` matches at least one label.
            "**" => elements.extend([PatternElement::any(), PatternElement::Many]),
            label if label.is_ascii() => {
                let good = |c: char| c.is_ascii_alphanumeric() || "-_*".contains(c);
                if !label.chars().all(good) {
                    return Err(wrong());
                }
                let label = label.to_ascii_lowercase();
                elements.push(PatternElement::one(GlobPattern::new(&label, &GlobPart::Segment)));
            }
            label if label.contains('*') => return Err(wrong()),
            label => {
                let label = url::Host::parse(label).map_err(|_| wrong())?.to_string();
                elements.push(PatternElement::one(GlobPattern::literal(&label)));
            }
        }
    }
    Ok(elements)
}

/// Parses a path, with or without a query, normalised as in a browser.
fn read_path(path: &str) -> Result<GlobPattern, String> {
    let plain = path.split('?').next().unwrap_or_default();
    if plain.split('/').any(|segment| segment == "." || segment == "..") {
        return Err("an address never holds a `.` or `..` segment".to_owned());
    }
    let path = if path.starts_with('?') { format!("/{path}") } else { path.to_owned() };
    let glob = GlobPattern::new(&encode(&path), &GlobPart::Segment);
    Ok(with_folders(glob))
}

/// Makes each `**/` that is a whole segment match any number of segments.
fn with_folders(glob: GlobPattern) -> GlobPattern {
    let mut parts: Vec<GlobPart> = Vec::new();
    for part in glob.parts {
        let whole = match parts.as_slice() {
            [.., GlobPart::Text(before), GlobPart::Any] => before.ends_with('/'),
            _ => false,
        };
        match part {
            GlobPart::Text(text) if whole && text.starts_with('/') => {
                parts.pop();
                parts.push(GlobPart::Folders);
                if text.len() > 1 {
                    parts.push(GlobPart::Text(text[1..].to_owned()));
                }
            }
            part => parts.push(part),
        }
    }
    GlobPattern { parts, segments: Vec::new() }
}

/// Percent-encodes the characters that an address cannot contain.
fn encode(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        match byte {
            b'!' | b'#'..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'z' | b'|' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}
