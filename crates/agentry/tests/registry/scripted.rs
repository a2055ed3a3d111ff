//! A registry on this machine that keeps everything in memory, and lies where a test says so.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct ScriptedRequest {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct ScriptedAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// The length that is announced instead of the true one.
    pub(crate) announced: Option<u64>,
    /// Holds the last byte back until this is true; the others come one by one meanwhile.
    pub(crate) slow_until: Option<Arc<AtomicBool>>,
}

impl ScriptedAnswer {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), announced: None, slow_until: None }
    }

    /// The connection ends without an answer.
    pub(crate) fn cut_off() -> Self {
        Self::status(0)
    }

    pub(crate) fn body(body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::status(200) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// What the registry has.
#[derive(Debug, Default, Clone)]
pub(crate) struct RegistryContent {
    /// By digest.
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
    /// By `repository:tag` and `repository:digest`.
    pub(crate) manifests: BTreeMap<String, Vec<u8>>,
}

/// A lie: an answer instead of the true one.
type RegistryLie =
    dyn Fn(&ScriptedRequest, &mut RegistryContent) -> Option<ScriptedAnswer> + Send + Sync;

#[derive(Default)]
struct RegistryState {
    content: Mutex<RegistryContent>,
    requests: Mutex<Vec<ScriptedRequest>>,
    lie: Mutex<Option<Arc<RegistryLie>>>,
    is_stopped: AtomicBool,
}

/// The running registry.
pub(crate) struct ScriptedRegistry {
    port: u16,
    state: Arc<RegistryState>,
}

impl ScriptedRegistry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(RegistryState::default());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || stream.ok().and_then(|stream| serve(&stream, &shared)));
            }
        });
        Self { port, state }
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Lies from now on.
    pub(crate) fn lie(
        &self,
        lie: impl Fn(&ScriptedRequest, &mut RegistryContent) -> Option<ScriptedAnswer>
        + Send
        + Sync
        + 'static,
    ) {
        *self.state.lie.lock().expect("a lock") = Some(Arc::new(lie));
    }

    /// Ends: nothing listens any more.
    pub(crate) fn stop(&self) {
        self.state.is_stopped.store(true, Ordering::SeqCst);
        // Wakes the thread, which then closes the port.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
            std::thread::yield_now();
        }
    }

    pub(crate) fn content(&self) -> RegistryContent {
        self.state.content.lock().expect("a lock").clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut RegistryContent)) {
        change(&mut self.state.content.lock().expect("a lock"));
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<ScriptedRequest> {
        self.state.requests.lock().expect("a lock").clone()
    }
}

impl Drop for ScriptedRegistry {
    fn drop(&mut self) {
        self.state.is_stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(mut stream: &TcpStream, state: &RegistryState) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    // The first byte of TLS: this registry has none.
    if reader.fill_buf().ok()?.first() == Some(&0x16) {
        return stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").ok();
    }
    let request = read_request(&mut reader)?;
    state.requests.lock().ok()?.push(request.clone());
    let lie = state.lie.lock().ok()?.clone();
    let mut content = state.content.lock().ok()?;
    let lied = lie.and_then(|lie| lie(&request, &mut content));
    let answer = lied.unwrap_or_else(|| honest(&request, &mut content));
    drop(content);
    if answer.status == 0 {
        return None;
    }
    let length = answer.announced.unwrap_or(answer.body.len() as u64);
    let mut head = format!(
        "HTTP/1.1 {} X\r\nContent-Length: {length}\r\nConnection: close\r\n",
        answer.status
    );
    for (name, value) in &answer.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    if request.method != "HEAD" {
        let body = answer.slow_until.map_or(Some(answer.body.as_slice()), |awaited| {
            write_slowly(stream, &answer.body, &awaited)
        });
        stream.write_all(body?).ok()?;
    }
    Some(())
}

/// Writes byte after byte until `awaited` is true; returns the rest.
fn write_slowly<'b>(
    mut stream: &TcpStream,
    body: &'b [u8],
    awaited: &AtomicBool,
) -> Option<&'b [u8]> {
    let mut rest = body;
    while let ([byte, more @ ..], false) = (rest, awaited.load(Ordering::SeqCst)) {
        if !more.is_empty() {
            stream.write_all(&[*byte]).ok()?;
            rest = more;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(2));
    }
    Some(rest)
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<ScriptedRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut authorization, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "authorization" => authorization = Some(value.to_owned()),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(ScriptedRequest { method, path, authorization, body })
}

/// What a registry answers.
fn honest(request: &ScriptedRequest, content: &mut RegistryContent) -> ScriptedAnswer {
    let found = |body: Option<&Vec<u8>>| {
        body.map_or(ScriptedAnswer::status(404), |body| ScriptedAnswer::body(body.clone()))
    };
    let Some(rest) = request.path.strip_prefix("/v2/") else { return ScriptedAnswer::status(404) };
    if let Some((_, digest)) =
        rest.split_once("/blobs/uploads/").and_then(|(_, query)| query.split_once("digest="))
    {
        content.blobs.insert(digest.replace("%3A", ":"), request.body.clone());
        return ScriptedAnswer::status(201);
    }
    if rest.contains("/blobs/uploads/") {
        return ScriptedAnswer::status(202).header("Location", format!("{}x", request.path));
    }
    if let Some((_, digest)) = rest.split_once("/blobs/") {
        return found(content.blobs.get(digest));
    }
    if let Some((repository, name)) = rest.split_once("/manifests/") {
        let key = format!("{repository}:{name}");
        if request.method == "PUT" {
            content.manifests.insert(key, request.body.clone());
            return ScriptedAnswer::status(201);
        }
        return found(content.manifests.get(&key));
    }
    if let Some((repository, _)) = rest.split_once("/tags/list") {
        let tags = content
            .manifests
            .keys()
            .filter_map(|key| key.strip_prefix(repository)?.strip_prefix(':'));
        let tags: Vec<_> = tags.filter(|tag| !tag.contains(':')).collect();
        return ScriptedAnswer::body(
            serde_json::json!({"name": repository, "tags": tags}).to_string(),
        );
    }
    ScriptedAnswer::status(404)
}
