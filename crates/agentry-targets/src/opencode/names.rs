//! Tools by name. OpenCode has one list of keys for MCP tools and all other tools, and joins server and tool
//! with `_`.

use agentry_policy::{Action, RuleList, Section};
use agentry_text::Data;

use super::encode::{encode, encode_floor};
use super::floor;
use super::ruleset::{OWN, WILDCARDS};
use crate::encoding::{EncodedRule, MatchBounds, MatchOrder, RuleEncoding};
use crate::loss;
use crate::model::escape;
use crate::render_result::{LossKind, RenderSettings, RenderedAgent};
use crate::subject::RenderSubject;
use crate::wildcard::NOTHING;

/// The sections that share the keys; the later key decides.
const SECTIONS: [Section; 2] = [Section::Mcp, Section::Tool];

/// Keys in order, and the verdict for all other tools.
type PermissionKeys = (Vec<(String, Action)>, Action);

/// Returns the keys of a block: the verdict for all, then MCP tools, then others.
pub(super) fn block(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) -> Vec<(String, Data)> {
    let narrowed = narrowed(subject);
    let (keys, all) = if settings.guard { below_guard(subject, narrowed) } else { narrowed };
    for section in SECTIONS {
        let there = view(section, &keys, all);
        if settings.guard {
            floor::rely(subject, section, &[vec![there.rules()]], out);
        } else {
            let there = unmasked(&there, keys.len());
            loss::compare(subject, section, &[there.rules()], Some(loss::EXACT), out);
        }
    }
    ambiguous(subject, &keys, out);
    written(keys, all)
}

/// Returns the keys for the rules of both sections.
fn keys(
    subject: &RenderSubject,
    encode: fn(&RenderSubject, Section) -> RuleEncoding,
) -> PermissionKeys {
    let [of_servers, others] = SECTIONS.map(|section| encode(subject, section));
    let all = of_servers.default.strictest(others.default);
    let mut keys: Vec<(String, Action)> = Vec::new();
    for RuleEncoding { section, entries, .. } in [of_servers, others] {
        for entry in entries {
            let key = if section == Section::Mcp { sanitised(&entry.text) } else { entry.text };
            // The last of two equal keys decides; a block cannot contain both.
            keys.retain(|(known, _)| *known != key);
            if !OWN.contains(&key.as_str()) && key != "*" {
                keys.push((key, entry.action));
            }
        }
    }
    (keys, all)
}

/// Makes the keys stricter until they stay within both sections.
fn narrowed(subject: &RenderSubject) -> PermissionKeys {
    let (mut keys, mut all) = keys(subject, encode);
    for section in SECTIONS {
        // A stricter key for one section is never milder for the other.
        let narrowed = view(section, &keys, all)
            .narrowed(&subject.memo, &[], &subject.bounds(section))
            .encoding;
        (keys, all) = of_view(narrowed, keys.len());
    }
    (keys, all)
}

/// Returns keys that deny nothing which the source permits.
fn below_guard(subject: &RenderSubject, exact: PermissionKeys) -> PermissionKeys {
    let leaves = |section| {
        let there = unmasked(&view(section, &exact.0, exact.1), exact.0.len());
        floor::leaves(&subject.memo, &subject.bounds(section), &there)
    };
    if SECTIONS.into_iter().all(leaves) {
        return exact;
    }
    let (mut keys, mut all) = keys(subject, encode_floor);
    for section in SECTIONS {
        // An ask for one section never denies the key for the other.
        let there = unmasked(&view(section, &keys, all), keys.len());
        let lowered = floor::lowered(&subject.memo, there, &subject.bounds(section));
        (keys, all) = of_view(lowered, keys.len());
    }
    (keys, all)
}

/// Extracts the first `keys` entries, without the masks behind them.
fn of_view(view: RuleEncoding, keys: usize) -> PermissionKeys {
    let entries = view.entries.into_iter().take(keys);
    (entries.map(|entry| (entry.text, entry.action)).collect(), view.default)
}

/// Encodes the keys for one section, with masks for names that belong to the other.
fn view(section: Section, keys: &[(String, Action)], default: Action) -> RuleEncoding {
    let entries = keys.iter().map(|(key, action)| entry(section, key, *action)).collect();
    masked(RuleEncoding { section, order: MatchOrder::Last, entries, default }, &[], Action::Deny)
}

/// Disables the masks, for a proof that the source stays within the keys. The mask for ambiguous names is
/// removed.
fn unmasked(encoding: &RuleEncoding, keys: usize) -> RuleEncoding {
    let mut encoding = encoding.clone();
    encoding.entries.truncate(keys + 2);
    encoding.entries.iter_mut().skip(keys).for_each(|mask| mask.action = Action::Allow);
    encoding
}

