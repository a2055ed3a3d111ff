//! The keys of starts: a request that is sent again with the same key gets the first run back.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::command::run::session::now;

/// How long a key is known, in milliseconds.
const LIFE: u64 = 24 * 60 * 60 * 1_000;
/// The most keys.
const MOST_KEYS: usize = 10_000;

/// The keys of this home.
pub(super) struct StartKeys {
    path: PathBuf,
    known: Mutex<BTreeMap<String, KeyedStart>>,
}

#[derive(Clone)]
struct KeyedStart {
    /// What was asked for.
    request: String,
    run: String,
    at: u64,
}

/// The result of a start with a key.
pub(super) enum KeyedOutcome<E> {
    /// The run, new or from before.
    Run(String),
    /// The key was used for something else.
    OtherRequest,
    Failed(E),
}

impl StartKeys {
    pub(super) fn open(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let entries: Value = serde_json::from_str(&text).unwrap_or_default();
        let entries = entries.as_object().into_iter().flatten().filter_map(|(key, it)| {
            let text = |name: &str| Some(it[name].as_str()?.to_owned());
            let start =
                KeyedStart { request: text("request")?, run: text("run")?, at: it["at"].as_u64()? };
            Some((key.clone(), start))
        });
        Self { path, known: Mutex::new(entries.collect()) }
    }

    /// Starts a run unless the key has one. Two requests at once start one run: the second waits.
    pub(super) fn start<E>(
        &self,
        key: &str,
        request: &str,
        start: impl FnOnce() -> Result<String, E>,
    ) -> KeyedOutcome<E> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = now().saturating_sub(LIFE);
        known.retain(|_, it| it.at >= oldest);
        match known.get(key) {
            Some(first) if first.request == request => return KeyedOutcome::Run(first.run.clone()),
            Some(_) => return KeyedOutcome::OtherRequest,
            None => {}
        }
        let run = match start() {
            Ok(run) => run,
            Err(error) => return KeyedOutcome::Failed(error),
        };
        if known.len() >= MOST_KEYS {
            let oldest = known.iter().min_by_key(|(_, it)| it.at).map(|(key, _)| key.clone());
            oldest.map(|key| known.remove(&key));
        }
        let entry = KeyedStart { request: request.to_owned(), run: run.clone(), at: now() };
        known.insert(key.to_owned(), entry);
        self.save(&known);
        KeyedOutcome::Run(run)
    }

    fn save(&self, known: &BTreeMap<String, KeyedStart>) {
        let entry = |it: &KeyedStart| json!({ "request": it.request, "run": it.run, "at": it.at });
        let entries: serde_json::Map<_, _> =
            known.iter().map(|(key, it)| (key.clone(), entry(it))).collect();
        // What cannot be kept is known until this process ends.
        let text = Value::Object(entries).to_string();
        let _ = agentry_runtime::replace_private_file(&self.path, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_start_key_returns_the_same_run() {
        let directory = tempfile::tempdir().expect("a writable directory");
        let path = directory.path().join("keys.json");
        let run = |keys: &StartKeys, request: &str, new: Result<&str, &str>| {
            let start = || new.map(str::to_owned);
            match keys.start("k", request, start) {
                KeyedOutcome::Run(run) => run,
                KeyedOutcome::OtherRequest => "other".to_owned(),
                KeyedOutcome::Failed(why) => why.to_owned(),
            }
        };
        let keys = StartKeys::open(path.clone());
        assert_eq!(run(&keys, "a", Err("failed")), "failed", "a failure keeps no key");
        assert_eq!(run(&keys, "a", Ok("r1")), "r1");
        assert_eq!(run(&keys, "a", Ok("r2")), "r1");
        assert_eq!(run(&keys, "b", Ok("r2")), "other");
        assert_eq!(run(&StartKeys::open(path), "a", Ok("r2")), "r1", "also after a restart");
    }
}
