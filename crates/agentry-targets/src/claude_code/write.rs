//! Renders agents for Claude Code: their files, and the settings that they share.

use std::collections::HashSet;

use agentry_model::{McpServer, McpTransport};
use agentry_policy::Section;
use agentry_text::Data;

use super::encode::{self, SectionPlan, is_allowed, is_harmless, named, plan, reads_workspace};
use super::fields::FIELDS;
use super::rule::is_plain;
use super::ruleset::tools_in;
use super::settings::{self, ClaudeRuleLists};
use super::share::shared;
use super::tools::{ClaudeTools, GROUPS, SEARCHING, beside, groups};
use super::{NAME, OTHER_SERVERS, OTHER_SKILLS, agent_file, hook, losses};
use crate::fields;
use crate::front_matter::MARK;
use crate::original::{self, OriginalFrontMatter};
use crate::render::{ask_ahead, each, each_of};
use crate::render_result::{
    ProjectRendering, RenderScope, RenderSettings, RenderedAgent, RenderedFile, SharedLine,
};
use crate::rivals::FilesByName;
use crate::servers::{self, VariableStyle};
use crate::skills;
use crate::subject::RenderSubject;

/// The directory in which Claude Code finds skills.
const SKILLS: &str = ".claude/skills";

/// What one agent gets.
struct ClaudeAgent<'a> {
    subject: &'a RenderSubject,
    tools: ClaudeTools,
    servers: Vec<&'a McpServer>,
    /// The rules that it uses of the settings.
    rules: ClaudeRuleLists,
    /// The sections that lost their tools, and the rules that would keep them.
    missing: Vec<(Section, ClaudeRuleLists)>,
}

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    // Existing agent files, rendered or not.
    let others = agent_file::by_name(settings.existing, agent_file::AGENTS);
    let (agents, rules) = arranged(subjects, settings, is_alone(subjects, settings, &others));
    let unwritten = agents.iter().map(|agent| (agent.subject, agent));
    let mut out = each_of(unwritten, |_, agent| write(agent, settings));
    unique(subjects, &others, settings, &mut out);
    let hooks = settings.guard.then(hook::of_settings);
    let existing = settings.existing.text(settings::SHARED);
    let mut files = Vec::new();
    let ours = settings::rendered(existing.as_deref());
    // Without the request to write shared rules, those of an earlier rendering stay.
    let rules = if settings.shared { rules } else { ours.rules };
    let is_written = settings.shared || settings.guard || ours.is_some;
    match settings::merged(existing, &rules, hooks) {
        Ok(text) => {
            // A file in which nothing is left but what Agentry wrote is not wanted any more.
            let is_used_up = |text: &str| ours.is_some && settings::is_empty(text);
            let text = text.filter(|text| is_written && !is_used_up(text));
            files.extend(text.map(|text| (settings::SHARED.to_owned(), text)));
        }
        Err(wrong) => {
            for agent in &mut out {
                let hint = "fix the file; it is never overwritten";
                agent.refuse("permissions", wrong.as_str(), Some(hint));
            }
        }
    }
    if settings.guard {
        files.push((hook::AGENTS.to_owned(), hook::agents(subjects)));
    }
    let shared: Vec<RenderedFile> =
        files.into_iter().map(|(path, text)| RenderedFile::new(path, text)).collect();
    let lines = lines(&agents, &rules, settings);
    let written = agents.iter().zip(out).map(|(agent, out)| (agent.subject, (agent, out)));
    let agents = each_of(written, |subject, (agent, mut out)| {
        let allowed = (agent.rules.allow.as_slice(), rules.allow.as_slice());
        losses::report(subject, (&agent.tools, allowed), &shared, settings, &mut out);
        losses::unshared(&agent.missing, &mut out);
        out
    });
    ProjectRendering { agents, shared, lines }
}

