//! A job for a worker, its result, and the interface to the process that decides about its requests.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::place::CodePlace;

/// A block of code: the body of an async function that returns an object of tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptBlock {
    /// The line of the file that the code begins in, from 1.
    pub line: u32,
    /// The code, as it stands in the file.
    pub text: String,
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub struct ToolJob<'a> {
    /// The name of the tool, in any case.
    pub tool: &'a str,
    /// Its arguments.
    pub arguments: &'a Value,
    /// The variables that it may read.
    pub env: &'a [(String, String)],
}

/// A file of a script, under the path by which others import it. The first one of a script has its `run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleFile {
    /// The path, relative to the directory of the agent.
    pub path: String,
    /// The text.
    pub text: String,
}

/// The result of a call that a script made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InnerOutput {
    /// The name of the tool that ran.
    pub name: String,
    /// What it returned.
    pub output: String,
    /// Whether it failed.
    pub failed: bool,
    /// Whether the end of the output is left out.
    pub is_cut: bool,
}

/// The limits of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// The time, after which the worker is killed.
    pub time: Duration,
    /// The most bytes of the result, as JSON.
    pub most_output: usize,
}

impl Default for JobLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), most_output: 4 << 20 }
    }
}

/// A tool that the code returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DescribedTool {
    /// The index of the block that returned it.
    pub block: usize,
    /// The key of the object.
    pub key: String,
    /// Whether `fn` is a function.
    pub has_function: bool,
    /// Its `scheme`, or what `scheme.function` has; `null` if there is none.
    pub scheme: Value,
}

/// Why a job has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobFailure {
    /// The code threw, rejected, or returned something that is no JSON.
    #[error("{message}")]
    Threw {
        /// What was thrown.
        message: String,
        /// Where in the file, if the engine knows it.
        place: Option<CodePlace>,
        /// The path of that file, if the job has modules.
        file: Option<String>,
    },
    /// The time was up.
    #[error("it took longer than {} ms and was stopped", .0.as_millis())]
    TimedOut(Duration),
    /// The worker ended without a result: the code used up its memory, or broke the engine.
    #[error("its worker ended before it had a result: {0}")]
    Crashed(String),
    /// No worker could be started.
    #[error("JavaScript cannot be run here: {0}")]
    Unavailable(String),
}

/// A web request of a job. Its body travels beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchRequest {
    /// The address.
    pub url: String,
    /// The method.
    pub method: String,
    /// The headers, in order.
    pub headers: Vec<(String, String)>,
    /// Whether the request has a body.
    pub has_body: bool,
    /// What to do with a redirect: `follow`, `error` or `manual`.
    pub redirect: String,
}

/// The head of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchHead {
    /// The status code.
    pub status: u16,
    /// The text of the status.
    pub status_text: String,
    /// The headers, in order.
    pub headers: Vec<(String, String)>,
    /// The address after redirects.
    pub url: String,
    /// Whether there were redirects.
    pub redirected: bool,
    /// The number under which the body can be read; 0 if the body is empty.
    pub body: u64,
}

/// The severity of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// `console.debug`.
    Debug,
    /// `console.log` and `console.info`.
    Info,
    /// `console.warn`.
    Warn,
    /// `console.error`.
    Error,
}

/// A running answer; dropping it cancels it.
pub type BrokerFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Decides about the requests of a job and carries them out. It gets whatever a compromised worker sends,
/// and must judge all of it.
pub trait JobBroker: Send + Sync {
    /// Sends a web request and returns the head of the response.
    fn fetch(
        &self,
        request: FetchRequest,
        body: Vec<u8>,
    ) -> BrokerFuture<'_, Result<FetchHead, String>>;

    /// Returns the next piece of a body, or `None` at its end.
    fn read(&self, body: u64) -> BrokerFuture<'_, Result<Option<Vec<u8>>, String>>;

    /// Forgets a body.
    fn close(&self, body: u64);

    /// Makes the call of another tool for a script. Fails if the call is refused.
    fn call(
        &self,
        tool: String,
        arguments: Value,
    ) -> BrokerFuture<'_, Result<InnerOutput, String>> {
        let _ = arguments;
        Box::pin(std::future::ready(Err(format!("refused: `{tool}` cannot be called here"))))
    }

    /// Receives a log line.
    fn log(&self, level: LogLevel, text: &str);

    /// Returns how long the job has waited for the user so far. That time does not count.
    fn paused(&self) -> Duration {
        Duration::ZERO
    }
}
