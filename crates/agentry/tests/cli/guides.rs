//! Console blocks whose output has times and ids: the commands run on a prepared stage, and the page must show the same but for
//! those. A stale block is rewritten, then the test fails.
//!
//! ```text
//! <!-- alike: STAGE -->      the stage is prepared once for a page; its blocks follow each other
//! $ agentry receipts list    an id that an earlier output showed may be named, also by a part of it
//! …                          stands for any lines
//! ```
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::home::legal;
use crate::readme::ROOT;
use crate::run::with;
use crate::server::{Server, Turn};
use crate::test::Test;

const MARK: &str = "<!-- alike: ";

/// An agent that writes the notes of releases.
fn release_notes() -> Test {
    let rules = "[permissions.edit]\nintent = \"allow\"\n\n[permissions.bash]\nintent = \"ask\"\n";
    let definition = format!("name = \"release-notes\"\ndescription = \"Writes notes\"\n\n{rules}");
    Test::new()
        .env("AGENTRY_USER", "owner")
        .file("release-notes/agent.toml", definition)
        .file("release-notes/system-prompt.md", "You write release notes.\n")
}

fn write(version: &str) -> Turn {
    Turn::call("write", json!({ "path": "notes.md", "content": format!("# {version}\n") }))
        .used(900, 0, 100)
}

/// A refused run, one whose file a person changed, and one after it.
fn receipts() -> Test {
    let test = release_notes();
    let server = |version: &str| {
        let end = Turn::text("The notes are in notes.md.").used(100, 0, 200);
        Server::playing([write(version).into(), end.into()])
    };
    let run = |version: &str, more: &[&str]| {
        let prompt = format!("write the notes of version {version}");
        let args = [&["run", "release-notes", &prompt][..], more].concat();
        with(&test, &server(version), &args)
    };
    run("1.2", &[]).exits(3);
    run("1.2", &["--yes", "--estimate", "30m"]).exits(0);
    test.write("notes.md", "# 1.2, by hand\n");
    run("1.3", &["--yes"]).exits(0);
    test
}

fn altered_receipt() -> Test {
    let test = receipts();
    let listed = test.run("receipts list --format json").json();
    let path = listed[1]["path"].as_str().expect("a path").replace("[DIR]/", "");
    let path = test.path(path);
    let whole = fs::read_to_string(&path).expect("a receipt");
    fs::remove_file(&path).expect("removed");
    fs::write(path, whole.replace("version 1.2", "version 9.9")).expect("altered");
    test
}

/// A run that is done, and one that waits for a person.
fn runs() -> Test {
    let test = release_notes();
    let done = Server::playing([write("1.2").into(), Turn::text("Done.").into()]);
    let prompt = "write the notes of version 1.2";
    with(&test, &done, &["run", "release-notes", prompt, "--yes"]).exits(0);
    let asks = Server::playing([Turn::call("bash", json!({ "command": "git log" }))
        .used(900, 0, 100)
        .into()]);
    let prompt = "write the notes of version 1.3";
    with(&test, &asks, &["run", "release-notes", prompt, "--yes", "--on-ask", "park"]);
    test
}

fn propose(test: &Test, file: &str, content: &str, reason: &str) {
    let given = json!({ "file": file, "content": content, "reason": reason }).to_string();
    test.run_args(&["tools", "call", "legal-advisor", "propose_change", &given, "--yes"]);
}

const PRINCIPLES: &str = "## Must Do\n- confirm payments\n\n## Never Do\n- delete files\n";

/// An agent with three proposals: one that waits because of a private memory, a refused one, and one about its principles.
fn proposals() -> Test {
    let test = legal();
    test.run("install legal").exits(0);
    test.run_args(&["memory", "add", "legal-advisor", "Short answers", "--user", "owner"]).exits(0);
    propose(&test, "memory/court.md", "The court is in Bonn.\n", "to know where to file");
    propose(&test, "principles.md", &PRINCIPLES.replace("delete", "read"), "to be quicker");
    propose(&test, "principles.md", &PRINCIPLES.replace("\n\n", "\n- greet\n\n"), "politeness");
    test
}

