//! Hostile texts on every way to the terminal of a run, and in the lists of runs, receipts and memories: none
//! of them reaches the terminal as it is.
#![cfg(target_os = "linux")]

use serde_json::json;

use crate::run_person::{asked, bash, make_fifo, reader};
use crate::screen::is_prompted;
use crate::server::{Reply, Server, Turn};
use crate::terminal::{Terminal, Window};
use crate::test::Test;

/// What a hostile text tries, and the sequence that would do it.
const HOSTILE: [(&str, &str); 14] = [
    ("the clipboard", "\u{1b}]52;c;cm0gLXJmIC8=\u{7}"),
    ("a link", "\u{1b}]8;;http://evil.example\u{1b}\\safe\u{1b}]8;;\u{1b}\\"),
    ("the title", "\u{1b}]0;owned\u{7}"),
    ("a device control string", "\u{1b}P+q544e\u{1b}\\"),
    ("an application command", "\u{1b}_Gf=100;AAAA\u{1b}\\"),
    ("the cursor", "\u{1b}[1;1H\u{1b}[5A\u{1b}[2J"),
    ("private modes", "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?1000h"),
    ("a report", "\u{1b}[6n\u{1b}[c\u{5}"),
    ("C1 controls", "\u{9b}2J\u{9d}0;owned\u{9c}\u{90}x\u{9c}"),
    ("colours without end", "\u{1b}[41;5m"),
    ("a full reset", "\u{1b}c\u{1b}(0"),
    ("the reading order", "\u{202e}gnp.exe\u{2066}x\u{2069}"),
    ("zero-width characters", "a\u{200b}b\u{2060}c\u{feff}d\u{e0041}"),
    ("lines over each other", "real\rfake\u{8}\u{8}\u{b}\u{c}"),
];

/// The notification and the bell that call the user to a question.
pub(crate) const CALL: &str = "\u{1b}]9;Agentry: a run waits for your answer\u{7}\u{7}";

/// The sequences of our own: frames, looks, the line editor.
fn without_own_sequences(sent: &str) -> String {
    let modes = ["?2026", "?7", "?25", "?2004"];
    let looks = ["0m", "1m", "2m", "31m", "32m", "33m", "36m", "J", "K", "C"];
    // The call to a question, which has nothing of the run in it.
    let mut text = sent.replace(CALL, "");
    for own in modes.iter().flat_map(|mode| [format!("{mode}h"), format!("{mode}l")]) {
        text = text.replace(&format!("\u{1b}[{own}"), "");
    }
    for own in looks {
        text = text.replace(&format!("\u{1b}[{own}"), "");
    }
    // The region goes up, and the line editor to both sides.
    for (count, way) in (1..100).flat_map(|count| ['A', 'C', 'D'].map(|way| (count, way))) {
        text = text.replace(&format!("\u{1b}[{count}{way}"), "");
    }
    text
}

#[track_caller]
fn is_harmless(what: &str, terminal: &Terminal<'_>) {
    is_harmless_text(what, &String::from_utf8_lossy(terminal.sent()));
}

#[track_caller]
fn is_harmless_text(what: &str, sent: &str) {
    let rest = without_own_sequences(sent);
    let is_hostile = |c: char| {
        (c.is_control() && !matches!(c, '\r' | '\n'))
            || matches!(
                c,
                '\u{200b}' | '\u{202e}' | '\u{2060}'
                    ..='\u{2069}' | '\u{feff}' | '\u{e0041}' | '\u{fe01}'
            )
    };
    // More marks than a language has are drawn over the lines around them.
    let tower = "\u{301}".repeat(5);
    let at = rest.find(is_hostile).or_else(|| rest.find(&tower));
    let around = at.map(|at| rest[at..].chars().take(40).collect::<String>());
    let start: String = sent.chars().take(20_000).collect();
    assert_eq!(around, None, "{what}: {start:?}");
}

/// What a person sees of a hostile text where it is printed: every character of it that could do something is
/// spelt out, so nothing is left out in silence either.
fn spelt(text: &str) -> String {
    let hostile = text.chars().filter(|c| (*c as u32) < 0x20 || (*c as u32) >= 0x7f);
    hostile
        .filter(|c| !matches!(c, '\n' | '\r' | '\t'))
        .map(|c| format!("\\u{{{:x}}}", c as u32))
        .collect()
}

