//! MCP servers at an address: headers, logins, and what happens without one.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::run::with;
use crate::server::{Server, Turn};
use crate::test::Test;

/// A server on loopback that also gives logins for itself.
struct RemoteServer {
    port: u16,
    /// The heads and bodies of all requests.
    heard: Arc<Mutex<Vec<String>>>,
}

impl RemoteServer {
    fn new(needs_login: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let received = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let received = Arc::clone(&received);
                thread::spawn(move || {
                    let mut writer = stream.try_clone().expect("a stream");
                    let mut reader = BufReader::new(stream);
                    while let Some((head, body)) = request(&mut reader) {
                        let answer = answer(&head, &body, port, needs_login);
                        received.lock().expect("a list").push(format!("{head}{body}"));
                        let _ = writer.write_all(answer.as_bytes());
                    }
                });
            }
        });
        Self { port, heard }
    }

    /// An agent with this server.
    fn agent(&self) -> Test {
        let port = self.port;
        let definition = format!(
            "name: helper\nversion: 1.0.0\ndescription: Helps\nsoul: You help.\n\
             trust: {{filesystem: read-only, network: allowed, exec: none}}\n\
             tools: {{mcp: [{{name: far, url: 'http://127.0.0.1:{port}/mcp'}}]}}\n"
        );
        let rules = format!(
            "[policy.webfetch]\nintent = \"ask\"\nrules = [\"http://127.0.0.1:{port}:allow\"]\n"
        );
        let test = Test::new().file("helper.agent", definition);
        test.file("home/.config/agentry/config.toml", rules)
    }

    fn count_requests(&self, part: &str) -> usize {
        self.heard.lock().expect("a list").iter().filter(|it| it.contains(part)).count()
    }
}

fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|count| *count > 0)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8_lossy(&body).into_owned()))
}

fn respond(status: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{more}\r\n{body}"
    )
}

fn answer(head: &str, body: &str, port: u16, needs_login: bool) -> String {
    let own = format!("http://127.0.0.1:{port}");
    let found = |value: Value| respond("200 OK", "", &value.to_string());
    let target = head.split(' ').nth(1).unwrap_or_default();
    match target.split('?').next().unwrap_or_default() {
        "/.well-known/oauth-protected-resource/mcp" => {
            found(json!({"resource": format!("{own}/mcp"), "authorization_servers": [own]}))
        }
        "/.well-known/oauth-authorization-server" => found(json!({
            "issuer": own, "authorization_endpoint": format!("{own}/authorize"),
            "token_endpoint": format!("{own}/token"),
            "registration_endpoint": format!("{own}/register"),
            "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => found(json!({"client_id": "c1"})),
        "/token" => found(json!({"access_token": "t0ken-of-the-user", "token_type": "Bearer"})),
        "/mcp" => {
            let is_known = head.contains("Bearer t0ken-of-the-user");
            if needs_login && !is_known {
                return respond("401 Unauthorized", "www-authenticate: Bearer\r\n", "");
            }
            let asked: Value = serde_json::from_str(body).unwrap_or_default();
            let id = &asked["id"];
            let schema = json!({"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
            }});
            let result = match asked["method"].as_str() {
                Some("server/discover") => {
                    json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
                }
                Some("tools/list") => json!({"tools": [{"name": "sell", "inputSchema": schema}]}),
                Some("tools/call") => json!({"content": [{"type": "text", "text": "sold"}]}),
                _ => return respond("404 Not Found", "", ""),
            };
            found(json!({"jsonrpc": "2.0", "id": id, "result": result}))
        }
        _ => respond("404 Not Found", "", ""),
    }
}

#[test]
fn declared_arguments_are_sent_in_headers() {
    let server = RemoteServer::new(false);
    let test = server.agent();
    let args =
        ["tools", "call", "helper.agent", "far__sell", r#"{"region":"eu\nhost: x"}"#, "--yes"];
    let ran = test.run_args(&args).exits(0);
    assert_eq!(ran.stdout, "sold\n");
    assert_eq!(server.count_requests("mcp-param-region: =?base64?ZXUKaG9zdDogeA==?="), 1, "{ran}");
}

#[test]
fn a_stored_login_is_used_by_later_runs() {
    let server = RemoteServer::new(true);
    let test = server.agent();
    let listed = test.run("tools helper.agent --yes --format json").exits(0).json();
    let reason = listed["missing"][0]["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("log in with `agentry tools login helper.agent far`"), "{listed}");
    let model = Server::playing([Turn::text("Done.").into()]);
    let ran = with(&test, &model, &["run", "helper.agent", "go"]).exits(3);
    assert!(ran.stderr.contains("is not ready: it wants a login"), "{ran}");
    assert_eq!(model.count(), 0);
    test.run("tools login helper.agent near").exits(2);
    let mut command = test.command(["tools", "login", "helper.agent", "far"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the program runs");
    let mut lines = BufReader::new(child.stderr.take().expect("its messages")).lines();
    let page = lines.find_map(|line| Some(line.ok()?.trim().strip_prefix("http")?.to_owned()));
    let page = format!("http{}", page.expect("a page"));
    let value = |name: &str| {
        let query = page.split_once('?').expect("a query").1;
        let found = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
        found.expect("a value").replace("%3A", ":").replace("%2F", "/")
    };
    let (back, state) = (value("redirect_uri"), value("state"));
    let host = back.strip_prefix("http://").and_then(|it| it.split('/').next()).expect("a host");
    // Another page tries first; then the browser of the user comes back.
    for state in ["x", &state] {
        let mut stream = TcpStream::connect(host).expect("the page of the login");
        let sent =
            format!("GET /callback?code=c0de&state={state} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(sent.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert_eq!(answer.starts_with("HTTP/1.1 200"), state != "x", "{answer}");
    }
    let ended = child.wait_with_output().expect("an end");
    let ended = test.ended("tools login", &ended).exits(0);
    assert_eq!(ended.stdout, "you are logged in to `far`, which has 1 tool\n");
    let called = test.run("tools call helper.agent far__sell").exits(0);
    assert_eq!(called.stdout, "sold\n");
    assert_eq!(server.count_requests("POST /token"), 1);
    // The token is in one private file, and in nothing that is shown.
    let logins = std::fs::read_dir(test.path("home/.agentry/logins")).expect("the logins");
    let permissions = logins.flatten().map(|file| {
        use std::os::unix::fs::PermissionsExt as _;
        file.metadata().expect("a file").permissions().mode() & 0o777
    });
    assert_eq!(permissions.collect::<Vec<_>>(), [0o600]);
    assert!(!called.stderr.contains("t0ken"), "{called}");
}
