//! A copy of the heads of the chains outside the home. A home that is restored as a whole, such as
//! from a backup, is consistent; only a copy outside of it shows that later receipts existed.
//!
//! ```text
//! { "home": "/home/me/.agentry", "heads": { "ops": { "count": 12, "hash": "sha256:…" } }, "waiting": [ … ] }
//! ```
//!
//! A head of the copy advances only by a receipt that follows it. So a home that was set back and then grew again does not
//! replace it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use agentry_compile::text::digest::sha256;
use serde::{Deserialize, Serialize};

/// The most bytes of a copy.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// The most steps that wait for one before them. A process that died before it wrote its step leaves a gap.
const MOST_WAITING: usize = 1_000;
/// The number of digits of a digest that distinguish two homes.
const DIGITS: usize = 24;

/// The head of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptHead {
    /// How many receipts the chain has.
    pub count: u64,
    /// The hash of the last one.
    pub hash: String,
}

/// A receipt that was added to a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeadStep {
    pub(super) chain: String,
    pub(super) before: Option<KeptHead>,
    pub(super) after: KeptHead,
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CopiedHeads {
    home: String,
    heads: BTreeMap<String, KeptHead>,
    /// Steps of several processes, which may arrive in another order.
    #[serde(default)]
    waiting: Vec<HeadStep>,
}

/// The copy of the heads of one home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadCopy {
    path: PathBuf,
    home: String,
}

impl HeadCopy {
    /// The copy for `home` in a directory of the user's state; nothing is created. Another path is another home.
    #[must_use]
    pub fn new(state: &Path, home: &Path) -> Self {
        let home = fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
        let home = home.to_string_lossy().into_owned();
        let mut name = sha256(&home);
        name.truncate(DIGITS);
        Self { path: state.join("receipt-heads").join(format!("{name}.json")), home }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The heads by chain; none if there is no copy yet.
    pub fn heads(&self) -> io::Result<BTreeMap<String, KeptHead>> {
        Ok(self.read()?.heads)
    }

    /// Takes over receipts that were added to chains.
    pub(super) fn advance(&self, steps: Vec<HeadStep>) -> io::Result<()> {
        self.change(|copied| {
            copied.waiting.extend(steps);
            while let Some(at) = copied.waiting.iter().position(|step| copied.follows(step)) {
                let HeadStep { chain, after, .. } = copied.waiting.swap_remove(at);
                copied.heads.insert(chain, after);
            }
            let CopiedHeads { heads, waiting, .. } = copied;
            // A step that is not beyond its head never follows it.
            waiting.retain(|step| {
                heads.get(&step.chain).is_none_or(|head| step.after.count > head.count)
            });
            let more = waiting.len().saturating_sub(MOST_WAITING);
            waiting.drain(..more);
        })
    }

    /// Sets heads that were verified: their chains hold the heads of the copy.
    pub(super) fn replace(&self, heads: BTreeMap<String, KeptHead>) -> io::Result<()> {
        self.change(|copied| {
            for (chain, head) in heads {
                let is_newer = copied.heads.get(&chain).is_none_or(|it| it.count < head.count);
                if is_newer {
                    copied.heads.insert(chain, head);
                }
            }
        })
    }

    fn change(&self, change: impl FnOnce(&mut CopiedHeads)) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        agentry_runtime::create_private_directories(directory)?;
        let lock = File::create(self.path.with_extension("lock"))?;
        lock.lock()?;
        let mut copied = self.read()?;
        copied.home.clone_from(&self.home);
        change(&mut copied);
        let text = serde_json::to_string(&copied).map_err(io::Error::other)?;
        agentry_runtime::replace_private_file(&self.path, text)
    }

    fn read(&self) -> io::Result<CopiedHeads> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(CopiedHeads::default());
            }
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(MOST_BYTES).read_to_string(&mut text)?;
        serde_json::from_str(&text).map_err(io::Error::other)
    }
}

impl CopiedHeads {
    fn follows(&self, step: &HeadStep) -> bool {
        match self.heads.get(&step.chain) {
            head @ Some(_) => head == step.before.as_ref(),
            // A chain that is older than the copy begins where it is now.
            None => true,
        }
    }
}
