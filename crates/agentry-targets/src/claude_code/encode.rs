//! Encodes the rules of one agent as what it needs from the settings.
//!
//! A rule of Claude Code cannot be an exception from a stricter one. So there are three results: everything
//! is allowed except some asks and denials; everything is asked except some denials; or the tool is removed.
//! Claude Code itself asks in its ordinary mode, so that most asks need no rule.

use std::collections::HashSet;

use agentry_policy::commands::secrets;
use agentry_policy::{Action, PatternRule, Section};

use super::NAME;
use super::paths;
use super::rule::{entry, is_plain, tool_of, written};
use super::ruleset::{never, workspace};
use super::settings::ClaudeRuleLists;
use super::tools::section_of;
use crate::built_in_protection;
use crate::encoding::{EncodedRule, MatchBounds, MatchOrder, RuleEncoding};
use crate::gap::close;
use crate::model::always;
use crate::proof::{PolicyProof, within};
use crate::question_habits::is_asked;
use crate::render_result::{RenderScope, RenderSettings};
use crate::subject::RenderSubject;
use crate::wildcard::ANYTHING;

/// What one agent needs in one section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SectionPlan {
    /// Whether the agent has the tools of the section.
    pub(super) kept: bool,
    /// The rules that keep the tools within the source.
    pub(super) rules: ClaudeRuleLists,
    /// Whether the ordinary mode of Claude Code asks, so that the rules that ask are not needed.
    pub(super) asked: bool,
    /// The rules without which the tools were removed.
    pub(super) missing: ClaudeRuleLists,
}

impl SectionPlan {
    fn new(kept: bool, rules: ClaudeRuleLists) -> Self {
        Self { kept, rules, ..Self::default() }
    }

    /// Removes the tools if a rule that they need is not among the shared rules that exist.
    pub(super) fn rely_on(&mut self, known: &ClaudeRuleLists) {
        let lacking = |needed: &[String], known: &[String]| -> Vec<String> {
            needed.iter().filter(|text| !known.contains(text)).cloned().collect()
        };
        let ask = if self.asked { Vec::new() } else { lacking(&self.rules.ask, &known.ask) };
        let deny = lacking(&self.rules.deny, &known.deny);
        let missing = ClaudeRuleLists { allow: Vec::new(), ask, deny };
        if !missing.is_only_allow() {
            *self = Self { missing, ..Self::default() };
        }
    }

    /// Whether only some files are asked about.
    pub(super) fn asks_about_some(&self) -> bool {
        let inside = [RenderScope::Project, RenderScope::User]
            .map(|scope| format!("Read({})", paths::inside(scope)));
        self.rules.ask.iter().any(|text| !inside.contains(text))
    }
}

/// Plans a section of an agent; the result is memoised.
pub(super) fn plan(
    subject: &RenderSubject,
    section: Section,
    settings: &RenderSettings<'_>,
) -> SectionPlan {
    let is_user = settings.scope == RenderScope::User;
    let flags = [settings.guard, settings.close_gaps, settings.is_attended(), is_user];
    let question = (subject.kind(), section, flags);
    subject.memo.claude_code.plans.get(question, || {
        if settings.guard {
            guarded(subject, section, settings.scope)
        } else {
            unguarded(subject, section, settings)
        }
    })
}

fn unguarded(
    subject: &RenderSubject,
    section: Section,
    settings: &RenderSettings<'_>,
) -> SectionPlan {
    if is_denied(subject, section) {
        return SectionPlan::default();
    }
    let asked = settings.is_attended() && is_asked(NAME, section);
    let by_rules = by_rules(subject, section, settings);
    let is_free = by_rules.kept && by_rules.rules.allow.iter().any(|text| is_all(text, section));
    if asked && !is_free {
        return walls(subject, section, settings.scope);
    }
    // Questions that Claude Code may skip need no rule either.
    SectionPlan { asked: asked || subject.eased.contains(&section), ..by_rules }
}

