//! `agentry install`, `agents`, `uninstall`, `export`, `history`, `diff`, `rollback`, `proposals` and `teach`: agents that live
//! in the home.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::run::keyed;
use crate::server::{Server, Turn};
use crate::test::{HELPER, Test};

pub(crate) const PERSONA: &str = "## L0\nI am careful.\n\n## L1\nI answer briefly.\n";
pub(crate) const PRINCIPLES: &str =
    "## Must Do\n- confirm payments\n\n## Never Do\n- delete files\n";

/// A workspace with an AgentFS agent.
pub(crate) fn legal() -> Test {
    Test::new()
        .env("AGENTRY_USER", "owner")
        .file("legal/agent.json", "{\"name\": \"Legal Advisor\", \"version\": \"1.0.0\", \"role\": \"x\", \"description\": \"Advises\"}\n")
        .file("legal/persona.md", PERSONA)
        .file("legal/principles.md", PRINCIPLES)
        .file("legal/heartbeat/HEARTBEAT.md", "- look\n")
        .file("legal/.git/config", "[core]\n\tfsmonitor = touch ran\n")
        .file("legal/.git/hooks/post-commit", "#!/bin/sh\ntouch ran\n")
        .file("legal/users/owner/profile.md", "private\n")
        .file("legal/logs/x.md", "private\n")
        .file("legal/.env", "KEY=1\n")
}

pub(crate) const ROOT: &str = "home/.agentry/agents/legal-advisor";

pub(crate) fn printed(test: &Test, args: &str) -> Value {
    let ran = test.run(&format!("{args} --format json"));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"))
}

pub(crate) fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[test]
fn an_agent_is_installed_and_named_by_its_id() {
    let test = legal();
    let installed = printed(&test, "install legal");
    assert_eq!(text(&installed, "id"), "legal-advisor");
    assert_eq!(text(&installed, "path"), format!("[DIR]/{ROOT}"));
    let digest = test.run("hash --full legal").exits(0).stdout;
    assert_eq!(text(&installed, "digest"), digest.trim());
    for kept in ["agent.json", "persona.md", "principles.md", "heartbeat/HEARTBEAT.md"] {
        assert!(test.has(&format!("{ROOT}/{kept}")), "{kept}");
    }
    for private in ["users", "logs", ".env", "ran", ".git/hooks/post-commit"] {
        assert!(!test.has(&format!("{ROOT}/{private}")), "{private}");
    }
    assert!(!test.read(format!("{ROOT}/.git/config")).contains("fsmonitor"));
    let agents = printed(&test, "agents");
    let agent = agents.get(0).expect("an agent");
    let shown: Vec<String> =
        ["id", "name", "format", "digest"].iter().map(|key| text(agent, key)).collect();
    assert_eq!(shown, ["legal-advisor", "legal-advisor", "agentfs", digest.trim()]);
    for args in [
        "show",
        "show --prompt",
        "check",
        "hash --full",
        "policy show",
        "tools --yes",
        "render --target opencode -o out",
    ] {
        let (command, rest) = args.split_once(' ').unwrap_or((args, ""));
        let args = match command {
            "policy" => "policy show legal-advisor".to_owned(),
            _ => format!("{command} legal-advisor {rest}"),
        };
        test.run(&args).exits(0);
    }
    test.run("policy why legal-advisor bash ls").exits(0);
    test.run("policy diff legal legal-advisor").exits(0);
    test.run("push legal-advisor").exits(0);
}

#[test]
fn agents_of_every_format_can_be_installed() {
    let test = Test::new()
        .file("a/helper.agent", HELPER)
        .file("b/general_scribe.agent.md", "---\ntitle: Scribe\n---\n\n# Scribe\n\nWrites texts.\n")
        .file(
            "c/agent.toml",
            "name = \"writer\"\ndescription = \"Writes\"\nskills = [\"review\"]\n",
        )
        .file("c/system-prompt.md", "You write.\n")
        .file("skills/review/SKILL.md", "---\nname: review\ndescription: Reviews\n---\n\nLook.\n")
        .file("src/night-watch/instructions.md", "You watch.\n")
        .file("src/night-watch/schedules/daily.md", "---\ncron: '0 9 * * *'\n---\n\nLook.\n")
        .file(
            "src/legal/agent.json",
            "{\"name\": \"Legal\", \"version\": \"1.0.0\", \"role\": \"x\"}\n",
        )
        .file("src/legal/persona.md", PERSONA)
        .file("src/legal/principles.md", PRINCIPLES);
    let sources =
        ["a/helper.agent", "b/general_scribe.agent.md", "c", "src/night-watch", "src/legal"];
    for source in sources {
        let ran = test.run(&format!("install {source} --format json"));
        let installed: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
        let id = text(&installed, "id");
        assert_eq!(
            test.run(&format!("hash --full {id}")).exits(0).stdout,
            test.run(&format!("hash --full {source}")).exits(0).stdout
        );
    }
    test.run("install src/night-watch --id nights").exits(0);
    assert_eq!(
        test.run("hash --full nights").stdout,
        test.run("hash --full src/night-watch").stdout,
        "its name is not its id"
    );
    let formats: Vec<String> = printed(&test, "agents")
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| text(it, "format"))
        .collect();
    assert_eq!(formats.len(), 6, "{formats:?}");
    test.run("push a/helper.agent --version 2.0.0").exits(0);
    test.run("install helper@2.0.0 --id from-store").exits(0);
    test.run("show from-store").exits(0);
}

