//! Measures rendering: compared with a popular converter, how it grows, and the cost of a check with
//! nothing to do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::corpus::{Corpus, Kind};
use crate::measure::{medians, quiet};
use crate::reference::run;
use crate::report::Table;
use crate::targets::ratio;

/// A cache directory that cannot exist, so that every run renders.
const NO_CACHE: (&str, &str) = ("XDG_CACHE_HOME", "/dev/null/cache");

/// Agents with a start-up gate are rendered too, although no harness checks it.
const WITH_GATES: [&str; 2] = ["--accept", "required"];

/// The converter, and the names of two harnesses that both programs know.
const RULESYNC: &str = "rulesync@17.0.0";
const TWO: (&str, &str) = ("opencode,claude-code", "opencode,claudecode");
const THREE: &str = "opencode,claude-code,pi";

/// Runs all benchmarks of rendering.
pub(crate) fn rendering(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    eprintln!("rendering agents");
    let corpus = |name: &str, count| Corpus::write(&folder.join(name), count, Kind::Together);
    let known = knows(program, THREE);
    if let Err(why) = &known {
        table.skip("rendering".to_owned(), why.clone());
        return Ok(());
    }
    against_rulesync(program, folder, &corpus("fifty", 50)?, table)?;
    let (few, many) = (corpus("hundred", 100)?, corpus("thousand", 1_000)?);
    let anew = |corpus: &Corpus| {
        let mut command = render(program, corpus, folder);
        command.env(NO_CACHE.0, NO_CACHE.1);
        command
    };
    let [small, large] = medians(5, [anew(&few), anew(&many)])?;
    let what = format!("render {} agents for 3 targets / {}", many.agents, few.agents);
    table.add(ratio(what, large, small, "agentry", 11.0));
    let mut check = render(program, &many, folder);
    check.arg("--check");
    let read = quiet(program, ["check".as_ref(), many.dir.as_os_str()]);
    let [check, read] = medians(7, [check, read])?;
    let what = format!("render --check {} agents / reading", many.agents);
    table.add(ratio(what, check, read, "reading", 1.5));
    Ok(())
}

/// Whether the program has these targets.
fn knows(program: &Path, targets: &str) -> Result<(), String> {
    let empty = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut command = Command::new(program);
    run(command.current_dir(empty.path()).args(["render", "--target", targets])).map(drop)
}

/// Renders the agents of a corpus into their own project.
fn render(program: &Path, corpus: &Corpus, folder: &Path) -> Command {
    let out = rendered(corpus, folder);
    let dir = corpus.dir.as_os_str();
    let words = ["render".as_ref(), dir, "--target".as_ref(), THREE.as_ref(), "-o".as_ref()];
    let mut command = quiet(program, words);
    // The render cache is removed with the directory.
    command.arg(out).args(WITH_GATES).env("XDG_CACHE_HOME", folder.join("cache"));
    command.env("AGENTRY_HOME", folder.join("home"));
    command
}

fn rendered(corpus: &Corpus, folder: &Path) -> PathBuf {
    let name = corpus.dir.file_name().unwrap_or_default();
    folder.join("rendered").join(name)
}

/// Renders as many subagents for the same two harnesses.
fn against_rulesync(
    program: &Path,
    folder: &Path,
    corpus: &Corpus,
    table: &mut Table,
) -> Result<(), String> {
    let what = format!("render {} agents for 2 targets / rulesync", corpus.agents);
    eprintln!("installing rulesync");
    let rulesync = match install(folder) {
        Ok(rulesync) => rulesync,
        Err(why) => {
            table.skip(what, why);
            return Ok(());
        }
    };
    let project = folder.join("rulesync-project");
    subagents(&project, corpus.agents)?;
    let words = ["generate", "--targets", TWO.1, "--features", "subagents", "--silent"];
    let mut theirs = quiet(rulesync, words);
    theirs.current_dir(&project);
    let ours = |agents: &Path, out: &str| {
        let words = ["render".as_ref(), agents.as_os_str(), "--target".as_ref(), TWO.0.as_ref()];
        let mut command = quiet(program, words);
        command.arg("-o").arg(folder.join(out)).args(WITH_GATES).env("AGENTRY_HOME", folder.join("home"));
        command.env(NO_CACHE.0, NO_CACHE.1);
        command
    };
    let same = folder.join("subagents");
    as_subagents(&same, corpus.agents)?;
    let (same, anew) = (ours(&same, "rendered/same"), ours(&corpus.dir, "rendered/fifty"));
    let mut again = ours(&corpus.dir, "rendered/fifty");
    again.env(NO_CACHE.0, folder.join("cache"));
    let [same, anew, again, theirs]: [Duration; 4] = medians(7, [same, anew, again, theirs])?;
    let rows = [(same, ", the same ones"), (anew, ""), (again, ", nothing changed")];
    for (ours, how) in rows {
        table.add(ratio(format!("{what}{how}"), ours, theirs, "rulesync", 1.0 / 50.0));
    }
    Ok(())
}

fn install(folder: &Path) -> Result<PathBuf, String> {
    let place = folder.join("npm");
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    let words = ["install", "--no-audit", "--no-fund", "--silent", "--prefix"];
    run(Command::new("npm").args(words).arg(&place).arg(RULESYNC))?;
    Ok(place.join("node_modules/.bin/rulesync"))
}

/// Subagents in the format of rulesync, as large as ours.
fn subagents(project: &Path, count: usize) -> Result<(), String> {
    let head = "name: agent-{}\ntargets: [\"*\"]\ndescription: Agent {}";
    prompts(&project.join(".rulesync/subagents"), count, "agent-{}.md", head)
}

/// The same subagents as our definitions, with the same content.
fn as_subagents(dir: &Path, count: usize) -> Result<(), String> {
    prompts(dir, count, "agent-{}.agent.md", "title: agent-{}\ndescription: Agent {}")
}

/// Files with front matter and a prompt, in which `{}` is the number of the agent.
fn prompts(dir: &Path, count: usize, name: &str, head: &str) -> Result<(), String> {
    let body = "Read what is there before you change it, and say what you found.\n".repeat(40);
    let written = std::fs::create_dir_all(dir).and_then(|()| {
        (0..count).map(|number| number.to_string()).try_for_each(|number| {
            let text = format!("---\n{}\n---\n{body}", head.replace("{}", &number));
            std::fs::write(dir.join(name.replace("{}", &number)), text)
        })
    });
    written.map_err(|error| format!("no subagents: {error}"))
}
