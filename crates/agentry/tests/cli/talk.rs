//! The commands of a conversation that change the run: on the screen, in the journal and after a resume.
#![cfg(target_os = "linux")]

use serde_json::json;

use crate::run_person::{asked, bash, make_fifo, reader};
use crate::screen::is_prompted;
use crate::server::{Asked, Reply, Server, Turn};
use crate::terminal::Terminal;
use crate::test::Test;

const TALK: &str = "run asked --yes --unconfined";

/// Types a line at the prompt.
#[track_caller]
fn types(terminal: &mut Terminal<'_>, line: &str) {
    is_prompted(terminal);
    terminal.types(line);
}

/// Types a message, and waits for the answer.
#[track_caller]
fn types_and_sees(terminal: &mut Terminal<'_>, line: &str, answer: &str) {
    types(terminal, line);
    terminal.shows(answer);
}

#[track_caller]
fn leaves(terminal: &mut Terminal<'_>) {
    types(terminal, "/exit");
    terminal.is_over(0);
}

/// An agent that edits without a question.
fn editor() -> Test {
    let agent = "name = \"asked\"\ndescription = \"Edits\"\n\n\
        [permissions.bash]\nintent = \"ask\"\nrules = [\"cat *:allow\", \"cd *:allow\"]\n\n\
        [permissions.edit]\nintent = \"allow\"\n";
    asked().file("asked/agent.toml", agent)
}

fn write(content: &str) -> Turn {
    Turn::call("write", json!({ "path": "made.txt", "content": content }))
}

fn model_of(asked: &Asked) -> String {
    asked.body["model"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn undo_restores_files_and_informs_the_model() {
    let read = Turn::call("read", json!({ "path": "made.txt" }));
    let server = Server::playing([
        write("one\n").into(),
        Turn::text("First.").into(),
        read.clone().into(),
        write("two\n").into(),
        Turn::text("Second.").into(),
        Turn::text("Third.").into(),
    ]);
    let test = editor();
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "/undo", "no turn that could be undone changed a file");
    types_and_sees(&mut terminal, "write", "First.");
    types_and_sees(&mut terminal, "again", "Second.");
    assert_eq!(test.read("made.txt"), "two\n");
    types_and_sees(&mut terminal, "/undo", "restored: ");
    assert_eq!(test.read("made.txt"), "one\n");
    types_and_sees(&mut terminal, "and?", "Third.");
    let user_texts = server.asked().last().expect("a request").user_texts.clone();
    assert!(format!("{user_texts:?}").contains("I have undone your changes to"), "{user_texts:?}");
    types(&mut terminal, "/undo");
    terminal.shows_that("the second undo", |screen| screen.matches("restored: ").count() == 2);
    assert!(!test.has("made.txt"));
    leaves(&mut terminal);
    let shown = test.run("runs show last").stdout;
    assert_eq!(shown.matches("the person took back the changes of").count(), 2, "{shown}");
}

/// Turns of an earlier process are undone too, and only files of the turn itself are listed after it.
#[test]
fn a_turn_of_an_earlier_process_is_undone() {
    let server = Server::playing([
        write("one\n").into(),
        Turn::text("First.").into(),
        write("two\n").into(),
        Turn::text("Second.").into(),
        Turn::text("Third.").into(),
    ]);
    let test = editor();
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "write", "First.");
    types_and_sees(&mut terminal, "again", "Second.");
    leaves(&mut terminal);
    let mut terminal = Terminal::new(&test, &server, "resume last");
    types_and_sees(&mut terminal, "and?", "Third.");
    is_prompted(&mut terminal);
    assert!(!terminal.scrollback().contains("made.txt  +"), "{}", terminal.screen());
    types_and_sees(&mut terminal, "/undo", "restored: ");
    assert_eq!(test.read("made.txt"), "one\n");
    types(&mut terminal, "/undo");
    terminal.shows_that("the second undo", |screen| screen.matches("restored: ").count() == 2);
    assert!(!test.has("made.txt"));
    types_and_sees(&mut terminal, "/undo", "no turn that could be undone changed a file");
    leaves(&mut terminal);
}

#[test]
fn undo_keeps_files_that_the_user_changed() {
    let server = Server::playing([write("one\n").into(), Turn::text("First.").into()]);
    let test = editor();
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "write", "First.");
    test.write("made.txt", "mine\n");
    types_and_sees(&mut terminal, "/undo", "made.txt: it was changed since");
    leaves(&mut terminal);
    assert_eq!(test.read("made.txt"), "mine\n");
}

