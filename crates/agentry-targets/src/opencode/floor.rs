//! The rules below the guard. It answers what is asked and lifts no denial, so that nothing may be
//! denied here which the source permits. What the source denies may be asked about: the guard denies
//! it, and that the rules alone would not is reported.
//!
//! Rules that are exact without the guard stay as they are. Where none are, those of the source are
//! written as they come, and each denial that takes too much becomes a question. So nothing is narrowed.

use agentry_policy::{Action, PatternKind, RuleList, Section};

use crate::encoding::{EncodedRule, EncodingView, RuleEncoding};
use crate::memo::RenderMemo;
use crate::proof::{PolicyProof, within};
use crate::render_result::RenderedAgent;
use crate::subject::RenderSubject;

/// Rules that deny nothing which `source` permits: `exact` ones if they do not, else `plain` ones, with
/// `rest` behind them if only that helps.
pub(super) fn below_guard(
    memo: &RenderMemo,
    source: &[RuleList],
    exact: RuleEncoding,
    plain: RuleEncoding,
    rest: Option<&EncodedRule>,
) -> RuleEncoding {
    let with_rest = |encoding: &RuleEncoding| {
        let entries = encoding.entries.iter().cloned().chain(rest.cloned()).collect();
        RuleEncoding { entries, ..encoding.clone() }
    };
    let candidates = [with_rest(&exact), with_rest(&plain)];
    let [_, last] = &candidates;
    let mut fitting = [exact, plain].into_iter().chain(candidates.clone());
    if let Some(found) = fitting.find(|it| leaves(memo, source, it)) {
        return found;
    }
    let found = lowered(memo, last.clone(), source);
    let mut without = found.clone();
    without.entries.retain(|entry| rest.is_none_or(|rest| entry.text != rest.text));
    if leaves(memo, source, &without) { without } else { found }
}

/// Whether rules deny nothing that `source` permits.
pub(super) fn leaves(memo: &RenderMemo, source: &[RuleList], encoding: &RuleEncoding) -> bool {
    within(memo, source, &[lifted(seen(encoding.clone())).rules()]) == PolicyProof::Holds
}

/// The same with questions for denials that take what `source` permits. Each step lowers one of them, so
/// this ends; where nobody knows, everything is asked.
pub(super) fn lowered(
    memo: &RenderMemo,
    encoding: RuleEncoding,
    source: &[RuleList],
) -> RuleEncoding {
    let mut encoding = seen(encoding);
    for _ in 0..=encoding.entries.len() + 1 {
        match within(memo, source, &[lifted(encoding.clone()).rules()]) {
            PolicyProof::Holds => return seen(encoding),
            PolicyProof::Fails { example, .. } if encoding.lower(&example) => {}
            _ => break,
        }
    }
    RuleEncoding { entries: Vec::new(), default: Action::Ask, ..encoding }
}

/// The same with denials that take as much as they may. Those of commands take what they take for sure:
/// the rest is a matter of quotes and escapes, and not worth a denial. Done twice, it is undone.
fn seen(encoding: RuleEncoding) -> RuleEncoding {
    let is_path = encoding.section.kind() == PatternKind::Path;
    encoding.seen(if is_path { EncodingView::Strictest } else { EncodingView::Mildest })
}

/// With the guard, what is allowed is asked, so that a guard that is not there costs questions only.
pub(super) fn floor(mut encoding: RuleEncoding) -> RuleEncoding {
    encoding.default = encoding.default.strictest(Action::Ask);
    for entry in &mut encoding.entries {
        entry.action = entry.action.strictest(Action::Ask);
    }
    encoding
}

/// The mildest that the guard can make of the rules: it answers what is asked.
fn lifted(mut encoding: RuleEncoding) -> RuleEncoding {
    let lift = |action: Action| if action == Action::Ask { Action::Allow } else { action };
    encoding.default = lift(encoding.default);
    for entry in &mut encoding.entries {
        entry.action = lift(entry.action);
    }
    encoding
}

/// Notes if rules ask where the source denies: some of these ways, each with its layers.
pub(super) fn rely(
    subject: &RenderSubject,
    section: Section,
    ways: &[Vec<RuleList>],
    out: &mut RenderedAgent,
) {
    let bounds = subject.bounds(section);
    if ways.iter().any(|layers| within(&subject.memo, layers, &bounds) != PolicyProof::Holds) {
        let detail = format!("without the plugin, OpenCode asks where {section} is denied");
        out.relies_on_guard(section, detail);
    }
}
