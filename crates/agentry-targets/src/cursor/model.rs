//! What Cursor permits: surely, as the bound for an import, and at most, for a rendered agent. It is read from
//! the files, independently of the conversion in `import.rs`.

use agentry_policy::{Action, PathAnchors, PatternKind, Section};

use super::NAME;
use super::import::{TOOLS, UNASKED, is_readonly};
use crate::encoding::{EncodedRule, EncodingView, MatchBounds, MatchOrder, RuleEncoding};
use crate::gap::{BlindSpot, MisreadLine};
use crate::model::{always, escape, outside, regex_of_path};
use crate::question_habits::is_asked;
use crate::wildcard::{ANYTHING, NOTHING};
use crate::{HarnessFiles, HarnessModel, front_matter};

/// Builds the model of rules as they are written. Calls that no rule matches are asked about.
pub(super) fn of(lists: &[(String, Action)], readonly: bool) -> HarnessModel {
    let mut model = HarnessModel::default();
    for section in Section::ALL.iter().copied() {
        let of = |(text, action): &(String, Action)| {
            // A read-only agent changes nothing, so an allow for commands does not count.
            let idle = readonly && section == Section::Bash && *action == Action::Allow;
            let matches = matches(section, text).filter(|_| !idle)?;
            Some(EncodedRule { text: text.clone(), action: *action, matches })
        };
        let mut entries: Vec<EncodedRule> = lists.iter().filter_map(of).collect();
        if section == Section::Read {
            // Files of the workspace are read without a question.
            let matches = MatchBounds::exactly(everything(section).least);
            entries.push(EncodedRule { text: "inside".to_owned(), action: Action::Allow, matches });
        }
        let nothing = readonly && section == Section::Edit;
        let default = match section {
            _ if nothing => Action::Deny,
            section if UNASKED.contains(&section) => Action::Allow,
            _ => Action::Ask,
        };
        let entries = if nothing { Vec::new() } else { entries };
        let encoding = RuleEncoding { section, order: MatchOrder::Strictest, entries, default };
        model.add_readings(section.as_str(), &encoding.seen(EncodingView::Strictest), &[], None);
    }
    model
}

/// Returns what a rule matches in a section; `None` if it belongs to another one.
fn matches(section: Section, text: &str) -> Option<MatchBounds> {
    let unknown = MatchBounds { most: ANYTHING.to_owned(), least: NOTHING.to_owned() };
    let parts = text.strip_suffix(')').and_then(|text| text.split_once('('));
    let known = parts.and_then(|(name, only)| {
        let tool = TOOLS.iter().find(|(tool, _)| *tool == name)?;
        Some((tool.1, only))
    });
    // The scope of an unknown rule is not known, so it counts for every section.
    let Some((of, only)) = known else { return Some(unknown) };
    if of != section {
        return None;
    }
    Some(match section.kind() {
        _ if matches!(only, "*" | "**") => everything(section),
        PatternKind::Command => command(only),
        PatternKind::Path => path(only).unwrap_or(unknown),
        PatternKind::Name => name(only),
        PatternKind::Web | PatternKind::Text => unknown,
    })
}

/// A rule for everything; for files it surely matches only those inside the workspace.
fn everything(section: Section) -> MatchBounds {
    let root = regex_of_path(&PathAnchors::default().workspace);
    let least = match section.kind() {
        PatternKind::Path => format!("{root}(?:[^/]+/)*"),
        _ => ANYTHING.to_owned(),
    };
    MatchBounds { most: ANYTHING.to_owned(), least }
}

/// A program with its first arguments; at most every command of the program.
fn command(only: &str) -> MatchBounds {
    let (program, arguments) = only.split_once(':').unwrap_or((only, "*"));
    let words = |text: &str| -> String {
        let words = text.split(' ').filter(|word| !word.is_empty());
        words.flat_map(|word| [escape(word), "\\x00".to_owned()]).collect()
    };
    let start = words(program);
    let is_plain = |text: &str| !text.contains(['*', '?']);
    let least = match (is_plain(program), arguments) {
        (true, "*") => format!("{start}(?:{ANYTHING}\\x00)?"),
        (true, arguments) if is_plain(arguments) => format!("{start}{}", words(arguments)),
        _ => NOTHING.to_owned(),
    };
    let most = match program.split(['*', '?']).next() {
        _ if is_plain(program) => format!("{start}(?:{ANYTHING}\\x00)?"),
        known => format!("{}{ANYTHING}", escape(known.unwrap_or_default())),
    };
    MatchBounds { most, least }
}

