//! What a person at a terminal sees, answers and types: through a pseudo terminal, which `script` of
//! util-linux makes.
#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::run::{WRITER, write};
use crate::server::{Protocol, Reply, Server, Turn};
use crate::test::Test;

/// An agent that is asked about every command.
const ASKED: &str = "name = \"asked\"\ndescription = \"Runs commands\"\n\n\
    [permissions.bash]\nintent = \"ask\"\n";

fn bash(command: &str) -> Turn {
    Turn::call("bash", json!({ "command": command }))
}

/// The program in a terminal.
struct Terminal {
    child: Child,
    shown: String,
}

impl Terminal {
    fn new(test: &Test, server: &Server, args: &str) -> Self {
        let line = format!("{} {args}", env!("CARGO_BIN_EXE_agentry"));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(test.path(""));
        command.env_clear().env("NO_COLOR", "1").env("HOME", test.path("home"));
        command.env("TERM", "xterm").env("SHELL", "/bin/sh").env("PATH", "/usr/bin:/bin");
        command.env("ANTHROPIC_API_KEY", "key-of-the-test");
        command.env("ANTHROPIC_BASE_URL", server.base(Protocol::Anthropic));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self { child: command.spawn().expect("`script` runs"), shown: String::new() }
    }

    /// Waits until this is shown; gives what was shown until then.
    #[track_caller]
    fn sees(&mut self, text: &str) -> String {
        let out = self.child.stdout.as_mut().expect("its output");
        let mut bytes = [0; 4096];
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            let count = out.read(&mut bytes).expect("its output");
            assert!(count > 0, "no `{text}` in {}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }

    fn types(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        input.write_all(format!("{line}\r").as_bytes()).expect("it reads");
        input.flush().expect("it reads");
    }

    /// Answers the next question about a call; gives the question.
    fn answers(&mut self, letter: &str) -> String {
        // The prompt is drawn again with every key.
        self.sees("may `bash` run?");
        let shown = self.sees("[l]ater › ");
        self.types(letter);
        shown
    }

    /// The rest, once it has ended.
    fn ends(mut self, code: i32) -> String {
        let mut rest = Vec::new();
        let out = self.child.stdout.as_mut().expect("its output");
        out.read_to_end(&mut rest).expect("its output");
        let shown = self.shown + &String::from_utf8_lossy(&rest);
        assert_eq!(self.child.wait().expect("it ends").code(), Some(code), "{shown}");
        shown
    }
}

fn asked() -> Test {
    Test::new()
        .file("asked/agent.toml", ASKED)
        .file("asked/system-prompt.md", "You run commands.\n")
}

#[test]
fn a_person_answers_in_four_ways() {
    let server = Server::playing([
        bash("echo one").into(),
        bash("echo two").into(),
        bash("echo three").into(),
        bash("printf four").into(),
        bash("echo three").into(),
        bash("printf five").into(),
        bash("rm -rf six").into(),
        Turn::text("That is all.").into(),
    ]);
    let test = asked().file("six/kept.txt", "kept");
    let mut terminal = Terminal::new(&test, &server, "run asked go --unconfined");
    let shown = terminal.sees("run it? [y]es  [n]o › ");
    assert!(shown.contains("has not run here before"), "{shown}");
    terminal.types("y");
    let shown = terminal.answers("y");
    assert!(shown.contains("\"command\": \"echo one\""), "{shown}");
    assert!(shown.contains("why you are asked"), "{shown}");
    assert!(shown.contains("[a]lways covers: `echo` with any arguments"), "{shown}");
    terminal.answers("n not now");
    terminal.answers("e");
    terminal.answers("a");
    // The same call, and another one of the same program, are settled; another program is not.
    let shown = terminal.answers("n");
    assert!(shown.contains("\"command\": \"rm -rf six\""), "{shown}");
    let shown = terminal.ends(0);
    assert!(shown.contains("That is all."), "{shown}");
    assert!(test.has("six/kept.txt"));
    let results: Vec<String> =
        server.asked().last().expect("a request").results.iter().map(|it| it.1.clone()).collect();
    for (at, expected) in
        ["one", "not now", "three", "four", "three", "five", "refused by the person"]
            .iter()
            .enumerate()
    {
        assert!(results[at].contains(expected), "{at}: {results:?}");
    }
}

#[test]
fn a_conversation_is_left_and_found_again() {
    let server = Server::playing([
        write("out.txt").into(),
        Turn::text("First answer.").into(),
        Turn::text("Second answer.").into(),
    ]);
    let test = Test::new()
        .file("writer/agent.toml", WRITER)
        .file("writer/system-prompt.md", "You write files.\n");
    let mut terminal = Terminal::new(&test, &server, "run writer --yes");
    terminal.sees("› ");
    terminal.types("my key is key-of-the-test");
    terminal.sees("First answer.");
    for (word, expected) in [
        ("/tools", "write"),
        ("/policy", "allow `out.txt`"),
        ("/cost", "2 of 200 turns"),
        ("/why", "allow: edit"),
        ("/nothing", "there is no `/nothing`"),
    ] {
        terminal.sees("› ");
        terminal.types(word);
        terminal.sees(expected);
    }
    terminal.types("/exit");
    terminal.ends(0);
    let history = test.read("home/.agentry/history");
    assert!(history.contains("my key is [redacted: ANTHROPIC_API_KEY]"), "{history}");
    let mut terminal = Terminal::new(&test, &server, "resume last");
    terminal.sees("› ");
    terminal.types("and now?");
    terminal.sees("Second answer.");
    terminal.types("/exit");
    terminal.ends(0);
    assert_eq!(server.asked()[2].said.last().map(String::as_str), Some("and now?"));
}

#[test]
fn an_agent_says_something_first() {
    let server = Server::playing([]);
    let agent = json!({ "name": "Helper", "description": "Helps", "greeting": "Good day." });
    let test = Test::new()
        .file("helper/agent.json", agent.to_string())
        .file("helper/persona.md", "You help.\n");
    let mut terminal = Terminal::new(&test, &server, "run helper --yes --as agentfs");
    let shown = terminal.sees("› ");
    assert!(shown.contains("Good day."), "{shown}");
    terminal.types("\u{4}");
    terminal.ends(0);
    assert_eq!(server.count(), 0);
}

#[test]
fn a_question_is_left_by_interrupting_it() {
    let server = Server::playing([bash("echo one").into(), Reply::Silent]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    terminal.sees("[l]ater › ");
    terminal.types("\u{3}");
    let shown = terminal.ends(130);
    assert!(shown.contains("agentry resume"), "{shown}");
    assert_eq!(server.count(), 1, "the turn is over");
}
