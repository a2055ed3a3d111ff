//! The pending approvals, and their answers. Every approval is a file, so that a server that starts
//! again knows what it asked and what it was told.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentry_runtime::journal::{self, DisplayTime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::command::run::session::now;
use crate::command::steered_run::SteeredApproval;

/// All approvals of this home.
pub(super) struct ApprovalBook {
    directory: PathBuf,
    known: Mutex<BTreeMap<String, ApprovalRecord>>,
}

/// How far an approval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ApprovalState {
    /// A process waits for the answer.
    Open,
    /// The run is parked; it is asked again when it continues.
    Parked,
    /// A person answered, and the run has still to ask again.
    Answered,
    /// The run has the answer.
    Delivered,
    /// The run does not need the answer any more.
    Withdrawn,
}

/// One approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ApprovalRecord {
    pub(super) id: String,
    pub(super) run: String,
    /// Who asks: the agent, or the chain of names that leads to a delegate.
    pub(super) agent: String,
    /// `call`, `unfinished`, `failed`, `limit`, `models`, `question` or `parked`.
    pub(super) kind: String,
    /// The id of the call.
    pub(super) call: Option<String>,
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) rule: String,
    pub(super) places: Vec<String>,
    pub(super) covers: Vec<String>,
    pub(super) choices: Vec<String>,
    pub(super) diff: Option<String>,
    pub(super) question: String,
    pub(super) since: u64,
    pub(super) state: ApprovalState,
    pub(super) answer: Option<String>,
    pub(super) reason: Option<String>,
    /// The number of the question in the process that waits.
    #[serde(skip)]
    pub(super) number: Option<u64>,
}

/// The result of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum AnswerOutcome {
    /// The process of the run gets it.
    Deliver(ApprovalRecord),
    /// The run has to be continued first.
    Resume(ApprovalRecord),
    /// It was answered so before.
    Same(ApprovalRecord),
    /// It was answered otherwise before.
    Other(ApprovalRecord),
    /// It cannot be answered so.
    Impossible(String),
    /// There is no such approval.
    Missing,
}

impl ApprovalRecord {
    /// An approval that a run asks for.
    pub(super) fn of_approval(run: &str, name: &str, asked: SteeredApproval) -> Self {
        let call = asked.call;
        Self {
            agent: asked.agent.unwrap_or_else(|| name.to_owned()),
            call: call.as_ref().map(|call| call.id.clone()),
            tool: call.as_ref().map_or(String::new(), |call| call.tool.clone()),
            arguments: call.map_or(Value::Null, |call| call.arguments),
            rule: asked.reason,
            places: asked.places,
            covers: asked.rules,
            choices: asked.choices,
            diff: asked.preview,
            question: match asked.kind.as_str() {
                "call" => "",
                "unfinished" => "It was under way when the run was killed. Run it again?",
                "failed" => "It failed. Run it again?",
                _ => "Continue?",
            }
            .to_owned(),
            kind: asked.kind,
            ..Self::of_question(run, name, asked.question)
        }
    }

    /// A question of an agent, without its text.
    pub(super) fn of_question(run: &str, name: &str, number: u64) -> Self {
        Self {
            id: String::new(),
            run: run.to_owned(),
            agent: name.to_owned(),
            kind: "question".to_owned(),
            call: None,
            tool: String::new(),
            arguments: Value::Null,
            rule: String::new(),
            places: Vec::new(),
            covers: Vec::new(),
            choices: Vec::new(),
            diff: None,
            question: String::new(),
            since: now(),
            state: ApprovalState::Open,
            answer: None,
            reason: None,
            number: Some(number),
        }
    }

    /// Whether this is the same question, asked again by a run that continues.
    fn is_same_question(&self, other: &Self) -> bool {
        let Self { run, agent, kind, call, tool, arguments, .. } = self;
        (run, agent, kind) == (&other.run, &other.agent, &other.kind)
            && (call, tool, arguments) == (&other.call, &other.tool, &other.arguments)
    }

    fn is_waiting(&self) -> bool {
        matches!(self.state, ApprovalState::Open | ApprovalState::Parked)
    }

    /// The answers that it takes, or those that a question proposes. «Later» is what no answer means.
    fn answers(&self) -> Vec<&str> {
        let choices = self.choices.iter().map(String::as_str);
        choices.filter(|it| self.kind == "question" || *it != "later").collect()
    }

