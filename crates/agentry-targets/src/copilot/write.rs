//! Renders agents for Copilot.

use agentry_model::McpServer;
use agentry_policy::compare::ExampleSubject;
use agentry_policy::{Action, RuleList, Section};
use agentry_text::Data;

use super::fields::FIELDS;
use super::tools::{self, READING, TOOLS};
use super::{BLIND, NAME, programs};
use crate::built_in_protection::protects;
use crate::encoding::EncodingView;
use crate::fields::{self, report_losses};
use crate::gap::gaps;
use crate::original::{self, OriginalFrontMatter};
use crate::proof::action;
use crate::render::each;
use crate::render_result::{
    LossKind, ProjectRendering, RenderScope, RenderSettings, RenderedAgent, RenderedFile,
};
use crate::servers::VariableStyle;
use crate::subject::RenderSubject;
use crate::{front_matter, loss, servers, skills};

/// The longest prompt that Copilot accepts, in characters.
const LONGEST: usize = 30_000;

/// Directories in which Copilot finds skills itself.
const SKILLS: &[&str] = &[".github/skills", ".claude/skills", ".agents/skills"];

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let agents = each(subjects, |subject| agent(subject, settings));
    ProjectRendering { agents, ..ProjectRendering::default() }
}

fn agent(subject: &RenderSubject, settings: &RenderSettings<'_>) -> RenderedAgent {
    let mut out = RenderedAgent::default();
    let servers = permitted(subject, settings, &mut out);
    let names = tools(subject, settings, &servers);
    let mut computed = vec![("tools", Data::strings(names))];
    if !servers.is_empty() {
        let written = servers.iter().map(|server| (server.name.clone(), written(server)));
        computed.push(("mcp-servers", Data::Map(written.collect())));
    }
    let metadata = fields::write(FIELDS, (subject, NAME), computed, &mut out);
    losses(subject, &metadata, &mut out);
    let body = subject.prompt();
    length(&body, &mut out);
    let text = front_matter::write(&subject.origin(), &metadata, &body);
    let [project, user] = [".github", ".copilot"];
    let root = if settings.scope == RenderScope::User { user } else { project };
    out.files.push(RenderedFile::new(format!("{root}/agents/{}.agent.md", subject.name), text));
    // Copilot also reads `NAME.md`, which would be the same agent.
    let plain = format!("{root}/agents/{}.md", subject.name);
    if settings.existing.text(&plain).is_some() {
        out.rival(plain, "Copilot", settings);
    }
    skills::copy(subject, SKILLS, &format!("{root}/skills"), &mut out);
    out
}

/// Returns the tools that the agent may use without any limit.
fn tools(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    servers: &[&McpServer],
) -> Vec<String> {
    let fits = |tool: &str, sections: &[Section]| {
        sections.iter().all(|section| {
            let asked = tools::asked(*section).filter(|_| settings.is_attended());
            let layers: Vec<_> = tools::layers(tool, *section).into_iter().chain(asked).collect();
            let safe = || !settings.close_gaps || protects(subject, *section, &layers);
            subject.permits(*section, &layers) && safe()
        })
    };
    let original = OriginalFrontMatter::of(&subject.agent, NAME);
    let has = |tool: &str| original.may_have(&[READING.to_vec()], tool);
    let fitting = TOOLS.iter().filter(|(tool, sections)| has(tool) && fits(tool, sections));
    let mut names: Vec<String> = fitting.map(|(tool, _)| (*tool).to_owned()).collect();
    names.extend(servers.iter().map(|server| format!("{}/*", server.name)));
    if settings.close_gaps {
        let open = |section| temporary(subject, section) == Action::Allow;
        let blind = !gaps(subject, &tools::of(&names, EncodingView::Mildest), BLIND).is_empty();
        names.retain(|name| match name.as_str() {
            "execute" => !blind,
            "read" | "search" => open(Section::Read),
            "edit" => open(Section::Edit),
            _ => true,
        });
    }
    names
}

/// Returns the servers whose tools the agent may all use.
fn permitted<'a>(
    subject: &'a RenderSubject,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) -> Vec<&'a McpServer> {
    let asked = tools::asked(Section::Mcp).filter(|_| settings.is_attended());
    let all = subject.agent.tools.mcp.iter().flatten();
    let used = all.map(|server| &server.value).filter(|it| it.enabled.is_none_or(|it| it.value));
    let given = match original::given(subject, "tools").map(|grant| &grant.value) {
        Some(Some(list)) => front_matter::list_items(list).unwrap_or_default(),
        // Without a list the agent has all tools.
        Some(None) => vec!["*".to_owned()],
        None => Vec::new(),
    };
    let mut permitted = Vec::new();
    for server in used {
        let name = format!("{}/*", server.name);
        let is_given = given.iter().any(|tool| *tool == name || tool == "*");
        let layers: Vec<_> = [tools::server(&name)].into_iter().chain(asked.clone()).collect();
        if is_given || subject.permits(Section::Mcp, &layers) {
            servers::references(server, out);
            permitted.push(server);
        } else {
            let name = &server.name;
            let detail =
                format!("not all tools of the server `{name}` are allowed: it is left out");
            out.lose("tools.mcp", LossKind::Dropped, detail);
        }
    }
    permitted
}

/// Writes an MCP server for Copilot.
fn written(server: &McpServer) -> Data {
    let kind = if server.url.is_some() { "http" } else { "local" };
    let mut entries = vec![("type".to_owned(), Data::str(kind))];
    if let Data::Map(more) = servers::write(server, "url", VariableStyle::Untouched) {
        entries.extend(more);
    }
    entries.push(("tools".to_owned(), Data::strings(["*"])));
    Data::Map(entries)
}

/// Reports where the agent may do less than its source, and what Copilot does not check.
fn losses(subject: &RenderSubject, metadata: &Data, out: &mut RenderedAgent) {
    let model = tools::of(&tools::listed(metadata), EncodingView::Mildest);
    loss::toolless(subject, &model, None, out);
    // The field table reports the first two; reads and edits report the last one.
    let otherwise = [Section::Question, Section::Skill, Section::ExternalDirectory];
    loss::compare_all(subject, &model, &otherwise, out);
    let frees_temporary = programs::readers(metadata).iter().any(|program| program.frees_temporary);
    for section in [Section::Read, Section::Edit].into_iter().filter(|_| frees_temporary) {
        let action = temporary(subject, section);
        if action > Action::Allow && model.ways.iter().any(|way| way.section == section) {
            let detail = format!(
                "temporary files: Copilot CLI does not ask about them; `/tmp/x` is {action} in the \
                 source and allow there"
            );
            out.lose(format!("permissions.{section}"), LossKind::Gap, detail);
        }
    }
    programs::report(subject, metadata, out);
    report_losses(FIELDS, subject, out);
}

/// The verdict of the source about temporary files, which Copilot CLI counts as part of the workspace.
fn temporary(subject: &RenderSubject, section: Section) -> Action {
    let bounds = subject.written_bounds(section);
    let rules: Vec<&RuleList> = bounds.iter().collect();
    action(&rules, &ExampleSubject::Text("/tmp/x".to_owned()))
}

fn length(body: &str, out: &mut RenderedAgent) {
    let found = body.chars().count();
    if found > LONGEST {
        let message = format!("the prompt has {found} characters; Copilot takes at most {LONGEST}");
        out.refuse("instructions", message, Some("move parts of it into a skill"));
    }
}
