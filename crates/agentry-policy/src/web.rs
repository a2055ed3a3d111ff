//! Normalises web addresses, and detects those that lead to this machine or a private network.
//!
//! A host has many spellings (`0x7f.1`, `LOCALHOST.`, `good.org@evil.org`). Rules are matched against the
//! one form to which a client would connect: `scheme://host:port/path?query`.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// A web address in the form that patterns are matched against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    /// The normalised text, such as `https://example.org:443/path?query`; the port is always present.
    pub text: String,
    /// Whether it leads to this machine, a private network or a link-local service.
    pub private: bool,
    /// Why it needs an approval, although it could be parsed.
    pub doubt: Option<&'static str>,
}

/// Parses an address; without a scheme it is `https`.
pub fn address(text: &str) -> Result<WebAddress, &'static str> {
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("it holds white space or control characters");
    }
    if text.contains('\\') {
        return Err("it holds a backslash, which programs read differently");
    }
    let url = parse(text).ok_or("it is not a web address")?;
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
        return Err("its scheme is not one of the web");
    }
    let host = url.host().ok_or("it has no host")?;
    let port = url.port_or_known_default().ok_or("it has no port")?;
    let private = is_private(&host);
    let host = match &host {
        Host::Domain(name) => name.trim_end_matches('.').to_owned(),
        address @ (Host::Ipv4(_) | Host::Ipv6(_)) => address.to_string(),
    };
    if host.is_empty() {
        return Err("it has no host");
    }
    let query = url.query().map_or(String::new(), |query| format!("?{query}"));
    let text = format!("{}://{host}:{port}{}{query}", url.scheme(), decoded(url.path()));
    let named = !url.username().is_empty() || url.password().is_some();
    let doubt = match named {
        true => Some("it holds a user name, which can pass for a host"),
        false if climbs(url.path()) => Some("its path can be read as a way up"),
        false => None,
    };
    Ok(WebAddress { text, private, doubt })
}

fn parse(text: &str) -> Option<Url> {
    let scheme = text.split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
    // Clients read `http:/x` and `http:x` as `http://x`; `host:8080` has a port and no scheme.
    let with_scheme = scheme.is_some_and(|(scheme, rest)| {
        let known = ["http", "https", "ws", "wss", "ftp", "file"].contains(&scheme.as_str());
        let word = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        known || (word && !rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    if with_scheme { Url::parse(text).ok() } else { Url::parse(&format!("https://{text}")).ok() }
}

/// Whether some server would read an encoded path as one with `..`.
fn climbs(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let path = path.replace("%2e", ".").replace("%2f", "/").replace("%5c", "/").replace('\\', "/");
    path.split('/').any(|segment| segment.split(';').next() == Some(".."))
}

/// Decodes letters, digits and `-._~` that need no percent-encoding.
fn decoded(path: &str) -> String {
    let mut rest = path;
    let mut text = String::with_capacity(path.len());
    while let Some(at) = rest.find('%') {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        let plain = after
            .get(1..3)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte));
        match plain {
            Some(byte) => text.push(char::from(byte)),
            None => text.push_str(&after.get(..3).unwrap_or(after).to_ascii_uppercase()),
        }
        rest = after.get(3..).unwrap_or_default();
    }
    text + rest
}

fn is_private(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => is_private_name(name.trim_end_matches('.')),
        Host::Ipv4(address) => is_private_v4(*address),
        Host::Ipv6(address) => is_private_v6(*address),
    }
}

