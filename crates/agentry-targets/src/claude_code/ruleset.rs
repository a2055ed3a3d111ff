//! How Claude Code applies its rules. The strictest of all matching rules decides, for every agent of a
//! project alike; only the list of tools is per agent.
//!
//! A call that no rule matches depends on the mode of the session. The ordinary mode asks; others may not. So
//! it counts as allowed in the rules for every mode, and as asked in the ordinary mode. Files outside the
//! working directory are always asked about.

use agentry_policy::{Action, PathAnchors, RuleList, Section};
use agentry_text::Data;

use super::agent_file::{self, ClaudeFrontMatter};
use super::rule::{beside, entry};
use super::settings::{self, ClaudeRuleLists, ClaudeSettings};
use super::tools::{BESIDE, ClaudeTools, GROUPS, PARTS, SEARCHING, UNASKED, names};
use super::{NAME, hook, paths};
use crate::encoding::{EncodedRule, EncodingView, MatchBounds, MatchOrder, RuleEncoding};
use crate::memo::RenderMemo;
use crate::model::{HarnessModel, always, escape, regex_of_path};
use crate::question_habits::is_asked;
use crate::wildcard::{ANYTHING, NOTHING};
use crate::{HarnessFiles, UserSettings};

/// The verdict for a call that no rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum UnmatchedAnswer {
    /// It may run: the assumption for rendered rules.
    Runs,
    /// It is asked about: the assumption for imported agents.
    Asks,
    /// It is denied, in a mode that never asks.
    Denies,
    /// It is denied, but files are read as usual: plan mode changes nothing.
    Plans,
}

impl UnmatchedAnswer {
    /// Returns what applies in one section.
    pub(super) fn of(self, section: Section) -> Self {
        let reads = matches!(section, Section::Read | Section::ExternalDirectory);
        match self {
            Self::Plans if reads => Self::Asks,
            Self::Plans => Self::Denies,
            other => other,
        }
    }

    /// The verdict of an ask rule: a mode that never asks denies.
    pub(super) fn asked(self) -> Action {
        if matches!(self, Self::Denies | Self::Plans) { Action::Deny } else { Action::Ask }
    }

    /// How rules are read whose matches are not known exactly.
    fn view(self) -> EncodingView {
        if self == Self::Runs { EncodingView::Mildest } else { EncodingView::Strictest }
    }

    /// The verdict for a call that no rule matches. Delegation to another agent is never asked about.
    pub(super) fn action(self, section: Section) -> Action {
        match self {
            Self::Runs => Action::Allow,
            Self::Asks if section == Section::Delegate => Action::Allow,
            Self::Asks => Action::Ask,
            Self::Denies | Self::Plans => Action::Deny,
        }
    }
}

/// The settings of the user. Claude Code merges them, and what they allow is their choice.
pub(super) const PERSONAL: UserSettings = UserSettings {
    places: &[settings::PERSONAL, settings::LOCAL, settings::SHARED],
    model: |files, name| by(&settings::known_by_all(files), files, name),
};

/// Returns what Claude Code lets the agent `name` do, by the files of the project.
pub(super) fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    by(&settings::rendered_for_all(files), files, name)
}

fn by(known: &ClaudeSettings, files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let front = agent_file::read(&files.text(&agent_file::path(name))?)?;
    let text = |key: &str| front.metadata.get(key).and_then(Data::as_str);
    let found = text("name") == Some(name) && text("description").is_some_and(|it| !it.is_empty());
    let guarded = known.guarded && !known.without_hooks && has_hook(&front);
    if guarded {
        // The guard decides about every call; what remains without it is reported as a gap.
        return found.then(HarnessModel::default);
    }
    let mut tools = tools(&front);
    if text("memory").is_some() {
        // Claude Code gives an agent with memory the tools to read and write it.
        let given = ["Read", "Edit", "Write"].map(str::to_owned);
        tools.removed.retain(|tool| !given.contains(tool));
        tools.listed.iter_mut().for_each(|listed| listed.extend(given.clone()));
    }
    let mut model = of(files.memo(), &tools, known, UnmatchedAnswer::Runs);
    if text("memory").is_some() {
        remembering(&mut model);
    }
    found.then_some(model)
}