/// Returns the shared lines, each with an agent that needs it.
fn lines(
    agents: &[ClaudeAgent<'_>],
    rules: &ClaudeRuleLists,
    settings: &RenderSettings<'_>,
) -> Vec<SharedLine> {
    let mut lines = Vec::new();
    for (agent, ClaudeAgent { rules: own, missing, .. }) in agents.iter().enumerate() {
        let mut line = |place: String, text: &str| {
            let (path, text) = (settings::SHARED.to_owned(), text.to_owned());
            lines.push(SharedLine { path, place, text, agent });
        };
        let used = own.listed().filter(|(list, text)| rules.by_name(list).contains(text));
        let lacking = missing.iter().flat_map(|(_, rules)| rules.listed());
        for (list, text) in used.chain(lacking) {
            line(format!("permissions.{list}"), text);
        }
        if settings.guard {
            line("hooks.PreToolUse".to_owned(), hook::COMMAND.trim());
        }
    }
    lines
}

/// Whether the shared rules would apply to no other agent. Rules of the user scope apply to every project, so
/// they never count as alone. A foreign file is another agent even under one of our names, unless `--force`
/// replaces it. A rendered file that was edited counts as ours.
fn is_alone(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
    others: &FilesByName,
) -> bool {
    let own: HashSet<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
    let is_ours = |name: &str, path: &String| {
        let text = || settings.existing.text(path).unwrap_or_default();
        settings.force || (*path == agent_file::path(name) && text().contains(MARK))
    };
    let mut others = others.iter();
    settings.scope == RenderScope::Project
        && others.all(|(name, paths)| {
            own.contains(name.as_str()) && paths.iter().all(|path| is_ours(name, path))
        })
}

/// Refuses an agent whose name another file has too: Claude Code uses only one of the two.
fn unique(
    subjects: &[RenderSubject],
    others: &FilesByName,
    settings: &RenderSettings<'_>,
    out: &mut [RenderedAgent],
) {
    for (subject, out) in subjects.iter().zip(out) {
        let own = agent_file::path(&subject.name);
        let rivals = others.get(&subject.name);
        for rival in rivals.into_iter().flatten().filter(|path| **path != own) {
            out.rival(rival.clone(), "Claude Code", settings);
        }
    }
}

/// Plans the tools of each agent, and the rules for all of them.
fn arranged<'a>(
    subjects: &'a [RenderSubject],
    settings: &RenderSettings<'_>,
    alone: bool,
) -> (Vec<ClaudeAgent<'a>>, ClaudeRuleLists) {
    ask_ahead(subjects, GROUPS, |subject, group| drop(plan(subject, group.section, settings)));
    let known = settings::of_project(settings.existing);
    let mut rules = ClaudeRuleLists::default();
    let mut by_group: Vec<Vec<SectionPlan>> = Vec::new();
    for group in GROUPS {
        let mut plans = each(subjects, |subject| plan(subject, group.section, settings));
        rely(&mut plans, &known, settings);
        let mut together = shared(alone, &plans);
        if settings.guard && settings.shared {
            // The guard denies exactly, so no denial may restrict another agent.
            let is_kept = |text: &String, subject| is_harmless(text, group.section, subject);
            together.deny.retain(|text| subjects.iter().all(|subject| is_kept(text, subject)));
        }
        rules.extend(&together);
        by_group.push(plans);
    }
    let mut of_servers = each(subjects, |subject| encode::servers(subject, settings));
    rely(&mut of_servers, &known, settings);
    if !settings.guard {
        rules.extend(&shared(alone, &of_servers));
    }
    let agents = subjects.iter().zip(&of_servers).enumerate().map(|(at, (subject, servers))| {
        let plans: Vec<&SectionPlan> = by_group.iter().filter_map(|plans| plans.get(at)).collect();
        agent(subject, &plans, servers, settings)
    });
    (agents.collect(), rules)
}

/// Removes the tools that need rules which are not written. The guard needs none.
fn rely(plans: &mut [SectionPlan], known: &ClaudeRuleLists, settings: &RenderSettings<'_>) {
    if !settings.shared && !settings.guard {
        plans.iter_mut().for_each(|plan| plan.rely_on(known));
    }
}

