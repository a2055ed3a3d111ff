//! `skill_step`: the model reports a step of a loaded skill. Only the person can pass a human gate.

use std::sync::Arc;

use agentry_compile::LoadableSkill;
use agentry_compile::model::{SkillStep, StepKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::progress::{SkillNote, StepReport, StepStatus};
use super::{MOST_OF_NAME, SkillShelf};
use crate::event::CallClass;
use crate::tool::{
    BoxedFuture, BuiltInTool, CallLocation, DeclaredKind, DeclaredTool, ToolHost, ToolOutput,
    ToolSpec, ToolTouch, answered, arguments,
};

/// The name of the tool.
pub(super) const NAME: &str = "skill_step";
/// The step that stands for the end of a skill.
const END: &str = "end";

/// Takes reports about steps.
pub(super) struct SkillStepTool(pub(super) Arc<SkillShelf>);

#[derive(Deserialize)]
struct StepInput {
    skill: String,
    step: NamedStep,
    status: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NamedStep {
    Number(u64),
    Title(String),
}

/// What a report is about.
enum ReportedStep<'a> {
    Step(&'a LoadableSkill, usize, &'a SkillStep, StepStatus),
    End(&'a LoadableSkill),
}

/// What a successful call means.
pub(super) fn note(shelf: &SkillShelf, given: &Value) -> Option<SkillNote> {
    Some(match reported(shelf, given).ok()? {
        ReportedStep::End(skill) => SkillNote::Over { skill: skill.name.clone() },
        ReportedStep::Step(skill, step, SkillStep { title, kind }, status) => {
            SkillNote::Step(StepReport {
                skill: skill.name.clone(),
                step,
                of: skill.steps.len(),
                title: title.clone(),
                kind: (*kind).into(),
                status,
            })
        }
    })
}

/// What a report is about, if it may be made now.
fn reported<'a>(shelf: &'a SkillShelf, given: &Value) -> Result<ReportedStep<'a>, String> {
    let StepInput { skill, step, status } = arguments(given)?;
    let skill = shelf.find(&skill)?;
    let progress = shelf.progress();
    if !progress.is_loaded(&skill.name) {
        return Err(format!("the skill `{}` is not loaded", skill.name));
    }
    let status = StepStatus::parse(&status)
        .ok_or("the status is `started`, `done`, `skipped` or `failed`")?;
    let number = named(skill, &step)?;
    let before = number.unwrap_or(skill.steps.len() + 1);
    let is_closed = |(number, step): &(usize, &SkillStep)| {
        step.kind == StepKind::HumanGate && !progress.is_done(&skill.name, *number)
    };
    let closed = (1..before).zip(&skill.steps).find(is_closed);
    if let Some((gate, SkillStep { title, .. })) = closed {
        return Err(format!(
            "refused: the human gate «{title}» (step {gate}) comes before that, and the person has \
             not passed it; report step {gate} as `done` to ask the person"
        ));
    }
    let Some(number) = number else { return Ok(ReportedStep::End(skill)) };
    let step = skill.steps.get(number - 1).ok_or_else(|| listed(skill))?;
    if step.kind == StepKind::HumanGate && status == StepStatus::Skipped {
        return Err(format!("refused: «{}» is a human gate and cannot be skipped", step.title));
    }
    Ok(ReportedStep::Step(skill, number, step, status))
}

/// The number of the step that a model means; `None` for the end of the skill. A title that two steps have
/// means neither of them.
fn named(skill: &LoadableSkill, step: &NamedStep) -> Result<Option<usize>, String> {
    let count = skill.steps.len();
    let in_range = |number: u64| usize::try_from(number).ok().filter(|it| (1..=count).contains(it));
    let text = match step {
        NamedStep::Number(number) => {
            return in_range(*number).map(Some).ok_or_else(|| listed(skill));
        }
        NamedStep::Title(text) => folded(text),
    };
    let mut found: Vec<usize> = text.parse().ok().and_then(in_range).into_iter().collect();
    let titled = (1..).zip(&skill.steps).filter(|(_, step)| folded(&step.title) == text);
    found.extend(titled.map(|(number, _)| number));
    found.extend(numbered(skill, &text));
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [number] => Ok(Some(*number)),
        [] if text == END => Ok(None),
        _ => Err(listed(skill)),
    }
}

