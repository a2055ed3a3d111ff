use std::io::{BufRead as _, BufReader, Read as _};
use std::net::Ipv4Addr;

use super::*;

/// Opens some hosts, which all resolve to a server on this machine.
struct Stand {
    open: Vec<(&'static str, HostReach)>,
    server: SocketAddr,
}

impl ProxyGate for Stand {
    fn open(&self, _: &str, host: &str, _: u16) -> Result<HostReach, String> {
        let found = self.open.iter().find(|(open, _)| *open == host);
        found.map(|(_, reach)| *reach).ok_or_else(|| format!("`{host}` may not be reached"))
    }

    fn is_private(&self, address: IpAddr) -> bool {
        address.is_loopback()
    }

    fn look_up(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![self.server])
    }
}

/// A server that returns the request it received, once for each connection.
fn server() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            thread::spawn(move || {
                let mut reply = String::new();
                let mut reader = BufReader::new(&stream);
                while !reply.ends_with("\r\n\r\n")
                    && reader.read_line(&mut reply).is_ok_and(|it| it > 0)
                {}
                let text = format!("HTTP/1.1 200 OK\r\n\r\nyou said: {reply}");
                let _ = (&stream).write_all(text.as_bytes());
                let _ = stream.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    address
}

fn proxy(open: &[(&'static str, HostReach)]) -> NetworkProxy {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a listener");
    NetworkProxy::start(listener, Stand { open: open.to_vec(), server: server() }).expect("a proxy")
}

fn ask(proxy: &NetworkProxy, text: &str) -> String {
    let mut stream =
        TcpStream::connect(proxy.listener.local_addr().expect("an address")).expect("a connection");
    stream.write_all(text.as_bytes()).expect("sent");
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    reply
}

#[test]
fn the_proxy_reaches_only_named_hosts() {
    let proxy = proxy(&[("good.org", HostReach::Private), ("public.org", HostReach::Public)]);
    let cases = [
        ("CONNECT good.org:443 HTTP/1.1\r\n\r\nhello\r\n\r\n", "you said: hello"),
        ("CONNECT GOOD.org.:443 HTTP/1.1\r\n\r\nhello\r\n\r\n", "you said: hello"),
        (
            "CONNECT evil.org:443 HTTP/1.1\r\nHost: good.org\r\n\r\n",
            "`evil.org` may not be reached",
        ),
        ("CONNECT xgood.org:443 HTTP/1.1\r\n\r\n", "`xgood.org` may not be reached"),
        ("CONNECT good.org.evil.org:443 HTTP/1.1\r\n\r\n", "may not be reached"),
        ("CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n", "`127.0.0.1` may not be reached"),
        ("CONNECT public.org:443 HTTP/1.1\r\n\r\n", "leads to this machine or a private network"),
        (
            "GET http://good.org/a HTTP/1.1\r\nHost: evil.org\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: good.org\r\n",
        ),
        (
            "GET http://evil.org/a HTTP/1.1\r\nHost: good.org\r\n\r\n",
            "`evil.org` may not be reached",
        ),
        ("GET /a HTTP/1.1\r\nHost: good.org\r\n\r\n", "the request names no host"),
        ("POST http://good.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "411 Length"),
        (
            "POST http://good.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "not clear",
        ),
        (
            "POST http://good.org/ HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\nx",
            "not clear",
        ),
        ("POST http://good.org/ HTTP/1.1\r\nContent-Length: +1\r\n\r\nx", "not clear"),
        ("POST http://good.org/ HTTP/1.1\r\nContent-Length:\r\n\r\nx", "not clear"),
        ("hello\r\n\r\n", "the request is no HTTP"),
    ];
    for (text, expected) in cases {
        let reply = ask(&proxy, text);
        assert!(reply.contains(expected), "{text}: {reply}");
    }
}

#[test]
fn a_second_request_on_a_connection_is_dropped() {
    let proxy = proxy(&[("good.org", HostReach::Private)]);
    let two = "GET http://good.org/a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\nHost: evil.org\r\n\r\n";
    let reply = ask(&proxy, two);
    assert!(reply.contains("GET /a") && !reply.contains("evil.org"), "{reply}");
}

#[test]
fn proxy_connections_are_limited() {
    let proxy = proxy(&[("good.org", HostReach::Private)]);
    let open: Vec<TcpStream> = (0..MOST)
        .map(|_| {
            TcpStream::connect(proxy.listener.local_addr().expect("an address"))
                .expect("a connection")
        })
        .collect();
    let reply = ask(&proxy, "GET http://good.org/ HTTP/1.1\r\n\r\n");
    assert!(reply.contains("too many connections"), "{reply}");
    drop(open);
}

#[test]
fn public_names_reach_private_addresses_only_if_named() {
    let lines = [("public.org", HostReach::Public), ("127.0.0.1", HostReach::Public)];
    let refused = ask(&proxy(&lines), "CONNECT public.org:443 HTTP/1.1\r\n\r\n");
    assert!(refused.contains("leads to this machine"), "{refused}");
    let lines = [("public.org", HostReach::Public), ("127.0.0.1", HostReach::Private)];
    let opened = ask(&proxy(&lines), "CONNECT public.org:443 HTTP/1.1\r\n\r\nhello\r\n\r\n");
    assert!(opened.contains("you said: hello"), "{opened}");
}

#[test]
fn a_dropped_proxy_closes_its_connections() {
    let proxy = proxy(&[("good.org", HostReach::Private)]);
    let address = proxy.listener.local_addr().expect("an address");
    let mut tunnel = TcpStream::connect(address).expect("a connection");
    tunnel.write_all(b"CONNECT good.org:443 HTTP/1.1\r\n\r\n").expect("sent");
    let mut first = [0; 12];
    tunnel.read_exact(&mut first).expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 200");
    drop(proxy);
    let mut rest = Vec::new();
    let _ = tunnel.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("you said"));
    assert!(TcpStream::connect(address).is_err());
}