fn agent<'a>(
    subject: &'a RenderSubject,
    plans: &[&SectionPlan],
    of_servers: &SectionPlan,
    settings: &RenderSettings<'_>,
) -> ClaudeAgent<'a> {
    let usable = |server: &&McpServer| {
        let name = format!("mcp__{}", server.name);
        let ClaudeRuleLists { allow, ask, .. } = &of_servers.rules;
        server.enabled.is_none_or(|it| it.value) && (allow.contains(&name) || ask.contains(&name))
    };
    let declared = subject.agent.tools.mcp.iter().flatten().map(|server| &server.value);
    let servers: Vec<&McpServer> = declared.filter(usable).collect();
    // Without a list an agent has every tool, so both sections must allow everything.
    let free = is_allowed(subject, Section::Tool) && is_allowed(subject, Section::Mcp);
    let groups = groups();
    let original = OriginalFrontMatter::of(&subject.agent, NAME);
    let mut listed: Vec<String> = Vec::new();
    let mut removed: Vec<String> = Vec::new();
    for (group, plan) in GROUPS.iter().zip(plans) {
        // A search tool cannot ask about a single file, so it is removed where some files need a question.
        let is_eased = subject.eased.contains(&group.section);
        let blind = if settings.guard {
            !reads_workspace(subject)
        } else {
            plan.asks_about_some() && !is_eased
        };
        for tool in group.tools {
            let has = original.may_have(&groups, tool);
            let kept = plan.kept && has && !(SEARCHING.contains(tool) && blind);
            if kept { &mut listed } else { &mut removed }.push((*tool).to_owned());
        }
        let narrow = !plan.kept || (group.section == Section::Bash && !plan.rules.is_only_allow());
        if free && narrow {
            removed.extend(beside(group.section).map(str::to_owned));
        }
    }
    listed.extend(named(subject, of_servers));
    listed.extend(servers.iter().map(|server| format!("mcp__{}__*", server.name)));
    let tools = ClaudeTools { listed: (!free).then_some(listed), removed };
    let written = lists(&tools).into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let tools = tools_in(&original::applied(subject, Data::Map(written)));
    let mut rules = ClaudeRuleLists::default();
    plans.iter().copied().chain([of_servers]).for_each(|plan| rules.extend(&plan.rules));
    let sections = GROUPS.iter().map(|group| group.section).chain([Section::Mcp]);
    let all = sections.zip(plans.iter().copied().chain([of_servers]));
    let lacking = all.filter(|(_, plan)| !plan.missing.is_only_allow());
    let missing = lacking.map(|(section, plan)| (section, plan.missing.clone())).collect();
    ClaudeAgent { subject, tools, servers, rules, missing }
}

/// The tools of an agent as metadata.
fn lists(tools: &ClaudeTools) -> Vec<(&'static str, Data)> {
    let listed = tools.listed.as_deref().map(|listed| ("tools", list(listed)));
    let removed = Some(&tools.removed).filter(|removed| !removed.is_empty());
    let removed = removed.map(|removed| ("disallowedTools", list(removed)));
    listed.into_iter().chain(removed).collect()
}

fn write(agent: &ClaudeAgent<'_>, settings: &RenderSettings<'_>) -> RenderedAgent {
    let mut out = RenderedAgent::default();
    let ClaudeAgent { subject, tools, servers, .. } = agent;
    let original = OriginalFrontMatter::of(&subject.agent, NAME);
    let mut computed = lists(tools);
    let found = skills::copy(subject, &[SKILLS], SKILLS, &mut out);
    let elsewhere = original.names(OTHER_SKILLS);
    let names = subject.skills.iter().map(|skill| skill.name.as_str());
    let names: Vec<&str> =
        names.filter(|name| found.contains(name) || elsewhere.contains(name)).collect();
    if !names.is_empty() {
        computed.push(("skills", Data::strings(names)));
    }
    let elsewhere = original.names(OTHER_SERVERS).into_iter();
    let elsewhere = elsewhere.filter(|name| is_plain(name)).map(Data::str);
    let servers: Vec<Data> = servers.iter().map(|it| server(it)).chain(elsewhere).collect();
    if !servers.is_empty() {
        computed.push(("mcpServers", Data::List(servers)));
    }
    if settings.guard {
        computed.push(("hooks", hook::of_agent(subject)));
        if settings.scope == RenderScope::User {
            let message = "the guard looks for the definition in the project, not in the home";
            out.refuse("permissions", message, Some("render it for the project"));
        }
    }
    let body = subject.prompt();
    let metadata = fields::write(FIELDS, (subject, NAME), computed, &mut out);
    losses::running(&metadata, &mut out);
    match agent_file::write(&subject.origin(), &metadata, &body) {
        Some(text) => out.files.push(RenderedFile::new(agent_file::path(&subject.name), text)),
        None => out.refuse(
            "description",
            "Claude Code ends the metadata at the first `---`, and a value holds one",
            Some("write it in another way"),
        ),
    }
    out
}

/// Writes a list of tools; an empty list differs from no list, which means all tools.
fn list(tools: &[String]) -> Data {
    if tools.is_empty() { Data::List(Vec::new()) } else { Data::str(tools.join(", ")) }
}

/// Writes an MCP server for the metadata.
fn server(server: &McpServer) -> Data {
    let old = server.transport.is_some_and(|it| it.value == McpTransport::Http);
    let kind = match &server.command {
        Some(_) => "stdio",
        None if old => "sse",
        None => "http",
    };
    let mut fields = vec![("type".to_owned(), Data::str(kind))];
    if let Data::Map(more) = servers::write(server, "url", VariableStyle::Bare) {
        fields.extend(more);
    }
    Data::Map(vec![(server.name.clone(), Data::Map(fields))])
}
