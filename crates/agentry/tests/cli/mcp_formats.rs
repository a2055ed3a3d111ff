//! The servers of all formats, in their own fields and in the block of Agentry beside them.

use serde_json::Value;

#[cfg(target_os = "linux")]
use crate::run::with;
#[cfg(target_os = "linux")]
use crate::server::{Server, Turn};
use crate::test::Test;

/// An agent that names two servers: where the format has a field of its own, the second is in the block of
/// Agentry.
fn agents(second: &str) -> [(&'static str, Test); 5] {
    let markdown = format!(
        "---\ntitle: Helper\ndescription: Helps\nx-agentry:\n  mcp_servers:\n    tracker: {{command: \
         tracker}}\n    {second}: {{command: other}}\n---\n\n## System\n\nYou help.\n"
    );
    let toml = format!(
        "name = \"helper\"\ndescription = \"Helps\"\n[x-agentry.mcp_servers.tracker]\ncommand = \
         \"tracker\"\n[x-agentry.mcp_servers.{second}]\ncommand = \"other\"\n"
    );
    let manifest = format!(
        "name: helper\ndescription: Helps\nsoul: You help.\ntools:\n  mcp: [{{name: tracker, command: \
         tracker}}]\nx-agentry:\n  mcp_servers: {{{second}: {{command: other}}}}\n"
    );
    let acl = format!(
        "x_agentry {{\n  mcp_servers {{\n    {second} {{\n      command = \"other\"\n    }}\n  }}\n}}\n"
    );
    let json = format!(
        "{{\"name\": \"Helper\", \"version\": \"1.0.0\", \"role\": \"Helps\", \"mcp_servers\": {{\"tracker\": \
         {{\"command\": \"tracker\"}}}}, \"x-agentry\": {{\"mcp_servers\": {{\"{second}\": {{\"command\": \
         \"other\"}}}}}}}}"
    );
    let declared = "---\nkind: mcp\nname: tracker\ncommand: tracker\n---\n";
    [
        ("agents/t_helper.agent.md", Test::new().file("agents/t_helper.agent.md", markdown)),
        (
            "helper",
            Test::new()
                .file("helper/agent.toml", toml)
                .file("helper/system-prompt.md", "You help.\n"),
        ),
        ("helper.agent", Test::new().file("helper.agent", manifest)),
        (
            "helper",
            Test::new()
                .file("helper/instructions.md", "You help.\n")
                .file("helper/tools/tracker.md", declared)
                .file("helper/agent.acl", acl),
        ),
        (
            "helper",
            Test::new().file("helper/agent.json", json).file("helper/persona.md", "You help.\n"),
        ),
    ]
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect()
}

#[test]
fn servers_in_fields_and_block_are_both_declared() {
    for (path, test) in agents("notes") {
        let listed = test.run(&format!("tools {path} --yes --format json")).exits(0).json();
        let mut found = names(&listed["missing"]);
        found.sort_unstable();
        assert_eq!(found, ["notes", "tracker"], "{path}: {listed}");
    }
}

/// `disabled` and `timeout`, as the files of other clients have them, hold in every format.
#[test]
fn disabled_servers_are_left_out_in_every_format() {
    let spellings = [
        ("command: tracker", "command: tracker, disabled: true, timeout: 30000"),
        ("command = \"tracker\"", "command = \"tracker\"\ndisabled = true\ntimeout = 30000"),
        (
            "\"command\": \"tracker\"",
            "\"command\": \"tracker\", \"disabled\": true, \"timeout\": 30000",
        ),
        (
            "kind: mcp\nname: tracker\ncommand: tracker",
            "kind: mcp\nname: tracker\ncommand: tracker\ndisabled: true\ntimeout: 30000",
        ),
    ];
    for (path, test) in agents("notes") {
        let is_written = |file: &str| {
            let text = test.read(file);
            let found = spellings.iter().rev().find(|(plain, _)| text.contains(plain));
            let Some((plain, off)) = found else { return false };
            test.write(file, text.replace(plain, off));
            true
        };
        let files = ["agents/t_helper.agent.md", "helper.agent", "helper/agent.toml"];
        let files = files.into_iter().chain(["helper/agent.json", "helper/tools/tracker.md"]);
        let written = files.filter(|file| test.has(file)).filter(|file| is_written(file)).count();
        assert_eq!(written, 1, "{path}");
        test.run(&format!("check {path}")).exits(0);
        let listed = test.run(&format!("tools {path} --yes --format json")).exits(0);
        assert_eq!(names(&listed.json()["missing"]), ["notes"], "{path}: {listed}");
        assert!(!listed.stderr.contains("no field"), "{path}: {listed}");
    }
}

/// Two servers of one name are an error with both places, and no run begins.
#[test]
fn duplicate_server_names_are_an_error() {
    for (at, (path, test)) in agents("Tracker").into_iter().enumerate() {
        let ran = test.run(&format!("check {path} --format json")).exits(1);
        let findings = ran.json()["diagnostics"].clone();
        let findings = findings.as_array().expect("a list");
        let found = findings.iter().find(|it| it["code"] == "AG0159");
        let found = found.unwrap_or_else(|| panic!("{at} {path}: {ran}"));
        let message = found["message"].as_str().unwrap_or_default().to_lowercase();
        assert_eq!(message, "two mcp servers are called `tracker`", "{found}");
        let related = found["related"].as_array().expect("a list");
        assert_eq!(related.len(), 1, "{found}");
        let ran = test.run(&format!("tools {path} --yes")).exits(1);
        assert!(ran.stderr.contains("has errors"), "{ran}");
    }
}

/// `optional` and `cwd` are known in every format, and what they say holds: the program starts in its directory, and
/// a run goes on without a server that is not there.
#[cfg(target_os = "linux")]
#[test]
fn a_server_may_be_optional_and_starts_where_it_is_written() {
    let places: [(&str, &[(&str, &str)]); 5] = [
        (
            "agents/t_helper.agent.md",
            &[(
                "agents/t_helper.agent.md",
                "---\ntitle: Helper\ndescription: Helps\nx-agentry:\n  mcp_servers:\n    here: \
                 {command: ./start, cwd: tool, optional: true}\n    gone: {command: gone, optional: true}\n\
                 ---\n\n## System\n\nYou help.\n",
            )],
        ),
        (
            "helper",
            &[
                (
                    "helper/agent.toml",
                    "name = \"helper\"\ndescription = \"Helps\"\n[x-agentry.mcp_servers.here]\ncommand = \
                     \"./start\"\ncwd = \"tool\"\noptional = true\n[x-agentry.mcp_servers.gone]\ncommand = \
                     \"gone\"\noptional = true\n",
                ),
                ("helper/system-prompt.md", "You help.\n"),
            ],
        ),
        (
            "helper.agent",
            &[(
                "helper.agent",
                "name: helper\ndescription: Helps\nsoul: You help.\nversion: 1.0.0\n\
                 trust: {filesystem: read-only, network: none, exec: sandboxed}\ntools:\n  mcp:\n    \
                 - {name: here, command: ./start, cwd: tool, optional: true}\n    \
                 - gone: {command: gone, optional: true}\n",
            )],
        ),
        (
            "helper",
            &[
                ("helper/instructions.md", "You help.\n"),
                (
                    "helper/tools/here.md",
                    "---\nkind: mcp\ncommand: ./start\ncwd: tool\noptional: true\n---\nHere.\n",
                ),
                (
                    "helper/tools/gone.md",
                    "---\nkind: mcp\ncommand: gone\noptional: true\n---\nGone.\n",
                ),
            ],
        ),
        (
            "helper",
            &[
                (
                    "helper/agent.json",
                    "{\"name\": \"Helper\", \"mcp_servers\": {\"here\": {\"command\": \"./start\", \
                     \"cwd\": \"tool\", \"optional\": true}, \"gone\": {\"command\": \"gone\", \
                     \"optional\": true}}}",
                ),
                ("helper/persona.md", "You help.\n"),
                ("helper/principles.md", "## Never Do\n- Harm\n"),
            ],
        ),
    ];
    for (path, files) in places {
        let mut test = Test::new().file("tool/start", "#!/bin/sh\necho \"in $PWD.\" >&2; exit 1\n");
        for (path, text) in files {
            test = test.file(path, *text);
        }
        let start = test.path("tool/start");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(start, executable).expect("a program");
        let found = test.run(&format!("check {path}")).exits(0);
        assert!(!found.stdout.contains("has no field"), "{path}: {found}");
        let ran = test.run(&format!("tools {path} --yes --format json")).exits(0);
        assert!(ran.stderr.contains("./start (in `tool`)"), "{path}: {ran}");
        let missing = ran.json()["missing"].clone();
        let reason = |name: &str| {
            let found = missing.as_array().expect("a list").iter().find(|it| it["name"] == name);
            found.and_then(|it| it["reason"].as_str()).unwrap_or_default().to_owned()
        };
        assert!(reason("here").contains("/tool."), "{path}: {missing}");
        assert_eq!(reason("gone"), "the program `gone` is not installed", "{path}");
        let server = Server::playing([Turn::text("Done.").into()]);
        with(&test, &server, &["run", path, "go", "--yes"]).exits(0);
        assert_eq!(server.count(), 1, "{path}");
    }
}

/// A server whose directory or variables are missing is not started.
#[test]
fn a_server_without_what_it_needs_is_not_ready() {
    let cases = [
        ("cwd: nowhere", "its directory `nowhere` does not exist"),
        ("requires: {env: {UNSET_HERE: a key}}", "it needs `UNSET_HERE`, which is not set"),
    ];
    for (setting, expected) in cases {
        let manifest = format!(
            "name: helper\ndescription: Helps\nsoul: You help.\nversion: 1.0.0\n\
             trust: {{filesystem: read-only, network: none, exec: sandboxed}}\n\
             tools: {{mcp: [{{name: local, command: sh, {setting}}}]}}\n"
        );
        let test = Test::new().file("helper.agent", manifest);
        let listed = test.run("tools helper.agent --yes --format json").exits(0).json();
        assert_eq!(listed["missing"][0]["reason"], expected, "{listed}");
    }
}
