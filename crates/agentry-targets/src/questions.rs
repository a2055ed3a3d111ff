//! Reports the questions of a source that a harness may skip: in some of its modes, for commands that it
//! considers harmless, and for tools that it never asks about.

use agentry_policy::path::NoLinks;
use agentry_policy::{Action, RuleList, Section, SectionCall};

use crate::Target;
use crate::model::{HarnessModel, HarnessTool};
use crate::proof::{PolicyProof, action, prove_with_example};
use crate::question_habits::{SilentModes, silent_modes};
use crate::render::is_guarded;
use crate::render_result::{LossKind, RenderSettings, RenderedAgent};
use crate::subject::RenderSubject;
use agentry_policy::compare::ExampleSubject;

/// Reports how a harness handles the questions of an agent.
pub(crate) fn report(
    target: &Target,
    (subject, model): (&RenderSubject, &HarnessModel),
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) {
    outside_the_sandbox(target, subject, out);
    let is_guarded = is_guarded(target, settings);
    if settings.unattended && !is_guarded {
        let detail = "`--unattended`: what the source asks about is denied";
        out.lose("permissions", LossKind::Narrowed, detail);
    }
    never_asked(target, (subject, model), out);
    let Some(silent) = silent_modes(target) else { return };
    if settings.is_attended() && !is_guarded {
        run_at_once((target, silent), (subject, model), out);
    }
    if model.ways.iter().any(|way| asks(subject, way)) {
        let detail = format!(
            "{} asks in its ordinary mode, not with {}; a run without a person {}",
            target.title, silent.modes, silent.headless
        );
        out.lose("permissions", LossKind::Gap, detail);
    }
}

/// Whether the harness asks about calls of a tool, and the source too.
fn asks(subject: &RenderSubject, way: &HarnessTool) -> bool {
    let asks = |rules: &[RuleList]| {
        rules.iter().flat_map(RuleList::all).any(|rule| rule.action == Action::Ask)
    };
    // A question to the user is one in every mode.
    way.section != Section::Question && asks(&way.layers) && asks(&subject.bounds(way.section))
}

/// Reports that commands were left out, because they may only run in the sandbox.
fn outside_the_sandbox(target: &Target, subject: &RenderSubject, out: &mut RenderedAgent) {
    if !subject.without_sandbox {
        return;
    }
    let way_out = if target.guard.as_ref().is_some_and(|guard| guard.confined.is_some()) {
        "; `--guard` runs each command in it"
    } else {
        ""
    };
    let detail = format!(
        "`exec: sandboxed` allows commands only in Agentry's sandbox, and {} has none: there is no \
         shell and no local server{way_out}",
        target.title
    );
    out.lose("permissions.bash", LossKind::Narrowed, detail);
}

/// Reports the sections whose questions the harness skips in every mode.
fn never_asked(
    target: &Target,
    (subject, model): (&RenderSubject, &HarnessModel),
    out: &mut RenderedAgent,
) {
    for section in &subject.eased {
        let bounds = subject.written_bounds(*section);
        let ways = model.ways.iter().filter(|way| way.section == *section);
        let proofs =
            ways.map(|way| prove_with_example(&subject.memo, *section, &way.layers, &bounds));
        let example = proofs.into_iter().find_map(|proof| match proof {
            PolicyProof::Fails { example, .. } => Some(example),
            _ => None,
        });
        if let Some(example) = example {
            let detail = format!(
                "`{example}` is ask in the source, and {} never asks about it",
                target.title
            );
            out.lose(format!("permissions.{section}"), LossKind::Gap, detail);
        }
    }
}

/// Reports that the ordinary mode runs some commands at once, although no rule allows them.
fn run_at_once(
    (target, silent): (&Target, &SilentModes),
    (subject, model): (&RenderSubject, &HarnessModel),
    out: &mut RenderedAgent,
) {
    let Some(way) = model.ways.iter().find(|way| way.section == Section::Bash) else { return };
    let directory = &subject.judge.places().workspace;
    let is_asked = |line: &&&str| {
        let words = line.split(' ').map(str::to_owned).collect();
        let rules: Vec<&RuleList> = way.lasting().iter().collect();
        let call = SectionCall { section: Section::Bash, subject: line, directory };
        action(&rules, &ExampleSubject::Command(words)) == Action::Allow
            && subject.judge.judge(call, &NoLinks).action == Action::Ask
    };
    if let Some(line) = silent.unasked.iter().find(is_asked) {
        let detail = format!(
            "`{line}` is ask in the source, and {} runs it at once, like other commands that only read",
            target.title
        );
        out.lose("permissions.bash", LossKind::Gap, detail);
    }
}