    /// The approval as the API shows it.
    pub(super) fn as_json(&self) -> Value {
        json!({
            "id": self.id, "run": self.run, "agent": self.agent, "kind": self.kind, "tool": self.tool,
            "arguments": self.arguments, "rule": self.rule, "places": self.places,
            "covers": if self.choices.iter().any(|it| it == "always") { self.covers.clone() } else { Vec::new() },
            "choices": self.answers(), "diff": self.diff, "question": self.question,
            "since": DisplayTime(self.since).to_string(), "state": self.state,
            "answer": self.answer, "reason": self.reason,
        })
    }
}

impl ApprovalBook {
    /// Reads the approvals of a home. What a process waited for is parked now: the process had the server's pipes.
    pub(super) fn open(directory: PathBuf, home: &Path) -> std::io::Result<Self> {
        agentry_runtime::create_private_directories(&directory)?;
        let mut known = BTreeMap::new();
        for entry in std::fs::read_dir(&directory)?.flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let Ok(mut record) = serde_json::from_str::<ApprovalRecord>(&text) else { continue };
            if !journal::runs(home).join(&record.run).is_dir() {
                let _ = std::fs::remove_file(entry.path());
                continue;
            }
            if record.state == ApprovalState::Open {
                record.state = ApprovalState::Parked;
            }
            known.insert(record.id.clone(), record);
        }
        Ok(Self { directory, known: Mutex::new(known) })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, ApprovalRecord>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records what a run asks. Returns the approval: it has an answer if a person gave it while the run was parked.
    pub(super) fn asked(&self, mut asked: ApprovalRecord) -> ApprovalRecord {
        let mut known = self.known();
        let is_pending = |it: &&mut ApprovalRecord| {
            matches!(it.state, ApprovalState::Parked | ApprovalState::Answered)
                && it.is_same_question(&asked)
        };
        // An answer belongs to the question that the person saw, and is used once.
        if let Some(pending) = known.values_mut().find(is_pending) {
            pending.number = asked.number;
            pending.state = match pending.state {
                ApprovalState::Answered => ApprovalState::Delivered,
                _ => ApprovalState::Open,
            };
            // An adopted approval knows less than the run itself.
            pending.covers = asked.covers;
            pending.choices = asked.choices;
            pending.diff = asked.diff;
            self.save(pending);
            return pending.clone();
        }
        asked.id = next_id(&known, &asked.run);
        self.save(&asked);
        known.insert(asked.id.clone(), asked.clone());
        asked
    }

    /// Adds the question of a run that another process parked, unless it has one. An answer to an earlier question
    /// that another process delivered is dropped.
    pub(super) fn adopt(&self, mut found: ApprovalRecord) {
        let mut known = self.known();
        for earlier in known.values_mut() {
            let is_answered = earlier.run == found.run && earlier.state == ApprovalState::Answered;
            if is_answered && (&earlier.call, &earlier.kind) != (&found.call, &found.kind) {
                earlier.state = ApprovalState::Withdrawn;
                self.save(earlier);
            }
        }
        let has_one = known.values().any(|it| {
            it.run == found.run && (it.is_waiting() || it.state == ApprovalState::Answered)
        });
        if !has_one {
            found.id = next_id(&known, &found.run);
            self.save(&found);
            known.insert(found.id.clone(), found);
        }
    }

    /// The run does not wait for this question any more.
    pub(super) fn withdraw(&self, run: &str, number: u64) {
        self.change(|it| it.run == run && it.number == Some(number), ApprovalState::Withdrawn);
    }

    /// The process of a run has ended.
    pub(super) fn leave(&self, run: &str, is_parked: bool) {
        let state = if is_parked { ApprovalState::Parked } else { ApprovalState::Withdrawn };
        self.change(|it| it.run == run, state);
    }

    /// The process of a run is about to park. Its questions are asked again when it continues.
    pub(super) fn park(&self, run: &str) {
        // A question of the agent cannot be parked.
        self.change(|it| it.run == run && it.kind != "question", ApprovalState::Parked);
    }

    /// The runs whose answers were not delivered before the server ended.
    pub(super) fn undelivered(&self) -> Vec<(String, String)> {
        let known = self.known();
        let answered = known.values().filter(|it| it.state == ApprovalState::Answered);
        answered.map(|it| (it.id.clone(), it.run.clone())).collect()
    }

    /// Moves open approvals to another state.
    fn change(&self, is_meant: impl Fn(&ApprovalRecord) -> bool, state: ApprovalState) {
        for record in self.known().values_mut() {
            if record.state == ApprovalState::Open && is_meant(record) {
                record.state = state;
                record.number = None;
                self.save(record);
            }
        }
    }