/// Whether a name leads to this machine or to the local network. A name without a dot is looked up in the
/// local network.
fn is_private_name(name: &str) -> bool {
    const SUFFIXES: &[&str] =
        &["localhost", "localdomain", "local", "internal", "home.arpa", "intranet", "lan"];
    let name = name.to_ascii_lowercase();
    let under = |suffix: &&str| {
        name.strip_suffix(*suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let bare = !name.contains('.');
    bare || SUFFIXES.iter().any(under) || name.parse().is_ok_and(is_private_ip)
}

/// Whether an address belongs to this machine, a private network, a link-local service or no single machine.
pub fn is_private_ip(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    // Carrier-grade NAT (100.64.0.0/10), protocol assignments (192.0.0.0/24), benchmarks (198.18.0.0/15).
    let shared = a == 100 && (64..128).contains(&b);
    let protocol = a == 192 && b == 0 && c == 0;
    let benchmark = a == 198 && (b == 18 || b == 19);
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || shared
        || protocol
        || benchmark
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let [first, second, ..] = segments;
    address.is_loopback()
        || address.is_unspecified()
        || match embedded_v4(segments) {
            Some(address) => is_private_v4(address),
            // Only 2000::/3 is assigned to public hosts. Its start, 2001::/23, is for protocols: Teredo hides an IPv4
            // address in it.
            None => first & 0xe000 != 0x2000 || (first == 0x2001 && second < 0x200),
        }
}

/// Returns the IPv4 address inside a mapped, translated, 6to4 or compatible one.
fn embedded_v4(segments: [u16; 8]) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => {
            Some(of(high, low))
        }
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_normalised() {
        let cases = [
            ("https://Example.ORG", "https://example.org:443/"),
            ("example.org/a", "https://example.org:443/a"),
            ("http://example.org:80/a/../b", "http://example.org:80/b"),
            ("https://example.org./x", "https://example.org:443/x"),
            ("https://example.org/%61%2e%2E/x?q=%61", "https://example.org:443/a../x?q=%61"),
            ("https://example.org/a/%2e%2e/b", "https://example.org:443/b"),
            ("https://bücher.example/", "https://xn--bcher-kva.example:443/"),
            ("https://example.org:8443/#part", "https://example.org:8443/"),
            ("http://0x7f.1/", "http://127.0.0.1:80/"),
            ("http://[::FFFF:127.0.0.1]/", "http://[::ffff:7f00:1]:80/"),
            ("https:/internal.example/", "https://internal.example:443/"),
            ("example.org:8443/x", "https://example.org:8443/x"),
            ("https://good.org@evil.org/", "https://evil.org:443/"),
            ("https://good.org%2f@evil.org/", "https://evil.org:443/"),
        ];
        for (text, expected) in cases {
            assert_eq!(address(text).map(|a| a.text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn ambiguous_addresses_are_refused() {
        let cases = [
            "https://evil.org\\@good.org/",
            "https://good.org\t.evil.org/",
            "https://evil\0.good.org/",
            "file:///etc/passwd",
            "https://",
            "ftp://x.org/",
            "https://exa mple.org/",
            "javascript:alert(1)",
        ];
        for text in cases {
            assert!(address(text).is_err(), "{text:?} is {:?}", address(text));
        }
    }

    #[test]
    fn an_address_with_a_user_name_is_doubted() {
        assert!(address("https://good.org@evil.org/").is_ok_and(|a| a.doubt.is_some()));
        assert!(address("https://good.org/@evil").is_ok_and(|a| a.doubt.is_none()));
    }

    #[test]
    fn an_address_with_an_encoded_parent_path_is_doubted() {
        let cases = [
            ("https://y.org/pub/%2e%2e%2fpriv", true),
            ("https://y.org/pub/..;/priv", true),
            ("https://y.org/pub/x/..%5c..%5cpriv", true),
            ("https://y.org/pub/group%2Fproject", false),
            ("https://y.org/pub/a..b", false),
        ];
        for (text, expected) in cases {
            assert_eq!(address(text).map(|a| a.doubt.is_some()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn private_addresses_in_all_spellings() {
        let private = [
            "http://localhost/",
            "http://LOCALHOST.:8080/",
            "http://x.localhost/",
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://0/",
            "http://10.1.2.3/",
            "http://172.31.0.1/",
            "http://192.168.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://100.64.0.1/",
            "http://[::1]/",
            "http://[::]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[2002:7f00:1::]/",
            "http://１２７.0.0.1/",
            "http://metadata.google.internal/",
            "http:/127.0.0.1/",
            "HTTP:127.0.0.1",
            "http:///127.0.0.1/",
            "http:/169.254.169.254/latest/meta-data/",
            "http://ip6-localhost/",
            "http://metadata/",
            "http://[64:ff9b:1::7f00:1]/",
            "http://[fec0::1]/",
            "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
            "http://[ff02::1]/",
            "http://[4000::1]/",
            "http://255.255.255.255/",
            "http://224.0.0.1/",
        ];
        for text in private {
            assert!(address(text).is_ok_and(|a| a.private), "{text} is {:?}", address(text));
        }
        let public = ["https://example.org/", "http://8.8.8.8/", "http://[2606:4700::1]/"];
        for text in public.into_iter().chain(["http://[2001:4860:4860::8888]/"]) {
            assert!(address(text).is_ok_and(|a| !a.private), "{text}");
        }
    }
}
