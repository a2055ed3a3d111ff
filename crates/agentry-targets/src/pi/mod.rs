//! Pi with pi-subagents: one Markdown file an agent, tools by name, and nothing that looks at a call.
//!
//! | model | Pi |
//! | --- | --- |
//! | `name`, `description` | the same, both needed; one line, without escapes |
//! | `display_name` | the list of specialists in `AGENTS.md` |
//! | `mode` | `primary`: also `SYSTEM.md`, with the guard or where everything is allowed |
//! | `max_turns` | `toolBudget`, which counts calls; `turnBudget` is for releases that still have it |
//! | `model.preferred` | `model` and `fallbackModels` |
//! | prompt, `context`, `rules` | the body, in this order: `defaultReads` would need the tool `read` |
//! | `skills` | `skills`, where the agent may read; files are copied unless Pi finds them by itself |
//! | `permissions.bash`, `.edit`, `.read`, `.webfetch`, `.websearch` | the tool in `tools` where every call of it is allowed, else no tool; what a command does beyond its line is a gap; `permission` where everything is denied |
//! | `permissions.external_directory` | part of what `read` and `edit` reach |
//! | `permissions.question`, `.delegate`, `.mcp`, `.tool`, `.skill`, `.env` | no tool for them is written |
//! | `temperature`, `tags`, `tools.mcp` | dropped |
//!
//! With the guard, Pi's own tools are all taken away and the extension of the agent brings its own,
//! which ask first. An ask without a guard is a tool that is not there: pi-subagents would let a model
//! decide it.

mod blind;
mod extension;
mod front;
mod guard;
mod import;
mod model;
mod primary;
mod rivals;
mod specialists;
mod tools;
mod write;

use agentry_text::Data;

use crate::kept::{Kept, is_word, kept};
use crate::rendering::Scope;
use crate::{HarnessPlace, Support, Target, lenient};

/// What the user calls it.
const NAME: &str = "pi";

/// The models that are tried after the first. Pi has agents with some of these and no first one, which
/// start with the model of the session: such an agent keeps them.
const FALLBACKS: &str = "fallbackModels";

/// What an agent keeps for Pi. Not `inheritSkills`, which shows it more than its own, and no files.
const KEPT: &[Kept] = &[
    kept("thinking", is_word),
    kept("systemPromptMode", |data| matches!(data.as_str(), Some("append" | "replace"))),
    kept("inheritProjectContext", is_flag),
    kept("defaultProgress", is_flag),
    kept("interactive", is_flag),
    kept("defaultContext", is_word),
    kept("acceptanceRole", is_word),
    kept("outputMode", is_word),
    kept("async", is_flag),
    kept("completionGuard", is_flag),
    kept("maxSubagentDepth", is_number),
    kept("aliases", |data| {
        lenient::words(data).is_some_and(|it| it.iter().all(|it| is_word(&Data::str(it))))
    }),
    kept("timeoutMs", is_number),
    kept("toolTimeoutMs", is_number),
];

fn is_flag(data: &Data) -> bool {
    matches!(data.as_str(), Some("true" | "false"))
}

fn is_number(data: &Data) -> bool {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    data.as_str().is_some_and(digits)
}

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
    supports: SUPPORTS,
    one_primary: true,
    render: write::render,
    model: model::model,
    personal: None,
    blind: blind::BLIND,
    guard: Some(guard::GUARD),
    import: Some(import::IMPORT),
};

/// Where the files of an agent are, below the project or the home directory.
#[derive(Debug)]
struct Place {
    /// Its definition.
    agent: String,
    /// Its guard as a subagent.
    guard: String,
    /// What it is told as the main session.
    system: String,
    /// Its guard as the main session.
    session: String,
    /// Where skills are found.
    skills: String,
    /// What every session is told.
    context: String,
}

fn place(scope: Scope, name: &str) -> Place {
    let (root, context) = match scope {
        Scope::Project => (".pi", "AGENTS.md"),
        Scope::User => (".pi/agent", ".pi/agent/AGENTS.md"),
    };
    Place {
        agent: format!("{root}/agents/{name}.md"),
        guard: format!("{root}/guard/{name}.ts"),
        system: format!("{root}/SYSTEM.md"),
        session: format!("{root}/extensions/agentry-guard.ts"),
        skills: format!("{root}/skills"),
        context: context.to_owned(),
    }
}

/// The places of an agent, the one that wins first.
fn places(name: &str) -> [Place; 2] {
    [Scope::Project, Scope::User].map(|scope| place(scope, name))
}

const SUPPORTS: &[(&str, Support)] = &[
    ("name", Support::Yes("`name`")),
    ("description", Support::Yes("`description`, one line")),
    ("display_name", Support::Yes("`AGENTS.md`")),
    ("mode", Support::Partly("`SYSTEM.md` for one primary, with the guard or without limits")),
    ("tags", Support::No("no place")),
    ("max_turns", Support::Partly("`toolBudget`, which counts calls")),
    ("temperature", Support::No("no place")),
    ("model", Support::Yes("`model`, `fallbackModels`")),
    ("skills", Support::Partly("`skills`, where the agent may read")),
    ("context", Support::Prompt),
    ("rules", Support::Prompt),
    ("tools.mcp", Support::No("Pi has no servers of its own")),
    ("permissions.bash", Support::Partly("the whole tool or none")),
    ("permissions.edit", Support::Partly("`edit` and `write`, or none")),
    ("permissions.read", Support::Partly("`read`, `grep`, `find`, `ls`, or none")),
    ("permissions.webfetch", Support::Partly("`fetch_content` of pi-web-access, or none")),
    ("permissions.websearch", Support::Partly("`web_search` of pi-web-access, or none")),
    ("permissions.question", Support::No("not a concept")),
    ("permissions.external_directory", Support::Partly("no tool with files unless it is allowed")),
    ("permissions.mcp", Support::No("Pi has no servers of its own")),
    ("permissions.tool", Support::No("no other tool is given")),
    ("permissions.skill", Support::Partly("a denied skill is left out")),
    ("permissions.delegate", Support::No("other agents have limits of their own")),
    ("permissions.env", Support::No("not looked at")),
];
