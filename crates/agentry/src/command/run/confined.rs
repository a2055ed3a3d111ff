//! How the commands of a run are started, and what confines them.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use agentry_runtime::commands::{Commands, Refused, Sandboxed, Unconfined, World};
use agentry_runtime::quarantine::{self, QuarantinedCommands, ReportListener};

use super::ground::Ground;
use crate::home::leavings;

/// The commands of an agent.
pub(crate) struct Confined {
    commands: Arc<dyn Commands>,
    unconfined: bool,
    /// Whether the agent can run any.
    has_any: bool,
    /// Finds out what confines them.
    looking: Option<JoinHandle<()>>,
}

impl Confined {
    /// Finding out what confines them takes a moment, in which the caller can do something else.
    pub(crate) fn new(ground: &Ground, unconfined: bool) -> Self {
        let commands = if unconfined { without_sandbox(ground) } else { sandboxed(ground) };
        let has_any = ground.tool_names(None).iter().any(|name| name == "bash");
        let looking = (has_any && !unconfined).then(|| {
            let commands = Arc::clone(&commands);
            std::thread::spawn(move || drop(commands.confined_by()))
        });
        Self { commands, unconfined, has_any, looking }
    }

    /// What confines them, for programs.
    pub(super) fn name(&self) -> &'static str {
        if self.has_any { self.commands.confined_by().as_str() } else { "no commands" }
    }

    /// What confines them, for people.
    pub(super) fn words(&self) -> String {
        if self.has_any {
            self.commands.confined_by().to_string()
        } else {
            "it runs no commands".to_owned()
        }
    }

    /// As a run starts them: what confined ones made under protected names is taken back.
    pub(super) fn of_run(
        &self,
        ground: &Ground,
        run: &Path,
        tell: ReportListener,
    ) -> Arc<dyn Commands> {
        let commands = Arc::clone(&self.commands);
        if self.unconfined {
            return commands;
        }
        let to = run.join(quarantine::DIRECTORY);
        Arc::new(QuarantinedCommands::new(commands, ground.workspace.clone(), to, tell))
    }
}

impl Drop for Confined {
    /// What was tried leaves nothing behind.
    fn drop(&mut self) {
        let _ = self.looking.take().map(JoinHandle::join);
    }
}

fn without_sandbox(ground: &Ground) -> Arc<dyn Commands> {
    let usual = ["PATH", "HOME", "LANG", "TERM", "TMPDIR"].map(str::to_owned);
    let names = usual.into_iter().chain(granted(ground));
    let env = names.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
    Arc::new(Unconfined { env })
}

fn sandboxed(ground: &Ground) -> Arc<dyn Commands> {
    let Ok(program) = std::env::current_exe() else {
        return Arc::new(Refused("the program cannot find itself".to_owned()));
    };
    Arc::new(Sandboxed {
        judge: ground.judge.clone(),
        surroundings: ground.surroundings(),
        granted: granted(ground),
        lookup: |name| std::env::var(name).ok(),
        program,
        leavings: leavings(&ground.home),
        state: World::default(),
    })
}

/// The names of the variables that commands get.
fn granted(ground: &Ground) -> Vec<String> {
    ground.agent.requirements.env.iter().flatten().map(|name| name.value.clone()).collect()
}
