//! Measures a call that the guard answers: a whole process, from its start to its answer.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::corpus::{Corpus, Kind};
use crate::measure::{quiet, times};
use crate::reference::run;
use crate::report::{Row, Table, seconds};

/// The time limit of a call.
const MOST: Duration = Duration::from_millis(10);
/// The number of measured calls.
const ROUNDS: usize = 300;

/// Calls from the simplest to a complex command line of a model.
const CALLS: &[(&str, &str)] = &[
    ("git status", "one command"),
    ("cd docs && git log --oneline -- src | head -5 > log.txt; sh -c 'rm -rf build'", "a list"),
];

/// The files of a large workspace, and of one of its directories.
const FILES: usize = 10_000;
const IN_DIRECTORY: usize = 100;

/// Measures the guard in a project of a hundred agents, then with many other files beside them.
pub(crate) fn guarding(program: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
    eprintln!("asking the guard");
    let corpus = Corpus::write(&folder.join("guarded"), 100, Kind::Together)?;
    let written = std::fs::write(corpus.dir.join("agentry.toml"), "");
    written.map_err(|error| format!("no workspace: {error}"))?;
    let agent = corpus.files.iter().find(|path| path.ends_with("agent.toml"));
    let agent = agent.ok_or("no agent with rules")?;
    let words = ["--target", "opencode,claude-code", "--guard"];
    let mut render = Command::new(program);
    render.current_dir(&corpus.dir).env("AGENTRY_HOME", folder.join("home"));
    run(render.arg("render").arg(agent).args(words))?;
    let answer = |line: &str| {
        let question = question(folder, &corpus, line)?;
        times(ROUNDS, || {
            let file = File::open(&question).map_err(|error| format!("no question: {error}"))?;
            let words = ["guard".as_ref(), "claude-code".as_ref(), agent.as_os_str()];
            let mut command = quiet(program, words);
            command.stdin(Stdio::from(file)).env("AGENTRY_HOME", folder.join("home"));
            Ok(command)
        })
    };
    for (line, name) in CALLS {
        table.add(row(name, &answer(line)?));
    }
    fill(&corpus.dir).map_err(|error| format!("no large workspace: {error}"))?;
    for (line, name) in CALLS {
        table.add(row(&format!("{name}, {FILES} files"), &answer(line)?));
    }
    Ok(())
}

/// Adds the files of a large project.
fn fill(dir: &Path) -> std::io::Result<()> {
    for number in 0..FILES {
        let dir = dir.join(format!("src/part-{}", number / IN_DIRECTORY));
        if number % IN_DIRECTORY == 0 {
            std::fs::create_dir_all(&dir)?;
        }
        std::fs::write(dir.join(format!("file-{number}.rs")), "fn main() {}\n")?;
    }
    Ok(())
}

/// A call in the protocol of Claude Code.
fn question(folder: &Path, corpus: &Corpus, line: &str) -> Result<PathBuf, String> {
    let path = folder.join("question.json");
    let text = format!(
        "{{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"cwd\":\"{}\",\
         \"tool_input\":{{\"command\":\"{line}\"}}}}",
        corpus.dir.display()
    );
    std::fs::write(&path, text).map_err(|error| format!("no question: {error}"))?;
    Ok(path)
}

fn row(name: &str, times: &[Duration]) -> Row {
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    let (median, late) = (at(50), at(95));
    Row {
        what: format!("guard, {name}"),
        measured: format!("median {}, 95 of 100 within {}", seconds(median), seconds(late)),
        ratio: String::new(),
        target: format!("< {}", seconds(MOST)),
        is_met: late < MOST,
    }
}