#[test]
fn reinstalling_updates_and_lists_policy_gains() {
    let agent = |rules: &str| {
        format!(
            "name = \"writer\"\ndescription = \"Writes\"\n\n[permissions.bash]\nintent = \"deny\"\n{rules}"
        )
    };
    let test = Test::new()
        .env("AGENTRY_USER", "owner")
        .file("writer/agent.toml", agent(""))
        .file("writer/system-prompt.md", "You write.\n");
    test.run("install writer").exits(0);
    let ran = test.run("install writer").exits(0);
    assert!(ran.stderr.contains("is up to date"), "{ran}");
    test.write("writer/agent.toml", agent("rules = [\"ls *:allow\"]\n"));
    let ran = test.run("install writer").exits(0);
    assert!(ran.stderr.contains("is updated") && ran.stderr.contains("gained:"), "{ran}");
    let history = printed(&test, "history writer");
    let kinds: Vec<String> =
        history.as_array().expect("a list").iter().map(|it| text(it, "kind")).collect();
    assert_eq!(kinds, ["install", "install"]);
    let first = text(history.get(1).expect("a commit"), "commit");
    let diff = printed(&test, "diff writer");
    assert!(text(&diff, "diff").contains("+rules = [\"ls *:allow\"]"), "{diff}");
    assert_eq!(diff.pointer("/changes/gained/0/section").and_then(Value::as_str), Some("bash"));
    test.run(&format!("rollback writer {}", first.get(..7).expect("digits"))).exits(0);
    assert_eq!(test.read("home/.agentry/agents/writer/agent.toml"), agent(""));
    let history = printed(&test, "history writer");
    let last = history.get(0).expect("a commit");
    assert_eq!(
        (text(last, "kind"), text(last, "author")),
        ("rollback".to_owned(), "owner".to_owned())
    );
    // Here `writer` is a path too.
    assert!(test.run("policy show writer").exits(2).stderr.contains("./writer"));
    for wrong in ["abc", "HEAD", "--help-me", "zzzzzz", "0000000"] {
        assert_ne!(test.run_args(&["rollback", "writer", "--", wrong]).code, Some(0), "{wrong}");
    }
}

#[test]
fn a_second_agent_of_the_same_name_needs_an_id() {
    let test = legal().file(
        "other/agent.json",
        "{\"name\": \"Legal Advisor\", \"version\": \"2.0.0\", \"role\": \"y\"}\n",
    );
    test.run("install legal").exits(0);
    let ran = test.run("install other").exits(1);
    assert!(ran.stderr.contains("--id"), "{ran}");
    test.run("install other --id second").exits(0);
    for bad in ["Second", "../x", ".git", "a b"] {
        assert_eq!(test.run_args(&["install", "other", "--id", bad]).code, Some(2), "{bad}");
    }
    // A word that is a path and an id names two things.
    test.write("second", "x");
    let ran = test.run("show second").exits(2);
    assert!(ran.stderr.contains("./second"), "{ran}");
    fs::remove_file(test.path("second")).expect("removed");
    test.run("uninstall second").exits(0);
    test.run("show second").exits(2);
    test.run("uninstall second").exits(2);
}

#[test]
fn export_and_push_exclude_private_files() {
    let test = legal();
    test.run("install legal").exits(0);
    for private in ["users/bob/x.md", "runs/1/x.md", "cache/x", "logs/x", ".env"] {
        test.write(format!("{ROOT}/{private}"), "private\n");
    }
    test.write("home/.agentry/users/bob/agents/legal-advisor/memory/x.md", "private of bob\n");
    let exported = printed(&test, "export legal-advisor -o out");
    let files = exported.get("files").expect("files").to_string();
    assert_eq!(
        files,
        "[\"agent.json\",\"heartbeat/HEARTBEAT.md\",\"persona.md\",\"principles.md\"]"
    );
    assert!(!test.has("out/.git"));
    test.run("export legal-advisor -o out").exits(2);
    test.run("check out").exits(0);
    let pushed = printed(&test, "push legal-advisor");
    assert!(
        !pushed.to_string().contains("users") && !pushed.to_string().contains("logs"),
        "{pushed}"
    );
}

