//! The conversation: reads messages, hands them to a service, and writes what this side says.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::line_reader::{LineFailure, LineReader};
use crate::message::{PeerMessage, RpcError, codes};

/// The most bytes of one message.
const MESSAGE_BYTES: usize = 16 << 20;
/// The most messages that wait to be written. A full queue makes the writers wait.
const QUEUE: usize = 64;
/// The most requests of the other side that are open at once.
const OPEN_REQUESTS: usize = 256;
/// The time to write what was said before the end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A boxed future.
pub type RpcFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The answer to a request.
pub type RpcAnswer = Result<Value, RpcError>;

/// A request of the other side.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcRequest {
    /// Its id, by which the other side may cancel it.
    pub id: Value,
    /// What it asks for.
    pub method: String,
    /// The parameters, or null.
    pub params: Value,
}

/// Answers the other side.
pub trait RpcService: Send + Sync {
    /// Takes a request. What happens before this returns happens in the order of the messages, so that a
    /// later notice can cancel what was begun here; the future gives the answer.
    fn request(&self, asked: RpcRequest, peer: &RpcPeer) -> RpcFuture<RpcAnswer>;

    /// What follows the answer to a request, once the answer is written.
    fn follow(&self, answer: &Value, peer: &RpcPeer) -> Option<RpcFuture<()>> {
        let _ = (answer, peer);
        None
    }

    /// Takes a notice.
    fn notice(&self, method: &str, params: Value);

    /// Whether the other side gets this error as the answer to its request.
    fn is_answered(&self, error: &RpcError) -> bool {
        let _ = error;
        true
    }

    /// The other side is gone: ends everything that was begun for it.
    fn close(&self) -> RpcFuture<()>;
}

/// This side of the conversation.
#[derive(Debug, Clone)]
pub struct RpcPeer {
    queue: mpsc::Sender<Vec<u8>>,
    shared: Arc<PeerState>,
}

#[derive(Debug, Default)]
struct PeerState {
    next: AtomicU64,
    /// The requests of this side; `None` once the other side is gone.
    waiting: Mutex<Option<HashMap<u64, AnswerSender>>>,
}

type AnswerSender = oneshot::Sender<RpcAnswer>;

impl RpcPeer {
    /// A peer whose messages come out of the receiver, one line each.
    pub fn new() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let shared = Arc::new(PeerState::default());
        *locked(&shared.waiting) = Some(HashMap::new());
        Self::with_queue(shared)
    }

    /// The same conversation with another way out, as HTTP has one for each request. An answer of the other side
    /// finds the request that waits for it, whichever way either of them takes.
    pub fn beside(&self) -> (Self, mpsc::Receiver<Vec<u8>>) {
        Self::with_queue(Arc::clone(&self.shared))
    }

    fn with_queue(shared: Arc<PeerState>) -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (queue, lines) = mpsc::channel(QUEUE);
        (Self { queue, shared }, lines)
    }

    /// Reports something to the other side. Returns whether it is still there.
    pub async fn notify(&self, method: &str, params: &Value) -> bool {
        self.write(&PeerMessage::notice(method, params.clone())).await
    }

    /// Asks the other side, and waits for its answer. A dropped future forgets the request.
    pub async fn ask(&self, method: &str, params: &Value) -> RpcAnswer {
        let gone = || RpcError::new(codes::INTERNAL, "the other side is gone");
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        locked(&self.shared.waiting).as_mut().ok_or_else(gone)?.insert(id, sender);
        let _forgotten = ForgottenAtEnd { shared: &self.shared, id };
        if !self.write(&PeerMessage::request(id, method, params.clone())).await {
            return Err(gone());
        }
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Sends the answer to a request.
    pub async fn reply(&self, id: &Value, outcome: RpcAnswer) -> bool {
        self.write(&PeerMessage::answer(id, outcome)).await
    }

    /// Waits until no one reads the messages any more.
    pub async fn gone(&self) {
        self.queue.closed().await;
    }

    async fn write(&self, message: &PeerMessage) -> bool {
        let mut line = message.to_json().to_string().into_bytes();
        line.push(b'\n');
        self.queue.send(line).await.is_ok()
    }

    /// Hands an answer of the other side to the request that waits for it.
    pub fn answered(&self, id: &Value, outcome: RpcAnswer) {
        let number = PeerMessage::request_number(id);
        let mut waiting = locked(&self.shared.waiting);
        let sender = number.and_then(|number| waiting.as_mut()?.remove(&number));
        drop(waiting);
        // An answer to nothing is ignored: the request may have been given up.
        if let Some(sender) = sender {
            let _ = sender.send(outcome);
        }
    }

    /// Ends all requests of this side: no answer will come.
    fn end(&self) {
        locked(&self.shared.waiting).take();
    }
}

