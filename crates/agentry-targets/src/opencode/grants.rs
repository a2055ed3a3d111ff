//! The original grants of an OpenCode agent: `permission`, and the older `tools`. Rendering a definition
//! mostly gives the same meaning, so the original is kept only where it does not.

use crate::ListedFiles;
use crate::memo::RenderMemo;
use agentry_policy::Action;
use agentry_text::Data;

use super::encode::permission;
use super::import_reading::is_denied;
use super::layers::{MULTIEDIT, OpencodeAgent, own_rules};
use super::ruleset::{OpencodeRule, defaults, flatten, is_number, of, takes};
use crate::HarnessModel;
use crate::encoding::EncodingView;
use crate::model::HarnessTool;
use crate::original::{GrantReading, OriginalGrant, anywhere};
use crate::proof::{PolicyProof, within};
use crate::render_result::RenderedAgent;
use crate::subject::{PolicySlack, RenderSubject};

pub(super) const GRANTS: GrantReading =
    GrantReading { closed, same: Some(same), ..GrantReading::PLAIN };

const PERMISSION: &str = "permission";
const TOOLS: &str = "tools";
/// The key in the metadata for all rules that apply to the agent.
const RULES: &str = "rules";
const SERVERS: &str = "servers";
/// The key for tools that are denied while another agent has started this one.
const UNSAID: &str = "unsaid";

/// Permissions with a single verdict: OpenCode does not start with a map there.
const ANSWERS: &[&str] = &["todowrite", "question", "webfetch", "websearch", "doom_loop"];

/// Settings of OpenCode among the permissions that are not tools.
const HABITS: &[&str] = &["doom_loop", "plan_enter", "plan_exit"];

/// Returns the grants of an agent, with the rules that they result in beside the settings.
pub(super) fn metadata(written: &Data, rules: &[OpencodeRule], found: &OpencodeAgent) -> Data {
    let grants = [PERMISSION, TOOLS].into_iter();
    let grants = grants.filter_map(|key| Some((key.to_owned(), in_order(written.get(key)?))));
    let own = flatten(found.fields.get(PERMISSION).unwrap_or(&Data::Null), EncodingView::Strictest);
    // A tool that is denied anyway makes no difference.
    let unlisted = found.denied_as_subagent(&own).into_iter().filter(|key| !is_denied(rules, key));
    let unlisted = (UNSAID.to_owned(), Data::strings(unlisted));
    let rule = |it: &OpencodeRule| Data::strings([&it.key, &it.pattern, it.action.as_str()]);
    let rules = (RULES.to_owned(), Data::List(rules.iter().map(rule).collect()));
    let servers = (SERVERS.to_owned(), Data::strings(&found.servers));
    Data::Map(grants.chain([rules, servers, unlisted]).collect())
}

/// Preserves the order of rules. Some definition formats put plain values before maps, but the last rule
/// counts. If a plain value follows a map, all values become maps.
fn in_order(value: &Data) -> Data {
    let Data::Map(entries) = value else { return value.clone() };
    let is_map = |(_, value): &(String, Data)| matches!(value, Data::Map(_));
    let first = entries.iter().position(is_map).unwrap_or(entries.len());
    if entries.iter().skip(first).all(is_map) {
        return value.clone();
    }
    let map = |(key, value): &(String, Data)| match value {
        Data::Str(_) => (key.clone(), Data::Map(vec![("*".to_owned(), value.clone())])),
        other => (key.clone(), other.clone()),
    };
    Data::Map(entries.iter().map(map).collect())
}

/// Writes each map with a single catch-all verdict as a plain value.
pub(super) fn shown(mut metadata: Data) -> Data {
    let Data::Map(fields) = &mut metadata else { return metadata };
    let permission = fields.iter_mut().find(|(key, _)| key == PERMISSION);
    if let Some((_, Data::Map(entries))) = permission {
        for (_, value) in entries {
            if let Some(word) = only_answer(value).cloned() {
                *value = word;
            }
        }
    }
    metadata
}

fn only_answer(value: &Data) -> Option<&Data> {
    let Data::Map(patterns) = value else { return None };
    let [(text, answer)] = patterns.as_slice() else { return None };
    (text == "*").then_some(answer)
}

/// Returns the rules in such metadata.
fn rules(metadata: &Data) -> Vec<OpencodeRule> {
    let Some(Data::List(rules)) = metadata.get(RULES) else { return Vec::new() };
    let rule = |data: &Data| {
        let Data::List(parts) = data else { return None };
        let [key, pattern, action] = parts.as_slice() else { return None };
        let action = action.as_str()?.parse().ok()?;
        Some(OpencodeRule {
            key: key.as_str()?.to_owned(),
            pattern: pattern.as_str()?.to_owned(),
            action,
        })
    };
    rules.iter().filter_map(rule).collect()
}