    /// Drops parked approvals of runs that are not parked any more, unless the run has an answer to come.
    pub(super) fn settle(
        &self,
        is_parked: impl Fn(&str) -> bool,
        awaits_answer: impl Fn(&str) -> bool,
    ) {
        for record in self.known().values_mut() {
            let is_over = match record.state {
                ApprovalState::Parked => !is_parked(&record.run),
                ApprovalState::Answered => !is_parked(&record.run) && !awaits_answer(&record.run),
                _ => false,
            };
            if is_over {
                record.state = ApprovalState::Withdrawn;
                self.save(record);
            }
        }
    }

    /// What waits for a person, the oldest first.
    pub(super) fn waiting(&self) -> Vec<ApprovalRecord> {
        let mut waiting: Vec<_> =
            self.known().values().filter(|it| it.is_waiting()).cloned().collect();
        waiting.sort_by_key(|it| it.since);
        waiting
    }

    /// How much waits for a person.
    pub(super) fn waiting_count(&self) -> usize {
        self.known().values().filter(|it| it.is_waiting()).count()
    }

    /// The runs that wait for a person.
    pub(super) fn waiting_runs(&self) -> HashSet<String> {
        self.known().values().filter(|it| it.is_waiting()).map(|it| it.run.clone()).collect()
    }

    /// The same, with the runs that have an answer to come.
    pub(super) fn pending_runs(&self) -> HashSet<String> {
        let known = self.known();
        let is_pending =
            |it: &&ApprovalRecord| it.is_waiting() || it.state == ApprovalState::Answered;
        known.values().filter(is_pending).map(|it| it.run.clone()).collect()
    }

    /// The runs whose open approvals are older than this.
    pub(super) fn overdue(&self, before: u64) -> Vec<String> {
        let known = self.known();
        let is_old = |it: &&ApprovalRecord| {
            // A question of the agent cannot be parked.
            it.state == ApprovalState::Open && it.kind != "question" && it.since < before
        };
        known.values().filter(is_old).map(|it| it.run.clone()).collect()
    }

    /// Records the answer of a person. Of two answers at once, one is the first.
    pub(super) fn answer(&self, id: &str, answer: &str, reason: Option<String>) -> AnswerOutcome {
        let mut known = self.known();
        let Some(record) = known.get_mut(id) else { return AnswerOutcome::Missing };
        if let Some(first) = &record.answer {
            let is_same = first == answer && record.reason == reason;
            let record = record.clone();
            return if is_same {
                AnswerOutcome::Same(record)
            } else {
                AnswerOutcome::Other(record)
            };
        }
        let is_question = record.kind == "question";
        if !is_question && !record.choices.iter().any(|choice| choice == answer) {
            let choices = record.answers().join(", ");
            return AnswerOutcome::Impossible(format!("it can be answered with {choices}"));
        }
        if is_question && (answer != "yes" || reason.is_none()) {
            let message = "a question is answered with `yes` and the text as `reason`";
            return AnswerOutcome::Impossible(message.to_owned());
        }
        let is_open = match record.state {
            ApprovalState::Open => true,
            ApprovalState::Parked => false,
            _ => {
                return AnswerOutcome::Impossible(
                    "the run does not wait for it any more".to_owned(),
                );
            }
        };
        record.answer = Some(answer.to_owned());
        record.reason = reason;
        record.state = if is_open { ApprovalState::Delivered } else { ApprovalState::Answered };
        self.save(record);
        let record = record.clone();
        if is_open { AnswerOutcome::Deliver(record) } else { AnswerOutcome::Resume(record) }
    }

    /// The answer is stored for another machine, which delivers it.
    pub(super) fn hand_over(&self, id: &str) {
        if let Some(record) = self.known().get_mut(id) {
            record.state = ApprovalState::Delivered;
            self.save(record);
        }
    }

    /// Takes an answer back that could not be delivered.
    pub(super) fn forget_answer(&self, id: &str) {
        if let Some(record) = self.known().get_mut(id) {
            record.answer = None;
            record.reason = None;
            record.state = ApprovalState::Parked;
            self.save(record);
        }
    }

    fn save(&self, record: &ApprovalRecord) {
        let path = self.directory.join(format!("{}.json", record.id));
        let text = serde_json::to_string(record).unwrap_or_default();
        // What cannot be written is known until this process ends, and the journal has the run itself.
        let _ = agentry_runtime::replace_private_file(&path, text);
    }
}

