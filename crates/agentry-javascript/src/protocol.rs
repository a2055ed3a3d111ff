//! The messages between a pool and a worker: two lengths, JSON, and bytes that are no JSON.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::job::{FetchHead, FetchRequest, InnerOutput, LogLevel, ModuleFile, ScriptBlock};

/// The most bytes of the JSON of a message: the largest result, with its quotes escaped.
pub(crate) const MOST_JSON: usize = 40 << 20;
/// The most bytes beside the JSON of a message.
pub(crate) const MOST_BYTES: usize = 8 << 20;
/// The bytes of the two lengths.
pub(crate) const HEAD: usize = 8;

/// What a pool sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum PoolMessage {
    /// Work for a worker that has none.
    Job(Box<JobMessage>),
    /// The answer to a request; its bytes follow the JSON.
    Answer { id: u64, answer: RequestAnswer },
}

/// One job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JobMessage {
    /// What to do.
    pub(crate) task: JobTask,
    /// The time until the job's signal aborts, in milliseconds.
    pub(crate) time: u64,
    /// The most bytes of the result.
    pub(crate) most_output: usize,
}

/// What a job does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum JobTask {
    /// Describes the tools that blocks return.
    Describe(Vec<ScriptBlock>),
    /// Calls one of the tools that blocks return.
    Call(Vec<ScriptBlock>, CallMessage),
    /// Calls `run` of the first module, with inputs as JSON.
    Run(Vec<ModuleFile>, String),
}

/// A call of one tool.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CallMessage {
    pub(crate) tool: String,
    /// As JSON.
    pub(crate) arguments: String,
    pub(crate) env: Vec<(String, String)>,
}

/// What a worker sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WorkerMessage {
    /// The worker is sealed and waits for a job.
    Ready,
    /// Something that only the parent process may do.
    Request { id: u64, request: WorkerRequest },
    /// A line for the log.
    Log { level: LogLevel, text: String },
    /// The job is done.
    Done(JobOutcome),
}

/// What a job asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum WorkerRequest {
    /// A web request; its body follows the JSON.
    Fetch(FetchRequest),
    /// The next piece of a response.
    Read { body: u64 },
    /// The rest of a response is not wanted.
    Close { body: u64 },
    /// The answer to an earlier request is not wanted.
    Cancel { request: u64 },
    /// A call of another tool.
    Call { tool: String, arguments: serde_json::Value },
}

/// The answer to a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RequestAnswer {
    /// The head of a response.
    Head(FetchHead),
    /// A piece of a response, in the bytes of the message.
    Piece,
    /// Nothing follows.
    End,
    /// The result of a call.
    Called(InnerOutput),
    /// The request failed or was refused.
    Failed(String),
}

/// The result of a job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum JobOutcome {
    /// What the tool returned, as JSON.
    Returned(String),
    /// The code failed.
    Threw(ThrownError),
}

/// What was thrown, as far as it can be shown.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ThrownError {
    pub(crate) message: String,
    /// The line in the file, and the byte in it, both from 1.
    pub(crate) at: Option<(u32, u32)>,
    /// The path of the module; empty for a block.
    pub(crate) file: String,
}

/// Returns a message as bytes.
pub(crate) fn encode<T: Serialize>(message: &T, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(message)?;
    if json.len() > MOST_JSON || bytes.len() > MOST_BYTES {
        return Err(io::Error::other("the message is too long"));
    }
    let mut out = Vec::with_capacity(HEAD + json.len() + bytes.len());
    for length in [json.len(), bytes.len()] {
        out.extend(u32::try_from(length).map_err(io::Error::other)?.to_le_bytes());
    }
    out.extend(json);
    out.extend(bytes);
    Ok(out)
}

/// Returns the lengths of the JSON and of the bytes of a message.
pub(crate) fn lengths(head: [u8; HEAD]) -> io::Result<(usize, usize)> {
    // Both lengths are one little-endian number.
    let both = u64::from_le_bytes(head);
    let json = usize::try_from(both & u64::from(u32::MAX)).map_err(io::Error::other)?;
    let bytes = usize::try_from(both >> 32).map_err(io::Error::other)?;
    if json > MOST_JSON || bytes > MOST_BYTES {
        return Err(io::Error::other("a message is too long"));
    }
    Ok((json, bytes))
}

/// Writes a message; blocks.
pub(crate) fn write<T: Serialize>(mut to: impl Write, message: &T, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&encode(message, bytes)?)
}

/// Reads a message; blocks. Returns `None` at the end of the stream.
pub(crate) fn read<T: DeserializeOwned>(mut from: impl Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut head = [0; HEAD];
    match from.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let (json, bytes) = lengths(head)?;
    let mut text = vec![0; json];
    from.read_exact(&mut text)?;
    let mut rest = vec![0; bytes];
    from.read_exact(&mut rest)?;
    Ok(Some((serde_json::from_slice(&text)?, rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_worker_messages_are_errors() {
        let written = encode(&WorkerMessage::Ready, b"bytes").unwrap();
        let (read, bytes) = read::<WorkerMessage>(written.as_slice()).unwrap().unwrap();
        assert!(matches!(read, WorkerMessage::Ready));
        assert_eq!(bytes, b"bytes");
        let cases: [(&[u8], bool); 4] = [
            (&[], true),
            (&[1, 0, 0], true),
            (&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], false),
            (&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], false),
        ];
        for (bytes, is_end) in cases {
            let found = super::read::<WorkerMessage>(bytes);
            assert_eq!(matches!(found, Ok(None)), is_end, "{bytes:?}");
        }
        assert!(encode(&WorkerMessage::Ready, &vec![0; MOST_BYTES + 1]).is_err());
    }
}
