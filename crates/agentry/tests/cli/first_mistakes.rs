//! What a newcomer sees after a typical mistake: what was found, and what to do.

use crate::test::{HELPER, Test};

#[test]
fn typical_mistakes_come_with_what_to_do() {
    let test = Test::outside_git().file("helper.agent", HELPER).file("notes.txt", "notes\n");
    let cases = [
        ("show nowhere", 2, "name a file or a directory; `agentry agents` lists installed agents"),
        (
            "run helper.agent go",
            1,
            "set one of these variables, such as `export ANTHROPIC_API_KEY=…`",
        ),
        ("run helper.agent go --model openai/x", 1, "`agentry models` lists what can be used here"),
        ("run helper.agent go --model sonnet", 1, "did you mean `anthropic/claude-sonnet-"),
        (
            "run helper.agent --replay notes.txt",
            2,
            "`notes.txt:1` is not an event of a recorded run",
        ),
        ("check --changed-since main", 2, "is not in a Git repository"),
        ("check --changed-since main", 2, "start it inside a repository"),
        ("policy diff helper.agent", 2, "`policy diff` compares two agents, and you named 1"),
        ("policy why helper.agent shell ls", 2, "use one of bash, edit, read"),
        ("lock --update helper.agent", 2, "`agentry lock helper.agent` adds it"),
        ("serve --listen here", 2, "an address and a port like `127.0.0.1:7654` are expected"),
        ("push helper.agent example.org/x", 2, "it does not start with `oci://`"),
        ("audit nowhere", 2, "`nowhere` does not exist"),
    ];
    for (line, code, expected) in cases {
        let ran = test.run(line).exits(code);
        assert!(ran.stderr.contains(expected), "{expected}: {ran}");
    }
    let ran = test.run("audit nowhere");
    assert_eq!(ran.stdout, "nothing to audit: no agent and no file of a harness\n", "{ran}");
}

#[test]
fn a_label_is_coloured_where_colours_are_wanted() {
    let ran = Test::new().run("show nowhere --color always").exits(2);
    assert!(ran.stderr.starts_with("\u{1b}[1;31merror\u{1b}[0m: `nowhere`"), "{ran}");
    let ran = Test::new().run("show nowhere").exits(2);
    assert!(ran.stderr.starts_with("error: `nowhere`"), "{ran}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_failure_is_broken_between_words_on_a_terminal() {
    use crate::server::Server;
    use crate::terminal::{Terminal, Window};

    let (test, server) = (Test::new(), Server::playing([]));
    let window = Window { rows: 10, columns: 64, color: false, term: "xterm", locale: "" };
    let mut terminal = Terminal::in_window(&test, &server, "show nowhere", window);
    terminal.is_over(2);
    let screen = terminal.scrollback();
    let expected =
        "  = help: name a file or a directory; `agentry agents` lists\n          installed agents";
    assert!(screen.contains(expected), "{screen}");
}
