//! What is said of files: inside the workspace by `edit` and `read`, outside by both and
//! `external_directory`, which is therefore as strict as either of them.

use agentry_policy::commands::secrets;
use agentry_policy::path::NoLinks;
use agentry_policy::{Action, PathAnchors, RuleList, Section, SectionCall};
use agentry_text::Data;

use super::NAME;
use super::encode::{encode, encode_floor, words, written};
use super::floor::{below_guard, floor, rely};
use super::paths::OUTSIDE;
use super::ruleset::{READING, entry};
use crate::encoding::{EncodedRule, MatchBounds, RuleEncoding};
use crate::model::{always, outside, regex_of_path};
use crate::original::OriginalFrontMatter;
use crate::render_result::{LossKind, RenderSettings, RenderedAgent};
use crate::subject::RenderSubject;
use crate::wildcard::ANYTHING;
use crate::{built_in_protection, loss};

/// Where OpenCode keeps the output of tools that it has cut off, and lets every agent read it.
pub(super) const OUTPUT: &str = "~/.local/share/opencode/tool-output/*";

/// Adds the keys about files.
pub(super) fn block(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
    block: &mut Vec<(String, Data)>,
) {
    if settings.guard {
        return guarded(subject, settings, out, block);
    }
    let (sides, mut beyond) = sides(subject, settings);
    let way_out = Some(loss::EXACT);
    for FileRules { plain, written: all } in sides {
        let section = plain.section;
        let layers = [plain.rules(), outside(section, &beyond.rules())];
        loss::compare(subject, section, &layers, way_out, out);
        let asked = if settings.close_gaps { &all } else { &plain };
        match section {
            Section::Edit => block.push(("edit".to_owned(), written(&all))),
            _ => {
                let tools: Vec<&str> = tools(subject).collect();
                searching(&tools, asked, out);
                block.extend(reading(&tools, &written(&all), answers(asked).max()));
            }
        }
    }
    loss::compare(subject, Section::ExternalDirectory, &[beyond.rules()], way_out, out);
    output(subject, settings, out, &mut beyond);
    block.push(("external_directory".to_owned(), written(&beyond)));
}

/// Adds the keys about files below the guard. It looks at the files that a search would read, so that
/// the tools that search are asked about if any file may be read.
fn guarded(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
    block: &mut Vec<(String, Data)>,
) {
    let mut beyond = beyond_guarded(subject);
    for section in [Section::Edit, Section::Read] {
        let side = side_guarded(subject, section);
        let searched = answers(&side).min();
        let search = always(section, searched.unwrap_or(Action::Deny), "search");
        let search = Some(search).filter(|_| section == Section::Read);
        let outer = outside(section, &beyond.rules());
        let natively = side.readings().into_iter().chain(search);
        let ways: Vec<Vec<RuleList>> = natively.map(|rules| vec![rules, outer.clone()]).collect();
        rely(subject, section, &ways, out);
        match section {
            Section::Edit => block.push(("edit".to_owned(), written(&side))),
            _ => {
                let tools: Vec<&str> = tools(subject).collect();
                block.extend(reading(&tools, &written(&side), searched));
            }
        }
    }
    rely(subject, Section::ExternalDirectory, &[vec![beyond.rules()]], out);
    output(subject, settings, out, &mut beyond);
    block.push(("external_directory".to_owned(), written(&beyond)));
}

/// What is said of files of a section below the guard: inside by their paths, outside by one answer if
/// `external_directory` tells them apart.
fn side_guarded(subject: &RenderSubject, section: Section) -> RuleEncoding {
    let bounds = subject.bounds(section);
    let exact = encode(subject, section)
        .narrowed(&subject.memo, &[nothing_outside(section)], &bounds)
        .encoding;
    let plain = encode_floor(subject, section);
    let rest = entry(section, OUTSIDE, Action::Ask);
    floor(below_guard(&subject.memo, &bounds, exact, plain, Some(&rest)))
}

/// What is said of places outside below the guard. What a section denies there is denied to all of them
/// only if the source says so.
fn beyond_guarded(subject: &RenderSubject) -> RuleEncoding {
    let section = Section::ExternalDirectory;
    let bounds = subject.bounds(section);
    let with_rules = |encode: fn(&RenderSubject, Section) -> RuleEncoding| {
        with_rooted_rules(subject, encode(subject, section))
    };
    let exact = with_rules(encode).narrowed(&subject.memo, &[], &bounds).encoding;
    floor(below_guard(&subject.memo, &bounds, exact, with_rules(encode_floor), None))
}

