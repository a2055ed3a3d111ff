//! The servers of all formats, in their own fields and in the block of Agentry beside them.

use serde_json::Value;

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
fn servers_of_both_places_are_declared_in_every_format() {
    for (path, test) in agents("notes") {
        let listed = test.run(&format!("tools {path} --yes --format json")).exits(0).json();
        let mut found = names(&listed["missing"]);
        found.sort_unstable();
        assert_eq!(found, ["notes", "tracker"], "{path}: {listed}");
    }
}

/// Two servers of one name are an error with both places, and no run begins.
#[test]
fn two_servers_of_one_name_are_an_error_in_every_format() {
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
