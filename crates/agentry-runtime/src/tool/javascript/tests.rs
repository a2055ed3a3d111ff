use agentry_compile::policy::Action;
use serde_json::json;

use super::super::testing::{TestRules, judge};
use super::*;

fn described(key: &str, scheme: Value) -> DescribedTool {
    DescribedTool { block: 0, key: key.to_owned(), has_function: true, scheme }
}

#[test]
fn tool_schemes_are_validated() {
    let scheme = |name: &str, parameters: Value| json!({"name": name, "description": "d", "parameters": parameters});
    let object = || json!({"type": "object"});
    let deep =
        (0..100).fold(object(), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    let doubling = {
        let mut definitions = serde_json::Map::new();
        for n in 0..16 {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            definitions.insert(format!("d{n}"), json!({"allOf": [next, next]}));
        }
        definitions.insert("d16".to_owned(), object());
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
    };
    let cases = [
        (described("check", scheme("Check", object())), Ok("check")),
        (described("fetch", scheme("fetch", object())), Ok("fetch")),
        (described("a b", scheme("a b", object())), Err("a name has 1 to 64")),
        (described("Bash", scheme("bash", object())), Err("`bash` is the name of a built-in tool")),
        (described("a", json!(null)), Err("`scheme` is not an object")),
        (described("a", json!({})), Err("`scheme.name` is missing")),
        (described("a", scheme("b", object())), Err("`scheme.name` is `b`")),
        (described("a", json!({"name": "a"})), Err("`scheme.description` is missing")),
        (
            described("a", json!({"name": "a", "description": "d"})),
            Err("`scheme.parameters` is missing"),
        ),
        (described("a", scheme("a", json!(5))), Err("`scheme.parameters`: it is not an object")),
        (
            described("a", scheme("a", json!({"type": "string"}))),
            Err("`scheme.parameters`: its type is not `object`"),
        ),
        (described("a", scheme("a", json!({"type": "nothing"}))), Err("`scheme.parameters`: ")),
        (
            described("a", scheme("a", json!({"properties": {"a": {"pattern": "("}}}))),
            Err("`scheme.parameters`: "),
        ),
        (
            described("a", scheme("a", json!({"$ref": "#"}))),
            Err("`scheme.parameters`: `#` refers to itself"),
        ),
        (
            described("a", scheme("a", json!({"properties": {"a": {"$ref": "#"}}}))),
            Err("`scheme.parameters`: `#` refers to itself"),
        ),
        (
            described("a", scheme("a", json!({"$ref": "https://example.com/schema"}))),
            Err("`scheme.parameters`: `https://example.com/schema` refers to nothing here"),
        ),
        (described("a", scheme("a", deep)), Err("`scheme.parameters`: it has more than 64 levels")),
        (
            described("a", scheme("a", doubling)),
            Err("`scheme.parameters`: it has more than 5000 values"),
        ),
    ];
    for (tool, expected) in cases {
        let found = specification(&tool).map(|spec| spec.name);
        match expected {
            Ok(name) => assert_eq!(found.as_deref(), Ok(name)),
            Err(part) => assert!(found.as_ref().is_err_and(|it| it.starts_with(part)), "{found:?}"),
        }
    }
    let unfinished = DescribedTool { has_function: false, ..described("a", scheme("a", object())) };
    assert_eq!(specification(&unfinished), Err("`fn` is not a function".to_owned()));
}

#[test]
fn schema_references_are_expanded() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/name"}, "b": {"$ref": "#/$defs/name", "maxLength": 3}},
        "$defs": {"name": {"type": "string"}},
    });
    let expected = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"allOf": [{"type": "string"}, {"maxLength": 3}]}},
    });
    assert_eq!(scheme::expanded(&schema), Ok(expected));
}