#[test]
fn a_manual_change_is_kept_and_needs_new_consent() {
    let test = legal();
    test.run("install legal").exits(0);
    let principles = PRINCIPLES.replace("- delete files", "- delete big files");
    test.write(format!("{ROOT}/principles.md"), &principles);
    test.run("tools legal-advisor --yes").exits(0);
    let history = printed(&test, "history legal-advisor");
    let last = history.get(0).expect("a commit");
    assert_eq!(
        (text(last, "kind"), text(last, "message")),
        ("person".to_owned(), "edit principles.md".to_owned())
    );
    assert_eq!(
        test.read(format!("{ROOT}/principles.md")),
        principles,
        "a person may change what is protected"
    );
    let agents = printed(&test, "agents");
    let digest = text(agents.get(0).expect("an agent"), "digest");
    assert_eq!(digest, test.run("hash --full legal-advisor").stdout.trim());
    fs::write(test.path(format!("{ROOT}/.git/MERGE_HEAD")), "0").expect("written");
    test.write(format!("{ROOT}/persona.md"), "mine\n");
    let ran = test.run("history legal-advisor").exits(1);
    assert!(ran.stderr.contains("in the middle of a merge"), "{ran}");
    assert_eq!(test.read(format!("{ROOT}/persona.md")), "mine\n");
    let ran = test.run("doctor");
    assert!(ran.stdout.contains("in the middle of a merge"), "{ran}");
}

#[test]
fn proposals_are_made_listed_accepted_and_rejected() {
    let test = legal();
    test.run("install legal").exits(0);
    let propose = |file: &str, content: &str| {
        let given = json!({"file": file, "content": content, "reason": "it is better"}).to_string();
        test.run_args(&[
            "tools",
            "call",
            "legal-advisor",
            "propose_change",
            &given,
            "--yes",
            "--format",
            "json",
        ])
    };
    let ran = propose("principles.md", &PRINCIPLES.replace("delete files", "delete nothing"));
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("protected section «Never Do»"), "{ran}");
    propose("principles.md", &PRINCIPLES.replace("payments", "all payments")).exits(0);
    propose("persona.md", &PERSONA.replace("briefly", "at length")).exits(0);
    propose("agent.json", "{}").exits(1);
    let list = printed(&test, "proposals list legal-advisor");
    let states: Vec<(String, String)> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (text(it, "id"), text(it, "state")))
        .collect();
    let expected = [("p4", "refused"), ("p3", "pending"), ("p2", "pending"), ("p1", "refused")];
    assert_eq!(states, expected.map(|(id, state)| (id.to_owned(), state.to_owned())));
    test.run("proposals accept p1").exits(3);
    test.run("proposals accept p2").exits(0);
    test.run("proposals accept p2").exits(1);
    test.run("proposals reject p3 --reason no").exits(0);
    test.run("proposals show p9").exits(2);
    assert!(test.read(format!("{ROOT}/principles.md")).contains("all payments"));
    assert_eq!(test.read(format!("{ROOT}/persona.md")), PERSONA);
    test.run_args(&["teach", "legal-advisor", "Always answer in German"]).exits(0);
    let log = test.read("home/.agentry/logs/audit.jsonl");
    let outcomes = ["refused", "pending", "pending", "refused", "accepted", "rejected", "applied"];
    assert_eq!(log.lines().count(), outcomes.len(), "{log}");
    for (line, outcome) in log.lines().zip(outcomes) {
        assert!(line.contains(&format!("\"outcome\":\"{outcome}\"")), "{line}");
    }
    test.write("agentry.toml", "[evolution]\nmemory = \"never\"\n");
    test.run_args(&["teach", "legal-advisor", "Something else"]).exits(3);
    test.write("agentry.toml", "[evolution]\npersona = \"auto\"\n");
    propose("persona.md", &PERSONA.replace("briefly", "at length")).exits(0);
    assert_eq!(
        test.read(format!("{ROOT}/persona.md")),
        PERSONA,
        "a workspace is never milder than the user"
    );
}