/// Whether an allow rule is about everything that a tool does in the workspace.
pub(super) fn is_all(text: &str, section: Section) -> bool {
    let Some(tool) = tool_of(section) else { return false };
    let scopes = [RenderScope::Project, RenderScope::User].into_iter();
    text == tool
        || scopes.map(|scope| format!("{tool}({})", paths::inside(scope))).any(|it| text == it)
}

/// Plans a section in which Claude Code itself asks about every call: only denials are written.
fn walls(subject: &RenderSubject, section: Section, scope: RenderScope) -> SectionPlan {
    let mut entries = stricter(subject, section, scope);
    entries.retain(|entry| entry.action == Action::Deny);
    let by_default = always(section, Action::Ask, "asked about");
    // Claude Code asks about files outside the workspace in every mode.
    let (others, default) = if section == Section::Edit {
        entries.push(workspace());
        (vec![by_default], Action::Ask)
    } else {
        (vec![never(section), by_default], Action::Allow)
    };
    let bounds = subject.bounds(section);
    let narrowed = encoding(section, entries, default).narrowed(&subject.memo, &others, &bounds);
    let RuleEncoding { mut entries, default, .. } = narrowed.encoding;
    let is_inside = |entry: &EncodedRule| entry.text == "inside";
    let is_closed = entries.iter().any(|entry| is_inside(entry) && entry.action == Action::Deny);
    let kept = default < Action::Deny && !is_closed;
    entries.retain(|entry| !is_inside(entry));
    SectionPlan { asked: true, ..SectionPlan::new(kept, lists(entries, kept)) }
}

/// Plans a section as if Claude Code asked only because of rules.
fn by_rules(
    subject: &RenderSubject,
    section: Section,
    settings: &RenderSettings<'_>,
) -> SectionPlan {
    match section {
        Section::Edit | Section::Read => of_files(subject, section, settings),
        Section::Question => {
            // The user sees every question and can dismiss it, so asking counts as an ask.
            let ask = always(section, Action::Ask, "ask");
            let kept =
                within(&subject.memo, &[ask], &subject.bounds(section)) == PolicyProof::Holds;
            SectionPlan::new(kept, ClaudeRuleLists::default())
        }
        _ => flat(subject, section, settings),
    }
}

/// Plans a section where the guard is asked about each call: only the denials are written.
fn guarded(subject: &RenderSubject, section: Section, scope: RenderScope) -> SectionPlan {
    let mut rules = ClaudeRuleLists::default();
    for rule in source(subject, section).filter(|rule| rule.action == Action::Deny) {
        let texts = written(section, rule, scope);
        rules.deny.extend(texts.into_iter().filter(|text| is_harmless(text, section, subject)));
    }
    rules.deny.dedup();
    SectionPlan::new(!is_denied(subject, section), rules)
}

/// Whether the source denies everything that a deny rule may match.
pub(super) fn is_harmless(deny: &str, section: Section, subject: &RenderSubject) -> bool {
    let Some(mut entry) = entry(section, deny, Action::Deny) else { return false };
    // A deny may match more than is known for sure: the upper bound must be harmless too.
    entry.matches.least.clone_from(&entry.matches.most);
    let rules = encoding(section, vec![entry], Action::Allow).rules();
    within(&subject.memo, &subject.bounds(section), &[rules]) == PolicyProof::Holds
}

/// Whether the source denies the whole section.
pub(super) fn is_denied(subject: &RenderSubject, section: Section) -> bool {
    subject.memo.claude_code.denied.get((subject.kind(), section), || {
        let deny = always(section, Action::Deny, "deny");
        within(&subject.memo, &subject.bounds(section), &[deny]) == PolicyProof::Holds
    })
}

/// Whether the source allows the whole section.
pub(super) fn is_allowed(subject: &RenderSubject, section: Section) -> bool {
    let allow = always(section, Action::Allow, "allow");
    within(&subject.memo, &[allow], &subject.bounds(section)) == PolicyProof::Holds
}

