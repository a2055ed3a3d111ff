//! The screen of a run as a person sees it: a real pseudo terminal, drawn by a terminal emulator.
#![cfg(target_os = "linux")]

use serde_json::json;

use crate::run_person::{asked, bash, make_fifo, reader};
use crate::server::{Break, Reply, Server, Turn};
use crate::terminal::{Terminal, Window, wait_for};

/// The number of times that a text stands on the screen.
fn count(screen: &str, text: &str) -> usize {
    screen.matches(text).count()
}

/// Waits for the prompt. The line editor drops what is typed while it still handles the line before.
#[track_caller]
pub(crate) fn is_prompted(terminal: &mut Terminal<'_>) {
    terminal.shows_that("the prompt", |screen| screen.trim_end().ends_with('›'));
}

/// The signs of life: none of them may stay in the scrollback.
const SPINNER: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

#[track_caller]
fn has_no_traces(screen: &str) {
    assert!(!screen.contains(|c| SPINNER.contains(c)), "{screen}");
    assert_eq!(count(screen, "cost unknown") + count(screen, "$"), 1, "{screen}");
}

#[test]
fn answering_one_call_keeps_the_next_question() {
    let calls = bash("echo first").and_call("bash", json!({ "command": "echo second" }));
    let server = Server::playing([calls.into(), Turn::text("That is all.").into()]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    let screen = terminal.shows("answer › █");
    assert!(screen.contains("may it run? bash echo first"), "{screen}");
    let screen = terminal.shows("2 calls wait for you:");
    assert!(screen.contains("  bash echo first\n  bash echo second"), "{screen}");
    terminal.types("y");
    let screen = terminal.shows("may it run? bash echo second");
    assert!(screen.contains("answer › yes\n"), "the answer stays: {screen}");
    let screen = terminal
        .shows_that("the second question", |screen| screen.trim_end().ends_with("answer › █"));
    assert!(screen.contains("may it run? bash echo second"), "{screen}");
    terminal.types("n not this one");
    terminal.is_over(0);
    let all = terminal.scrollback();
    assert!(all.contains("✓ bash echo first  [1] approved"), "{all}");
    assert!(all.contains("✗ bash echo second  [2] refused · not this one"), "{all}");
    assert!(all.contains("That is all."), "{all}");
    has_no_traces(&all);
}

#[test]
fn redraws_leave_no_copies_at_any_width() {
    for columns in [20, 40, 79, 80, 120, 200] {
        let server = Server::playing([
            bash("cat gate").into(),
            bash("cat a-file-with-a-rather-long-name-that-fills-narrow-lines.txt").into(),
            Turn::text("That is **all**, in some more words than fit into a narrow line.").into(),
        ]);
        let test = reader();
        make_fifo(&test.path("gate"));
        let window = Window { columns, ..Window::default() };
        let args = "run asked go --yes --unconfined";
        let mut terminal = Terminal::in_window(&test, &server, args, window);
        terminal.shows("bash cat gate");
        std::fs::write(test.path("gate"), "open\n").expect("the command reads it");
        terminal.is_over(0);
        let all = terminal.scrollback();
        has_no_traces(&all);
        assert_eq!(count(&all, "✓ bash cat gate"), 1, "{columns}: {all}");
        assert_eq!(count(&all, "That is"), 1, "{columns}: {all}");
    }
}

#[test]
fn a_resized_window_has_one_region() {
    let server = Server::playing([bash("echo one").into(), Turn::text("That is all.").into()]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    terminal.shows("answer › █");
    for (rows, columns) in [(24, 120), (24, 40), (12, 60), (30, 200), (24, 80)] {
        terminal.resizes(rows, columns);
        // A key is answered with a frame for the new size.
        terminal.presses("x");
        terminal.shows_that("the key", |screen| screen.replace('\n', "").contains("› x█"));
        terminal.presses("\u{7f}");
        let screen =
            terminal.shows_that("no key", |screen| screen.replace('\n', "").contains("› █"));
        assert_eq!(count(&screen, "answer ›"), 1, "{rows}×{columns}:\n{screen}");
        assert_eq!(count(&screen, "█"), 1, "{rows}×{columns}:\n{screen}");
    }
    terminal.types("y");
    terminal.is_over(0);
    let all = terminal.scrollback();
    assert!(all.contains("That is all."), "{all}");
}

/// The same while the model is silent, in the middle of an answer, and while a command runs.
#[test]
fn a_working_region_survives_every_size() {
    let open = format!("One line.\n\n{}", "An open line that goes on ".repeat(9));
    let cases = [
        (Reply::Silent, "waits for the model"),
        (Turn::text(open).broken(Break::Stalled(30)).into(), "answers · "),
        (bash("cat lines gate").into(), "works · "),
    ];
    for (reply, state) in cases {
        let server = Server::playing([reply, Turn::text("Done.").into()]);
        let test = reader().file("lines", "line 1\nline 2\nline 3\n");
        make_fifo(&test.path("gate"));
        let mut terminal = Terminal::new(&test, &server, "run asked --yes --unconfined");
        is_prompted(&mut terminal);
        terminal.types("go");
        terminal.shows(state);
        for (rows, columns) in [(24, 200), (24, 40), (8, 60), (5, 40), (30, 120), (24, 80)] {
            terminal.resizes(rows, columns);
            terminal.shows_frames(3);
            let screen = terminal.screen();
            assert_eq!(count(&screen, state), 1, "{rows}×{columns}:\n{screen}");
        }
        terminal.presses("\u{1b}");
        terminal.shows("stopped");
        is_prompted(&mut terminal);
        terminal.types("/exit");
        terminal.is_over(0);
        let all = terminal.scrollback();
        assert!(!all.contains(|c| SPINNER.contains(c)), "{state}: {all}");
    }
}

/// What keys do stands where it is needed, and a queued message can be changed.
#[test]
fn a_queued_message_can_be_changed() {
    let server = Server::playing([Reply::Silent, Turn::text("Here I am.").into()]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, "run asked --yes --unconfined");
    is_prompted(&mut terminal);
    terminal.types("first");
    terminal.shows(" · Esc stops");
    terminal.presses("secnod\r");
    terminal.shows("next: secnod  ↑ changes it");
    terminal.presses("\u{1b}[A\u{7f}\u{7f}\u{7f}ond\r");
    terminal.shows("next: second  ↑ changes it");
    terminal.presses("\u{1b}");
    terminal.shows("Here I am.");
    is_prompted(&mut terminal);
    terminal.types("/exit");
    terminal.is_over(0);
    assert_eq!(server.asked()[1].user_texts.last().map(String::as_str), Some("second"));
}

/// A model that fails is asked again: its failure is shown once, and the region counts the seconds.
#[test]
fn a_retry_is_counted_in_the_region() {
    let busy = || Reply::status(429).header("retry-after", "1");
    let server = Server::playing([busy(), busy(), Turn::text("Here I am.").into()]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    terminal.shows("asks the model again in ");
    terminal.is_over(0);
    let all = terminal.scrollback();
    assert_eq!(count(&all, "scripted"), 1, "{all}");
    assert!(all.contains("Here I am.") && !all.contains("again in"), "{all}");
}

#[test]
fn wide_characters_do_not_break_the_live_region() {
    for columns in [30, 40, 81] {
        let wide = "日本語のとても長いファイル名です-e\u{301}e\u{301}-👩\u{200d}🚀-終わり";
        let server = Server::playing([
            bash(&format!("echo {wide}")).into(),
            Turn::text(format!("{wide} {wide} {wide} fertig")).into(),
        ]);
        let test = asked();
        let window = Window { columns, ..Window::default() };
        let args = "run asked go --yes --unconfined";
        let mut terminal = Terminal::in_window(&test, &server, args, window);
        terminal.shows("█");
        let all = terminal.scrollback();
        assert_eq!(count(&all, "may it run?"), 1, "{all}");
        terminal.presses("日本x");
        terminal.shows_that("typed", |screen| screen.replace('\n', "").contains("日本x█"));
        terminal.presses("\u{7f}\u{7f}\u{7f}");
        terminal.shows_that("removed", |screen| screen.replace('\n', "").contains("› █"));
        terminal.types("y");
        terminal.is_over(0);
        let all = terminal.scrollback();
        has_no_traces(&all);
        assert!(all.contains("fertig"), "{all}");
        assert_eq!(count(&all, "█"), 0, "{all}");
    }
}

#[test]
fn escape_stops_the_turn_and_prints_nothing() {
    let server = Server::playing([
        Reply::Silent,
        Turn::text("Here I am.").into(),
        Turn::text("And here.").into(),
    ]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, "run asked --yes --unconfined");
    terminal.shows("› ");
    terminal.types("first");
    terminal.shows("waits for the model");
    wait_for("a request", || server.count() == 1);
    // What is typed meanwhile is the next message.
    terminal.presses("second\r");
    terminal.shows("next: second");
    terminal.presses("\u{1b}[C\u{1b}OB");
    terminal.presses("\u{1b}");
    terminal.shows("stopped");
    let screen = terminal.shows("Here I am.");
    assert!(screen.contains("› second"), "{screen}");
    assert!(!screen.contains("^["), "{screen}");
    is_prompted(&mut terminal);
    terminal.types("third");
    terminal.shows("And here.");
    terminal.types("/exit");
    terminal.is_over(0);
    assert_eq!(server.asked()[1].user_texts.last().map(String::as_str), Some("second"));
}

#[test]
fn a_running_command_shows_its_last_lines_and_expands() {
    let lines = "cat lines gate";
    let server = Server::playing([bash(lines).into(), Turn::text("Done.").into()]);
    let numbered: String = (1..=50).map(|at| format!("line {at}\n")).collect();
    let test = reader().file("lines", numbered);
    make_fifo(&test.path("gate"));
    let mut terminal = Terminal::new(&test, &server, "run asked --yes --unconfined");
    terminal.shows("› ");
    terminal.types("go");
    let screen = terminal.shows("    line 50");
    assert!(screen.contains("    line 48\n    line 49\n    line 50\n"), "{screen}");
    assert!(!screen.contains("line 47"), "{screen}");
    std::fs::write(test.path("gate"), "open\n").expect("the command reads it");
    let screen = terminal.shows("Done.");
    assert!(screen.contains("✓ bash cat lines gate  [1] allowed · "), "{screen}");
    assert!(screen.contains(" · 51 lines"), "{screen}");
    assert!(!screen.contains("line 49"), "it is folded: {screen}");
    terminal.types("/expand 1");
    terminal.shows("  line 49");
    terminal.types("/exit");
    terminal.is_over(0);
}

#[test]
fn without_colour_or_screen_no_escapes_are_sent() {
    for (term, color) in [("xterm", false), ("xterm", true), ("dumb", false)] {
        let server = Server::playing([
            bash("cat one").into(),
            Turn::text("# Title\n\nThat is **all**.\n").into(),
        ]);
        let test = reader().file("one", "1\n");
        let window = Window { color, term, ..Window::default() };
        let args = "run asked go --yes --unconfined";
        let mut terminal = Terminal::in_window(&test, &server, args, window);
        terminal.is_over(0);
        let sent = String::from_utf8_lossy(terminal.sent()).into_owned();
        let has_color = sent.contains("\u{1b}[1m") || sent.contains("\u{1b}[2m");
        assert_eq!(has_color, color, "{sent:?}");
        assert_eq!(sent.contains('\u{1b}'), term != "dumb", "{sent:?}");
        let all = terminal.scrollback();
        let expected = if color { "That is all." } else { "That is **all**." };
        assert!(all.contains(expected), "{all}");
    }
}

/// A terminal whose locale is not UTF-8 gets signs that it can show.
#[test]
fn a_locale_without_utf8_gets_plain_signs() {
    let server =
        Server::playing([bash("echo one").into(), Turn::text("- one\n- two\n\n> three\n").into()]);
    let test = asked();
    let window = Window { locale: "C", color: true, ..Window::default() };
    let args = "run asked --yes --unconfined";
    let mut terminal = Terminal::in_window(&test, &server, args, window);
    terminal.shows_that("the prompt", |screen| screen.trim_end().ends_with('>'));
    terminal.types("go");
    terminal.shows("answer > _");
    terminal.types("y");
    terminal.shows("* two");
    terminal.shows_that("the prompt again", |screen| screen.trim_end().ends_with('>'));
    terminal.types("/exit");
    terminal.is_over(0);
    let all = terminal.scrollback();
    assert!(all.contains("+ bash echo one  [1] approved"), "{all}");
    let other: String = terminal.sent().iter().filter(|it| !it.is_ascii()).map(|_| '?').collect();
    assert_eq!(other, "", "{all}");
}

#[test]
fn a_line_without_end_is_shown_while_it_streams() {
    let words: String = (0..3_000).map(|at| format!("word{at} ")).collect();
    let server = Server::playing([Turn::text(words).into()]);
    let test = asked();
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    terminal.is_over(0);
    let all = terminal.scrollback();
    for at in [0, 1, 500, 1_234, 2_999] {
        assert_eq!(count(&all, &format!("word{at} ")), 1, "{at}: {all}");
    }
    has_no_traces(&all);
}

#[test]
fn the_tool_list_is_not_truncated() {
    let server = Server::playing([]);
    let test = asked();
    let window = Window { columns: 60, ..Window::default() };
    let args = "run asked --yes --unconfined";
    let mut terminal = Terminal::in_window(&test, &server, args, window);
    terminal.shows("› ");
    terminal.types("/tools");
    let screen = terminal.shows("bash");
    assert!(!screen.contains('…'), "{screen}");
    terminal.types("/exit");
    terminal.is_over(0);
}

/// A refusal says why, also where there is no terminal.
#[test]
fn an_unattended_refusal_shows_its_reason() {
    let server = Server::playing([bash("echo one").into(), Turn::text("Well.").into()]);
    let test = asked();
    let ran = crate::run::with(&test, &server, &["run", "asked", "go", "--yes"]).exits(0);
    let expected = "bash echo one  ask\n  bash echo one: refused: no user is present to answer\n";
    assert!(ran.stderr.contains(expected), "{ran}");
}

#[test]
fn a_resumed_call_is_shown_with_its_name() {
    let server = Server::playing([bash("echo one").into(), Turn::text("That is all.").into()]);
    let test = asked();
    let args = ["run", "asked", "go", "--yes", "--unconfined", "--on-ask", "park"];
    crate::run::with(&test, &server, &args).exits(3);
    let mut terminal = Terminal::new(&test, &server, "resume last");
    terminal.shows("answer › █");
    terminal.types("y");
    terminal.is_over(0);
    let all = terminal.scrollback();
    assert!(all.contains("✓ bash echo one  ["), "{all}");
    assert!(!all.contains("an earlier call"), "{all}");
}

#[test]
fn a_reached_limit_suggests_its_option() {
    let server = Server::answering(|_| bash("cat a").into());
    let test = reader().file("a", "1\n");
    let cases = [("--max-turns 1", "--max-turns N"), ("--max-steps 1", "--max-steps N")];
    for (option, expected) in cases {
        let mut args = vec!["run", "asked", "go", "--yes", "--unconfined"];
        args.extend(option.split(' '));
        let ran = crate::run::with(&test, &server, &args).exits(3);
        assert!(ran.stderr.contains(&format!(" {expected}` continues it")), "{ran}");
    }
}

#[test]
fn an_unwritable_home_is_an_error_with_a_hint() {
    let server = Server::playing([]);
    let test = asked().file("taken", "a file, no directory");
    let args = ["run", "asked", "go", "--yes", "--unconfined"];
    let test = test.env("AGENTRY_HOME", "taken/home");
    let ran = crate::run::with(&test, &server, &args).exits(2);
    assert!(ran.stderr.contains("= help:") && ran.stderr.contains("AGENTRY_HOME"), "{ran}");
}

/// The consent to a changed agent shows what changed, and not everything again.
#[test]
fn the_consent_to_a_changed_agent_shows_the_change() {
    let server = Server::answering(|_| Turn::text("Done.").into());
    let test = asked();
    let args = ["run", "asked", "go", "--yes", "--unconfined"];
    let ran = crate::run::with(&test, &server, &args).exits(0);
    assert!(ran.stderr.contains("runs only if you agree. It may:"), "{ran}");
    test.write("asked/system-prompt.md", "You run commands well.\n");
    let ran = crate::run::with(&test, &server, &args).exits(0);
    assert!(ran.stderr.contains("only its texts changed"), "{ran}");
    assert!(!ran.stderr.contains("variables"), "{ran}");
    let agent = test.read("asked/agent.toml") + "rules = [\"git push*:allow\"]\n";
    test.write("asked/agent.toml", agent);
    let ran = crate::run::with(&test, &server, &args).exits(0);
    let expected = "What it may do changed:\n  - commands: ask everything\n  \
        + commands: allow `git push*`\n  + commands: ask the rest\n";
    assert!(ran.stderr.contains(expected), "{ran}");
    // Another agent at another place is shown as a whole.
    let other = test.read("asked/agent.toml");
    test.write("copy/agent.toml", other);
    test.write("copy/system-prompt.md", "You run commands badly.\n");
    let ran = crate::run::with(&test, &server, &["run", "copy", "go", "--yes", "--unconfined"]);
    assert!(ran.exits(0).stderr.contains("runs only if you agree. It may:"));
}

#[test]
fn a_conversation_has_a_banner_completion_and_commands_of_the_user() {
    let edit = Turn::call("write", json!({ "path": "made.txt", "content": "one\ntwo\n" }));
    let server = Server::playing([edit.into(), Turn::text("Written.").into()]);
    let test = reader().file("notes.md", "the notes\n");
    let mut terminal = Terminal::new(&test, &server, "run asked --yes --unconfined");
    let screen = terminal.shows("/help lists what you can type");
    assert!(screen.contains("agent      asked"), "{screen}");
    assert!(screen.contains("model      anthropic/"), "{screen}");
    assert!(screen.contains("workspace  /"), "{screen}");
    is_prompted(&mut terminal);
    terminal.presses("/po\t");
    terminal.shows("› /policy");
    terminal.presses("\r");
    terminal.shows("allow `cat *`");
    // A command of the user is judged by the policy of the agent.
    is_prompted(&mut terminal);
    terminal.types("!cat notes.md");
    terminal.shows("the notes");
    is_prompted(&mut terminal);
    terminal.types("/halp");
    terminal.shows("`/help`");
    is_prompted(&mut terminal);
    terminal.presses("look at @no\t");
    terminal.shows("› look at @notes.md");
    terminal.presses(" and\\\r");
    terminal.presses("write it\r");
    terminal.shows("may it run? write made.txt");
    let screen = terminal.shows("answer › █");
    assert!(screen.contains("    1 +one\n    2 +two\n"), "{screen}");
    terminal.types("y");
    let screen = terminal.shows("made.txt  +2 −0");
    assert!(screen.contains("✓ write made.txt  ["), "{screen}");
    assert_eq!(
        server.asked()[0].user_texts.last().map(String::as_str),
        Some("look at @notes.md and\nwrite it")
    );
    is_prompted(&mut terminal);
    terminal.types("/diff");
    terminal.shows_that("the diff again", |screen| count(screen, "+two") == 2);
    is_prompted(&mut terminal);
    terminal.types("/agents");
    terminal.shows("no agent works for it");
    is_prompted(&mut terminal);
    terminal.types("/mcp");
    terminal.shows("it uses no MCP server");
    is_prompted(&mut terminal);
    terminal.types("/exit");
    terminal.is_over(0);
}

/// A command that the policy denies is not run for the user either.
#[test]
fn a_command_of_the_user_stays_within_the_policy() {
    let server = Server::playing([]);
    let agent = "name = \"asked\"\ndescription = \"Runs commands\"\n\n\
        [permissions.bash]\nintent = \"allow\"\nrules = [\"touch *:deny\"]\n";
    let test = asked().file("asked/agent.toml", agent);
    let mut terminal = Terminal::new(&test, &server, "run asked --yes --unconfined");
    terminal.shows("› ");
    terminal.types("!touch made");
    terminal.shows("the policy denies it");
    terminal.types("!echo made >> log");
    // The prompt before it is still on the screen.
    terminal.shows("done, without output");
    is_prompted(&mut terminal);
    terminal.types("/exit");
    terminal.is_over(0);
    assert!(!test.has("made"));
}

#[test]
fn a_question_rings_the_bell_and_notifies() {
    let off = "[notify]\nbell = false\nmessage = false\n";
    let user = "home/.config/agentry/config.toml";
    let cases = [
        (None, Window::default(), true),
        (Some(("agentry.toml", off)), Window::default(), false),
        (Some((user, off)), Window::default(), false),
        (None, Window { term: "dumb", ..Window::default() }, false),
    ];
    for (file, window, expected) in cases {
        let server = Server::playing([bash("echo one").into(), Turn::text("Done.").into()]);
        let test = asked();
        file.iter().for_each(|(path, text)| test.write(path, text));
        let args = "run asked go --yes --unconfined";
        let mut terminal = Terminal::in_window(&test, &server, args, window);
        terminal.sees("answer › ");
        terminal.types("y");
        terminal.is_over(0);
        let sent = String::from_utf8_lossy(terminal.sent()).into_owned();
        assert_eq!(
            sent.matches(crate::hostile_screen::CALL).count(),
            usize::from(expected),
            "{file:?}: {sent:?}"
        );
        assert!(expected || !sent.contains('\u{7}'), "{file:?}: {sent:?}");
    }
}