/// A path inside the workspace: `**` matches directories, `*` a part of a name.
fn path(only: &str) -> Option<MatchBounds> {
    if only.starts_with(['/', '~', '.']) || only.contains(['[', '{', '!', '?', '\\']) {
        return None;
    }
    let root = regex_of_path(&PathAnchors::default().workspace);
    let parts: Vec<&str> = only.split('/').filter(|part| !part.is_empty()).collect();
    let last = parts.len().saturating_sub(1);
    let segment = |(at, part): (usize, &&str)| match *part {
        "**" if at == last => "(?:[^/]+/)+".to_owned(),
        "**" => "(?:[^/]+/)*".to_owned(),
        "*" => "[^/]+/".to_owned(),
        part => part.split('*').map(escape).collect::<Vec<_>>().join("[^/]*") + "/",
    };
    let regex: String = parts.iter().enumerate().map(segment).collect();
    Some(MatchBounds::exactly(format!("{root}{regex}")))
}

/// A server and a tool: `server:tool`.
fn name(only: &str) -> MatchBounds {
    let part = |part: &str| part.split('*').map(escape).collect::<Vec<_>>().join("[^/]*");
    let (server, tool) = only.split_once(':').unwrap_or((only, "*"));
    MatchBounds::exactly(format!("{}/{}", part(server), part(tool)))
}

/// What Cursor does not check in a command line: it asks about the whole line, or about nothing.
pub(super) const BLIND: &[BlindSpot] = &[BlindSpot {
    name: "commands",
    why: "Cursor does not check what a command does",
    lines: |command| {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        let lines = [command, "cat .env", "curl https://example.org/"];
        let plain = lines.map(|line| MisreadLine::new(line, words(line)));
        let redirected = MisreadLine::new(format!("{command} > x"), words(command));
        plain.into_iter().chain([redirected]).collect()
    },
}];

/// The sections that an agent of Cursor has tools for, whatever its file says.
const EVERY: [Section; 7] = [
    Section::Read,
    Section::Edit,
    Section::Bash,
    Section::Webfetch,
    Section::Websearch,
    Section::Mcp,
    Section::Delegate,
];

/// Returns the most that an agent of Cursor may do: all that its session may do. A read-only agent edits
/// nothing. The ordinary mode asks, or shows a change for review.
pub(super) fn rendered(readonly: bool) -> HarnessModel {
    let mut model = HarnessModel::default();
    for section in EVERY.into_iter().filter(|section| !(readonly && *section == Section::Edit)) {
        let free = always(section, Action::Allow, "every tool of the session");
        let beyond = always(Section::ExternalDirectory, Action::Ask, "outside the workspace");
        let is_files = matches!(section, Section::Read | Section::Edit);
        let beyond = is_files.then(|| outside(section, &beyond));
        let asked = is_asked(NAME, section).then(|| always(section, Action::Ask, "asked about"));
        let layers = [free].into_iter().chain(beyond).collect();
        model.add_asked(section, section.as_str(), layers, asked);
    }
    model
}

/// Returns what Cursor lets an agent of that name do; a rule has no tools of its own.
pub(super) fn found(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    if let Some(text) = files.text(&format!(".cursor/agents/{name}.md")) {
        let front = front_matter::read_leniently(&text).ok()?;
        front.metadata.get("description")?.as_str()?;
        return Some(rendered(is_readonly(front.metadata.get("readonly"))));
    }
    let rule = files.text(&format!(".cursor/rules/{name}.mdc"));
    rule.map(|_| HarnessModel { is_text: true, ..HarnessModel::default() })
}