/// The step that `step 4`, `4. title` or `step 4: title` means. A wrong title means none.
fn numbered(skill: &LoadableSkill, text: &str) -> Option<usize> {
    let text = text.strip_prefix("step ").unwrap_or(text);
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: usize = text.strip_suffix(rest)?.parse().ok()?;
    let step = skill.steps.get(number.checked_sub(1)?)?;
    let title = rest.trim_start_matches(['.', ')', ':', ' ']);
    (title.is_empty() || title == folded(&step.title)).then_some(number)
}

/// A title for comparison: case and white space do not count.
fn folded(title: &str) -> String {
    title.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The message for a step that is not known.
fn listed(skill: &LoadableSkill) -> String {
    let cut = |title: &str| title.chars().take(MOST_OF_NAME).collect::<String>();
    let steps = (1..).zip(&skill.steps).take(50);
    let steps: Vec<_> =
        steps.map(|(number, step): (usize, _)| format!("{number}. {}", cut(&step.title))).collect();
    let steps = if steps.is_empty() { "no steps".to_owned() } else { steps.join("; ") };
    format!("name the step by its number: the skill `{}` has {steps}; or `{END}`", skill.name)
}

impl SkillStepTool {
    fn answer(&self, given: &Value) -> Result<String, String> {
        Ok(match reported(&self.0, given)? {
            ReportedStep::End(skill) => format!("the skill `{}` is over", skill.name),
            ReportedStep::Step(skill, number, step, status) => {
                let about = format!("step {number} of {} «{}»", skill.steps.len(), step.title);
                let status = status.as_str();
                match (step.kind, status) {
                    (StepKind::HumanGate, "done") => format!("the person has passed {about}"),
                    (StepKind::HumanGate, "started") => format!(
                        "{about} is a human gate: do nothing that comes after it; report it as \
                         `done` to ask the person"
                    ),
                    _ => format!("{about}: {status}"),
                }
            }
        })
    }
}

impl BuiltInTool for SkillStepTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description:
                "Reports a step of a loaded skill: when you start it, and when it is done, \
                          skipped or failed. A human gate that is reported as `done` waits for the \
                          person. The step `end` reports that the skill is not in use any more."
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "skill": {"type": "string", "minLength": 1, "maxLength": 500},
                    "step": {
                        "anyOf": [
                            {"type": "string", "minLength": 1, "maxLength": 1_000},
                            {"type": "integer", "minimum": 1}
                        ],
                        "description": "The number of the step, or its title"
                    },
                    "status": {
                        "type": "string",
                        "maxLength": 50,
                        "description": "started, done, skipped or failed"
                    }
                },
                "required": ["skill", "step", "status"],
                "additionalProperties": false
            }),
        }
    }

    /// A report changes nothing outside of the run.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, given: &Value, _: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        reported(&self.0, given).map(|_| Vec::new())
    }

    fn human_gate(&self, given: &Value) -> Option<String> {
        match reported(&self.0, given).ok()? {
            ReportedStep::Step(skill, number, step, StepStatus::Done)
                if step.kind == StepKind::HumanGate =>
            {
                let (title, skill) = (&step.title, &skill.name);
                Some(format!(
                    "step {number} «{title}» of the skill `{skill}` is a human gate, which only the \
                     person can pass"
                ))
            }
            _ => None,
        }
    }

    fn run<'a>(&'a self, given: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(answered(self.answer(&given), host)))
    }
}

impl DeclaredTool for SkillStepTool {
    fn kind(&self) -> DeclaredKind {
        DeclaredKind::Skill
    }
}
