//! What a user taught in private reaches no other user: not by a list, a proposal, a delegate, a receipt or a run that goes on.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::delegation::{delegate, lead, playing};
use crate::memory::{bot, by, definition, run_by};
use crate::server::{Server, Turn};
use crate::test::Test;

const SECRET: &str = "The code is 4711";

fn taught(test: &Test, agent: &str) {
    by(test, "ann", &["memory", "add", agent, SECRET, "--user", "ann"]).exits(0);
}

/// What another user gets from these commands, one text for each.
fn seen_by_bob(test: &Test, commands: &[&str]) -> Vec<String> {
    let shown = |command: &&str| {
        let words: Vec<&str> = command.split(' ').collect();
        let ran = by(test, "bob", &words);
        format!("{command}: {}{}", ran.stdout, ran.stderr)
    };
    commands.iter().map(shown).collect()
}

fn withholds(test: &Test, commands: &[&str]) {
    for shown in seen_by_bob(test, commands) {
        assert!(!shown.contains("4711"), "{shown}");
    }
}

fn run_ids(test: &Test, name: &str) -> Vec<String> {
    let runs = by(test, "ann", &["runs", "--format", "json"]).json();
    let is_named = |run: &&Value| run["agent"].as_str().is_some_and(|it| it.contains(name));
    let ids = runs.as_array().expect("runs").iter().filter(is_named);
    ids.map(|run| run["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn lists_withhold_runs_with_private_memories() {
    let test = bot();
    taught(&test, "bot");
    let server = Server::playing([Turn::call("bash", json!({ "command": "open 4711" })).into()]);
    let args = ["run", "bot", "is it 4711", "--yes", "--on-ask", "park"];
    run_by(&test, &server, "ann", &args).exits(3);
    withholds(
        &test,
        &["runs", "runs --format json", "receipts list", "receipts list --format json"],
    );
    let listed = by(&test, "bob", &["runs"]).exits(0);
    assert!(listed.stdout.contains("(private to ann)"), "{listed}");
    let listed = by(&test, "ann", &["runs"]).exits(0);
    assert!(listed.stdout.contains("is it 4711"), "{listed}");
}

#[test]
fn proposals_with_private_text_are_for_their_user() {
    let test = bot();
    taught(&test, "bot");
    // Even where the user approves every change: the runs of all users read it.
    let rules = "[evolution]\nmemory = \"auto\"\npersona = \"auto\"\nskills = \"auto\"\n";
    test.write("home/.config/agentry/config.toml", rules);
    let propose = |file: &str, content: &str| {
        let given = json!({"file": file, "content": content, "reason": "4711 is worth knowing"});
        Turn::call("propose_change", given)
    };
    let skill = "---\nname: door\ndescription: Opens\n---\n\nType 4711.\n";
    let server = Server::playing([
        propose("memory/code-4711.md", "It is 4711.\n").into(),
        propose("persona.md", "# Bot\n\nYou say 4711.\n").into(),
        propose("skills/door/SKILL.md", skill).into(),
        propose("agent.json", "{\"code\": 4711}").into(),
        Turn::text("Done.").into(),
    ]);
    run_by(&test, &server, "ann", &["run", "bot", "go", "--yes"]).exits(0);
    let states = |user: &str| {
        let list = by(&test, user, &["proposals", "list", "--format", "json"]).json();
        let list = list.as_array().expect("a list").clone();
        list.iter().map(|it| it["state"].as_str().expect("a state").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(states("ann"), ["refused", "pending", "pending", "pending"]);
    assert_eq!(states("bob"), states("ann"), "that there are some is no secret");
    let commands = [
        "proposals list",
        "proposals list --format json",
        "proposals show p1",
        "proposals show p4 --format json",
        "history bot",
    ];
    withholds(&test, &commands);
    for act in ["show", "accept", "reject"] {
        let ran = by(&test, "bob", &["proposals", act, "p2"]).exits(3);
        assert!(ran.stderr.contains("private memories of the user `ann`"), "{ran}");
    }
    let ran = by(&test, "ann", &["proposals", "show", "p2"]).exits(0);
    assert!(ran.stdout.contains("4711"), "{ran}");
    by(&test, "ann", &["proposals", "accept", "p2"]).exits(0);
}

/// An agent without a memory gets private text from its delegate, and the other way round.
#[test]
fn private_text_stays_private_across_delegates() {
    let rules = "[permissions.delegate]\nintent = \"allow\"\n";
    let mut test = bot().file("lead.agent", lead("bot: {ref: ./home/.agentry/agents/bot}", ""));
    for name in ["plain", "bare"] {
        let definition = format!("name = \"{name}\"\ndescription = \"Does it\"\n");
        test = test
            .file(format!("src/{name}/agent.toml"), definition)
            .file(format!("src/{name}/system-prompt.md"), format!("You are {name}.\n"));
    }
    drop(std::fs::remove_dir_all(test.path("src/bot")));
    taught(&test, "bot");
    let answer = Turn::text("It is 4711.");
    let server = Server::answering(move |asked| match asked.results.len() {
        0 if asked.system.starts_with("You are lead") => delegate("bot", "what is it?").into(),
        _ => answer.clone().into(),
    });
    let ran = run_by(&test, &server, "ann", &["run", "lead.agent", "tell me", "--yes"]).exits(0);
    assert!(ran.stdout.contains("4711"), "{ran}");
    withholds(
        &test,
        &["receipts list", "receipts list --format json", "runs", "runs --format json"],
    );
    for id in run_ids(&test, "lead").iter().chain(&run_ids(&test, "bot")) {
        let ran = by(&test, "bob", &["runs", "show", id]).exits(3);
        assert!(ran.stderr.contains("are private"), "{ran}");
        by(&test, "ann", &["runs", "show", id]).exits(0);
    }
    // The delegate has no memory; its prompt repeats that of its parent.
    test.run("install src/plain --memory").exits(0);
    test.run("install src/bare").exits(0);
    // The home of the test lies in its workspace: without this, two agents have each name.
    drop(std::fs::remove_dir_all(test.path("src")));
    let upper = format!("name = \"upper\"\ndescription = \"Leads\"\n\n{rules}");
    test.write("up/upper/agent.toml", upper);
    test.write("up/upper/system-prompt.md", "You are upper.\n");
    test.run("install up/upper --memory").exits(0);
    drop(std::fs::remove_dir_all(test.path("up")));
    taught(&test, "upper");
    let given = json!({"file": "memory/x.md", "content": "It is 4711.\n", "reason": "4711"});
    let scripts = vec![
        ("upper", vec![delegate("plain", "open 4711"), delegate("bare", "open 4711")]),
        ("plain", vec![Turn::call("propose_change", given), Turn::text("4711 it is.")]),
        ("bare", vec![Turn::text("4711 it is.")]),
    ];
    let server = playing(scripts);
    run_by(&test, &server, "ann", &["run", "upper", "go", "--yes"]).exits(0);
    assert_eq!(run_ids(&test, "bare").len() + run_ids(&test, "plain").len(), 2);
    let list = by(&test, "ann", &["proposals", "list", "--format", "json"]).json();
    assert_eq!(list[0]["state"], "pending", "{list}");
    let commands = [
        "receipts list",
        "receipts list --format json",
        "runs",
        "runs --format json",
        "proposals list --format json",
        "memory list plain --format json",
    ];
    withholds(&test, &commands);
    for id in run_ids(&test, "bare").iter().chain(&run_ids(&test, "plain")) {
        by(&test, "bob", &["runs", "show", id]).exits(3);
    }
}

/// What a user teaches an agent that is not installed is as private: the memory was only in the prompt.
#[test]
fn receipts_of_agents_in_a_workspace_withhold_private_text() {
    let test = definition();
    taught(&test, "src/bot");
    let server = Server::playing([Turn::text("It is 4711.").into()]);
    let ran = run_by(&test, &server, "ann", &["run", "src/bot", "code 4711?", "--yes"]).exits(0);
    assert!(ran.stdout.contains("4711"), "{ran}");
    assert!(server.asked()[0].system.contains(SECRET), "the prompt has it");
    withholds(
        &test,
        &["receipts list", "receipts list --format json", "runs", "runs --format json"],
    );
    by(&test, "ann", &["memory", "list", "src/bot"]).exits(0);
}

/// A run that began without private memories gets none when another user continues it.
#[test]
fn a_continued_run_gets_no_other_memories() {
    let plain = "name = \"plain\"\ndescription = \"Does things\"\n";
    let test = Test::new()
        .file("src/plain/agent.toml", plain)
        .file("src/plain/system-prompt.md", "You are plain.\n")
        .env("PATH", "/usr/bin:/bin")
        .env("AGENTRY_USER", "ann");
    test.run("install src/plain").exits(0);
    let recall = || Turn::call("recall", json!({ "query": "code" }));
    let texts = |count: usize| (0..count).map(|_| Turn::text("Done.").into());
    let server = Server::playing(texts(1));
    run_by(&test, &server, "bob", &["run", "plain", "hi", "--yes"]).exits(0);
    test.run("install src/plain --memory").exits(0);
    taught(&test, "plain");
    let id = run_ids(&test, "plain").remove(0);
    for user in ["ann", "bob"] {
        let turns = [recall().into(), Turn::text("Done.").into()];
        let server = Server::playing(turns.into_iter().chain(texts(1)));
        run_by(&test, &server, user, &["resume", &id, "and the code?"]).exits(0);
        let asked = server.asked();
        assert!(asked.iter().all(|it| !it.system.contains("4711")), "{user}");
        let results = asked.iter().flat_map(|it| &it.results);
        let leaked = results.filter(|(_, text)| text.contains("4711")).count();
        assert_eq!(leaked, 0, "{user}");
    }
}
