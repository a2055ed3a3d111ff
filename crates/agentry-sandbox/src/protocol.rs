//! The messages between the program and its helper: a length, then JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{BackEnd, Confinement};

/// The longest message, in bytes.
pub(crate) const LONGEST: usize = 8 << 20;

/// A message to the helper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HelperRequest {
    /// Join these control groups now. May come before the confinement, which then has the same groups.
    Join(Vec<PathBuf>),
    /// Apply this confinement.
    Confine(Box<HelperSetup>),
    /// Start a command. Its standard streams are sent with the message.
    Start(StartRequest),
    /// End a command and its process group.
    Kill(u64),
}

/// How the helper confines itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HelperSetup {
    /// The back end.
    pub(crate) back_end: BackEnd,
    /// The confinement.
    pub(crate) confinement: Confinement,
    /// Placeholders of hidden paths that do not exist yet.
    pub(crate) stand_ins: Vec<PathBuf>,
    /// The path and the content of the list that git ignores.
    pub(crate) unseen_by_git: Option<(PathBuf, String)>,
    /// The control groups to join.
    pub(crate) groups: Vec<PathBuf>,
    /// Whether one of them counts processes.
    pub(crate) counts_processes: bool,
}

/// A command to start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StartRequest {
    /// The id of the command.
    pub(crate) id: u64,
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// The working directory.
    pub(crate) directory: PathBuf,
    /// The complete environment.
    pub(crate) env: Vec<(String, String)>,
}

/// A message from the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HelperReply {
    /// The confinement is applied. With a proxy, its listener is sent with the message.
    Ready,
    /// The confinement could not be applied, for this reason.
    Failed(String),
    /// A command was started.
    Began(u64),
    /// A command could not be started, for this reason.
    NotStarted(u64, String),
    /// All processes were ended, because the mount that protects this path is gone.
    Replaced(PathBuf),
    /// A command and all processes that it left running have ended.
    Ended {
        /// The id of the command.
        id: u64,
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}
