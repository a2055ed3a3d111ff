//! What a receipt says, before it has its place in a chain.

use agentry_compile::policy::words;
use agentry_runtime::journal::DisplayTime;
use agentry_runtime::{RunSpending, StepCounts};
use serde_json::{Map, Value, json};

use super::chain::AgentChain;
use crate::evolution::ProtectedAttempt;

/// The most attempts that a receipt lists; it counts all.
const MOST_ATTEMPTS: usize = 100;

words! {
    /// How a run or a firing ended.
    #[derive(Default)]
    pub enum ReceiptStatus {
        /// It did what it was asked to do.
        Completed = "completed",
        /// It failed.
        #[default]
        Failed = "failed",
        /// It was not let begin: no consent, a lock, a closed gate.
        Refused = "refused",
        /// It waits for a person.
        Parked = "parked",
        /// Its process died.
        Killed = "killed",
        /// A person stopped it.
        Cancelled = "cancelled",
        /// A limit was reached.
        OverBudget = "over_budget",
        /// A planned time that was not run.
        Skipped = "skipped",
        /// A person changed files afterwards.
        Modified = "modified",
    }
}

/// The agent of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiptAgent {
    /// The chain of its receipts.
    pub chain: AgentChain,
    /// Its name.
    pub name: String,
    /// Where its definition is.
    pub path: String,
    /// The digest of its definition.
    pub digest: String,
    /// The commit of an installed agent.
    pub commit: Option<String>,
}

/// What the policy and the person decided about a call. It has no arguments: they may hold anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedCall {
    /// The tool.
    pub tool: String,
    /// The verdict of the policy.
    pub verdict: &'static str,
    /// The answer of the person, if one was asked.
    pub answer: Option<&'static str>,
}

/// The planned time that started a run, or was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptFiring {
    /// The agent, as the ledger of schedules has it.
    pub agent: String,
    /// The name of the schedule.
    pub schedule: String,
    /// The planned time, in seconds since the Unix epoch.
    pub planned: i64,
}

/// An earlier receipt that gets a correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmendedReceipt {
    /// Its id.
    pub receipt: String,
    /// The files that a person changed after the run.
    pub files: Vec<String>,
}

/// What a receipt says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReceiptDraft {
    /// The run; its directory holds the receipt.
    pub run: String,
    /// The agent.
    pub agent: ReceiptAgent,
    /// The user for whom it worked.
    pub user: String,
    /// The workspace in which it worked.
    pub workspace: String,
    /// The run that it worked for, if it was the run of a delegate.
    pub parent: Option<String>,
    /// What was asked, in short.
    pub input: Option<String>,
    /// What came of it, in short.
    pub output: Option<String>,
    /// How it ended.
    pub status: ReceiptStatus,
    /// Why it ended so.
    pub reason: Option<String>,
    /// Whether it was completed without a person.
    pub auto_completed: bool,
    /// The steps of skills that were done.
    pub steps: StepCounts,
    /// What it spent.
    pub spent: RunSpending,
    /// How long it waited for answers of a person, in milliseconds.
    pub human_time: u64,
    /// How long a person would have taken, in milliseconds, if the user gave an estimate.
    pub estimate: Option<u64>,
    /// How often the policy said allow, ask and deny.
    pub verdicts: [u64; 3],
    /// The first decisions.
    pub decisions: Vec<DecidedCall>,
    /// The attempts to change what is protected, in order.
    pub attempts: Vec<ProtectedAttempt>,
    /// The firing that it belongs to.
    pub firing: Option<ReceiptFiring>,
    /// The receipt that this one corrects.
    pub amends: Option<AmendedReceipt>,
    /// When it began, in milliseconds since the Unix epoch.
    pub started: u64,
    /// When it ended.
    pub ended: u64,
}

/// The place of a receipt in its chain.
pub(super) struct ChainPlace<'a> {
    pub(super) id: &'a str,
    /// The number of the receipt, from 1.
    pub(super) count: u64,
    /// The hash of the receipt before it.
    pub(super) previous: Option<&'a str>,
    pub(super) public_key: &'a str,
}

