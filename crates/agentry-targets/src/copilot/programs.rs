//! The programs that read agents of Copilot, and where their tools differ (documentation of August 2026, and
//! Copilot CLI 1.0.102 as seen in November 2026). The field `target` of an agent leaves some of them out.

use agentry_policy::{Action, Section};
use agentry_text::Data;

use super::tools::{self, TOOLS};
use crate::model::{HarnessModel, always};
use crate::proof::PolicyProof;
use crate::render_result::{LossKind, RenderedAgent};
use crate::subject::{PolicySlack, RenderSubject};

/// A program that reads agents of Copilot.
#[derive(Debug)]
pub(super) struct CopilotProgram {
    /// Its name in a report.
    title: &'static str,
    /// The value of `target` that selects it.
    target: &'static str,
    /// Tools of other programs that it does not have.
    lacks: &'static [&'static str],
    /// Tools that every agent has there, whatever its list says, with their sections.
    adds: &'static [(&'static str, Section)],
    /// Where it takes MCP servers from, if not from `mcp-servers`.
    servers: Option<&'static str>,
    /// Whether temporary files count as part of the workspace.
    pub(super) frees_temporary: bool,
}

const PROGRAMS: &[CopilotProgram] = &[
    CopilotProgram {
        title: "VS Code",
        target: "vscode",
        lacks: &[],
        adds: &[],
        servers: Some("`.vscode/mcp.json`"),
        frees_temporary: false,
    },
    CopilotProgram {
        title: "Copilot CLI",
        target: "github-copilot",
        lacks: &[],
        adds: &[("skill", Section::Skill)],
        servers: None,
        frees_temporary: true,
    },
    CopilotProgram {
        title: "Copilot's cloud agent",
        target: "github-copilot",
        lacks: &["web", tools::TODO],
        adds: &[],
        servers: None,
        frees_temporary: false,
    },
];

/// Returns the programs that read an agent with this metadata.
pub(super) fn readers(metadata: &Data) -> Vec<&'static CopilotProgram> {
    let target = metadata.get("target").and_then(Data::as_str);
    let known = target.filter(|target| PROGRAMS.iter().any(|program| program.target == *target));
    let is_read = |program: &&CopilotProgram| known.is_none_or(|target| program.target == target);
    PROGRAMS.iter().filter(is_read).collect()
}

/// Reports where the programs that read an agent differ from its file.
pub(super) fn report(subject: &RenderSubject, metadata: &Data, out: &mut RenderedAgent) {
    for program in readers(metadata) {
        report_missing(program, metadata, out);
        report_added(program, subject, out);
        let has_servers = metadata.get("mcp-servers").is_some_and(|servers| !servers.is_empty());
        if let Some(place) = program.servers.filter(|_| has_servers) {
            let detail =
                format!("{} ignores `mcp-servers`: its servers are in {place}", program.title);
            out.lose("tools.mcp", LossKind::Narrowed, detail);
        }
    }
}

/// Reports the tools of an agent that a program does not have.
fn report_missing(program: &CopilotProgram, metadata: &Data, out: &mut RenderedAgent) {
    let names = tools::listed(metadata);
    let has = |tool: &&str| names.iter().any(|name| name == "*" || tools::tool(name) == Some(tool));
    for tool in program.lacks.iter().filter(|tool| has(tool)) {
        let sections = TOOLS.iter().find(|(name, _)| name == tool).map(|(_, sections)| *sections);
        for section in sections.unwrap_or_default() {
            let detail = format!("{} has no `{tool}`", program.title);
            out.lose(format!("permissions.{section}"), LossKind::Narrowed, detail);
        }
    }
}

/// Reports the tools that a program adds although the source denies some of what they do.
fn report_added(program: &CopilotProgram, subject: &RenderSubject, out: &mut RenderedAgent) {
    let mut model = HarnessModel::default();
    for (tool, section) in program.adds {
        model.add(*section, *tool, vec![always(*section, Action::Allow, "everything")]);
    }
    for way in model.ways.iter() {
        if let PolicyProof::Fails { example, .. } = subject.within(way, PolicySlack::Questions) {
            let detail = format!(
                "{} gives every agent `{}`, whatever its list says; `{example}` is deny in the \
                 source and allow there",
                program.title, way.tool
            );
            out.lose(format!("permissions.{}", way.section), LossKind::Gap, detail);
        }
    }
}
