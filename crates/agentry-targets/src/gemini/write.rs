//! Renders agents for Gemini: their files, and a policy file for each.

use agentry_text::Data;

use super::encode::{GeminiEncoding, under_rules, without_rules};
use super::fields::FIELDS;
use super::tools::{GeminiTool, NEEDS, OTHERS, groups, listed, mildest, of, path};
use super::trust::TrustedServers;
use super::{NAME, policy};
use crate::encoding::EncodingView;
use crate::fields::{self, report_losses};
use crate::front_matter::{self, MARK};
use crate::model::HarnessModel;
use crate::original::{OriginalFrontMatter, TOOLS};
use crate::render::each;
use crate::render_result::{
    LossKind, ProjectRendering, RenderScope, RenderSettings, RenderedAgent, RenderedFile,
};
use crate::rivals::{self, AgentLanguage};
use crate::servers::VariableStyle;
use crate::subject::RenderSubject;
use crate::{loss, servers, skills};

/// Directories in which Gemini finds skills itself.
const SKILLS: &[&str] = &[".gemini/skills", ".agents/skills"];

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let named =
        rivals::by_name(settings.existing, AgentLanguage::Markdown, &[".gemini/agents/"], |text| {
            let metadata = front_matter::read_leniently(text).ok()?.metadata;
            // Importing an agent replaces `_` in its name with `-`.
            metadata
                .get("name")
                .and_then(Data::as_str)
                .map(|name| name.to_lowercase().replace('_', "-"))
        });
    let agents = each(subjects, |subject| {
        let mut out = agent(subject, settings);
        let own = path(&subject.name);
        for rival in named.get(&subject.name).into_iter().flatten().filter(|path| **path != own) {
            out.rival(rival.clone(), "Gemini", settings);
        }
        out
    });
    ProjectRendering { agents, ..ProjectRendering::default() }
}

fn agent(subject: &RenderSubject, settings: &RenderSettings<'_>) -> RenderedAgent {
    let mut out = RenderedAgent::default();
    // It is not known whether the rules of a project will be passed with `--policy`.
    let enforced = settings.scope == RenderScope::User && settings.shared;
    let GeminiEncoding { tools, rules } = under_rules(subject, settings, &mut out);
    let rules_path = match settings.scope {
        RenderScope::User => format!(".gemini/policies/agentry-{}.toml", subject.name),
        RenderScope::Project => format!(".gemini/agentry-policies/{}.toml", subject.name),
    };
    let read: &[policy::GeminiRule] = if enforced { &rules } else { &[] };
    let plain = if enforced { tools.clone() } else { without_rules(subject, settings).tools };
    let kept = kept_of(subject, plain.clone(), (read, settings));
    let metadata = metadata(subject, &kept, &mut out);
    // A choice among reading tools is kept from the original, and is not a loss.
    let plain = if subject.grants.is_empty() { plain } else { listed(&metadata) };
    if !enforced {
        unread((&tools, &plain), &rules_path, settings, &mut out);
    }
    let model = if enforced {
        of(&plain, &rules, EncodingView::Mildest)
    } else {
        mildest(&plain, &[], &TrustedServers::of_project(settings.existing))
    };
    let model = model.in_session(settings.is_attended());
    losses(subject, settings, &model, &mut out);
    let needs = if enforced { format!("\n{NEEDS}{rules_path}") } else { String::new() };
    let origin = format!("{}{needs}", subject.origin());
    let body = subject.prompt();
    let text = front_matter::write(&origin, &metadata, &body);
    out.files.push(RenderedFile::new(path(&subject.name), text));
    if settings.shared {
        let head = format!("{MARK}{}\n{}", subject.origin(), advice(settings.scope, &rules_path));
        let text = policy::write(&head, &subject.name, &rules);
        out.files.push(RenderedFile::new(rules_path, text));
    }
    skills::copy(subject, SKILLS, ".gemini/skills", &mut out);
    out
}

