//! Cursor: imports its agents, with the permissions around them.

use agentry_compile::policy::Section;
use agentry_compile::targets::ImportedAgent;

use crate::back::{definition, imported};
use crate::{Wish, agent, rendering, told};

const PATH: &str = ".cursor/agents/verifier.md";

fn section(imported: &ImportedAgent, section: Section) -> String {
    let permissions = imported.agent.policy.permissions.as_ref().expect("permissions");
    let rules = permissions.get(section).expect("a section");
    let list = rules.rules.iter().map(|rule| rule.value.to_string());
    let intent = rules.intent.expect("an intent").value.to_string();
    list.chain([intent]).collect::<Vec<_>>().join(" ")
}

#[test]
fn an_agent_with_the_permissions_around_it() {
    let text = "---\r\nname: Verifier\r\ndescription: Use this: always\r\nmodel: inherit\r\nis_background: true\r\ncolor: red\r\n---\r\nVerify.\r\n";
    let permissions = r#"{"permissions": {"allow": ["Shell(ls)", "Shell(git:status)", "Read(src/**)", "Write(docs/**)"], "deny": ["Shell(rm)", "Read(**/.env*)"]}}"#;
    let files = [(PATH, text), (".cursor/cli.json", permissions)];
    let found = imported("cursor", &files, PATH).expect("an agent");
    assert_eq!(found.agent.name(), "verifier");
    assert_eq!(found.agent.model.preferred, None);
    assert_eq!(section(&found, Section::Bash), "rm *:deny ls *:allow git status:allow ask");
    assert_eq!(section(&found, Section::Read), "**/.env*:deny src/**:allow ask");
    assert_eq!(section(&found, Section::Edit), "docs/**:allow ask");
    let fields: Vec<_> = found.losses.iter().map(|loss| loss.field.as_str()).collect();
    assert_eq!(fields, ["color", "is_background", "metadata"]);
    assert!(!definition(&found).is_empty());
}

#[test]
fn what_only_reads_changes_nothing() {
    let text = "---\nname: x\ndescription: y\nreadonly: true\n---\nRead.\n";
    let permissions = r#"{"permissions": {"allow": ["Shell(*)", "Write(**)"], "deny": []}}"#;
    let files = [(PATH, text), (".cursor/cli.json", permissions)];
    let found = imported("cursor", &files, PATH).expect("an agent");
    assert_eq!(section(&found, Section::Edit), "deny");
    assert_eq!(section(&found, Section::Bash), "ask");
}

#[test]
fn what_is_not_understood_allows_nothing() {
    let text = "---\nname: x\ndescription: y\n---\nx\n";
    let cases = [
        (r#"{"permissions": {"allow": ["Shell(ls)"], "deny": ["Other(x)"]}}"#, Some("deny")),
        (r#"{"permissions": {"allow": ["Other(x)", "Shell"]}}"#, Some("ask")),
        ("{", None),
    ];
    for (permissions, expected) in cases {
        let files = [(PATH, text), (".cursor/cli.json", permissions)];
        let found = imported("cursor", &files, PATH).ok();
        let found = found.map(|found| section(&found, Section::Bash));
        assert_eq!(found.as_deref(), expected, "{permissions}");
    }
    assert!(imported("cursor", &[(PATH, "no metadata")], PATH).is_err());
}

#[test]
fn nothing_is_rendered() {
    let rendered = rendering("cursor", &agent("helper", ""), Wish::default()).agents.remove(0);
    assert!(told(&rendered).contains("refused target"));
}

#[test]
fn what_is_read_stays_within_the_files_themselves() {
    let text = "---\nname: x\ndescription: y\n---\nx\n";
    let cases = [
        // What the reader has no words for is denied with all the rest.
        (
            Section::Bash,
            r#"{"deny": ["Shell(r?m)"], "allow": ["Shell(zap)"]}"#,
            "r?m *:deny zap *:allow deny",
        ),
        (Section::Read, r#"{"deny": ["Read(/etc/[a-z]*)"], "allow": ["Read(src/**)"]}"#, "deny"),
        (
            Section::Mcp,
            r#"{"deny": ["Mcp(github)"], "allow": ["Mcp(jira:*)"]}"#,
            "github/*:deny jira/*:allow ask",
        ),
    ];
    for (of, lists, expected) in cases {
        let permissions = format!("{{\"permissions\": {lists}}}");
        let files = [(PATH, text), (".cursor/cli.json", permissions.as_str())];
        let found = imported("cursor", &files, PATH).expect("an agent");
        assert_eq!(section(&found, of), expected, "{lists}");
    }
    let wrong =
        [(PATH, text), (".cursor/cli.json", r#"{"permissions": {"deny": {"Shell": "rm"}}}"#)];
    assert!(imported("cursor", &wrong, PATH).is_err());
}