impl ReceiptDraft {
    /// The fields of the receipt at this place, without its seal.
    pub(super) fn fields(&self, place: &ChainPlace<'_>) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        set("receipt_id", json!(place.id));
        if let Some(commit) = &self.agent.commit {
            set("repo_ref", json!(commit));
        }
        set("session", self.session());
        set("task", self.task());
        set("step_types", self.step_types());
        set("time_metrics", self.time_metrics());
        set("agent", self.agent_fields());
        set("run", self.run_fields());
        set("usage", self.usage());
        set("cost", cost(self.spent.usage.cost));
        set("policy", self.policy());
        if !self.attempts.is_empty() {
            set("attempts", self.attempt_fields());
        }
        if let Some(firing) = &self.firing {
            set("firing", firing_fields(firing));
        }
        if let Some(amends) = &self.amends {
            set("amends", json!({ "receipt_id": amends.receipt, "files": amends.files }));
        }
        set("count", json!(place.count));
        set("previous", json!(place.previous));
        // The head that it found: a chain whose end was cut off has a head that says more.
        set("head", json!({ "count": place.count.saturating_sub(1), "hash": place.previous }));
        set("public_key", json!(place.public_key));
        fields
    }

    fn session(&self) -> Value {
        json!({
            "session_id": self.run,
            "agent_id": self.agent.chain.as_str(),
            "user_id": self.user,
        })
    }

    fn task(&self) -> Value {
        let mut task = Map::new();
        for (name, text) in [("input_summary", &self.input), ("output_summary", &self.output)] {
            if let Some(text) = text {
                task.insert(name.to_owned(), json!(text));
            }
        }
        let edits = self.amends.as_ref().map_or(0, |amends| amends.files.len());
        let outcome = json!({
            "status": self.status.as_str(),
            "auto_completed": self.auto_completed,
            "user_edits": edits,
        });
        task.insert("outcome".to_owned(), outcome);
        Value::Object(task)
    }

    fn step_types(&self) -> Value {
        let StepCounts { deterministic, adaptive, human_gate } = self.steps;
        json!({ "deterministic": deterministic, "adaptive": adaptive, "human_gate": human_gate })
    }

    fn time_metrics(&self) -> Value {
        let mut times = Map::new();
        times.insert("agent_execution_time".to_owned(), seconds(self.spent.time));
        times.insert("actual_human_time".to_owned(), seconds(self.human_time));
        if let Some(estimate) = self.estimate {
            times.insert("estimated_human_time".to_owned(), seconds(estimate));
        }
        Value::Object(times)
    }

    fn agent_fields(&self) -> Value {
        let ReceiptAgent { name, path, digest, .. } = &self.agent;
        json!({ "name": name, "path": path, "digest": digest })
    }

    fn run_fields(&self) -> Value {
        json!({
            "started": DisplayTime(self.started).to_string(),
            "ended": DisplayTime(self.ended).to_string(),
            "workspace": self.workspace,
            "parent": self.parent,
            "reason": self.reason,
        })
    }

    fn usage(&self) -> Value {
        let RunSpending { turns, steps, usage, .. } = &self.spent;
        json!({
            "turns": turns, "calls": steps, "input_tokens": usage.input,
            "cached_tokens": usage.cached, "output_tokens": usage.output,
        })
    }

    fn policy(&self) -> Value {
        let [allow, ask, deny] = self.verdicts;
        let decision = |it: &DecidedCall| {
            let mut fields = Map::new();
            fields.insert("tool".to_owned(), json!(it.tool));
            fields.insert("verdict".to_owned(), json!(it.verdict));
            if let Some(answer) = it.answer {
                fields.insert("answer".to_owned(), json!(answer));
            }
            Value::Object(fields)
        };
        let decisions: Vec<Value> = self.decisions.iter().map(decision).collect();
        json!({ "allow": allow, "ask": ask, "deny": deny, "decisions": decisions })
    }

    fn attempt_fields(&self) -> Value {
        let listed = self.attempts.iter().take(MOST_ATTEMPTS);
        let listed = listed.map(|ProtectedAttempt { file, outcome, reason }| {
            json!({ "file": file, "outcome": outcome, "reason": reason })
        });
        json!({ "count": self.attempts.len(), "first": listed.collect::<Vec<_>>() })
    }
}

fn firing_fields(firing: &ReceiptFiring) -> Value {
    let ReceiptFiring { agent, schedule, planned } = firing;
    let time = DisplayTime(u64::try_from(*planned).unwrap_or(0).saturating_mul(1_000)).to_string();
    json!({ "agent": agent, "schedule": schedule, "planned": time })
}

/// Milliseconds as seconds.
fn seconds(milliseconds: u64) -> Value {
    if milliseconds.is_multiple_of(1_000) {
        return json!(milliseconds / 1_000);
    }
    #[expect(clippy::cast_precision_loss, reason = "times of runs are far below 2^53 ms")]
    let seconds = milliseconds as f64 / 1_000.0;
    json!(seconds)
}

/// Millionths of a dollar as dollars; null if no price is known.
fn cost(millionths: Option<u64>) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "no run costs 2^53 millionths of a dollar")]
    let dollars = |millionths: u64| millionths as f64 / 1_000_000.0;
    json!(millionths.map(dollars))
}
