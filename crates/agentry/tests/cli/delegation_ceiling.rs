//! What bounds delegates: the policy of their parent, or a declared ceiling that the user agreed to.
#![cfg(target_os = "linux")]

use crate::delegation::{WRITES, agent, asking_agent, delegate, playing, run_tree, runs, write};
use crate::run::with;
use crate::server::{Reply, Server, Turn};
use crate::terminal::Terminal;
use crate::test::Test;

/// A manifest that may only read, and names a helper that may write.
fn reader(block: &str) -> Test {
    let lead = format!(
        "name: lead\nversion: 1.0.0\ndescription: Leads\nsoul: You are lead.\n\
         trust: {{filesystem: read-only, network: none, exec: none}}\nagents: {{helper: {{ref: ./helper}}}}\n\
         x-agentry: {{permissions: {{delegate: {{intent: allow}}}}{block}}}\n"
    );
    agent(Test::new(), "helper", WRITES).file("lead.agent", lead)
}

const DECLARED: &str = ", delegation: {ceiling: declared}";

fn script() -> Server {
    playing(vec![
        ("lead", vec![delegate("helper", "write"), Turn::text("All done.")]),
        ("helper", vec![write("out.txt"), Turn::text("Tried.")]),
    ])
}

#[test]
fn a_declared_ceiling_lifts_a_named_delegate() {
    let cases =
        [("", false, "within that of its parent"), (DECLARED, true, "under its own policy")];
    for (block, is_written, bound) in cases {
        let (test, server) = (reader(block), script());
        let ran = with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
        assert_eq!(test.has("out.txt"), is_written, "{bound}: {ran}");
        // The consent lists the delegate with all that it may do.
        let listed: Vec<&str> =
            ran.stderr.lines().skip_while(|line| !line.contains("delegates  ")).collect();
        assert!(listed[0].contains("`lead › helper`: ./helper (sha256:"), "{ran}");
        assert!(listed[0].contains(bound), "{ran}");
        let writes = listed.iter().any(|line| line.contains("writes: allow everything"));
        assert_eq!(writes, is_written, "{ran}");
    }
}

#[test]
fn a_changed_delegate_needs_new_consent() {
    for block in ["", DECLARED] {
        let (test, server) = (reader(block), script());
        with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
        with(&test, &server, &["run", "lead.agent", "go"]).exits(0);
        test.write("helper/system-prompt.md", "You are helper. Hurry.\n");
        let before = server.count();
        // `--yes` is for agents that were never agreed to.
        for args in [vec!["run", "lead.agent", "go"], vec!["run", "lead.agent", "go", "--yes"]] {
            let ran = with(&test, &server, &args).exits(3);
            assert!(ran.stderr.contains("delegate `lead › helper` changed"), "{ran}");
            assert!(ran.stderr.contains("`--accept-changes` consents"), "{ran}");
        }
        assert_eq!(server.count(), before);
        with(&test, &server, &["run", "lead.agent", "go", "--accept-changes"]).exits(0);
        with(&test, &server, &["run", "lead.agent", "go"]).exits(0);
        // A person is asked, and may say no.
        test.write("helper/system-prompt.md", "You are helper. Slowly.\n");
        let mut terminal = Terminal::new(&test, &server, "run lead.agent go");
        terminal.sees("run it? [y]es  [n]o › ");
        terminal.types("n");
        terminal.ends(3);
    }
}

/// The names of rules count like `agents`; a wildcard names nobody.
#[test]
fn a_declared_ceiling_covers_only_named_agents() {
    let cases = [
        ("intent = \"deny\"\nrules = [\"helper:allow\"]", true),
        ("intent = \"deny\"\nrules = [\"help*:allow\"]", false),
        ("intent = \"allow\"", false),
        ("intent = \"deny\"\nrules = [\"helper:deny\", \"*:allow\"]", false),
    ];
    for (rules, is_written) in cases {
        let server = script();
        let own = format!(
            "[permissions.edit]\nintent = \"deny\"\n\n[permissions.delegate]\n{rules}\n\n\
             [x-agentry.delegation]\nceiling = \"declared\"\n"
        );
        let test = agent(agent(Test::new(), "lead", &own), "helper", WRITES);
        let ran = with(&test, &server, &["run", "lead", "go", "--yes"]).exits(0);
        assert_eq!(test.has("out.txt"), is_written, "{rules}: {ran}");
        let is_listed = ran.stderr.contains("`lead › helper`");
        assert_eq!(is_listed, is_written, "{rules}: {ran}");
    }
}