/// Returns the tools that an agent keeps of those that it may have. Tools of the original that do the same
/// replace them.
fn kept_of(
    subject: &RenderSubject,
    tools: Vec<String>,
    (rules, settings): (&[policy::GeminiRule], &RenderSettings<'_>),
) -> Vec<String> {
    let original = OriginalFrontMatter::of(&subject.agent, NAME);
    let had = original.names(TOOLS);
    let others: Vec<&GeminiTool> = OTHERS.iter().filter(|tool| had.contains(&tool.name)).collect();
    let groups = groups();
    let may = |tool: &&GeminiTool| {
        let model = of(&[tool.name.to_owned()], rules, EncodingView::Mildest);
        let model = model.in_session(settings.is_attended());
        model.ways.iter().all(|way| subject.permits(way.section, &way.layers))
    };
    let others = others.iter().copied().filter(may).map(|tool| tool.name.to_owned());
    let given = tools.into_iter().filter(|tool| original.may_have(&groups, tool));
    given.chain(others).collect()
}

/// Explains, for readers of the file, how the rules take effect.
fn advice(scope: RenderScope, path: &str) -> String {
    match scope {
        RenderScope::User => "# Gemini CLI reads this file at its start.\n".to_owned(),
        RenderScope::Project => {
            format!("# These rules hold only for `gemini --policy {path}`.\n")
        }
    }
}

/// Reports tools that are left out because Gemini may not read the rules.
fn unread(
    (under_rules, plain): (&[String], &[String]),
    path: &str,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) {
    // If some MCP tools remain, the lost ones are reported separately.
    let has_some = plain.iter().any(|tool| tool.starts_with("mcp_"));
    let has = |tool: &String| plain.iter().any(|name| name == tool || name == "*");
    let missing = under_rules.iter().filter(|tool| !has(tool));
    let missing = missing.filter(|tool| !has_some || *tool != "mcp_*");
    let missing: Vec<String> = missing.map(|tool| format!("`{tool}`")).collect();
    if !missing.is_empty() {
        let how = if settings.shared {
            format!("Gemini reads the rules in `{path}` only with `--policy`")
        } else {
            "Gemini has rules only in policy files, which `--shared` writes".to_owned()
        };
        let detail = format!(
            "{how}: without them the agent may not have {}; render with `--shared --scope user`, where \
             Gemini always reads them",
            missing.join(", ")
        );
        out.lose("permissions", LossKind::Narrowed, detail);
    }
}

fn metadata(subject: &RenderSubject, tools: &[String], out: &mut RenderedAgent) -> Data {
    let agent = &subject.agent;
    let mut computed = vec![("tools", Data::strings(tools))];
    // Gemini gives an agent all tools of a server that it defines, so servers need `mcp_*`.
    if tools.iter().any(|tool| tool == "mcp_*") {
        let used = agent.tools.mcp.iter().flatten();
        let used = used.filter(|server| server.enabled.is_none_or(|it| it.value));
        let used: Vec<_> = used.inspect(|server| servers::references(server, out)).collect();
        let map = used
            .iter()
            .map(|it| (it.name.clone(), servers::write(it, "http_url", VariableStyle::Untouched)));
        if !used.is_empty() {
            computed.push(("mcp_servers", Data::Map(map.collect())));
        }
    } else if agent.tools.mcp.as_ref().is_some_and(|servers| !servers.is_empty()) {
        let detail = if tools.iter().any(|tool| tool.starts_with("mcp_")) {
            "the agent would get all tools of servers that it brings: set them up in `settings.json`"
        } else {
            "the agent may not use tools of servers"
        };
        out.lose("tools.mcp", LossKind::Dropped, detail);
    }
    fields::write(FIELDS, (subject, NAME), computed, out)
}

/// Reports where the agent may do less than its source, and unsupported fields.
fn losses(
    subject: &RenderSubject,
    settings: &RenderSettings<'_>,
    model: &HarnessModel,
    out: &mut RenderedAgent,
) {
    loss::compare_all(subject, model, &[], out);
    loss::toolless(subject, model, None, out);
    report_losses(FIELDS, subject, out);
    if settings.scope == RenderScope::Project {
        let detail = "Gemini has a person confirm an agent of a project before it is used: a run \
                      without one does not find it";
        out.lose("name", LossKind::Dropped, detail);
    }
}
