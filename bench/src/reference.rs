//! The reference implementation of the manifest format, a Python package, as the alternative that authors
//! have. It is installed into a temporary directory and loads the same files.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PACKAGE: &str = "agentspec-alpibru==0.5.0";

/// Loads fifty manifests to warm up, then all of them, and prints the seconds of the second part.
const SCRIPT: &str = "
import pathlib, sys, time
from agentspec import load_agent
paths = sorted(pathlib.Path(sys.argv[1]).rglob('*.agent'))
for path in paths[:50]:
    load_agent(path)
start = time.perf_counter()
for path in paths:
    load_agent(path)
print(time.perf_counter() - start)
";

/// An installed reference implementation.
#[derive(Debug)]
pub(crate) struct Reference {
    python: PathBuf,
}

impl Reference {
    /// Installs it below `folder`; returns the reason if that is not possible.
    pub(crate) fn install(folder: &Path) -> Result<Self, String> {
        let environment = folder.join("python");
        let python = environment.join("bin/python");
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
        run(Command::new(&python).args(pip))?;
        Ok(Self { python })
    }

    /// How long it takes to load every manifest below `dir` in one warm process.
    pub(crate) fn load(&self, dir: &Path) -> Result<Duration, String> {
        let text = run(Command::new(&self.python).args(["-c", SCRIPT]).arg(dir))?;
        let seconds: Option<f64> = text.trim().parse().ok();
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.ok_or_else(|| format!("the reference implementation says `{}`", text.trim()))
    }
}

/// Runs a command; returns its output, or the last line of its errors.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.output().map_err(|error| format!("`{name}` cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let last = complaint.trim_end().lines().last().unwrap_or("it says nothing");
    Err(format!("`{name}` ended with {}: {last}", output.status))
}