/// Returns the rules of a section that can decide: not a repeated pattern, and none after one that matches
/// everything.
fn source(subject: &RenderSubject, section: Section) -> impl Iterator<Item = &PatternRule> {
    let rules = subject.permissions.get(section).map(|rules| &rules.rules);
    let mut seen: HashSet<&str> = HashSet::new();
    let mut live = Vec::new();
    for rule in rules.into_iter().flatten().map(|rule| &rule.value) {
        if seen.insert(rule.pattern.as_str()) {
            live.push(rule);
        }
        if matches!(rule.pattern.as_str(), "*" | "**") {
            break;
        }
    }
    live.into_iter()
}

fn encoding(section: Section, entries: Vec<EncodedRule>, default: Action) -> RuleEncoding {
    RuleEncoding { section, order: MatchOrder::Strictest, entries, default }
}

/// Encodes the asks and denials of the source.
fn stricter(subject: &RenderSubject, section: Section, scope: RenderScope) -> Vec<EncodedRule> {
    let mut entries: Vec<EncodedRule> = Vec::new();
    for rule in source(subject, section).filter(|rule| rule.action > Action::Allow) {
        for text in written(section, rule, scope) {
            let known =
                entries.iter().any(|known| known.text == text && known.action >= rule.action);
            entries.extend(entry(section, &text, rule.action).filter(|_| !known));
        }
    }
    entries
}

fn flat(subject: &RenderSubject, section: Section, settings: &RenderSettings<'_>) -> SectionPlan {
    let Some(tool) = tool_of(section) else { return SectionPlan::default() };
    let mut entries = stricter(subject, section, settings.scope);
    // Narrowing may raise this entry; its verdict below decides whether the tool is kept.
    let all = MatchBounds::exactly(ANYTHING);
    entries.push(EncodedRule { text: tool.to_owned(), action: Action::Allow, matches: all });
    let bounds = subject.bounds(section);
    let narrowed = encoding(section, entries, Action::Allow).narrowed(
        &subject.memo,
        &[never(section)],
        &bounds,
    );
    let mut encoding = narrowed.encoding;
    if section == Section::Bash && settings.close_gaps {
        close(subject, &mut encoding, super::blind_spots::BLIND);
    }
    if settings.close_gaps {
        built_in_protection::close(subject, &mut encoding, &[never(section)]);
    }
    let rest = encoding.entries.iter().find(|entry| entry.text == tool).map(|entry| entry.action);
    let ask = always(section, Action::Ask, "ask");
    let kept = match rest {
        Some(Action::Allow) => true,
        // These rules apply to the user's own sessions too, which use skills and subagents all the time.
        Some(Action::Ask) if matches!(section, Section::Skill | Section::Delegate) => false,
        // An ask about everything would override what the source allows.
        Some(Action::Ask) => within(&subject.memo, &bounds, &[ask]) == PolicyProof::Holds,
        Some(Action::Deny) | None => false,
    };
    SectionPlan::new(kept, lists(encoding.entries, kept))
}

fn lists(entries: Vec<EncodedRule>, kept: bool) -> ClaudeRuleLists {
    let mut lists = ClaudeRuleLists::default();
    for EncodedRule { text, action, .. } in entries.into_iter().filter(|_| kept) {
        let list = match action {
            Action::Allow => &mut lists.allow,
            Action::Ask => &mut lists.ask,
            Action::Deny => &mut lists.deny,
        };
        if !list.contains(&text) {
            list.push(text);
        }
    }
    lists
}

