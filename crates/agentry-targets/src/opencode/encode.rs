//! From the rules of an agent to a `permission` block.

use agentry_policy::compare::Example;
use agentry_policy::{Action, Kind, PatternRule, Places, Rules, Section, SectionRules};
use agentry_text::{Data, FileId, Span, Spanned};

use super::ruleset::{READING, entry, named};
use crate::encoding::{Encoding, Entry, Matches, Order};
use crate::gap::{Gap, gaps};
use crate::loss;
use crate::model::{Model, always, outside, regex_of_path};
use crate::rendering::{Rendered, Settings};
use crate::subject::Subject;
use crate::wildcard::{ANYTHING, at_least, at_most};

/// The sections that have a pattern map, with their keys.
const MAPS: &[(Section, &str)] =
    &[(Section::Bash, "bash"), (Section::Skill, "skill"), (Section::Delegate, "task")];
/// The sections that have one action.
const ACTIONS: &[(Section, &str)] = &[
    (Section::Webfetch, "webfetch"),
    (Section::Websearch, "websearch"),
    (Section::Question, "question"),
];

/// The `permission` block of an agent; what had to be narrowed is noted.
pub(super) fn permission(subject: &Subject, settings: &Settings<'_>, out: &mut Rendered) -> Data {
    let mut block: Vec<(String, Data)> = by_name(subject, out);
    for (section, key) in MAPS.iter().chain(ACTIONS) {
        let narrowed = encode(subject, *section).narrowed(&[], &subject.bounds(*section));
        let mut encoding = narrowed.encoding;
        if *section == Section::Bash && settings.close_gaps {
            close(subject, &mut encoding);
        }
        loss::compare(subject, *section, &[encoding.rules()], out);
        block.push(((*key).to_owned(), written(&encoding)));
    }
    files(subject, out, &mut block);
    let block = Data::Map(block);
    integer_keys(&block, out);
    block
}

/// The rules of a section, the last of which is followed.
fn encode(subject: &Subject, section: Section) -> Encoding {
    let empty = SectionRules {
        section: Spanned::new(section, Span::start_of(FileId::BUILT_IN)),
        intent: None,
        rules: Vec::new(),
    };
    let rules = subject.permissions.get(section).unwrap_or(&empty);
    let mut default = rules.intent.map_or(Action::Ask, |intent| intent.value);
    let mut entries: Vec<Entry> = Vec::new();
    for rule in &rules.rules {
        let words = words(section, rule);
        if words.iter().any(|text| text == "*") {
            // Nothing behind it is ever asked.
            default = rule.action;
            break;
        }
        for text in words {
            if entries.iter().all(|before| before.text != text) {
                entries.push(entry(section, &text, rule.action));
            }
        }
    }
    entries.reverse();
    Encoding { section, order: Order::Last, entries, default }
}

/// The patterns that come nearest to that of a rule: an allow may take less, the others more.
fn words(section: Section, rule: &PatternRule) -> Vec<String> {
    let PatternRule { pattern, action } = rule;
    if matches!(pattern.as_str(), "*" | "**") {
        return vec!["*".to_owned()];
    }
    match section.kind() {
        Kind::Command if *action == Action::Allow => at_most(pattern),
        Kind::Command => at_least(pattern),
        Kind::Path => path(section, pattern),
        Kind::Name => vec![pattern.replace("**", "*")],
        // There is one action for all of them.
        Kind::Web | Kind::Text => Vec::new(),
    }
}

/// Paths are seen from the workspace, except those of directories outside.
fn path(section: Section, pattern: &str) -> Vec<String> {
    let rooted = pattern.starts_with(['/', '~']);
    if rooted != (section == Section::ExternalDirectory) {
        return Vec::new();
    }
    let plain = pattern.strip_prefix("./").unwrap_or(pattern);
    match plain.strip_prefix("**/") {
        // Below the workspace at any depth: at its top, or below some directory.
        Some("*" | "**") => vec!["*".to_owned()],
        Some(rest) if !rest.starts_with('*') => {
            let rest = rest.replace("**", "*");
            vec![rest.clone(), format!("*/{rest}")]
        }
        Some(rest) => vec![rest.replace("**", "*")],
        None if plain == "." => Vec::new(),
        None => vec![plain.replace("**", "*")],
    }
}

/// A section in the words of OpenCode.
fn written(encoding: &Encoding) -> Data {
    let action = |action: Action| Data::str(action.as_str());
    if encoding.entries.iter().all(|entry| entry.action == encoding.default) {
        return action(encoding.default);
    }
    let all = ("*".to_owned(), action(encoding.default));
    let entries = encoding.entries.iter().map(|entry| (entry.text.clone(), action(entry.action)));
    Data::Map(std::iter::once(all).chain(entries).collect())
}

/// Tools by name: the answer for all, then those of servers, then the others.
fn by_name(subject: &Subject, out: &mut Rendered) -> Vec<(String, Data)> {
    let intent = |section| encode(subject, section).default;
    let all = intent(Section::Tool).strictest(intent(Section::Mcp));
    let mut block = vec![("*".to_owned(), Data::str(all.as_str()))];
    for section in [Section::Mcp, Section::Tool] {
        let mut encoding = encode(subject, section);
        encoding.default = all;
        for entry in &mut encoding.entries {
            *entry = named(section, &entry.text.replace('/', "_"), entry.action);
        }
        let encoding = encoding.narrowed(&[], &subject.bounds(section)).encoding;
        loss::compare(subject, section, &[encoding.rules()], out);
        let useful =
            encoding.entries.iter().filter(|entry| entry.action != all || entry.text != "*");
        block.extend(useful.map(|entry| (entry.text.clone(), Data::str(entry.action.as_str()))));
    }
    block
}