/// Adds that an agent reads and writes its memory without a question.
fn remembering(model: &mut HarnessModel) {
    let PathAnchors { workspace, home, .. } = PathAnchors::default();
    let roots = [workspace, home.unwrap_or_default()];
    let places = ["agent-memory", "agent-memory-local"];
    let places = places.iter().flat_map(|place| {
        let below = move |root: &String| regex_of_path(&format!("{root}/.claude/{place}"));
        roots.iter().map(move |root| format!("{}{ANYTHING}", below(root)))
    });
    let places: Vec<String> = places.collect();
    for section in [Section::Edit, Section::Read] {
        let rules = only(section, &places, Action::Allow, Action::Deny).rules();
        model.add(section, "memory", vec![rules]);
    }
}

/// Returns the tools that the metadata gives to an agent.
pub(super) fn tools(front: &ClaudeFrontMatter) -> ClaudeTools {
    tools_in(&front.metadata)
}

/// Returns the tools in some metadata.
pub(super) fn tools_in(metadata: &Data) -> ClaudeTools {
    let list = |key: &str| metadata.get(key).map(|list| names(list).unwrap_or_default());
    // `*` means every tool, as if there were no list.
    let listed = list("tools").filter(|names| !names.iter().any(|name| name == "*"));
    ClaudeTools { listed, removed: list("disallowedTools").unwrap_or_default() }
}

fn has_hook(front: &ClaudeFrontMatter) -> bool {
    let hooks = front.metadata.get("hooks").and_then(|hooks| hooks.get("PreToolUse"));
    matches!(hooks, Some(Data::List(entries)) if entries.iter().any(|it| hook::is_ours(&it.to_json())))
}

/// Builds the model of tools and rules; memoised.
pub(super) fn of(
    memo: Option<&RenderMemo>,
    tools: &ClaudeTools,
    known: &ClaudeSettings,
    silence: UnmatchedAnswer,
) -> HarnessModel {
    let make = || made(tools, known, silence);
    let Some(memo) = memo else { return make() };
    memo.claude_code.models.get((tools.clone(), known.clone(), silence), make)
}

fn made(tools: &ClaudeTools, known: &ClaudeSettings, silence: UnmatchedAnswer) -> HarnessModel {
    let mut model = HarnessModel::default();
    for group in GROUPS {
        let silence = silence.of(group.section);
        // An import must not rely on a tool that does only a part of its section.
        let counts = |tool: &&&str| silence == UnmatchedAnswer::Runs || !PARTS.contains(*tool);
        for tool in group.tools.iter().filter(|tool| tools.has(tool)).filter(counts) {
            let layers = match group.section {
                Section::Read if silence == UnmatchedAnswer::Runs && SEARCHING.contains(tool) => {
                    vec![searching(known).rules()]
                }
                Section::Read => vec![files(Section::Read, known, silence).rules()],
                Section::Edit => {
                    vec![files(Section::Edit, known, silence).rules(), unreadable(known, silence)]
                }
                // The user may answer the question or not.
                Section::Question => vec![always(Section::Question, Action::Ask, tool)],
                Section::Webfetch if silence == UnmatchedAnswer::Runs => {
                    vec![
                        flat(Section::Webfetch, &known.rules, silence).rules(),
                        never(Section::Webfetch),
                    ]
                }
                section => vec![flat(section, &known.rules, silence).rules()],
            };
            model.add_asked(group.section, *tool, layers, asked(group.section, known, silence));
        }
    }
    // An import does not rely on these tools.
    for (tool, section) in BESIDE.iter().filter(|_| silence == UnmatchedAnswer::Runs) {
        if tools.has(tool) {
            let layers = match section {
                Section::Read | Section::Edit => vec![files(*section, known, silence).rules()],
                // No rule about commands applies to other shells.
                _ => vec![always(*section, Action::Allow, tool)],
            };
            let asked = match section {
                Section::Bash => Some(always(*section, Action::Ask, tool)),
                section => asked(*section, known, silence),
            };
            model.add_asked(*section, *tool, layers, asked);
        }
    }
    by_name(tools, known, silence, &mut model);
    model
}

