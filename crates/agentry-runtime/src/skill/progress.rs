//! Which skills are loaded and which of their steps are done: a part of the state of a run, built from its
//! events.

use std::collections::{BTreeMap, BTreeSet};

use agentry_compile::model::StepKind;
use serde::{Deserialize, Serialize};

/// What a successful call of `skill` or `skill_step` means. Written to the journal before its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SkillNote {
    /// A skill was loaded.
    Loaded {
        /// Its name.
        skill: String,
    },
    /// The model reported a step.
    Step(StepReport),
    /// The model reported the end of a skill.
    Over {
        /// Its name.
        skill: String,
    },
}

/// A report about a step of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepReport {
    /// The skill.
    pub skill: String,
    /// The number of the step, from 1.
    pub step: usize,
    /// How many steps the skill has.
    pub of: usize,
    /// The title of the step.
    pub title: String,
    /// How the step is carried out.
    pub kind: TrackedKind,
    /// How far it is.
    pub status: StepStatus,
}

/// How a step is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackedKind {
    /// Always in the same way.
    Deterministic,
    /// The agent decides.
    Adaptive,
    /// A person confirms it.
    HumanGate,
}

impl From<StepKind> for TrackedKind {
    fn from(kind: StepKind) -> Self {
        match kind {
            StepKind::Deterministic => Self::Deterministic,
            StepKind::Adaptive => Self::Adaptive,
            StepKind::HumanGate => Self::HumanGate,
        }
    }
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It begins.
    Started,
    /// It is done.
    Done,
    /// It is left out.
    Skipped,
    /// It did not work.
    Failed,
}

impl StepStatus {
    /// Returns the status that a model means.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "started" | "start" | "running" | "in_progress" | "in-progress" => Self::Started,
            "done" | "completed" | "complete" | "finished" | "passed" | "approved" => Self::Done,
            "skipped" | "skip" => Self::Skipped,
            "failed" | "error" => Self::Failed,
            _ => return None,
        })
    }

    /// The name of the status.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }
}

/// How many steps were done, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCounts {
    /// Steps that are always carried out in the same way.
    pub deterministic: u64,
    /// Steps about which the agent decides.
    pub adaptive: u64,
    /// Steps that a person confirmed.
    pub human_gate: u64,
}

/// A skill that is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadedSkill {
    pub(crate) name: String,
    /// The call that loaded it.
    pub(crate) id: String,
    /// The text that the model got.
    pub(crate) text: String,
    /// Whether it is in use; its `allowed-tools` hold so long.
    is_active: bool,
    /// The steps that are done in this round.
    done: BTreeSet<usize>,
    /// The steps that are left out in this round.
    skipped: BTreeSet<usize>,
}

/// The skills of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillProgress {
    loaded: Vec<LoadedSkill>,
    counts: StepCounts,
    /// What running calls will mean, by call.
    pending: BTreeMap<String, SkillNote>,
}

impl SkillProgress {
    /// Keeps what a call means until its result is reported.
    pub(crate) fn note(&mut self, id: String, note: SkillNote) {
        self.pending.insert(id, note);
    }

    /// Applies what a successful call means. Called in the order of the calls, whatever order they ended in.
    /// Returns a shorter result if the same text was just loaded by another call.
    pub(crate) fn apply(&mut self, id: &str, text: &str) -> Option<String> {
        match self.pending.remove(id)? {
            SkillNote::Loaded { skill } => self.load(skill, id, text),
            SkillNote::Step(report) => {
                self.report(&report);
                None
            }
            SkillNote::Over { skill } => {
                self.find(&skill)?.is_active = false;
                None
            }
        }
    }

    /// Drops the notes of failed calls.
    pub(crate) fn settle(&mut self) {
        self.pending.clear();
    }

    fn load(&mut self, name: String, id: &str, text: &str) -> Option<String> {
        let Some(known) = self.find(&name) else {
            let (id, text) = (id.to_owned(), text.to_owned());
            let (done, skipped) = (BTreeSet::new(), BTreeSet::new());
            self.loaded.push(LoadedSkill { name, id, text, is_active: true, done, skipped });
            return None;
        };
        if !known.is_active {
            // A new round: its gates are closed again.
            known.is_active = true;
            known.done.clear();
            known.skipped.clear();
        }
        (known.text == text).then(|| already(&name))
    }