/// Removes a request that is answered or given up.
struct ForgottenAtEnd<'a> {
    shared: &'a PeerState,
    id: u64,
}

impl Drop for ForgottenAtEnd<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = locked(&self.shared.waiting).as_mut() {
            waiting.remove(&self.id);
        }
    }
}

/// Talks until the input ends or cannot be read, or `stop` ends; then lets the service end its work. What was sent
/// until then is written.
///
/// The service is closed only once, although the end of the input and a signal often come together: closing that
/// is dropped half way would lose what is under way.
pub async fn serve<R, W, S>(
    input: R,
    output: W,
    service: Arc<S>,
    stop: impl Future<Output = ()>,
) -> Result<(), LineFailure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
    S: RpcService + 'static,
{
    let (peer, lines) = RpcPeer::new();
    let writing = tokio::spawn(write_lines(output, lines));
    let ended = tokio::select! {
        ended = read_messages(input, &peer, &service) => ended,
        () = stop => Ok(()),
    };
    // First, so that a question that is open is ended by the service, not by its missing answer.
    service.close().await;
    peer.end();
    drop(peer);
    drop(service);
    // A reader that stopped reading cannot keep this program alive.
    let _ = tokio::time::timeout(LAST_WORDS, writing).await;
    ended
}

async fn read_messages<R: AsyncRead + Unpin, S: RpcService + 'static>(
    input: R,
    peer: &RpcPeer,
    service: &Arc<S>,
) -> Result<(), LineFailure> {
    let mut lines = LineReader::new(input, MESSAGE_BYTES);
    let open = Arc::new(Semaphore::new(OPEN_REQUESTS));
    while let Some(line) = lines.next().await? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match PeerMessage::read(&line) {
            Ok(PeerMessage::Answer { id, outcome }) => peer.answered(&id, outcome),
            Ok(PeerMessage::Notice { method, params }) => service.notice(&method, params),
            Ok(PeerMessage::Request { id, method, params }) => {
                let Ok(permit) = Arc::clone(&open).try_acquire_owned() else {
                    let message = format!("more than {OPEN_REQUESTS} requests are open");
                    let refused = Err(RpcError::new(codes::INTERNAL, message));
                    peer.reply(&id, refused).await;
                    continue;
                };
                let asked = RpcRequest { id: id.clone(), method, params };
                let answering = service.request(asked, peer);
                let answered = answer(id, answering, peer.clone(), Arc::clone(service));
                tokio::spawn(async move {
                    answered.await;
                    drop(permit);
                });
            }
            Err(error) => {
                peer.reply(&Value::Null, Err(error)).await;
            }
        }
    }
    Ok(())
}

/// Writes the answer to a request, and what follows it.
async fn answer<S: RpcService>(
    id: Value,
    answering: RpcFuture<RpcAnswer>,
    peer: RpcPeer,
    service: Arc<S>,
) {
    let outcome = answering.await;
    if outcome.as_ref().err().is_none_or(|error| service.is_answered(error)) {
        peer.reply(&id, outcome.clone()).await;
    }
    let following = outcome.ok().and_then(|answer| service.follow(&answer, &peer));
    drop(service);
    if let Some(following) = following {
        following.await;
    }
}

