//! What agents change in themselves during runs: proposals, attempts in receipts, delegates, and sentences that a model turns
//! into changes.
#![cfg(target_os = "linux")]

use std::fs;

use serde_json::{Value, json};

use crate::home::{PERSONA, PRINCIPLES, ROOT, legal, printed, text};
use crate::run::{keyed, with};
use crate::server::{Server, Turn};
use crate::test::Test;

/// The same in a run: a model that tries everything gets one pending proposal and refusals.
#[test]
fn a_run_changes_its_agent_only_by_proposals() {
    let rules = ["bash", "edit", "read", "external_directory"]
        .map(|section| format!("[permissions.{section}]\nintent = \"allow\"\n"));
    let prompt = "You work.\n\n## Never Do\n- delete files\n";
    let test = Test::new()
        .file(
            "src/free/agent.toml",
            format!("name = \"free\"\ndescription = \"May do all\"\n{}", rules.concat()),
        )
        .file("src/free/system-prompt.md", prompt);
    test.run("install src/free").exits(0);
    let file =
        test.path("home/.agentry/agents/free/system-prompt.md").to_string_lossy().into_owned();
    let propose =
        |content: &str| json!({"file": "system-prompt.md", "content": content, "reason": "better"});
    let server = Server::playing([
        Turn::call("write", json!({"path": file, "content": "free\n"})).into(),
        Turn::call("bash", json!({"command": format!("echo free > {file}")})).into(),
        Turn::call("propose_change", propose("You do anything.\n")).into(),
        Turn::call("propose_change", propose(&prompt.replace("You work.", "You work well.")))
            .into(),
        Turn::text("Done.").into(),
    ]);
    let mut run = keyed(&test, &server, &["run", "free", "go", "--yes"]);
    let ran = run.env("PATH", "/usr/local/bin:/usr/bin:/bin").output().expect("the program runs");
    test.ended("run", &ran).exits(0);
    assert_eq!(fs::read_to_string(&file).expect("a file"), prompt);
    let asked = server.asked();
    let results: Vec<&str> =
        asked.last().expect("a request").results.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(results.len(), 4, "{results:?}");
    assert!(results.iter().take(3).all(|text| text.starts_with("refused: ")), "{results:?}");
    let list = test.run("proposals list --format json").stdout;
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let states: Vec<String> =
        list.as_array().expect("a list").iter().map(|it| text(it, "state")).collect();
    assert_eq!(states, ["pending", "refused"]);
    let run = text(list.get(0).expect("a proposal"), "run");
    assert!(test.has(&format!("home/.agentry/runs/{run}")) && !run.is_empty(), "{list}");
    // Every attempt is in the receipt of the run: what was denied, what was refused, what waits.
    let receipts = test.run("receipts list --format json").json();
    let id = text(receipts.get(0).expect("a receipt"), "id");
    let receipt = test.run(&format!("receipts show {id} --format json")).json();
    let attempts = receipt.pointer("/attempts/first").and_then(Value::as_array).expect("attempts");
    let outcomes: Vec<String> = attempts.iter().map(|it| text(it, "outcome")).collect();
    assert_eq!(outcomes, ["denied", "denied", "refused", "pending"], "{receipt}");
    assert_eq!(receipt.pointer("/attempts/count"), Some(&json!(4)));
    assert!(text(&attempts[0], "file").ends_with("agents/free/system-prompt.md"), "{receipt}");
    assert!(text(&attempts[2], "reason").contains("«Never Do»"), "{receipt}");
    let log = test.read("home/.agentry/logs/audit.jsonl");
    assert_eq!(log.lines().filter(|line| line.contains(&run)).count(), 4, "{log}");
    test.run("receipts verify").exits(0);
    test.run("proposals accept p2").exits(0);
    let history = printed(&test, "history free");
    let commit = history.get(0).expect("a commit");
    assert_eq!((text(commit, "kind"), text(commit, "run")), ("agent".to_owned(), run));
}

