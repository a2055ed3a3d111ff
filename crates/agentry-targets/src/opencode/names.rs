//! Tools by name. OpenCode has one list of keys for the tools of MCP servers and for all others, and
//! calls a tool of a server by both names with `_` between them.

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

/// The sections that share the keys; what stands behind decides.
const SECTIONS: [Section; 2] = [Section::Mcp, Section::Tool];

/// Keys in order, and the answer for what none of them is about.
type PermissionKeys = (Vec<(String, Action)>, Action);

/// The keys of a block: the answer for all, then those of servers, then the others.
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

/// The keys for the rules of both sections.
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
            // The last of two keys that are the same decides; a block cannot hold both.
            keys.retain(|(known, _)| *known != key);
            if !OWN.contains(&key.as_str()) && key != "*" {
                keys.push((key, entry.action));
            }
        }
    }
    (keys, all)
}

/// The same, made stricter until they stay within both sections.
fn narrowed(subject: &RenderSubject) -> PermissionKeys {
    let (mut keys, mut all) = keys(subject, encode);
    for section in SECTIONS {
        // Making a key stricter for the one section never makes it milder for the other.
        let narrowed = view(section, &keys, all)
            .narrowed(&subject.memo, &[], &subject.bounds(section))
            .encoding;
        (keys, all) = of_view(narrowed, keys.len());
    }
    (keys, all)
}

/// Keys that deny nothing which the source permits.
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
        // Asking about a key for the one section never denies it to the other.
        let there = unmasked(&view(section, &keys, all), keys.len());
        let lowered = floor::lowered(&subject.memo, there, &subject.bounds(section));
        (keys, all) = of_view(lowered, keys.len());
    }
    (keys, all)
}

/// So many keys without what is none of their business.
fn of_view(view: RuleEncoding, keys: usize) -> PermissionKeys {
    let entries = view.entries.into_iter().take(keys);
    (entries.map(|entry| (entry.text, entry.action)).collect(), view.default)
}

/// How a section sees the keys, with what is none of its business out of the way.
fn view(section: Section, keys: &[(String, Action)], default: Action) -> RuleEncoding {
    let entries = keys.iter().map(|(key, action)| entry(section, key, *action)).collect();
    masked(RuleEncoding { section, order: MatchOrder::Last, entries, default }, &[], Action::Deny)
}

/// Where the source is compared with what is stricter, masks must not count; that for names that could
/// be taken for others is none then.
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
        // These are no tools; what OpenCode says of them by itself stays.
        block.push(("doom_loop".to_owned(), word(Action::Ask)));
        block.push(("plan_enter".to_owned(), word(Action::Deny)));
        block.push(("plan_exit".to_owned(), word(Action::Deny)));
    }
    block.extend(keys.into_iter().map(|(key, action)| (key, word(action))));
    block
}

/// A server whose name goes on after `_` would be taken for another one.
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

/// A pattern `server/tool` as OpenCode calls it: what is no letter, digit or `-` is `_`.
pub(super) fn sanitised(pattern: &str) -> String {
    let each = |c: char| match c {
        '*' => '*',
        c if c.is_ascii_alphanumeric() || c == '-' => c,
        _ => '_',
    };
    pattern.replace("**", "*").chars().map(each).collect()
}

/// A key about tools by name.
pub(super) fn entry(section: Section, key: &str, action: Action) -> EncodedRule {
    let regex = if section == Section::Mcp { of_servers(key) } else { WILDCARDS.whole(key) };
    EncodedRule { text: key.to_owned(), action, matches: MatchBounds::exactly(regex) }
}

/// What a key matches of the tools of servers.
fn of_servers(key: &str) -> String {
    // A trailing ` *` may take nothing.
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

/// The same with `action` for names that no such tool has, or that other rules decide about: a name
/// with `_` is one of a server, and a server has one in its name only if such a one is set up. So are
/// names of tools of a server with other characters than letters, digits, `_` and `-`, which OpenCode
/// takes for `_`, where rules are looked at as all that they may permit.
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
            // What is written must not give a tool away because another one might be called `a.b`.
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

/// Rules of each section about tools by name that deny what no such tool is called.
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