/// The direct ways of a run to the files of an installed agent, for an agent that may do everything else.
#[test]
fn no_tool_writes_into_an_installed_agent() {
    let rules = ["bash", "edit", "read", "external_directory"]
        .map(|section| format!("[permissions.{section}]\nintent = \"allow\"\n"));
    let test = Test::new()
        .file(
            "src/free/agent.toml",
            format!("name = \"free\"\ndescription = \"May do all\"\n{}", rules.concat()),
        )
        .file("src/free/system-prompt.md", "You work.\n");
    test.run("install src/free").exits(0);
    let file =
        test.path("home/.agentry/agents/free/system-prompt.md").to_string_lossy().into_owned();
    let directory = test.path("home/.agentry/agents/free").to_string_lossy().into_owned();
    let denied = [
        ("edit", file.clone()),
        ("edit", format!("{directory}/new.md")),
        ("edit", format!("{directory}/.git/config")),
        ("edit", "home/.agentry/agents/free/agent.toml".to_owned()),
        ("bash", format!("echo x > {file}")),
        ("bash", format!("cp x {directory}/")),
        ("bash", format!("rm -rf {directory}")),
        ("bash", "cd home/.agentry/agents && sed -i s/a/b/ free/agent.toml".to_owned()),
        ("bash", format!("tee -a {file}")),
        ("bash", format!("mv {directory} /tmp/x")),
    ];
    for (tool, subject) in denied {
        let ran = test.run_args(&["policy", "why", "free", tool, &subject]);
        assert!(ran.stdout.starts_with("deny"), "{tool} {subject}\n{ran}");
    }
    // What a verdict cannot see, the sandbox keeps out.
    let commands = [
        format!("echo x >> {file}"),
        format!("eval \"$(printf 'echo x > %s' {file})\""),
        format!("git -C {directory} commit --allow-empty -m x"),
        format!("ln -s {directory} way; echo x > way/system-prompt.md"),
    ];
    for command in commands {
        test.run_args(&["sandbox", "exec", "free", "--yes", "--", "sh", "-c", &command]);
        assert_eq!(fs::read_to_string(&file).expect("a file"), "You work.\n", "{command}");
    }
    assert_eq!(
        printed(&test, "history free").as_array().map(Vec::len),
        Some(1),
        "nothing was committed"
    );
}

/// A hundred processes at once: 34 install 17 agents, two each; 33 teach and 33 run and remember, for three agents.
#[test]
fn a_hundred_parallel_processes_lose_no_change() {
    let test = legal();
    let agents = ["one", "two", "three"];
    for id in agents {
        test.run(&format!("install legal --id {id}")).exits(0);
    }
    let server = Server::answering(|asked| match asked.results.len() {
        0 => Turn::call("remember", json!({ "text": "It rained" })).into(),
        _ => Turn::text("done").into(),
    });
    let start = |mut command: Command| {
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program runs")
    };
    let mut children: Vec<(String, Child)> = Vec::new();
    for at in 0..34 {
        let (id, copy) = (agents[at % 3], format!("copy-{}", at / 2));
        let install = test.command(["install", "legal", "--id", &copy]);
        children.push((format!("install {copy}"), start(install)));
        if at < 33 {
            let sentence = format!("Sentence number {at}");
            let teach = test.command(["teach", id, &sentence, "--no-model"]);
            children.push((format!("teach {id}"), start(teach)));
            let run = keyed(&test, &server, &["run", id, "go", "--yes"]);
            children.push((format!("run {id}"), start(run)));
        }
    }
    assert_eq!(children.len(), 100);
    for (what, child) in children {
        let out = child.wait_with_output().expect("it ends");
        assert!(out.status.success(), "{what}: {}", String::from_utf8_lossy(&out.stderr));
    }
    let listed = printed(&test, "agents");
    assert_eq!(listed.as_array().map(Vec::len), Some(20));
    for at in 0..17 {
        let history = printed(&test, &format!("history copy-{at}"));
        assert_eq!(history.as_array().map(Vec::len), Some(1), "one commit, by the first process");
    }
    for id in agents {
        let root = format!("home/.agentry/agents/{id}");
        let files = |path: String| fs::read_dir(test.path(path)).expect("memories").count();
        assert_eq!(files(format!("{root}/memory")), 11, "taught");
        assert_eq!(
            files(format!("home/.agentry/users/owner/agents/{id}/memory")),
            11,
            "remembered"
        );
        assert_eq!(printed(&test, &format!("history {id}")).as_array().map(Vec::len), Some(12));
    }
    assert_eq!(test.read("home/.agentry/logs/audit.jsonl").lines().count(), 33);
    let verified = printed(&test, "receipts verify");
    assert_eq!(verified.get("checked"), Some(&json!(33)), "{verified}");
    assert_eq!(verified.get("ok"), Some(&json!(true)), "{verified}");
    let runs = printed(&test, "runs");
    let done = runs.as_array().expect("runs").iter().filter(|run| text(run, "state") == "done");
    assert_eq!(done.count(), 33);
}