/// The same after one was accepted and a sentence was taught.
fn history() -> Test {
    let test = proposals();
    test.run("proposals accept p3").exits(0);
    test.run_args(&["teach", "legal-advisor", "Always answer in German"]).exits(0);
    test
}

fn memory() -> Test {
    let test = Test::new()
        .env("AGENTRY_USER", "first")
        .file(
            "helper/agent.json",
            "{\"name\": \"Helper\", \"version\": \"1.0.0\", \"role\": \"helps\"}\n",
        )
        .file("helper/persona.md", "# Helper\n\nYou help.\n")
        .file("helper/principles.md", "# Principles\n\n## Never Do\n- lie\n");
    test.run("install helper").exits(0);
    fs::remove_dir_all(test.path("helper")).expect("removed");
    test
}

/// An agent directory with one schedule, which the user has not run yet.
fn schedules() -> Test {
    let schedule = "---\ncron: 0 9 * * mon-fri\ntimezone: Europe/Berlin\n---\n\nWrite the report of yesterday.\n";
    Test::new()
        .env("AGENTRY_USER", "owner")
        .file("reporter/instructions.md", "You write reports.\n")
        .file("reporter/agent.acl", "")
        .file("reporter/schedules/morning.md", schedule)
}

fn stage(name: &str) -> Test {
    match name {
        "schedules" => schedules(),
        "receipts" => receipts(),
        "altered receipt" => altered_receipt(),
        "runs" => runs(),
        "proposals" => proposals(),
        "history" => history(),
        "memory" => memory(),
        other => panic!("there is no stage `{other}`"),
    }
}

/// Whether a word is another one in each run: it has a time, a digest or a random part.
fn is_volatile(word: &str) -> bool {
    let starts = ["20", "sha256:"].iter().any(|it| word.starts_with(it));
    let has_id = ["rcpt_20", "mem_20"].iter().any(|it| word.contains(it));
    let is_digest = word.len() >= 7 && word.bytes().all(|it| it.is_ascii_hexdigit());
    let is_chain = word.split_once('~').is_some_and(|(_, rest)| rest.len() == 12);
    (starts && word.len() >= 10)
        || has_id
        || is_digest
        || is_chain
        || word.contains(".md") && word.contains('-')
}

fn words(line: &str) -> Vec<&str> {
    let is_edge = |it: char| it.is_whitespace() || "\"`'(),;".contains(it);
    line.split(is_edge).filter(|it| !it.is_empty()).map(|it| it.trim_end_matches(':')).collect()
}

/// Compares lines; what a volatile word stands for now is kept in `names`.
fn is_alike(shown: &str, real: &str, names: &mut BTreeMap<String, String>) -> bool {
    let (shown, real) = (words(shown), words(real));
    let mut is_same = |(shown, real): (&&str, &&str)| {
        let is_both = is_volatile(shown) && is_volatile(real);
        if is_both {
            names.insert((*shown).to_owned(), (*real).to_owned());
        }
        is_both || shown == real
    };
    shown.len() == real.len() && shown.iter().zip(&real).all(&mut is_same)
}

/// Compares an output with what a page shows; `…` stands for any lines.
fn are_alike(shown: &[&str], real: &[&str], names: &mut BTreeMap<String, String>) -> bool {
    match (shown.split_first(), real.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => (0..=real.len()).any(|at| {
            let mut trial = names.clone();
            let is_alike = are_alike(rest, real.get(at..).unwrap_or_default(), &mut trial);
            if is_alike {
                *names = trial;
            }
            is_alike
        }),
        (Some((first, shown)), Some((line, real))) => {
            is_alike(first, line, names) && are_alike(shown, real, names)
        }
        _ => false,
    }
}

/// Lines by what stays the same in them: entries of one second stand in any order.
fn by_constant_words<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let mut sorted = lines.to_vec();
    sorted.sort_by_key(|line| {
        words(line).into_iter().filter(|word| !is_volatile(word)).collect::<Vec<_>>()
    });
    sorted
}

