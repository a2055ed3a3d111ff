//! Measures what a team does first: importing its agents, and rendering them for six harnesses.

#[path = "../../crates/agentry-compile/tests/corpus/mod.rs"]
mod published;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::measure::{medians, quiet};
use crate::report::{Row, Table, seconds};
use crate::targets::ratio;

/// The agents of a team, and of a smaller one that shows how the time grows.
const TEAM: usize = 400;
const SMALL: usize = 100;

/// The harnesses that they are rendered for.
const SIX: &str = "opencode,claude-code,pi,codex,gemini,copilot";

/// The most time for both on two cores.
const LIMIT: Duration = Duration::from_secs(1);

/// The longest prompt that Copilot takes, in characters.
const COPILOT_PROMPT: usize = 30_000;

/// Four times the agents may take this many times as long.
const GROWTH: f64 = 4.4;

/// Imports agents as large as published ones, and renders them.
pub(crate) fn importing(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    eprintln!("importing agents");
    let (team, small) = (folder.join("team"), folder.join("small-team"));
    write_agents(&team, TEAM)?;
    write_agents(&small, SMALL)?;
    let import = |team: &Path| {
        in_team(program, team, &["import", ".", "--to", "agent-toml", "-o", "agents", "--force"])
    };
    let render = |team: &Path| {
        in_team(program, team, &["render", "agents", "--target", SIX, "-o", "out", "--force"])
    };
    let commands = [
        import(&team),
        render(&team),
        in_team(program, &team, &["check", "agents"]),
        import(&small),
        render(&small),
    ];
    let [imported, rendered, read, few_imported, few_rendered] = medians(5, commands)?;
    let what = format!("import {TEAM} agents / reading them");
    table.add(ratio(what, imported, read, "reading", 3.0));
    table.add(Row {
        what: format!("import and render {TEAM} agents for 6 targets"),
        measured: format!("{} and {}", seconds(imported), seconds(rendered)),
        ratio: String::new(),
        target: format!("< {}", seconds(LIMIT)),
        is_met: imported + rendered < LIMIT,
    });
    for (what, many, few) in
        [("import", imported, few_imported), ("render for 6 targets", rendered, few_rendered)]
    {
        table.add(ratio(format!("{what}: {TEAM} agents / {SMALL}"), many, few, "agentry", GROWTH));
    }
    Ok(())
}

/// A command in the directory of a team.
fn in_team(program: &Path, team: &Path, words: &[&str]) -> Command {
    let mut command = quiet(program, words);
    command.current_dir(team).env("AGENTRY_HOME", team.join("home"));
    // A cache directory that cannot exist, so that every run renders.
    command.env("XDG_CACHE_HOME", "/dev/null/cache");
    command
}

/// Writes the published agents of Claude Code under different names, again and again until there are enough.
fn write_agents(team: &Path, count: usize) -> Result<(), String> {
    // Copilot refuses a longer prompt, and a refused agent would end the command with an error.
    let fits = |agent: &published::CorpusAgent| agent.text.chars().count() < COPILOT_PROMPT;
    let all = published::agents().into_iter().filter(|agent| agent.harness == "claude-code");
    let all: Vec<_> = all.filter(fits).collect();
    for (number, agent) in all.iter().cycle().take(count).enumerate() {
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
