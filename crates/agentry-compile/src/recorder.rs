//! A world that records its questions with digests of the answers. Results depend only on these answers,
//! so a cached result stays valid while the answers are the same.

use crate::memo::SessionMemo;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use agentry_text::digest::{hex, sha256};
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::inherit::BaseMemo;
use crate::resolve::ModelsEndpoint;
use crate::store_reference::{FetchError, StoreRef, StoredAgent};
use crate::world::{
    DirectoryEntry, EntryKind, FileTree, MachineFacts, ReadError, WalkedPath, World, WorldServices,
};

/// Questions with digests of their answers.
pub type AnswerRecord = BTreeMap<String, String>;

/// A world that forwards questions and records them.
pub struct WorldRecorder<'w> {
    world: &'w dyn World,
    notes: Mutex<RecorderNotes>,
    /// Whether the current directory was recorded.
    placed: AtomicBool,
}

/// The recorded answers.
#[derive(Default)]
struct RecorderNotes {
    answers: HashMap<String, String>,
    /// Whether one question had two answers. The record is then useless.
    torn: bool,
}

/// The separator between the parts of a question.
const SEPARATOR: &str = "\u{1f}";

impl<'w> WorldRecorder<'w> {
    /// A recorder without questions.
    pub fn new(world: &'w dyn World) -> Self {
        Self { world, notes: Mutex::default(), placed: AtomicBool::new(false) }
    }

    /// All recorded questions, or `None` if an answer changed in between.
    pub fn record(self) -> Option<AnswerRecord> {
        let RecorderNotes { answers, torn } =
            self.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        (!torn).then(|| answers.into_iter().collect())
    }

    /// Records a question that did not go to the world.
    pub fn note(&self, question: &[&str], answer: &[u8]) {
        self.note_digest(question, sha256(answer));
    }

    /// Records a question whose answer was already hashed with [`file_digest`].
    pub fn note_digest(&self, question: &[&str], answer: String) {
        let question = question.join(SEPARATOR);
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = notes.answers.get(&question).map(|known| *known == answer);
        // A file changed between two reads.
        notes.torn |= known == Some(false);
        if known.is_none() {
            notes.answers.insert(question, answer);
        }
    }
}

/// The digest of a file as an answer: of `+` and its bytes.
pub fn file_digest(bytes: &[u8]) -> String {
    hex(&Sha256::new_with_prefix(b"+").chain_update(bytes).finalize())
}

/// Whether a world still gives the same answers. A question that is not for a world goes to `others`.
pub fn is_unchanged(
    world: &dyn World,
    record: &AnswerRecord,
    others: &(dyn Fn(&[&str]) -> Option<Vec<u8>> + Sync),
) -> bool {
    record.par_iter().all(|(question, answer)| {
        let parts: Vec<&str> = question.split(SEPARATOR).collect();
        let now = asked_again(world, &parts).or_else(|| others(&parts));
        now.is_some_and(|now| sha256(&now) == *answer)
    })
}

/// The answer to a question as bytes, or `None` if the question is unknown.
fn asked_again(world: &dyn World, question: &[&str]) -> Option<Vec<u8>> {
    Some(match question {
        ["read", root, path, limit] => read(&world.read(root, path, limit.parse().ok()?)),
        ["list", root, path] => list(&world.list(root, path)),
        ["kind", path] => kind(world.kind(path)),
        ["walk", path] => walk(world, path, &mut |_| {}),
        ["workspace", path] => world.workspace(path).into_bytes(),
        ["inside", root, path] => vec![u8::from(world.inside(root, path))],
        ["has_env", name] => vec![u8::from(world.services().has_env(name))],
        ["absolute", path] => world.absolute(path).into_bytes(),
        ["real", path] => optional(world.real(path)),
        ["ignores_case", path] => vec![u8::from(world.ignores_case(path))],
        ["machine"] => machine(world.machine()),
        _ => return None,
    })
}

fn read(answer: &Result<Vec<u8>, ReadError>) -> Vec<u8> {
    match answer {
        Ok(bytes) => [b"+", bytes.as_slice()].concat(),
        Err(error) => format!("-{error:?}").into_bytes(),
    }
}

fn list(answer: &Result<Vec<DirectoryEntry>, ReadError>) -> Vec<u8> {
    format!("{answer:?}").into_bytes()
}

fn machine(answer: &MachineFacts) -> Vec<u8> {
    format!("{answer:?}").into_bytes()
}

fn kind(answer: EntryKind) -> Vec<u8> {
    format!("{answer:?}").into_bytes()
}

fn optional(answer: Option<String>) -> Vec<u8> {
    answer.map_or_else(|| b"-".to_vec(), |text| format!("+{text}").into_bytes())
}

/// Walks a directory, and returns all visited paths, sorted.
fn walk(world: &dyn World, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send)) -> Vec<u8> {
    let mut met = Vec::new();
    world.walk(path, &mut |walked| {
        met.push(format!("{walked:?}"));
        visit(walked);
    });
    // A walk has no fixed order, but the digest needs one.
    met.sort();
    met.join("\n").into_bytes()
}

impl WorldRecorder<'_> {
    fn note_read(
        &self,
        (root, path, limit): (&str, &str, u64),
        answer: &Result<Vec<u8>, ReadError>,
    ) {
        let question = ["read", root, path, &limit.to_string()];
        match answer {
            Ok(bytes) => self.note_digest(&question, file_digest(bytes)),
            Err(_) => self.note(&question, &read(answer)),
        }
    }
}

