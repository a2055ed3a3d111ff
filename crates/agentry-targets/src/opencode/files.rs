//! Rules about files: `edit` and `read` decide inside the workspace. Outside, both and `external_directory`
//! decide, so `external_directory` is as strict as either of them.

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

/// The directory of truncated tool output, which OpenCode lets every agent read.
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
        // Asks about secrets make every search ask, so they count only on request.
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

/// Adds the keys about files with the guard. The guard checks which files a search would read, so search
/// tools ask if any file may be read.
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

/// Returns the file rules of a section with the guard: inside by path, outside by one verdict if
/// `external_directory` distinguishes paths there.
fn side_guarded(subject: &RenderSubject, section: Section) -> RuleEncoding {
    let bounds = subject.bounds(section);
    let exact = encode(subject, section)
        .narrowed(&subject.memo, &[nothing_outside(section)], &bounds)
        .encoding;
    let plain = encode_floor(subject, section);
    let rest = entry(section, OUTSIDE, Action::Ask);
    floor(below_guard(&subject.memo, &bounds, exact, plain, Some(&rest)))
}

/// Returns the rules for paths outside with the guard. A deny of one section becomes a deny for all only if
/// the source denies that for all.
fn beyond_guarded(subject: &RenderSubject) -> RuleEncoding {
    let section = Section::ExternalDirectory;
    let bounds = subject.bounds(section);
    let with_rules = |encode: fn(&RenderSubject, Section) -> RuleEncoding| {
        with_rooted_rules(subject, encode(subject, section))
    };
    let exact = with_rules(encode).narrowed(&subject.memo, &[], &bounds).encoding;
    floor(below_guard(&subject.memo, &bounds, exact, with_rules(encode_floor), None))
}

/// Returns all verdicts of an encoding.
fn answers(encoding: &RuleEncoding) -> impl Iterator<Item = Action> {
    encoding.entries.iter().map(|entry| entry.action).chain([encoding.default])
}

/// Returns the rules for files inside, by section, and for paths outside. Each is narrowed together with the
/// other.
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

/// Adds `edit` and `read` rules about paths outside, which only `external_directory` can express.
fn with_rooted_rules(subject: &RenderSubject, mut beyond: RuleEncoding) -> RuleEncoding {
    let sections = [Section::Read, Section::Edit].map(|section| subject.permissions.get(section));
    for rule in sections.into_iter().flatten().flat_map(|rules| rules.rules.iter().rev()) {
        // With a pattern of only a name, `edit` and `read` also match files outside.
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

/// Makes rules about paths outside stricter, as if they were rules of a section about files.
fn bounded(
    beyond: RuleEncoding,
    section: Section,
    stricter: impl FnOnce(RuleEncoding) -> RuleEncoding,
) -> RuleEncoding {
    let mut encoding = RuleEncoding { section, ..beyond };
    let root = regex_of_path(&PathAnchors::default().workspace);
    // A placeholder that allows the workspace; it is removed again below.
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

/// Returns the reading tools of the agent; if it keeps some for OpenCode, only those.
pub(super) fn tools(subject: &RenderSubject) -> impl Iterator<Item = &'static str> {
    let groups = [READING.to_vec()];
    let original = OriginalFrontMatter::of(&subject.agent, NAME);
    READING.iter().copied().filter(move |tool| original.may_have(&groups, tool))
}

/// Writes the reading tools: `read` by path, search tools by one verdict.
fn reading(tools: &[&str], by_path: &Data, searched: Option<Action>) -> Vec<(String, Data)> {
    let searched = searched.unwrap_or(Action::Deny);
    let tool = |tool: &&str| match *tool {
        tool if !tools.contains(&tool) => (tool.to_owned(), Data::str(Action::Deny.as_str())),
        "read" => ("read".to_owned(), by_path.clone()),
        tool => (tool.to_owned(), Data::str(searched.as_str())),
    };
    READING.iter().map(tool).collect()
}

/// Reports that search tools get the verdict that only some files need.
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

/// The files that OpenCode itself asks about before reading, unless a rule overrides it.
const ENVIRONMENT: &[(&str, Action)] =
    &[(".env", Action::Ask), (".env.*", Action::Ask), (".env.example", Action::Allow)];

/// The rules of a section about files inside the workspace.
struct FileRules {
    /// The rules of the source.
    plain: RuleEncoding,
    /// The same rules, with asks about secrets added.
    written: RuleEncoding,
}

/// Adds asks about secrets behind each rule that would allow them: about the secrets that OpenCode knows, or
/// about all with `--close-gaps`.
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

/// Returns the path endings of all secrets with their verdicts; the last match decides.
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

/// Adds rules about these path endings behind each rule that allows more than one path.
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
        // The last of two equal rules decides.
        entries.retain(|known: &EncodedRule| new.iter().all(|entry| entry.text != known.text));
        entries.extend(new);
    }
    RuleEncoding { entries, ..inside.clone() }
}

/// Handles truncated tool output, which every agent may read unless exactly that directory is denied.
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