/// An id that no approval of the run had.
fn next_id(known: &BTreeMap<String, ApprovalRecord>, run: &str) -> String {
    let numbers =
        known.keys().filter_map(|id| id.strip_prefix(run)?.strip_prefix('.')?.parse().ok());
    let last: u64 = numbers.max().unwrap_or(0);
    format!("{run}.{}", last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "20261118-120000-000-abcd";

    fn record(number: u64, command: &str) -> ApprovalRecord {
        let asked = json!({
            "question": number, "kind": "call", "agent": null,
            "call": { "id": "c1", "tool": "bash", "arguments": { "command": command } },
            "reason": "ask", "places": ["agent.toml:5"], "rules": ["this call"], "preview": null,
            "choices": ["yes", "no", "later"],
        });
        let asked = serde_json::from_value(asked).expect("an approval");
        ApprovalRecord::of_approval(RUN, "helper", asked)
    }

    fn book() -> (tempfile::TempDir, ApprovalBook) {
        let home = tempfile::tempdir().expect("a writable directory");
        std::fs::create_dir_all(home.path().join("runs").join(RUN)).expect("a directory");
        let book = reopened(&home);
        (home, book)
    }

    fn reopened(home: &tempfile::TempDir) -> ApprovalBook {
        ApprovalBook::open(home.path().join("approvals"), home.path()).expect("a book")
    }

    #[test]
    fn an_approval_is_answered_only_once() {
        let (_home, book) = book();
        let asked = book.asked(record(1, "make"));
        assert_eq!(asked.id, format!("{RUN}.1"));
        assert_eq!(asked.as_json()["choices"], json!(["yes", "no"]), "later is no answer");
        let answer = |word: &str| book.answer(&asked.id, word, None);
        assert!(matches!(answer("always"), AnswerOutcome::Impossible(_)), "not among its choices");
        assert!(
            matches!(answer("yes"), AnswerOutcome::Deliver(record) if record.number == Some(1))
        );
        assert!(matches!(answer("yes"), AnswerOutcome::Same(_)));
        assert!(
            matches!(answer("no"), AnswerOutcome::Other(first) if first.answer.as_deref() == Some("yes"))
        );
        assert_eq!(book.answer("x.1", "yes", None), AnswerOutcome::Missing);
    }

    #[test]
    fn of_people_who_answer_at_once_one_is_the_first() {
        let (_home, book) = book();
        let asked = book.asked(record(1, "make"));
        let (book, id) = (&book, &asked.id);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let people = (0..8).map(|at| {
                let answer = if at % 2 == 0 { "yes" } else { "no" };
                scope.spawn(move || (answer, book.answer(id, answer, None)))
            });
            let people: Vec<_> = people.collect();
            people.into_iter().map(|it| it.join().expect("an answer")).collect()
        });
        let first: Vec<_> = outcomes
            .iter()
            .filter(|(_, outcome)| matches!(outcome, AnswerOutcome::Deliver(_)))
            .collect();
        assert_eq!(first.len(), 1, "{outcomes:?}");
        for (answer, outcome) in &outcomes {
            match outcome {
                AnswerOutcome::Deliver(_) => {}
                AnswerOutcome::Same(_) => assert_eq!(*answer, first[0].0),
                AnswerOutcome::Other(known) => {
                    assert_ne!(*answer, first[0].0);
                    assert_eq!(known.answer.as_deref(), Some(first[0].0));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// An answer is for the question that was seen: neither for another call, nor for the same one later.
    #[test]
    fn an_answer_is_never_reused_for_another_call() {
        let (home, book) = book();
        let asked = book.asked(record(1, "make"));
        book.leave(RUN, true);
        let book = reopened(&home);
        assert!(matches!(book.answer(&asked.id, "yes", None), AnswerOutcome::Resume(_)));
        let other = book.asked(record(1, "make deploy"));
        assert_eq!((other.answer, other.id), (None, format!("{RUN}.2")));
        let again = book.asked(record(2, "make"));
        assert_eq!((again.answer.as_deref(), &again.id), (Some("yes"), &asked.id));
        let third = book.asked(record(3, "make"));
        assert_eq!((third.answer, third.id), (None, format!("{RUN}.3")));
    }

    #[test]
    fn pending_approvals_survive_a_restart() {
        let (home, book) = book();
        book.asked(record(1, "make"));
        book.asked(record(2, "make test"));
        book.withdraw(RUN, 2);
        let book = reopened(&home);
        let waiting = book.waiting();
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting[0].state, ApprovalState::Parked);
        assert_eq!(
            book.overdue(u64::MAX),
            Vec::<String>::new(),
            "a parked run is not parked again"
        );
        book.settle(|_| false, |_| false);
        assert!(book.waiting().is_empty(), "another process continued the run");
    }
}
