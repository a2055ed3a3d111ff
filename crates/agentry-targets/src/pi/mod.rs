//! Pi with pi-subagents: one Markdown file per agent, with tools by name and no checks of calls. `fields.rs`
//! has the field table.
//!
//! With the guard, all of Pi's own tools are removed, and the extension of the agent provides replacements
//! that ask first. Without the guard, a section that asks gets no tool, because pi-subagents would let a
//! model answer.

mod agent_file;
mod authoring;
mod blind_spots;
mod extension;
mod fields;
mod guard;
mod import;
mod main_session;
mod model;
mod rivals;
mod specialists;
mod tools;
mod write;

use crate::HarnessPlace;
use crate::Target;
use crate::render_result::RenderScope;

/// The name on the command line.
const NAME: &str = "pi";

/// The target for Pi.
pub static TARGET: Target = Target {
    name: NAME,
    title: "Pi",
    built_in: &[
        "advisor",
        "claude-code",
        "claude-code-writer",
        "codex-exec",
        "codex-exec-writer",
        "cursor-agent",
        "cursor-agent-writer",
        "delegate",
        "evidence-auditor",
        "oracle",
        "researcher",
        "reviewer",
        "scout",
        "worker",
    ],
    places: &[
        HarnessPlace::rendered(".pi/"),
        HarnessPlace::context("AGENTS.md"),
        // Agents of older versions.
        HarnessPlace::settings(".agents/"),
    ],
    fields: fields::FIELDS,
    shared: &["AGENTS.md", ".pi/agent/AGENTS.md"],
    authoring: Some(&authoring::AUTHORING),
    one_primary: true,
    render: write::render,
    model: model::model,
    personal: None,
    blind: blind_spots::BLIND,
    guard: Some(guard::GUARD),
    import: Some(import::IMPORT),
};

/// The paths of an agent's files, below the project or the home directory.
#[derive(Debug)]
struct PiPaths {
    /// The agent file.
    agent: String,
    /// The guard of the agent as a subagent.
    guard: String,
    /// The prompt of the agent as the main session.
    system: String,
    /// The guard of the agent as the main session.
    session: String,
    /// The directory of skills.
    skills: String,
    /// The instructions for every session.
    context: String,
}

fn place(scope: RenderScope, name: &str) -> PiPaths {
    let (root, context) = match scope {
        RenderScope::Project => (".pi", "AGENTS.md"),
        RenderScope::User => (".pi/agent", ".pi/agent/AGENTS.md"),
    };
    PiPaths {
        agent: format!("{root}/agents/{name}.md"),
        guard: format!("{root}/guard/{name}.ts"),
        system: format!("{root}/SYSTEM.md"),
        session: format!("{root}/extensions/agentry-guard.ts"),
        skills: format!("{root}/skills"),
        context: context.to_owned(),
    }
}

/// Returns the paths of an agent in both scopes; the first one wins.
fn places(name: &str) -> [PiPaths; 2] {
    [RenderScope::Project, RenderScope::User].map(|scope| place(scope, name))
}