impl FileTree for WorldRecorder<'_> {
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let answer = self.world.read(root, path, limit);
        self.note_read((root, path, limit), &answer);
        answer
    }

    fn peek(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let answer = self.world.peek(root, path, limit);
        self.note_read((root, path, limit), &answer);
        answer
    }

    fn list(&self, root: &str, path: &str) -> Result<Vec<DirectoryEntry>, ReadError> {
        let answer = self.world.list(root, path);
        self.note(&["list", root, path], &list(&answer));
        answer
    }

    fn kind(&self, path: &str) -> EntryKind {
        let answer = self.world.kind(path);
        self.note(&["kind", path], &kind(answer));
        answer
    }

    fn walk(&self, path: &str, visit: &mut (dyn FnMut(WalkedPath<'_>) + Send)) {
        let answer = walk(self.world, path, visit);
        self.note(&["walk", path], &answer);
    }

    fn workspace(&self, path: &str) -> String {
        let answer = self.world.workspace(path);
        self.note(&["workspace", path], answer.as_bytes());
        answer
    }

    fn inside(&self, root: &str, path: &str) -> bool {
        let answer = self.world.inside(root, path);
        self.note(&["inside", root, path], &[u8::from(answer)]);
        answer
    }

    /// Records only the current directory, because all absolute paths follow from it.
    fn absolute(&self, path: &str) -> String {
        if !self.placed.swap(true, Ordering::Relaxed) {
            self.note(&["absolute", ""], self.world.absolute("").as_bytes());
        }
        self.world.absolute(path)
    }

    fn real(&self, path: &str) -> Option<String> {
        let answer = self.world.real(path);
        self.note(&["real", path], &optional(answer.clone()));
        answer
    }

    fn ignores_case(&self, path: &str) -> bool {
        let answer = self.world.ignores_case(path);
        self.note(&["ignores_case", path], &[u8::from(answer)]);
        answer
    }
}

impl World for WorldRecorder<'_> {
    fn machine(&self) -> &MachineFacts {
        let facts = self.world.machine();
        self.note(&["machine"], &machine(facts));
        facts
    }

    fn services(&self) -> &dyn WorldServices {
        self
    }

    fn memo(&self) -> &SessionMemo {
        self.world.memo()
    }

    /// The bases of the inner world. Code that fills the memo asks through this recorder.
    fn bases(&self) -> Option<&BaseMemo> {
        self.world.bases()
    }
}

/// A record that used the store or a model server is never valid again: these are not asked twice.
impl WorldServices for WorldRecorder<'_> {
    fn has_env(&self, name: &str) -> bool {
        let answer = self.world.services().has_env(name);
        self.note(&["has_env", name], &[u8::from(answer)]);
        answer
    }

    fn fetch(&self, reference: &StoreRef) -> Result<StoredAgent, FetchError> {
        // `asked_again` has no answer for this question, so the record is never valid.
        self.note(&["fetch"], b"");
        self.world.services().fetch(reference)
    }

    fn local_models(&self, url: &str) -> Option<Vec<String>> {
        self.note(&["local_models"], b"");
        self.world.services().local_models(url)
    }

    fn hosted_models(&self, endpoint: &ModelsEndpoint) -> Result<Vec<String>, String> {
        self.note(&["hosted_models"], b"");
        self.world.services().hosted_models(endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryWorld;

    #[test]
    fn a_different_answer_invalidates_the_record() {
        let world = MemoryWorld::new([("a/b".to_owned(), "1"), ("c".to_owned(), "2")]);
        let recorder = WorldRecorder::new(&world);
        let _ = recorder.read("", "a/b", 10);
        let _ = recorder.read("", "nothing", 10);
        let _ = recorder.list("", "a");
        let _ = recorder.kind("a/new");
        recorder.walk("", &mut |_| {});
        let _ = recorder.real("/c");
        let _ = recorder.machine();
        recorder.note(&["other", "x"], b"1");
        let record = recorder.record().unwrap();
        assert_eq!(record.len(), 8);
        let others = |question: &[&str]| (question == ["other", "x"]).then(|| b"1".to_vec());
        assert!(is_unchanged(&world, &record, &others));
        assert!(!is_unchanged(&world, &record, &|_| Some(b"2".to_vec())));
        assert!(!is_unchanged(&world, &record, &|_| None));
        for (path, text) in
            [("a/b", "2"), ("nothing", ""), ("a/other", ""), ("a/new", ""), ("z", "")]
        {
            let mut other = world.clone();
            other.write(path, text);
            assert!(!is_unchanged(&other, &record, &others), "{path}");
        }
        let moved = world.clone().with_agentry_home("/elsewhere");
        assert!(!is_unchanged(&moved, &record, &others));
        let unknown = AnswerRecord::from([("fetch".to_owned(), sha256(b""))]);
        assert!(!is_unchanged(&world, &unknown, &others));
    }

    #[test]
    fn file_digest_equals_the_recorded_answer_digest() {
        for bytes in [&b""[..], b"x", b"+"] {
            assert_eq!(file_digest(bytes), sha256(read(&Ok(bytes.to_vec()))), "{bytes:?}");
        }
    }

    #[test]
    fn contradictory_answers_make_no_record() {
        let world = MemoryWorld::default();
        let recorder = WorldRecorder::new(&world);
        recorder.note(&["other"], b"1");
        recorder.note(&["other"], b"1");
        recorder.note(&["other"], b"2");
        assert_eq!(recorder.record(), None);
    }
}