#[test]
fn a_model_switch_survives_a_resume() {
    let server = Server::answering(|asked| Turn::text(format!("Answer {}.", asked.number)).into());
    let agent = "name: helper\ndescription: Helps\nmodel:\n  \
        preferred: [claude/claude-sonnet-4-6, claude/claude-haiku-4-5]\n";
    let test = Test::new().file("helper.agent", agent);
    let mut terminal = Terminal::new(&test, &server, "run helper.agent --yes --unconfined");
    types_and_sees(&mut terminal, "hi", "Answer 0.");
    types(&mut terminal, "/model");
    terminal.shows("* anthropic/");
    // At the start of a line: the banner names a model too.
    let screen = terminal.shows("\n  anthropic/");
    let other = screen.lines().find_map(|line| line.strip_prefix("  anthropic/"));
    let other = other.expect("a second model").trim().to_owned();
    let first = model_of(&server.asked()[0]);
    assert_ne!(first, other);
    types_and_sees(&mut terminal, "/model none", "is none of the models of this run");
    types_and_sees(&mut terminal, &format!("/model {other}"), &format!("* anthropic/{other}"));
    types_and_sees(&mut terminal, "more", "Answer 1.");
    leaves(&mut terminal);
    let mut terminal = Terminal::new(&test, &server, "resume last");
    terminal.shows(&format!("model      anthropic/{other}"));
    types_and_sees(&mut terminal, "and more", "Answer 2.");
    leaves(&mut terminal);
    let models: Vec<String> = server.asked().iter().map(model_of).collect();
    assert_eq!(models, [first, other.clone(), other]);
}

#[test]
fn a_cleared_conversation_survives_a_resume() {
    let server = Server::answering(|asked| Turn::text(format!("Answer {}.", asked.number)).into());
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "one", "Answer ");
    types_and_sees(&mut terminal, "/clear", "a new conversation");
    types_and_sees(&mut terminal, "two", "Answer 1.");
    types(&mut terminal, "/cost");
    // The line at the end of the turn, and the answer to the command.
    terminal.shows_that("the cost", |screen| screen.matches("2 of 200 turns").count() == 2);
    leaves(&mut terminal);
    let mut terminal = Terminal::new(&test, &server, "resume last");
    types_and_sees(&mut terminal, "three", "Answer 2.");
    leaves(&mut terminal);
    let user_texts: Vec<Vec<String>> =
        server.asked().iter().map(|asked| asked.user_texts.clone()).collect();
    let has = |at: usize, text: &str| format!("{:?}", user_texts[at]).contains(text);
    assert!(!has(1, "one") && has(1, "two"), "{user_texts:?}");
    assert!(!has(2, "one") && has(2, "two") && has(2, "three"), "{user_texts:?}");
}

#[test]
fn a_compacted_conversation_survives_a_resume() {
    let server = Server::answering(|asked: &Asked| {
        let sums_up =
            asked.user_texts.last().is_some_and(|user_texts| user_texts.contains("Sum this up."));
        let text =
            if sums_up { "the-summary".to_owned() } else { format!("Answer {}.", asked.number) };
        Turn::text(text).into()
    });
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "/compact", "there is nothing to compact");
    types_and_sees(&mut terminal, "the first message", "Answer ");
    types_and_sees(&mut terminal, "the second message", "Answer 1.");
    types_and_sees(&mut terminal, "/compact", "2 messages were compacted");
    types_and_sees(&mut terminal, "the third message", "Answer 3.");
    leaves(&mut terminal);
    let mut terminal = Terminal::new(&test, &server, "resume last");
    types_and_sees(&mut terminal, "the fourth message", "Answer 4.");
    leaves(&mut terminal);
    for at in [3, 4] {
        let user_texts = server.asked()[at].user_texts.join("\n");
        assert!(
            user_texts.contains("the-summary") && user_texts.contains("the second message"),
            "{user_texts}"
        );
        assert!(!user_texts.contains("the first message"), "{user_texts}");
    }
}

#[test]
fn the_resume_command_continues_another_conversation() {
    let server = Server::answering(|asked| Turn::text(format!("Answer {}.", asked.number)).into());
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "/resume", "there is no other conversation here");
    types_and_sees(&mut terminal, "about the moon", "Answer ");
    leaves(&mut terminal);
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "about the sun", "Answer ");
    types(&mut terminal, "/resume");
    let screen = terminal.shows("about the moon");
    let row = screen.lines().find(|line| line.contains("about the moon")).expect("a row");
    let id = row.split_whitespace().next().expect("an id").to_owned();
    types_and_sees(&mut terminal, "/resume nothing-like-it", "nothing-like-it");
    types(&mut terminal, &format!("/resume {id}"));
    terminal.shows_that("a banner after it", |screen| {
        let left = screen.find("continues the conversation that you leave");
        left.is_some_and(|at| screen[at..].contains("/help lists"))
    });
    types_and_sees(&mut terminal, "and the stars?", "Answer 2.");
    leaves(&mut terminal);
    let user_texts = server.asked()[2].user_texts.join("\n");
    assert!(
        user_texts.contains("about the moon") && user_texts.contains("and the stars?"),
        "{user_texts}"
    );
    assert!(!user_texts.contains("about the sun"), "{user_texts}");
}

#[test]
fn a_command_of_the_user_is_in_the_journal() {
    let server = Server::playing([bash("cat here").into(), Turn::text("Done.").into()]);
    let test = editor().file("sub/here", "in the directory\n").file("notes", "the notes\n");
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "!cat notes", "the notes");
    types_and_sees(&mut terminal, "!cd sub", "done, without output");
    leaves(&mut terminal);
    let shown = test.run("runs show last").stdout;
    assert!(shown.contains("the person runs: cat notes\n    the notes\n"), "{shown}");
    // The agent continues where the command of the user went.
    let mut terminal = Terminal::new(&test, &server, "resume last");
    types_and_sees(&mut terminal, "look", "Done.");
    leaves(&mut terminal);
    let results = server.asked().last().expect("a request").results.clone();
    assert!(results[0].1.contains("in the directory"), "{results:?}");
}