/// What the ordinary mode asks about: every call that no rule allows.
fn asked(section: Section, known: &ClaudeSettings, silence: UnmatchedAnswer) -> Option<RuleList> {
    if silence != UnmatchedAnswer::Runs || !is_asked(NAME, section) {
        return None;
    }
    let mut entries = entries(section, &known.rules, silence);
    entries.retain(|entry| entry.action == Action::Allow);
    if section == Section::Tool {
        entries.extend(only(section, &unasked(), Action::Allow, Action::Ask).entries);
    }
    let (order, default) = (MatchOrder::First, Action::Ask);
    Some(RuleEncoding { section, order, entries, default }.rules())
}

/// Encodes the rules of a section that is not about files.
pub(super) fn flat(
    section: Section,
    rules: &ClaudeRuleLists,
    silence: UnmatchedAnswer,
) -> RuleEncoding {
    let entries = entries(section, rules, silence);
    let default = silence.action(section);
    RuleEncoding { section, order: MatchOrder::Strictest, entries, default }.seen(silence.view())
}

fn entries(
    section: Section,
    rules: &ClaudeRuleLists,
    silence: UnmatchedAnswer,
) -> Vec<EncodedRule> {
    // For an import, a deny of a secondary tool may also apply to the section.
    let beside = |text: &str, action| match silence.view() {
        EncodingView::Strictest if action > Action::Allow => beside(section, text, action),
        _ => None,
    };
    let of = |list: &[String], action| -> Vec<EncodedRule> {
        let entry = |text: &String| entry(section, text, action).or_else(|| beside(text, action));
        list.iter().filter_map(entry).collect()
    };
    let mut all = of(&rules.deny, Action::Deny);
    all.extend(of(&rules.ask, silence.asked()));
    all.extend(of(&rules.allow, Action::Allow));
    all
}

/// Encodes the rules about files. Claude Code itself asks outside the working directory.
fn files(section: Section, known: &ClaudeSettings, silence: UnmatchedAnswer) -> RuleEncoding {
    let mut entries = entries(section, &known.rules, silence);
    if section == Section::Read || silence == UnmatchedAnswer::Runs {
        entries.push(workspace());
        // No call is about the directory itself; counting it as inside makes the rules simpler.
        entries.extend(
            (silence != UnmatchedAnswer::Runs)
                .then(|| directory(&PathAnchors::default().workspace)),
        );
        entries.extend(known.directories.iter().map(|path| directory(path)));
    }
    let default = silence.action(section).max(Action::Ask);
    RuleEncoding { section, order: MatchOrder::Strictest, entries, default }.seen(silence.view())
}

/// Everything below the workspace, without the workspace directory itself.
pub(super) fn workspace() -> EncodedRule {
    let root = regex_of_path(&PathAnchors::default().workspace);
    let matches = MatchBounds::exactly(format!("{root}(?:[^/]+/)+"));
    EncodedRule { text: "inside".to_owned(), action: Action::Allow, matches }
}

/// Denies subjects that no call can have: the workspace directory as a file, a page with another scheme, an
/// MCP tool with `/` in its name. Proofs need not consider them.
pub(super) fn never(section: Section) -> RuleList {
    let regex = match section {
        Section::Edit | Section::Read => regex_of_path(&PathAnchors::default().workspace),
        Section::Webfetch => format!("(?:wss?|ftp)://{ANYTHING}"),
        Section::Mcp => format!("[^/]*/[^/]*/{ANYTHING}"),
        _ => NOTHING.to_owned(),
    };
    let matches = MatchBounds::exactly(regex);
    let entry = EncodedRule { text: "never".to_owned(), action: Action::Deny, matches };
    let order = MatchOrder::Strictest;
    RuleEncoding { section, order, entries: vec![entry], default: Action::Allow }.rules()
}

