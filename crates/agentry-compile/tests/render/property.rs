//! For any policy, no target permits more than its source: proved by automata and by sampling.

use agentry_compile::policy::compare::{ExampleSubject, decide};
use agentry_compile::policy::path::NoLinks;
use agentry_compile::policy::{
    Action, HazardProtection, PatternKind, RuleList, Section, SectionCall,
};
use agentry_compile::targets::ListedFiles;
use agentry_compile::targets::proof::{PolicyProof, within};
use agentry_compile::targets::{
    HarnessModel, HarnessTool, LossKind, ProjectRendering, RenderLoss, RenderSettings,
    RenderSubject, RenderedAgent, TARGETS, Target, render,
};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::policies::{agent, cases, may_name_files, samples, subject_of};

/// How many policies were rendered, and how.
#[derive(Default)]
struct Shares {
    exact: u32,
    /// Exact, except for what the harness does not check.
    gaps: u32,
    narrowed: u32,
    refused: u32,
    unenforced: u32,
}

/// Targets that write the rules as text for a reader.
const UNENFORCED: &[&str] = &["agents-md", "agent-skills"];

impl Shares {
    /// One row of the table.
    fn row(&self, name: &str) -> String {
        let Self { exact, gaps, narrowed, refused, unenforced } = *self;
        let all = exact + gaps + narrowed + refused + unenforced;
        let share = |part: u32| format!("{:.1} %", 100.0 * f64::from(part) / f64::from(all.max(1)));
        let cells = [exact, gaps, narrowed, refused, unenforced].map(share);
        row(name, &all.to_string(), &cells)
    }
}

fn row(name: &str, all: &str, cells: &[String; 5]) -> String {
    let [exact, gaps, narrowed, refused, unenforced] = cells;
    format!("{name:<13} {all:>8} {exact:>8} {gaps:>8} {narrowed:>9} {refused:>8} {unenforced:>13}")
}

/// Settings that exist already: the user denies and asks.
const EXISTING: &[&[(&str, &str)]] = &[
    &[],
    &[
        (
            ".claude/settings.json",
            r#"{"permissions": {"ask": ["Bash(frob *)", "WebFetch"], "deny": ["Edit(/docs/**)", "Read(/src/**)"]}}"#,
        ),
        (
            "opencode.json",
            r#"{"permission": {"bash": {"frob *": "deny"}, "edit": "ask", "*": "ask"}}"#,
        ),
    ],
];

#[test]
fn no_target_permits_more_than_the_source() {
    let mut shares: Vec<Shares> = TARGETS.iter().map(|_| Shares::default()).collect();
    let counted = std::cell::RefCell::new(&mut shares);
    let mut runner = TestRunner::new(Config {
        cases: cases(120),
        failure_persistence: None,
        ..Config::default()
    });
    let wish = select(MODES);
    let beside = proptest::option::weighted(0.4, agent());
    let property = |(files, beside, (mode, shared), existing): Case| {
        let Some(subject) = subject_of(&files) else { return Ok(()) };
        let other = beside.and_then(|files| subject_of(&files));
        let other = other.map(|subject| RenderSubject { name: "other".to_owned(), ..subject });
        let subjects: Vec<RenderSubject> = std::iter::once(subject).chain(other).collect();
        for (target, shares) in TARGETS.iter().zip(counted.borrow_mut().iter_mut()) {
            let existing_files = ListedFiles(existing);
            let settings = RenderSettings {
                guard: mode == Mode::Guarded && target.guard.is_some(),
                close_gaps: mode == Mode::Closed,
                unattended: mode == Mode::Unattended,
                shared,
                ..RenderSettings::new(&existing_files)
            };
            let rendering = render(target, &subjects, &settings);
            prop_assert_eq!(rendering.agents.len(), subjects.len());
            for (subject, rendered) in subjects.iter().zip(&rendering.agents) {
                let model = read_back_with(target, &rendering, existing, &subject.name);
                one(target, subject, (rendered, model), (&settings, shares))?;
                if settings.guard {
                    nothing_is_narrowed(target, rendered)?;
                }
            }
        }
        Ok(())
    };
    let result = runner.run(&(agent(), beside, wish, select(EXISTING)), property);
    let heads = ["exact", "gaps", "narrowed", "refused", "not enforced"].map(str::to_owned);
    println!("{}", row("target", "policies", &heads));
    for (target, shares) in TARGETS.iter().zip(&shares) {
        println!("{}", shares.row(target.name));
    }
    result.expect("never wider");
}

/// How an agent is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plain,
    Guarded,
    Closed,
    Unattended,
}

/// How an agent is rendered, and whether shared files are written.
const MODES: &[(Mode, bool)] = &[
    (Mode::Plain, false),
    (Mode::Plain, true),
    (Mode::Guarded, false),
    (Mode::Guarded, true),
    (Mode::Closed, true),
    (Mode::Closed, false),
    (Mode::Unattended, true),
    (Mode::Unattended, false),
];

/// An agent, another one beside it, how they are rendered, and existing settings.
type Case = (
    Vec<(String, String)>,
    Option<Vec<(String, String)>>,
    (Mode, bool),
    &'static [(&'static str, &'static str)],
);