/// A memory that an agent proposes is applied at once, unless its run could have read what the user taught in private.
#[test]
fn a_memory_that_may_leak_private_text_stays_pending() {
    let test = legal();
    test.run("install legal").exits(0);
    let propose = |name: &str| {
        let given = json!({"file": format!("memory/{name}.md"), "content": "It rained.\n", "reason": "kept"});
        let server = Server::playing([
            Turn::call("propose_change", given).into(),
            Turn::text("Done.").into(),
        ]);
        with(&test, &server, &["run", "legal-advisor", "go", "--yes"]).exits(0);
        let list = printed(&test, "proposals list legal-advisor");
        text(list.get(0).expect("a proposal"), "state")
    };
    assert_eq!(propose("rain"), "applied");
    test.run_args(&["memory", "add", "legal-advisor", "The pin is secret", "--user", "owner"])
        .exits(0);
    assert_eq!(propose("more-rain"), "pending");
    let shown = test.run("proposals show p2").exits(0);
    assert!(shown.stdout.contains("could have read private memories"), "{shown}");
    // The names and reasons of such a run are in nobody's receipt.
    let receipts = test.run("receipts list --format json").json();
    let id = text(receipts.as_array().and_then(|all| all.last()).expect("a receipt"), "id");
    let shown = test.run(&format!("receipts show {id}")).exits(0);
    assert!(shown.stdout.contains("pending") && !shown.stdout.contains("more-rain"), "{shown}");
}

/// Accepting a change is consent to it, if the agent was agreed to before and may do the same; schedules go on then.
#[test]
fn an_accepted_change_needs_no_other_consent() {
    let test = legal();
    test.run("install legal").exits(0);
    let run = || {
        let server = Server::playing([Turn::text("Done.").into()]);
        with(&test, &server, &["run", "legal-advisor", "go"])
    };
    let propose = |content: &str| {
        let given = json!({"file": "persona.md", "content": content, "reason": "clearer"});
        let given = given.to_string();
        test.run_args(&["tools", "call", "legal-advisor", "propose_change", &given, "--yes"]);
        text(printed(&test, "proposals list").get(0).expect("a proposal"), "id")
    };
    // Without consent before there is none afterwards.
    let first = propose(&PERSONA.replace("briefly", "very briefly"));
    test.run("consent revoke legal-advisor");
    test.run(&format!("proposals accept {first}")).exits(0);
    run().exits(3);
    let server = Server::playing([Turn::text("Done.").into()]);
    with(&test, &server, &["run", "legal-advisor", "go", "--yes"]).exits(0);
    let second = propose(&PERSONA.replace("briefly", "most briefly"));
    let accepted = test.run(&format!("proposals accept {second}")).exits(0);
    assert!(accepted.stderr.contains("your consent extends to it"), "{accepted}");
    run().exits(0);
    // A change by hand needs consent again, also below an accepted one.
    let third = propose(&PERSONA.replace("briefly", "briefly, please"));
    test.write(format!("{ROOT}/principles.md"), format!("{PRINCIPLES}\n- be quick\n"));
    run().exits(3);
    test.run(&format!("proposals accept {third}")).exits(0);
    run().exits(3);
    // Where the user's own configuration approves such changes, they need no other consent either.
    with(&test, &server, &["run", "legal-advisor", "go", "--yes"]);
    test.write("home/.config/agentry/config.toml", "[evolution]\npersona = \"auto\"\n");
    propose(&PERSONA.replace("briefly", "briefly and well"));
    let newest = printed(&test, "proposals list");
    assert_eq!(text(newest.get(0).expect("a proposal"), "state"), "applied");
    run().exits(0);
}

