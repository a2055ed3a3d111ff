//! The rules below the guard. The guard answers asks but cannot lift a deny, so nothing may be denied here
//! that the source permits. What the source denies may be asked: the guard denies it. That the rules alone
//! would not deny it is reported.
//!
//! Rules that are exact without the guard stay. Otherwise the rules of the source are written as they are,
//! and each deny that covers too much becomes an ask. So nothing is narrowed.

use agentry_policy::{Action, PatternKind, RuleList, Section};

use crate::encoding::{EncodedRule, EncodingView, RuleEncoding};
use crate::memo::RenderMemo;
use crate::proof::{PolicyProof, within};
use crate::render_result::RenderedAgent;
use crate::subject::RenderSubject;

/// Returns rules that deny nothing which `source` permits: the `exact` ones if possible, otherwise the
/// `plain` ones, with `rest` behind them if needed.
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
    // No candidate fits, so some denials become asks.
    let found = lowered(memo, last.clone(), source);
    // The entry `rest` is dropped again if it is not needed.
    let mut without = found.clone();
    without.entries.retain(|entry| rest.is_none_or(|rest| entry.text != rest.text));
    if leaves(memo, source, &without) { without } else { found }
}

/// Whether rules deny nothing that `source` permits.
pub(super) fn leaves(memo: &RenderMemo, source: &[RuleList], encoding: &RuleEncoding) -> bool {
    within(memo, source, &[lifted(seen(encoding.clone())).rules()]) == PolicyProof::Holds
}

/// Turns each deny that covers what `source` permits into an ask. Each step lowers one deny, so this ends. If
/// no proof is possible, everything is asked.
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

/// Swaps to the view in which denials match as much as possible. Denials of commands keep their sure matches:
/// the rest depends on quotes and escapes. Applying it twice restores the encoding.
fn seen(encoding: RuleEncoding) -> RuleEncoding {
    let is_path = encoding.section.kind() == PatternKind::Path;
    encoding.seen(if is_path { EncodingView::Strictest } else { EncodingView::Mildest })
}

/// Turns each allow into an ask, which the guard answers. Without the guard, this only costs questions.
pub(super) fn floor(mut encoding: RuleEncoding) -> RuleEncoding {
    encoding.default = encoding.default.strictest(Action::Ask);
    for entry in &mut encoding.entries {
        entry.action = entry.action.strictest(Action::Ask);
    }
    encoding
}

/// The mildest result with the guard, which may allow each ask.
fn lifted(mut encoding: RuleEncoding) -> RuleEncoding {
    let lift = |action: Action| if action == Action::Ask { Action::Allow } else { action };
    encoding.default = lift(encoding.default);
    for entry in &mut encoding.entries {
        entry.action = lift(entry.action);
    }
    encoding
}

/// Reports sections in which some tool asks where the source denies.
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