/// Plans the rules about files. Inside the workspace everything is allowed or asked; outside it is asked.
fn of_files(
    subject: &RenderSubject,
    section: Section,
    settings: &RenderSettings<'_>,
) -> SectionPlan {
    let Some(tool) = tool_of(section) else { return SectionPlan::default() };
    let scope = settings.scope;
    let inside_text = format!("{tool}({})", paths::inside(scope));
    let mut entries = stricter(subject, section, scope);
    entries.extend(milder(subject, section, scope));
    entries.push(workspace());
    let bounds = subject.bounds(section);
    let narrowed = encoding(section, entries, Action::Ask).narrowed(&subject.memo, &[], &bounds);
    let mut encoding = narrowed.encoding;
    if settings.close_gaps {
        ask_about_secrets(subject, tool, &mut encoding);
        built_in_protection::close(subject, &mut encoding, &[]);
    }
    let of = |text: &str| encoding.entries.iter().find(|it| it.text == text).map(|it| it.action);
    let kept = match of("inside") {
        Some(Action::Allow) => encoding.default == Action::Ask,
        Some(Action::Ask) => encoding.default == Action::Ask && !allows_inside(subject, section),
        Some(Action::Deny) | None => false,
    };
    // Claude Code reads below the workspace without any rule.
    let needless = |entry: &EncodedRule| {
        section == Section::Read && entry.action == Action::Allow && entry.text == "inside"
    };
    encoding.entries.retain(|entry| !needless(entry));
    for entry in encoding.entries.iter_mut().filter(|entry| entry.text == "inside") {
        entry.text.clone_from(&inside_text);
    }
    SectionPlan::new(kept, lists(encoding.entries, kept))
}

/// Adds an ask about each kind of secret, in any directory, if the rules would allow some of them.
fn ask_about_secrets(subject: &RenderSubject, tool: &str, encoding: &mut RuleEncoding) {
    let section = encoding.section;
    let entries = secrets::all().flat_map(|secret| {
        let anywhere = if secret.rooted { "" } else { "**/" };
        let itself = format!("{tool}(//{anywhere}{})", secret.path);
        let below = secret.tree.then(|| format!("{tool}(//{anywhere}{}/**)", secret.path));
        std::iter::once(itself).chain(below)
    });
    let entries: Vec<EncodedRule> =
        entries.filter_map(|text| entry(section, &text, Action::Ask)).collect();
    if !built_in_protection::protects(subject, section, &[encoding.rules()]) {
        encoding.entries.extend(entries);
    }
}

/// Encodes what the source allows outside the workspace, where Claude Code would ask.
fn milder(subject: &RenderSubject, section: Section, scope: RenderScope) -> Vec<EncodedRule> {
    let outside = source(subject, Section::ExternalDirectory).chain(source(subject, section));
    let rooted = outside.filter(|rule| rule.pattern.starts_with(['/', '~']));
    let allow = rooted.filter(|rule| rule.action == Action::Allow);
    let texts = allow.flat_map(|rule| written(section, rule, scope));
    let entries = texts.filter_map(|text| entry(section, &text, Action::Allow));
    // An allow that permits too much is left out here; narrowing it would also make others stricter.
    let bounds = subject.written_bounds(section);
    let within_source = |entry: &EncodedRule| {
        let rules = encoding(section, vec![entry.clone()], Action::Deny).rules();
        within(&subject.memo, &[rules], &bounds) == PolicyProof::Holds
    };
    entries.filter(within_source).collect()
}

/// Whether the source allows something inside the workspace.
fn allows_inside(subject: &RenderSubject, section: Section) -> bool {
    let mut bounds = subject.bounds(section).to_vec();
    bounds.push(encoding(section, vec![workspace()], Action::Deny).rules());
    within(&subject.memo, &bounds, &[always(section, Action::Ask, "ask")]) != PolicyProof::Holds
}

/// Plans the MCP servers that an agent may use, with their rules; it cannot reach any other server.
pub(super) fn servers(subject: &RenderSubject, settings: &RenderSettings<'_>) -> SectionPlan {
    let declared = subject.agent.tools.mcp.iter().flatten();
    let declared: Vec<String> = declared.map(|server| server.name.clone()).collect();
    let flags = [settings.is_attended(), settings.scope == RenderScope::User];
    let question = (subject.kind(), declared, flags);
    subject.memo.claude_code.servers.get(question, || servers_within(subject, settings))
}