/// A delegate gets nothing that its parent could not have done, and its attempts are in its own receipt.
#[test]
fn a_delegate_changes_neither_itself_nor_its_parent() {
    let rules = ["bash", "edit", "read", "external_directory", "delegate"]
        .map(|section| format!("[permissions.{section}]\nintent = \"allow\"\n"))
        .concat();
    let prompt = |name: &str| format!("You are {name}.\n\n## Never Do\n- delete files\n");
    let mut test = Test::new();
    for name in ["lead", "helper"] {
        let definition = format!("name = \"{name}\"\ndescription = \"The {name}\"\n\n{rules}");
        test = test
            .file(format!("src/{name}/agent.toml"), definition)
            .file(format!("src/{name}/system-prompt.md"), prompt(name));
    }
    for name in ["lead", "helper"] {
        test.run(&format!("install src/{name}")).exits(0);
    }
    // The home of the test lies in its workspace: without this, two agents have each name.
    fs::remove_dir_all(test.path("src")).expect("removed");
    let file = |name: &str| {
        test.path(format!("home/.agentry/agents/{name}/system-prompt.md"))
            .to_string_lossy()
            .into_owned()
    };
    let propose = |content: &str| {
        Turn::call(
            "propose_change",
            json!({"file": "system-prompt.md", "content": content, "reason": "better"}),
        )
    };
    let overwrite =
        |name: &str| Turn::call("write", json!({"path": file(name), "content": "free\n"}));
    let tries = vec![
        overwrite("helper"),
        overwrite("lead"),
        Turn::call("bash", json!({"command": format!("echo free > {}", file("lead"))})),
        propose("You do anything.\n"),
        propose(&prompt("helper").replace("## Never Do", "## Perhaps")),
    ];
    let count = tries.len();
    let delegate = Turn::call("delegate", json!({"agent": "helper", "prompt": "free us"}));
    let server = crate::delegation::playing(vec![("lead", vec![delegate]), ("helper", tries)]);
    let mut run = keyed(&test, &server, &["run", "lead", "go", "--yes"]);
    let ran = run.env("PATH", "/usr/local/bin:/usr/bin:/bin").output().expect("the program runs");
    test.ended("run", &ran).exits(0);
    let tool_results: Vec<_> = server.asked().into_iter().flat_map(|asked| asked.results).collect();
    assert!(tool_results.len() > count, "{tool_results:?}");
    for name in ["lead", "helper"] {
        assert_eq!(fs::read_to_string(file(name)).expect("a file"), prompt(name), "{name}");
        assert_eq!(printed(&test, &format!("history {name}")).as_array().map(Vec::len), Some(1));
    }
    let receipts = test.run("receipts list helper --format json").json();
    let id = text(receipts.get(0).expect("a receipt of the delegate"), "id");
    let receipt = test.run(&format!("receipts show {id} --format json")).json();
    assert_eq!(receipt.pointer("/attempts/count"), Some(&json!(count)), "{receipt}");
}

/// A model turns a sentence into a change of the place where it belongs; a refused one is tried again with the reason.
#[test]
fn a_model_turns_a_sentence_into_a_proposal() {
    let test = legal();
    test.run("install legal").exits(0);
    let propose = |file: &str, content: &str| {
        Turn::call("propose_change", json!({"file": file, "content": content, "reason": "taught"}))
    };
    let bad = PRINCIPLES.replace("- delete files", "- delete nothing");
    let good = PERSONA.replace("briefly", "briefly and in German");
    let server = Server::playing([
        propose("principles.md", &bad).into(),
        propose("persona.md", &good).into(),
    ]);
    // A path of the same name is no other agent here.
    test.write("legal-advisor/notes.txt", "source");
    let ran = with(&test, &server, &["teach", "legal-advisor", "Answer in German"]).exits(0);
    assert!(ran.stdout.contains('+') && ran.stdout.contains("in German"), "{ran}");
    assert!(
        ran.stderr.contains("p2 is pending") && ran.stderr.contains("proposals accept p2"),
        "{ran}"
    );
    let asked = server.asked();
    let first = asked.first().expect("a request");
    assert!(first.system.contains("exactly one call"), "{}", first.system);
    let (_, refusal) = asked.last().and_then(|it| it.results.last()).expect("the refusal").clone();
    assert!(refusal.contains("«Never Do»"), "{refusal}");
    assert_eq!(test.read(format!("{ROOT}/persona.md")), PERSONA, "it waits for the person");
    test.run("proposals accept p2").exits(0);
    assert_eq!(test.read(format!("{ROOT}/persona.md")), good);
    // Refused twice, or nothing proposed, or no answer: the sentence is not lost.
    let stubborn = [propose("principles.md", &bad).into(), propose("agent.json", "{}").into()];
    for turns in [stubborn.to_vec(), vec![Turn::text("No.").into()]] {
        let server = Server::playing(turns);
        let ran = with(&test, &server, &["teach", "legal-advisor", "Delete everything"]).exits(0);
        assert!(ran.stderr.contains("kept as a memory"), "{ran}");
    }
    let memories = fs::read_dir(test.path(format!("{ROOT}/memory"))).expect("memories").count();
    assert_eq!(memories, 2);
    assert_eq!(test.read(format!("{ROOT}/principles.md")), PRINCIPLES);
    let server = Server::playing([]);
    with(&test, &server, &["teach", "legal-advisor", "No model", "--no-model"]).exits(0);
    assert!(server.asked().is_empty(), "no model was asked");
    test.run_args(&["teach", "legal-advisor", "x", "--model", "nobody/nothing"]).exits(1);
    // The limits of runs hold here as well.
    test.write("agentry.toml", "[run]\nmax_tokens = 10\n");
    let ran = with(&test, &server, &["teach", "legal-advisor", "Too dear"]).exits(0);
    assert!(ran.stderr.contains("would exceed the limit on tokens"), "{ran}");
    assert!(server.asked().is_empty(), "nothing was spent");
}
