use std::io;
use std::net::SocketAddr;

use agentry_compile::policy::{Action, Section};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::output_cap;
use super::super::testing::TestWorkspace;
use super::*;

/// Starts a server with a different answer for each path, and returns its port.
async fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
                let _ = stream.write_all(&answer(&path, port)).await;
            });
        }
    });
    port
}

fn answer(path: &str, port: u16) -> Vec<u8> {
    let to =
        |to: &str| format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
    let with = |kind: &str, body: &[u8]| {
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n");
        [head.as_bytes(), body].concat()
    };
    match path {
        "/page" => with("text/html; charset=utf-8", "<h1>Grün</h1>".as_bytes()),
        "/latin" => with("text/plain; charset=iso-8859-1", b"gr\xfcn"),
        "/json" => with("application/json", b"{\"a\": 1}"),
        "/image" => with("image/png", b"\x89PNG"),
        "/nul" => with("text/plain", b"a\0b"),
        "/long" => with("text/plain", "x".repeat(6 << 20).as_bytes()),
        "/short" => {
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 9\r\n\r\nabc".to_vec()
        }
        "/missing" => b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnope".to_vec(),
        "/once" => to("/page").into_bytes(),
        "/round" => to("/round").into_bytes(),
        "/file" => to("file:///etc/passwd").into_bytes(),
        "/inside" => to("http://169.254.169.254/latest/meta-data/").into_bytes(),
        "/asked" => to("https://asked.example/x").into_bytes(),
        "/user" => to("http://a:b@127.0.0.1/").into_bytes(),
        "/other" => to(&format!("http://inside.example:{port}/page")).into_bytes(),
        "/named" => to(&format!("http://named.example:{port}/page")).into_bytes(),
        "/nowhere" => b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
        _ => b"garbage\r\n\r\n".to_vec(),
    }
}

/// Every name but one resolves to this machine.
fn webfetch() -> WebfetchTool {
    let lookup = |name: String, port| -> BoxedFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move {
            match name.as_str() {
                "unknown.example" => Err(io::Error::other("no such name")),
                "empty.example" => Ok(Vec::new()),
                "mixed.example" => {
                    Ok(vec![([93, 184, 216, 34], port).into(), ([10, 0, 0, 1], port).into()])
                }
                _ => Ok(vec![([127, 0, 0, 1], port).into()]),
            }
        })
    };
    WebfetchTool { client: WebClient { lookup: Box::new(lookup) } }
}

#[tokio::test]
async fn every_redirect_is_judged() {
    let port = server().await;
    let world = TestWorkspace::new();
    let rules = [
        format!("http://127.0.0.1:{port}/inside2:deny"),
        format!("http://127.0.0.1:{port}:allow"),
        format!("http://localhost:{port}:allow"),
        format!("http://*.example:{port}:allow"),
        "https://asked.example:ask".to_owned(),
    ];
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let host = world.judged(&[(Section::Webfetch, Action::Deny, &rules)]);
    let local = format!("http://127.0.0.1:{port}");
    let cases = [
        ("/page", Ok(format!("{local}/page\n\n# Grün"))),
        ("/once", Ok(format!("{local}/page\n\n# Grün"))),
        ("/latin", Ok(format!("{local}/latin\n\ngrün"))),
        ("/json", Ok(format!("{local}/json\n\n{{\"a\": 1}}"))),
        ("/other", Ok(format!("http://inside.example:{port}/page\n\n# Grün"))),
        ("/image", Err(format!("`{local}/image` is not text but `image/png`"))),
        ("/nul", Err(format!("`{local}/nul` is not text: it holds NUL bytes"))),
        ("/missing", Err(format!("`{local}/missing` answered 404 Not Found\n\nnope"))),
        ("/round", Err("it was led elsewhere more than 8 times".to_owned())),
        ("/file", Err("`file:///etc/passwd`: its scheme is not one of the web".to_owned())),
        ("/user", Err("`http://a:b@127.0.0.1/`: no user name is sent".to_owned())),
        ("/nowhere", Err(format!("`{local}/nowhere` leads elsewhere, but not where"))),
        (
            "/asked",
            Err("it leads to `https://asked.example/x`: call this tool with that address"
                .to_owned()),
        ),
        (
            "/inside",
            Err("refused: it leads to `http://169.254.169.254/latest/meta-data/`: webfetch = deny"
                .to_owned()),
        ),
    ];
    for (path, expected) in cases {
        let output = host.call(&webfetch(), json!({"url": format!("{local}{path}")})).await;
        assert_eq!(output, ToolOutput::from(expected), "{path}");
    }
    for path in ["/short", "/garbage"] {
        let output = host.call(&webfetch(), json!({"url": format!("{local}{path}")})).await;
        assert!(output.failed, "{path}: {output:?}");
    }
    let raw = host.call(&webfetch(), json!({"url": format!("{local}/page"), "raw": true})).await;
    assert_eq!(raw, ToolOutput::done(format!("{local}/page\n\n<h1>Grün</h1>")));
    let long = host.call(&webfetch(), json!({"url": format!("{local}/long")})).await;
    assert!(long.text.contains("outputs/1.txt") && long.text.ends_with("it is too long]"));
    assert!(long.text.len() < output_cap::MOST + 300);
    let named = format!("http://localhost:{port}/page");
    assert!(!host.call(&webfetch(), json!({"url": named})).await.failed);
}

#[tokio::test]
async fn names_resolving_to_private_addresses_are_refused() {
    let world = TestWorkspace::new();
    let test_rules = (Section::Webfetch, Action::Allow, [].as_slice());
    let host = world.judged(&[test_rules]);
    let cases = [
        ("https://rebound.example/", "refused: `rebound.example` leads to 127.0.0.1, "),
        ("https://mixed.example/", "refused: `mixed.example` leads to 10.0.0.1, "),
        ("https://unknown.example/", "`unknown.example` could not be found: no such name"),
        ("https://empty.example/", "`empty.example` leads nowhere"),
        ("http://127.0.0.1/", "Deny: an address of this machine"),
        ("http://0x7f.1/", "Deny: an address of this machine"),
        ("http://[::ffff:10.0.0.1]/", "Deny: an address of this machine"),
        ("http://localhost/", "Deny: an address of this machine"),
        ("file:///etc/passwd", "`file:///etc/passwd`: its scheme is not one of the web"),
        ("ws://example.org/", "`ws://example.org/`: only http and https can be fetched"),
        ("http:/example.org/", "`http:/example.org/`: it can be read in several ways"),
        ("https://a\\b.example/", "`https://a\\b.example/`: it holds a backslash"),
        ("https://me@example.org/", "`https://me@example.org/`: no user name is sent"),
        ("", "``: "),
    ];
    for (url, expected) in cases {
        let output = host.call(&webfetch(), json!({"url": url})).await;
        assert!(output.failed && output.text.starts_with(expected), "{url}: {output:?}");
    }
}

#[test]
fn urls_are_normalised_once() {
    let cases = [
        ("example.org/a#part", Some("https://example.org/a")),
        ("HTTPS://Example.org", Some("https://example.org/")),
        ("http://example.org:8080/a b", None),
        ("https://example.org:443/x?q=1", Some("https://example.org/x?q=1")),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).ok().as_ref().map(Url::as_str), expected, "{text}");
    }
}

/// A page is a read: fetched in parallel with others, and again by a resumed run.
#[test]
fn webfetch_is_a_read_call() {
    assert_eq!(webfetch().class(&json!({"url": "https://example.org/"})), CallClass::Read);
}