fn servers_within(subject: &RenderSubject, settings: &RenderSettings<'_>) -> SectionPlan {
    let asked = settings.is_attended() && is_asked(NAME, Section::Mcp);
    let declared = subject.agent.tools.mcp.iter().flatten();
    let usable = declared.filter(|it| is_plain(&it.name) && !it.name.contains("__"));
    let mut entries = stricter(subject, Section::Mcp, settings.scope);
    let names = usable.map(|server| format!("mcp__{}", server.name));
    let names: Vec<String> = names.chain(single(subject)).collect();
    entries.retain(|entry| !names.contains(&entry.text));
    entries.extend(names.iter().filter_map(|name| entry(Section::Mcp, name, Action::Allow)));
    let bounds = subject.bounds(Section::Mcp);
    let mut encoding = encoding(Section::Mcp, entries, Action::Deny);
    // A denied name is left out of the list. The other rules must hold without that deny, so narrow again.
    for _ in 0..=names.len() {
        encoding = encoding.narrowed(&subject.memo, &[never(Section::Mcp)], &bounds).encoding;
        let is_left = |it: &EncodedRule| it.action != Action::Deny || !names.contains(&it.text);
        if encoding.entries.iter().all(is_left) {
            break;
        }
        encoding.entries.retain(is_left);
    }
    let kept = encoding.entries.iter().any(|entry| names.contains(&entry.text));
    SectionPlan { asked, ..SectionPlan::new(kept, lists(encoding.entries, kept)) }
}

/// Names of MCP tools from the source whose server is not declared: single tools, or whole servers.
fn single(subject: &RenderSubject) -> impl Iterator<Item = String> {
    let declared =
        |server: &str| subject.agent.tools.mcp.iter().flatten().any(|known| known.name == server);
    let rules = source(subject, Section::Mcp).filter(|rule| rule.action < Action::Deny);
    rules.filter_map(move |rule| {
        let (server, tool) = rule.pattern.split_once('/')?;
        let plain = is_plain(server) && !server.contains("__") && !declared(server);
        let name = match tool {
            "*" | "**" => format!("mcp__{server}"),
            tool => format!("mcp__{server}__{tool}"),
        };
        (plain && is_plain(&name)).then_some(name)
    })
}

/// Names other tools that the source permits; MCP tools also where the source asks.
pub(super) fn named(subject: &RenderSubject, of_servers: &SectionPlan) -> Vec<String> {
    let ClaudeRuleLists { allow, ask, deny } = &of_servers.rules;
    let mut names = tools_by_name(subject);
    // The rules of a plan are dropped together: a conflicting deny would take the asks with it.
    let kept = single(subject).filter(|name| allow.contains(name) || ask.contains(name));
    names.extend(kept.filter(|_| deny.is_empty()));
    names
}

fn tools_by_name(subject: &RenderSubject) -> Vec<String> {
    let allow = source(subject, Section::Tool).filter(|rule| rule.action == Action::Allow);
    let plain = allow.filter(|rule| is_plain(&rule.pattern) && section_of(&rule.pattern).is_none());
    let allowed = |rule: &&PatternRule| {
        let entries = entry(Section::Tool, &rule.pattern, Action::Allow).into_iter().collect();
        let rules = encoding(Section::Tool, entries, Action::Deny).rules();
        within(&subject.memo, &[rules], &subject.bounds(Section::Tool)) == PolicyProof::Holds
    };
    plain.filter(allowed).map(|rule| rule.pattern.clone()).collect()
}

/// Whether the source allows reading everything inside the workspace.
pub(super) fn reads_workspace(subject: &RenderSubject) -> bool {
    let rules = encoding(Section::Read, vec![workspace()], Action::Deny).rules();
    within(&subject.memo, &[rules], &subject.bounds(Section::Read)) == PolicyProof::Holds
}