/// What is said of files: inside the workspace by `edit` and `read`, outside by both and
/// `external_directory`, which is therefore as strict as either of them.
fn files(subject: &Subject, out: &mut Rendered, block: &mut Vec<(String, Data)>) {
    let beyond = encode(subject, Section::ExternalDirectory);
    let mut beyond = with_rooted_rules(subject, beyond)
        .narrowed(&[], &subject.bounds(Section::ExternalDirectory))
        .encoding;
    for section in [Section::Edit, Section::Read] {
        let nothing = always(section, Action::Deny, "outside");
        let bounds = subject.bounds(section);
        let inside = encode(subject, section).narrowed(&[outside(section, &nothing)], &bounds);
        let inside = inside.encoding;
        beyond = bounded(beyond, section, &inside.rules(), &bounds);
        if section == Section::Edit {
            block.push(("edit".to_owned(), written(&inside)));
        } else {
            block.extend(reading(&inside));
        }
        let layers = [inside.rules(), outside(section, &beyond.rules())];
        loss::compare(subject, section, &layers, out);
    }
    loss::compare(subject, Section::ExternalDirectory, &[beyond.rules()], out);
    block.push(("external_directory".to_owned(), written(&beyond)));
}

/// Rules of `edit` and `read` about places outside have no other place than `external_directory`.
fn with_rooted_rules(subject: &Subject, mut beyond: Encoding) -> Encoding {
    let sections = [Section::Read, Section::Edit].map(|section| subject.permissions.get(section));
    for rule in sections.into_iter().flatten().flat_map(|rules| rules.rules.iter().rev()) {
        let stricter = rule.action > Action::Allow;
        for text in words(Section::ExternalDirectory, rule) {
            if stricter && text != "*" && beyond.entries.iter().all(|known| known.text != text) {
                beyond.entries.push(entry(Section::ExternalDirectory, &text, rule.action));
            }
        }
    }
    beyond
}

/// Rules about places outside that, beside `rules`, stay within the bounds of a section about files.
fn bounded(beyond: Encoding, section: Section, rules: &Rules, bounds: &[Rules]) -> Encoding {
    let mut encoding = Encoding { section, ..beyond };
    let root = regex_of_path(&Places::default().workspace);
    encoding.entries.push(Entry {
        text: String::new(),
        action: Action::Allow,
        matches: Matches::exactly(format!("{root}{ANYTHING}")),
    });
    let mut narrowed = encoding.narrowed(std::slice::from_ref(rules), bounds).encoding;
    narrowed.entries.retain(|entry| !entry.text.is_empty());
    Encoding { section: Section::ExternalDirectory, ..narrowed }
}

/// Files that hold secrets, which OpenCode itself asks about unless it is told otherwise.
const SECRETS: &[(&str, Action)] =
    &[("*.env", Action::Ask), ("*.env.*", Action::Ask), ("*.env.example", Action::Allow)];

/// The tools that read: by path, and those that are told a pattern instead.
fn reading(inside: &Encoding) -> Vec<(String, Data)> {
    let strictest = inside.entries.iter().map(|entry| entry.action).max();
    let strictest = strictest.map_or(inside.default, |action| action.strictest(inside.default));
    let mut by_path = inside.clone();
    if strictest == Action::Allow {
        let ask = |(text, action): &(&str, Action)| entry(Section::Read, text, *action);
        by_path.entries.extend(SECRETS.iter().map(ask));
    }
    READING
        .iter()
        .map(|tool| match *tool {
            "read" => ("read".to_owned(), written(&by_path)),
            tool => (tool.to_owned(), Data::str(strictest.as_str())),
        })
        .collect()
}

/// Makes rules about commands stricter until nothing that OpenCode does not look at is milder than in
/// the source.
fn close(subject: &Subject, bash: &mut Encoding) {
    for _ in 0..=2 * (bash.entries.len() + 1) {
        let mut model = Model::default();
        model.add(Section::Bash, "bash", vec![bash.rules()]);
        let found = gaps(subject, &model, super::blind::BLIND);
        let raised = |gap: &Gap| bash.raise(&Example::Command(gap.taken_for.clone()), gap.source);
        if found.iter().map(raised).filter(|raised| *raised).count() == 0 {
            break;
        }
    }
}

/// JavaScript puts keys that look like numbers first, whatever the order in which they are written.
fn integer_keys(block: &Data, out: &mut Rendered) {
    let Data::Map(keys) = block else { return };
    for (key, value) in keys {
        let patterns = if let Data::Map(patterns) = value { patterns.as_slice() } else { &[] };
        for text in patterns.iter().map(|(text, _)| text).chain([key]) {
            if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
                let message = format!("OpenCode would put the rule `{text}` before all others");
                out.refuse(
                    &format!("permissions.{key}"),
                    message,
                    Some("write the rule with a `*`"),
                );
            }
        }
    }
}
