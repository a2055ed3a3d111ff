//! `agentry render --watch`: one run for each change, until Ctrl-C. The tests never sleep; they wait for
//! output of the program.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::render::workspace;
use crate::test::Test;

/// The time limit for a line that never comes.
const PATIENCE: Duration = Duration::from_mins(1);

struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(test: &Test) -> Self {
        let mut command = test.command(["render", "--watch"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the program runs");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    /// Waits for the next line that contains `text`.
    fn until(&self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("a line");
            if line.contains(text) {
                return line;
            }
        }
    }

    fn interrupt(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().expect("kill");
        assert!(sent.success());
        self.child.wait().expect("it ends").code()
    }
}

/// Ends the program when a test fails.
impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn watch_renders_each_change_until_interrupted() {
    let test = workspace();
    let watching = Watching::start(&test);
    let first = watching.until("rendered");
    assert!(first.contains("2 agents for opencode: 2 created"), "{first}");
    test.write("agents/helper/system-prompt.md", "You know everything.\n");
    watching.until("1 updated");
    assert!(test.read(".opencode/agents/helper.md").contains("You know everything."));
    // A new directory is watched as well.
    test.write("more/third.agent", crate::test::HELPER.replace("helper", "third"));
    watching.until("3 agents for opencode: 1 created");
    std::fs::remove_file(test.path("more/third.agent")).expect("a file");
    watching.until("1 removed");
    assert_eq!(watching.interrupt(), Some(130));
    // Our own writes trigger no run: nothing was printed between these lines.
    assert!(!test.has(".opencode/agents/third.md"));
}

#[test]
fn watch_reports_refusals_with_their_reason() {
    let test = workspace();
    test.write(".opencode/agents/helper.md", "mine");
    let watching = Watching::start(&test);
    watching.until("refused  helper: `.opencode/agents/helper.md` is there already");
    watching.until("= help: ");
    watching.until("1 refused");
    assert_eq!(watching.interrupt(), Some(130));
}

#[test]
fn watch_continues_after_a_broken_definition() {
    let test = workspace();
    let watching = Watching::start(&test);
    watching.until("2 created");
    test.write("agents/helper/agent.toml", "name = ");
    watching.until("1 agent for opencode");
    test.write("agents/helper/agent.toml", "name = \"helper\"\ndescription = \"Knows\"\n");
    watching.until("2 agents for opencode: 1 updated");
    assert_eq!(watching.interrupt(), Some(130));
}
