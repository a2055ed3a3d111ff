//! Checks of the files that people write for a harness: agents, skills, servers, hooks, settings and texts.
//!
//! ```text
//! path ─▶ place ─▶ kind ─▶ document ─▶ fields with spans ─▶ rules, generic over the facts of the harness
//! ```
//!
//! A file is untrusted: its size, depth and number of values are limited by the readers, and nothing in it is
//! executed. What a harness does is in its [`AuthoringFacts`](agentry_targets::AuthoringFacts).

mod agent;
mod config_fields;
mod context;
mod descriptions;
mod document;
mod fields;
mod hooks;
mod links;
mod metadata_rules;
mod models;
mod names;
mod opencode;
mod other_settings;
mod pi;
mod place;
mod rules_overlap;
mod servers;
mod settings;
mod skills;
mod text;
mod tools;

use agentry_formats::{FORMATS, PathPresence};
use agentry_model::Agent;
use agentry_policy::memo::PolicyMemo;
use agentry_targets::{TARGETS, Target, claude_code};
use agentry_text::{Diagnostic, Findings, LintRule, SourceFile, Spanned, path};

use agent::{AgentOrigin, AuthoredAgent, items, knows_field};
use document::HarnessDocument;

use crate::CheckSubject;

pub use names::AgentSummary;
pub use place::{HarnessFileKind, HookDialect, SettingsFile, is_placed, kind_of};

/// Every rule about files of harnesses, by topic.
pub const RULES: &[&[&LintRule]] = &[
    metadata_rules::RULES,
    fields::RULES,
    names::RULES,
    descriptions::RULES,
    tools::RULES,
    pi::RULES,
    models::RULES,
    opencode::RULES,
    rules_overlap::RULES,
    settings::RULES,
    other_settings::RULES,
    config_fields::RULES,
    skills::RULES,
    servers::RULES,
    hooks::RULES,
    context::RULES,
];

/// A file of a harness, and what its checks may ask.
pub struct HarnessSubject<'a> {
    /// What the file is.
    pub kind: HarnessFileKind,
    /// The file.
    pub source: &'a SourceFile,
    /// Whether the file belongs to a plugin of Claude Code.
    pub is_plugin: bool,
    /// Whether the file is in the user's home, and not in a project.
    pub is_personal: bool,
    /// What is at a path that is relative to the directory of the file.
    pub probe: &'a dyn Fn(&str) -> PathPresence,
    /// What is at a path that is relative to the root of the repository.
    pub probe_root: &'a dyn Fn(&str) -> PathPresence,
    /// Memoised comparisons of rules.
    pub memo: &'a PolicyMemo,
}

/// Checks a file. Returns its agents, for the checks across files.
pub fn check(subject: &HarnessSubject<'_>, findings: &mut Findings) -> Vec<AgentSummary> {
    match subject.kind {
        HarnessFileKind::Agent(target) => agent_file(subject, target, AgentOrigin::File, findings),
        HarnessFileKind::PluginAgent => {
            let origin = if subject.is_plugin { AgentOrigin::Plugin } else { AgentOrigin::File };
            agent_file(subject, &claude_code::TARGET, origin, findings)
        }
        HarnessFileKind::Unread(target) => {
            let start = agentry_text::Span::start_of(subject.source.id);
            names::unread(target.title, start, &subject.source.path, findings);
            Vec::new()
        }
        HarnessFileKind::Skill => skills::check(subject, findings).into_iter().collect(),
        HarnessFileKind::Settings(SettingsFile::Opencode) => {
            other_settings::opencode(subject, findings)
        }
        other => {
            check_other(subject, other, findings);
            Vec::new()
        }
    }
}

/// Checks a file without agents.
fn check_other(subject: &HarnessSubject<'_>, kind: HarnessFileKind, findings: &mut Findings) {
    match kind {
        HarnessFileKind::Servers(key) => servers::check_file(subject, key, findings),
        HarnessFileKind::Hooks(dialect) => hooks::check_file(subject, dialect, findings),
        HarnessFileKind::Context => context::check(subject, findings),
        HarnessFileKind::CursorRule => context::check_rule(subject, findings),
        HarnessFileKind::Settings(file) => match file {
            SettingsFile::Claude => settings::check(subject, findings),
            SettingsFile::Gemini => other_settings::gemini(subject, findings),
            SettingsFile::GeminiPolicy => other_settings::gemini_policy(subject, findings),
            SettingsFile::Codex => other_settings::codex(subject, findings),
            SettingsFile::Opencode => {}
        },
        HarnessFileKind::Agent(_)
        | HarnessFileKind::PluginAgent
        | HarnessFileKind::Unread(_)
        | HarnessFileKind::Skill => {}
    }
}

