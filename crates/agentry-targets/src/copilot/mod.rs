//! GitHub Copilot: one Markdown file an agent, which says what tools it has and nothing else.
//! `fields.rs` says where each field of the model goes.
//!
//! There are no rules: what is not allowed as a whole is left out. The list of tools is always
//! written, since an agent without one has all of them. Some of the programs that read these files ask
//! before a command or a change, others do not: so a tool counts as one that never asks where it is
//! written, and as one that asks where it is read.

mod fields;
mod import;
mod tools;
mod write;

use crate::HarnessPlace;
use crate::Target;
use crate::gap::{BlindSpot, MisreadLine};
use crate::import::HarnessImport;
use crate::original::GrantReading;

/// What the user calls it.
const NAME: &str = "copilot";

/// GitHub Copilot.
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
    one_primary: false,
    render: write::render,
    model: tools::model,
    personal: None,
    blind: BLIND,
    guard: None,
    import: Some(HarnessImport {
        places: &[(".github/agents", ".md"), (".copilot/agents", ".md")],
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
