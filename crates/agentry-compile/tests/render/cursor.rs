//! Cursor: imports its agents, with the permissions around them.

use agentry_compile::policy::Section;
use agentry_compile::targets::{ImportedAgent, RenderedAgent};

use crate::back::{definition, imported};
use crate::{Wish, one, rendering, report_of};

const PATH: &str = ".cursor/agents/verifier.md";

fn section(imported: &ImportedAgent, section: Section) -> String {
    let permissions = imported.agent.policy.permissions.as_ref().expect("permissions");
    let rules = permissions.get(section).expect("a section");
    let list = rules.rules.iter().map(|rule| rule.value.to_string());
    let intent = rules.intent.expect("an intent").value.to_string();
    list.chain([intent]).collect::<Vec<_>>().join(" ")
}

#[test]
fn import_reads_the_permissions_around_an_agent() {
    let text = "---\r\nname: Verifier\r\ndescription: Use this: always\r\nmodel: inherit\r\nis_background: true\r\ncolor: red\r\n---\r\nVerify.\r\n";
    let permissions = r#"{"permissions": {"allow": ["Shell(ls)", "Shell(git:status)", "Read(src/**)", "Write(docs/**)"], "deny": ["Shell(rm)", "Read(**/.env*)"]}}"#;
    let files = [(PATH, text), (".cursor/cli.json", permissions)];
    let found = imported("cursor", &files, PATH).expect("an agent");
    assert_eq!(found.agent.name(), "verifier");
    assert_eq!(found.agent.model.preferred, None);
    assert_eq!(section(&found, Section::Bash), "rm *:deny ls *:allow git status:allow ask");
    // Files outside are asked about, by the section about them.
    assert_eq!(section(&found, Section::Read), "**/.env*:deny src/**:allow allow");
    assert_eq!(section(&found, Section::Edit), "docs/**:allow ask");
    let fields: Vec<_> = found.losses.iter().map(|loss| loss.field.as_str()).collect();
    assert_eq!(fields, ["color", "metadata"]);
    assert!(!definition(&found).is_empty());
}

#[test]
fn a_readonly_agent_is_imported_without_edit() {
    let text = "---\nname: x\ndescription: y\nreadonly: true\n---\nRead.\n";
    let permissions = r#"{"permissions": {"allow": ["Shell(*)", "Write(**)"], "deny": []}}"#;
    let files = [(PATH, text), (".cursor/cli.json", permissions)];
    let found = imported("cursor", &files, PATH).expect("an agent");
    assert_eq!(section(&found, Section::Edit), "deny");
    assert_eq!(section(&found, Section::Bash), "ask");
}

#[test]
fn unknown_permissions_are_imported_as_deny() {
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

fn files(rendered: &RenderedAgent) -> Vec<&str> {
    rendered.files.iter().map(|file| file.path.as_str()).collect()
}

/// Cursor asks, shows changes for review, and can take editing away from one agent. An agent without another
/// tool is a rule, which grants nothing.
#[test]
fn an_agent_with_unenforceable_denials_becomes_a_rule() {
    let ask = |section: &str| format!("[permissions.{section}]\nintent = \"ask\"\n");
    let deny = |section: &str| format!("[permissions.{section}]\nintent = \"deny\"\n");
    let agent = [".cursor/agents/helper.md"];
    let rule = [".cursor/rules/helper.mdc"];
    let free =
        "[permissions.websearch]\nintent = \"allow\"\n[permissions.delegate]\nintent = \"allow\"\n";
    let cases = [
        (format!("{free}{}{}", ask("bash"), ask("edit")), agent, false),
        (format!("{free}{}", deny("edit")), agent, true),
        (format!("{free}{}", deny("bash")), rule, false),
        (format!("{free}{}", deny("webfetch")), rule, false),
        (format!("{free}{}", deny("mcp")), rule, false),
        (
            format!("{free}[permissions.bash]\nintent = \"ask\"\nrules = [\"rm *:deny\"]\n"),
            rule,
            false,
        ),
    ];
    for (lines, expected, readonly) in cases {
        let rendered = one("cursor", &lines, Wish::default());
        assert_eq!(files(&rendered), expected, "{lines}{}", report_of(&rendered));
        let text = rendered.files[0].text();
        assert_eq!(text.contains("readonly: true\n"), readonly, "{text}");
        assert_eq!(text.contains("alwaysApply: false\n"), expected == rule, "{text}");
        let is_reported =
            report_of(&rendered).contains("Cursor has no list of tools for one agent");
        assert_eq!(is_reported, expected == rule, "{}", report_of(&rendered));
        assert_eq!(rendered.is_only_text, expected == rule, "{lines}");
        assert_eq!(!rendered.lost_tools.is_empty(), expected == rule, "{lines}");
    }
    // A question that nobody answers is a denial.
    let unattended = Wish { close_gaps: true, ..Wish::default() };
    let rendered = one("cursor", &format!("{free}{}", ask("bash")), unattended);
    assert_eq!(files(&rendered), rule, "{}", report_of(&rendered));
}

#[test]
fn an_imported_agent_renders_with_the_same_fields() {
    let text = "---\nname: verifier\ndescription: y\nmodel: fast\nreadonly: true\nis_background: true\n---\nVerify.\n";
    let found = imported("cursor", &[(PATH, text)], PATH).expect("an agent");
    let back = rendering("cursor", &definition(&found), Wish::default()).agents.remove(0);
    let written = back.files.first().map_or("", |file| file.text());
    for line in ["name: verifier\n", "model: fast\n", "is_background: true\n"] {
        assert!(written.contains(line), "{line}{written}{}", report_of(&back));
    }
}

#[test]
fn a_rule_is_imported_by_its_name() {
    let path = ".cursor/rules/style.mdc";
    let text = "---\ndescription: y\nglobs: src/**\nalwaysApply: false\n---\nWrite it well.\n";
    let found = imported("cursor", &[(path, text)], path).expect("an agent");
    assert_eq!(found.agent.name(), "style");
    assert_eq!(found.losses.iter().filter(|it| it.field == "globs").count(), 0);
}

#[test]
fn imported_rules_are_never_wider_than_the_permissions() {
    let text = "---\nname: x\ndescription: y\n---\nx\n";
    let cases = [
        // What the reader cannot express is denied with the rest.
        (
            Section::Bash,
            r#"{"deny": ["Shell(r?m)"], "allow": ["Shell(zap)"]}"#,
            "r?m *:deny zap *:allow deny",
        ),
        (
            Section::Read,
            r#"{"deny": ["Read(/etc/[a-z]*)"], "allow": ["Read(src/**)"]}"#,
            "/etc/[a-z]*:deny src/**:deny deny",
        ),
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
