//! How the commands of a run are started and confined.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use agentry_runtime::commands::{
    CommandConfinement, CommandStarter, RefusedCommands, SandboxState, SandboxedCommands,
    UnconfinedCommands,
};
use agentry_runtime::quarantine::{self, QuarantinedCommands, ReportListener};
use agentry_sandbox::HelperReserve;

use super::mcp_servers::has_programs;
use super::prepared_agent::PreparedAgent;
use crate::home::leavings;
use crate::output::CliFailure;

/// A trial of the sandbox in a thread, while the agent is read. Its answer holds for the whole program. Another thread
/// starts the helper of the first sandbox meanwhile.
pub(crate) struct SandboxTrial(Option<JoinHandle<HelperReserve>>);

impl SandboxTrial {
    pub(crate) fn begin() -> Self {
        let program = std::env::current_exe().ok();
        let trial = |program: PathBuf| {
            move || {
                std::thread::scope(|threads| {
                    // The trial is what the run waits for. Without a thread for it, the run tries by itself.
                    let _ = Builder::new().spawn_scoped(threads, || {
                        agentry_sandbox::support(&program);
                    });
                    agentry_sandbox::reserve(&program)
                })
            }
        };
        let thread = program.and_then(|program| Builder::new().spawn(trial(program)).ok());
        Self(thread)
    }
}

impl Drop for SandboxTrial {
    /// Waits for the thread, so that the trial leaves nothing behind.
    fn drop(&mut self) {
        let _ = self.0.take().map(JoinHandle::join);
    }
}

/// The confinement of an agent's commands.
pub(crate) struct ConfinedCommands {
    commands: Arc<dyn CommandStarter>,
    unconfined: bool,
    /// Whether the agent can run commands.
    has_any: bool,
    /// The threads that try the back ends of the sandbox, and start it.
    threads: Vec<JoinHandle<()>>,
}

impl ConfinedCommands {
    /// Starts to try the back ends in a thread, so that the caller can continue meanwhile.
    pub(crate) fn new(ground: &PreparedAgent, unconfined: bool) -> Self {
        let commands = if unconfined { without_sandbox(ground) } else { sandboxed(ground) };
        let has_any = runs_shell(ground) || has_programs(ground);
        let looking = (has_any && !unconfined).then(|| {
            let commands = Arc::clone(&commands);
            // The call memoises its answer; only the side effect is wanted.
            std::thread::spawn(move || drop(commands.confined_by()))
        });
        Self { commands, unconfined, has_any, threads: looking.into_iter().collect() }
    }

    /// Starts the sandbox in a thread if the agent has programs that need it at once. Called after consent: a
    /// sandbox leaves placeholders in the workspace while it lives.
    pub(crate) fn start_early(&mut self, ground: &PreparedAgent) {
        if !self.unconfined && has_programs(ground) {
            let commands = Arc::clone(&self.commands);
            self.threads.push(std::thread::spawn(move || commands.warm_up()));
        }
    }

    /// Refuses a run on an operating system without any sandbox, unless the user wants it unconfined.
    pub(crate) fn admit(&self, ground: &PreparedAgent) -> Result<(), CliFailure> {
        let system = std::env::consts::OS;
        let open = unconfinable(system, runs_shell(ground), has_programs(ground));
        if self.unconfined || open.is_empty() {
            return Ok(());
        }
        let message = format!(
            "`{}` is not run: on {system} nothing confines {}",
            ground.path(),
            open.join(" and ")
        );
        let hint = "`--unconfined` runs it with all that you may do; its rules still decide about each call";
        Err(CliFailure::new(message).hint(hint).refused())
    }

    /// What confines the commands, or why nothing does.
    pub(crate) fn confined_by(&self) -> CommandConfinement {
        self.commands.confined_by()
    }

    /// The name of the back end, for programs.
    pub(super) fn name(&self) -> &'static str {
        if self.has_any { self.commands.confined_by().as_str() } else { "no commands" }
    }

    /// The description of the confinement, for the user.
    pub(crate) fn words(&self) -> String {
        if self.has_any {
            self.commands.confined_by().to_string()
        } else {
            "it runs no commands".to_owned()
        }
    }

    /// The runner for a run: files that confined commands create under protected names are quarantined.
    pub(crate) fn of_run(
        &self,
        ground: &PreparedAgent,
        run: &Path,
        tell: ReportListener,
    ) -> Arc<dyn CommandStarter> {
        let commands = Arc::clone(&self.commands);
        if self.unconfined {
            return commands;
        }
        let to = run.join(quarantine::DIRECTORY);
        Arc::new(QuarantinedCommands::new(commands, ground.workspace.clone(), to, tell))
    }
}

impl Drop for ConfinedCommands {
    /// Waits for the threads, so that they leave nothing behind.
    fn drop(&mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn runs_shell(ground: &PreparedAgent) -> bool {
    ground.tool_names(None).iter().any(|name| name == "bash")
}

/// What no sandbox confines on an operating system.
fn unconfinable(system: &str, has_shell: bool, has_servers: bool) -> Vec<&'static str> {
    let parts = [
        (has_shell, "its shell commands"),
        (has_servers, "its MCP servers"),
        // One file has many names there, and the rules know one.
        (system == "windows", "the files that its tools read and write"),
    ];
    let is_confined = system == "linux";
    let open = parts.into_iter().filter(|(is_there, _)| *is_there && !is_confined);
    open.map(|(_, what)| what).collect()
}

fn without_sandbox(ground: &PreparedAgent) -> Arc<dyn CommandStarter> {
    let valued = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
    let usual = ["PATH", "HOME", "LANG", "TERM", "TMPDIR"].map(str::to_owned);
    let usual = usual.iter().filter_map(valued).collect();
    let granted = ground.granted.iter().filter_map(valued).collect();
    Arc::new(UnconfinedCommands { usual, granted })
}

fn sandboxed(ground: &PreparedAgent) -> Arc<dyn CommandStarter> {
    let Ok(program) = std::env::current_exe() else {
        return Arc::new(RefusedCommands("the program cannot find itself".to_owned()));
    };
    Arc::new(SandboxedCommands {
        judge: ground.judge.clone(),
        surroundings: ground.surroundings(),
        granted: ground.granted.clone(),
        lookup: |name| std::env::var(name).ok(),
        program,
        leavings: leavings(&ground.home),
        state: SandboxState::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_sandbox_confines_is_named() {
        let (shell, servers) = ("its shell commands", "its MCP servers");
        let files = "the files that its tools read and write";
        let cases: &[(&str, bool, bool, &[&str])] = &[
            ("linux", true, true, &[]),
            ("macos", false, false, &[]),
            ("macos", true, false, &[shell]),
            ("macos", true, true, &[shell, servers]),
            ("windows", false, false, &[files]),
            ("windows", true, true, &[shell, servers, files]),
        ];
        for (system, has_shell, has_servers, expected) in cases {
            assert_eq!(unconfinable(system, *has_shell, *has_servers), *expected, "{system}");
        }
    }
}