/// Whether both permit the same, tool by tool, in both views.
fn same(one: &Data, other: &Data) -> bool {
    let (left, right) = (rules(one), rules(other));
    let memo = RenderMemo::default();
    let servers = crate::front_matter::list_items(one.get(SERVERS).unwrap_or(&Data::Null));
    let servers = servers.unwrap_or_default();
    let habits = HABITS.iter().all(|key| answers(&left, key) == answers(&right, key));
    habits
        && one.get(UNSAID) == other.get(UNSAID)
        && [EncodingView::Mildest, EncodingView::Strictest].into_iter().all(|view| {
            let [left, right] = [&left, &right].map(|rules| of(rules, &servers, view));
            contains(&memo, &left, &right) && contains(&memo, &right, &left)
        })
}

/// Whether each tool of one model also exists in another.
fn contains(memo: &RenderMemo, model: &HarnessModel, other: &HarnessModel) -> bool {
    other.ways.iter().all(|way| model.ways.iter().any(|known| is_same(memo, known, way)))
}

fn is_same(memo: &RenderMemo, one: &HarnessTool, other: &HarnessTool) -> bool {
    let proved = || {
        within(memo, &one.layers, &other.layers) == PolicyProof::Holds
            && within(memo, &other.layers, &one.layers) == PolicyProof::Holds
    };
    one.section == other.section && one.tool == other.tool && (one.key() == other.key() || proved())
}

/// Returns the rules of a permission that can decide; `None` without a catch-all rule.
fn answers<'a>(rules: &'a [OpencodeRule], key: &str) -> Option<Vec<(&'a str, Action)>> {
    let about: Vec<&OpencodeRule> = rules.iter().filter(|rule| takes(&rule.key, key)).collect();
    let last = about.iter().rposition(|rule| rule.pattern == "*")?;
    let mut found: Vec<(&str, Action)> = Vec::new();
    for rule in about.into_iter().skip(last) {
        found.retain(|(known, _)| *known != rule.pattern);
        found.push((&rule.pattern, rule.action));
    }
    Some(found)
}

/// Whether OpenCode accepts a value of `permission`, and keeps the order of its keys.
pub(super) fn is_permission(value: &Data) -> bool {
    let is_action = |data: &Data| data.as_str().is_some_and(|it| it.parse::<Action>().is_ok());
    let Data::Map(entries) = value else { return is_action(value) };
    entries.iter().all(|(key, value)| match value {
        value if only_answer(value).is_some_and(is_action) => is_key(key),
        Data::Map(patterns) => {
            let fits = |(text, action): &(String, Data)| is_key(text) && is_action(action);
            is_key(key) && !ANSWERS.contains(&key.as_str()) && patterns.iter().all(fits)
        }
        action => is_key(key) && is_action(action),
    })
}

/// Whether OpenCode accepts a value of `tools`.
pub(super) fn is_tool_map(value: &Data) -> bool {
    let Data::Map(tools) = value else { return false };
    // Not every release treats `multiedit` as an editing tool.
    let is_sure = |key: &str, on: bool| key != MULTIEDIT || !on;
    let fits = |key: &str, on: &Data| matches!(on, Data::Bool(on) if is_sure(key, *on));
    tools.iter().all(|(key, on)| is_key(key) && fits(key, on))
}

fn is_key(key: &str) -> bool {
    // JavaScript moves or drops such keys.
    !is_number(key) && key != "__proto__" && !key.is_empty()
}

/// Builds the rendered block extended by every original key that permits nothing which is denied.
fn closed(subject: &RenderSubject, grants: &mut [OriginalGrant]) {
    let granted =
        grants.iter().filter_map(|grant| Some((grant.key.to_owned(), grant.value.clone()?)));
    let own = flatten(&own_rules(&Data::Map(granted.collect())), EncodingView::Mildest);
    let rendered = anywhere(&ListedFiles::default(), |settings| {
        permission(subject, settings, &mut RenderedAgent::default())
    });
    let Data::Map(mut block) = rendered else { return };
    let mut keys: Vec<String> = block.iter().map(|(key, _)| key.clone()).collect();
    keys.extend(HABITS.iter().map(|key| (*key).to_owned()));
    for key in keys.iter().filter(|key| *key != "*") {
        let Some(answers) = answers(&own, key) else { continue };
        let mut more = block.clone();
        more.retain(|(known, _)| known != key);
        more.push((key.clone(), value(&answers)));
        // Each key is proved together with those that were accepted before.
        if holds(subject, &more) {
            block = more;
        }
    }
    // The block also contains the rules of `tools`, which is left out.
    for grant in grants {
        grant.value = (grant.key == PERMISSION).then(|| Data::Map(block.clone()));
    }
}

/// Writes a list of verdicts for OpenCode.
fn value(answers: &[(&str, Action)]) -> Data {
    let word = |action: Action| Data::str(action.as_str());
    match answers {
        [(_, action)] => word(*action),
        several => {
            Data::Map(several.iter().map(|(text, it)| ((*text).to_owned(), word(*it))).collect())
        }
    }
}

/// Whether a block permits nothing that is denied.
fn holds(subject: &RenderSubject, block: &[(String, Data)]) -> bool {
    let mut rules = defaults();
    rules.extend(flatten(&Data::Map(block.to_vec()), EncodingView::Mildest));
    let model = of(&rules, &[], EncodingView::Mildest);
    model.ways.iter().all(|way| subject.within(way, PolicySlack::Questions) == PolicyProof::Holds)
}
