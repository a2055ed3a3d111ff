//! Encodes the rules of an agent as a `permission` block.

use std::collections::HashSet;

use agentry_policy::{Action, PatternKind, PatternRule, RuleList, Section, SectionRules};
use agentry_text::{Data, FileId, Span, Spanned};

use super::paths::{words_inside, words_outside};
use super::ruleset::{entry, is_number};
use super::{files, floor, names};
use crate::encoding::{EncodedRule, MatchOrder, RuleEncoding};
use crate::gap::close;
use crate::model::always;
use crate::render::ask_ahead;
use crate::render_result::{RenderSettings, RenderedAgent};
use crate::subject::RenderSubject;
use crate::wildcard::{at_least, at_most};
use crate::{built_in_protection, loss};

/// The sections with a pattern map, and their keys.
const MAPS: &[(Section, &str)] =
    &[(Section::Bash, "bash"), (Section::Skill, "skill"), (Section::Delegate, "task")];
/// The sections with a single action.
const ACTIONS: &[(Section, &str)] = &[
    (Section::Webfetch, "webfetch"),
    (Section::Websearch, "websearch"),
    (Section::Question, "question"),
];

/// The memo key of a block: the policy, the options for guard and gaps, and the reading tools.
pub(super) type BlockQuestion = (u64, bool, bool, Vec<&'static str>);

/// Returns the `permission` block of an agent, and records what was narrowed.
pub(super) fn permission(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) -> Data {
    let tools = files::tools(subject).collect();
    let question = (subject.kind(), settings.guard, settings.close_gaps, tools);
    let (block, noted) = subject.memo.opencode.blocks.get(question, || {
        let mut noted = RenderedAgent::default();
        (block(subject, settings, &mut noted), noted)
    });
    out.add(noted);
    block
}

/// Returns the narrowed rules of a section.
fn of_section(subject: &RenderSubject, section: Section) -> RuleEncoding {
    if MAPS.iter().any(|(known, _)| *known == section) {
        return map(subject, section);
    }
    encode(subject, section).narrowed(&subject.memo, &[], &subject.bounds(section)).encoding
}

/// Memoises the rules of all sections for every policy.
pub(super) fn ahead(subjects: &[RenderSubject]) {
    let sections: Vec<Section> = MAPS.iter().chain(ACTIONS).map(|(section, _)| *section).collect();
    ask_ahead(subjects, &sections, |subject, section| drop(of_section(subject, *section)));
}

fn block(subject: &RenderSubject, settings: &RenderSettings<'_>, out: &mut RenderedAgent) -> Data {
    let mut block: Vec<(String, Data)> = names::block(subject, settings, out);
    for (section, key) in MAPS.iter().chain(ACTIONS) {
        let encoding = if settings.guard {
            guarded(subject, *section, out)
        } else {
            unguarded(subject, *section, settings, out)
        };
        block.push(((*key).to_owned(), written(&encoding)));
    }
    files::block(subject, settings, out, &mut block);
    let block = Data::Map(block);
    odd_keys(&block, out);
    block
}

/// Returns the rules of a section without the guard.
fn unguarded(
    subject: &RenderSubject,
    section: Section,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) -> RuleEncoding {
    let mut encoding = of_section(subject, section);
    if section == Section::Bash && settings.close_gaps {
        close(subject, &mut encoding, super::blind_spots::BLIND);
    }
    if settings.close_gaps && ACTIONS.iter().any(|(known, _)| *known == section) {
        built_in_protection::close(subject, &mut encoding, &[]);
    }
    loss::compare(subject, section, &[encoding.rules()], Some(loss::EXACT), out);
    encoding
}

/// Returns the rules of a section with the guard.
fn guarded(subject: &RenderSubject, section: Section, out: &mut RenderedAgent) -> RuleEncoding {
    let encoding = if MAPS.iter().any(|(known, _)| *known == section) {
        let plain = in_own_words(encode_floor(subject, section));
        let bounds = subject.bounds(section);
        let found = floor::below_guard(&subject.memo, &bounds, map(subject, section), plain, None);
        if section == Section::Bash { floor::floor(found) } else { found }
    } else {
        guarded_action(subject, section)
    };
    let mut real = encoding.clone();
    if section == Section::Skill {
        real = names::masked(real, &[], Action::Deny);
    }
    let ways: Vec<Vec<RuleList>> = real.readings().into_iter().map(|rules| vec![rules]).collect();
    floor::rely(subject, section, &ways, out);
    encoding
}

/// Encodes the rules of a section, of which the last match decides.
pub(super) fn encode(subject: &RenderSubject, section: Section) -> RuleEncoding {
    encode_all(subject, section, Action::Allow, |_| true)
}

/// Encodes with an ask where the source allows: then no rule has to match less than it says.
pub(super) fn encode_floor(subject: &RenderSubject, section: Section) -> RuleEncoding {
    encode_all(subject, section, Action::Ask, |_| true)
}

/// Encodes the wanted rules, with no verdict milder than `mildest`.
fn encode_all(
    subject: &RenderSubject,
    section: Section,
    mildest: Action,
    is_wanted: impl Fn(&PatternRule) -> bool,
) -> RuleEncoding {
    let empty = SectionRules {
        section: Spanned::new(section, Span::start_of(FileId::BUILT_IN)),
        intent: None,
        rules: Vec::new(),
    };
    let rules = subject.permissions.get(section).unwrap_or(&empty);
    let mut default = rules.intent.map_or(Action::Ask, |intent| intent.value).strictest(mildest);
    // Each with whether the source has it.
    let mut entries: Vec<(bool, EncodedRule)> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for rule in rules.rules.iter().filter(|rule| is_wanted(rule)) {
        let rule = &PatternRule { action: rule.action.strictest(mildest), ..rule.value.clone() };
        let words = words(section, rule);
        if words.iter().any(|text| text == "*") {
            // Rules after one that matches everything never decide.
            default = rule.action;
            break;
        }
        for text in words {
            if !known.iter().any(|before| covers(before, &text)) {
                let more = upwards(section, rule, &text, default).into_iter();
                let more = more.chain(deeper(section, rule, &text, default));
                entries.extend(more.map(|entry| (false, entry)));
                entries.push((true, entry(section, &text, rule.action)));
                known.push(text);
            }
        }
    }
    // A text can be written only once: the rule of the source counts.
    let mut texts: HashSet<String> = HashSet::new();
    entries.retain(|(is_own, entry)| {
        (*is_own || !known.contains(&entry.text)) && texts.insert(entry.text.clone())
    });
    // The source follows the first match, OpenCode the last.
    let entries = entries.into_iter().rev().map(|(_, entry)| entry).collect();
    RuleEncoding { section, order: MatchOrder::Last, entries, default }
}

/// Adds a rule for paths with `..` behind an allow with `**`: OpenCode's wildcard also matches `..`, which
/// the source does not allow.
fn upwards(
    section: Section,
    rule: &PatternRule,
    text: &str,
    answer: Action,
) -> Option<EncodedRule> {
    let is_deep = |token: &str| token.contains('/') && token.contains("**");
    let deep = rule.pattern.split(' ').any(is_deep);
    let allows = rule.action == Action::Allow && section == Section::Bash && answer > rule.action;
    let up = |token: &str| {
        if token.contains('/') { token.replace('*', "*..*") } else { token.to_owned() }
    };
    let text = || text.split(' ').map(up).collect::<Vec<_>>().join(" ");
    (allows && deep).then(|| entry(section, &text(), answer))
}

/// Adds rules for deeper paths behind a rule with `*`, which in OpenCode also matches `/`.
fn deeper(section: Section, rule: &PatternRule, text: &str, answer: Action) -> Vec<EncodedRule> {
    let is_file = matches!(section, Section::Edit | Section::Read);
    let stars: Vec<usize> = text.match_indices('*').map(|(at, _)| at).collect();
    let is_flat = !rule.pattern.contains("**") && stars.len() <= MOST_STARS;
    if !is_file || !is_flat || rule.action == answer {
        return Vec::new();
    }
    let split = |at: usize| {
        let (before, after) = text.split_at(at);
        entry(section, &format!("{before}*/{after}"), answer)
    };
    stars.into_iter().map(split).collect()
}

/// The most wildcards of a pattern that gets rules for deeper paths.
const MOST_STARS: usize = 3;

/// Whether a rule is about another spelling of a command: by the path of its program, or with options before
/// the subcommand.
fn is_spelling(rule: &PatternRule) -> bool {
    let mut tokens = rule.pattern.split(' ');
    let path = tokens.next().is_some_and(|program| program.starts_with("**/"));
    let options = matches!(tokens.next(), Some("-*" | "+*")) && tokens.next() == Some("**");
    rule.action == Action::Deny && (path || options)
}

/// Encodes rules about commands. OpenCode does not recognise other spellings, so rules about those are left
/// out unless that would allow something.
fn commands(subject: &RenderSubject) -> RuleEncoding {
    let section = Section::Bash;
    let all = encode(subject, section);
    let plain = encode_all(subject, section, Action::Allow, |rule| !is_spelling(rule));
    if plain == all {
        return all;
    }
    let bounds = subject.bounds(section);
    let narrowed = plain.clone().narrowed(&subject.memo, &[], &bounds);
    let same = narrowed.raised.is_empty() && !narrowed.unknown;
    if same { plain } else { all }
}

/// Whether a pattern obviously covers another one.
fn covers(before: &str, text: &str) -> bool {
    let start = before.strip_suffix('*');
    before == text || start.is_some_and(|start| text.starts_with(start))
}

/// Returns a section with patterns, narrowed to stay within its source.
fn map(subject: &RenderSubject, section: Section) -> RuleEncoding {
    let mut encoding = match section {
        Section::Bash => commands(subject),
        _ => in_own_words(encode(subject, section)),
    };
    if section == Section::Skill {
        // The name of a skill contains no `/`.
        encoding = names::masked(encoding, &[], Action::Deny);
    }
    let mut encoding = encoding.narrowed(&subject.memo, &[], &subject.bounds(section)).encoding;
    encoding.entries.retain(|entry| !entry.text.is_empty());
    encoding
}

/// Adds the entries that a section needs beside its rules.
fn in_own_words(encoding: RuleEncoding) -> RuleEncoding {
    if encoding.section == Section::Delegate { one_segment(encoding) } else { encoding }
}

/// Adds an entry behind each pattern with `*`, so that it does not match an agent in a directory, whose name
/// contains `/`.
fn one_segment(mut encoding: RuleEncoding) -> RuleEncoding {
    let default = encoding.default;
    let texts: Vec<String> = encoding.entries.iter().map(|entry| entry.text.clone()).collect();
    let nested = |known: &EncodedRule| {
        let text = known.text.replace('*', "*/*");
        let wider = known.action < default && known.text.matches('*').count() == 1;
        let new = wider && !texts.contains(&text);
        new.then(|| entry(Section::Delegate, &text, default))
    };
    let entries = encoding.entries.into_iter();
    encoding.entries = entries
        .flat_map(|known| {
            let behind = nested(&known);
            std::iter::once(known).chain(behind)
        })
        .collect();
    encoding
}

/// Returns the nearest patterns for a rule: an allow may match less, an ask or a deny more.
pub(super) fn words(section: Section, rule: &PatternRule) -> Vec<String> {
    let PatternRule { pattern, action } = rule;
    if matches!(pattern.as_str(), "*" | "**") {
        return vec!["*".to_owned()];
    }
    match section.kind() {
        PatternKind::Command if *action == Action::Allow => match pattern.split_once('*') {
            // `*` would match `/` in the name of a program, so only its arguments stay variable.
            Some((program, "")) if !program.contains(' ') => at_most(&format!("{program} *")),
            _ => at_most(pattern),
        },
        PatternKind::Command => at_least(pattern),
        PatternKind::Path if section == Section::ExternalDirectory => {
            words_outside(pattern, *action == Action::Allow)
        }
        PatternKind::Path => words_inside(pattern),
        PatternKind::Name => vec![pattern.replace("**", "*")],
        // These sections have a single action.
        PatternKind::Web | PatternKind::Text => Vec::new(),
    }
}

/// Writes a section for OpenCode.
pub(super) fn written(encoding: &RuleEncoding) -> Data {
    let action = |action: Action| Data::str(action.as_str());
    if encoding.entries.iter().all(|entry| entry.action == encoding.default) {
        return action(encoding.default);
    }
    let all = ("*".to_owned(), action(encoding.default));
    let entries = encoding.entries.iter().map(|entry| (entry.text.clone(), action(entry.action)));
    Data::Map(std::iter::once(all).chain(entries).collect())
}

/// Returns one action for a whole section below the guard. A partly denied section asks, so that the guard
/// decides, or the user without it.
fn guarded_action(subject: &RenderSubject, section: Section) -> RuleEncoding {
    let whole =
        |default| RuleEncoding { section, order: MatchOrder::Last, entries: Vec::new(), default };
    // Private addresses are denied whatever the rules say, so fetches are never open.
    let is_open = section != Section::Webfetch
        && subject.permits(section, &[always(section, Action::Allow, "all")]);
    if is_open {
        whole(Action::Allow)
    } else if floor::leaves(&subject.memo, &subject.bounds(section), &whole(Action::Deny)) {
        whole(Action::Deny)
    } else {
        whole(Action::Ask)
    }
}

/// Refuses keys that JavaScript treats specially: those that look like numbers come first in any order, and
/// `__proto__` is no ordinary key.
fn odd_keys(block: &Data, out: &mut RenderedAgent) {
    let Data::Map(keys) = block else { return };
    for (key, value) in keys {
        let patterns = if let Data::Map(patterns) = value { patterns.as_slice() } else { &[] };
        for text in patterns.iter().map(|(text, _)| text).chain([key]) {
            if is_number(text) || text == "__proto__" {
                let field = format!("permissions.{}", if text == key { "tool" } else { key });
                let message = format!("OpenCode would put the rule `{text}` before all others");
                out.refuse(&field, message, Some("write the rule with a `*`"));
            }
        }
    }
}
