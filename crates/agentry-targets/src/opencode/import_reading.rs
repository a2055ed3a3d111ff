//! Several tools of OpenCode read files, each by its own rules. A definition has one list for all of them,
//! which is that of `read`. The others show only a part of what `read` shows. Tools that are denied as a
//! whole are kept in the original front matter.

use crate::memo::RenderMemo;
use std::collections::BTreeMap;

use agentry_policy::{Action, RuleList, Section};

use super::NAME;
use super::ruleset::{OpencodeRule, READING, takes};
use crate::HarnessModel;
use crate::draft::ImportDraft;
use crate::example::plain;
use crate::proof::{PolicyProof, prove_with_example};
use crate::render_result::LossKind;

/// Keeps which tools are denied although `read` is not. Reports tools that are stricter than `read`, since
/// the strictest rules then apply to all.
pub(super) fn reading(rules: &[OpencodeRule], model: &mut HarnessModel, draft: &mut ImportDraft) {
    let has = |tool: &str| !is_denied(rules, tool);
    if has("read") {
        draft.keep_tools(NAME, &[READING.to_vec()], |_| true, has);
        model.retain(|way| way.section != Section::Read || has(&way.tool));
    } else if let Some(tool) = READING.iter().find(|tool| has(tool)) {
        let detail = format!("`{tool}` is denied as `read` is: one list is for all here");
        draft.lose("permissions.read", LossKind::Narrowed, detail);
    }
    stricter(model, draft);
}

/// Whether a tool is denied as a whole.
pub(super) fn is_denied(rules: &[OpencodeRule], tool: &str) -> bool {
    let mut about = rules.iter().rev().filter(|rule| takes(&rule.key, tool));
    let last = about.find(|rule| rule.pattern == "*" || rule.action != Action::Deny);
    last.is_some_and(|rule| rule.action == Action::Deny)
}

fn stricter(model: &HarnessModel, draft: &mut ImportDraft) {
    let layers = |tool: &str| -> Vec<RuleList> {
        let ways = model.ways.iter();
        let ways = ways.filter(|way| way.section == Section::Read && way.tool == tool);
        ways.flat_map(|way| way.layers.iter().cloned()).collect()
    };
    let (own, memo) = (layers("read"), RenderMemo::default());
    let mut stricter: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for tool in READING.iter().filter(|tool| **tool != "read") {
        // The sides are swapped: `read` must stay within the tool.
        if let PolicyProof::Fails { example, source, target } =
            prove_with_example(&memo, Section::Read, &own, &layers(tool))
        {
            let what = plain(&format!("`{example}` is {source} for {{}} and {target} for `read`"));
            stricter.entry(what).or_default().push(format!("`{tool}`"));
        }
    }
    for (what, tools) in stricter {
        let what = what.replacen("{}", &tools.join(", "), 1);
        let detail = format!("{what} in OpenCode; one list is for all here, the strictest");
        draft.lose("permissions.read", LossKind::Narrowed, detail);
    }
}
