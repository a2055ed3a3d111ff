//! Pi with pi-subagents: one Markdown file an agent, tools by name, and nothing that looks at a call.
//! `fields.rs` says where each field of the model goes.
//!
//! With the guard, Pi's own tools are all taken away and the extension of the agent brings its own,
//! which ask first. An ask without a guard is a tool that is not there: pi-subagents would let a model
//! decide it.

mod agent_file;
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

/// What the user calls it.
const NAME: &str = "pi";

/// Pi.
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
    one_primary: true,
    render: write::render,
    model: model::model,
    personal: None,
    blind: blind_spots::BLIND,
    guard: Some(guard::GUARD),
    import: Some(import::IMPORT),
};

/// Where the files of an agent are, below the project or the home directory.
#[derive(Debug)]
struct PiPaths {
    /// Its definition.
    agent: String,
    /// Its guard as a subagent.
    guard: String,
    /// Its prompt as the main session.
    system: String,
    /// Its guard as the main session.
    session: String,
    /// Where skills are found.
    skills: String,
    /// The instructions of every session.
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

/// The places of an agent, the one that wins first.
fn places(name: &str) -> [PiPaths; 2] {
    [RenderScope::Project, RenderScope::User].map(|scope| place(scope, name))
}