/// A command of the user streams like one of the agent, and Esc stops it and nothing else.
#[test]
fn a_command_of_the_user_is_shown_and_stopped() {
    let server = Server::playing([Turn::text("Here I am.").into()]);
    let test = reader().file("lines", "line 1\nline 2\n");
    make_fifo(&test.path("gate"));
    let mut terminal = Terminal::new(&test, &server, TALK);
    types(&mut terminal, "!cat lines gate");
    terminal.shows("    line 2");
    let screen = terminal.shows("runs your command · ");
    assert!(screen.contains("bash cat lines gate  allowed · "), "{screen}");
    terminal.presses("\u{1b}");
    let screen = terminal.shows("stopped");
    assert!(screen.contains("\nline 1\nline 2\nstopped"), "{screen}");
    types_and_sees(&mut terminal, "hello", "Here I am.");
    leaves(&mut terminal);
}

#[test]
fn the_memory_command_shows_memories() {
    let server = Server::playing([]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "/memory", "it remembers nothing between runs");
    leaves(&mut terminal);
    let agent = json!({ "name": "Helper", "description": "Helps" });
    let test = Test::new()
        .file("helper/agent.json", agent.to_string())
        .file("helper/persona.md", "You help.\n");
    test.run("memory add helper I-like-tea").exits(0);
    let mut terminal = Terminal::new(&test, &server, "run helper --yes --as agentfs");
    types_and_sees(&mut terminal, "/memory", "I-like-tea");
    leaves(&mut terminal);
}

#[test]
fn a_recorded_conversation_refuses_state_commands() {
    let server = Server::playing([]);
    let test = asked();
    let args = "run asked --yes --unconfined --record asked.cassette.one.jsonl";
    let mut terminal = Terminal::new(&test, &server, args);
    for (at, line) in ["/clear", "/compact", "/undo", "/model x", "!echo one"].iter().enumerate() {
        types(&mut terminal, line);
        let refused = "a recorded conversation cannot do that";
        terminal.shows_that(line, |screen| screen.matches(refused).count() == at + 1);
    }
    leaves(&mut terminal);
}

#[test]
fn ctrl_o_shows_the_whole_result_while_the_agent_works() {
    let server = Server::playing([
        bash("cat lines").into(),
        bash("cat gate").into(),
        Turn::text("Done.").into(),
    ]);
    let numbered: String = (1..=9).map(|at| format!("line {at}\n")).collect();
    let test = reader().file("lines", numbered);
    make_fifo(&test.path("gate"));
    let mut terminal = Terminal::new(&test, &server, TALK);
    types(&mut terminal, "go");
    let screen = terminal.shows("cat gate  allowed");
    assert!(!screen.contains("line 5"), "it is folded: {screen}");
    terminal.presses("\u{f}");
    let screen = terminal.shows("  line 9");
    assert!(screen.contains("bash cat lines  [1]\n  line 1\n"), "{screen}");
    std::fs::write(test.path("gate"), "open\n").expect("the command reads it");
    terminal.shows("Done.");
    leaves(&mut terminal);
}

#[test]
fn the_cost_is_shown_against_the_budget() {
    let server = Server::playing([Turn::text("Done.").used(1_000, 0, 1_000).into(), Reply::Silent]);
    let test = asked();
    let args = "run asked --yes --unconfined --max-cost 1";
    let mut terminal = Terminal::new(&test, &server, args);
    types_and_sees(&mut terminal, "go", "Done.");
    types(&mut terminal, "/cost");
    let screen = terminal.shows_that("the cost", |screen| screen.matches(" of $1").count() == 2);
    let of = screen.lines().find(|line| line.contains(" of $1")).expect("a line");
    assert!(of.contains("$0.0"), "{of}");
    // Also while the model works.
    types(&mut terminal, "more");
    terminal.shows_that("the region", |screen| {
        let mut lines = screen.lines().filter(|line| line.contains("waits for the model"));
        lines.any(|line| line.contains(" of $1"))
    });
    terminal.presses("\u{1b}");
    terminal.shows("stopped");
    leaves(&mut terminal);
}

#[test]
fn earlier_messages_are_in_the_input_history() {
    let server = Server::answering(|asked| Turn::text(format!("Answer {}.", asked.number)).into());
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, TALK);
    types_and_sees(&mut terminal, "a message to find", "Answer ");
    leaves(&mut terminal);
    let mut terminal = Terminal::new(&test, &server, TALK);
    is_prompted(&mut terminal);
    terminal.presses("\u{1b}[A");
    terminal.shows("› a message to find");
    terminal.presses("\r");
    terminal.shows("Answer 1.");
    leaves(&mut terminal);
    assert_eq!(server.asked()[1].user_texts.last().map(String::as_str), Some("a message to find"));
}
