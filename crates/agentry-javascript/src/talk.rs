//! The conversation with a worker about one job. Reads, writes and answers run in parallel, because
//! a worker may send a long request while it gets a long answer.

use std::collections::HashMap;
use std::io;

use agentry_posix::pipe::{Receiver, Sender};
use futures_util::StreamExt as _;
use futures_util::future::{AbortHandle, Abortable, Aborted};
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::job::{BrokerFuture, JobBroker, LogLevel};
use crate::protocol::{
    HEAD, JobMessage, JobOutcome, PoolMessage, RequestAnswer, WorkerMessage, WorkerRequest, encode,
    lengths,
};

/// The most requests of one job.
const MOST_REQUESTS: usize = 10_000;
/// The most requests that wait for an answer at once.
const MOST_AT_ONCE: usize = 64;
/// The most log lines of one job.
const MOST_LINES: usize = 1_000;

/// The answer to a request, with its number and its bytes.
type NumberedAnswer = (u64, RequestAnswer, Vec<u8>);

/// One conversation.
pub(crate) struct JobConversation<'a> {
    broker: &'a dyn JobBroker,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    answers: FuturesUnordered<Abortable<BrokerFuture<'a, NumberedAnswer>>>,
    handles: HashMap<u64, AbortHandle>,
    requests: usize,
    lines: usize,
}

impl<'a> JobConversation<'a> {
    pub(crate) fn new(broker: &'a dyn JobBroker) -> Self {
        Self {
            broker,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            answers: FuturesUnordered::new(),
            handles: HashMap::new(),
            requests: 0,
            lines: 0,
        }
    }

    /// Sends a job. Returns its outcome, and whether the worker can take another job: nothing that was
    /// begun is left to send.
    pub(crate) async fn hold(
        mut self,
        job: Box<JobMessage>,
        from: &mut Receiver,
        to: &mut Sender,
    ) -> io::Result<(JobOutcome, bool)> {
        self.outgoing = encode(&PoolMessage::Job(job), &[])?;
        loop {
            while let Some((message, bytes)) = self.next()? {
                if let Some(outcome) = self.handle_message(message, bytes) {
                    return Ok((outcome, self.outgoing.is_empty()));
                }
            }
            tokio::select! {
                read = from.read_buf(&mut self.incoming) => {
                    if read? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                written = to.write(&self.outgoing), if !self.outgoing.is_empty() => {
                    drop(self.outgoing.drain(..written?));
                }
                Some(answer) = self.answers.next(), if !self.answers.is_empty() => {
                    self.answer(answer)?;
                }
            }
        }
    }

    /// Takes the next whole message.
    fn next(&mut self) -> io::Result<Option<(WorkerMessage, Vec<u8>)>> {
        let Some(head) = self.incoming.first_chunk::<HEAD>() else { return Ok(None) };
        let (json, bytes) = lengths(*head)?;
        if self.incoming.len() < HEAD + json + bytes {
            return Ok(None);
        }
        let message: Vec<u8> = self.incoming.drain(..HEAD + json + bytes).collect();
        let (message, bytes) = message.split_at(HEAD + json);
        let json = message.get(HEAD..).unwrap_or_default();
        Ok(Some((serde_json::from_slice(json)?, bytes.to_vec())))
    }

    /// Handles a message. Returns the outcome if the job is done.
    fn handle_message(&mut self, message: WorkerMessage, bytes: Vec<u8>) -> Option<JobOutcome> {
        match message {
            WorkerMessage::Done(outcome) => return Some(outcome),
            WorkerMessage::Log { level, text } => self.log(level, &text),
            WorkerMessage::Request { request: WorkerRequest::Cancel { request }, .. } => {
                if let Some(handle) = self.handles.remove(&request) {
                    handle.abort();
                }
            }
            WorkerMessage::Request { id, request } => self.request(id, request, bytes),
            // Said once, before the first job.
            WorkerMessage::Ready => {}
        }
        None
    }

    fn log(&mut self, level: LogLevel, text: &str) {
        self.lines += 1;
        match self.lines {
            ..=MOST_LINES => self.broker.log(level, text),
            lines if lines == MOST_LINES + 1 => {
                self.broker.log(LogLevel::Warn, "further lines are left out");
            }
            _ => {}
        }
    }

    fn request(&mut self, id: u64, request: WorkerRequest, bytes: Vec<u8>) {
        self.requests += 1;
        let broker = self.broker;
        let refused = if self.requests > MOST_REQUESTS {
            Some(format!("a call makes at most {MOST_REQUESTS} requests"))
        } else if self.answers.len() >= MOST_AT_ONCE {
            Some(format!("at most {MOST_AT_ONCE} requests wait at once"))
        } else {
            None
        };
        let answer: BrokerFuture<'a, NumberedAnswer> = match refused {
            Some(why) => Box::pin(async move { (id, RequestAnswer::Failed(why), Vec::new()) }),
            None => Box::pin(async move {
                let (answer, bytes) = brokered(broker, request, bytes).await;
                (id, answer, bytes)
            }),
        };
        let (answer, handle) = futures_util::future::abortable(answer);
        self.handles.insert(id, handle);
        self.answers.push(answer);
    }

    fn answer(&mut self, answer: Result<NumberedAnswer, Aborted>) -> io::Result<()> {
        // What was cancelled has no answer.
        let Ok((id, answer, bytes)) = answer else { return Ok(()) };
        self.handles.remove(&id);
        self.outgoing.extend(encode(&PoolMessage::Answer { id, answer }, &bytes)?);
        Ok(())
    }
}

/// Passes a request to the broker.
async fn brokered(
    broker: &dyn JobBroker,
    request: WorkerRequest,
    bytes: Vec<u8>,
) -> (RequestAnswer, Vec<u8>) {
    let answer = match request {
        WorkerRequest::Fetch(request) => {
            broker.fetch(request, bytes).await.map(RequestAnswer::Head)
        }
        WorkerRequest::Read { body } => match broker.read(body).await {
            Ok(Some(piece)) => return (RequestAnswer::Piece, piece),
            Ok(None) => Ok(RequestAnswer::End),
            Err(why) => Err(why),
        },
        WorkerRequest::Close { body } => {
            broker.close(body);
            Ok(RequestAnswer::End)
        }
        WorkerRequest::Call { tool, arguments } => {
            broker.call(tool, arguments).await.map(RequestAnswer::Called)
        }
        WorkerRequest::Cancel { .. } => Ok(RequestAnswer::End),
    };
    (answer.unwrap_or_else(RequestAnswer::Failed), Vec::new())
}