/// A declaration in the middle does not lift what holds above it, and the user's rules hold for all.
#[test]
fn a_resumed_grandchild_stays_under_the_ceiling() {
    // Which agents declare a ceiling, and whether the grandchild may write what the root denies, what the middle
    // denies, and what the user denies.
    let cases = [
        ([false, false], [false, false, false]),
        ([false, true], [false, true, false]),
        ([true, false], [true, false, false]),
        ([true, true], [true, true, false]),
    ];
    for ([root, middle], expected) in cases {
        for is_killed in [false, true] {
            let paths = ["root/x", "middle/x", "mine/x", "free/x"];
            let server = Server::answering(move |asked| {
                match (asking_agent(asked).as_str(), asked.results.len()) {
                    ("a", 0) => delegate("b", "go on").into(),
                    ("b", 0) => delegate("c", "go on").into(),
                    ("c", _) if is_killed && asked.number == 2 => Reply::Silent,
                    ("c", at) if at < paths.len() => write(paths[at]).into(),
                    _ => Turn::text("done").into(),
                }
            });
            let rules = |denied: &str, next: &str, declares: bool| {
                let block = if declares {
                    "\n[x-agentry.delegation]\nceiling = \"declared\"\n"
                } else {
                    ""
                };
                format!(
                    "[permissions.edit]\nintent = \"allow\"\nrules = [\"{denied}:deny\"]\n\n\
                     [permissions.delegate]\nintent = \"deny\"\nrules = [{next}]\n{block}"
                )
            };
            let test = agent(Test::new(), "a", &rules("root/**", "\"b:allow\", \"c:allow\"", root));
            let test = agent(test, "b", &rules("middle/**", "\"c:allow\"", middle));
            let test = agent(test, "c", WRITES).file(
                "home/.config/agentry/config.toml",
                "[policy.edit]\nintent = \"allow\"\nrules = [\"mine/**:deny\"]\n\n[policy.delegate]\nintent = \"allow\"\n",
            );
            run_tree(&test, &server, is_killed);
            let written: Vec<bool> = paths.iter().map(|path| test.has(path)).collect();
            let all = [&expected[..], &[true]].concat();
            assert_eq!(written, all, "root {root}, middle {middle}, killed {is_killed}");
            assert_eq!(runs(&test).len(), 3);
        }
    }
}

/// A delegate that changed while the run was parked is not continued in silence.
#[test]
fn a_resumed_run_checks_its_delegates_again() {
    let ask = "[permissions.edit]\nintent = \"ask\"\n";
    let test = agent(reader(DECLARED), "helper", ask);
    let server = script();
    with(&test, &server, &["run", "lead.agent", "go", "--yes", "--on-ask", "park"]).exits(3);
    test.write("helper/agent.toml", "name = \"helper\"\ndescription = \"The helper\"\n\n[permissions.edit]\nintent = \"allow\"\n");
    let before = server.count();
    let ran = with(&test, &server, &["resume", "last"]).exits(3);
    assert!(ran.stderr.contains("delegate `lead › helper` changed"), "{ran}");
    assert!(!test.has("out.txt") && server.count() == before, "{ran}");
    with(&test, &server, &["resume", "last", "--accept-changes"]).exits(0);
    assert!(test.has("out.txt"));
}

#[test]
fn the_lock_of_a_parent_lists_its_delegates() {
    let (test, server) = (reader(DECLARED), script());
    test.run("lock").exits(0);
    let lock = test.read("agentry.lock");
    assert!(lock.contains("delegates = [\n  { name = \"helper\", digest = \"sha256:"), "{lock}");
    assert!(lock.contains("ceiling = \"declared\""), "{lock}");
    assert!(lock.contains("\"permissions: edit = allow\""), "{lock}");
    with(&test, &server, &["run", "lead.agent", "go", "--yes"]).exits(0);
    let rules = format!("{WRITES}\n[permissions.bash]\nintent = \"allow\"\n");
    let test = agent(test, "helper", &rules);
    let checked = test.run("lock --check").exits(1);
    assert!(checked.stdout.contains("its delegate `helper` changed"), "{checked}");
    assert!(checked.stdout.contains("its delegate `helper` gained commands"), "{checked}");
    let ran = with(&test, &server, &["run", "lead.agent", "go", "--accept-changes"]).exits(3);
    assert!(ran.stderr.contains("is not as `agentry.lock` says"), "{ran}");
}

#[test]
fn an_unknown_ceiling_is_an_error() {
    let cases = [
        ("delegation: {ceiling: declared}", 0, ""),
        ("delegation: {ceiling: everything}", 1, "ceiling"),
        ("delegation: {floor: declared}", 1, "floor"),
        ("delegation: declared", 1, "delegation"),
    ];
    for (block, code, part) in cases {
        let test = reader(&format!(", {block}"));
        let checked = test.run("check lead.agent").exits(code);
        assert!(checked.stdout.contains(part) || checked.stderr.contains(part), "{checked}");
    }
}