fn written(keys: Vec<(String, Action)>, all: Action) -> Vec<(String, Data)> {
    let word = |action: Action| Data::str(action.as_str());
    let mut block = vec![("*".to_owned(), word(all))];
    if all == Action::Allow {
        // These are not tools; the block repeats OpenCode's defaults, which `*` would override.
        block.push(("doom_loop".to_owned(), word(Action::Ask)));
        block.push(("plan_enter".to_owned(), word(Action::Deny)));
        block.push(("plan_exit".to_owned(), word(Action::Deny)));
    }
    block.extend(keys.into_iter().map(|(key, action)| (key, word(action))));
    block
}

/// Reports that a server whose name continues after `_` would be mistaken for another one.
fn ambiguous(subject: &RenderSubject, keys: &[(String, Action)], out: &mut RenderedAgent) {
    let rules = subject.permissions.get(Section::Mcp).map(|rules| rules.rules.as_slice());
    let allowed = rules.unwrap_or_default().iter().find(|rule| {
        let key = sanitised(&rule.pattern);
        let written = keys.iter().any(|known| *known == (key.clone(), Action::Allow));
        rule.action == Action::Allow && written
    });
    if let Some((server, _)) = allowed.and_then(|rule| rule.pattern.split_once('/')) {
        let detail = format!(
            "OpenCode joins the names of server and tool: any other tool or server `{server}_x` would be taken for one of `{server}`"
        );
        out.lose("permissions.mcp", LossKind::Gap, detail);
    }
}

/// Converts a pattern `server/tool` to OpenCode's name: `_` replaces all but letters, digits and `-`.
pub(super) fn sanitised(pattern: &str) -> String {
    let each = |c: char| match c {
        '*' => '*',
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    pattern.replace("**", "*").chars().map(each).collect()
}

/// Encodes a key about tools by name.
pub(super) fn entry(section: Section, key: &str, action: Action) -> EncodedRule {
    let regex = if section == Section::Mcp { of_servers(key) } else { WILDCARDS.whole(key) };
    EncodedRule { text: key.to_owned(), action, matches: MatchBounds::exactly(regex) }
}

/// Returns what a key matches among MCP tools.
fn of_servers(key: &str) -> String {
    // A trailing ` *` may match nothing.
    let key = key.strip_suffix(" *").unwrap_or(key);
    let each = |c: char| match c {
        '*' | '?' => WILDCARDS.plain(c.encode_utf8(&mut [0; 4])),
        '_' => "[^A-Za-z0-9-]".to_owned(),
        c if c.is_ascii_alphanumeric() || c == '-' => escape(c.encode_utf8(&mut [0; 4])),
        // No tool has such a name.
        _ => NOTHING.to_owned(),
    };
    key.chars().map(each).collect()
}

const OF_A_DIRECTORY: &str = "(?s:.)*/(?s:.)*";

/// Adds masks with `action` for names that no such tool has, or that other rules decide about. A name with
/// `_` belongs to a server; a server has `_` in its name only if such a server is defined. In the mildest
/// view, MCP tool names with other characters are masked too, because OpenCode replaces these by `_`.
pub(super) fn masked(
    mut encoding: RuleEncoding,
    servers: &[String],
    action: Action,
) -> RuleEncoding {
    let own: Vec<String> = OWN.iter().map(|name| escape(name)).collect();
    let odd_server = servers.iter().any(|name| name.contains(|c| !is_plain(c)));
    let masks = match encoding.section {
        Section::Mcp => {
            let odd = (!odd_server).then_some("[^/]*[^A-Za-z0-9/-][^/]*/(?s:.)*");
            // A rendered rule must not deny a tool only because another one might be named `a.b`.
            let odd_tool = (action == Action::Deny).then_some("[^/]*/[^/]*[^A-Za-z0-9_/-](?s:.)*");
            let masks = ["[^/]*", "[^/]*/[^/]*/(?s:.)*"].into_iter().chain(odd).chain(odd_tool);
            masks.map(str::to_owned).collect()
        }
        Section::Tool => {
            let masks = [OF_A_DIRECTORY.to_owned(), own.join("|"), "(?s:.)*_(?s:.)*".to_owned()];
            masks.into()
        }
        _ => vec![OF_A_DIRECTORY.to_owned()],
    };
    encoding.entries.extend(masks.into_iter().map(|regex| EncodedRule {
        text: String::new(),
        action,
        matches: MatchBounds::exactly(regex),
    }));
    encoding
}

/// Returns rules per section that deny names which no such tool has.
pub(super) fn unreal(servers: &[String]) -> Vec<RuleList> {
    let rules = |section| {
        let all = RuleEncoding {
            section,
            order: MatchOrder::Last,
            entries: vec![],
            default: Action::Allow,
        };
        masked(all, servers, Action::Deny).rules()
    };
    [Section::Mcp, Section::Tool, Section::Skill].map(rules).into()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}