/// The places from which a text can reach the terminal, each as the answer of a model.
fn ways(text: &str) -> [(&'static str, Reply); 8] {
    let write = |path: &str, content: &str| {
        Turn::call("write", json!({ "path": path, "content": content }))
    };
    let name = text.replace('/', "");
    let error = json!({ "error": { "message": text } }).to_string();
    [
        ("model text", Turn::text(format!("{text}\n\n> {text}\n\n```\n{text}\n```\n")).into()),
        ("a table", Turn::text(format!("| a |\n|---|\n| {text} |\n")).into()),
        ("a call", bash(&format!("echo '{name}'")).into()),
        ("a tool's name", Turn::call(&format!("to{name}ol"), json!({ "path": name })).into()),
        ("tool output", bash("cat hostile.txt").into()),
        ("a file name", write(&name, "x").into()),
        ("a diff", write("hostile.txt", &format!("{text}more")).into()),
        ("an error", Reply::status(400).body(error)),
    ]
}

/// A run in which a text takes one of the ways; with what was sent to the terminal.
fn run_hostile(way: &str, reply: Reply, hostile: &str, color: bool) -> Vec<u8> {
    let server = Server::playing([reply, Turn::text("That is all.").into()]);
    let agent = "name = \"asked\"\ndescription = \"Runs commands\"\n\n\
        [permissions.bash]\nintent = \"allow\"\n";
    let test = asked().file("asked/agent.toml", agent).file("hostile.txt", hostile);
    let window = Window { color, ..Window::default() };
    let mut terminal =
        Terminal::in_window(&test, &server, "run asked go --yes --unconfined", window);
    // Some texts make a call one that is asked about.
    let screen = terminal.shows_that("an end or a question", |screen| {
        screen.contains('█') || screen.contains(" of 200 turns")
    });
    if screen.contains('█') {
        terminal.types("y");
    }
    terminal.is_over(i32::from(way == "an error"));
    is_harmless(&format!("{way}, {color}"), &terminal);
    terminal.sent().to_vec()
}

/// Texts that are hostile by their shape or their size.
fn shapes() -> Vec<(&'static str, String)> {
    let row = |cell: &str| format!("{}|\n", format!("|{cell}").repeat(10_000));
    let shapes = [
        ("marks without end", format!("a{}b", "\u{301}".repeat(200))),
        ("variation selectors", "a\u{fe01}\u{fe01} ❤\u{fe0f}\u{fe01}".to_owned()),
        ("an address", "[safe](http://x.example/\u{1b}]8;;http://evil.example\u{7})".to_owned()),
        ("a fence without end", "```\n\u{1b}[31m# red\n".to_owned()),
        ("columns", "one\ttwo\r\tthree\u{8}\u{8}\u{8}\n10%\r\r20%\r\n".to_owned()),
        ("a sequence over lines", "\u{1b}]0;\nowned\n\u{7}\u{1b}\n[2J\u{1b}".to_owned()),
        ("ten thousand columns", row("a") + &row("-") + &row("\u{1b}[2J")),
        ("markers without end", format!("{}\u{9b}", "*`#[](".repeat(300))),
    ];
    shapes.into()
}

/// The rows of the table, each text on each way. Four of them are checked at once.
fn check_rows(texts: &[(&'static str, String)], color: bool) {
    let rows = texts.iter().flat_map(|(what, text)| {
        ways(text).into_iter().map(move |(way, reply)| (*what, text.as_str(), way, reply))
    });
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), texts.len() * 8);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        while let Some((what, text, way, reply)) =
            rows.get(next.fetch_add(1, std::sync::atomic::Ordering::SeqCst))
        {
            let sent = run_hostile(way, reply.clone(), text, color);
            // A tool's output is folded, and an error has no such characters at all.
            if ["model text", "a table", "a diff"].contains(way) && color {
                let sent = String::from_utf8_lossy(&sent).replace(['\r', '\n'], "");
                let first = spelt(text);
                let first = first.split('}').next().unwrap_or_default();
                assert!(sent.contains(first), "{what} in {way}: {sent:?}");
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
}

/// Nothing that a model, a tool, a file name, a diff or an error contains reaches the terminal.
#[test]
fn hostile_output_is_escaped_from_every_source() {
    check_rows(&HOSTILE.map(|(what, text)| (what, text.to_owned())), true);
}

#[test]
fn hostile_shapes_are_escaped_from_every_source() {
    check_rows(&shapes(), false);
}

/// All hostile texts in one.
fn everything() -> String {
    let texts = HOSTILE.iter().map(|(what, text)| format!("{what}: {text}\n"));
    let short = shapes().into_iter().filter(|(_, text)| text.len() < 1_000);
    texts.chain(short.map(|(what, text)| format!("{what}: {text}\n"))).collect()
}

/// A question of the model with its choices, the reason that the user is asked for, and the user's own words.
#[test]
fn hostile_questions_are_escaped() {
    let hostile = everything();
    let choice: String = hostile.chars().take(400).collect();
    let question = Turn::call("question", json!({ "question": hostile, "choices": [choice, "b"] }));
    let server = Server::playing([question.into(), Turn::text("That is all.").into()]);
    let agent = "name = \"asked\"\ndescription = \"Asks\"\n\n\
        [permissions.question]\nintent = \"allow\"\n";
    let test = asked().file("asked/agent.toml", agent);
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    // A key that is pressed before the cursor is at the question does not answer it.
    terminal.shows_that("a question", |screen| screen.contains("  2. b") && screen.contains('█'));
    terminal.types("1");
    terminal.is_over(0);
    is_harmless("a question", &terminal);
    let all = terminal.scrollback();
    assert!(all.contains("the clipboard: \\u{1b}]52;c;cm0gLXJmIC8=\\u{7}"), "{all}");
    assert_eq!(server.asked()[1].results[0].1, choice, "the model gets it as it is");
}

/// A prompt, an answer and a result stay in the lists of runs, where they are shown again.
#[test]
fn hostile_texts_of_earlier_runs_are_escaped() {
    let hostile = everything();
    let server = Server::answering(move |asked| match asked.number % 2 {
        0 => bash("cat hostile.txt").into(),
        _ => Turn::text(everything()).into(),
    });
    let test = reader().file("hostile.txt", &hostile);
    let prompt = "\"$(cat hostile.txt)\"";
    let run = format!("run asked {prompt} --yes --unconfined");
    let mut terminal = Terminal::new(&test, &server, &run);
    terminal.is_over(0);
    is_harmless("a prompt", &terminal);
    for args in ["runs", "runs show last", "runs tail last", "receipts list", "receipts show last"]
    {
        let ran = test.run(args);
        is_harmless_text(args, &(ran.stdout + &ran.stderr));
        let mut terminal = Terminal::new(&test, &server, args);
        terminal.ends_somehow();
        is_harmless(args, &terminal);
    }
    let mut terminal = Terminal::new(&test, &server, "run asked --yes --unconfined");
    let commands = [
        ("go", " step · "),
        ("/expand", "\n  [2J\\u{1b}\n"),
        ("/why", "bash cat hostile.txt: allow"),
        ("/resume", "there is no other conversation here"),
        ("/diff", "no tool of the run changed a file"),
        ("/nothing", "there is no `/nothing`"),
        ("/exit", "› /exit"),
    ];
    for (typed, shown) in commands {
        is_prompted(&mut terminal);
        terminal.types(typed);
        terminal.shows(shown);
    }
    terminal.is_over(0);
    is_harmless("a conversation", &terminal);
    let mut terminal = Terminal::new(&test, &server, "resume last");
    is_prompted(&mut terminal);
    terminal.types("/exit");
    terminal.is_over(0);
    is_harmless("a resumed conversation", &terminal);
}

/// Tab offers no name that would act on the terminal.
#[test]
fn hostile_names_are_not_completed() {
    let server = Server::playing([]);
    let test =
        reader().file("notes\u{202e}txt.md", "").file("notes-a.md", "").file("notes-b.md", "");
    let mut terminal = Terminal::new(&test, &server, "run asked --yes --unconfined");
    is_prompted(&mut terminal);
    terminal.presses("look at @no\t\t");
    terminal.shows("notes-b.md");
    terminal.presses("\u{15}/exit\r");
    terminal.is_over(0);
    is_harmless("a completion", &terminal);
}

#[test]
fn hostile_memories_are_escaped() {
    let hostile = everything();
    let server = Server::playing([]);
    let agent = json!({ "name": "Helper", "description": "Helps" });
    let test = Test::new()
        .file("helper/agent.json", agent.to_string())
        .file("helper/persona.md", "You help.\n");
    for memory in
        [hostile.as_str(), "short \u{202e}\u{1b}]0;owned\u{7}\u{301}\u{301}\u{301}\u{301}\u{301}"]
    {
        let ran = test.run_args(&["memory", "add", "helper", memory]);
        is_harmless_text("memory add", &(ran.stdout + &ran.stderr));
    }
    for args in ["memory list helper", "memory search helper owned", "show helper --prompt"] {
        let ran = test.run(args);
        is_harmless_text(args, &(ran.stdout + &ran.stderr));
    }
    let mut terminal = Terminal::new(&test, &server, "run helper --yes --as agentfs --unconfined");
    is_prompted(&mut terminal);
    terminal.types("/memory");
    terminal.shows("owned");
    is_prompted(&mut terminal);
    terminal.types("/exit");
    terminal.is_over(0);
    is_harmless("/memory", &terminal);
}

/// A character that arrives in two pieces, from a command and from the model, is one character.
#[test]
fn a_split_character_is_shown_whole() {
    let command = "printf 'one \\346\\227'; cat gate; printf '\\245 two\\n'; cat gate";
    let emoji = "👩\u{200d}🚀 ".repeat(40);
    let server = Server::playing([bash(command).into(), Turn::text(emoji.clone()).into()]);
    let agent = "name = \"asked\"\ndescription = \"Runs commands\"\n\n\
        [permissions.bash]\nintent = \"allow\"\n";
    let test = asked().file("asked/agent.toml", agent);
    make_fifo(&test.path("gate"));
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    terminal.shows("bash printf");
    std::fs::write(test.path("gate"), "").expect("the command reads it");
    terminal.shows("one 日 two");
    std::fs::write(test.path("gate"), "").expect("the command reads it");
    terminal.is_over(0);
    let sent = String::from_utf8_lossy(terminal.sent()).into_owned();
    assert!(!sent.contains('\u{fffd}') && !sent.contains("200d"), "{sent:?}");
}

/// All of them at once, also without colours.
#[test]
fn hostile_output_is_spelt_out_all_at_once() {
    let all: String = HOSTILE.iter().map(|(what, text)| format!("{what}: {text}\n")).collect();
    for (way, reply) in ways(&all) {
        for color in [false, true] {
            run_hostile(way, reply.clone(), &all, color);
        }
    }
}

#[test]
fn a_long_line_is_cut_in_a_fold_and_whole_in_the_answer() {
    let long = "x".repeat(1 << 20);
    let server = Server::playing([bash("cat long gate").into(), Turn::text(long.clone()).into()]);
    let test = reader().file("long", &long);
    make_fifo(&test.path("gate"));
    let mut terminal = Terminal::new(&test, &server, "run asked go --yes --unconfined");
    terminal.shows("    xxxx");
    std::fs::write(test.path("gate"), "\n").expect("the command reads it");
    terminal.is_over(0);
    is_harmless("a line of 1 MB", &terminal);
    let sent = String::from_utf8_lossy(terminal.sent()).matches('x').count();
    assert!(sent >= 1 << 20, "the answer is whole: {sent}");
    assert!(sent < 3 << 20, "the region shows only its end: {sent}");
}

/// A line of 1 MB on each way ends, and what the user is asked about is shown whole.
#[test]
fn a_long_line_on_every_way_is_bounded() {
    let long = "x\u{1b}".repeat(1 << 19);
    for (way, reply) in ways(&long) {
        let sent = run_hostile(way, reply, &long, true);
        let count = String::from_utf8_lossy(&sent).matches('x').count();
        assert!(count < 4 << 20, "{way}: {count}");
    }
}