async fn write_lines<W: AsyncWrite + Unpin>(mut output: W, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream};

    use super::*;

    /// Echoes; `back` asks the other side first.
    struct EchoService;

    impl RpcService for EchoService {
        fn request(&self, asked: RpcRequest, peer: &RpcPeer) -> RpcFuture<RpcAnswer> {
            let peer = peer.clone();
            Box::pin(async move {
                match asked.method.as_str() {
                    "echo" => Ok(asked.params),
                    "back" => peer.ask("question", &asked.params).await,
                    other => Err(RpcError::no_method(other)),
                }
            })
        }

        fn notice(&self, _: &str, _: Value) {}

        fn close(&self) -> RpcFuture<()> {
            Box::pin(async {})
        }
    }

    /// Takes a while to close, and counts how often it has done so.
    #[derive(Default)]
    struct SlowService {
        is_closing: tokio::sync::Notify,
        closed: std::sync::atomic::AtomicUsize,
    }

    impl RpcService for SlowService {
        fn request(&self, _: RpcRequest, _: &RpcPeer) -> RpcFuture<RpcAnswer> {
            Box::pin(async { Ok(Value::Null) })
        }

        fn notice(&self, _: &str, _: Value) {}

        fn close(&self) -> RpcFuture<()> {
            self.is_closing.notify_one();
            self.closed.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Box::pin(async {
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
            })
        }
    }

    #[tokio::test]
    async fn a_signal_while_it_closes_does_not_close_it_again() {
        let service = Arc::new(SlowService::default());
        let signal = Arc::clone(&service);
        let served =
            serve(tokio::io::empty(), tokio::io::sink(), Arc::clone(&service), async move {
                signal.is_closing.notified().await;
            });
        assert!(served.await.is_ok());
        assert_eq!(service.closed.load(std::sync::atomic::Ordering::SeqCst), 1);
    }

    /// A client that writes lines and reads them.
    struct LineClient {
        to: DuplexStream,
        from: BufReader<DuplexStream>,
    }

    impl LineClient {
        fn new() -> (Self, tokio::task::JoinHandle<Result<(), LineFailure>>) {
            let (to, input) = tokio::io::duplex(1 << 20);
            let (output, from) = tokio::io::duplex(1 << 20);
            let served =
                tokio::spawn(serve(input, output, Arc::new(EchoService), std::future::pending()));
            (Self { to, from: BufReader::new(from) }, served)
        }

        async fn send_line(&mut self, line: &str) {
            self.to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }

        async fn next_message(&mut self) -> Value {
            let mut line = String::new();
            self.from.read_line(&mut line).await.unwrap();
            serde_json::from_str(&line).unwrap()
        }
    }

    #[tokio::test]
    async fn both_sides_can_send_requests() {
        let (mut client, served) = LineClient::new();
        client.send_line(r#"{"jsonrpc":"2.0","id":"a","method":"echo","params":[1]}"#).await;
        assert_eq!(
            client.next_message().await,
            json!({"jsonrpc": "2.0", "id": "a", "result": [1]})
        );
        client.send_line(r#"{"jsonrpc":"2.0","id":2,"method":"back","params":{"q":1}}"#).await;
        let asked = client.next_message().await;
        assert_eq!((&asked["method"], &asked["params"]), (&json!("question"), &json!({"q": 1})));
        client
            .send_line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": "yes"}).to_string())
            .await;
        assert_eq!(client.next_message().await["result"], "yes");
        drop(client);
        assert_eq!(served.await.unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn malformed_lines_get_an_error_answer() {
        let (mut client, _served) = LineClient::new();
        let cases =
            [("{", codes::PARSE), ("[]", codes::INVALID_REQUEST), ("7", codes::INVALID_REQUEST)];
        for (line, code) in cases {
            client.send_line(line).await;
            assert_eq!(client.next_message().await["error"]["code"], code, "{line}");
        }
        // Answers to nothing and empty lines are ignored.
        client.send_line("").await;
        client.send_line(r#"{"id":77,"result":1}"#).await;
        client.send_line(r#"{"jsonrpc":"2.0","id":1,"method":"none"}"#).await;
        assert_eq!(client.next_message().await["error"]["code"], codes::NO_SUCH_METHOD);
    }

    #[tokio::test]
    async fn a_disconnect_ends_pending_requests() {
        let (mut client, served) = LineClient::new();
        client.send_line(r#"{"jsonrpc":"2.0","id":2,"method":"back","params":null}"#).await;
        client.next_message().await;
        let LineClient { to, mut from } = client;
        drop(to);
        let mut line = String::new();
        from.read_line(&mut line).await.unwrap();
        assert!(line.contains("the other side is gone"), "{line}");
        assert_eq!(served.await.unwrap(), Ok(()));
    }
}