/// All answers that some rules give.
fn answers(encoding: &RuleEncoding) -> impl Iterator<Item = Action> {
    encoding.entries.iter().map(|entry| entry.action).chain([encoding.default])
}

/// What is said of files inside, by section, and of all that lies outside: each stays within its source
/// beside the other.
fn sides(subject: &RenderSubject, settings: &RenderSettings<'_>) -> (Vec<FileRules>, RuleEncoding) {
    let beyond = encode(subject, Section::ExternalDirectory);
    let mut beyond = with_rooted_rules(subject, beyond)
        .narrowed(&subject.memo, &[], &subject.bounds(Section::ExternalDirectory))
        .encoding;
    let mut sides = Vec::new();
    for section in [Section::Edit, Section::Read] {
        let bounds = subject.bounds(section);
        let inside =
            encode(subject, section).narrowed(&subject.memo, &[nothing_outside(section)], &bounds);
        let side = closed(subject, &inside.encoding, settings);
        for rules in side.plain.readings() {
            beyond = bounded(beyond, section, |it| {
                it.narrowed(&subject.memo, std::slice::from_ref(&rules), &bounds).encoding
            });
        }
        if settings.close_gaps {
            beyond = bounded(beyond, section, |mut it| {
                built_in_protection::close(subject, &mut it, &[side.written.rules()]);
                it
            });
        }
        sides.push(side);
    }
    (sides, beyond)
}

/// Rules of `edit` and `read` about places outside have no other place than `external_directory`.
fn with_rooted_rules(subject: &RenderSubject, mut beyond: RuleEncoding) -> RuleEncoding {
    let sections = [Section::Read, Section::Edit].map(|section| subject.permissions.get(section));
    for rule in sections.into_iter().flatten().flat_map(|rules| rules.rules.iter().rev()) {
        // By the name alone, `edit` and `read` take files outside as well.
        let by_name = rule.pattern.strip_prefix("/**/").is_some_and(|name| {
            !name.contains('/') && name.chars().any(|c| !matches!(c, '.' | '*' | '?'))
        });
        let stricter = rule.action > Action::Allow && !by_name;
        for text in words(Section::ExternalDirectory, rule) {
            if stricter && text != "*" && beyond.entries.iter().all(|known| known.text != text) {
                beyond.entries.push(entry(Section::ExternalDirectory, &text, rule.action));
            }
        }
    }
    beyond
}

/// Rules about places outside, made stricter as rules of a section about files.
fn bounded(
    beyond: RuleEncoding,
    section: Section,
    stricter: impl FnOnce(RuleEncoding) -> RuleEncoding,
) -> RuleEncoding {
    let mut encoding = RuleEncoding { section, ..beyond };
    let root = regex_of_path(&PathAnchors::default().workspace);
    encoding.entries.push(EncodedRule {
        text: String::new(),
        action: Action::Allow,
        matches: MatchBounds::exactly(format!("{root}{ANYTHING}")),
    });
    let mut narrowed = stricter(encoding);
    narrowed.entries.retain(|entry| !entry.text.is_empty());
    RuleEncoding { section: Section::ExternalDirectory, ..narrowed }
}

fn nothing_outside(section: Section) -> RuleList {
    outside(section, &always(section, Action::Deny, "outside"))
}

/// The tools that read which the agent has; where it keeps some for OpenCode, only those.
pub(super) fn tools(subject: &RenderSubject) -> impl Iterator<Item = &'static str> {
    let groups = [READING.to_vec()];
    let original = OriginalFrontMatter::of(&subject.agent, NAME);
    READING.iter().copied().filter(move |tool| original.may_have(&groups, tool))
}

/// The tools that read: by path, and those that are told a pattern instead.
fn reading(tools: &[&str], by_path: &Data, searched: Option<Action>) -> Vec<(String, Data)> {
    let searched = searched.unwrap_or(Action::Deny);
    let tool = |tool: &&str| match *tool {
        tool if !tools.contains(&tool) => (tool.to_owned(), Data::str(Action::Deny.as_str())),
        "read" => ("read".to_owned(), by_path.clone()),
        tool => (tool.to_owned(), Data::str(searched.as_str())),
    };
    READING.iter().map(tool).collect()
}

