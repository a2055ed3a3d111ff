//! Several tools of OpenCode read, each by rules of its own; a definition has one list for all of them.

use std::collections::BTreeMap;

use agentry_policy::{Rules, Section};

use super::ruleset::READING;
use crate::Model;
use crate::example::plain;
use crate::imported::Draft;
use crate::proof::{Proof, told};
use crate::rendering::LossKind;

/// Tells which tools are stricter than `read` is, so that all of them are here.
pub(super) fn reading(model: &Model, draft: &mut Draft) {
    let layers = |tool: &str| -> Vec<Rules> {
        let ways = model.ways.iter();
        let ways = ways.filter(|way| way.section == Section::Read && way.tool == tool);
        ways.flat_map(|way| way.layers.iter().cloned()).collect()
    };
    let own = layers("read");
    let mut stricter: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for tool in READING.iter().filter(|tool| **tool != "read") {
        // The sides are swapped: what `read` does must stay within what the tool does.
        if let Proof::Fails { example, source, target } = told(Section::Read, &own, &layers(tool)) {
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
