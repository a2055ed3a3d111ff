//! GitHub Copilot: one Markdown file per agent, with its list of tools and no rules. `fields.rs` has the
//! field table.
//!
//! A tool that is not allowed as a whole is left out. The list of tools is always written, because an agent
//! without one has all tools. Some programs that read these files ask before a command or a change, others do
//! not. So rendering assumes that a tool never asks, and import assumes that it asks. `programs.rs` has the
//! other differences between these programs.

mod authoring;
mod fields;
mod import;
mod programs;
mod tools;
mod write;

use crate::HarnessPlace;
use crate::Target;
use crate::gap::{BlindSpot, MisreadLine};
use crate::import::HarnessImport;
use crate::original::GrantReading;

/// The name on the command line.
const NAME: &str = "copilot";

/// The suffix of chat modes, as agents of VS Code were called.
const OLDER_SUFFIX: &str = ".chatmode.md";

/// The target for GitHub Copilot.
pub static TARGET: Target = Target {
    name: NAME,
    title: "GitHub Copilot",
    built_in: &[
        "ask",
        "agent",
        "plan",
        "edit",
        "explore",
        "task",
        "general-purpose",
        "code-review",
    ],
    places: &[
        HarnessPlace::rendered(".github/agents/"),
        HarnessPlace::rendered(".github/skills/"),
        HarnessPlace::rendered(".copilot/"),
    ],
    fields: fields::FIELDS,
    shared: &[],
    authoring: Some(&authoring::AUTHORING),
    one_primary: false,
    render: write::render,
    model: tools::model,
    personal: None,
    blind: BLIND,
    guard: None,
    import: Some(HarnessImport {
        places: &[
            (".github/agents", ".md"),
            (".copilot/agents", ".md"),
            // The older form of VS Code.
            (".github/chatmodes", OLDER_SUFFIX),
        ],
        is_one: import::is_one,
        several: None,
        read: import::read,
        overrides: false,
        grants: GrantReading::PLAIN,
    }),
};

const BLIND: &[BlindSpot] = &[BlindSpot {
    name: "commands",
    why: "Copilot does not check what a command does",
    lines: |command| {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        let lines = [command, "cat .env", "curl https://example.org/"];
        let plain = lines.map(|line| MisreadLine::new(line, words(line)));
        let redirected = MisreadLine::new(format!("{command} > x"), words(command));
        plain.into_iter().chain([redirected]).collect()
    },
}];
