//! Skills in a run: a model loads one with the tool `skill`, and reports its steps with `skill_step`.
//!
//! ```text
//! call ─▶ SkillNote ─▶ journal ─▶ SkillProgress, in the state ─▶ SkillShelf ─▶ judgement of the next calls
//! ```
//!
//! The shelf follows the state once for every answer of the model, so all calls of one answer are judged
//! alike, in a run, after a resume and in a replay.

mod load;
mod narrowing;
pub mod progress;
mod step_report;

use std::sync::{Arc, Mutex, PoisonError};

use agentry_compile::LoadableSkill;
use agentry_compile::policy::{Judge, LayerSource, Section};

use crate::conversation::ToolCall;
use crate::rulebook::SharedWorld;
use crate::tool::{DeclaredTool, ToolTouch};
use load::SkillTool;
pub(crate) use narrowing::SkillNarrowing;
use progress::{SkillNote, SkillProgress};
use step_report::SkillStepTool;

/// The most characters of a name that a message repeats.
const MOST_OF_NAME: usize = 100;

/// The skills that a run offers, and how far they are.
pub struct SkillShelf {
    skills: Vec<LoadableSkill>,
    world: SharedWorld,
    judge: Judge,
    state: Mutex<ShelfState>,
}

#[derive(Default)]
struct ShelfState {
    progress: Arc<SkillProgress>,
    narrowing: Option<Arc<SkillNarrowing>>,
}

impl SkillShelf {
    /// Puts skills on a shelf. `judge` is the policy of the run.
    pub fn new(skills: Vec<LoadableSkill>, world: SharedWorld, judge: Judge) -> Arc<Self> {
        Arc::new(Self { skills, world, judge, state: Mutex::default() })
    }

    /// The tools `skill` and `skill_step`; none if there are no skills.
    pub fn tools(self: &Arc<Self>) -> Vec<Arc<dyn DeclaredTool>> {
        if self.skills.is_empty() {
            return Vec::new();
        }
        vec![Arc::new(SkillTool(Arc::clone(self))), Arc::new(SkillStepTool(Arc::clone(self)))]
    }

    /// Takes over how far the skills are.
    pub(crate) fn follow(&self, progress: &SkillProgress) {
        let mut state = self.state();
        if *state.progress == *progress {
            return;
        }
        state.progress = Arc::new(progress.clone());
        let active = progress.active().filter_map(|name| self.named(name));
        let limited: Vec<_> = active.filter(|skill| skill.allowed_tools.is_some()).collect();
        state.narrowing = (!limited.is_empty())
            .then(|| Arc::new(SkillNarrowing::new(&self.judge, &limited, &self.world)));
    }

    /// What a successful call means.
    pub(crate) fn note(&self, call: &ToolCall) -> Option<SkillNote> {
        match call.tool.as_str() {
            load::NAME => load::note(self, &call.arguments),
            step_report::NAME => step_report::note(self, &call.arguments),
            _ => None,
        }
    }

    /// The limits of the skills in use.
    pub(crate) fn narrowing(&self) -> Option<Arc<SkillNarrowing>> {
        self.state().narrowing.clone()
    }

    fn progress(&self) -> Arc<SkillProgress> {
        Arc::clone(&self.state().progress)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ShelfState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn named(&self, name: &str) -> Option<&LoadableSkill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// The skill that a model means, or a message that lists the names.
    fn find(&self, name: &str) -> Result<&LoadableSkill, String> {
        let trimmed = name.trim();
        let alike = || {
            let mut alike = self.skills.iter().filter(|it| it.name.eq_ignore_ascii_case(trimmed));
            alike.next().filter(|_| alike.next().is_none())
        };
        self.named(trimmed).or_else(alike).ok_or_else(|| {
            let names: Vec<_> =
                self.skills.iter().take(50).map(|it| format!("`{}`", it.name)).collect();
            let name: String = trimmed.chars().take(MOST_OF_NAME).collect();
            format!("there is no skill `{name}`; there are {}", names.join(", "))
        })
    }

    /// What the policy is asked about a skill. The skills of a definition are allowed where no layer has
    /// rules for skills: they can only do what the other sections permit.
    fn touches(&self, name: &str) -> Vec<ToolTouch> {
        let spoken = self.judge.rules(Section::Skill).any(|(from, _)| from != LayerSource::Default);
        let touch = ToolTouch { section: Section::Skill, subject: name.to_owned() };
        if spoken { vec![touch] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests;
