//! What is said of files: inside the workspace by `edit` and `read`, outside by both and
//! `external_directory`, which is therefore as strict as either of them.

use agentry_policy::path::NoLinks;
use agentry_policy::{Action, Call, Places, Rules, Section};
use agentry_text::Data;

use super::encode::{encode, floor, lifted, words, written};
use super::ruleset::{READING, entry};
use crate::encoding::{Encoding, Entry, Matches};
use crate::loss;
use crate::model::{always, outside, regex_of_path};
use crate::rendering::{LossKind, Rendered, Settings};
use crate::subject::Subject;
use crate::wildcard::ANYTHING;

/// Where OpenCode keeps the output of tools that it has cut off, and lets every agent read it.
pub(super) const OUTPUT: &str = "~/.local/share/opencode/tool-output/*";

/// Adds the keys about files.
pub(super) fn block(
    subject: &Subject,
    settings: &Settings<'_>,
    out: &mut Rendered,
    block: &mut Vec<(String, Data)>,
) {
    let guarded = settings.guard;
    let beyond = encode(subject, Section::ExternalDirectory);
    let mut beyond = with_rooted_rules(subject, beyond)
        .narrowed(&[], &subject.bounds(Section::ExternalDirectory))
        .encoding;
    let mut sides = Vec::new();
    for section in [Section::Edit, Section::Read] {
        let nothing = always(section, Action::Deny, "outside");
        let bounds = subject.bounds(section);
        let inside = encode(subject, section).narrowed(&[outside(section, &nothing)], &bounds);
        for rules in inside.encoding.readings() {
            beyond = bounded(beyond, section, &rules, &bounds);
        }
        sides.push(inside.encoding);
    }
    let effective = |encoding: &Encoding| {
        if guarded { lifted(encoding.clone()) } else { encoding.clone() }.rules()
    };
    for inside in sides {
        let section = inside.section;
        let layers = [effective(&inside), outside(section, &effective(&beyond))];
        loss::compare(subject, section, &layers, out);
        let actions = inside.entries.iter().map(|entry| entry.action);
        let strictest = actions.fold(inside.default, Action::strictest);
        let by_path = written(&floor(secrets(subject, inside, settings, out), guarded));
        match section {
            Section::Edit => block.push(("edit".to_owned(), by_path)),
            _ => block.extend(reading(&by_path, strictest)),
        }
    }
    loss::compare(subject, Section::ExternalDirectory, &[effective(&beyond)], out);
    output(subject, settings, out, &mut beyond);
    block.push(("external_directory".to_owned(), written(&floor(beyond, guarded))));
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

/// The tools that read: by path, and those that are told a pattern instead.
fn reading(by_path: &Data, strictest: Action) -> Vec<(String, Data)> {
    let tool = |tool: &&str| match *tool {
        "read" => ("read".to_owned(), by_path.clone()),
        tool => (tool.to_owned(), Data::str(strictest.as_str())),
    };
    READING.iter().map(tool).collect()
}

/// What OpenCode itself asks about before it is read, unless it is told otherwise.
const ENVIRONMENT: &[(&str, Action)] =
    &[(".env", Action::Ask), (".env.*", Action::Ask), (".env.example", Action::Allow)];
/// What other secrets are called, for the most part.
const SECRETS: &[&str] = &[
    "id_rsa*",
    "id_ed25519*",
    ".pem",
    ".key",
    ".ssh/*",
    ".aws/*",
    ".gnupg/*",
    ".kube/*",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".tfstate",
    "credentials*",
    "secrets.*",
];

/// Puts questions about secrets behind each rule that would allow them.
fn secrets(
    subject: &Subject,
    inside: Encoding,
    settings: &Settings<'_>,
    out: &mut Rendered,
) -> Encoding {
    let section = inside.section;
    let close = settings.close_gaps && !settings.guard;
    let gap = first_gap(subject, &inside).filter(|_| !settings.guard);
    if let (Some(example), false) = (&gap, close) {
        let detail = format!(
            "secrets: OpenCode does not know what they are called; `{example}` is ask in the source and allow there"
        );
        out.lose(format!("permissions.{section}"), LossKind::Gap, detail);
    }
    let environment = ENVIRONMENT.iter().filter(|_| section == Section::Read).copied();
    let others = SECRETS.iter().filter(|_| close && gap.is_some()).map(|end| (*end, Action::Ask));
    let ends: Vec<_> = environment.chain(others).collect();
    let behind = |start: &str| -> Vec<Entry> {
        let ends = ends.iter();
        ends.map(|(end, action)| entry(section, &format!("{start}{end}"), *action)).collect()
    };
    let open = inside.default == Action::Allow;
    let mut entries = if open { behind("*") } else { Vec::new() };
    for entry in inside.entries {
        let more = entry.action == Action::Allow && entry.text.ends_with('*');
        let more = if more { behind(&entry.text) } else { Vec::new() };
        let new: Vec<_> = std::iter::once(entry).chain(more).collect();
        // The last of two rules that are the same decides.
        entries.retain(|known: &Entry| new.iter().all(|entry| entry.text != known.text));
        entries.extend(new);
    }
    Encoding { entries, ..inside }
}

/// A secret that the rules allow and the source asks about.
fn first_gap(subject: &Subject, inside: &Encoding) -> Option<String> {
    let places = subject.judge.places();
    let open = inside.default == Action::Allow;
    let allows = inside.entries.iter().filter(|entry| entry.action == Action::Allow);
    let starts = allows.filter_map(|entry| entry.text.strip_suffix('*')).map(str::to_owned);
    let starts = open.then(String::new).into_iter().chain(starts);
    let mut paths = starts.map(|start| format!("{}id_rsa", start.replace('*', "x")));
    paths.find(|path| {
        let call = Call { section: inside.section, subject: path, directory: &places.workspace };
        subject.judge.judge(call, &NoLinks).action == Action::Ask
    })
}

/// Every agent may read the output that was cut off, unless the very directory is denied.
fn output(subject: &Subject, settings: &Settings<'_>, out: &mut Rendered, beyond: &mut Encoding) {
    let places = subject.judge.places();
    let path = OUTPUT.replace('*', "x");
    let section = Section::ExternalDirectory;
    let call = Call { section, subject: &path, directory: &places.workspace };
    let answer = subject.judge.judge(call, &NoLinks).action;
    let close = settings.close_gaps && answer == Action::Ask;
    if answer == Action::Deny || close {
        beyond.entries.retain(|entry| entry.text != OUTPUT);
        beyond.entries.push(entry(section, OUTPUT, Action::Deny));
    }
    if answer == Action::Ask {
        let kind = if close { LossKind::Narrowed } else { LossKind::Gap };
        let detail = if close {
            "the output of tools that OpenCode has cut off is denied instead of asked about"
        } else {
            "OpenCode lets every agent read the output of tools that it has cut off"
        };
        out.lose("permissions.external_directory", kind, detail);
    }
}