/// Notes that the tools that search get the answer that only some files need.
fn searching(tools: &[&str], asked: &RuleEncoding, out: &mut RenderedAgent) {
    let what = match answers(asked).max() {
        Some(Action::Deny) => "denied",
        Some(Action::Ask) => "asked about",
        _ => return,
    };
    let is_mixed = answers(asked).max() != answers(asked).min();
    let tools = tools.iter().filter(|it| **it != "read").map(|it| format!("`{it}`"));
    let tools: Vec<String> = tools.collect();
    if is_mixed && !tools.is_empty() {
        let detail = format!(
            "{} are {what} altogether: they look at many files at once, and some of these are; {}",
            tools.join(", "),
            loss::EXACT
        );
        out.lose("permissions.read", LossKind::Narrowed, detail);
    }
}

/// What OpenCode itself asks about before it is read, unless it is told otherwise.
const ENVIRONMENT: &[(&str, Action)] =
    &[(".env", Action::Ask), (".env.*", Action::Ask), (".env.example", Action::Allow)];

/// The rules of a section about files inside the workspace.
struct FileRules {
    /// Those of the source.
    plain: RuleEncoding,
    /// With questions about secrets among them.
    written: RuleEncoding,
}

/// Puts questions about secrets behind each rule that would allow them: about those that OpenCode
/// knows, or about all.
fn closed(
    subject: &RenderSubject,
    plain: &RuleEncoding,
    settings: &RenderSettings<'_>,
) -> FileRules {
    let section = plain.section;
    let close = settings.close_gaps;
    let others = [nothing_outside(section)];
    let safe = || {
        let layers = [plain.rules(), nothing_outside(section)];
        built_in_protection::protects(subject, section, &layers)
    };
    let ends = if close && !safe() {
        secrets()
    } else {
        let known = ENVIRONMENT.iter().filter(|_| section == Section::Read);
        known.map(|(end, action)| ((*end).to_owned(), *action)).collect()
    };
    let mut written = with_ends(plain, &ends);
    if close {
        built_in_protection::close(subject, &mut written, &others);
    }
    let own = |entry: &&EncodedRule| plain.entries.iter().any(|known| known.text == entry.text);
    let entries = written.entries.iter().filter(own).cloned().collect();
    let plain = RuleEncoding { entries, default: written.default, ..plain.clone() };
    FileRules { plain, written }
}

/// How the paths of all secrets end, with the answers; the last that fits decides.
fn secrets() -> Vec<(String, Action)> {
    let kinds = || secrets::all().filter(|secret| !secret.rooted);
    let names = kinds().filter(|secret| !secret.tree).map(|secret| secret.path);
    let names = names.map(|path| path.strip_prefix('*').unwrap_or(path).to_owned());
    let trees = kinds().filter(|secret| secret.tree).map(|secret| secret.path);
    let trees = trees.flat_map(|path| [path.to_owned(), format!("{path}/*")]);
    let known = ENVIRONMENT.iter().map(|(end, action)| ((*end).to_owned(), *action));
    let ask = |end: String| (end, Action::Ask);
    let mut ends: Vec<(String, Action)> = Vec::new();
    for end in names.map(ask).chain(known).chain(trees.map(ask)) {
        ends.retain(|other| other.0 != end.0);
        ends.push(end);
    }
    ends
}

/// Puts rules about paths that end so behind each rule that allows more than one path.
fn with_ends(inside: &RuleEncoding, ends: &[(String, Action)]) -> RuleEncoding {
    let section = inside.section;
    let behind = |start: &str| -> Vec<EncodedRule> {
        let ends = ends.iter();
        ends.map(|(end, action)| entry(section, &format!("{start}{end}"), *action)).collect()
    };
    let open = inside.default == Action::Allow;
    let mut entries = if open { behind("*") } else { Vec::new() };
    for entry in inside.entries.iter().cloned() {
        let more = entry.action == Action::Allow && entry.text.ends_with('*');
        let more = if more { behind(&entry.text) } else { Vec::new() };
        let new: Vec<_> = std::iter::once(entry).chain(more).collect();
        // The last of two rules that are the same decides.
        entries.retain(|known: &EncodedRule| new.iter().all(|entry| entry.text != known.text));
        entries.extend(new);
    }
    RuleEncoding { entries, ..inside.clone() }
}

/// Every agent may read the output that was cut off, unless the very directory is denied.
fn output(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
    beyond: &mut RuleEncoding,
) {
    let places = subject.judge.places();
    let path = OUTPUT.replace('*', "x");
    let section = Section::ExternalDirectory;
    let call = SectionCall { section, subject: &path, directory: &places.workspace };
    let answer = subject.judge.judge(call, &NoLinks).action;
    let close = settings.close_gaps && !settings.guard && answer == Action::Ask;
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