/// A command with the present ids in place of those that the page shows.
fn present(word: &str, names: &BTreeMap<String, String>) -> String {
    if let Some((from, to)) = word.split_once("..") {
        return format!("{}..{}", present(from, names), present(to, names));
    }
    let part = |(shown, real): (&String, &String)| {
        let at = real.len().checked_sub(word.len())?;
        match (word.len() >= 4, shown.starts_with(word), shown.ends_with(word)) {
            (true, true, _) => real.get(..word.len()).map(str::to_owned),
            (true, _, true) => real.get(at..).map(str::to_owned),
            _ => None,
        }
    };
    names.iter().find_map(part).unwrap_or_else(|| word.to_owned())
}

/// Runs a line of a page, such as `AGENTRY_USER=x agentry memory add helper "a text"`.
fn run(test: &Test, line: &str, names: &BTreeMap<String, String>) -> String {
    let quoted = line.split('"').enumerate().flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    let given: Vec<&str> = quoted.collect();
    let mut words: Vec<String> = given.iter().map(|word| present(word, names)).collect();
    let changed: Vec<(String, &str)> = words.iter().cloned().zip(given).collect();
    let set = words.first().and_then(|first| first.split_once('=')).map(|it| it.1.to_owned());
    words.drain(..=usize::from(set.is_some()));
    let mut command = test.command(&words);
    command
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .envs(set.map(|user| ("AGENTRY_USER", user)));
    let ran = test.ended(line, &command.output().expect("the program runs"));
    let mut printed = format!("{}{}", ran.stdout, ran.stderr).replace("[DIR]/home/", "~/");
    printed = printed.replace("[DIR]/", "~/project/");
    // A part of an id that the command repeats stands as the page has it.
    for (real, shown) in changed.iter().filter(|(real, shown)| real != shown) {
        printed = printed.replace(&format!(" {real},"), &format!(" {shown},"));
    }
    printed
}

/// A block with the present output of what is stale in it.
fn block(test: &Test, shown: &str, names: &mut BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for part in shown.split("$ ").filter(|part| !part.trim().is_empty()) {
        let (line, expected) = part.split_once('\n').unwrap_or((part, ""));
        let real = run(test, line, names);
        let (old_text, new_text) = (expected.trim_end().to_owned(), real.trim_end().to_owned());
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old_text.lines().collect(), new_text.lines().collect());
        let is_alike = are_alike(&old, &new, names)
            || are_alike(&by_constant_words(&old), &by_constant_words(&new), names);
        let kept = if is_alike { old_text } else { new_text };
        out.push_str(&format!("$ {line}\n{kept}\n"));
    }
    out
}

fn filled(page: &str) -> String {
    let mut stages: BTreeMap<String, (Test, BTreeMap<String, String>)> = BTreeMap::new();
    let mut parts = page.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n```console\n").expect("a block after its stage");
        let (shown, after) = rest.split_once("```").expect("a closed block");
        let stage = stages.entry(name.to_owned()).or_insert_with(|| (stage(name), BTreeMap::new()));
        let text = block(&stage.0, shown, &mut stage.1);
        out.push_str(&format!("{MARK}{name} -->\n```console\n{text}```{after}"));
    }
    out
}

#[test]
fn guides_show_current_command_output() {
    let mut stale = Vec::new();
    let pages =
        ["keep-an-agent.md", "receipts.md", "memory.md", "look-at-runs.md", "run-on-a-schedule.md"];
    for page in pages {
        let path = PathBuf::from(ROOT).join("docs/guides").join(page);
        let text = fs::read_to_string(&path).expect("a page");
        assert!(text.contains(MARK), "{page} has no such block");
        let now = filled(&text);
        if now != text {
            fs::write(&path, now).expect("a writable folder");
            stale.push(page);
        }
    }
    assert!(stale.is_empty(), "stale, and rewritten: {}", stale.join(", "));
}