    fn report(&mut self, report: &StepReport) {
        let StepReport { step, of, kind, status, .. } = *report;
        let Some(skill) = self.find(&report.skill) else { return };
        // A step that begins again, or is done a second time, begins a new round from there: the gates
        // after it are closed again.
        let is_again = status == StepStatus::Done && skill.done.contains(&step);
        if status == StepStatus::Started || is_again {
            skill.done.retain(|done| *done < step);
            skill.skipped.retain(|skipped| *skipped < step);
            skill.is_active = true;
        }
        match status {
            StepStatus::Done => {
                skill.done.insert(step);
                skill.skipped.remove(&step);
            }
            StepStatus::Skipped => {
                skill.skipped.insert(step);
            }
            StepStatus::Started | StepStatus::Failed => {}
        }
        let is_settled = |step: usize| skill.done.contains(&step) || skill.skipped.contains(&step);
        if (1..=of).all(is_settled) {
            skill.is_active = false;
        }
        if status == StepStatus::Done {
            match kind {
                TrackedKind::Deterministic => self.counts.deterministic += 1,
                TrackedKind::Adaptive => self.counts.adaptive += 1,
                TrackedKind::HumanGate => self.counts.human_gate += 1,
            }
        }
    }

    fn find(&mut self, name: &str) -> Option<&mut LoadedSkill> {
        self.loaded.iter_mut().find(|skill| skill.name == name)
    }

    /// Whether a skill is loaded.
    pub fn is_loaded(&self, name: &str) -> bool {
        self.loaded.iter().any(|skill| skill.name == name)
    }

    /// The names of the skills in use, in the order in which they were loaded.
    pub fn active(&self) -> impl Iterator<Item = &str> {
        self.loaded.iter().filter(|skill| skill.is_active).map(|skill| skill.name.as_str())
    }

    /// Whether a step of a skill is done in this round.
    pub fn is_done(&self, name: &str, step: usize) -> bool {
        self.loaded.iter().any(|skill| skill.name == name && skill.done.contains(&step))
    }

    /// How many steps were done so far.
    pub fn counts(&self) -> StepCounts {
        self.counts
    }

    /// The loaded skills.
    pub(crate) fn loaded(&self) -> &[LoadedSkill] {
        &self.loaded
    }
}

/// The result of a call that loads a skill a second time.
pub(super) fn already(name: &str) -> String {
    format!("the skill `{name}` is loaded already: its text is in this conversation")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(progress: &mut SkillProgress, step: usize, kind: TrackedKind, status: StepStatus) {
        let (skill, title) = ("x".to_owned(), String::new());
        let report = StepReport { skill, step, of: 3, title, kind, status };
        progress.note("c".to_owned(), SkillNote::Step(report));
        progress.apply("c", "ok");
    }

    fn loaded() -> SkillProgress {
        let mut progress = SkillProgress::default();
        progress.note("a".to_owned(), SkillNote::Loaded { skill: "x".to_owned() });
        assert_eq!(progress.apply("a", "text"), None);
        progress
    }

    #[test]
    fn a_skill_is_loaded_once() {
        let mut progress = loaded();
        progress.note("b".to_owned(), SkillNote::Loaded { skill: "x".to_owned() });
        assert_eq!(progress.apply("b", "text"), Some(already("x")));
        assert_eq!(progress.loaded().len(), 1);
        assert_eq!(progress.apply("b", "text"), None, "a note counts once");
    }

    #[test]
    fn a_new_round_resets_human_gates() {
        use StepStatus::{Done, Started};
        use TrackedKind::{Adaptive, Deterministic, HumanGate};
        let mut progress = loaded();
        report(&mut progress, 1, Deterministic, Done);
        report(&mut progress, 2, HumanGate, Done);
        assert!(progress.is_done("x", 2));
        report(&mut progress, 3, Adaptive, Done);
        assert_eq!(progress.active().count(), 0, "all steps are done");
        report(&mut progress, 1, Deterministic, Started);
        assert!(!progress.is_done("x", 2) && progress.active().count() == 1);
        report(&mut progress, 1, Deterministic, Done);
        report(&mut progress, 2, HumanGate, Done);
        // Done a second time without a start: a new round as well.
        report(&mut progress, 1, Deterministic, Done);
        assert!(!progress.is_done("x", 2));
        let counts = StepCounts { deterministic: 3, adaptive: 1, human_gate: 2 };
        assert_eq!(progress.counts(), counts);
    }

    #[test]
    fn notes_of_a_failed_call_are_dropped() {
        let mut progress = loaded();
        progress.note("b".to_owned(), SkillNote::Over { skill: "x".to_owned() });
        progress.settle();
        progress.apply("b", "ok");
        assert_eq!(progress.active().count(), 1);
    }
}
