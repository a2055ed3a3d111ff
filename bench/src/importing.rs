//! Measures what a team does first: importing its agents, and rendering them for six harnesses.

#[path = "../../crates/agentry-compile/tests/corpus/mod.rs"]
mod published;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::measure::{medians, quiet};
use crate::report::{Row, Table, seconds};
use crate::targets::ratio;

/// The agents of the team.
const TEAM: usize = 400;

/// The harnesses that they are rendered for.
const SIX: &str = "opencode,claude-code,pi,codex,gemini,copilot";

/// The most time for both on two cores.
const LIMIT: Duration = Duration::from_secs(1);

/// Imports agents as large as published ones, and renders them.
pub(crate) fn importing(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    eprintln!("importing agents");
    let team = folder.join("team");
    write_agents(&team)?;
    let agents = team.join("agents");
    let command = |words: &[&str]| {
        let mut command: Command = quiet(program, words);
        command.current_dir(&team).env("AGENTRY_HOME", folder.join("home"));
        // A cache directory that cannot exist, so that every run renders.
        command.env("XDG_CACHE_HOME", "/dev/null/cache");
        command
    };
    let import = command(&["import", ".", "--to", "agent-toml", "-o", "agents", "--force"]);
    let render = command(&["render", "agents", "--target", SIX, "-o", "out", "--force"]);
    let read = quiet(program, ["check".as_ref(), agents.as_os_str()]);
    let [import, render, read] = medians(5, [import, render, read])?;
    let what = format!("import {TEAM} agents / reading them");
    table.add(ratio(what, import, read, "reading", 3.0));
    let both = import + render;
    table.add(Row {
        what: format!("import and render {TEAM} agents for 6 targets"),
        measured: format!("{} and {}", seconds(import), seconds(render)),
        ratio: String::new(),
        target: format!("< {}", seconds(LIMIT)),
        is_met: both < LIMIT,
    });
    Ok(())
}

/// Writes the published agents of Claude Code under different names, again and again until there are enough.
fn write_agents(team: &Path) -> Result<(), String> {
    let all = published::agents().into_iter().filter(|agent| agent.harness == "claude-code");
    let all: Vec<_> = all.collect();
    for (number, agent) in all.iter().cycle().take(TEAM).enumerate() {
        let named = |line: &str| match line.strip_prefix("name:") {
            Some(_) => format!("name: agent-{number}\n"),
            None => format!("{line}\n"),
        };
        let text: String = agent.text.lines().map(named).collect();
        let path = team.join(format!(".claude/agents/agent-{number}.md"));
        let written = std::fs::create_dir_all(team.join(".claude/agents"))
            .and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| format!("`{}` cannot be written: {error}", path.display()))?;
    }
    std::fs::write(team.join("agentry.toml"), "").map_err(|error| error.to_string())
}