/// An additional directory that counts as the workspace.
fn directory(path: &str) -> EncodedRule {
    let places = PathAnchors::default();
    let home = places.home.unwrap_or_default();
    let whole = match path.strip_prefix('~') {
        Some(rest) => format!("{home}{rest}"),
        None if path.starts_with('/') => path.to_owned(),
        // A relative path may lead upwards, and so anywhere.
        None => String::new(),
    };
    let matches = MatchBounds::exactly(format!("{}{ANYTHING}", regex_of_path(&whole)));
    EncodedRule { text: path.to_owned(), action: Action::Allow, matches }
}

/// A file that must not be read must not be written either.
fn unreadable(known: &ClaudeSettings, silence: UnmatchedAnswer) -> RuleList {
    let rules = ClaudeRuleLists { deny: known.rules.deny.clone(), ..ClaudeRuleLists::default() };
    let entries = entries(Section::Read, &rules, silence);
    let order = MatchOrder::Strictest;
    let default = Action::Allow;
    let encoding = RuleEncoding { section: Section::Read, order, entries, default };
    let mut layer = encoding.seen(silence.view()).rules();
    layer.section = Section::Edit;
    layer
}

/// Rules for search tools: they skip denied files, and never ask about single files.
fn searching(known: &ClaudeSettings) -> RuleEncoding {
    let mut encoding = files(Section::Read, known, UnmatchedAnswer::Runs);
    let whole = |text: &str| {
        let inside = [crate::RenderScope::Project, crate::RenderScope::User].map(paths::inside);
        text == "Read" || inside.iter().any(|all| text == format!("Read({all})"))
    };
    encoding.entries.retain(|entry| entry.action != Action::Ask || whole(&entry.text));
    encoding
}

/// Adds MCP tools, and other tools by name.
fn by_name(
    tools: &ClaudeTools,
    known: &ClaudeSettings,
    silence: UnmatchedAnswer,
    model: &mut HarnessModel,
) {
    let others: Vec<String> = tools.others().map(escape).collect();
    let listed = tools.listed.iter().flatten();
    let servers: Vec<String> = listed
        .filter_map(|name| entry(Section::Mcp, name, Action::Allow))
        .map(|entry| match silence.view() {
            EncodingView::Mildest => entry.matches.most,
            EncodingView::Strictest => entry.matches.least,
        })
        .collect();
    for (section, names) in [(Section::Mcp, servers), (Section::Tool, others)] {
        let silence = silence.of(section);
        let mut rules = flat(section, &known.rules, silence);
        if section == Section::Tool && silence == UnmatchedAnswer::Asks {
            rules.entries.extend(only(section, &unasked(), Action::Allow, Action::Ask).entries);
        }
        let mut layers = vec![rules.rules()];
        let has_some = tools.listed.is_none() || !names.is_empty();
        if section == Section::Mcp && silence == UnmatchedAnswer::Runs && has_some {
            layers.push(never(section));
        }
        if tools.listed.is_some() {
            layers.push(only(section, &names, Action::Allow, Action::Deny).rules());
        }
        let removed: Vec<String> = tools
            .removed
            .iter()
            .filter_map(|name| entry(section, name, Action::Deny))
            .map(|entry| match silence.view() {
                EncodingView::Mildest => entry.matches.least,
                EncodingView::Strictest => entry.matches.most,
            })
            .collect();
        layers.push(only(section, &removed, Action::Deny, Action::Allow).rules());
        let tool = if section == Section::Mcp { "MCP tools" } else { "other tools" };
        model.add_asked(section, tool, layers, asked(section, known, silence));
    }
}

/// The tools that are never asked about.
fn unasked() -> Vec<String> {
    UNASKED.iter().map(|name| escape(name)).collect()
}

pub(super) fn only(
    section: Section,
    names: &[String],
    action: Action,
    default: Action,
) -> RuleEncoding {
    let entry = |regex: &String| EncodedRule {
        text: regex.clone(),
        action,
        matches: MatchBounds::exactly(regex.clone()),
    };
    let entries = names.iter().map(entry).collect();
    RuleEncoding { section, order: MatchOrder::Strictest, entries, default }
}