#[test]
fn tool_rules_apply_only_where_written() {
    let cases: [(&str, Vec<TestRules<'_>>, &[&str]); 5] = [
        ("Deploy", vec![], &[]),
        ("Deploy", vec![(Section::Bash, Action::Deny, &[])], &[]),
        ("Deploy", vec![(Section::Tool, Action::Ask, &[])], &["Deploy"]),
        // A rule against another spelling of the name holds too; one for it does not lose the tool.
        ("Deploy", vec![(Section::Tool, Action::Allow, &["deploy:deny"])], &["Deploy", "deploy"]),
        ("Deploy", vec![(Section::Tool, Action::Deny, &["Deploy:allow"])], &["Deploy"]),
    ];
    for (name, rules, expected) in cases {
        let judge = judge(&rules, "/workspace".as_ref());
        let found = own_touches(&judge, name);
        let found: Vec<&str> = found.iter().map(|touch| touch.subject.as_str()).collect();
        assert_eq!(found, expected, "{rules:?}");
    }
}

/// A server that repeats the head of a request, and redirects by path.
async fn redirecting_server() -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                let length = stream.read(&mut request).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
                let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
                let to = match path.as_str() {
                    "/once" => Some("/echo".to_owned()),
                    "/round" => Some("/round".to_owned()),
                    "/file" => Some("file:///etc/passwd".to_owned()),
                    "/inside" => Some("http://169.254.169.254/latest/".to_owned()),
                    "/denied" => Some("/secret".to_owned()),
                    "/other" => Some(format!("http://localhost:{port}/echo")),
                    "/shut" => Some(format!("http://[::1]:{port}/echo")),
                    "/mapped" => Some(format!("http://[::ffff:127.0.0.1]:{port}/echo")),
                    "/tunnel" => Some("http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/".to_owned()),
                    "/zero" => Some(format!("http://0.0.0.0:{port}/echo")),
                    "/number" => Some(format!("http://2130706433:{port}/secret")),
                    "/user" => Some(format!("http://a:b@127.0.0.1:{port}/echo")),
                    "/relative" => Some("//169.254.169.254/latest/".to_owned()),
                    "/dots" => Some("/x/../secret".to_owned()),
                    "/encoded" => Some("/x/%2e%2e/secret".to_owned()),
                    "/backslash" => Some("http:\\\\169.254.169.254\\x".to_owned()),
                    "/script" => Some("javascript:alert(1)".to_owned()),
                    _ => None,
                };
                let answer = match to {
                    Some(to) => format!(
                        "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    ),
                    None => format!(
                        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{request}",
                        request.len()
                    ),
                };
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    port
}

/// Every address of a `fetch` is judged, also those that a server leads to.
#[tokio::test]
async fn every_hop_of_a_fetch_is_judged() {
    use super::super::testing::TestWorkspace;
    use agentry_javascript::{FetchRequest, JobBroker as _};
    let port = redirecting_server().await;
    let world = TestWorkspace::new();
    let rules = [
        format!("http://127.0.0.1:{port}/secret:deny"),
        format!("http://127.0.0.1:{port}:allow"),
        format!("http://localhost:{port}:allow"),
    ];
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let host = world.judged(&[(Section::Webfetch, Action::Allow, &rules)]);
    let fetched = async |path: &str, redirect: &str| {
        let broker = RunBroker::new(&host, "probe", Duration::from_secs(20));
        let request = FetchRequest {
            url: format!("http://127.0.0.1:{port}{path}"),
            method: "GET".to_owned(),
            headers: ["authorization", "Proxy-Authorization", "HOST"]
                .map(|name| (name.to_owned(), "Bearer hush".to_owned()))
                .to_vec(),
            has_body: false,
            redirect: redirect.to_owned(),
        };
        let head = broker.fetch(request, Vec::new()).await?;
        let mut body = Vec::new();
        while let Some(piece) = broker.read(head.body).await? {
            body.extend(piece);
        }
        Ok::<_, String>((head.status, head.redirected, String::from_utf8_lossy(&body).into_owned()))
    };
    let (status, redirected, body) = fetched("/once", "follow").await.unwrap();
    assert_eq!((status, redirected), (200, true));
    assert!(body.contains("get /echo") && body.matches("bearer hush").count() == 1, "{body}");
    // Another origin does not get the credentials.
    let (_, _, body) = fetched("/other", "follow").await.unwrap();
    assert!(body.contains("get /echo") && !body.contains("hush"), "{body}");
    assert_eq!(fetched("/once", "manual").await.unwrap().0, 302);
    let cases = [
        ("/once", "error", "is a redirect"),
        ("/round", "follow", "more than 8 times"),
        ("/file", "follow", "its scheme is not one of the web"),
        ("/inside", "follow", "refused: `http://169.254.169.254/latest/`"),
        ("/denied", "follow", "refused: "),
        ("/shut", "follow", "refused: "),
        ("/secret", "follow", "refused: "),
        ("/mapped", "follow", "refused: "),
        ("/tunnel", "follow", "refused: "),
        ("/zero", "follow", "refused: "),
        ("/number", "follow", "refused: "),
        ("/user", "follow", "no user name is sent"),
        ("/relative", "follow", "refused: "),
        ("/dots", "follow", "refused: "),
        ("/encoded", "follow", "refused: "),
        ("/backslash", "follow", "refused: "),
        ("/script", "follow", "its scheme is not one of the web"),
    ];
    for (path, redirect, expected) in cases {
        let found = fetched(path, redirect).await;
        assert!(found.as_ref().is_err_and(|why| why.contains(expected)), "{path}: {found:?}");
    }
}
