//! What the program and its helper say to each other: a length, then JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{BackEnd, Confinement};

/// The longest message.
pub(crate) const LONGEST: usize = 8 << 20;

/// To the helper.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HelperRequest {
    /// The first message: become this.
    Confine(Box<HelperSetup>),
    /// Start a command. Its standard streams are handed over with the message.
    Start(StartRequest),
    /// End a command and its process group.
    Kill(u64),
}

/// What the helper becomes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HelperSetup {
    /// By what.
    pub(crate) back_end: BackEnd,
    /// How.
    pub(crate) confinement: Confinement,
    /// What stands for something hidden that does not exist yet.
    pub(crate) stand_ins: Vec<PathBuf>,
    /// Where is to be written what git passes over, and that.
    pub(crate) unseen_by_git: Option<(PathBuf, String)>,
    /// The control groups to join.
    pub(crate) groups: Vec<PathBuf>,
    /// Whether one of them counts processes.
    pub(crate) counts_processes: bool,
}

/// A command to start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StartRequest {
    /// The number by which it is spoken of.
    pub(crate) id: u64,
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// Where it starts.
    pub(crate) directory: PathBuf,
    /// Its whole environment.
    pub(crate) env: Vec<(String, String)>,
}

/// From the helper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum HelperReply {
    /// It is confined. With a proxy, its listener is handed over with the message.
    Ready,
    /// It could not be, for this reason.
    Failed(String),
    /// A command was started.
    Began(u64),
    /// A command could not be started, for this reason.
    NotStarted(u64, String),
    /// Everything was ended: what protects this path is gone.
    Replaced(PathBuf),
    /// A command has ended, by itself or by a signal, and what it left running is gone.
    Ended {
        /// Its number.
        id: u64,
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}