/// Whether a Markdown file below `agents/` has the metadata of a Claude Code agent, and not that of another
/// harness or of a page.
pub fn is_plugin_agent(source: &SourceFile) -> bool {
    let claude = &claude_code::TARGET;
    let fields = document::top_level(source);
    let has = |field: &str| fields.entry(field).is_some();
    let others = TARGETS.iter().filter(|target| target.authoring.is_some());
    let is_foreign = |name: &str| {
        let mut others = others.clone();
        !knows_field(claude, name) && others.any(|target| knows_field(target, name))
    };
    let keys = fields.entries.iter().map(|entry| entry.key.text.as_str());
    // OpenCode has a map of switches.
    let has_switches = fields.get("tools").is_some_and(|tools| tools.as_map().is_some());
    let is_other = has("title") || has_switches || keys.into_iter().any(is_foreign);
    let is_tool = |name: &str| tools::is_known(claude, name.trim_matches(['[', ']', '"', '\'']));
    let names = fields.get("tools").map(items).unwrap_or_default();
    // Other programs share some names of tools with Claude Code.
    let known = names.iter().filter(|name| is_tool(name.value)).count();
    let has_tools = known * 2 >= names.len();
    has("name") && has("description") && !is_other && has_tools
}

/// Finds problems between the agents of a repository: for each, the position of the agent.
pub fn check_together(agents: &[(&str, &AgentSummary)]) -> Vec<(usize, Diagnostic)> {
    let mut found = names::clashes(agents);
    found.extend(descriptions::repeated(agents));
    found.extend(skills::clashes(agents));
    found.sort_by_key(|(at, _)| *at);
    found
}

fn agent_file(
    subject: &HarnessSubject<'_>,
    target: &'static Target,
    origin: AgentOrigin,
    findings: &mut Findings,
) -> Vec<AgentSummary> {
    let Some(facts) = target.authoring else { return Vec::new() };
    let source = subject.source;
    let document = HarnessDocument::agent(source, facts, findings);
    let agent = AuthoredAgent {
        target,
        facts,
        origin,
        source,
        id: id_of(&source.path),
        fields: &document.fields,
        prompt: document.body.clone(),
        start: document.start,
    };
    if !metadata_rules::check_presence(&agent, &document, findings) {
        return Vec::new();
    }
    metadata_rules::check_required(&agent, findings);
    check_agent(&agent, findings);
    if target.name == "opencode" {
        other_settings::permission(subject, agent.fields, findings);
    }
    if let Some(hooks) = agent.node("hooks").filter(|_| target.name == "claude-code") {
        hooks::check(subject, hooks, HookDialect::Claude, findings);
    }
    text::check(subject, &agent, findings);
    vec![summary(&agent, names::scope(&source.path))]
}

/// Runs the checks of one agent, wherever it is written.
fn check_agent(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    fields::check(agent, findings);
    names::check(agent, findings);
    descriptions::check(agent, findings);
    tools::check(agent, findings);
    models::check(agent, findings);
    pi::check(agent, findings);
}

fn summary(agent: &AuthoredAgent<'_>, scope: String) -> AgentSummary {
    let description = agent.text("description");
    AgentSummary {
        harness: agent.target.name,
        scope,
        in_settings: agent.origin == AgentOrigin::Settings,
        name: agent.name(),
        description: description.map(|it| Spanned::new(it.value.to_owned(), it.span)),
    }
}

/// An agent for the checks of definitions. The format does not matter to those that run here.
fn as_definition<'a>(agent: &'a Agent, subject: &HarnessSubject<'a>) -> Option<CheckSubject<'a>> {
    let format = FORMATS.first()?;
    Some(CheckSubject { agent, format, memo: subject.memo })
}

/// The name that a file gives its agent: the path below the directory of agents.
fn id_of(path: &str) -> String {
    let whole = format!("/{path}");
    let rest = place::agent_place(&whole).map_or(path::name(path), |(_, rest)| rest);
    let suffixes = [".agent.md", ".chatmode.md"];
    let stem = suffixes.iter().find_map(|suffix| rest.strip_suffix(suffix));
    let stem = stem.or_else(|| rest.rsplit_once('.').map(|(it, _)| it));
    stem.unwrap_or(rest).to_owned()
}
