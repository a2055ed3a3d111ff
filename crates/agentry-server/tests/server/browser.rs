//! The page in a real browser: what people do, what hostile text does not do, and what other pages try.
//!
//! Needs `chromium` and `chromedriver`, which `cargo xtask ci` installs where it can.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use agentry_server::{HostCall, LiveSignal, TokenScope};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::scripted_host::{LIMIT, TestServer};

/// A browser that ends with the value.
struct Browser {
    driver: Child,
    base: String,
    client: reqwest::Client,
    runtime: Runtime,
    profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser; `None` if there is none.
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    fn start() -> Option<Self> {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut driver) = command.spawn() else {
            eprintln!("SKIPPED: `chromedriver` is missing, so the page is not tested in a browser");
            return None;
        };
        let mut lines = BufReader::new(driver.stdout.take().expect("a pipe")).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let port = line.split("started successfully on port ").nth(1)?;
            Some(port.trim_end_matches('.').to_owned())
        });
        // Its further output must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().expect("a writable directory");
        let runtime = Runtime::new().expect("a runtime");
        // A second browser finds it installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let base = format!("http://127.0.0.1:{}/session", port.expect("a port"));
        let mut browser = Self { driver, base, client, runtime, profile };
        let profile = format!("--user-data-dir={}", browser.profile.path().display());
        let resolver = "--host-resolver-rules=MAP evil.test 127.0.0.1";
        let args = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            resolver,
            &profile,
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": args }, "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = browser.post("", &wanted);
        browser.base =
            format!("{}/{}", browser.base, session["sessionId"].as_str().expect("a session"));
        Some(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let request = self.client.post(format!("{}{path}", self.base)).json(body).timeout(LIMIT);
        let reply = async { request.send().await?.json::<Value>().await };
        let reply = self.runtime.block_on(reply).expect("the driver answers");
        assert!(reply["value"]["error"].is_null(), "{path}: {reply}");
        reply["value"].clone()
    }

    fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until a script returns true.
    fn wait(&self, script: &str) {
        let until = Instant::now() + LIMIT;
        while self.run(script) != true {
            assert!(
                Instant::now() < until,
                "never: {script}\n{}",
                self.run("return document.body.innerText")
            );
        }
    }

    fn resize(&self, width: u32, height: u32) {
        self.post("/window/rect", &json!({ "width": width, "height": height }));
    }

    fn scheme(&self, scheme: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        let command =
            json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": [feature] } });
        self.post("/goog/cdp/execute", &command);
    }

    /// Saves what is seen, if a directory for it is named, for a person to look at.
    fn picture(&self, name: &str) {
        let Some(directory) = std::env::var_os("AGENTRY_SCREENSHOTS") else { return };
        let request = self.client.get(format!("{}/screenshot", self.base));
        let reply = async { request.send().await?.json::<Value>().await };
        let reply = self.runtime.block_on(reply).expect("a picture");
        let path = PathBuf::from(directory).join(format!("{name}.png.base64"));
        std::fs::write(path, reply["value"].as_str().unwrap_or_default()).expect("a directory");
    }

    /// The errors in the console.
    fn errors(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        let errors = log.as_array().into_iter().flatten().filter(|it| it["level"] == "SEVERE");
        errors.map(|it| it["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Opens the page with a code, as `serve --open` does.
    fn open(&self, server: &TestServer, scope: TokenScope) {
        let code = server.tokens.issue_code("browser", scope).expect("a code");
        self.go(&format!("http://{}/#code={code}", server.address));
        self.wait("return document.querySelector('main h1') !== null");
        assert_eq!(self.run("return location.hash"), "", "the code leaves the address");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let request = self.client.delete(&self.base).timeout(LIMIT);
        // Not sent before the runtime is entered, which its timer needs.
        let _ = self.runtime.block_on(async { request.send().await });
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Text that runs a script wherever it is taken for HTML, an attribute, an address or a script.
const HOSTILE: &str = "\"'><img src=x onerror=\"window.canary=1\"><script>window.canary=2</script>\
    <svg/onload=window.canary=3>javascript:window.canary=4//</textarea></pre></title>\
    <iframe srcdoc='<script>parent.canary=5</script>'></iframe><base href=//evil.test>\
    {{window.canary=6}}${window.canary=7}`\u{202e}\u{0}\n\ndata: {\"html\":\"<script>window.canary=8</script>\"}\n\n";

/// Fails if anything of the hostile text was taken for more than text.
fn assert_harmless(browser: &Browser, place: &str) {
    assert_eq!(browser.run("return window.canary ?? null"), Value::Null, "{place}: a script ran");
    let strange = "return document.querySelectorAll('main :is(img,script,svg:not(.plot),iframe,base,object,embed)').length \
        + document.querySelectorAll('base, body > script, iframe').length";
    assert_eq!(browser.run(strange), 0, "{place}: the text became an element");
    let handlers = "return [...document.querySelectorAll('*')].filter((it) => [...it.attributes]\
        .some((at) => at.name.startsWith('on') || /^\\s*javascript:/i.test(at.value) && at.name === 'href')).length";
    assert_eq!(browser.run(handlers), 0, "{place}: an attribute runs a script");
    let shown =
        browser.run("return document.querySelector('main').innerText.includes('window.canary=1')");
    assert_eq!(shown, true, "{place}: the text is shown");
}

fn events(text: &str) -> Vec<Value> {
    vec![
        json!({ "type": "said", "text": text }),
        json!({ "type": "turn", "model": text, "text": text, "calls": 1, "usage": { "input": 1, "output": 2, "cost": 3 } }),
        json!({ "type": "call", "id": "c1", "tool": text, "arguments": { (text): text }, "verdict": text, "reason": text }),
        json!({ "type": "answer", "id": "c1", "answer": { "no": text } }),
        json!({ "type": "result", "id": "c1", "text": text, "failed": true }),
        json!({ "type": "call", "id": "c2", "within": "c1", "tool": text, "arguments": {}, "verdict": "allow", "reason": text }),
        json!({ "type": "delegated", "id": "c1", "run": text }),
        json!({ "type": "model_failed", "model": text, "message": text }),
        json!({ "type": text, "text": text }),
    ]
}

#[test]
fn hostile_text_is_escaped_in_the_page() {
    let Some(browser) = Browser::start() else { return };
    let server = TestServer::showing(HOSTILE);
    server.host.events.lock().expect("no panic").extend(events(HOSTILE));
    let ended = json!({ "type": "ended", "state": HOSTILE, "why": HOSTILE, "spent": {} });
    *server.host.ended.lock().expect("no panic") = Some(ended);
    browser.open(&server, TokenScope::Admin);
    let pages = [
        ("approvals", "document.querySelector('article.approval') !== null"),
        ("runs", "document.querySelector('table.runs') !== null"),
        ("runs/r1", "document.querySelector('.ended') !== null"),
        ("agents", "document.querySelector('ul.agents') !== null"),
        ("agents/helper", "document.querySelector('article.approval form') !== null"),
    ];
    for (page, shown) in pages {
        browser.run(&format!("location.hash = '#/{page}'"));
        browser.wait(&format!("return {shown}"));
        let open = "document.querySelectorAll('main details').forEach((it) => { it.open = true; })";
        browser.run(open);
        if page == "runs/r1" {
            // The end of a run renews its head, with the details closed: they are opened until they stay so.
            browser.wait(&format!("{open}; return document.querySelector('.diff') !== null"));
        }
        assert_harmless(&browser, page);
        browser.picture(&format!("hostile-{}", page.replace('/', "-")));
    }
    let piece = json!({ "type": "text", "text": HOSTILE });
    let _ = server.host.signals.send(LiveSignal::Piece(piece));
    // There is no run of the delegate.
    let errors: Vec<_> = browser.errors().into_iter().filter(|it| !it.contains("404")).collect();
    assert_eq!(errors, Vec::<String>::new());
}

/// Waits until the page made the server ask the host for something.
fn wait_for_call(browser: &Browser, server: &TestServer, is_meant: impl Fn(&HostCall) -> bool) {
    let until = Instant::now() + LIMIT;
    while !server.host.calls.lock().expect("no panic").iter().any(&is_meant) {
        assert!(Instant::now() < until, "the call never came");
        browser.run("return true");
    }
}

/// A person accepts what an agent proposes to itself, and rejects it with a reason.
#[test]
fn proposals_are_decided_in_the_browser() {
    let Some(browser) = Browser::start() else { return };
    let server = TestServer::new();
    browser.open(&server, TokenScope::Approve);
    browser.run("location.hash = '#/agents/helper'");
    browser.wait("return document.querySelector('article.approval button[data-post]') !== null");
    let forms = browser.run("return document.querySelectorAll('article.approval form').length");
    assert_eq!(forms, 1, "a proposal that was decided has no buttons");
    browser.picture("proposals");
    let decided = |accepts: bool, why: Option<&'static str>| {
        move |call: &HostCall| {
            matches!(call, HostCall::Decide { agent, accepts: given, reason, .. }
                if agent == "helper" && *given == accepts && reason.as_deref() == why)
        }
    };
    browser.run("document.querySelector('article.approval button[data-post]').click()");
    wait_for_call(&browser, &server, decided(true, None));
    browser.wait("return document.querySelector('article.approval button:enabled') !== null");
    browser.run("document.querySelector('article.approval input[name=reason]').value = 'not today'; document.querySelector('article.approval form').requestSubmit()");
    wait_for_call(&browser, &server, decided(false, Some("not today")));
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// What a person does: reads, answers with the keyboard, starts a run, follows it, reloads in the middle.
#[test]
fn runs_and_approvals_work_in_the_browser() {
    let Some(browser) = Browser::start() else { return };
    let server = TestServer::showing("deploy the site");
    browser.resize(1200, 900);
    browser.open(&server, TokenScope::Admin);
    browser.wait("return document.getElementById('waiting').textContent === '1'");
    browser.picture("approvals");
    browser.resize(390, 850);
    let wide =
        "return document.documentElement.scrollWidth <= document.documentElement.clientWidth";
    assert_eq!(browser.run(wide), true, "a phone does not scroll sideways");
    browser.picture("approvals-phone");
    browser.scheme("dark");
    browser.picture("approvals-dark");
    browser.scheme("light");
    browser.resize(1200, 900);
    // By keyboard: the reason, and Enter.
    let focus = "const it = document.querySelector('input[name=reason]'); it.focus(); it.value = 'not today'; return true";
    browser.run(focus);
    browser.post(
        "/actions",
        &json!({ "actions": [{ "type": "key", "id": "keys", "actions": [
        { "type": "keyDown", "value": "\u{e007}" }, { "type": "keyUp", "value": "\u{e007}" },
    ] }] }),
    );
    wait_for_call(&browser, &server, |call| {
        matches!(call, HostCall::Answer { id, answer, reason }
            if id == "r1.c1" && answer == "no" && reason.as_deref() == Some("not today"))
    });
    // Another answer gets the first one back, and the page says so.
    browser.wait("return document.querySelector('button[data-post]:enabled') !== null");
    browser.run("document.querySelector('button[data-post]').click()");
    browser.wait(
        "return document.getElementById('message').textContent === 'It was answered before: no'",
    );
    browser.run("location.hash = '#/runs'");
    browser.wait("return document.querySelector('form.start') !== null");
    browser.picture("runs");
    server.host.events.lock().expect("no panic").extend(events("make deploy"));
    browser.run("document.querySelector('[name=prompt]').value = 'go'; document.querySelector('form.start').requestSubmit()");
    browser.wait("return location.hash === '#/runs/r1' && document.querySelectorAll('.timeline > li').length >= 5");
    let piece = |text: &str| LiveSignal::Piece(json!({ "type": "text", "text": text }));
    server.host.signals.send(piece("half a sent")).expect("a reader");
    browser.wait("return document.querySelector('[data-live]').textContent === 'half a sent'");
    // What the run asks stands below its timeline, and can be answered there.
    browser.wait(
        "return document.querySelector('[data-waiting] article.approval button.main') !== null",
    );
    browser.picture("run");
    browser.post("/refresh", &json!({}));
    browser.wait("return document.querySelectorAll('.timeline > li').length >= 5");
    let turn =
        json!({ "type": "turn", "model": "m", "text": "half a sentence", "calls": 0, "usage": {} });
    server.host.events.lock().expect("no panic").push(turn);
    server.host.signals.send(LiveSignal::Changed).expect("a reader");
    browser.wait("return [...document.querySelectorAll('.answer-text')].some((it) => it.textContent === 'half a sentence')");
    browser.run("location.hash = '#/agents/helper'");
    browser.wait("return document.querySelector('svg.plot rect') !== null");
    browser.picture("agent");
    // The refused second answer is in the console too, as the browser writes it.
    let errors: Vec<_> = browser.errors().into_iter().filter(|it| !it.contains("409")).collect();
    assert_eq!(errors, Vec::<String>::new());
}

/// Two people answer in the same moment: one answer counts, and the page of the other says which.
#[test]
fn two_browsers_answer_at_once() {
    let (Some(first), Some(second)) = (Browser::start(), Browser::start()) else { return };
    let server = TestServer::showing("deploy the site");
    let at = {
        for browser in [&first, &second] {
            browser.open(&server, TokenScope::Approve);
            browser.wait("return document.querySelector('button[data-post]') !== null");
        }
        first.run("return Date.now() + 1500")
    };
    let click = |browser: &Browser, button: &str| {
        let button = format!("document.querySelector(`{button}`)");
        browser.run(&format!("setTimeout(() => {button}.click(), {at} - Date.now())"));
    };
    click(&first, "button[data-body*='\"yes\"']");
    click(&second, "form button[type=submit]");
    let answered = |browser: &Browser| {
        let text = browser.run("return document.getElementById('message').textContent");
        text.as_str().unwrap_or_default().to_owned()
    };
    let until = Instant::now() + LIMIT;
    let said = loop {
        let said = [answered(&first), answered(&second)];
        if said.iter().any(|text| !text.is_empty()) {
            break said;
        }
        assert!(Instant::now() < until, "both were accepted");
    };
    let answers = || {
        let calls = server.host.calls.lock().expect("no panic").clone();
        let answer = |call: HostCall| match call {
            HostCall::Answer { answer, .. } => Some(answer),
            _ => None,
        };
        calls.into_iter().filter_map(answer).collect::<Vec<_>>()
    };
    let answers = answers();
    assert_eq!(answers.len(), 2, "{answers:?}");
    let expected = match answers[0].as_str() {
        "yes" => ["", "It was answered before: yes"],
        _ => ["It was answered before: no", ""],
    };
    assert_eq!(said, expected);
}

/// A list that changes under the pointer takes no click for a moment; what it showed may have been something else.
#[test]
fn a_click_on_a_list_that_just_changed_does_nothing() {
    let Some(browser) = Browser::start() else { return };
    let server = TestServer::showing("deploy the site");
    browser.open(&server, TokenScope::Approve);
    browser.wait("return document.querySelector('button[data-post]') !== null");
    let click = "document.querySelector('button[data-post]').dispatchEvent(\
        new MouseEvent('click', { bubbles: true, detail: 1 }))";
    let said = browser.run(&format!(
        "shown = ''; return load(false).then(() => {{ {click}; return message.textContent; }})"
    ));
    assert!(said.as_str().is_some_and(|text| text.contains("just changed")), "{said}");
    let is_answer = |call: &HostCall| matches!(call, HostCall::Answer { .. });
    assert!(!server.host.calls.lock().expect("no panic").iter().any(is_answer));
    browser.run(&format!("moved = -Infinity; {click}"));
    wait_for_call(&browser, &server, is_answer);
}

/// A page of another program on this machine: another port of the same site.
fn foreign_page(server: &TestServer) -> String {
    let target = format!("http://{}", server.address);
    let page = format!(
        "<!doctype html><title>x</title><script>
        window.results = {{}};
        const body = JSON.stringify({{ agent: 'helper', prompt: 'forged' }});
        const kinds = {{ read: ['/v1/runs', {{}}], simple: ['/v1/runs', {{ method: 'POST', body, mode: 'no-cors' }}],
          json: ['/v1/runs', {{ method: 'POST', body, headers: {{ 'content-type': 'application/json' }} }}],
          health: ['/healthz', {{}}], pair: ['/v1/pair', {{ method: 'POST', body: '{{}}' }}] }};
        const tries = Object.entries(kinds).map(([name, [path, options]]) => fetch('{target}' + path, Object.assign({{ credentials: 'include' }}, options))
          .then((reply) => {{ results[name] = reply.type === 'opaque' ? 'opaque' : 'read ' + reply.status; }}, () => {{ results[name] = 'blocked'; }}));
        tries.push(new Promise((done) => {{ const socket = new WebSocket('{}/v1/runs/r1/events');
          socket.onopen = () => {{ results.socket = 'open'; done(); }}; socket.onerror = () => {{ results.socket = 'blocked'; done(); }}; }}));
        tries.push(new Promise((done) => {{ const frame = document.createElement('iframe'); frame.src = '{target}/';
          frame.onload = () => {{ let text = 'blocked'; try {{ text = frame.contentDocument.title; }} catch {{}} results.frame = text; done(); }};
          document.documentElement.append(frame); }}));
        const loads = (tag, field, path) => new Promise((done) => {{ const it = document.createElement(tag); it[field] = '{target}' + path;
          it.onload = () => {{ results[tag] = 'loaded'; done(); }}; it.onerror = () => {{ results[tag] = 'blocked'; done(); }};
          document.documentElement.append(it); }});
        tries.push(loads('script', 'src', '/page.js'), loads('img', 'src', '/icon.svg'));
        tries.push(new Promise((done) => {{ const source = new EventSource('{target}/v1/runs/r1/events');
          source.onopen = () => {{ results.events = 'open'; done(); }}; source.onerror = () => {{ results.events = 'blocked'; source.close(); done(); }}; }}));
        tries.push(new Promise((done) => {{ const form = document.createElement('form'); const frame = document.createElement('iframe');
          frame.name = 'forged'; form.target = 'forged'; form.method = 'post'; form.enctype = 'text/plain'; form.action = '{target}/v1/runs';
          const field = document.createElement('input'); field.name = body; field.value = ''; form.append(field);
          document.documentElement.append(frame, form);
          frame.onload = () => {{ let text = 'blocked'; try {{ text = frame.contentDocument.body.textContent; }} catch {{}} results.form = text; done(); }};
          form.submit(); }}));
        navigator.sendBeacon('{target}/v1/runs', new Blob([body], {{ type: 'text/plain' }}));
        Promise.all(tries).then(() => {{ window.done = true; }});
        </script>",
        target.replace("http", "ws")
    );
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free address");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
        }
    });
    format!("http://{address}/")
}

/// What reached the host, but for the page's own look at what waits, which may still be under way.
fn reached(server: &TestServer) -> Vec<HostCall> {
    let calls = server.host.calls.lock().expect("no panic").clone();
    let is_own = |call: &HostCall| matches!(call, HostCall::Approvals | HostCall::Waiting);
    calls.into_iter().filter(|call| !is_own(call)).collect()
}

#[test]
fn pages_of_other_origins_are_refused() {
    let Some(browser) = Browser::start() else { return };
    let server = TestServer::new();
    // The person has the page open, with a token.
    browser.open(&server, TokenScope::Admin);
    server.host.calls.lock().expect("no panic").clear();
    browser.go(&foreign_page(&server));
    browser.wait("return window.done === true");
    let results = browser.run("return window.results");
    let expected = json!({
        "read": "blocked", "simple": "blocked", "json": "blocked", "health": "blocked", "pair": "blocked",
        "socket": "blocked", "frame": "blocked", "script": "blocked", "img": "blocked", "events": "blocked", "form": "blocked",
    });
    assert_eq!(results, expected);
    assert_eq!(reached(&server), [], "no request reached the host");
    // A name that was rebound to this machine.
    browser.go(&format!("http://evil.test:{}/", server.address.port()));
    let text = browser.run("return document.body.innerText");
    assert!(text.as_str().is_some_and(|text| text.contains("\"error\":\"host\"")), "{text}");
    let stored = browser.run("return sessionStorage.length + localStorage.length");
    assert_eq!(stored, 0, "another origin has no token");
    // A new tab of the server itself has none either.
    browser.run("window.open('about:blank')");
    browser.go(&format!("http://{}/", server.address));
    assert_eq!(reached(&server), []);
}
