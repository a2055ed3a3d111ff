//! Adapts an agent to a target before it is rendered: which of its questions the target may skip, and whether
//! its commands can run in a sandbox, and whether a person answers its questions.

use std::borrow::Cow;

use agentry_policy::{Action, PathAnchors, Section};
use rayon::prelude::*;

use crate::Target;
use crate::encoding::{EncodedRule, MatchBounds, MatchOrder, RuleEncoding};
use crate::model::{always, regex_of_path};
use crate::proof::{PolicyProof, within};
use crate::question_habits::{QuestionHabit, habit};
use crate::render::is_guarded;
use crate::render_result::RenderSettings;
use crate::subject::RenderSubject;

/// Returns the agents as the target gets them.
pub(crate) fn adapted<'a>(
    target: &Target,
    mut subjects: Cow<'a, [RenderSubject]>,
    settings: &RenderSettings<'_>,
) -> Cow<'a, [RenderSubject]> {
    let is_changed = |subject: &RenderSubject| {
        settings.unattended
            || subject.agent.policy.needs_sandbox()
            || !eased(target, subject, settings).is_empty()
    };
    if !subjects.iter().any(is_changed) {
        return subjects;
    }
    subjects.to_mut().par_iter_mut().for_each(|subject| {
        if subject.agent.policy.needs_sandbox() && !wraps_commands(target, settings) {
            subject.leave_sandbox();
        }
        if settings.unattended && !is_guarded(target, settings) {
            subject.deny_questions();
        }
        let eased = eased(target, subject, settings);
        subject.ease(eased);
    });
    subjects
}

/// Whether the guard of a target replaces each command by one that runs in the sandbox.
fn wraps_commands(target: &Target, settings: &RenderSettings<'_>) -> bool {
    is_guarded(target, settings)
        && target.guard.as_ref().is_some_and(|guard| guard.confined.is_some())
}

/// Returns the sections in which the target may skip the questions of an agent: those that a person has
/// accepted where the target never asks, and reading for an agent that may read its workspace. Each is
/// reported as a gap.
fn eased(target: &Target, subject: &RenderSubject, settings: &RenderSettings<'_>) -> Vec<Section> {
    if is_guarded(target, settings) {
        return Vec::new();
    }
    let is_eased = |section: &Section| {
        let accepted = || settings.has_accepted(&format!("permissions.{section}"));
        let reads = || *section == Section::Read && settings.is_attended() && reads_some(subject);
        habit(target.name, *section) == Some(QuestionHabit::Never) && (accepted() || reads())
    };
    Section::ALL.iter().filter(|section| is_eased(section)).copied().collect()
}

/// Whether an agent may read something in the workspace without a question.
fn reads_some(subject: &RenderSubject) -> bool {
    let root = regex_of_path(&PathAnchors::default().workspace);
    let inside = EncodedRule {
        text: "inside".to_owned(),
        action: Action::Allow,
        matches: MatchBounds::exactly(format!("{root}(?:[^/]+/)+")),
    };
    let inside = RuleEncoding {
        section: Section::Read,
        order: MatchOrder::First,
        entries: vec![inside],
        default: Action::Deny,
    };
    let mut source = subject.bounds(Section::Read).to_vec();
    source.push(inside.rules());
    let ask = always(Section::Read, Action::Ask, "ask");
    matches!(within(&subject.memo, &source, &[ask]), PolicyProof::Fails { .. })
}