/// Compares one rendering with its source.
fn one(
    target: &Target,
    subject: &RenderSubject,
    (rendered, model): (&RenderedAgent, Option<HarnessModel>),
    (settings, shares): (&RenderSettings<'_>, &mut Shares),
) -> Result<(), TestCaseError> {
    if let Some(refused) = &rendered.refused {
        shares.refused += 1;
        // If only the last check finds a widening, the encoder has a defect.
        let message = &refused.message;
        return if message.contains("in the source and would be") {
            Err(TestCaseError::fail(format!("{}: {message}", target.name)))
        } else {
            Ok(())
        };
    }
    let lost = |kind| rendered.losses.iter().any(|loss| loss.kind == kind);
    let share = match (lost(LossKind::Narrowed), lost(LossKind::Gap)) {
        _ if UNENFORCED.contains(&target.name) => &mut shares.unenforced,
        (true, _) => &mut shares.narrowed,
        (false, true) => &mut shares.gaps,
        (false, false) => &mut shares.exact,
    };
    *share += 1;
    let model = model.unwrap_or_default();
    for way in model.ways.iter() {
        // What is denied is a wall in every mode.
        let wall = |action| if action == Action::Ask { Action::Allow } else { action };
        never_wider(target, subject, way, &|action| at_most(rendered, way, wall(action)))?;
    }
    for way in model.in_session(settings.is_attended()).ways.iter() {
        let field = format!("permissions.{}", way.section);
        let skips =
            |loss: &RenderLoss| loss.field == field && loss.detail.contains("never asks about it");
        // A question that the harness skips is reported.
        if settings.is_attended() && rendered.losses.iter().any(skips) {
            continue;
        }
        let asked = |action| match action {
            Action::Ask if settings.unattended && !settings.guard => Action::Deny,
            action => action,
        };
        never_wider(target, subject, way, &|action| at_most(rendered, way, asked(action)))?;
    }
    Ok(())
}

/// The verdict that is required: where the guard denies, the harness may ask.
fn at_most(rendered: &RenderedAgent, way: &HarnessTool, action: Action) -> Action {
    if rendered.guarded.contains(&way.section) { action.min(Action::Ask) } else { action }
}

/// The guard answers OpenCode's questions, so no rule has to be stricter than its source.
fn nothing_is_narrowed(target: &Target, rendered: &RenderedAgent) -> Result<(), TestCaseError> {
    let narrowed = |loss: &&RenderLoss| {
        loss.kind == LossKind::Narrowed
            && loss.field.starts_with("permissions")
            // The guard of OpenCode cannot start a command in the sandbox.
            && !loss.detail.contains("only in Agentry's sandbox")
    };
    let found = rendered.losses.iter().find(narrowed).filter(|_| target.name == "opencode");
    prop_assert_eq!(found, None, "{}", target.name);
    Ok(())
}

/// The harness model of the written files.
pub(crate) fn read_back(target: &Target, rendering: &ProjectRendering) -> Option<HarnessModel> {
    read_back_with(target, rendering, &[], "helper")
}

/// The harness model with files that existed before.
fn read_back_with(
    target: &Target,
    rendering: &ProjectRendering,
    existing: &[(&str, &str)],
    name: &str,
) -> Option<HarnessModel> {
    let own = rendering.agents.iter().flat_map(|agent| &agent.files);
    let all: Vec<_> = own.chain(&rendering.shared).collect();
    let written = all.iter().map(|file| (file.path.as_str(), file.text()));
    let files: Vec<_> = written.chain(existing.iter().copied()).collect();
    (target.model)(&ListedFiles(&files), name)
}

fn never_wider(
    target: &Target,
    subject: &RenderSubject,
    way: &HarnessTool,
    required: &dyn Fn(Action) -> Action,
) -> Result<(), TestCaseError> {
    let HarnessTool { section, tool, layers, .. } = way;
    let mut bounds = subject.bounds(*section).to_vec();
    for rule in bounds.iter_mut().flat_map(RuleList::all_mut) {
        rule.action = required(rule.action);
    }
    let proof = within(&subject.memo, layers, &bounds);
    let fail = |what: String| TestCaseError::fail(format!("{} {tool}: {what}", target.name));
    if proof != PolicyProof::Holds {
        return Err(fail(format!("{proof:?}")));
    }
    for sample in samples(subject, *section) {
        let answer = |rules: &[RuleList]| {
            let rules: Vec<&RuleList> = rules.iter().collect();
            let decided = sample.with(|subject| decide(&rules, subject, HazardProtection::Off));
            decided.map_or(Action::Allow, |decision| decision.action)
        };
        let (there, here) = (answer(layers), answer(&bounds));
        let judged = judged(subject, *section, &sample).map_or(here, required);
        if there < here || there < judged {
            return Err(fail(format!(
                "`{sample}` is {here} ({judged}) in the source, {there} here"
            )));
        }
    }
    Ok(())
}

/// The judge's verdict, where no built-in rule decides.
fn judged(subject: &RenderSubject, section: Section, sample: &ExampleSubject) -> Option<Action> {
    let plain = match section.kind() {
        PatternKind::Command => {
            let line = sample.to_string();
            let harmless = |word: &str| word.chars().all(|c| c.is_ascii_lowercase());
            let known = matches!(line.split(' ').next(), Some("frob" | "zap"));
            known && !may_name_files(subject, &line) && line.split(' ').all(harmless)
        }
        PatternKind::Path => {
            let path = sample.to_string();
            // The verdict for secrets is `ask` for any policy.
            let words = ["src", "tmp", "docs", "workspace", "a", "b", "x", "p", "home", "user"];
            path.split('/').all(|part| part.is_empty() || words.contains(&part))
        }
        // A host that is not public is denied for any policy.
        PatternKind::Web => sample.to_string().contains(".org:443/"),
        PatternKind::Name | PatternKind::Text => true,
    };
    let text = match sample {
        ExampleSubject::Text(text) => text.clone(),
        ExampleSubject::Command(words) => words.join(" "),
    };
    let directory = subject.judge.places().workspace.clone();
    let call = SectionCall { section, subject: &text, directory: &directory };
    plain.then(|| subject.judge.judge(call, &NoLinks).action)
}
