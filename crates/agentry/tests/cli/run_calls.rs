//! What calls do, print and leave behind, as the user of the run sees it.
#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::confined::cannot_be_confined;
use crate::run::{events, with};
use crate::run_person::bash;
use crate::run_signals::worker;
use crate::server::{Server, Turn};
use crate::terminal::{Terminal, Window};
use crate::test::Test;

/// Creates files under protected names, and prints much: a rule cannot look into a script.
const MAKES: &str = "echo ../elsewhere > .git/commondir\nmkdir nested\n\
    echo '[run]' > nested/agentry.toml\nseq 100\n";

/// The quarantined files and their new paths, parsed from a text.
fn taken(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| line.contains("commands must not make it"));
    let quoted = lines.map(|line| line.split('`').map(str::to_owned).collect::<Vec<_>>());
    let mut taken: Vec<_> = quoted.map(|parts| (parts[1].clone(), parts[3].clone())).collect();
    taken.sort();
    taken
}

#[test]
fn quarantined_files_are_reported_to_the_user() {
    for format in ["human", "json"] {
        let server = Server::playing([bash("sh makes.sh").into(), Turn::text("Done.").into()]);
        let test = worker().file("makes.sh", MAKES);
        if cannot_be_confined(&test) {
            return;
        }
        let args = ["run", "worker", "go", "--yes", "--format", format];
        let ran = with(&test, &server, &args).exits(0);
        let quarantined = taken(&ran.stderr);
        let names: Vec<&str> = quarantined.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [".git/commondir", "nested/agentry.toml"], "{ran}");
        assert!(!test.has(".git/commondir") && !test.has("nested/agentry.toml"));
        for ((_, place), text) in quarantined.iter().zip(["../elsewhere\n", "[run]\n"]) {
            let place = place.strip_prefix("[DIR]/").expect("in the home");
            assert_eq!(test.read(place), text, "it was moved");
        }
        // The model gets the same report.
        let result = &server.asked()[1].results[0].1;
        assert_eq!(taken(result).len(), 2, "{result}");
    }
}

#[test]
fn quarantined_files_are_reported_at_a_terminal() {
    let server = Server::playing([bash("sh makes.sh").into(), Turn::text("Done.").into()]);
    let test = worker().file("makes.sh", MAKES);
    if cannot_be_confined(&test) {
        return;
    }
    // Wide, so that each report is one line.
    let window = Window { columns: 400, ..Window::default() };
    let mut terminal = Terminal::in_window(&test, &server, "run worker go --yes", window);
    let shown = terminal.sees("Done.");
    assert_eq!(taken(&shown).len(), 2, "{shown}");
    terminal.ends(0);
}

/// The texts of all events of a kind, one after the other.
fn texts(events: &[Value], kind: &str) -> String {
    let of_kind = events.iter().filter(|event| event["type"] == kind);
    of_kind.filter_map(|event| event["text"].as_str()).collect()
}

#[test]
fn a_secret_printed_in_chunks_is_masked() {
    const SECRET: &str = "key-of-the-test";
    let letters: String = SECRET.chars().map(|c| format!("{c} ")).collect();
    let lines = [
        // One letter at a time, with enough time to read each alone.
        format!("for c in {letters}; do printf %s $c; sleep 0.01; done; echo"),
        // Across the boundary of a read, in a line that is too long to be buffered.
        "head -c 16380 /dev/zero | tr '\\0' x; printf key-of; printf -- -the-test".to_owned(),
        "head -c 65530 /dev/zero | tr '\\0' x; printf key-of; sleep 0.05; printf -- -the-test"
            .to_owned(),
        "printf key-of >&2; sleep 0.05; printf -- '-the-test\\n'".to_owned(),
    ];
    for line in lines {
        let server = Server::playing([bash(&line).into(), Turn::text("Done.").into()]);
        let test = worker();
        let args = ["run", "worker", "go", "--yes", "--unconfined", "--format", "json"];
        let ran = with(&test, &server, &args).exits(0);
        let events = events(&ran);
        for kind in ["piece", "result"] {
            let printed = texts(&events, kind);
            assert!(printed.contains("[redacted: ANTHROPIC_API_KEY]"), "{kind} of {line}");
            assert!(!printed.contains(SECRET), "{kind} of {line}");
        }
        assert!(!ran.to_string().contains(SECRET), "{line}");
        let asked = server.asked()[1].body.to_string();
        assert!(asked.contains("[redacted: ANTHROPIC_API_KEY]"), "{line}");
        assert!(!asked.contains(SECRET), "{line}");
        assert!(!test.run("runs show last --format json").stdout.contains(SECRET), "{line}");
    }
}

/// Answers two requests, once both are there.
fn answers_both(listener: &TcpListener) -> bool {
    let until = Instant::now() + Duration::from_secs(20);
    listener.set_nonblocking(true).expect("a socket");
    let mut waiting: Vec<TcpStream> = Vec::new();
    while waiting.len() < 2 && Instant::now() < until {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).expect("a socket");
                waiting.push(stream);
            }
            Err(_) => thread::yield_now(),
        }
    }
    for stream in &mut waiting {
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\
              connection: close\r\n\r\npage",
        );
    }
    waiting.len() == 2
}

#[test]
fn pages_are_fetched_side_by_side() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let site = format!("http://{}", listener.local_addr().expect("an address"));
    let fetch = |name: &str| json!({ "url": format!("{site}/{name}") });
    let both = Turn::call("webfetch", fetch("a")).and_call("webfetch", fetch("b"));
    let server = Server::playing([both.into(), Turn::text("Done.").into()]);
    let agent = format!(
        "name = \"reader\"\ndescription = \"Reads\"\n\n[permissions.webfetch]\n\
         intent = \"deny\"\nrules = [\"{site}/*:allow\"]\n"
    );
    let test = Test::new()
        .file("reader/agent.toml", agent)
        .file("reader/system-prompt.md", "You read pages.\n");
    let site = thread::spawn(move || answers_both(&listener));
    with(&test, &server, &["run", "reader", "go", "--yes"]).exits(0);
    assert!(site.join().expect("a site"), "the second page was asked for after the first");
    let results = &server.asked()[1].results;
    assert!(results.iter().all(|(_, text)| text.contains("page")), "{results:?}");
}
